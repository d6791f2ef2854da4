package managedmachinepool

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"

	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// lookAgain is the time until Slipway checks something in AWS again that was just written and is
// not visible yet.
const lookAgain = 5 * time.Second

// Decide returns what to do for a pool, and writes its status. It plans nothing again that failed in
// this pass, so that the concerns after it still have their turn.
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

// decidePool keeps the nodes of a pool as its spec asks for. A node group that exists is followed
// and reported even where the newest spec is refused, or its launch config is not ready.
func decidePool(in input, plan *reconcile.Plan) {
	reconciling.Remove(in.Object, infrav1.ReleasedCondition)
	if !reached(in, plan) {
		return
	}
	plan.Hold = true
	recordLocation(in, plan)
	showDeprecated(in)
	if err := in.Seen.GroupErr; err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, groupReason(err, infrav1.NodegroupReconcileFailedReason), err)
		return
	}
	plan.LookAgain(in.Seen.LookDue)
	noteFailedDeletion(in)
	for _, concern := range []func(input, *reconcile.Plan) bool{
		followUpdate, awaitForeignUpdate, awaitBootstrap, ensureLaunchConfig, describeNode, ensureRole, settle, ensureNodegroup, replace, ensureTags, ensureHooks,
		reportRollout, reportHealth, reportInstances,
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
	if facts := in.Seen.Access.Facts; facts != nil && !facts.EKS {
		reconciling.False(in.Object, infrav1.ClusterInfrastructureReadyCondition, infrav1.InvalidSpecReason,
			fmt.Sprintf("Cluster %q has no EKS control plane, and managed node groups exist only in EKS. Use an "+
				"AWSMachinePool", in.Seen.ClusterName))
		return false
	}
	return in.Seen.Access.Show(in.Object, plan)
}

// recordLocation records where the pool's resources are before any is created.
func recordLocation(in input, plan *reconcile.Plan) {
	annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) {
		ownership.SetLocation(pool, in.Seen.Access.Location)
		reconciling.SetAnnotation(pool, ownership.EKSClusterAnnotation, in.Seen.EKSCluster)
	})
}

// annotate adds to the plan what a function changes of the pool's annotations, as the plan has them
// so far.
func annotate(in input, plan *reconcile.Plan, change func(*infrav1.AWSManagedMachinePool)) {
	changed := *in.Object
	changed.Annotations = maps.Clone(in.Object.Annotations)
	for key, value := range plan.Annotations {
		reconciling.SetAnnotation(&changed, key, value)
	}
	change(&changed)
	plan.Annotations = pool.AnnotationChanges(in.Object.Annotations, changed.Annotations)
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

// showDeprecated shows which fields of the spec will be removed, as the upgrade strategy of the
// proposal for launch templates of managed pools asks for.
func showDeprecated(in input) {
	message := in.Object.Spec.DeprecationMessage()
	if message == "" {
		reconciling.Remove(in.Object, infrav1.DeprecatedFieldsCondition)
		return
	}
	reconciling.True(in.Object, infrav1.DeprecatedFieldsCondition, infrav1.DeprecatedFieldsReason, message)
}

// exists reports whether the pool has a node group. The pass then goes on after a concern that has
// to wait: the update of the node group is followed and its instances are reported, whatever the
// spec asks for next.
func exists(in input) bool { return in.Seen.Group != nil }

// awaitBootstrap waits until the bootstrap provider has named its Secret, if the MachinePool has a
// bootstrap provider: EKS brings its own bootstrap data.
func awaitBootstrap(in input, _ *reconcile.Plan) bool {
	if !bootstrapNamed(in) {
		reconciling.False(in.Object, infrav1.BootstrapDataReadyCondition, infrav1.WaitingForBootstrapDataReason,
			"the bootstrap provider of the MachinePool has not yet set the name of the bootstrap data Secret "+
				"(spec.template.spec.bootstrap.dataSecretName)")
		return exists(in)
	}
	reconciling.True(in.Object, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "")
	return true
}

// bootstrapNamed reports whether the Secret with the bootstrap data is named, or none is needed:
// without a bootstrap provider, EKS brings what nodes join with.
func bootstrapNamed(in input) bool {
	bootstrap := in.Seen.MachinePool.Spec.Template.Spec.Bootstrap
	return !bootstrap.ConfigRef.IsDefined() || ptr.Deref(bootstrap.DataSecretName, "") != ""
}

// keyOf names the pool.
func keyOf(in input) types.NamespacedName {
	return types.NamespacedName{Namespace: in.Object.Namespace, Name: in.Object.Name}
}

// ownerTag returns the value of the ownership tag of the pool's node group and role.
func ownerTag(in input) string { return ownership.Owner(in.Object, in.Seen.ClusterName) }

// askedTags returns the tags that the user asks for, of the pool or of its cluster.
func askedTags(in input) map[string]string {
	return in.Seen.Access.Facts.AskedTags(in.Object.Spec.AdditionalTags)
}

// sorted returns a sorted copy of names.
func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
