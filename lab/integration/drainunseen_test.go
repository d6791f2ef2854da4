package integration

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// TestDrainEndsUnseen holds that users learn the result of a node's drain also where the manager
// did not see it finish: it was away, another caller released the instance, or AWS's answer was
// lost.
func TestDrainEndsUnseen(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, timeout string
		// end finishes the drain of the instance that is held.
		end func(w *world, held string)
		// event reports it, and no other event does.
		event  string
		others []string
	}{
		{reason: "no manager runs until AWS lets it go, and its time is up", timeout: "20m", end: (*world).leaveToAWS,
			event: "NodeDrainTimedOut", others: []string{"NodeDrained", "NodeNotDrained"}},
		{reason: "no manager runs until AWS lets it go, before its time is up", timeout: "24h", end: (*world).leaveToAWS,
			event: "NodeNotDrained", others: []string{"NodeDrained", "NodeDrainTimedOut"}},
		{reason: "a user completes the lifecycle action", timeout: "24h", end: func(w *world, held string) {
			w.must(w.asg().CompleteLifecycleAction(w.Context(), &autoscaling.CompleteLifecycleActionInput{
				AutoScalingGroupName: w.group().AutoScalingGroupName, LifecycleHookName: aws.String(drainHook), InstanceId: &held,
				LifecycleActionResult: aws.String("CONTINUE"),
			}))
		}, event: "NodeNotDrained", others: []string{"NodeDrained", "NodeDrainTimedOut"}},
		{reason: "the answer of the call that ends the hold is lost", timeout: "24h", end: func(w *world, _ string) {
			w.must(w.Cloud.AWS.AddFault(awssim.Fault{
				// which is not repeated
				Action: "CompleteLifecycleAction", Nth: 1, Place: awssim.AfterEffect, Code: "AccessDenied", Status: 403,
			}))
			w.allowDisruptions(2)
		}, event: "NodeDrained", others: []string{"NodeNotDrained", "NodeDrainTimedOut"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.havePool(drainTimeout(row.timeout)...)
			w.servePods()
			w.scaleTo(1)
			w.awaitHeld()
			row.end(w, w.held())
			w.clock.SetRate(rate)
			w.Eventually("one instance is left", func() error { return w.settled(1) })
			w.awaitEvents(row.event)
			events := w.events()
			for _, other := range row.others {
				if slices.Contains(events, other) {
					t.Errorf("events %q", events)
				}
			}
			if count := len(slices.DeleteFunc(events, func(reason string) bool { return reason != row.event })); count != 1 {
				t.Errorf("%d events say %s", count, row.event)
			}
		})
	}
}

// held is the id of the instance that a hook holds on its way out.
func (w *world) held() string {
	w.Helper()
	for _, instance := range w.group().Instances {
		if instance.LifecycleState == "Terminating:Wait" {
			return aws.ToString(instance.InstanceId)
		}
	}
	w.Fatal("no instance is held")
	return ""
}

// leaveToAWS has no manager run for longer than the hook holds an instance without heartbeats.
func (w *world) leaveToAWS(string) {
	w.Helper()
	w.stopManager()
	w.clock.SetRate(rate)
	w.pass(40 * time.Minute)
	w.startManager()
}

// TestDeletionLooksAgain holds that a manager that has just come back does not delete a group with
// what runs on its nodes, though the time limit passed meanwhile: the nodes get a chance to be
// drained, as far as their API server answers.
func TestDeletionLooksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool(drainTimeout("20m")...)
	w.servePods()
	w.must(w.asg().SetInstanceProtection(w.Context(), &autoscaling.SetInstanceProtectionInput{
		AutoScalingGroupName: w.group().AutoScalingGroupName, InstanceIds: w.running(), ProtectedFromScaleIn: aws.Bool(true),
	}))
	w.deletePool()
	w.awaitHeld()
	w.stopManager()
	w.clock.SetRate(rate)
	w.pass(30 * time.Minute)
	w.clock.SetRate(unhurried)
	w.allowDisruptions(2)
	first := &firstFails{}
	w.settings.WrapWorkloads = func(next http.RoundTripper) http.RoundTripper { return first.wrap(next) }
	w.startManager()
	w.Eventually("the nodes are drained", func() error { return equals([]int{len(w.pods())}, []int{0}) })
	w.clock.SetRate(rate)
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
	if first.calls.Load() < 2 {
		t.Errorf("%d calls to the workload cluster", first.calls.Load())
	}
}

// firstFails has the first call get no answer.
type firstFails struct{ calls atomic.Int32 }

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (f *firstFails) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if f.calls.Add(1) == 1 {
			return nil, errors.New("no answer")
		}
		return next.RoundTrip(request)
	})
}

// TestWarmInstancesAreLetGo holds that instances which leave a warm pool do not sit out the
// heartbeat of the hook that drains nodes.
func TestWarmInstancesAreLetGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool("  maxSize: 10", "  maxSize: 10\n  warmPool:\n    minSize: 2\n    maxGroupPreparedCapacity: 4")
	w.Eventually("the warm pool has its two instances", func() error { return w.warm(2, 0) })
	w.rest()
	w.clock.SetRate(unhurried)
	for _, row := range []struct {
		reason string
		edit   func(*infrav1.AWSMachinePool)
		left   int
	}{
		{reason: "the warm pool is made smaller", left: 1, edit: func(pool *infrav1.AWSMachinePool) {
			pool.Spec.WarmPool.MinSize, pool.Spec.WarmPool.MaxGroupPreparedCapacity = 1, ptr.To[int32](2)
		}},
		{reason: "the warm pool is taken away", edit: func(pool *infrav1.AWSMachinePool) { pool.Spec.WarmPool = nil }},
	} {
		w.Cloud.AWS.ClearCalls()
		begun := w.clock.Now()
		w.editPool(row.edit)
		w.Eventually(row.reason+", and the instance is gone", func() error { return w.warm(row.left, 0) })
		if took := w.clock.Now().Sub(begun); took >= 30*time.Minute {
			t.Errorf("%s: it took %s", row.reason, took)
		}
		w.expectCounts(map[string]int{"CompleteLifecycleAction": 1})
		if looks := w.count("DescribeWarmPool"); looks > 8 {
			t.Errorf("%s: %d looks at the warm pool", row.reason, looks)
		}
	}
}

// warm is nil while the warm pool has so many instances that rest, and so many that leave.
func (w *world) warm(resting, leaving int) error {
	out, err := w.asg().DescribeWarmPool(w.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: aws.String(poolName)})
	if err != nil {
		return err
	}
	var states []string
	counts := []int{0, 0}
	for _, instance := range out.Instances {
		states = append(states, string(instance.LifecycleState))
		switch {
		case strings.HasPrefix(string(instance.LifecycleState), "Warmed:Terminat"):
			counts[1]++
		case instance.LifecycleState == asgtypes.LifecycleStateWarmedStopped:
			counts[0]++
		}
	}
	if len(states) != resting+leaving || counts[0] != resting || counts[1] != leaving {
		return fmt.Errorf("the warm pool has %q", states)
	}
	return nil
}
