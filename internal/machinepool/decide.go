package machinepool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// lookAgain is the delay before something in AWS that was just written and cannot be seen yet is
// checked again.
const lookAgain = 5 * time.Second

// Decide returns what to do for a pool, and writes its status. An action that failed in this pass
// is never planned again in it, so that later concerns still have their turn.
func Decide(in input) reconcile.Plan {
	var plan reconcile.Plan
	restamp(in)
	// nothing is decided about a paused pool
	reconciling.False(in.Object, infrav1.PausedCondition, infrav1.NotPausedReason, "")
	switch {
	case in.Object.DeletionTimestamp != nil:
		decideDeletion(in, &plan)
	case pool.Releasing(in.Object):
		decideRelease(in, &plan)
	default:
		decidePool(in, &plan)
	}
	failKubernetes(in, &plan)
	return plan
}

// decidePool keeps the nodes of a pool as its spec says. It reports what runs even if the newest
// spec is refused or its launch config is not ready.
func decidePool(in input, plan *reconcile.Plan) {
	reconciling.Remove(in.Object, infrav1.ReleasedCondition)
	in.Object.Status.Deletion = nil
	if !reached(in, plan) {
		return
	}
	plan.Hold = true
	recordLocation(in, plan)
	if err := in.Seen.GroupErr; err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, groupReason(err, infrav1.ASGProvisionFailedReason), err)
		return
	}
	if condition := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.ASGReadyCondition); condition != nil && condition.Reason == infrav1.OwnerTagMissingReason {
		reconciling.Remove(in.Object, infrav1.ASGReadyCondition) // the decision may stop before setting it
	}
	keepGroup(in, plan)
	if pending(plan) {
		return
	}
	explainCapacity(in, plan)
	if pending(plan) {
		return
	}
	reportInstances(in, plan)
	waitBriefly(in, plan)
}

// keepGroup goes through the concerns of a pool in order, until one has something to do, or stops
// the others.
func keepGroup(in input, plan *reconcile.Plan) {
	for _, concern := range []func(input, *reconcile.Plan) bool{
		showRefresh, pauseRefresh, drainNodes, releaseWarmInstances, keepMachines, awaitForeignRefresh, awaitBootstrap, ensureLaunchConfig, describeNode, settle, ensureGroup, rollOut,
	} {
		if goOn := concern(in, plan); !goOn || pending(plan) {
			return
		}
	}
}

// pending reports whether a plan has something to be observed or done before anything else is decided.
func pending(plan *reconcile.Plan) bool { return len(plan.Needs)+len(plan.Actions) > 0 }

// reached reports whether AWS can be called for a pool, and shows why not.
func reached(in input, plan *reconcile.Plan) bool {
	if in.Seen.MachinePool == nil {
		reconciling.False(in.Object, infrav1.ClusterInfrastructureReadyCondition, infrav1.WaitingForOwnerReason, "no MachinePool that refers to this object owns it, so no "+
			"node is launched. Reference the object in spec.template.spec.infrastructureRef of a MachinePool")
		return false
	}
	return in.Seen.Access.Show(in.Object, plan)
}

// recordLocation records where the pool's resources are before any is created. A new pool has what
// its group will be given recorded by the same write.
func recordLocation(in input, plan *reconcile.Plan) {
	annotate(in, plan, func(pool *infrav1.AWSMachinePool) {
		ownership.SetLocation(pool, in.Seen.Access.Location)
		if !slices.Contains(pool.Finalizers, infrav1.MachinePoolFinalizer) {
			announceGiven(in, pool)
		}
	})
}

// annotate adds to the plan what a function changes of the pool's annotations.
func annotate(in input, plan *reconcile.Plan, change func(*infrav1.AWSMachinePool)) {
	for key, value := range annotationChanges(in, change) {
		plan.Annotate(key, value)
	}
}

// annotationChanges returns what a function changes of the pool's annotations. The value of one
// that is removed is empty.
func annotationChanges(in input, change func(*infrav1.AWSMachinePool)) map[string]string {
	changed := *in.Object
	changed.Annotations = maps.Clone(in.Object.Annotations)
	change(&changed)
	return pool.AnnotationChanges(in.Object.Annotations, changed.Annotations)
}

// restamp has conditions that were found for an earlier generation hold for the present one, if the
// pass itself wrote to the spec in between: that changed nothing that a user asked for.
func restamp(in input) {
	for _, done := range in.Done {
		if record, is := done.Action.(recordInstances); is && done.Err == nil {
			reconciling.Restamp(in.Object, record.Generation)
		}
	}
}

