package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws/observe"

	"github.com/slipway-project/slipway/lab/fleet"
	"github.com/slipway-project/slipway/lab/product"
)

const (
	// often is the interval of checks where they cost nothing, seldom where a check is a list of a
	// thousand objects.
	often, seldom = 10 * time.Millisecond, 200 * time.Millisecond
	// asleep is the time without a call after which a controller counts as at rest. A node group
	// that EKS is working on is described every fifteen seconds.
	asleep, asleepManaged = 5 * time.Second, 20 * time.Second
	// idleWindow is the time for which laboratory and controller must use less than a tenth of a
	// CPU until they count as started, idleAtMost the longest wait for that.
	idleWindow, idleAtMost = 2 * time.Second, 30 * time.Second
	// edits is the number of pools that are edited one by one.
	edits = 5
)

// idle waits until laboratory and controller have completed their start: an API server publishes
// schemas for some seconds after it is ready. On a machine where their CPU time is unknown, or that
// is never idle, it waits no longer than it usually takes.
func (b *bench) idle(ctx context.Context) error {
	began, used, since := time.Now(), ownCPU()+b.process.cpu(), time.Now()
	return await(ctx, seldom, "coming to rest after the start", func() error {
		if time.Since(since) < idleWindow {
			return errors.New("the next look is due")
		}
		now := ownCPU() + b.process.cpu()
		spent := now - used
		used, since = now, time.Now()
		if spent > idleWindow/10 && time.Since(began) < idleAtMost {
			return fmt.Errorf("%v of CPU were used in %v", spent, idleWindow)
		}
		return nil
	})
}

// applyAlone measures how long the laboratory takes for the objects of the pools while no controller runs, and removes them again: what creating can
// not take less than.
func (b *bench) applyAlone(ctx context.Context) error {
	if err := b.idle(ctx); err != nil {
		return err
	}
	err := b.measure(ctx, alone, func(phase *Phase) error {
		phase.Note = "The objects alone are applied."
		return b.fleet.Create(ctx, 0, b.Pools)
	})
	if err != nil {
		return err
	}
	return fleet.Each(0, b.Pools, func(i int) error { return b.fleet.Delete(ctx, i) })
}

// create measures from the first object applied until the controller is at rest.
func (b *bench) create(ctx context.Context) error {
	return b.measure(ctx, creating, func(phase *Phase) error {
		began := time.Now()
		if err := b.fleet.Create(ctx, 0, b.Pools); err != nil {
			return err
		}
		applied := time.Since(began)
		// Listing a thousand pools five times a second would leave no time for the controllers.
		err := await(ctx, max(seldom, time.Duration(b.Pools)*time.Millisecond), "creating", func() error {
			creation := "CreateAutoScalingGroup"
			if b.Managed {
				creation = "CreateNodegroup"
			}
			if made := b.count(creation); made < b.Pools {
				return fmt.Errorf("%d groups are made", made)
			}
			unready, err := b.unready(ctx)
			if err == nil && unready > 0 {
				err = fmt.Errorf("%d pools are not ready", unready)
			}
			return err
		})
		phase.Answered = time.Since(began)
		phase.Note = fmt.Sprintf("The last object was applied after %v, the last pool was ready %v later.", applied.Round(time.Millisecond),
			(phase.Answered - applied).Round(time.Millisecond))
		if err != nil {
			return err
		}
		return b.rest(ctx)
	})
}

// unready returns how many pools are not ready.
func (b *bench) unready(ctx context.Context) (int, error) {
	if b.Managed {
		pools, err := b.fleet.ManagedPools(ctx)
		return len(slices.DeleteFunc(pools, func(pool infrav1.AWSManagedMachinePool) bool { return pool.Status.Ready })), err
	}
	pools, err := b.fleet.Pools(ctx)
	return len(slices.DeleteFunc(pools, func(pool infrav1.AWSMachinePool) bool { return pool.Status.Ready })), err
}

