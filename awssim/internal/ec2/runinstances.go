package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// runInstances launches instances. The answer to a repeated client token shows the instances as
// they are now; if they are all terminated, the token is refused (EC2 Developer Guide, "Ensuring
// idempotency": IdempotentInstanceTerminated).
func runInstances(c *sim.Call, in *awsec2.RunInstancesInput) (*awsec2.RunInstancesOutput, error) {
	s := stateOf(c.Region)
	request := shape.Clone(*in)
	request.DryRun = nil
	previous, err := replay[awsec2.RunInstancesOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, request)
	if err != nil {
		return nil, err
	}
	if previous != nil {
		return refresh(s, previous)
	}
	minCount, maxCount, err := counts(in)
	if err != nil {
		return nil, err
	}
	l, err := planRun(s, request)
	if err != nil {
		return nil, err
	}
	if err := l.state.subnets.refuseShared(l.interfaces, maxCount); err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	count, err := l.state.capacities.roomFor(l, minCount, maxCount)
	if err != nil {
		return nil, err
	}
	reservation := c.Kernel.NewID("r-", 17)
	started, err := l.start(count, val(in.ClientToken), reservation)
	if err != nil {
		return nil, err
	}
	out := &awsec2.RunInstancesOutput{ReservationId: ptr(reservation), OwnerId: ptr(c.Account.ID)}
	for _, i := range started {
		out.Instances = append(out.Instances, i.Instance)
	}
	remember(s.tokens, c.Action, in.ClientToken, request, out)
	return out, nil
}

func counts(in *awsec2.RunInstancesInput) (minCount, maxCount int, err error) {
	if in.MinCount == nil {
		return 0, 0, missingParameter("MinCount")
	}
	if in.MaxCount == nil {
		return 0, 0, missingParameter("MaxCount")
	}
	if *in.MinCount < 1 {
		return 0, 0, invalidValue("minCount", *in.MinCount, "Minimum instance count must be greater than 0.")
	}
	if *in.MaxCount < *in.MinCount {
		return 0, 0, invalidValue("maxCount", *in.MaxCount, "The maximum count must not be less than the minimum count.")
	}
	return int(*in.MinCount), int(*in.MaxCount), nil
}

func planRun(s *state, request awsec2.RunInstancesInput) (*launch, error) {
	l := &launch{state: s, in: request}
	if spec := request.LaunchTemplate; spec != nil {
		version, err := ResolveLaunchTemplate(s.region, LaunchTemplateSpec{
			ID: val(spec.LaunchTemplateId), Name: val(spec.LaunchTemplateName), Version: val(spec.Version),
		})
		if err != nil {
			return nil, err
		}
		l.source = version
		l.in = mergeLaunch(version.Data, request)
	}
	return l, l.plan()
}

// refresh shows the instances of an earlier answer as they are now.
func refresh(s *state, out *awsec2.RunInstancesOutput) (*awsec2.RunInstancesOutput, error) {
	alive := false
	for n, before := range out.Instances {
		now, ok := s.instances.Get(val(before.InstanceId))
		if !ok {
			continue
		}
		out.Instances[n] = now.api
		alive = alive || !now.in(types.InstanceStateNameTerminated)
	}
	if !alive {
		return nil, sim.Errorf("IdempotentInstanceTerminated", "The request to launch an instance uses the same client token as a previous request for which the instance has been terminated.")
	}
	return out, nil
}
