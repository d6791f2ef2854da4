package autoscaling_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// action is a scheduled action of the group named nodes.
func action(name string, change ...func(*autoscaling.PutScheduledUpdateGroupActionInput)) *autoscaling.PutScheduledUpdateGroupActionInput {
	in := &autoscaling.PutScheduledUpdateGroupActionInput{AutoScalingGroupName: aws.String("nodes"), ScheduledActionName: aws.String(name), DesiredCapacity: aws.Int32(3)}
	for _, c := range change {
		c(in)
	}
	return in
}

func at(t time.Time) func(*autoscaling.PutScheduledUpdateGroupActionInput) {
	return func(in *autoscaling.PutScheduledUpdateGroupActionInput) { in.StartTime = &t }
}

func recurring(cron string) func(*autoscaling.PutScheduledUpdateGroupActionInput) {
	return func(in *autoscaling.PutScheduledUpdateGroupActionInput) { in.Recurrence = aws.String(cron) }
}

func (f *fixture) scheduled() []types.ScheduledUpdateGroupAction {
	f.t.Helper()
	return call(f, f.asg.DescribeScheduledActions, &autoscaling.DescribeScheduledActionsInput{AutoScalingGroupName: aws.String("nodes")}).ScheduledUpdateGroupActions
}

func TestScheduledActionRunsOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	call(f, f.asg.PutScheduledUpdateGroupAction, action("up", at(beginning.Add(time.Hour)), func(in *autoscaling.PutScheduledUpdateGroupActionInput) { in.MinSize = aws.Int32(2) }))
	f.step(time.Hour - time.Second)
	if n := *f.group().DesiredCapacity; n != 0 {
		t.Errorf("a second too early the desired capacity is %d", n)
	}
	f.step(time.Second)
	if g := f.group(); *g.DesiredCapacity != 3 || *g.MinSize != 2 {
		t.Errorf("the group wants %d, at least %d", *g.DesiredCapacity, *g.MinSize)
	}
	if left := f.scheduled(); len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
	f.settled(3)
}

func TestScheduledActionRecurs(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	// The clocks of New York went back on the day on which these tests begin: 8:00 there is 13:00 in UTC.
	morning := action("morning", recurring("0 8 * * *"), func(in *autoscaling.PutScheduledUpdateGroupActionInput) {
		in.TimeZone = aws.String("America/New_York")
		in.EndTime = aws.Time(beginning.Add(26 * time.Hour))
	})
	call(f, f.asg.PutScheduledUpdateGroupAction, morning)
	call(f, f.asg.PutScheduledUpdateGroupAction, action("evening", recurring("0 20 * * *"), func(in *autoscaling.PutScheduledUpdateGroupActionInput) { in.DesiredCapacity = aws.Int32(0) }))
	for _, row := range []struct {
		reason string
		step   time.Duration
		want   int32
		left   int
	}{
		{"at 13:00 the morning begins", time.Hour, 3, 2},
		{"at 20:00 it is evening", 7 * time.Hour, 0, 2},
		{"at 13:00 of the next day it is morning, for the last time", 17 * time.Hour, 3, 1},
		{"on the third day there is only the evening", 48 * time.Hour, 0, 1},
	} {
		f.step(row.step)
		if n, left := *f.group().DesiredCapacity, f.scheduled(); n != row.want || len(left) != row.left {
			t.Errorf("%s: %d wanted, want %d; actions %+v", row.reason, n, row.want, left)
		}
	}
	if next := *f.scheduled()[0].StartTime; !next.Equal(time.Date(2026, time.November, 4, 20, 0, 0, 0, time.UTC)) {
		t.Errorf("the evening comes next at %s", next)
	}
}

