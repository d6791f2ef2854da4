// Package awsmanagedmachinepool runs the nodes of every AWSManagedMachinePool in an EKS managed
// node group: it writes the pool's AWSLaunchConfig, keeps the node role and the node group as the
// pool asks for them, one update at a time, and tells Cluster API which instances there are. It
// never waits for EKS.
package awsmanagedmachinepool

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "awsmanagedmachinepool"

// Reconciler reconciles AWSManagedMachinePools.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache.
	Live   client.Reader
	Clouds *clouds.Registry
	// SettleWindow is how long what is wanted must not have changed before it is rolled out; zero
	// for no wait.
	SettleWindow time.Duration
	// NodeRolePath begins the IAM paths of node roles that are created, noderole.DefaultPath if
	// empty. NodeRoleBoundary is the ARN of the permissions boundary that they must have, empty for
	// none.
	NodeRolePath, NodeRoleBoundary string

	Report common.Reporter
	Clock  clock.PassiveClock

	// written are this process's own writes to pools.
	written common.Written
	// made are the launch configs that this process made.
	made common.Made
	// sightings are what was seen of node groups.
	sightings common.Memory[sighting]
	// unseen times how long a node group to be deleted has not been seen.
	unseen common.Stopwatches
	// stuck times how long a node group has been one that EKS could not delete.
	stuck common.Stopwatches
	// checks are when the role and the hooks of a pool are looked at next.
	roleChecks, hookChecks common.Memory[time.Time]
	// failures are the last updates of a pool by type, of which status has only the newest.
	failures common.Memory[nodegroup.Attempts]
	// deprecations are the messages that were logged.
	deprecations common.Memory[string]
}

// pass is one reconcile of one pool: the object, and what was learned about it.
type pass struct {
	pool *infrav1.AWSManagedMachinePool
	// machinePool owns the pool, nil if it does not yet or is gone. Set before the steps, as owner is.
	machinePool *clusterv1.MachinePool
	// owner is the Cluster, nil if it is gone.
	owner *clusterv1.Cluster
	// clusterName is the Cluster's, as the MachinePool says it, or as it was recorded before
	// anything was made in AWS.
	clusterName string
	// eksCluster is the name of the EKS cluster, known as clusterName is.
	eksCluster string
	// facts of the cluster. Set by learnCluster.
	facts *cluster.Facts
	// cloud is where the node group is. Set by reachCloud.
	cloud *clouds.Cloud
	// sighting is what is known of the node group. Set by observe.
	sighting
	// fresh is true once EKS was asked in this pass.
	fresh bool
	// members and leaving are the Auto Scaling groups of the node group and of the one that is
	// being replaced, nil while there is none to be seen.
	members, leaving *autoscalinggroup.Group
	// config is the pool's launch config, and only set while it is ready for its current
	// generation, or holds back what EC2 would not launch. Set by ensureLaunchConfig.
	config *infrav1.AWSLaunchConfig
	// roleARN is that of the node role. Set by ensureRole.
	roleARN string
	// desired is what the node group should be. Set by settle.
	desired nodegroup.Desired
	// step is what is to be done next. Set by ensureNodegroup.
	step nodegroup.Step
	// again is when the node group is to be looked at again, whatever happens.
	again time.Duration
}

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(p.pool) }

// ownerTag is the value of the ownership tag of the pool's node group and role.
func (p *pass) ownerTag() string { return ownership.Owner(p.pool, p.clusterName) }

// ready is how the Ready condition follows from the others. A roll-out under way does not make a
// pool unready: its nodes work.
var ready = reconciling.Summary{
	Target: infrav1.ReadyCondition,
	Of: []string{
		infrav1.ClusterInfrastructureReadyCondition,
		infrav1.BootstrapDataReadyCondition,
		infrav1.LaunchTemplateReadyCondition,
		infrav1.NodeRoleReadyCondition,
		infrav1.NodegroupReadyCondition,
	},
	Reason: infrav1.ReadyReason,
	Unless: infrav1.AWSReachableCondition,
}

