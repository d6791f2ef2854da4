package awssim_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// TestConditionsOfLaunchConfigurations holds that policies see the name and the members of a launch
// configuration, and the one that a group names (AWS: Service Authorization Reference,
// list_amazonec2autoscaling).
func TestConditionsOfLaunchConfigurations(t *testing.T) {
	t.Parallel()
	const named = "arn:aws:autoscaling:" + region + ":" + account + ":launchConfiguration:*:launchConfigurationName/"
	create := func(ctx context.Context, w *workplace, client *autoscaling.Client) error {
		in := w.launchConfiguration("blue")
		in.SpotPrice = aws.String("0.05")
		_, err := client.CreateLaunchConfiguration(ctx, in)
		return err
	}
	update := func(ctx context.Context, w *workplace, client *autoscaling.Client) error {
		if err := create(ctx, w, autoscaling.NewFromConfig(w.config(key))); err != nil {
			return err
		}
		if err := w.createGroup(ctx, w.config(key), "pool"); err != nil {
			return err
		}
		_, err := client.UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("pool"), LaunchConfigurationName: aws.String("blue")})
		return err
	}
	tests := []struct {
		reason string
		call   func(context.Context, *workplace, *autoscaling.Client) error
		denied string // of a statement
		want   string
	}{
		{"its name", create, `"Action":"*","Resource":"` + named + `blue"`, "AccessDenied"},
		{"another name", create, `"Action":"*","Resource":"` + named + `red"`, ""},
		{"its instance type", create, `"Action":"*","Resource":"*","Condition":{"StringEquals":{"autoscaling:InstanceType":"t3.large"}}`, "AccessDenied"},
		{"another instance type", create, `"Action":"*","Resource":"*","Condition":{"StringEquals":{"autoscaling:InstanceType":"m5.large"}}`, ""},
		{"its price", create, `"Action":"*","Resource":"*","Condition":{"Null":{"autoscaling:SpotPrice":"false"}}`, "AccessDenied"},
		{"what a group names", update, `"Action":"*","Resource":"*","Condition":{"StringEquals":{"autoscaling:LaunchConfigurationName":"blue"}}`, "AccessDenied"},
		{"another than a group names", update, `"Action":"*","Resource":"*","Condition":{"StringEquals":{"autoscaling:LaunchConfigurationName":"red"}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorkplace(t)
			policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny",` + tt.denied + `}]}`
			if err := w.SetPolicies(limited, policy); err != nil {
				t.Fatal(err)
			}
			err := tt.call(t.Context(), w, autoscaling.NewFromConfig(w.config(limited)))
			if got := code(err); got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}
