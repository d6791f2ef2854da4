package nodelifecycle

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// gathering is the time for which a launch waits for its other nodes. The controller that wrote
	// the first of them writes the others immediately, or has crashed.
	gathering = 30 * time.Second
	// launchTimeout is the time for which a launch that fails as a whole is tried. Then its pods are
	// packed anew, from the state at that time.
	launchTimeout = 5 * time.Minute
)

// ensureLaunched has EC2 launch the instances of a launch by one call, and takes this node's
// instance from the answer.
func ensureLaunched(in input, plan *reconcile.Plan) bool {
	node := in.Object
	if node.Status.InstanceID != "" {
		return true
	}
	if from := node.Spec.Launch.ClusterUID; ofOtherCluster(in) {
		reconciling.False(node, provisioningv1.LaunchedCondition, provisioningv1.OtherClusterReason,
			fmt.Sprintf("the ProvisionedNode was created in another cluster: its spec.launch.clusterUID is %s, "+
				"but the UID of this cluster is %s. Slipway launches nothing for it. Delete it", from, in.Seen.Settings.ClusterUID))
		return false
	}
	if meta.FindStatusCondition(node.Status.Conditions, provisioningv1.LaunchedCondition) == nil {
		reconciling.False(node, provisioningv1.LaunchedCondition, provisioningv1.LaunchingReason, "")
	}
	if node.Status.RequestTime == nil {
		node.Status.RequestTime = timeOf(in.Seen.Began)
	}
	if !known(in.Seen.ClusterName, plan, needClusterName) {
		return false
	}
	if err := nameTaken(in.Seen.ClusterName); err != nil {
		return launchFailed(in, plan, err)
	}
	if !known(in.Seen.Siblings, plan, needSiblings) || !gathered(in, plan) || !withinLimits(in, plan) {
		return false
	}
	switch tried, err := reconcile.Attempted[launchInstances](in.Done); {
	case !tried:
		plan.Do(launchInstances{node.Spec.Launch.Name}, "ProvisionedNode %s has no instance", node.Name)
		return false
	case err != nil:
		return launchFailed(in, plan, err)
	}
	instance, launched := in.Seen.Answer.instances[node.Name]
	if !launched {
		return notLaunched(in, plan)
	}
	return takeInstance(in, plan, instance)
}

// ofOtherCluster reports whether the node was written in another cluster. It is not launched in this
// one.
func ofOtherCluster(in input) bool {
	from := in.Object.Spec.Launch.ClusterUID
	return from != "" && from != in.Seen.Settings.ClusterUID
}

// gathered reports whether the nodes of the launch are written down, or were waited for long enough.
func gathered(in input, plan *reconcile.Plan) bool {
	missing := int(in.Object.Spec.Launch.Nodes) - len(in.Seen.Siblings.Value)
	left := gathering - in.Now.Sub(in.Object.Status.RequestTime.Time)
	if missing <= 0 || left <= 0 || in.Seen.Answer != nil {
		return true
	}
	plan.LookAgain(left)
	return false
}

// beyondLimits is the reason for deleting a node that was not launched before a limit was lowered.
const beyondLimits = "LimitsExceeded"

// withinLimits reports whether the launch may be sent. A launch that waits for EC2 may have been
// chosen before the Provisioner's limits were lowered: its nodes are deleted, and their pods are
// packed anew within the limits. If EC2 has launched them, their instances are terminated.
func withinLimits(in input, plan *reconcile.Plan) bool {
	provisioner := in.Seen.Provisioner
	if sent, _ := reconcile.Attempted[launchInstances](in.Done); sent || in.Seen.Answer != nil || provisioner == nil || provisioner.Spec.Limits == nil {
		return true
	}
	if !known(in.Seen.OfProvisioner, plan, needOfProvisioner) {
		return false
	}
	limits := clusterstate.BeyondLimits(provisioner, in.Seen.OfProvisioner.Value)
	if limits == "" {
		return true
	}
	return end(in, plan, beyondLimits, "the limits of its Provisioner were lowered before it was launched", reconcile.Warningf(provisioningv1.LaunchFailedReason,
		"ProvisionedNode %s was not launched: it would exceed the limits of the Provisioner, which were lowered: %s.", in.Object.Name, limits))
}

