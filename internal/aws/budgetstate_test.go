package aws

import (
	"context"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-project/slipway/internal/aws/requestbudget"
)

// TestBudgets holds that the state of budgets shows what is left and who waits, and that identities of one
// account are shown once.
func TestBudgets(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(start)
	sessions := NewSessions(awssdk.Config{Region: "eu-central-1"}, WithClock(clock), WithLimits(Limits{"ec2:*": {Burst: 2, PerSecond: 1}, "autoscaling:": {Burst: 10, PerSecond: 5}}))
	role := func(name string) Principal {
		return Principal{Identity: Identity{Kind: "AWSClusterRoleIdentity", Name: name}, Roles: []Role{{ARN: "arn:aws:iam::111122223333:role/" + name}}}
	}
	var first *Clients
	for _, name := range []string{"a", "b"} {
		clients, err := sessions.For(t.Context(), role(name), "eu-central-1")
		if err != nil {
			t.Fatal(err)
		}
		first = clients
	}
	if states := sessions.Budgets(); len(states) != 0 {
		t.Errorf("no request was counted yet: %v", states)
	}
	shared := first.budget.Load()
	for _, pool := range []string{"web", "batch", "api", "api"} {
		_ = shared.take("ec2", "CreateTags", caller{name: "AWSMachinePool/team/" + pool, pass: &pass{}})
	}
	if err := shared.take("autoscaling", "DescribeAutoScalingGroups", callerOf(context.Background())); err != nil {
		t.Fatal(err)
	}
	want := []requestbudget.State{
		{
			Account: "111122223333", Region: "eu-central-1", Name: "ec2:CreateTags", Burst: 2, PerSecond: 1,
			Waiting: []requestbudget.Waiter{{Name: "AWSMachinePool/team/api", At: start.Add(time.Second), Requests: 1}},
		},
		{Account: "111122223333", Region: "eu-central-1", Name: "autoscaling:", Left: 9, Burst: 10, PerSecond: 5},
	}
	if diff := cmp.Diff(want, sessions.Budgets()); diff != "" {
		t.Errorf("Budgets() -want +got:\n%s", diff)
	}
	clock.Step(time.Minute)
	for _, state := range sessions.Budgets() {
		if state.Left != float64(state.Burst) || len(state.Waiting) != 0 {
			t.Errorf("after a minute, %s has %v left of %d, and %v wait", state.Name, state.Left, state.Burst, state.Waiting)
		}
	}
}