func TestScheduledActionIsChangedSuspendedAndDeleted(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	call(f, f.asg.PutScheduledUpdateGroupAction, action("up", at(beginning.Add(time.Hour))))
	arn := *f.scheduled()[0].ScheduledActionARN
	call(f, f.asg.PutScheduledUpdateGroupAction, action("up", at(beginning.Add(2*time.Hour))))
	if a := f.scheduled(); len(a) != 1 || *a[0].ScheduledActionARN != arn {
		t.Errorf("after a change there are %+v", a)
	}
	f.step(90 * time.Minute)
	if n := *f.group().DesiredCapacity; n != 0 {
		t.Errorf("at its former time the action has run: %d wanted", n)
	}
	call(f, f.asg.SuspendProcesses, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: aws.String("nodes"), ScalingProcesses: []string{"ScheduledActions"}})
	f.step(time.Hour)
	if n := *f.group().DesiredCapacity; n != 0 {
		t.Errorf("while suspended the action has run: %d wanted", n)
	}
	out := call(f, f.asg.BatchPutScheduledUpdateGroupAction, &autoscaling.BatchPutScheduledUpdateGroupActionInput{AutoScalingGroupName: aws.String("nodes"),
		ScheduledUpdateGroupActions: []types.ScheduledUpdateGroupActionRequest{
			{ScheduledActionName: aws.String("a"), StartTime: aws.Time(beginning.Add(4 * time.Hour)), MaxSize: aws.Int32(9)},
			{ScheduledActionName: aws.String("late"), StartTime: aws.Time(beginning), MaxSize: aws.Int32(9)},
		}})
	if len(out.FailedScheduledUpdateGroupActions) != 1 || *out.FailedScheduledUpdateGroupActions[0].ScheduledActionName != "late" || *out.FailedScheduledUpdateGroupActions[0].ErrorCode != "ValidationError" {
		t.Errorf("failed are %+v", out.FailedScheduledUpdateGroupActions)
	}
	gone := call(f, f.asg.BatchDeleteScheduledAction, &autoscaling.BatchDeleteScheduledActionInput{AutoScalingGroupName: aws.String("nodes"), ScheduledActionNames: []string{"a", "none"}})
	if len(gone.FailedScheduledActions) != 1 || len(f.scheduled()) != 0 {
		t.Errorf("failed are %+v, left %+v", gone.FailedScheduledActions, f.scheduled())
	}
	fails(f, f.asg.DeleteScheduledAction, &autoscaling.DeleteScheduledActionInput{AutoScalingGroupName: aws.String("nodes"), ScheduledActionName: aws.String("a")}, "ValidationError", "not found")
}

func TestScheduledActionRules(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	call(f, f.asg.PutScheduledUpdateGroupAction, action("there", at(beginning.Add(time.Hour))))
	for _, row := range []struct {
		reason      string
		in          *autoscaling.PutScheduledUpdateGroupActionInput
		code, words string
	}{
		{"a time in the past", action("a", at(beginning.Add(-time.Hour))), "ValidationError", "Given start time is in the past"},
		{"no time", action("a"), "ValidationError", "StartTime"},
		{"the end before the start", action("a", at(beginning.Add(time.Hour)), func(in *autoscaling.PutScheduledUpdateGroupActionInput) {
			in.EndTime = aws.Time(beginning.Add(time.Minute))
		}), "ValidationError", "End time"},
		{"no sizes", action("a", at(beginning.Add(2*time.Hour)), func(in *autoscaling.PutScheduledUpdateGroupActionInput) { in.DesiredCapacity = nil }), "ValidationError", "DesiredCapacity"},
		{"a time that is taken", action("a", at(beginning.Add(time.Hour))), "AlreadyExists", "there"},
		{"seconds in the recurrence", action("a", recurring("0 0 8 * * *")), "ValidationError", "Given recurrence string:0 0 8 * * * is invalid"},
		{"a descriptor that is not of cron", action("a", recurring("@daily")), "ValidationError", "recurrence"},
		{"a day that never comes", action("a", recurring("0 0 30 2 *")), "ValidationError", "recurrence"},
		{"a time zone that is none", action("a", recurring("0 8 * * *"), func(in *autoscaling.PutScheduledUpdateGroupActionInput) { in.TimeZone = aws.String("Mars/Base") }), "ValidationError", "Mars/Base"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			f := *f
			f.t = t
			fails(&f, f.asg.PutScheduledUpdateGroupAction, row.in, row.code, row.words)
		})
	}
}

