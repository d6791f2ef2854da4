package provisionerstatus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// lookAgain is the interval at which the AWS resources that the spec names are read although
// nothing happened here.
const lookAgain = 5 * time.Minute

// Decide returns what to do for a Provisioner, and writes its status.
func Decide(in input) reconcile.Plan {
	var plan reconcile.Plan
	count(in)
	if in.Object.DeletionTimestamp != nil {
		decideDeletion(in, &plan)
		return plan
	}
	plan.Hold = true // it may have nodes and launch templates
	for _, concern := range []func(input, *reconcile.Plan) bool{
		reportLaunches, decideDisruptions, warnSpellings, checkName, reportSubnets, reportTemplates, reportShortages, reportStarts, compare, prune,
		replaceDrifted, learnRegion,
	} {
		if !concern(in, &plan) {
			break
		}
	}
	pool.ShowOutage(in.Object, in.Seen.Outage, in.Seen.Region)
	// Nodes are counted, and may be disrupted, while AWS must not be called.
	plan.Held = false
	return plan
}

// count counts the Provisioner's nodes and their resources.
func count(in input) {
	used := (&clusterstate.Cluster{Provisioned: in.Seen.Nodes}).Used(in.Object.Name)
	in.Object.Status.Nodes = int32(len(in.Seen.Nodes)) //nolint:gosec // limits.nodes ends at 100,000
	in.Object.Status.Resources = &provisioningv1.ProvisionedResources{CPU: *used.CPU, Memory: *used.Memory}
}

const (
	// templateVisibility is the time that EC2 may take to show a launch template that it has created.
	templateVisibility = time.Minute
	// lookForTemplate is the interval at which it is looked for before the Provisioner goes.
	lookForTemplate = 5 * time.Second
)

// decideDeletion deletes all nodes and, once they are gone, the default launch templates.
func decideDeletion(in input, plan *reconcile.Plan) {
	reconciling.False(in.Object, provisioningv1.ReadyCondition, provisioningv1.DeletingReason, "")
	if failed[deleteNodes](in, plan, "deleting nodes") || failed[deleteDefaults](in, plan, "deleting default launch templates") {
		return
	}
	var left []string
	for i := range in.Seen.Nodes {
		if in.Seen.Nodes[i].DeletionTimestamp == nil {
			left = append(left, in.Seen.Nodes[i].Name)
		}
	}
	switch {
	case len(left) > 0:
		plan.Do(deleteNodes{left}, "Provisioner %s is being deleted", in.Object.Name)
	case len(in.Seen.Nodes) > 0:
		reconciling.False(in.Object, provisioningv1.ReadyCondition, provisioningv1.DeletingReason, fmt.Sprintf("%d nodes are being terminated", len(in.Seen.Nodes)))
	case !reconcile.Succeeded[deleteDefaults](in.Done):
		plan.Do(deleteDefaults{}, "Provisioner %s is being deleted, and has no nodes left", in.Object.Name)
	case in.Seen.TemplateUnshown && in.Now.Sub(in.Object.DeletionTimestamp.Time) < templateVisibility:
		plan.LookAgain(lookForTemplate)
	default:
		plan.Release = true
	}
}

// failed reports whether an action of a type failed in this pass. The pass then fails with it.
func failed[A reconcile.Action](in input, plan *reconcile.Plan, doing string) bool {
	err := reconcile.LastFailure[A](in.Done)
	if err != nil {
		plan.Fail(fmt.Errorf("%s: %w", doing, err))
	}
	return err != nil
}

// failureOf returns why an action failed in this pass, nil if it did not or was not tried.
func failureOf(in input, action reconcile.Action) error {
	for _, done := range in.Done {
		if done.Action == action && done.Err != nil {
			return done.Err
		}
	}
	return nil
}

// showFailure shows in a condition why AWS failed or refused to answer. A correction by a user in
// AWS is noticed within seconds, because until then nothing is launched.
func showFailure(in input, plan *reconcile.Plan, condition, reason string, err error) {
	if aws.FateOf(err).Kind != aws.WaitForUser {
		pool.ShowFailure(in.Object, plan, condition, reason, err)
		return
	}
	pool.ShowFailure(in.Object, &reconcile.Plan{}, condition, reason, err)
	plan.LookAgain(launcher.RetryInterval)
}

// reportLaunches reports the launches of the Provisioner's nodes that fail, and are repeated.
// LaunchTemplatesReady covers what EC2 refuses to launch from. A shortage is left to
// reportShortages, because a condition changes once in a pass.
func reportLaunches(in input, _ *reconcile.Plan) bool {
	if why := failingLaunch(in.Seen.Nodes); why != "" {
		reconciling.False(in.Object, provisioningv1.NodesLaunchCondition, provisioningv1.LaunchFailedReason, bounded(why))
	} else if shown := meta.FindStatusCondition(in.Object.Status.Conditions, provisioningv1.NodesLaunchCondition); shown == nil || shown.Reason == provisioningv1.LaunchFailedReason {
		reconciling.True(in.Object, provisioningv1.NodesLaunchCondition, provisioningv1.ReadyReason, "")
	}
	return true
}

// failingLaunch returns why the first of the nodes whose launch fails, by name, is not launched; ""
// if there is none.
func failingLaunch(nodes []provisioningv1.ProvisionedNode) string {
	first, why := "", ""
	for i := range nodes {
		node := &nodes[i]
		launched := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.LaunchedCondition)
		failing := launched != nil && launched.Status == metav1.ConditionFalse && launched.Reason == provisioningv1.LaunchFailedReason
		if failing && node.Status.InstanceID == "" && node.DeletionTimestamp == nil && (first == "" || node.Name < first) {
			first, why = node.Name, launched.Message
		}
	}
	return why
}

