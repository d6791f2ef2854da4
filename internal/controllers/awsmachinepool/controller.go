// Package awsmachinepool runs the nodes of every AWSMachinePool in an Auto Scaling group: it writes the pool's AWSLaunchConfig, keeps the group as the
// pool asks for it, points it at the config's version, rolls instances that run another config, and tells Cluster API
// which instances there are.
package awsmachinepool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "awsmachinepool"

// lookAgain is when something in AWS that was just written and can not be seen yet is looked for again.
const lookAgain = 5 * time.Second

// Reconciler reconciles AWSMachinePools.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache.
	Live   client.Reader
	Clouds *clouds.Registry
	// Workloads reaches the clusters whose nodes are drained.
	Workloads Workloads
	// SettleWindow is how long what is wanted must not have changed before it is rolled out; zero for no wait.
	SettleWindow time.Duration
	// MachinePoolMachines gives instances Machines where the pool does not say.
	MachinePoolMachines bool
	Report              common.Reporter
	Clock               clock.PassiveClock

	// written are this process's own writes to pools.
	written common.Written
	// made are the launch configs that this process made.
	made common.Made
	// polls are what was seen of refreshes under way.
	polls common.Memory[poll]
	// told is the end of a refresh that people were told of last.
	told common.Memory[string]
	// unseen times how long a group to be deleted has not been seen.
	unseen common.Stopwatches
	// hookLooks are when the hooks of a pool's group were looked at.
	hookLooks common.Memory[hookLook]
	// drains remembers what saves calls while nodes are drained.
	drains drainNotes
	// warmLooks are what was seen last of warm pools.
	warmLooks common.Memory[warmLook]
	// emptying is for how long the nodes of a group that is to be deleted have been looked at.
	emptying common.Memory[watch]
	// changed is when something of a pool's group was changed last.
	changed common.Memory[time.Time]
	// awaiting times how long a new pool waits for its launch config.
	awaiting common.Stopwatches
	// short times how long a group has been below its desired capacity, and asked is when AWS is asked again why.
	short common.Stopwatches
	asked common.Memory[time.Time]
}

// pass is one reconcile of one pool: the object, and what was learned about it.
type pass struct {
	pool *infrav1.AWSMachinePool
	// machinePool owns the pool, nil if it does not yet or is gone. Set before the steps, as owner is.
	machinePool *clusterv1.MachinePool
	// owner is the Cluster, nil if it is gone.
	owner *clusterv1.Cluster
	// clusterName is the Cluster's, as the MachinePool says it, or as it was recorded before anything was made in AWS.
	clusterName string
	// facts of the cluster. Set by learnCluster.
	facts *cluster.Facts
	// cloud is where the group is. Set by reachCloud.
	cloud *clouds.Cloud
	// group is nil while there is none. Set by observeGroup, kept true by ensureGroup.
	group *autoscalinggroup.Group
	// adopting is true if CAPA made the group, and it is this pool's and not taken over yet. Set with group.
	adopting bool
	// freeName is what a new group is called.
	freeName string
	// config is the pool's, and only set while it is ready for its current generation, or holds back what EC2 would not launch. Set by ensureLaunchConfig.
	config *infrav1.AWSLaunchConfig
	// awaiting is true if the config has not acted on its spec yet. Set by ensureLaunchConfig.
	awaiting bool
	// hooksMade is whether the group was made in this pass with all its hooks.
	hooksMade bool
	// hooksChecked is whether the group is known to have its hooks, by what AWS said in this pass.
	hooksChecked bool
	// refreshes are the group's, newest first, if they were read in this pass. Set by observeRefresh.
	refreshes []autoscalinggroup.Refresh
	// confirmed is what is to be recorded on the pool of what was done in AWS. Set by ensureGroup, written by reportInstances.
	confirmed []func(*infrav1.AWSMachinePool)
	// wanted is what the instances should run, nil if config is. Set by settle.
	wanted *autoscalinggroup.Wanted
	// settling holds back what is wanted, because it changed a moment ago. Set by settle.
	settling bool
	// cause is why instances will be replaced once that has settled. Set by settle.
	cause string
	// inPlace is true if instances are to get new root volumes, and launches is what the group is to launch then. notInPlace is why they are replaced although
	// the pool prefers new root volumes. Set by ensureGroup.
	inPlace    bool
	launches   autoscalinggroup.Desired
	notInPlace string
	// twins are the objects that stand for instances, by instance id. Set by seeMachines.
	twins map[string]*twin
	// staying is how many instances the group keeps beyond what the pool asks for, because their Machines, which were chosen to go, are being drained.
	staying int32
	// moving is whether something in AWS is expected to change by itself soon.
	moving bool
	// resting is whether the group waits for what may not come soon, so that looking often would be for nothing.
	resting bool
}

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(p.pool) }