func TestPoliciesAreExecuted(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 7))
	f.settled(7)
	f.step(10 * time.Minute)
	policy := func(change func(*autoscaling.PutScalingPolicyInput)) *autoscaling.PutScalingPolicyInput {
		in := &autoscaling.PutScalingPolicyInput{AutoScalingGroupName: aws.String("nodes"), PolicyName: aws.String("p")}
		change(in)
		return in
	}
	for _, row := range []struct {
		reason  string
		policy  *autoscaling.PutScalingPolicyInput
		execute autoscaling.ExecutePolicyInput
		want    int32
	}{
		{"two more", policy(func(in *autoscaling.PutScalingPolicyInput) {
			in.AdjustmentType, in.ScalingAdjustment = aws.String("ChangeInCapacity"), aws.Int32(2)
		}), autoscaling.ExecutePolicyInput{}, 9},
		{"an exact number", policy(func(in *autoscaling.PutScalingPolicyInput) {
			in.AdjustmentType, in.ScalingAdjustment = aws.String("ExactCapacity"), aws.Int32(5)
		}), autoscaling.ExecutePolicyInput{}, 5},
		{"a share below one is one", policy(func(in *autoscaling.PutScalingPolicyInput) {
			in.AdjustmentType, in.ScalingAdjustment = aws.String("PercentChangeInCapacity"), aws.Int32(10)
		}), autoscaling.ExecutePolicyInput{}, 8},
		{"a share above one is rounded down", policy(func(in *autoscaling.PutScalingPolicyInput) {
			in.AdjustmentType, in.ScalingAdjustment = aws.String("PercentChangeInCapacity"), aws.Int32(-25)
		}), autoscaling.ExecutePolicyInput{}, 6},
		{"at least three", policy(func(in *autoscaling.PutScalingPolicyInput) {
			in.AdjustmentType, in.ScalingAdjustment, in.MinAdjustmentMagnitude = aws.String("PercentChangeInCapacity"), aws.Int32(10), aws.Int32(3)
		}), autoscaling.ExecutePolicyInput{}, 10},
		{"not beyond the maximum", policy(func(in *autoscaling.PutScalingPolicyInput) {
			in.AdjustmentType, in.ScalingAdjustment = aws.String("ChangeInCapacity"), aws.Int32(99)
		}), autoscaling.ExecutePolicyInput{}, 20},
	} {
		call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(7)})
		call(f, f.asg.PutScalingPolicy, row.policy)
		call(f, f.asg.ExecutePolicy, &autoscaling.ExecutePolicyInput{AutoScalingGroupName: aws.String("nodes"), PolicyName: aws.String("p")})
		if n := *f.group().DesiredCapacity; n != row.want {
			t.Errorf("%s: %d wanted, want %d", row.reason, n, row.want)
		}
	}
	fails(f, f.asg.ExecutePolicy, &autoscaling.ExecutePolicyInput{AutoScalingGroupName: aws.String("nodes"), PolicyName: aws.String("p"), HonorCooldown: aws.Bool(true)}, "ScalingActivityInProgress", "cooldown")
	f.step(10 * time.Minute)
	arn := call(f, f.asg.PutScalingPolicy, policy(func(in *autoscaling.PutScalingPolicyInput) {
		in.PolicyName, in.PolicyType, in.AdjustmentType = aws.String("steps"), aws.String("StepScaling"), aws.String("ChangeInCapacity")
		in.StepAdjustments = []types.StepAdjustment{
			{MetricIntervalLowerBound: aws.Float64(0), MetricIntervalUpperBound: aws.Float64(10), ScalingAdjustment: aws.Int32(-1)},
			{MetricIntervalLowerBound: aws.Float64(10), ScalingAdjustment: aws.Int32(-4)},
		}
	})).PolicyARN
	fails(f, f.asg.ExecutePolicy, &autoscaling.ExecutePolicyInput{PolicyName: arn}, "ValidationError", "MetricValue")
	call(f, f.asg.ExecutePolicy, &autoscaling.ExecutePolicyInput{PolicyName: arn, MetricValue: aws.Float64(59), BreachThreshold: aws.Float64(50)})
	if n := *f.group().DesiredCapacity; n != 19 {
		t.Errorf("the first step leads to %d, want 19", n)
	}
	call(f, f.asg.ExecutePolicy, &autoscaling.ExecutePolicyInput{PolicyName: arn, MetricValue: aws.Float64(60), BreachThreshold: aws.Float64(50)})
	if n := *f.group().DesiredCapacity; n != 15 {
		t.Errorf("the second step leads to %d, want 15", n)
	}
}

