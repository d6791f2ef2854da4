package sim

import (
	"errors"
	"testing"
	"time"
)

func TestThrottling(t *testing.T) {
	t.Parallel()
	ids := func(n int) []string { return make([]string, n) }
	rows := []struct {
		reason  string
		request Request
		burst   int           // calls that succeed at once
		refill  time.Duration // after which one more does
		want    Error
	}{
		{"EC2: reads that name what they want", request("ec2", "DescribeThings", "i-1"), 100, 50 * time.Millisecond, Error{"RequestLimitExceeded", "Request limit exceeded.", 503}},
		{"EC2: reads of all instances", request("ec2", "DescribeInstances"), 50, 100 * time.Millisecond, Error{"RequestLimitExceeded", "Request limit exceeded.", 503}},
		{"EC2: reads of some instances", request("ec2", "DescribeInstances", "i-1"), 100, 50 * time.Millisecond, Error{"RequestLimitExceeded", "Request limit exceeded.", 503}},
		{"EC2: versions have a bucket of their own", request("ec2", "CreateLaunchTemplateVersion"), 100, 200 * time.Millisecond, Error{"RequestLimitExceeded", "Request limit exceeded.", 503}},
		{"EC2: other writes", request("ec2", "CreateThing"), 50, 200 * time.Millisecond, Error{"RequestLimitExceeded", "Request limit exceeded.", 503}},
		{"EC2: launches", request("ec2", "RunInstances"), 5, 500 * time.Millisecond, Error{"RequestLimitExceeded", "Request limit exceeded.", 503}},
		{"EC2: instances are counted beside requests", request("ec2", "TerminateInstances", ids(400)...), 2, 10 * time.Second, Error{"RequestLimitExceeded", "Request limit exceeded.", 503}},
		{"Systems Manager", request("ssm", "GetParameter"), 40, 25 * time.Millisecond, Error{"ThrottlingException", "Rate exceeded", 0}},
		{"EKS: reads", request("eks", "DescribeNodegroup"), 20, 100 * time.Millisecond, Error{"ThrottlingException", "Rate exceeded", 429}},
		{"EKS: writes", request("eks", "CreateNodegroup"), 10, 500 * time.Millisecond, Error{"ThrottlingException", "Rate exceeded", 429}},
		{"Auto Scaling", request("autoscaling", "DescribeGroups"), 100, 50 * time.Millisecond, Error{"Throttling", "Rate exceeded", 0}},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			k, clock := newKernel(t, Settings{Behavior: Behavior{Throttling: true}})
			for i := range row.burst {
				if _, err := k.Do(row.request); err != nil {
					t.Fatalf("call %d of %d: %v", i+1, row.burst, err)
				}
			}
			refused := func() {
				t.Helper()
				_, err := k.Do(row.request)
				var got *Error
				if !errors.As(err, &got) || *got != row.want {
					t.Fatalf("got %v, want %v", err, row.want)
				}
			}
			refused()
			elsewhere := row.request
			elsewhere.Region = "there"
			if _, err := k.Do(elsewhere); err != nil {
				t.Errorf("another region has a bucket of its own, but: %v", err)
			}
			other := row.request
			other.Account = "2"
			if _, err := k.Do(other); err != nil {
				t.Errorf("another account has a bucket of its own, but: %v", err)
			}
			clock.Step(row.refill - time.Millisecond)
			refused()
			clock.Step(time.Millisecond)
			if _, err := k.Do(row.request); err != nil {
				t.Errorf("after %v: %v", row.refill, err)
			}
			refused()
		})
	}
}

func TestThrottlingSharesBuckets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason       string
		first, other Request
		burst        int
		shared       bool
	}{
		{"all of Auto Scaling's actions share one", request("autoscaling", "DescribeGroups"), request("autoscaling", "CreateGroup"), 100, true},
		{"reads of parameters share one", request("ssm", "GetParameter"), request("ssm", "GetParameters"), 40, true},
		{"EC2's actions do not", request("ec2", "DescribeThings", "i-1"), request("ec2", "CreateThing"), 100, false},
	} {
		k, _ := newKernel(t, Settings{Behavior: Behavior{Throttling: true}})
		for range row.burst {
			if _, err := k.Do(row.first); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := k.Do(row.other); (err != nil) != row.shared {
			t.Errorf("%s: got %v", row.reason, err)
		}
	}
}

func TestThrottlingIsOffByDefault(t *testing.T) {
	t.Parallel()
	k, _ := newKernel(t, Settings{})
	for i := range 500 {
		if _, err := k.Do(request("ec2", "RunInstances")); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}
