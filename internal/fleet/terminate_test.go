package fleet_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/internal/fleet"
)

// held is EC2 whose first termination waits until it is released.
type held struct {
	fleet.EC2
	once     sync.Once
	waiting  chan struct{}
	released chan struct{}

	mu    sync.Mutex
	calls [][]string
}

// TerminateInstances implements fleet.EC2.
func (h *held) TerminateInstances(ctx context.Context, in *ec2.TerminateInstancesInput, options ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
	h.mu.Lock()
	h.calls = append(h.calls, in.InstanceIds)
	h.mu.Unlock()
	h.once.Do(func() {
		close(h.waiting)
		<-h.released
	})
	return h.EC2.TerminateInstances(ctx, in, options...)
}

// TestTerminationsAreMadeTogether holds that instances that wait while a call is under way are
// terminated by one further call. An instance that EC2 refuses to terminate keeps none of the
// others.
func TestTerminationsAreMadeTogether(t *testing.T) {
	t.Parallel()
	for _, protected := range []bool{false, true} {
		p := newPlace(t)
		instances := p.launch(p.request("first", 10)).Instances
		p.clock.Step(time.Minute)
		if protected {
			_, err := p.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{
				InstanceId: &instances[5].ID, DisableApiTermination: &ec2types.AttributeBooleanValue{Value: awssdk.Bool(true)},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		api := &held{EC2: p.clients.EC2, waiting: make(chan struct{}), released: make(chan struct{})}
		fleets := fleet.New(api)
		var callers sync.WaitGroup
		failed := make([]error, len(instances))
		end := func(i int) {
			callers.Go(func() { failed[i] = fleets.Terminate(t.Context(), instances[i], claimOf("first")) })
		}
		end(0)
		<-api.waiting
		for i := 1; i < len(instances); i++ {
			end(i)
		}
		for fleets.Waiting() < len(instances)-1 {
			runtime.Gosched()
		}
		close(api.released)
		callers.Wait()
		for i, err := range failed {
			if (err != nil) != (protected && i == 5) {
				t.Errorf("protected %t: instance %d: %v", protected, i, err)
			}
		}
		if want := 2; !protected && (len(api.calls) != want || len(api.calls[1]) != 9) {
			t.Errorf("the calls are %q", api.calls)
		}
		p.clock.Step(time.Minute)
		left, err := p.OfLaunch(t.Context(), "first")
		left = slices.DeleteFunc(left, func(instance fleet.Instance) bool { return instance.Ends() })
		if err != nil || len(left) != map[bool]int{true: 1}[protected] {
			t.Errorf("protected %t: %d instances are left, error %v", protected, len(left), err)
		}
	}
}

// TestForeignInstancesAreNotTerminated holds that an instance of another cluster is refused before
// EC2 is called, and does not reach the call of others.
func TestForeignInstancesAreNotTerminated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	instance := p.launch(p.request("first", 1)).Instances[0]
	if err := p.Terminate(t.Context(), instance, claimOf("another")); err == nil {
		t.Error("an instance of another launch is terminated")
	}
}
