package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/cause"
)

// terminateBatch is the number of instances that one call terminates (AWS: API_TerminateInstances,
// at most 1,000).
const terminateBatch = 500

// Terminate terminates an instance, as EC2 described it, if its tags prove the claim. Otherwise the
// error is a *NotOwnedError. An instance that is gone already is no error. Instances that wait
// while a call is under way are terminated together by the next one.
func (f *Fleets) Terminate(ctx context.Context, instance Instance, claim Claim) error {
	if err := claim.Check(instance); err != nil {
		return err
	}
	why, _ := cause.Of(ctx)
	asked := f.terminations.add(instance.ID, why)
	if asked.leads {
		f.terminateAll(context.WithoutCancel(ctx)) // the instances of others are among them
	}
	select {
	case err := <-asked.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// terminateAll terminates the instances that wait, batch after batch, until none is left.
func (f *Fleets) terminateAll(ctx context.Context) {
	for {
		batch := f.terminations.take(terminateBatch)
		if len(batch) == 0 {
			return
		}
		ids, causes := make([]string, 0, len(batch)), make([]cause.Cause, 0, len(batch))
		for _, one := range batch {
			ids, causes = append(ids, one.id), append(causes, one.why)
		}
		slices.Sort(ids)
		err := f.terminate(cause.With(ctx, cause.Several(causes)), slices.Compact(ids))
		for _, one := range batch {
			// EC2 terminates none of the instances if it refuses one of them. One faulty instance
			// must not keep the others.
			if err != nil && len(batch) > 1 && refused(err) {
				one.answer <- f.terminate(cause.With(ctx, one.why), []string{one.id})
				continue
			}
			one.answer <- err
		}
	}
}

// refused reports whether EC2 answered that it does not do what was asked, so that less may be asked for.
func refused(err error) bool {
	return !aws.IsThrottled(err) && !aws.IsHeldBack(err) && !aws.IsUncertain(err)
}

func (f *Fleets) terminate(ctx context.Context, ids []string) error {
	if f.Terminating != nil {
		f.Terminating(len(ids))
	}
	_, err := f.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	switch {
	case err == nil, len(ids) == 1 && aws.Code(err) == "InvalidInstanceID.NotFound":
		return nil
	case len(ids) == 1:
		return fmt.Errorf("terminating instance %q: %w", ids[0], err)
	}
	return fmt.Errorf("terminating %d instances: %w", len(ids), err)
}

// terminations holds the instances that wait to be terminated. It is safe for concurrent use.
type terminations struct {
	mu      sync.Mutex
	waiting []termination
	// led reports that a caller is sending the calls.
	led bool
}

// termination is one instance that waits to be terminated.
type termination struct {
	id string
	// why is the cause of the termination.
	why cause.Cause
	// answer has room for one.
	answer chan error
	// leads has the caller send the calls, for others too.
	leads bool
}

func (t *terminations) add(id string, why cause.Cause) termination {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := termination{id: id, why: why, answer: make(chan error, 1), leads: !t.led}
	t.led = true
	t.waiting = append(t.waiting, one)
	return one
}

// take returns the instances that have waited longest. If there are none, the next one to come leads.
func (t *terminations) take(most int) []termination {
	t.mu.Lock()
	defer t.mu.Unlock()
	batch := slices.Clone(t.waiting[:min(len(t.waiting), most)])
	t.waiting = slices.Delete(t.waiting, 0, len(batch))
	if len(batch) == 0 {
		t.led = false
	}
	return batch
}
