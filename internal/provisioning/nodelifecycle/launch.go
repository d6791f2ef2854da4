package nodelifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// gathering is the time for which a launch waits for its other nodes. The controller that wrote the
// first of them writes the others immediately, or has crashed.
const gathering = 30 * time.Second

// launch has EC2 launch the instances of a launch by one call, and takes this node's instance from
// the answer. The first of its nodes sends the call. The call is identified by its name: after a
// crash it is repeated, and answered with the same instances.
func (r *Reconciler) launch(ctx context.Context, p *pass) reconciling.Outcome {
	node := p.node
	if node.Status.InstanceID != "" {
		return reconciling.Continue()
	}
	if from := node.Spec.Launch.ClusterUID; from != "" && from != r.ClusterUID {
		message := fmt.Sprintf("the ProvisionedNode was written in another cluster: its spec.launch.clusterUID is %s, and the UID of this cluster is %s; nothing is launched for it. Delete it", from, r.ClusterUID)
		reconciling.False(node, provisioningv1.LaunchedCondition, provisioningv1.OtherClusterReason, message)
		return reconciling.Stop(message)
	}
	if meta.FindStatusCondition(node.Status.Conditions, provisioningv1.LaunchedCondition) == nil {
		reconciling.False(node, provisioningv1.LaunchedCondition, provisioningv1.LaunchingReason, "")
	}
	if node.Status.RequestTime == nil {
		node.Status.RequestTime = &metav1.Time{Time: r.Clock.Now()}
	}
	if err := r.checkClusterName(ctx, node.Spec.Cluster); err != nil {
		return r.launchFailed(ctx, p, err)
	}
	var siblings provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &siblings, client.MatchingFields{byLaunch: node.Spec.Launch.Name}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing the nodes of launch %q: %w", node.Spec.Launch.Name, err))
	}
	if missing := int(node.Spec.Launch.Nodes) - len(siblings.Items); missing > 0 {
		_, answered := r.launches.answerTo(node.Spec.Launch.Name)
		if left := gathering - r.Clock.Since(node.Status.RequestTime.Time); left > 0 && !answered {
			return reconciling.ComeBack(left, fmt.Sprintf("%d nodes of the launch are not written down yet", missing))
		}
	}
	answer, err := r.launches.once(node.Spec.Launch.Name, r.Clock.Now(), func() (answer, error) { return r.call(ctx, p, siblings.Items) })
	if err != nil {
		return r.launchFailed(ctx, p, err)
	}
	instance, launched := answer.instances[node.Name]
	if !launched {
		return r.notLaunched(ctx, p, answer)
	}
	resources, err := r.Region.Resources(ctx, instance.InstanceType)
	if err != nil {
		return pool.RetryOutcome(err)
	}
	node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone = instance.ID, instance.InstanceType, instance.Zone
	node.Status.LaunchTime = &metav1.Time{Time: r.Clock.Now()}
	node.Status.Resources = &resources
	reconciling.True(node, provisioningv1.LaunchedCondition, provisioningv1.LaunchedCondition, "")
	r.Report.Progress.NodeStarted(node, metrics.StageLaunched, r.Clock.Now())
	reconciling.False(node, provisioningv1.RegisteredCondition, provisioningv1.RegisteringReason, "")
	if p.provisioner != nil {
		r.Report.Done(ctx, p.provisioner, provisioningv1.LaunchedCondition, "Launched instance %s (%s, %s, %s) for ProvisionedNode %s.",
			instance.ID, instance.InstanceType, instance.Zone, node.Spec.CapacityType, node.Name)
	}
	return reconciling.Continue()
}