// ownerTag is the value of the ownership tag of the pool's group.
func (p *pass) ownerTag() string { return common.Owner(p.pool, p.clusterName) }

// ready is how the Ready condition follows from the others. A roll-out under way does not make a pool unready: its nodes work.
var ready = reconciling.Summary{
	Target: infrav1.ReadyCondition,
	Of: []string{
		infrav1.ClusterInfrastructureReadyCondition,
		infrav1.BootstrapDataReadyCondition,
		infrav1.LaunchTemplateReadyCondition,
		infrav1.ASGReadyCondition,
	},
	Reason: infrav1.ReadyReason,
	Unless: infrav1.AWSReachableCondition,
}

// Reconcile makes the nodes of a pool what its spec says:
//
//  1. learn the cluster: region, network, tags
//  2. hold the object by a finalizer that knows the region
//  3. see the group in AWS
//  4. see the instance refresh that is under way
//  5. drain the nodes of instances on their way out, and let those of a warm pool go
//  6. keep an object for each instance, if instances are to have Machines
//  7. have the bootstrap data named
//  8. write the pool's AWSLaunchConfig and wait until it is ready
//  9. let edits settle
//  10. make the group as desired, at the config's version
//  11. roll instances that run another config
//  12. say why instances are missing
//  13. tell Cluster API which instances there are
//
// What runs is reported even where the newest spec is refused, or its launch config is not ready.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	pool := &infrav1.AWSMachinePool{}
	if err := r.Client.Get(ctx, request.NamespacedName, pool); err != nil {
		if isGone(err) {
			r.Clouds.ForgetGroup(request.NamespacedName)
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
		if wait := r.untold(subject, before); err == nil && wait > 0 {
			if result.RequeueAfter == 0 || wait < result.RequeueAfter {
				result.RequeueAfter = wait
			}
		} else {
			err = errors.Join(err, r.Report.PatchStatus(ctx, r.Client, pool, before))
		}
		r.written.Note(pool, before, r.Clock)
	}()
	if common.Paused(pool, subject.owner) {
		r.Clouds.Rest(request.NamespacedName)
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
		{Name: "observing the Auto Scaling group", Run: r.observeGroup},
		{Name: "observing the instance refresh", Run: r.observeRefresh},
		{Name: "seeing Machines", Run: r.seeMachines},
		{Name: "draining nodes", Run: r.drainNodes},
		{Name: "letting warm instances go", Run: r.letWarmGo},
		{Name: "keeping Machines", Run: r.keepMachines},
		{Name: "waiting for bootstrap data", Run: r.awaitBootstrap},
		{Name: "ensuring the launch config", Run: r.ensureLaunchConfig},
		{Name: "saying what a node is", Run: r.describeNode},
		{Name: "letting edits settle", Run: r.settle},
		{Name: "ensuring the Auto Scaling group", Run: r.ensureGroup},
		{Name: "rolling out", Run: r.rollOut},
		{Name: "explaining missing capacity", Run: r.explainCapacity, Always: true},
		{Name: "reporting instances", Run: r.reportInstances, Always: true},
	})
}

// briefly is how long a new pool waits for its launch config before status says so. As a rule it is ready within a second and wakes the pool; what
// holds no longer is not worth a write (ADR 79).
const briefly = 2 * time.Second

// untold is how long nothing is said of what a pass found, because that is expected to be over by then; zero for what is said. It is of new pools alone: nothing
// is in AWS, and the pass did nothing but to see to it that there will be.
func (r *Reconciler) untold(p *pass, before *infrav1.AWSMachinePool) time.Duration {
	if !p.awaiting || p.group != nil || before.Status.ObservedGeneration != 0 {
		r.awaiting.Reset(p.key())
		return 0
	}
	return max(briefly-r.awaiting.Elapsed(p.key(), r.Clock.Now()), 0)
}

// forget drops what this process remembers of a pool.
func (r *Reconciler) forget(pool types.NamespacedName) {
	r.written.Forget(pool)
	r.made.Forget(pool)
	r.unseen.Reset(pool)
	r.awaiting.Reset(pool)
	r.short.Reset(pool)
	r.hookLooks.Forget(pool)
	r.asked.Forget(pool)
	r.polls.Forget(pool)
	r.told.Forget(pool)
	r.warmLooks.Forget(pool)
	r.changed.Forget(pool)
	r.emptying.Forget(pool)
	r.drains.forget(pool)
	r.drains.keep(pool, nil)
}

// findOwners finds the MachinePool that owns the pool, and the Cluster of both. Either may be missing.
func (r *Reconciler) findOwners(ctx context.Context, p *pass) (err error) {
	p.machinePool, p.owner, p.clusterName, err = common.Owners(ctx, r.Client, p.pool)
	return err
}

