package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	simautoscaling "github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// drainLimit is the time that nodes of a group that is being deleted have to drain; then they are
// terminated (UG delete-managed-node-group: EKS "drains" before it terminates; the limit is the one
// for updates, an inference).
const drainLimit = 15 * time.Minute

// stepDeletion drains the nodes, deletes the Auto Scaling group with them, and then the other
// resources that EKS has created.
func (r *reconciler) stepDeletion(g *group) {
	if g.step == 0 {
		drained := true
		for _, n := range r.nodes.of(g) {
			drained = r.nodes.drain(g, n.id) && drained
		}
		if !drained && r.kernel.Now().Before(g.deadline) {
			return
		}
		g.step = 1
		// It may have been deleted by another caller.
		_, _ = call[autoscaling.DeleteAutoScalingGroupOutput](r.region, "autoscaling", "DeleteAutoScalingGroup", &autoscaling.DeleteAutoScalingGroupInput{
			AutoScalingGroupName: ptr(g.made.asg), ForceDelete: ptr(true),
		})
	}
	if _, there := simautoscaling.LookupGroup(r.region, g.made.asg); there {
		return
	}
	r.builder.remove(g)
	r.drop(g)
}

// drop removes a group that was deleted, with its updates. Tokens of earlier requests for the group
// keep their answers.
func (r *reconciler) drop(g *group) {
	g.gone = true
	delete(r.groups.byKey, g.key())
	delete(r.groups.byASG, g.made.asg)
	r.groups.views.Delete(g.key())
	r.accessEntries.expelNodes(g.cluster, g.nodeRole)
	for _, u := range g.history {
		r.updates.views.Delete(g.updateKey(u.id))
	}
	r.kernel.Emit(sim.Event{Account: r.region.Account.ID, Region: r.region.Name, Kind: "nodegroup", ID: g.key(), State: "DELETED"})
}
