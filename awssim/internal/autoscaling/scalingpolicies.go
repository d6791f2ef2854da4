package autoscaling

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Scaling policies are stored, and ExecutePolicy carries out simple ones and those with steps.
// Nothing else does: CloudWatch measures nothing here.

// Kinds of policies and adjustments (SDK PutScalingPolicyInput), and bounds (UG ec2-auto-scaling-quotas).
const (
	policySimple         = "SimpleScaling"
	policyStep           = "StepScaling"
	policyTargetTracking = "TargetTrackingScaling"
	policyPredictive     = "PredictiveScaling"

	adjustChange  = "ChangeInCapacity"
	adjustExact   = "ExactCapacity"
	adjustPercent = "PercentChangeInCapacity"

	maxPolicies = 50
	maxSteps    = 20
)

var (
	policyTypes     = []string{policySimple, policyStep, policyTargetTracking, policyPredictive}
	adjustmentTypes = []string{adjustChange, adjustExact, adjustPercent}
)

// policyActions serves the actions on scaling policies.
type policyActions struct {
	region *sim.Region
	kernel *sim.Kernel
	groups *groups
}

func (api *policyActions) put(c *sim.Call, in *autoscaling.PutScalingPolicyInput) (*autoscaling.PutScalingPolicyOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if val(in.PolicyName) == "" {
		return nil, required("policyName")
	}
	p := shape.Convert[types.ScalingPolicy](*in)
	p.PolicyType, p.Enabled = ptr(valOr(in.PolicyType, policySimple)), ptr(valOr(in.Enabled, true))
	if *p.PolicyType != policySimple && val(p.Cooldown) == 0 {
		// zero stands for none, which Terraform's provider relies on (getPutScalingPolicyInput of
		// its resource aws_autoscaling_policy)
		p.Cooldown = nil
	}
	if err := checkPolicy(&p); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(g.scaling, func(had types.ScalingPolicy) bool { return *had.PolicyName == *p.PolicyName })
	switch {
	case i < 0 && len(g.scaling) >= maxPolicies:
		return nil, sim.Errorf(codeLimitExceeded, "You have already reached the limit of %d scaling policies for the Auto Scaling group.", maxPolicies)
	case i < 0:
		p.PolicyARN = ptr(fmt.Sprintf("arn:aws:autoscaling:%s:%s:scalingPolicy:%s:autoScalingGroupName/%s:policyName/%s", api.region.Name, api.region.Account.ID, api.kernel.NewUUID(), g.name, *p.PolicyName))
	case *g.scaling[i].PolicyType != *p.PolicyType:
		// inference
		return nil, invalid("The policy type of %s cannot be changed from %s to %s.", *p.PolicyName, *g.scaling[i].PolicyType, *p.PolicyType)
	default:
		p.PolicyARN, p.Alarms = g.scaling[i].PolicyARN, g.scaling[i].Alarms
	}
	// UG as-scaling-target-tracking: Auto Scaling makes two alarms, which it owns
	if *p.PolicyType == policyTargetTracking && len(p.Alarms) == 0 {
		for _, kind := range []string{"AlarmHigh", "AlarmLow"} {
			name := "TargetTracking-" + g.name + "-" + kind + "-" + api.kernel.NewUUID()
			p.Alarms = append(p.Alarms, types.Alarm{AlarmName: ptr(name), AlarmARN: ptr("arn:aws:cloudwatch:" + api.region.Name + ":" + api.region.Account.ID + ":alarm:" + name)})
		}
	}
	if i < 0 {
		g.scaling = append(slices.Clone(g.scaling), p)
	} else {
		g.scaling = slices.Concat(g.scaling[:i], []types.ScalingPolicy{p}, g.scaling[i+1:])
	}
	api.groups.publish(g)
	return &autoscaling.PutScalingPolicyOutput{PolicyARN: p.PolicyARN, Alarms: p.Alarms}, nil
}

// checkPolicy refuses what does not go with the kind of a policy (SDK PutScalingPolicyInput:
// "required if", "valid only if"). The words are an inference.
func checkPolicy(p *types.ScalingPolicy) error {
	kind := *p.PolicyType
	scales := kind == policySimple || kind == policyStep
	switch {
	case !slices.Contains(policyTypes, kind):
		return invalid("Policy type %s is not valid. Valid types are: %s", kind, strings.Join(policyTypes, ", "))
	case scales && !slices.Contains(adjustmentTypes, val(p.AdjustmentType)):
		return invalid("AdjustmentType must be one of %s.", strings.Join(adjustmentTypes, ", "))
	case (kind == policySimple) != (p.ScalingAdjustment != nil):
		return invalid("ScalingAdjustment must be specified for policy type %s, and for no other.", policySimple)
	case (kind == policyStep) != (len(p.StepAdjustments) > 0):
		return invalid("StepAdjustments must be specified for policy type %s, and for no other.", policyStep)
	}
	if err := checkAdjustment(p, kind); err != nil {
		return err
	}
	return checkSteps(p.StepAdjustments)
}