// warnSpellings names the labels of before March 2021 that the spec has.
func warnSpellings(in input, _ *reconcile.Plan) bool {
	var old []string
	for label, current := range map[string]string{
		provisioningv1.LegacyLabelLaunchTemplateID:      "spec.launchTemplateRef.id",
		provisioningv1.LegacyLabelLaunchTemplateVersion: provisioningv1.LabelLaunchTemplateVersion,
		provisioningv1.LegacyLabelCapacityType:          provisioningv1.LabelCapacityType,
	} {
		if _, has := in.Object.Spec.Labels[label]; has {
			old = append(old, label+" is now "+current)
		}
	}
	if len(old) == 0 {
		reconciling.Remove(in.Object, provisioningv1.SpellingsCurrentCondition)
		return true
	}
	slices.Sort(old)
	reconciling.False(in.Object, provisioningv1.SpellingsCurrentCondition, provisioningv1.OldSpellingReason, strings.Join(old, "; "))
	return true
}

// checkName refuses a cluster name that another Kubernetes cluster uses: what is launched under it
// would be taken for that cluster's.
func checkName(in input, plan *reconcile.Plan) bool {
	name := in.Seen.Name
	switch {
	case !name.Read:
		plan.Need(needName)
	case name.Err != nil:
		showFailure(in, plan, provisioningv1.ClusterNameUniqueCondition, provisioningv1.ClusterNameTakenReason, name.Err)
	case name.Taken != "":
		reconciling.False(in.Object, provisioningv1.ClusterNameUniqueCondition, provisioningv1.ClusterNameTakenReason, name.Taken)
		plan.LookAgain(lookAgain)
	default:
		reconciling.True(in.Object, provisioningv1.ClusterNameUniqueCondition, provisioningv1.ReadyReason, "")
		return true
	}
	return false
}

// reportSubnets reports whether nodes can be in a subnet. A launch template that the spec names may
// have the subnet.
func reportSubnets(in input, plan *reconcile.Plan) bool {
	subnets := in.Seen.Subnets
	if !subnets.Read {
		plan.Need(needSubnets)
		return false
	}
	if subnets.Err != nil {
		showFailure(in, plan, provisioningv1.SubnetsReadyCondition, provisioningv1.SubnetsUnusableReason, subnets.Err)
		return false
	}
	layer := layerOf(in)
	if layer.SubnetProblem != "" && !layer.Template.IsDefault() && !in.Seen.Fixed.Read {
		plan.Need(needFixed)
		return false
	}
	if layer.SubnetProblem != "" && !in.Seen.Fixed.Fixed {
		reconciling.False(in.Object, provisioningv1.SubnetsReadyCondition, provisioningv1.SubnetsUnusableReason, bounded(layer.SubnetProblem))
		plan.LookAgain(launcher.RetryInterval) // they may have free addresses again, or be added
		return true
	}
	reconciling.True(in.Object, provisioningv1.SubnetsReadyCondition, provisioningv1.ReadyReason, "")
	plan.LookAgain(lookAgain) // what is in AWS may change
	return true
}

// layerOf returns what the spec says to pods, with the zones of its subnets once they were observed.
func layerOf(in input) constraints.Provisioner {
	layer := constraints.FromSpec(in.Object.Name, &in.Object.Spec)
	if subnets := in.Seen.Subnets; subnets.Read {
		layer.SubnetZones, layer.SubnetProblem = subnets.Places.Zones(), subnets.Places.Problem(subnets.Found, &layer)
	}
	return layer
}

// reportStarts reports whether launches are held back because the last nodes failed to start.
func reportStarts(in input, plan *reconcile.Plan) bool {
	message, next := startsOf(in.Object, in.Seen.Nodes, in.Now)
	if message == "" {
		reconciling.True(in.Object, provisioningv1.NodesStartCondition, provisioningv1.ReadyReason, "")
		return true
	}
	reconciling.False(in.Object, provisioningv1.NodesStartCondition, provisioningv1.StartTimeoutReason, bounded(message))
	if next > 0 {
		plan.LookAgain(next) // nodes may be launched again then
	}
	return true
}

// startsOf returns what holds launches back, "" if nothing, and how long it is until the first of
// it does no longer; zero if it does for good. The message is the same until then.
func startsOf(provisioner *provisioningv1.Provisioner, nodes []provisioningv1.ProvisionedNode, now time.Time) (message string, next time.Duration) {
	var parts []string
	for i := range provisioner.Status.FailedStarts {
		entry := &provisioner.Status.FailedStarts[i]
		left, held := clusterstate.Wait(provisioner, nodes, entry, now)
		if !held || !launchesFrom(provisioner, entry) {
			continue
		}
		parts = append(parts, clusterstate.Explain(provisioner, entry))
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ". "), next
}

// launchesFrom reports whether nodes may be launched from an entry's version: status does not say
// that another one of its launch template took its place.
func launchesFrom(provisioner *provisioningv1.Provisioner, entry *provisioningv1.FailedStart) bool {
	replaced := false
	for _, known := range provisioner.Status.LaunchTemplates {
		if known.ID == entry.LaunchTemplateID && known.Version == entry.LaunchTemplateVersion {
			return true
		}
		replaced = replaced || known.ID == entry.LaunchTemplateID
	}
	return !replaced
}

// learnRegion has what the region sells read once, so that the first pod that waits need not wait
// for that too.
func learnRegion(in input, plan *reconcile.Plan) bool {
	if !in.Seen.RegionRead {
		plan.Need(needRegion)
	}
	return in.Seen.RegionRead
}

// longestMessage bounds the message of a condition, or of a resolved launch template.
const longestMessage = 1024

func bounded(message string) string { return message[:min(len(message), longestMessage)] }