// asleep returns the time without a call after which the controller counts as at rest. While the
// clock stands nothing more becomes due.
func (b *bench) asleep() time.Duration {
	if b.Managed && !b.standing {
		return asleepManaged
	}
	return asleep
}

// rest waits until the controller is done with everything.
func (b *bench) rest(ctx context.Context) error {
	last, since := -1, time.Now()
	return await(ctx, seldom, "coming to rest", func() error {
		if now := len(b.lab.Cloud.AWS.Calls()); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < b.asleep() {
			return errors.New("AWS was called a moment ago")
		}
		return nil
	})
}

// editOne measures from an edit to the version that results, as AWS has answered.
func (b *bench) editOne(ctx context.Context) error {
	return b.measure(ctx, oneEdit, func(phase *Phase) error {
		var took []time.Duration
		for i := range min(edits, b.Pools) {
			before := b.count("CreateLaunchTemplateVersion")
			if err := b.edit(ctx, i, "t3.xlarge"); err != nil {
				return err
			}
			began := time.Now()
			err := await(ctx, often, "the version of an edit", func() error {
				if b.count("CreateLaunchTemplateVersion") == before {
					return errors.New("there is none")
				}
				return nil
			})
			if err != nil {
				return err
			}
			took = append(took, time.Since(began).Round(time.Millisecond))
			if err := b.rest(ctx); err != nil {
				return err
			}
		}
		phase.Answered, phase.Note = slices.Max(took), fmt.Sprintf("From edit to version: %v.", took)
		return nil
	})
}

func (b *bench) edit(ctx context.Context, i int, instanceType string) error {
	if b.Managed {
		return b.fleet.EditManaged(ctx, i, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = instanceType })
	}
	return b.fleet.Edit(ctx, i, func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = instanceType })
}

// editAll measures from the first edit until the controller is at rest: a group gets its version once
// the spec has not changed for a while.
func (b *bench) editAll(ctx context.Context) error {
	return b.measure(ctx, allEdited, func(phase *Phase) error {
		began := time.Now()
		if err := fleet.Each(0, b.Pools, func(i int) error { return b.edit(ctx, i, "t3.2xlarge") }); err != nil {
			return err
		}
		if err := b.awaitCalls(ctx, "CreateLaunchTemplateVersion"); err != nil {
			return err
		}
		phase.Answered = time.Since(began)
		phase.Note = fmt.Sprintf("The last version was made after %v.", phase.Answered.Round(time.Millisecond))
		if b.Own && !b.Managed {
			if err := b.awaitCalls(ctx, "UpdateAutoScalingGroup"); err != nil {
				return err
			}
		}
		return b.rest(ctx)
	})
}

// awaitCalls waits until AWS has had a call of an action for each pool.
func (b *bench) awaitCalls(ctx context.Context, action string) error {
	return await(ctx, seldom, action+" for each pool", func() error {
		if made := b.count(action); made < b.Pools {
			return fmt.Errorf("%d calls were made", made)
		}
		return nil
	})
}