// takeInstance records the node's instance.
func takeInstance(in input, plan *reconcile.Plan, instance fleet.Instance) bool {
	if !known(in.Seen.Resources, plan, needResources) {
		return false
	}
	if err := in.Seen.Resources.Err; err != nil {
		return tryAgain(plan, err)
	}
	node, resources := in.Object, in.Seen.Resources.Value
	node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone = instance.ID, instance.InstanceType, instance.Zone
	node.Status.LaunchTime = timeOf(in.Seen.LaunchedAt)
	node.Status.Resources = &resources
	reconciling.True(node, provisioningv1.LaunchedCondition, provisioningv1.LaunchedCondition, "")
	reconciling.False(node, provisioningv1.RegisteredCondition, provisioningv1.RegisteringReason, "")
	tell(in, plan, reconcile.Eventf(provisioningv1.LaunchedCondition, "Launched instance %s (%s, %s, %s) for ProvisionedNode %s.",
		instance.ID, instance.InstanceType, instance.Zone, node.Spec.CapacityType, node.Name))
	return true
}

// notLaunched deletes a node that EC2 launched no instance for. Its pods get another node, from the
// capacity that there is then.
func notLaunched(in input, plan *reconcile.Plan) bool {
	node, answer, reason := in.Object, in.Seen.Answer, provisioningv1.InsufficientCapacityReason
	switch answer.blame {
	case fleet.BlameMissingTemplate:
		// A node never changes its launch template. Its pods get another node, from the launch
		// templates that exist then.
		from := node.Spec.LaunchTemplate
		reconciling.False(node, provisioningv1.LaunchedCondition, provisioningv1.LaunchFailedReason, answer.why)
		return end(in, plan, provisioningv1.LaunchFailedReason, "its launch template does not exist", reconcile.Warningf(provisioningv1.LaunchFailedReason,
			"ProvisionedNode %s was not launched: version %d of launch template %s no longer exists.", node.Name, from.Version, from.ID))
	case fleet.BlameSubnet:
		reason = provisioningv1.SubnetsUnusableReason
	case fleet.BlameTemplate, fleet.BlameAccount, fleet.BlameSpot, fleet.BlameMoment:
		reason = provisioningv1.LaunchFailedReason
	default: // EC2 had no capacity, which is the reason already
	}
	reconciling.False(node, provisioningv1.LaunchedCondition, reason, answer.why)
	return end(in, plan, reason, "EC2 launched no instance for it", reconcile.Warningf(reason,
		"ProvisionedNode %s was not launched: %s.", node.Name, cmp.Or(strings.TrimSuffix(answer.why, "."), "EC2 reports no reason")))
}

// nameTaken returns an error if resources of another cluster have this cluster's name, or if that
// cannot be found out.
func nameTaken(name Fact[string]) error {
	if name.Err == nil && name.Value != "" {
		return &nameTakenError{name.Value}
	}
	return name.Err
}

// nameTakenError reports that another cluster uses the name of this one.
type nameTakenError struct{ why string }

// Error implements error.
func (e *nameTakenError) Error() string { return e.why }

// WaitsForUser reports that only a change by a person helps.
func (*nameTakenError) WaitsForUser() bool { return true }

// launchFailed reports why, and tries again for a while: EC2 may or may not have launched
// something.
func launchFailed(in input, plan *reconcile.Plan, err error) bool {
	node, reason := in.Object, provisioningv1.LaunchFailedReason
	if aws.IsThrottled(err) {
		reason = provisioningv1.ThrottledReason
	}
	var told []reconcile.Event
	if !shows(node, provisioningv1.LaunchedCondition, reason) {
		told = append(told, reconcile.Warningf(provisioningv1.LaunchFailedReason,
			"ProvisionedNode %s is not launched yet: %s. Slipway retries the launch.", node.Name, strings.TrimSuffix(aws.UserMessage(err), ".")))
	}
	reconciling.False(node, provisioningv1.LaunchedCondition, reason, aws.UserMessage(err))
	tried := in.Now.Sub(node.Status.RequestTime.Time)
	if tried > launchTimeout {
		told = append(told, reconcile.Warningf(provisioningv1.LaunchFailedReason, "ProvisionedNode %s could not be launched: %s", node.Name, aws.UserMessage(err)))
		return end(in, plan, provisioningv1.LaunchFailedReason, "the instance could not be launched", told...)
	}
	tell(in, plan, told...)
	plan.LookAgain(cmp.Or(aws.FateOf(err).After, launchRetry(tried)))
	return false
}

// launchRetry returns when a launch that failed is repeated, by how long it has been tried: an
// outage of AWS takes minutes, and a recovery is noticed within seconds.
func launchRetry(tried time.Duration) time.Duration {
	return min(max(tried, sharedFailure), launcher.RetryInterval)
}