func checkAdjustment(p *types.ScalingPolicy, kind string) error {
	switch {
	case p.Cooldown != nil && kind != policySimple:
		return invalid("Cooldown is only supported for policy type %s.", policySimple)
	case (kind == policyTargetTracking) != (p.TargetTrackingConfiguration != nil):
		return invalid("TargetTrackingConfiguration must be specified for policy type %s, and for no other.", policyTargetTracking)
	case (kind == policyPredictive) != (p.PredictiveScalingConfiguration != nil):
		return invalid("PredictiveScalingConfiguration must be specified for policy type %s, and for no other.", policyPredictive)
	case (p.MinAdjustmentMagnitude != nil || p.MinAdjustmentStep != nil) && val(p.AdjustmentType) != adjustPercent: //nolint:staticcheck // older clients send what is deprecated
		return invalid("MinAdjustmentMagnitude is only supported for the adjustment type %s.", adjustPercent)
	case val(p.AdjustmentType) == adjustExact && val(p.ScalingAdjustment) < 0:
		return invalid("ScalingAdjustment must not be negative for the adjustment type %s.", adjustExact)
	case p.TargetTrackingConfiguration != nil && (p.TargetTrackingConfiguration.PredefinedMetricSpecification == nil) == (p.TargetTrackingConfiguration.CustomizedMetricSpecification == nil):
		return invalid("TargetTrackingConfiguration must have either a predefined or a customized metric.")
	}
	return nil
}

// checkSteps wants steps that neither overlap nor leave a gap (UG as-scaling-simple-step, "Step
// adjustments for step scaling").
func checkSteps(steps []types.StepAdjustment) error {
	if len(steps) > maxSteps {
		return invalid("You can specify a maximum of %d step adjustments.", maxSteps)
	}
	ordered := slices.Clone(steps)
	slices.SortFunc(ordered, func(a, b types.StepAdjustment) int {
		return int(math.Copysign(1, valOr(a.MetricIntervalLowerBound, math.Inf(-1))-valOr(b.MetricIntervalLowerBound, math.Inf(-1))))
	})
	for i, step := range ordered {
		low, high := valOr(step.MetricIntervalLowerBound, math.Inf(-1)), valOr(step.MetricIntervalUpperBound, math.Inf(1))
		switch {
		case step.ScalingAdjustment == nil:
			return required("stepAdjustments.scalingAdjustment")
		case low >= high:
			return invalid("The upper bound of a step adjustment must be greater than its lower bound.")
		case i > 0 && low != valOr(ordered[i-1].MetricIntervalUpperBound, math.Inf(1)):
			return invalid("Step adjustments must not overlap, and there must be no gap between them.")
		}
	}
	return nil
}

func (api *policyActions) delete(c *sim.Call, in *autoscaling.DeletePolicyInput) (*autoscaling.DeletePolicyOutput, error) {
	g, p, err := api.groups.findPolicy(in.AutoScalingGroupName, in.PolicyName)
	if err != nil {
		return nil, err
	}
	if _, err := api.groups.change(c, &g.name); err != nil {
		return nil, err
	}
	arn := *p.PolicyARN
	g.scaling = list.Filter(g.scaling, func(p types.ScalingPolicy) bool { return *p.PolicyARN != arn })
	api.groups.publish(g)
	return &autoscaling.DeletePolicyOutput{}, nil
}

func (api *policyActions) describe(_ *sim.Call, in *autoscaling.DescribePoliciesInput) (*autoscaling.DescribePoliciesOutput, error) {
	if err := api.groups.checkShown(in.AutoScalingGroupName); err != nil {
		return nil, err
	}
	var found []types.ScalingPolicy
	for _, v := range api.groups.views.VisibleAll() {
		found = append(found, list.Filter(v.scaling, func(p types.ScalingPolicy) bool {
			return (val(in.AutoScalingGroupName) == "" || *p.AutoScalingGroupName == *in.AutoScalingGroupName) &&
				(len(in.PolicyNames) == 0 || slices.Contains(in.PolicyNames, *p.PolicyName) || slices.Contains(in.PolicyNames, *p.PolicyARN)) &&
				(len(in.PolicyTypes) == 0 || slices.Contains(in.PolicyTypes, *p.PolicyType))
		})...)
	}
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 100, func(p types.ScalingPolicy) string { return *p.PolicyARN })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribePoliciesOutput{ScalingPolicies: emptyIfNil(page), NextToken: next}, nil
}