// restart measures a controller that starts while the pools need nothing.
func (b *bench) restart(ctx context.Context) error {
	b.keepReconciles(ctx)
	if err := b.process.stop(); err != nil {
		return err
	}
	return b.measure(ctx, coldStart, func(phase *Phase) error {
		began := time.Now()
		if err := b.start(ctx); err != nil {
			return err
		}
		err := await(ctx, seldom, "the first call", func() error {
			if len(b.lab.Cloud.AWS.Calls()) == 0 {
				return errors.New("there is none")
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := b.rest(ctx); err != nil {
			return err
		}
		calls := b.lab.Cloud.AWS.Calls()
		phase.Answered = calls[len(calls)-1].Time.Add(b.Latency).Sub(began).Round(10 * time.Millisecond)
		phase.Note = fmt.Sprintf("The last call was answered after %v; the time includes %v of nothing.", phase.Answered, b.asleep())
		if passes := b.process.reconciles(ctx); passes != nil {
			phase.Note += fmt.Sprintf(" %d passes.", passes.Count)
		}
		return nil
	})
}

// keepReconciles records the controller's metrics about its passes, before it stops.
func (b *bench) keepReconciles(ctx context.Context) {
	b.result.Reconciles = b.result.Reconciles.plus(b.process.reconciles(ctx))
}

// quietHour measures an hour in which nothing happens, three of managed pools: a node group is
// described every hour and a half. Slipway's manager runs inside this process for it, on a clock
// that is stepped from sweep to sweep; another controller is watched for a while, and its calls are
// scaled to an hour.
func (b *bench) quietHour(ctx context.Context) error {
	b.keepReconciles(ctx)
	if err := b.process.stop(); err != nil {
		return err
	}
	if !b.Own {
		if err := b.start(ctx); err != nil {
			return err
		}
		if err := b.rest(ctx); err != nil {
			return err
		}
		return b.measure(ctx, quiet, func(phase *Phase) error {
			timer := time.NewTimer(b.Quiet)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-timer.C:
			}
			hourly := float64(len(b.lab.Cloud.AWS.Calls())) * float64(time.Hour) / float64(b.Quiet) / float64(b.Pools)
			phase.Note = fmt.Sprintf("In real time; %.2f calls per pool and hour at that rate.", hourly)
			return nil
		})
	}
	b.lab.Cloud.AWS.RemoveFault("latency")
	manager, err := b.lab.StartManager(ctx, b.lab.ManagerEnv(b.lab.Cloud), product.Manager(product.Settings{}))
	if err != nil {
		return err
	}
	err = b.settle(ctx)
	if err == nil {
		b.clock.SetRate(0)
		b.standing = true
		err = b.rest(ctx)
	}
	if err == nil {
		err = b.measure(ctx, quietHour, func(phase *Phase) error {
			phase.Hours = 1
			if b.Managed {
				phase.Hours = 3
			}
			if err := b.passTime(ctx, time.Duration(phase.Hours)*time.Hour); err != nil {
				return err
			}
			phase.Calls = b.calls()
			phase.Note = fmt.Sprintf("Inside this process, %d h on a stepped clock: %.3f calls per pool and hour.", phase.Hours, phase.hourly(b.Pools))
			return nil
		})
	}
	return errors.Join(err, manager.Stop())
}

// hurry is the factor by which EKS rolls node groups out faster than in real time when nothing is
// measured.
const hurry = 60

// settle waits until the manager in this process is at rest, and EKS has done with every node group that was edited before.
func (b *bench) settle(ctx context.Context) error {
	if !b.Managed {
		return b.rest(ctx)
	}
	b.clock.SetRate(hurry)
	return await(ctx, seldom, "the end of all roll-outs", func() error {
		pools, err := b.fleet.ManagedPools(ctx)
		if err != nil {
			return err
		}
		for i := range pools {
			if reason := fleet.UnsettledManaged(&pools[i]); reason != "" {
				return errors.New(reason)
			}
		}
		return nil
	})
}

// passTime steps the clock by the interval of sweeps and a beat more, as a sweep begins at a beat, and lets the manager do each. Not all calls of a sweep need come: with a
// thousand pools what is due at the same step may use up the request budget, which does not fill while the clock stands.
func (b *bench) passTime(ctx context.Context, duration time.Duration) error {
	interval := observe.DefaultIntervals.Rest + observe.DefaultIntervals.Motion
	for passed := time.Duration(0); passed < duration; passed += interval {
		before := b.count("DescribeAutoScalingGroups")
		b.clock.Step(interval)
		err := await(ctx, often, "a sweep", func() error {
			if b.count("DescribeAutoScalingGroups") == before {
				return errors.New("it has not begun")
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := b.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}
