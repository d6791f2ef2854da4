package awssim_test

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/oracle"
)

// observation is something that AWS was recorded to do.
type observation struct {
	service, reason, source string
	// observe returns what the simulated AWS does.
	observe func(t *testing.T, r *recorded) (any, error)
	want    any
}

// TestRecordedBehavior compares behavior with what AWS was recorded to do.
func TestRecordedBehavior(t *testing.T) {
	t.Parallel()
	held, cases := map[string]int{}, map[string]int{}
	for _, row := range slices.Concat(groupObservations(), nodeGroupObservations(), emptyListObservations(), otherObservations()) {
		cases[row.service]++
		t.Run(row.service+"/"+row.reason, func(t *testing.T) {
			got, err := row.observe(t, newRecorded(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Fatalf("recorded by %s (-AWS +awssim):\n%s", row.source, diff)
			}
			held[row.service]++
		})
	}
	for service, n := range cases {
		oracle.Report(t, oracle.Result{Oracle: "behavior that AWS was recorded to have", Source: "recordings of moto, LocalStack and Cloud Custodian, examples of the AWS CLI, output that users published", Service: service, Cases: n, Held: held[service]})
	}
}

func (r *recorded) describeGroup(ctx context.Context, name string) (asgtypes.AutoScalingGroup, error) {
	out, err := r.asg.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		return asgtypes.AutoScalingGroup{}, err
	}
	return out.AutoScalingGroups[0], nil
}

func groupObservations() []observation {
	const service = "Auto Scaling"
	return []observation{
		{service, "a refresh that is started without preferences", "output that a user published (2026)", func(t *testing.T, r *recorded) (any, error) {
			if _, err := r.asg.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: &r.group}); err != nil {
				return nil, err
			}
			out, err := r.asg.DescribeInstanceRefreshes(t.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: &r.group})
			if err != nil {
				return nil, err
			}
			p := out.InstanceRefreshes[0].Preferences
			return []any{*p.MinHealthyPercentage, *p.SkipMatching, *p.AutoRollback, p.MaxHealthyPercentage == nil, p.ScaleInProtectedInstances, p.StandbyInstances}, nil
		}, []any{int32(90), false, false, true, asgtypes.ScaleInProtectedInstances(""), asgtypes.StandbyInstances("")}},
		{service, "a version that was left out is not answered", moto, func(t *testing.T, r *recorded) (any, error) {
			group, err := r.describeGroup(t.Context(), r.group)
			return aws.ToString(group.LaunchTemplate.Version), err
		}, ""},
		{service, "empty lists are answered", custodian, func(t *testing.T, r *recorded) (any, error) {
			group, err := r.describeGroup(t.Context(), r.group)
			return []bool{group.Instances == nil, group.SuspendedProcesses == nil, group.LoadBalancerNames == nil, group.TargetGroupARNs == nil, group.EnabledMetrics == nil,
				group.Tags == nil, group.TrafficSources == nil}, err
		}, make([]bool, 7)},
		{service, "defaults that no request set", custodian, func(t *testing.T, r *recorded) (any, error) {
			group, err := r.describeGroup(t.Context(), r.group)
			if err != nil {
				return nil, err
			}
			return []any{group.CapacityReservationSpecification.CapacityReservationPreference, group.InstanceLifecyclePolicy.RetentionTriggers.TerminateHookAbandon}, nil
		}, []any{asgtypes.CapacityReservationPreferenceDefault, asgtypes.RetentionActionTerminate}},
		{service, "a mixed group's failed launch of On-Demand instances", "activities that users published", mixedFailure(100),
			"Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently"},
		{service, "a mixed group's failed launch of Spot Instances", "activities that users published", mixedFailure(0),
			"Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. Please adjust your request and try again. Launching EC2 instance failed."},
	}
}

