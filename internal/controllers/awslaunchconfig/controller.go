// Package awslaunchconfig keeps the EC2 launch template of every AWSLaunchConfig: it is the one place from which the heart, package
// launchtemplate, is driven. A pass learns facts, makes the wanted version exist, prunes what nobody uses, and says so in status.
package awslaunchconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/userdata"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "awslaunchconfig"

// Reconciler reconciles AWSLaunchConfigs.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache: bootstrap data, because the cache holds no Secrets, and the pool that a template is adopted for.
	Live client.Reader
	// Watches wakes a config whose bootstrap data changed.
	Watches SecretWatcher
	Clouds  *clouds.Registry
	Report  common.Reporter
	Clock   clock.PassiveClock

	memory memory
	// written are this process's own writes to configs.
	written common.Written
	// unseen measures how long EC2 has not returned a template that status names, or that must be deleted.
	unseen common.Stopwatches
}

// SecretWatcher wakes objects when the Secret that they name changes.
type SecretWatcher interface {
	Watch(object, secret types.NamespacedName)
	// Read says which resource version of its Secret the object knows, for which it need not be woken.
	Read(object types.NamespacedName, version string)
	Forget(object types.NamespacedName)
}

// pass is one reconcile of one config: the object, and what was learned about it.
type pass struct {
	config *infrav1.AWSLaunchConfig
	// owner is the Cluster, nil if it is gone. Set before the steps.
	owner *clusterv1.Cluster
	// usages are those of the pools that launch from the config. Set before the steps.
	usages []usage
	// facts of the cluster. Set by learnCluster.
	facts *cluster.Facts
	// cloud is where the template is. Set by reachCloud.
	cloud *clouds.Cloud
	// seen is the template in AWS. Set by observe, kept true by ensureVersion and prune.
	seen launchtemplate.Observation
	// swept is the template as the sweeps know it from this pass: as it was read from them, or was put there since. Nil if neither. Set by observe and remember.
	swept *launchtemplate.Template
	// lost is the id of a template that was deleted outside Slipway. Set by observe.
	lost string
	// adopt is the id of the template seen if it is not the config's yet, and proven to be its pool's. Set by observe.
	adopt string
	// deleted are versions with the configuration in status that were deleted by hand. Set by readVersions.
	deleted []int64
	// delivery is how bootstrap data reaches instances, nothing for a config without. Set by readBootstrap.
	delivery delivery
	// nodegroupData is the bootstrap data of a config that a node group launches from, and nodegroupFormat its format. Set by readBootstrap; resolve makes
	// user data of it.
	nodegroupData   []byte
	nodegroupFormat userdata.Format
	// resolved and input are set by resolve, and asked is the config fingerprint of what the spec asks for.
	resolved launchtemplate.Resolved
	input    launchtemplate.Input
	asked    string
	// pending is what the spec asks for while it is held back; input is then what was launched before. Set by awaitApproval, where it is unapproved, or by tryAsked.
	pending    *launchtemplate.Input
	unapproved bool
	// version is the wanted one, accepted are others that count as it. Set by ensureVersion.
	version  launchtemplate.Version
	accepted launchtemplate.Accepted
}

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(p.config) }

// ready is how the Ready condition follows from the others.
var ready = reconciling.Summary{
	Target: infrav1.ReadyCondition,
	Of: []string{
		infrav1.ClusterInfrastructureReadyCondition,
		infrav1.BootstrapDataReadyCondition,
		infrav1.ResolvedCondition,
		infrav1.LaunchTemplateReadyCondition,
	},
	Reason: infrav1.ReadyReason,
	Unless: infrav1.AWSReachableCondition,
}

