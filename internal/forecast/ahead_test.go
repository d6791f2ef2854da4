package forecast

import (
	"context"
	"fmt"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// TestReads holds that reads are answered as AWS answers them, and how many are sent for them.
func TestReads(t *testing.T) {
	names := [][]string{{"workers", "workers-1"}, {"other"}, {"missing", "missing-1"}}
	for name, tc := range map[string]struct {
		reason string
		ahead  *Ahead
		fault  *awssim.Fault
		want   int
	}{
		"Once": {
			reason: "A read is sent once.",
			want:   6,
		},
		"Ahead": {
			reason: "Reads that were announced are sent together.",
			ahead:  NewAhead(names, names),
			want:   2,
		},
		"Others": {
			reason: "A read that was not announced is sent alone.",
			ahead:  NewAhead(names[:1], [][]string{{"workers"}, nil}),
			want:   6,
		},
		"Refused": {
			reason: "If AWS refuses the names of a batch, each read is sent alone.",
			ahead:  NewAhead(names, names),
			fault:  &awssim.Fault{Service: "autoscaling", Nth: 1, Code: "ValidationError"},
			want:   1 + 3 + 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			_, err := r.realASG.CreateAutoScalingGroup(t.Context(), r.newGroup("other"))
			r.do(err)
			config := r.config
			sent := 0
			config.APIOptions = append(config.APIOptions, (&Reads{Ahead: tc.ahead}).Install, func(stack *middleware.Stack) error {
				// An answer that is lost is asked for again in a later step.
				return stack.Build.Add(middleware.BuildMiddlewareFunc("Sent", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
					sent++
					return next.HandleBuild(ctx, in)
				}), middleware.Before)
			})
			groups, templates := autoscaling.NewFromConfig(config), ec2.NewFromConfig(config)
			describe := func(groups *autoscaling.Client, templates *ec2.Client) (found []string) {
				for _, set := range names {
					asgs, err := groups.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{
						AutoScalingGroupNames: set, MaxRecords: awssdk.Int32(mostGroups),
					})
					r.do(err)
					lts, err := templates.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{
						Filters: []ec2types.Filter{{Name: awssdk.String("launch-template-name"), Values: set}}, MaxResults: awssdk.Int32(mostTemplates),
					})
					r.do(err)
					found = append(found, fmt.Sprint(set))
					for _, group := range asgs.AutoScalingGroups {
						found = append(found, *group.AutoScalingGroupARN)
						*group.AutoScalingGroupARN = "changed by its reader"
					}
					for _, template := range lts.LaunchTemplates {
						found = append(found, *template.LaunchTemplateId)
					}
				}
				return found
			}
			want := describe(r.realASG, r.realEC2)
			if tc.fault != nil {
				_, err := r.sim.AddFault(*tc.fault)
				r.do(err)
			}
			for range 2 {
				if diff := cmp.Diff(want, describe(groups, templates)); diff != "" {
					t.Errorf("%s got: -AWS +reads:\n%s", tc.reason, diff)
				}
			}
			if sent != tc.want {
				t.Errorf("%s got %d requests, want %d", tc.reason, sent, tc.want)
			}
		})
	}
}