// execute carries a policy out, as its alarm would. With HonorCooldown a simple policy waits
// for the end of a cooldown by being refused (API ExecutePolicy: ScalingActivityInProgress).
func (api *policyActions) execute(c *sim.Call, in *autoscaling.ExecutePolicyInput) (*autoscaling.ExecutePolicyOutput, error) {
	g, p, err := api.groups.findPolicy(in.AutoScalingGroupName, in.PolicyName)
	if err != nil {
		return nil, err
	}
	if _, err := api.groups.change(c, &g.name); err != nil {
		return nil, err
	}
	adjustment, err := adjustmentFor(p, in)
	if err != nil {
		return nil, err
	}
	if *p.PolicyType == policySimple && val(in.HonorCooldown) && c.Now.Before(g.coolUntil) {
		// inference for the words
		return nil, sim.Errorf(codeScalingInProgress, "Scaling activity in progress: the cooldown of the group ends at %s", stamp(g.coolUntil))
	}
	want := min(max(adjusted(g.desired, p, adjustment), g.min), g.max)
	if want == g.desired {
		return &autoscaling.ExecutePolicyOutput{}, nil
	}
	g.cause = fmt.Sprintf("At %s a user request executed policy %s changing the desired capacity from %d to %d.", stamp(c.Now), *p.PolicyName, g.desired, want)
	g.desired = want
	if *p.PolicyType == policySimple {
		g.coolUntil = c.Now.Add(seconds(valOr(p.Cooldown, g.cooldown)))
	}
	api.groups.changed(g)
	return &autoscaling.ExecutePolicyOutput{}, nil
}

// adjustmentFor returns by how much a policy scales. For a policy with steps, it is the adjustment
// of the step that contains the metric's distance from the threshold (UG as-scaling-simple-step;
// SDK ExecutePolicyInput).
func adjustmentFor(p *types.ScalingPolicy, in *autoscaling.ExecutePolicyInput) (int, error) {
	switch *p.PolicyType {
	case policySimple:
		if in.MetricValue != nil || in.BreachThreshold != nil {
			return 0, invalid("MetricValue and BreachThreshold are only supported for policy type %s.", policyStep)
		}
		return int(val(p.ScalingAdjustment)), nil
	case policyStep:
	default:
		return 0, invalid("Policies of type %s cannot be executed.", *p.PolicyType)
	}
	if in.MetricValue == nil || in.BreachThreshold == nil {
		return 0, invalid("MetricValue and BreachThreshold are required for policy type %s.", policyStep)
	}
	distance := *in.MetricValue - *in.BreachThreshold
	for _, step := range p.StepAdjustments {
		low, high := valOr(step.MetricIntervalLowerBound, math.Inf(-1)), valOr(step.MetricIntervalUpperBound, math.Inf(1))
		inside := low <= distance && distance < high
		// "negative for the lower bound exclusive, upper bound inclusive" below the threshold
		if distance < 0 {
			inside = low < distance && distance <= high
		}
		if inside {
			return int(*step.ScalingAdjustment), nil
		}
	}
	return 0, invalid("No step adjustment found for metric value %v and breach threshold %v", *in.MetricValue, *in.BreachThreshold)
}

// adjusted returns the capacity that a policy wants (UG as-scaling-simple-step, "Scaling adjustment
// types": shares above 1 are rounded down, those between 0 and 1 are 1, and the same below 0).
func adjusted(desired int, p *types.ScalingPolicy, adjustment int) int {
	switch *p.AdjustmentType {
	case adjustExact:
		return adjustment
	case adjustChange:
		return desired + adjustment
	}
	share := float64(desired) * float64(adjustment) / 100
	change := int(share) // toward zero
	if change == 0 && share != 0 {
		change = int(math.Copysign(1, share))
	}
	magnitude := int(valOr(p.MinAdjustmentMagnitude, val(p.MinAdjustmentStep))) //nolint:staticcheck // older clients send what is deprecated
	if change != 0 && max(change, -change) < magnitude {
		change = magnitude * change / max(change, -change)
	}
	return desired + change
}

func describeAdjustmentTypes(*sim.Call, *autoscaling.DescribeAdjustmentTypesInput) (*autoscaling.DescribeAdjustmentTypesOutput, error) {
	out := &autoscaling.DescribeAdjustmentTypesOutput{}
	for _, name := range adjustmentTypes {
		out.AdjustmentTypes = append(out.AdjustmentTypes, types.AdjustmentType{AdjustmentType: ptr(name)})
	}
	return out, nil
}