func TestPoliciesAreKept(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	nodes, name := aws.String("nodes"), aws.String("cpu")
	tracking := &autoscaling.PutScalingPolicyInput{AutoScalingGroupName: nodes, PolicyName: name, PolicyType: aws.String("TargetTrackingScaling"), TargetTrackingConfiguration: &types.TargetTrackingConfiguration{
		TargetValue: aws.Float64(50), PredefinedMetricSpecification: &types.PredefinedMetricSpecification{PredefinedMetricType: types.MetricTypeASGAverageCPUUtilization},
	}}
	put := call(f, f.asg.PutScalingPolicy, tracking)
	again := call(f, f.asg.PutScalingPolicy, tracking)
	if len(put.Alarms) != 2 || *again.PolicyARN != *put.PolicyARN || *again.Alarms[0].AlarmName != *put.Alarms[0].AlarmName {
		t.Errorf("first %+v, then %+v", put, again)
	}
	zero := *tracking
	zero.Cooldown = aws.Int32(0)
	call(f, f.asg.PutScalingPolicy, &zero) // as Terraform changes it
	zero.Cooldown = aws.Int32(1)
	fails(f, f.asg.PutScalingPolicy, &zero, "ValidationError", "Cooldown")
	fails(f, f.asg.ExecutePolicy, &autoscaling.ExecutePolicyInput{AutoScalingGroupName: nodes, PolicyName: name}, "ValidationError", "TargetTrackingScaling")
	fails(f, f.asg.DescribePolicies, &autoscaling.DescribePoliciesInput{AutoScalingGroupName: aws.String("none")}, "ValidationError", "Group none not found")
	shown := call(f, f.asg.DescribePolicies, &autoscaling.DescribePoliciesInput{AutoScalingGroupName: nodes, PolicyTypes: []string{"TargetTrackingScaling"}}).ScalingPolicies
	if len(shown) != 1 || *shown[0].TargetTrackingConfiguration.TargetValue != 50 || !*shown[0].Enabled || shown[0].Cooldown != nil {
		t.Errorf("the policies are %+v", shown)
	}
	for reason, in := range map[string]*autoscaling.PutScalingPolicyInput{
		"no adjustment":            {AutoScalingGroupName: nodes, PolicyName: aws.String("x"), AdjustmentType: aws.String("ChangeInCapacity")},
		"an unknown adjustment":    {AutoScalingGroupName: nodes, PolicyName: aws.String("x"), AdjustmentType: aws.String("Double"), ScalingAdjustment: aws.Int32(1)},
		"steps of a simple one":    {AutoScalingGroupName: nodes, PolicyName: aws.String("x"), AdjustmentType: aws.String("ChangeInCapacity"), ScalingAdjustment: aws.Int32(1), StepAdjustments: []types.StepAdjustment{{ScalingAdjustment: aws.Int32(1)}}},
		"a gap between the steps":  {AutoScalingGroupName: nodes, PolicyName: aws.String("x"), PolicyType: aws.String("StepScaling"), AdjustmentType: aws.String("ChangeInCapacity"), StepAdjustments: []types.StepAdjustment{{MetricIntervalUpperBound: aws.Float64(0), ScalingAdjustment: aws.Int32(1)}, {MetricIntervalLowerBound: aws.Float64(5), ScalingAdjustment: aws.Int32(2)}}},
		"another type than before": {AutoScalingGroupName: nodes, PolicyName: name, AdjustmentType: aws.String("ChangeInCapacity"), ScalingAdjustment: aws.Int32(1)},
	} {
		t.Run(reason, func(t *testing.T) {
			f := *f
			f.t = t
			fails(&f, f.asg.PutScalingPolicy, in, "ValidationError", "")
		})
	}
	call(f, f.asg.DeletePolicy, &autoscaling.DeletePolicyInput{PolicyName: put.PolicyARN})
	if left := call(f, f.asg.DescribePolicies, &autoscaling.DescribePoliciesInput{}).ScalingPolicies; len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
}