// Reconcile follows the template of somebody else's that a config names (existing.go), or makes its own what its spec says:
//
//  1. learn the cluster: region, network, tags
//  2. hold the object by a finalizer that knows the region
//  3. see the template and its versions in AWS
//  4. read the bootstrap data, and decide how it reaches instances
//  5. put it where user data points to, if that is outside of the template
//  6. resolve image and security groups, and make the request
//  7. go back to an earlier config, if the pool or the user asks for it
//  8. hold back what waits for approval
//  9. have EC2 try what is newly asked for, if the spec wants that, and hold it back if EC2 would not launch it
//  10. make the wanted version exist and the default, and the one that is held back exist
//  11. say what is launched, where that is not what the spec asks for
//  12. have EC2 try what is launched, if it has not
//  13. prune versions that nobody uses, and bootstrap data that none points to
//  14. schedule a check of what was looked up: an image can be deregistered, and security groups tagged, without an event
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, err error) {
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Client.Get(ctx, request.NamespacedName, config); err != nil {
		if apierrors.IsNotFound(err) {
			r.Clouds.ForgetTemplate(request.NamespacedName)
			r.Report.Progress.Forget(config, request.NamespacedName)
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.Unseen(config, r.Clock) {
		return ctrl.Result{}, nil
	}
	owner, err := common.GetCluster(ctx, r.Client, config.Namespace, config.Spec.ClusterName)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := config.DeepCopy()
	defer func() {
		if err == nil {
			config.Status.ObservedGeneration = config.Generation
		}
		err = errors.Join(err, r.Report.PatchStatus(ctx, r.Client, config, before))
		r.written.Note(config, before, r.Clock)
	}()
	usages, err := r.usages(ctx, config)
	if err != nil {
		return ctrl.Result{}, err
	}
	if common.Paused(config, owner) || pausedWithPool(config, usages) {
		return ctrl.Result{}, nil
	}
	r.Report.Progress.Seen(config, config.Status.ObservedGeneration, r.Clock.Now())
	subject := &pass{config: config, owner: owner, usages: usages}
	if !config.DeletionTimestamp.IsZero() {
		if config.Spec.Existing != nil {
			return ctrl.Result{}, nil // others hold the object: there is nothing in AWS to clean up
		}
		reconciling.False(config, infrav1.ReadyCondition, infrav1.DeletingReason, "")
		return reconciling.RunDeletion(ctx, r.Live, config, subject, r.deletion())
	}
	defer summary(config).Summarize(config)
	if config.Spec.Existing != nil {
		return reconciling.Run(ctx, subject, r.followed())
	}
	return reconciling.Run(ctx, subject, []reconciling.Step[*pass]{
		{Name: "learning about the cluster", Run: r.learnCluster},
		{Name: "reaching AWS", Run: r.reachCloud},
		{Name: "holding the object", Run: r.hold},
		{Name: "observing the launch template", Run: r.observe},
		{Name: "reading the bootstrap data", Run: r.readBootstrap},
		{Name: "storing the bootstrap data", Run: r.storeBootstrap},
		{Name: "resolving the launch configuration", Run: r.resolve},
		{Name: "going back", Run: r.goBack},
		{Name: "awaiting approval", Run: r.awaitApproval},
		{Name: "trying what is asked for", Run: r.tryAsked},
		{Name: "releasing the launch template", Run: r.releaseTemplate},
		{Name: "ensuring the launch template version", Run: r.ensureVersion},
		{Name: "saying what is launched", Run: r.showLaunched},
		{Name: "trying what is launched", Run: r.tryLaunch},
		{Name: "pruning versions", Run: r.prune},
		{Name: "scheduling the next check", Run: r.scheduleCheck},
	})
}

// learnCluster reads the network that nodes are launched into.
func (r *Reconciler) learnCluster(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.facts, outcome = common.LoadFacts(ctx, r.Client, p.config, p.owner, p.config.Spec.ClusterName)
	return outcome
}

// reachCloud picks the AWS that the cluster is in.
func (r *Reconciler) reachCloud(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.cloud, outcome = common.Reach(ctx, r.Clouds, p.config, p.facts)
	if p.cloud == nil {
		r.Clouds.ForgetTemplate(p.key()) // the sweeps would go on looking
	}
	return outcome
}

// hold adds the finalizer before anything is made in AWS.
func (r *Reconciler) hold(ctx context.Context, p *pass) reconciling.Outcome {
	err := reconciling.EnsureFinalizer(ctx, r.Client, p.config, infrav1.LaunchConfigFinalizer, func(config *infrav1.AWSLaunchConfig) {
		common.SetLocation(config, common.LocationOf(p.cloud, p.facts.Identity, config.Spec.ClusterName))
	})
	if err != nil {
		return reconciling.Fail(fmt.Errorf("adding the finalizer: %w", err))
	}
	return reconciling.Continue()
}

// The lengths of a template's name (AWS: API_CreateLaunchTemplate).
const (
	shortestName = 3
	longestName  = 128
)

// names are what the template may be called.
func names(config *infrav1.AWSLaunchConfig) []string {
	wanted := config.Spec.LaunchTemplateName
	if wanted == "" {
		wanted = config.Name
	}
	return common.Names(wanted, config.Spec.ClusterName, config, shortestName, longestName)
}

// freeNames returns the names that a new template may have. A name that the user asks for is the only one: another would be a surprise.
func freeNames(p *pass) []string {
	all, wanted := names(p.config), p.config.Spec.LaunchTemplateName
	asked := wanted != "" && metav1.GetControllerOf(p.config) == nil ||
		slices.ContainsFunc(p.usages, func(used usage) bool { return used.named != "" && used.named == wanted })
	if asked {
		return all[:1]
	}
	return all
}

// candidates are the names under which the template is looked for: a template that CAPA made bears the pool's, whatever the spec says, because CAPA
// did not heed it.
func candidates(config *infrav1.AWSLaunchConfig) []string {
	all := names(config)
	if !slices.Contains(all, config.Name) && len(config.Name) >= shortestName && len(config.Name) <= longestName {
		all = append(all, config.Name)
	}
	return all
}

// choose picks the template with the config's owner tag.
func choose(config *infrav1.AWSLaunchConfig, found map[string]launchtemplate.Template) (template *launchtemplate.Template, taken []string) {
	return launchtemplate.Choose(owner(config), candidates(config), found)
}

// owner is the value of the ownership tag of a config's template, and of the groups that use it.
func owner(config *infrav1.AWSLaunchConfig) string {
	return common.Owner(config, config.Spec.ClusterName)
}

// forget drops what is remembered of a config that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.memory.forgetTemplate(key)
	r.memory.stored.Forget(key)
	r.memory.reasons.Forget(key)
	r.memory.changed.Forget(key)
	r.written.Forget(key)
	r.unseen.Reset(key)
	r.Watches.Forget(key)
}

// memory is what this process has seen of templates, their versions and bootstrap data, by config.
type memory struct {
	seen common.Memory[launchtemplate.Observation]
	// idle is until when versions of a template that are all in use are not asked about again.
	idle common.Memory[time.Time]
	// data is that of the version that a config went back to.
	data common.Memory[launchtemplate.Data]
	// stored is the bootstrap data outside of the template.
	stored common.Memory[storedItem]
	// inspected is the version of somebody else's template that a config follows.
	inspected common.Memory[inspection.Version]
	// reasons are why versions were wanted, by number.
	reasons common.Memory[map[int64]string]
	// changed is when this process last changed the template, by its own clock.
	changed common.Memory[time.Time]
}

// forgetTemplate drops what was seen of the template and its versions: the next pass looks.
func (m *memory) forgetTemplate(config types.NamespacedName) {
	m.seen.Forget(config)
	m.idle.Forget(config)
	m.data.Forget(config)
	m.inspected.Forget(config)
}