// failKubernetes has a pass fail in which a write to Kubernetes failed.
func failKubernetes(in input, plan *reconcile.Plan) {
	for _, done := range in.Done {
		if _, is := done.Action.(kubernetesAction); is && done.Err != nil && !refusedConfig(done) {
			plan.Fail(fmt.Errorf("%s: %w", done.Action, done.Err))
		}
	}
}

// awaitBootstrap waits until the bootstrap provider has named its Secret.
func awaitBootstrap(in input, _ *reconcile.Plan) bool {
	if message := bootstrapMissing(in); message != "" {
		reconciling.False(in.Object, infrav1.BootstrapDataReadyCondition, infrav1.WaitingForBootstrapDataReason, message)
		return false
	}
	reconciling.True(in.Object, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "")
	return true
}

// bootstrapMissing returns why instances would have no bootstrap data, empty if they have. A launch
// config that the pool refers to has its own.
func bootstrapMissing(in input) string {
	switch name := in.Seen.MachinePool.Spec.Template.Spec.Bootstrap.DataSecretName; {
	case name == nil:
		return "the MachinePool does not reference a bootstrap data Secret yet. The bootstrap provider sets it " +
			"when the data is ready"
	case *name == "" && in.Object.Spec.LaunchConfigRef == nil:
		return "spec.template.spec.bootstrap.dataSecretName of the MachinePool is empty, so instances would " +
			"launch without user data and never join the cluster. No instance is launched or replaced. Set " +
			"dataSecretName to the name of a Secret, or remove it and set bootstrap.configRef"
	}
	return ""
}

// describeNode shows in status what a node is, so that cluster-autoscaler can scale from zero. The
// last known values stay while the launch config is not ready.
func describeNode(in input, plan *reconcile.Plan) bool {
	config, shape := launchable(in), in.Seen.Shape
	switch {
	case config == nil || config.WhatIsLaunched() == nil:
	case !shape.Known && shape.Err == nil:
		plan.Need(needShape)
	case shape.Err != nil:
		pool.TryAgain(plan, shape.Err)
	default:
		in.Object.Status.Capacity, in.Object.Status.NodeInfo = shape.Capacity, shape.NodeInfo
	}
	return true
}

// nodeShape returns what a node of the pool is by its launch config. Of overrides the first counts,
// as for cluster-autoscaler's aws provider.
func nodeShape(in input) pool.NodeShape {
	resolved := launchable(in).WhatIsLaunched()
	shape := pool.NodeShape{
		InstanceType: resolved.InstanceType, Architecture: resolved.ImageArchitecture, OperatingSystem: resolved.OperatingSystem,
		EphemeralStorageGiB: resolved.EphemeralStorageGiB,
	}
	if policy := in.Object.Spec.MixedInstancesPolicy; policy != nil && len(policy.Overrides) > 0 && (policy.Overrides[0].InstanceType != "" || policy.Overrides[0].InstanceRequirements != nil) {
		shape.InstanceType = policy.Overrides[0].InstanceType
	}
	return shape
}

// briefly is the time for which a new pool waits for its launch config before status shows that.
// The launch config is usually ready within a second and wakes the pool; a state that no longer
// holds is not worth a write (docs/adr/0019).
const briefly = 2 * time.Second

// waitBriefly leaves the status of a new pool unwritten while its launch config is expected to be
// ready soon: nothing is in AWS, and the pass did nothing but to create the launch config. API
// servers record creation in whole seconds.
func waitBriefly(in input, plan *reconcile.Plan) {
	config := in.Seen.LaunchConfig.Object
	if in.Seen.Group != nil || in.Object.Status.ObservedGeneration != 0 || plan.Err != nil || !awaitsConfig(in) {
		return
	}
	created := config.CreationTimestamp.Time
	if in.Object.CreationTimestamp.After(created) {
		created = in.Object.CreationTimestamp.Time
	}
	if wait := created.Add(time.Second + briefly).Sub(in.Now); wait > 0 {
		plan.Untold = true
		plan.LookAgain(wait)
	}
}

// longestName limits the length of a group's name (AWS: API_CreateAutoScalingGroup).
const longestName = 255

// isGroupName reports whether an Auto Scaling group can have a name (AWS: API_CreateAutoScalingGroup). It
// refuses the control characters that AWS allows.
func isGroupName(name string) bool {
	impossible := func(r rune) bool { return r == ':' || unicode.Is(unicode.C, r) }
	return name != "" && utf8.RuneCountInString(name) <= longestName && !strings.ContainsFunc(name, impossible)
}