func TestNotificationsAndMetricsAreKept(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	nodes, topic := aws.String("nodes"), aws.String("arn:aws:sns:us-east-1:123456789012:scaling")
	notify := func(kinds ...string) *autoscaling.PutNotificationConfigurationInput {
		return &autoscaling.PutNotificationConfigurationInput{AutoScalingGroupName: nodes, TopicARN: topic, NotificationTypes: kinds}
	}
	fails(f, f.asg.PutNotificationConfiguration, notify("autoscaling:EC2_INSTANCE_SLEEP"), "ValidationError", "Notification Type")
	call(f, f.asg.PutNotificationConfiguration, notify("autoscaling:EC2_INSTANCE_LAUNCH", "autoscaling:EC2_INSTANCE_TERMINATE"))
	call(f, f.asg.PutNotificationConfiguration, notify("autoscaling:EC2_INSTANCE_TERMINATE"))
	shown := call(f, f.asg.DescribeNotificationConfigurations, &autoscaling.DescribeNotificationConfigurationsInput{}).NotificationConfigurations
	if len(shown) != 1 || *shown[0].NotificationType != "autoscaling:EC2_INSTANCE_TERMINATE" || *shown[0].TopicARN != *topic {
		t.Errorf("the notifications are %+v", shown)
	}
	call(f, f.asg.DeleteNotificationConfiguration, &autoscaling.DeleteNotificationConfigurationInput{AutoScalingGroupName: nodes, TopicARN: topic})
	fails(f, f.asg.DeleteNotificationConfiguration, &autoscaling.DeleteNotificationConfigurationInput{AutoScalingGroupName: nodes, TopicARN: topic}, "ValidationError", "doesn't exist")

	enabled := func() []string {
		var names []string
		for _, m := range f.group().EnabledMetrics {
			names = append(names, *m.Metric)
		}
		return names
	}
	fails(f, f.asg.EnableMetricsCollection, &autoscaling.EnableMetricsCollectionInput{AutoScalingGroupName: nodes, Granularity: aws.String("5Minutes")}, "ValidationError", "granularity")
	fails(f, f.asg.EnableMetricsCollection, &autoscaling.EnableMetricsCollectionInput{AutoScalingGroupName: nodes, Granularity: aws.String("1Minute"), Metrics: []string{"Mood"}}, "ValidationError", "Mood")
	call(f, f.asg.EnableMetricsCollection, &autoscaling.EnableMetricsCollectionInput{AutoScalingGroupName: nodes, Granularity: aws.String("1Minute"), Metrics: []string{"GroupMinSize", "GroupMaxSize"}})
	call(f, f.asg.DisableMetricsCollection, &autoscaling.DisableMetricsCollectionInput{AutoScalingGroupName: nodes, Metrics: []string{"GroupMaxSize"}})
	if got := enabled(); !slices.Equal(got, []string{"GroupMinSize"}) {
		t.Errorf("collected are %v", got)
	}
	call(f, f.asg.EnableMetricsCollection, &autoscaling.EnableMetricsCollectionInput{AutoScalingGroupName: nodes, Granularity: aws.String("1Minute")})
	if got, all := enabled(), call(f, f.asg.DescribeMetricCollectionTypes, &autoscaling.DescribeMetricCollectionTypesInput{}).Metrics; len(got) != len(all) || len(all) < 13 {
		t.Errorf("collected are %d of %d", len(got), len(all))
	}
	call(f, f.asg.DisableMetricsCollection, &autoscaling.DisableMetricsCollectionInput{AutoScalingGroupName: nodes})
	if got := enabled(); len(got) != 0 {
		t.Errorf("collected are %v", got)
	}
}
