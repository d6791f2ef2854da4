package nodelifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// noAnswer is the reason of a launch that failed without an answer of EC2, as a metric has it.
const noAnswer = "NoAnswer"

func (l launchInstances) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	made, err := a.launches.once(l.Launch, a.Clock.Now(), func() (answer, error) { return a.call(ctx) })
	if err != nil {
		return nil, err
	}
	a.Seen.Answer, a.Seen.LaunchedAt = &made, a.Clock.Now()
	if _, launched := made.instances[a.Object.Name]; !launched && made.blame == fleet.BlameMissingTemplate {
		a.Defaults.Forget(a.Object.Spec.LaunchTemplate.ID)
		a.Templates.Forget(a.Object.Spec.LaunchTemplate.ID)
	}
	return nil, nil
}

// call sends the call of a launch, and shares its instances out.
func (a actor) call(ctx context.Context) (answer, error) {
	spec, siblings := &a.Object.Spec, a.Seen.Siblings.Value
	request := launcher.Request(spec)
	sent, err := a.reduce(ctx, &request, len(siblings))
	if err != nil {
		return answer{}, err
	}
	if len(sent) > 0 {
		made := share(slices.DeleteFunc(sent, fleet.Instance.Ends), siblings)
		made.why = "an earlier call launched instances for other nodes of the launch alone"
		return made, nil
	}
	launched, err := a.Fleets.Launch(ctx, request)
	if err != nil {
		a.Report.Progress.LaunchFailed(cmp.Or(string(fleet.VerdictOf(err).Blame), noAnswer), "", spec.CapacityType)
		return a.refused(ctx, request, err)
	}
	a.Report.Progress.Batched(metrics.BatchLaunch, int(request.Nodes))
	made := share(launched.Instances, siblings)
	verdict := launched.Verdict()
	made.why, made.blame = verdict.Message, verdict.Blame
	a.record(ctx, request, launcher.FindingsOf(request, launched))
	for _, failure := range launched.Failures {
		a.Report.Progress.LaunchFailed(string(failure.Blame), failure.Zone, spec.CapacityType)
	}
	return made, nil
}

// refused returns an answer without instances to a call that EC2 refused. It returns the error if
// EC2 may have launched something, or the same request should be sent again.
func (a actor) refused(ctx context.Context, request fleet.Request, err error) (answer, error) {
	verdict := request.VerdictOf(err)
	findings, ofCapacity := launcher.FindingsOfCall(request, verdict.Blame, aws.Code(err), verdict.Message)
	switch {
	case verdict.Blame == fleet.BlameMissingTemplate:
	case ofCapacity: // EC2 has answered that it launches nothing, also where it calls that a failure of its own
		a.record(ctx, request, findings)
	case verdict.Blame == fleet.BlameTemplate, verdict.Blame == fleet.BlameAccount, verdict.Blame == fleet.BlameSubnet:
		if aws.IsUncertain(err) || aws.IsIdempotentParameterMismatch(err) {
			return answer{}, err
		}
		a.Refusals.RecordCall(request, err)
	default:
		return answer{}, err
	}
	return answer{why: verdict.Message, blame: verdict.Blame}, nil
}

// record keeps later launches from what a launch shows to be short, full, or refused.
func (a actor) record(ctx context.Context, request fleet.Request, findings launcher.Findings) {
	market := launcher.Market(request)
	for _, offering := range findings.Launched {
		a.Refusals.RecordLaunch(request, offering)
		a.Shortages.Launched(catalog.Offering{InstanceType: offering.InstanceType, Zone: offering.Zone, CapacityType: market})
	}
	for _, failure := range findings.Short {
		if fleet.IsInstanceQuota(failure.Code) {
			types := []string{failure.InstanceType}
			if !findings.OfCall && failure.Code != instanceLimit {
				types = a.beyond(ctx, failure.InstanceType)
			}
			a.Shortages.MarkQuota(types, market, failure.Code+": "+failure.Message)
			continue
		}
		a.Shortages.Mark(catalog.Offering{InstanceType: failure.InstanceType, Zone: failure.Zone, CapacityType: market})
	}
	if findings.NoSpot != "" {
		a.Shortages.MarkSpot(findings.NoSpot)
	}
	for _, subnet := range slices.Concat(findings.Full, findings.Gone) {
		a.Shortages.MarkSubnet(subnet)
		a.Region.Discovery.ForgetSubnets(subnet)
	}
	a.Refusals.RecordFailures(request, findings.Refused)
}

// beyond returns the instance types that a quota does not allow if it does not allow the given one.
func (a actor) beyond(ctx context.Context, instanceType string) []string {
	types, err := a.Region.Discovery.InstanceTypes(ctx)
	if err != nil {
		return []string{instanceType}
	}
	return catalog.Beyond(types, instanceType)
}

// instanceLimit is the code of a quota that counts instances of one type, and not vCPUs.
const instanceLimit = "InstanceLimitExceeded"

// reduce shrinks a launch whose writer crashed before all of its nodes were written, unless it was
// sent already. It launches only for the nodes that exist, and under another name, because EC2
// treats calls of one name as one. If it was sent, it returns the instances: whether that call was
// shrunk is not known, and the other one would launch more.
func (a actor) reduce(ctx context.Context, request *fleet.Request, written int) (sent []fleet.Instance, err error) {
	if written >= int(request.Nodes) {
		return nil, nil
	}
	made, err := a.ofLaunch(ctx, a.Object)
	slices.SortFunc(made, func(a, b fleet.Instance) int { return cmp.Compare(a.ID, b.ID) })
	if err != nil || len(made) > 0 {
		return made, err
	}
	// #nosec G115 -- fewer than Nodes, which is one
	request.Name, request.Nodes = fmt.Sprintf("%s-%d", request.Name, written), int32(written)
	return nil, nil
}

// ofLaunch returns the instances of the node's launch, without instances of another cluster that
// has a launch of that name.
func (k *Kind) ofLaunch(ctx context.Context, node *provisioningv1.ProvisionedNode) ([]fleet.Instance, error) {
	instances, err := k.Fleets.OfLaunch(ctx, node.Spec.Launch.Name)
	return slices.DeleteFunc(instances, func(instance fleet.Instance) bool { return k.claim(node).Check(instance) != nil }), err
}
