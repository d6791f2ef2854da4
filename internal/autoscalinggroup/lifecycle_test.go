package autoscalinggroup

import (
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// held returns how many instances a hook holds, and how many there are.
func (r *rig) held() (held, all int) {
	r.Helper()
	instances := r.see("pool").Instances
	for _, instance := range instances {
		if instance.Held() {
			held++
		}
	}
	return held, len(instances)
}

// TestHoldAndLetGo empties a group whose instances the drain hook holds: they stay for as long as
// heartbeats are recorded, and go when they are let go.
func TestHoldAndLetGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := r.create(r.here(plain()))
	r.settle()
	_, err := r.asg.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: awssdk.String("pool"), LifecycleHookName: awssdk.String(DrainHook), DefaultResult: awssdk.String("CONTINUE"),
		LifecycleTransition: awssdk.String("autoscaling:EC2_INSTANCE_TERMINATING"), HeartbeatTimeout: awssdk.Int32(int32(DrainHeartbeat / time.Second)),
	})
	if err != nil {
		t.Fatal(err)
	}
	instance := r.see("pool").Instances[0].ID
	for what, call := range map[string]func() error{
		"letting an instance go that is not held":  func() error { return r.groups.LetGo(t.Context(), "pool", instance) },
		"holding one that is not held":             func() error { return r.groups.Hold(t.Context(), "pool", instance) },
		"emptying a group":                         func() error { return r.groups.Empty(t.Context(), group.Name) },
		"emptying it again, as after a lost reply": func() error { return r.groups.Empty(t.Context(), group.Name) },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	r.settle()
	if held, all := r.held(); held != 3 || all != 3 {
		t.Fatalf("%d of %d are held", held, all)
	}
	r.sim.Clock().Step(20 * time.Minute)
	if err := r.groups.Hold(t.Context(), "pool", instance); err != nil {
		t.Fatal(err)
	}
	r.sim.Clock().Step(20 * time.Minute)
	if held, _ := r.held(); held != 1 {
		t.Fatalf("%d are held, want the one whose lifecycle action was extended", held)
	}
	for range 2 {
		if err := r.groups.LetGo(t.Context(), "pool", instance); err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	if _, all := r.held(); all != 0 {
		t.Errorf("%d are left", all)
	}
	if err := r.groups.LetGo(t.Context(), "absent", instance); err == nil {
		t.Error("a group that does not exist is no error")
	}
}
