package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	simautoscaling "github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// drainLimit is the time that nodes of a group that is being deleted have to drain; then they are
// terminated (UG delete-managed-node-group: EKS "drains" before it terminates; the limit is the one
// for updates, an inference).
const drainLimit = 15 * time.Minute

// deleteNodegroup begins to delete a group, whatever its state but for an update under way (message
// as users report it for updates).
func (s *service) deleteNodegroup(_ *sim.Call, in *eks.DeleteNodegroupInput) (*eks.DeleteNodegroupOutput, error) {
	g, err := s.groups.find(in.ClusterName, in.NodegroupName)
	if err != nil {
		return nil, err
	}
	if g.status == types.NodegroupStatusDeleting {
		return &eks.DeleteNodegroupOutput{Nodegroup: s.groups.describe(g)}, nil
	}
	if g.status == types.NodegroupStatusUpdating {
		return nil, inUse("Nodegroup cannot be deleted while it is being updated")
	}
	g.deadline, g.step = s.kernel.Now().Add(drainLimit), 0
	s.groups.setStatus(g, types.NodegroupStatusDeleting)
	s.groups.changed(g)
	return &eks.DeleteNodegroupOutput{Nodegroup: s.groups.describe(g)}, nil
}

// stepDeletion drains the nodes, deletes the Auto Scaling group with them, and then the other
// resources that EKS has created.
func (s *service) stepDeletion(g *group) {
	if g.step == 0 {
		drained := true
		for _, n := range s.nodes.of(g) {
			drained = s.nodes.drain(g, n.id) && drained
		}
		if !drained && s.kernel.Now().Before(g.deadline) {
			return
		}
		g.step = 1
		// It may have been deleted by another caller.
		_, _ = call[autoscaling.DeleteAutoScalingGroupOutput](s.region, "autoscaling", "DeleteAutoScalingGroup", &autoscaling.DeleteAutoScalingGroupInput{
			AutoScalingGroupName: ptr(g.made.asg), ForceDelete: ptr(true),
		})
	}
	if _, there := simautoscaling.LookupGroup(s.region, g.made.asg); there {
		return
	}
	s.unmake(g)
	s.drop(g)
}

// unmake deletes template, instance profile, and security group of a group. It is no failure if one
// is gone already.
func (s *service) unmake(g *group) {
	if g.made.template != "" {
		_, _ = call[awsec2.DeleteLaunchTemplateOutput](s.region, "ec2", "DeleteLaunchTemplate", &awsec2.DeleteLaunchTemplateInput{LaunchTemplateId: ptr(g.made.template)})
	}
	if g.made.profile != "" {
		_, _ = call[awsiam.RemoveRoleFromInstanceProfileOutput](s.region, "iam", "RemoveRoleFromInstanceProfile", &awsiam.RemoveRoleFromInstanceProfileInput{
			InstanceProfileName: ptr(g.made.profile), RoleName: ptr(roleName(g.nodeRole)),
		})
		_, _ = call[awsiam.DeleteInstanceProfileOutput](s.region, "iam", "DeleteInstanceProfile", &awsiam.DeleteInstanceProfileInput{InstanceProfileName: ptr(g.made.profile)})
	}
	if g.made.remoteGroup != "" {
		_, _ = call[awsec2.DeleteSecurityGroupOutput](s.region, "ec2", "DeleteSecurityGroup", &awsec2.DeleteSecurityGroupInput{GroupId: ptr(g.made.remoteGroup)})
	}
}

// drop forgets a group that is deleted. The tokens that created and changed it go on answering for
// it.
func (s *service) drop(g *group) {
	g.gone = true
	delete(s.groups.byKey, g.key())
	delete(s.groups.byASG, g.made.asg)
	s.groups.views.Delete(g.key())
	s.accessEntries.expelNodes(g.cluster, g.nodeRole)
	for _, u := range g.history {
		s.updates.views.Delete(g.updateKey(u.id))
	}
	s.kernel.Emit(sim.Event{Account: s.region.Account.ID, Region: s.region.Name, Kind: "nodegroup", ID: g.key(), State: "DELETED"})
}