// notLaunched deletes a node that EC2 launched no instance for. Its pods get another node, from the
// capacity that there is then.
func (r *Reconciler) notLaunched(ctx context.Context, p *pass, answer answer) reconciling.Outcome {
	reason := provisioningv1.InsufficientCapacityReason
	switch answer.blame {
	case fleet.BlameMissingTemplate:
		reconciling.False(p.node, provisioningv1.LaunchedCondition, provisioningv1.LaunchFailedReason, answer.why)
		return r.templateLost(ctx, p)
	case fleet.BlameSubnet:
		reason = provisioningv1.SubnetsUnusableReason
	case fleet.BlameTemplate, fleet.BlameAccount, fleet.BlameSpot, fleet.BlameMoment:
		reason = provisioningv1.LaunchFailedReason
	default: // EC2 had no capacity, which is the reason already
	}
	reconciling.False(p.node, provisioningv1.LaunchedCondition, reason, answer.why)
	r.tell(ctx, p, reason, "ProvisionedNode %s was not launched: %s.", p.node.Name, cmp.Or(strings.TrimSuffix(answer.why, "."), "EC2 gives no reason"))
	return r.end(ctx, p, reason, "EC2 launched no instance for it")
}

// checkClusterName returns an error if resources of another cluster have this cluster's name, or if
// that cannot be found out.
func (r *Reconciler) checkClusterName(ctx context.Context, name string) error {
	taken, err := r.Names.Taken(ctx, name)
	if err == nil && taken != "" {
		err = &nameTakenError{taken}
	}
	return err
}

// launchTimeout is the time for which a launch that fails as a whole is tried. Then its pods are
// packed anew, from the state at that time.
const launchTimeout = 5 * time.Minute

// launchFailed reports why, and tries again for a while: EC2 may or may not have launched
// something.
func (r *Reconciler) launchFailed(ctx context.Context, p *pass, err error) reconciling.Outcome {
	fate, reason := aws.FateOf(err), provisioningv1.LaunchFailedReason
	if aws.IsThrottled(err) {
		reason = provisioningv1.ThrottledReason
	}
	if shown := meta.FindStatusCondition(p.node.Status.Conditions, provisioningv1.LaunchedCondition); shown == nil || shown.Reason != reason {
		r.tell(ctx, p, provisioningv1.LaunchFailedReason, "ProvisionedNode %s is not launched yet: %s. The launch is repeated.", p.node.Name, strings.TrimSuffix(aws.UserMessage(err), "."))
	}
	reconciling.False(p.node, provisioningv1.LaunchedCondition, reason, aws.UserMessage(err))
	if r.Clock.Since(p.node.Status.RequestTime.Time) > launchTimeout {
		r.tell(ctx, p, provisioningv1.LaunchFailedReason, "ProvisionedNode %s could not be launched: %s", p.node.Name, aws.UserMessage(err))
		return r.end(ctx, p, provisioningv1.LaunchFailedReason, "it could not be launched")
	}
	return reconciling.ComeBack(cmp.Or(fate.After, launchRetry(r.Clock.Since(p.node.Status.RequestTime.Time))), err.Error())
}

// launchRetry returns when a launch that failed is repeated, by how long it has been tried: an
// outage of AWS takes minutes, and a recovery is noticed within seconds.
func launchRetry(tried time.Duration) time.Duration {
	return min(max(tried, sharedFailure), launcher.RetryInterval)
}

// sharedFailure is the time for which the failure of a launch holds for all of its nodes: they do
// not repeat the call one after the other.
const sharedFailure = time.Second

// templateLost deletes a node whose launch template is gone: a node never changes its launch
// template. Its pods get another node, from the launch templates that exist then.
func (r *Reconciler) templateLost(ctx context.Context, p *pass) reconciling.Outcome {
	from := p.node.Spec.LaunchTemplate
	r.Defaults.Forget(from.ID)
	r.Templates.Forget(from.ID)
	r.tell(ctx, p, provisioningv1.LaunchFailedReason, "ProvisionedNode %s was not launched: version %d of launch template %s does not exist any longer.", p.node.Name, from.Version, from.ID)
	return r.end(ctx, p, provisioningv1.LaunchFailedReason, "its launch template is gone")
}