// mixedFailure returns how the message of a failed launch begins in a group with a percentage of
// On-Demand instances.
func mixedFailure(percentage int32) func(t *testing.T, r *recorded) (any, error) {
	return func(t *testing.T, r *recorded) (any, error) {
		t.Helper()
		r.sim.SetBehavior(awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large"}}})
		_, err := r.asg.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
			AutoScalingGroupName: aws.String("mixed"), MinSize: aws.Int32(1), MaxSize: aws.Int32(1), VPCZoneIdentifier: aws.String(recordedSubnet),
			MixedInstancesPolicy: &asgtypes.MixedInstancesPolicy{InstancesDistribution: &asgtypes.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: &percentage},
				LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template}}},
		})
		if err != nil {
			return nil, err
		}
		r.sim.Clock().Step(time.Minute)
		out, err := r.asg.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("mixed")})
		if err != nil {
			return nil, err
		}
		message := aws.ToString(out.Activities[0].StatusMessage)
		if head, _, found := strings.Cut(message, " do not have"); found {
			return head, nil // what follows names the type and the zone
		}
		return message, nil
	}
}

func nodeGroupObservations() []observation {
	const service = "EKS"
	return []observation{
		{service, "user data that is no MIME multi-part archive", "errors that users published; " + terraform, func(t *testing.T, r *recorded) (any, error) {
			template := r.templateOf(t, "script", func(data *ec2types.RequestLaunchTemplateData) {
				data.ImageId, data.UserData = nil, aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\n")))
			})
			err := nodegroup(func(in *eks.CreateNodegroupInput) {
				in.LaunchTemplate = &ekstypes.LaunchTemplateSpecification{Id: &template}
			})(t.Context(), r)
			if err != nil {
				return nil, err
			}
			r.sim.Clock().Step(30 * time.Minute)
			out, err := r.eks.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{ClusterName: aws.String("demo"), NodegroupName: aws.String("nodes")})
			if err != nil {
				return nil, err
			}
			issue := out.Nodegroup.Health.Issues[0]
			return []string{string(out.Nodegroup.Status), string(issue.Code), *issue.Message}, nil
		}, []string{"CREATE_FAILED", "Ec2LaunchTemplateInvalidConfiguration", "User data was not in the MIME multipart format."}},
		{service, "the parameters of an update of the configuration", awsCLI, func(t *testing.T, r *recorded) (any, error) {
			if err := nodegroup(func(*eks.CreateNodegroupInput) {})(t.Context(), r); err != nil {
				return nil, err
			}
			r.sim.Clock().Step(30 * time.Minute)
			out, err := r.eks.UpdateNodegroupConfig(t.Context(), &eks.UpdateNodegroupConfigInput{
				ClusterName: aws.String("demo"), NodegroupName: aws.String("nodes"),
				Labels:        &ekstypes.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"a": "b"}},
				Taints:        &ekstypes.UpdateTaintsPayload{AddOrUpdateTaints: []ekstypes.Taint{{Key: aws.String("k"), Value: aws.String("v"), Effect: ekstypes.TaintEffectNoSchedule}}},
				ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(5), DesiredSize: aws.Int32(3)},
			})
			if err != nil {
				return nil, err
			}
			var names []string
			for _, param := range out.Update.Params {
				names = append(names, string(param.Type))
			}
			slices.Sort(names)
			return names, nil
		}, []string{"DesiredSize", "LabelsToAdd", "MaxSize", "MinSize", "TaintsToAdd"}},
		{service, "a taint whose key has more than 63 characters", "the service model in botocore", func(t *testing.T, r *recorded) (any, error) {
			return code(nodegroup(func(in *eks.CreateNodegroupInput) {
				in.Taints = []ekstypes.Taint{{Key: aws.String(strings.Repeat("k", 64)), Effect: ekstypes.TaintEffectNoSchedule}}
			})(t.Context(), r)), nil
		}, "InvalidParameterException"},
	}
}

func otherObservations() []observation {
	return []observation{
		{"EC2", "DescribeAvailabilityZones heeds names", localStack, func(t *testing.T, r *recorded) (any, error) {
			out, err := r.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"us-east-1b"}})
			if err != nil {
				return nil, err
			}
			var names []string
			for _, zone := range out.AvailabilityZones {
				names = append(names, *zone.ZoneName)
			}
			return names, nil
		}, []string{"us-east-1b"}},
		{"Systems Manager", "a name and the same with a slash are one parameter", moto + "; " + localStack, func(t *testing.T, r *recorded) (any, error) {
			if _, err := r.ssm.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("x"), Value: aws.String("1"), Type: ssmtypes.ParameterTypeString}); err != nil {
				return nil, err
			}
			out, err := r.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/x")})
			if err != nil {
				return nil, err
			}
			return *out.Parameter.Value, nil
		}, "1"},
	}
}