// Reconcile makes the nodes of a pool what its spec says:
//
//  1. learn the cluster: region, network, EKS's name for it
//  2. hold the object by a finalizer that knows the region
//  3. say which fields of the spec will go away
//  4. see the node group in EKS, and its Auto Scaling group
//  5. follow the update that is under way
//  6. have the bootstrap data named
//  7. write the pool's AWSLaunchConfig and wait until it is ready
//  8. make the node role
//  9. let edits settle
//  10. make the node group, or begin the one update that is next
//  11. replace a node group whose launch template is lost
//  12. tag it, its Auto Scaling group, and put hooks on that
//  13. say how far the roll-out is, and what EKS says is wrong
//  14. tell Cluster API which instances there are
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, err error) {
	pool := &infrav1.AWSManagedMachinePool{}
	if err := r.Client.Get(ctx, request.NamespacedName, pool); err != nil {
		if apierrors.IsNotFound(err) {
			r.Clouds.ForgetManagedGroup(request.NamespacedName)
			r.Report.Progress.Forget(pool, request.NamespacedName)
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.Unseen(pool, r.Clock) {
		return ctrl.Result{}, nil
	}
	subject := &pass{pool: pool}
	if err := r.findOwners(ctx, subject); err != nil {
		return ctrl.Result{}, err
	}
	before := pool.DeepCopy()
	defer func() {
		if err == nil {
			pool.Status.ObservedGeneration = pool.Generation
		}
		common.Converged.Summarize(pool)
		reconciling.Stamp(pool, r.Clock.Now())
		patched := r.Report.PatchStatus(ctx, r.Client, pool, before)
		if patched != nil {
			// The end of an update that was seen is not written down: without another look it would
			// not be for an hour.
			r.sightings.Forget(request.NamespacedName)
		}
		err = errors.Join(err, patched)
		r.written.Note(pool, before, r.Clock)
	}()
	if common.Paused(pool, subject.owner) {
		r.Clouds.RestManaged(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if !pool.DeletionTimestamp.IsZero() {
		reconciling.False(pool, infrav1.ReadyCondition, infrav1.DeletingReason, "")
		return reconciling.RunDeletion(ctx, r.Live, pool, subject, r.deletion())
	}
	if common.Releasing(pool) {
		return reconciling.Run(ctx, subject, r.releaseSteps())
	}
	reconciling.Remove(pool, infrav1.ReleasedCondition)
	defer ready.Summarize(pool)
	return reconciling.Run(ctx, subject, []reconciling.Step[*pass]{
		{Name: "waiting for the MachinePool", Run: r.awaitOwner},
		{Name: "learning about the cluster", Run: r.learnCluster},
		{Name: "reaching AWS", Run: r.reachCloud},
		{Name: "holding the object", Run: r.hold},
		{Name: "telling of deprecated fields", Run: r.tellDeprecated},
		{Name: "observing the node group", Run: r.observe},
		{Name: "following the update", Run: r.followUpdate},
		{Name: "waiting for bootstrap data", Run: r.awaitBootstrap},
		{Name: "ensuring the launch config", Run: r.ensureLaunchConfig},
		{Name: "saying what a node is", Run: r.describeNode},
		{Name: "ensuring the node role", Run: r.ensureRole},
		{Name: "letting edits settle", Run: r.settle},
		{Name: "ensuring the node group", Run: r.ensureNodegroup},
		{Name: "replacing a node group without its template", Run: r.replace},
		{Name: "tagging", Run: r.ensureTags},
		{Name: "reporting the roll-out", Run: r.reportRollout},
		{Name: "reporting health", Run: r.reportHealth},
		{Name: "reporting instances", Run: r.reportInstances},
	})
}

// forget drops what this process remembers of a pool.
func (r *Reconciler) forget(pool types.NamespacedName) {
	r.written.Forget(pool)
	r.made.Forget(pool)
	r.sightings.Forget(pool)
	r.unseen.Reset(pool)
	r.stuck.Reset(pool)
	r.roleChecks.Forget(pool)
	r.hookChecks.Forget(pool)
	r.failures.Forget(pool)
	r.deprecations.Forget(pool)
}

// findOwners finds the MachinePool that owns the pool, and the Cluster of both. Either may be missing.
func (r *Reconciler) findOwners(ctx context.Context, p *pass) (err error) {
	p.eksCluster = p.pool.Annotations[common.EKSClusterAnnotation]
	p.machinePool, p.owner, p.clusterName, err = common.Owners(ctx, r.Client, p.pool)
	return err
}

// awaitOwner waits until core Cluster API has set the owner reference.
func (r *Reconciler) awaitOwner(_ context.Context, p *pass) reconciling.Outcome {
	return common.AwaitOwner(p.pool, p.machinePool)
}

// learnCluster reads what is known of the EKS cluster.
func (r *Reconciler) learnCluster(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.facts, outcome = common.LoadFacts(ctx, r.Client, p.pool, p.owner, p.clusterName)
	if p.facts == nil {
		return outcome
	}
	if !p.facts.EKS {
		message := fmt.Sprintf("Cluster %q has no EKS control plane, and only EKS has managed node groups: use an AWSMachinePool", p.clusterName)
		reconciling.False(p.pool, infrav1.ClusterInfrastructureReadyCondition, infrav1.InvalidSpecReason, message)
		return reconciling.Stop(message)
	}
	p.eksCluster = p.facts.KubernetesName
	return outcome
}

// reachCloud picks the AWS that the cluster is in.
func (r *Reconciler) reachCloud(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.cloud, outcome = common.Reach(ctx, r.Clouds, p.pool, p.facts)
	if p.cloud == nil {
		r.Clouds.ForgetManagedGroup(p.key()) // the sweeps would go on looking
	}
	return outcome
}

// bootstrapNamed reports whether the Secret with the bootstrap data is named, or none is needed:
// without a bootstrap provider, EKS brings what nodes join with.
func bootstrapNamed(p *pass) bool {
	bootstrap := p.machinePool.Spec.Template.Spec.Bootstrap
	return !bootstrap.ConfigRef.IsDefined() || ptr.Deref(bootstrap.DataSecretName, "") != ""
}

// hold adds the finalizer before anything is made in AWS.
func (r *Reconciler) hold(ctx context.Context, p *pass) reconciling.Outcome {
	err := reconciling.EnsureFinalizer(ctx, r.Client, p.pool, infrav1.ManagedMachinePoolFinalizer, func(pool *infrav1.AWSManagedMachinePool) {
		ownership.SetLocation(pool, ownership.LocationOf(p.cloud, p.facts.Identity, p.clusterName))
		reconciling.SetAnnotation(pool, common.EKSClusterAnnotation, p.eksCluster)
	})
	if err != nil {
		return reconciling.Fail(fmt.Errorf("adding the finalizer: %w", err))
	}
	return reconciling.Continue()
}

// goOn returns the outcome of a step that what is wanted waits for. The pass goes on for a node
// group that exists: its update is followed and its instances are reported, whatever the spec asks
// for next.
func (p *pass) goOn(outcome reconciling.Outcome) reconciling.Outcome {
	if p.group == nil {
		return outcome
	}
	return outcome.AndGoOn()
}

// wantedUnknown reports whether it is not known what nodes should be launched from: the launch
// config is not ready.
func (p *pass) wantedUnknown() bool { return p.pool.Spec.Templated() && p.config == nil }

// awaitBootstrap waits until the bootstrap provider has named its Secret, if the MachinePool has a
// bootstrap provider: EKS brings its own bootstrap data.
func (r *Reconciler) awaitBootstrap(_ context.Context, p *pass) reconciling.Outcome {
	if !bootstrapNamed(p) {
		const message = "the bootstrap provider of the MachinePool has not named the Secret with the bootstrap data yet (spec.template.spec.bootstrap.dataSecretName)"
		reconciling.False(p.pool, infrav1.BootstrapDataReadyCondition, infrav1.WaitingForBootstrapDataReason, message)
		return p.goOn(reconciling.Stop(message))
	}
	reconciling.True(p.pool, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}