// nameTakenError reports that another cluster uses the name of this one.
type nameTakenError struct{ why string }

// Error implements error.
func (e *nameTakenError) Error() string { return e.why }

// WaitsForUser reports that only a change by a person helps.
func (*nameTakenError) WaitsForUser() bool { return true }

// noAnswer is the reason of a launch that failed without an answer of EC2, as a metric has it.
const noAnswer = "NoAnswer"

// call sends the call of a launch, and shares its instances out: a node that knows its instance
// keeps it, the others get theirs in the order of their names.
func (r *Reconciler) call(ctx context.Context, p *pass, siblings []provisioningv1.ProvisionedNode) (answer, error) {
	spec := &p.node.Spec
	request := launcher.Request(spec)
	if err := r.reduce(ctx, p.node, &request, len(siblings)); err != nil {
		return answer{}, err
	}
	launched, err := r.Fleets.Launch(ctx, request)
	if err != nil {
		r.Report.Progress.LaunchFailed(cmp.Or(string(fleet.VerdictOf(err).Blame), noAnswer), "", spec.CapacityType)
		return r.refused(ctx, request, err)
	}
	r.Report.Progress.Batched(metrics.BatchLaunch, int(request.Nodes))
	made := share(launched.Instances, siblings)
	verdict := launched.Verdict()
	made.why, made.blame = verdict.Message, verdict.Blame
	r.record(ctx, request, launcher.FindingsOf(request, launched))
	for _, failure := range launched.Failures {
		r.Report.Progress.LaunchFailed(string(failure.Blame), failure.Zone, spec.CapacityType)
	}
	return made, nil
}

// refused returns an answer without instances to a call that EC2 refused. It returns the error if
// EC2 may have launched something, or the same request should be sent again.
func (r *Reconciler) refused(ctx context.Context, request fleet.Request, err error) (answer, error) {
	verdict := request.VerdictOf(err)
	findings, ofCapacity := launcher.FindingsOfCall(request, verdict.Blame, aws.Code(err), verdict.Message)
	switch {
	case verdict.Blame == fleet.BlameMissingTemplate:
	case ofCapacity: // EC2 has answered that it launches nothing, also where it calls that a failure of its own
		r.record(ctx, request, findings)
	case verdict.Blame == fleet.BlameTemplate, verdict.Blame == fleet.BlameAccount, verdict.Blame == fleet.BlameSubnet:
		if aws.IsUncertain(err) || aws.IsIdempotentParameterMismatch(err) {
			return answer{}, err
		}
		r.Refusals.RecordCall(request, err)
	default:
		return answer{}, err
	}
	return answer{why: verdict.Message, blame: verdict.Blame}, nil
}

// record keeps later launches from what a launch shows to be short, full, or refused.
func (r *Reconciler) record(ctx context.Context, request fleet.Request, findings launcher.Findings) {
	market := launcher.Market(request)
	for _, offering := range findings.Launched {
		r.Refusals.RecordLaunch(request, offering)
		r.Shortages.Launched(catalog.Offering{InstanceType: offering.InstanceType, Zone: offering.Zone, CapacityType: market})
	}
	for _, failure := range findings.Short {
		if fleet.IsInstanceQuota(failure.Code) {
			types := []string{failure.InstanceType}
			if !findings.OfCall && failure.Code != instanceLimit {
				types = r.beyond(ctx, failure.InstanceType)
			}
			r.Shortages.MarkQuota(types, market, failure.Code+": "+failure.Message)
			continue
		}
		r.Shortages.Mark(catalog.Offering{InstanceType: failure.InstanceType, Zone: failure.Zone, CapacityType: market})
	}
	if findings.NoSpot != "" {
		r.Shortages.MarkSpot(findings.NoSpot)
	}
	for _, subnet := range slices.Concat(findings.Full, findings.Gone) {
		r.Shortages.MarkSubnet(subnet)
		r.Region.Discovery.ForgetSubnets(subnet)
	}
	r.Refusals.RecordFailures(request, findings.Refused)
}