// awaitOwner waits until core Cluster API has set the owner reference.
func (r *Reconciler) awaitOwner(_ context.Context, p *pass) reconciling.Outcome {
	return common.AwaitOwner(p.pool, p.machinePool)
}

// learnCluster reads the network that nodes are launched into.
func (r *Reconciler) learnCluster(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.facts, outcome = common.LoadFacts(ctx, r.Client, p.pool, p.owner, p.clusterName)
	return outcome
}

// reachCloud picks the AWS that the cluster is in.
func (r *Reconciler) reachCloud(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.cloud, outcome = common.Reach(ctx, r.Clouds, p.pool, p.facts)
	if p.cloud == nil {
		r.Clouds.ForgetGroup(p.key()) // the sweeps would go on looking
	}
	return outcome
}

// hold adds the finalizer before anything is made in AWS. A new pool has what its group will be given recorded by the same write.
func (r *Reconciler) hold(ctx context.Context, p *pass) reconciling.Outcome {
	held := controllerutil.ContainsFinalizer(p.pool, infrav1.MachinePoolFinalizer)
	err := reconciling.EnsureFinalizer(ctx, r.Client, p.pool, infrav1.MachinePoolFinalizer, func(pool *infrav1.AWSMachinePool) {
		common.SetLocation(pool, common.LocationOf(p.cloud, p.facts.Identity, p.clusterName))
		if !held {
			r.announced(p, pool)
		}
	})
	if err != nil {
		return reconciling.Fail(fmt.Errorf("adding the finalizer: %w", err))
	}
	return reconciling.Continue()
}

// awaitBootstrap waits until the bootstrap provider has named its Secret.
func (r *Reconciler) awaitBootstrap(_ context.Context, p *pass) reconciling.Outcome {
	if message := bootstrapMissing(p); message != "" {
		reconciling.False(p.pool, infrav1.BootstrapDataReadyCondition, infrav1.WaitingForBootstrapDataReason, message)
		return reconciling.Stop(message)
	}
	reconciling.True(p.pool, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}

// bootstrapMissing says why instances would have no bootstrap data, empty if they have. A launch config that the pool refers to has its own.
func bootstrapMissing(p *pass) string {
	switch name := p.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName; {
	case name == nil:
		return "the MachinePool names no bootstrap data Secret yet"
	case *name == "" && p.pool.Spec.LaunchConfigRef == nil:
		return "spec.template.spec.bootstrap.dataSecretName of the MachinePool is empty: instances would be launched without user data, and never join the cluster. " +
			"No instance is launched or replaced until it names a Secret, or is left out in favor of bootstrap.configRef"
	}
	return ""
}

// longestName is that of a group's name (AWS: API_CreateAutoScalingGroup).
const longestName = 255

// names returns what the group may be called.
func names(p *pass) []string {
	candidates := common.Names(p.pool.Name, p.clusterName, p.pool, 1, longestName)
	// A group that was found once is found again, whatever becomes of what its name followed from.
	for _, arn := range arns(p.pool) {
		// Names are described together with those of other pools, and AWS refuses a request with a name that cannot exist.
		if _, name, known := strings.Cut(arn, ":autoScalingGroupName/"); known && groupName.MatchString(name) && !slices.Contains(candidates, name) {
			candidates = append(candidates, name)
		}
	}
	return candidates
}

// groupName matches the names that an Auto Scaling group can have (AWS: API_CreateAutoScalingGroup), without the control characters that AWS allows too.
var groupName = regexp.MustCompile(`^[^:\pC]{1,255}$`)

// arns returns the ARNs by which the pool names its group. The user of the namespace can write each, so they say where to look, and never whose
// the group is.
func arns(pool *infrav1.AWSMachinePool) []string {
	named := []string{pool.Spec.ProviderID}
	if status := pool.Status.AutoScalingGroup; status != nil {
		named = append(named, status.ARN)
	}
	return named
}

// isGone tells an object that does not exist from a failure to read it.
func isGone(err error) bool { return apierrors.IsNotFound(err) }

// namesTaken is true if groups of somebody else bear all names that the pool's might.
func namesTaken(err error) bool {
	var taken *autoscalinggroup.NamesTakenError
	return errors.As(err, &taken)
}

// seeReason returns the reason of an error of see, and the given reason for any other error.
func seeReason(err error, otherwise string) string {
	var untagged *ownerTagMissingError
	switch {
	case errors.As(err, &untagged):
		return infrav1.OwnerTagMissingReason
	case namesTaken(err):
		return infrav1.NameTakenReason
	}
	return common.AdoptionReason(err, otherwise)
}