// GroupNames returns the names that the group of a pool may have, by which the controller describes it.
func GroupNames(object *infrav1.AWSMachinePool, clusterName string) []string {
	candidates := ownership.Names(object.Name, clusterName, object, 1, longestName)
	// A group that was found once is found again, even if its name is derived differently now.
	for _, arn := range arns(object) {
		// Names are described together with the names of other pools, and AWS refuses a request
		// with a name that cannot exist.
		if _, name, known := strings.Cut(arn, ":autoScalingGroupName/"); known && isGroupName(name) && !slices.Contains(candidates, name) {
			candidates = append(candidates, name)
		}
	}
	return candidates
}

// arns returns the ARNs by which the pool names its group. The user of the namespace can write
// each, so they say where to look, and never whose the group is.
func arns(object *infrav1.AWSMachinePool) []string {
	named := []string{object.Spec.ProviderID}
	if status := object.Status.AutoScalingGroup; status != nil {
		named = append(named, status.ARN)
	}
	return named
}

// ownerTag is the value of the ownership tag of the pool's group.
func ownerTag(in input) string { return ownership.Owner(in.Object, in.Seen.ClusterName) }

// ownerTagMissingError reports that the group which the pool names by its ARN exists and does not
// have the pool's owner tag. The pool's own fields prove nothing, because every user of the
// namespace can write them. Only a principal that can tag resources in AWS can show who owns the
// group.
type ownerTagMissingError struct {
	group autoscalinggroup.Group
	owner string
	// deleting is true if the pool is being deleted.
	deleting bool
}

// Error implements error.
func (e *ownerTagMissingError) Error() string {
	tag := fmt.Sprintf("aws autoscaling create-or-update-tags --tags ResourceId=%s,ResourceType=auto-scaling-group,Key=%s,Value=%s,PropagateAtLaunch=false",
		e.group.Name, infrav1.TagMachinePool, e.owner)
	state := fmt.Sprintf("Auto Scaling group %s exists with %s and does not have tag %s with value %s", e.group.Name, counted(len(e.group.Instances)),
		infrav1.TagMachinePool, e.owner)
	if e.deleting {
		return fmt.Sprintf("%s, so Slipway deletes neither the group nor launch template %s, which it launches "+
			"from. If the group belongs to this pool, set the tag (%s), and the deletion continues. To keep "+
			"the group, or if it does not belong to this pool, remove finalizer %s from this object",
			state, e.group.LaunchTemplateID, tag, infrav1.MachinePoolFinalizer)
	}
	return fmt.Sprintf("%s, so Slipway neither changes it nor creates another one. Its nodes keep running, but "+
		"edits, scaling, and roll-outs wait. If the group belongs to this pool, set the tag (%s). If it does "+
		"not, clear spec.providerID", state, tag)
}

// WaitsForUser reports that only a user can set the tag.
func (*ownerTagMissingError) WaitsForUser() bool { return true }

// wasOwned reports whether the pool had the group already: its owner tag was removed, and it is not
// one that CAPA created and Slipway never adopted.
func wasOwned(object *infrav1.AWSMachinePool, group *autoscalinggroup.Group) bool {
	owned := object.Status.AutoScalingGroup
	return owned != nil && owned.ARN == group.ARN && !meta.IsStatusConditionPresentAndEqual(object.Status.Conditions, infrav1.AdoptedCondition, metav1.ConditionFalse)
}

// namesTaken reports whether groups of another owner have all names that the pool's might.
func namesTaken(err error) bool {
	var taken *autoscalinggroup.NamesTakenError
	return errors.As(err, &taken)
}

// groupReason returns the reason of an error about which group is the pool's, and the given reason
// for any other error.
func groupReason(err error, otherwise string) string {
	var untagged *ownerTagMissingError
	switch {
	case errors.As(err, &untagged):
		return infrav1.OwnerTagMissingReason
	case namesTaken(err):
		return infrav1.NameTakenReason
	}
	return adoption.ReasonOf(err, otherwise)
}

// because puts a cause before a message, if it is known.
func because(cause, message string) string {
	if cause == "" {
		return message
	}
	return cause + "; " + message
}

// instanceIDs returns the IDs of instances.
func instanceIDs(instances []autoscalinggroup.Instance) []string {
	ids := make([]string, 0, len(instances))
	for _, instance := range instances {
		ids = append(ids, instance.ID)
	}
	return ids
}

// mostNamed limits the number of instances that a reason names.
const mostNamed = 5

// named lists names for a reason.
func named(names []string) string {
	text := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(text, "none")
}