// beyond returns the instance types that a quota does not allow if it does not allow the given one.
func (r *Reconciler) beyond(ctx context.Context, instanceType string) []string {
	types, err := r.Region.Discovery.InstanceTypes(ctx)
	if err != nil {
		return []string{instanceType}
	}
	return catalog.Beyond(types, instanceType)
}

// instanceLimit is the code of a quota that counts instances of one type, and not vCPUs.
const instanceLimit = "InstanceLimitExceeded"

// reduce shrinks a launch whose writer crashed before all of its nodes were written, unless it was
// sent already. It launches only for the nodes that exist, and under another name, because EC2
// treats calls of one name as one.
func (r *Reconciler) reduce(ctx context.Context, node *provisioningv1.ProvisionedNode, request *fleet.Request, written int) error {
	if written >= int(request.Nodes) {
		return nil
	}
	made, err := r.ofLaunch(ctx, node)
	if err != nil || len(made) > 0 {
		return err
	}
	// #nosec G115 -- fewer than Nodes, which is one
	request.Name, request.Nodes = fmt.Sprintf("%s-%d", request.Name, written), int32(written)
	return nil
}

// share gives every node of a launch its instance.
func share(instances []fleet.Instance, siblings []provisioningv1.ProvisionedNode) answer {
	slices.SortFunc(siblings, func(a, b provisioningv1.ProvisionedNode) int { return cmp.Compare(a.Name, b.Name) })
	free := slices.DeleteFunc(slices.Clone(instances), func(instance fleet.Instance) bool {
		return slices.ContainsFunc(siblings, func(node provisioningv1.ProvisionedNode) bool { return node.Status.InstanceID == instance.ID })
	})
	made := answer{instances: map[string]fleet.Instance{}}
	for i := range siblings {
		if siblings[i].Status.InstanceID == "" && len(free) > 0 {
			made.instances[siblings[i].Name], free = free[0], free[1:]
		}
	}
	return made
}

// answer holds the result of a launch.
type answer struct {
	// instances by the name of the node.
	instances map[string]fleet.Instance
	// why there are fewer than nodes, and what is to blame if there is none.
	why   string
	blame fleet.Blame
}

// launches remembers the answers to the calls that this process sent, for the nodes that were
// launched by the same call. It is safe for concurrent use.
type launches struct {
	mu   sync.Mutex
	made map[string]*onceAnswered
}

type onceAnswered struct {
	mu       sync.Mutex
	answered bool
	answer
	// failure is why the last call failed, at failedAt.
	failure  error
	failedAt time.Time
}

func (l *launches) of(name string) *onceAnswered {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[string]*onceAnswered{}
	}
	if l.made[name] == nil {
		l.made[name] = &onceAnswered{}
	}
	return l.made[name]
}

// once returns the answer to the call of a launch. It sends the call if there is no answer yet, or
// if the last failure is older than sharedFailure.
func (l *launches) once(name string, now time.Time, call func() (answer, error)) (answer, error) {
	made := l.of(name)
	made.mu.Lock()
	defer made.mu.Unlock()
	if made.failure != nil && now.Sub(made.failedAt) < sharedFailure {
		return answer{}, made.failure
	}
	if !made.answered {
		answered, err := call()
		if err != nil {
			made.failure, made.failedAt = err, now
			return answer{}, err
		}
		made.answered, made.answer = true, answered
	}
	return made.answer, nil
}

// answerTo returns the answer to the call of a launch, if there is one.
func (l *launches) answerTo(name string) (answer, bool) {
	made := l.of(name)
	made.mu.Lock()
	defer made.mu.Unlock()
	return made.answer, made.answered
}

// forget drops the answer to a launch whose nodes are gone.
func (l *launches) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, name)
}
