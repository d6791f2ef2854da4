package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// Invariants of roll-outs that a user controls.
const (
	OnlyApproved   = "a pool launches only what was asked for without a hold, approved, or pinned"
	PausedRolls    = "a process that knows about a pause starts no roll-out"
	PauseCancels   = "a process that knows about a pause cancels the instance refresh in progress"
	RetriesOnce    = "a roll-out that was stopped is started again after a delay, or once for each retry"
	RestAsksLittle = "at rest, an object is reconciled rarely, and its passes ask AWS little"
)

// steeringFacts holds what an observer records about a pool whose roll-outs the user controls.
type steeringFacts struct {
	// manual, paused and pinned are what the pool says now.
	manual, paused bool
	pinned         *int64
	// knew is true if the process knew about the pause when the present pass began, and knewSince is when
	// it began to.
	knew      bool
	knewSince time.Time
	// free are the configurations that were asked for while nothing held them back, and chosen the
	// numbers of the versions that were approved or pinned then.
	free   []configuration
	chosen map[string]bool
	// stopped is when an operator last canceled the refresh, zero if something else explains the next
	// one, and brought is what the group launched then. Retries are the retries that no refresh has used.
	stopped time.Time
	brought configuration
	retries int
	// asked is when the user last retried; zero once a roll-out was started after that.
	asked time.Time
	// rolling is true since a roll-out was started, until an operator looks for it.
	rolling bool
	// letGo is true once the user holds nothing back any longer.
	letGo bool
}

// rollouts observes how the user of a pool controls its roll-outs.
type rollouts struct{ observer *observer }

// steer notes what a pool says about its roll-outs.
func (r rollouts) steer(pool client.Object) {
	s, control, annotations := &r.observer.facts.steering, controlOf(pool), pool.GetAnnotations()
	paused := infrav1.RolloutPaused(annotations)
	if paused != s.paused {
		s.stopped = time.Time{}
	}
	s.manual, s.paused, s.pinned = control.Rollout == infrav1.LaunchConfigRolloutManual, paused, control.PinnedVersion
	if s.pinned != nil {
		r.choose(strconv.FormatInt(*s.pinned, 10))
	}
	if approved := annotations[infrav1.ApprovedVersionAnnotation]; approved != "" && !s.paused {
		r.choose(approved)
	}
	if wanted := configurationOf(r.observer.kind.template(pool)); !s.manual && !s.paused && !r.observer.facts.unsettled && !slices.Contains(s.free, wanted) {
		s.free = append(s.free, wanted)
	}
	r.remember("1") // the first version waits for no approval
}

// choose notes that the user chose a version.
func (r rollouts) choose(number string) {
	r.observer.facts.steering.chosen[number] = true
	r.remember(number)
}

// remember looks up the configuration of a version while the version exists: once another version of the
// configuration has the present join token, it may be deleted.
func (r rollouts) remember(number string) { _, _ = r.configurationOfOwn(number) }

// asks returns the configuration that a pool asks for: its pinned version's, or its spec's.
func (r rollouts) asks(pool client.Object) configuration {
	if pinned := r.observer.facts.steering.pinned; pinned != nil {
		if found, err := r.configurationOfOwn(strconv.FormatInt(*pinned, 10)); err == nil {
			return found
		}
	}
	return configurationOf(r.observer.kind.template(pool))
}

// configurationOfOwn returns the configuration of a version of the pool's launch template.
func (r rollouts) configurationOfOwn(number string) (configuration, error) {
	templates := r.observer.aws.ownedTemplates()
	if len(templates) != 1 {
		return configuration{}, fmt.Errorf("there are %d launch templates", len(templates))
	}
	return r.observer.configurationOfVersion(*templates[0].LaunchTemplateId, number)
}

// onlyApproved checks a version that a pool has begun to launch. The first version of a template waits
// for no approval, and may get another join token.
func (r rollouts) onlyApproved(template, number string) {
	if r.observer.violation != nil || number == "1" {
		return
	}
	launches, err := r.observer.configurationOfVersion(template, number)
	if err != nil {
		return // another invariant is about versions that do not exist
	}
	if slices.Contains(r.observer.facts.steering.free, launches) {
		return
	}
	for _, chosen := range append(slices.Sorted(maps.Keys(r.observer.facts.steering.chosen)), "1") {
		if found, err := r.observer.configurationOfVersion(template, chosen); err == nil && found == launches {
			return
		}
	}
	r.observer.violate(OnlyApproved, "the pool launches version %s (%s, %d GB), which waits", number, launches.instanceType, launches.volumeSize)
}

// passBegins notes whether the process knows that roll-outs of the pool are paused.
func (r rollouts) passBegins(ctx context.Context, p *process) {
	s, pool := &r.observer.facts.steering, r.observer.kind.empty()
	err := p.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.observer.name}, pool)
	s.knew = s.paused && err == nil && infrav1.RolloutPaused(pool.GetAnnotations())
	switch {
	case !s.knew:
		s.knewSince = time.Time{}
	case s.knewSince.IsZero():
		s.knewSince = r.observer.clock.Now()
	}
}

// cancelsWithin is the time within which passes that do not fail learn of an instance refresh, and cancel
// it once they know about a pause.
const cancelsWithin = time.Minute

// passEnded checks that no instance refresh is in progress after a pass that has known about a pause for
// some time.
func (r rollouts) passEnded(ctx context.Context) {
	s := &r.observer.facts.steering
	if !s.knew || r.observer.clock.Since(s.knewSince) < cancelsWithin || r.observer.facts.deleting {
		return
	}
	refresh, err := r.inProgress(ctx)
	switch {
	case err != nil:
		r.observer.violate(NoPanic, "%w", err)
	case refresh != nil && refresh.Status != asgtypes.InstanceRefreshStatusCancelling && r.observer.clock.Since(*refresh.StartTime) >= cancelsWithin:
		r.observer.violate(PauseCancels, "instance refresh %s is %s", *refresh.InstanceRefreshId, refresh.Status)
	}
}

// inProgress returns the instance refresh of the pool's group that is in progress, nil for none. EKS drains
// the nodes of a node group, and cannot stop an update.
func (r rollouts) inProgress(ctx context.Context) (*asgtypes.InstanceRefresh, error) {
	if r.observer.workload == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	for _, group := range r.observer.aws.ownedGroups() {
		refreshes, err := r.observer.person.groups.DescribeInstanceRefreshes(ctx, &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: group.AutoScalingGroupName})
		if err != nil {
			return nil, fmt.Errorf("describing instance refreshes: %w", err)
		}
		for i, refresh := range refreshes.InstanceRefreshes {
			if refresh.EndTime == nil {
				return &refreshes.InstanceRefreshes[i], nil
			}
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// unsettledRefresh returns which instance refresh a pool shows that is not in progress.
func (r rollouts) unsettledRefresh(ctx context.Context, shown *infrav1.RolloutStatus) error {
	if shown == nil || !(&autoscalinggroup.Refresh{Status: shown.Status}).Active() || shown.RefreshID == "" {
		return nil
	}
	refresh, err := r.inProgress(ctx)
	if err == nil && (refresh == nil || *refresh.InstanceRefreshId != shown.RefreshID) {
		err = fmt.Errorf("status shows instance refresh %s, which is not in progress", shown.RefreshID)
	}
	return err
}

// rollsOut checks a roll-out that was started.
func (r rollouts) rollsOut(what string) {
	s := &r.observer.facts.steering
	s.rolling, s.asked = true, time.Time{}
	if s.paused && s.knew {
		r.observer.violate(PausedRolls, "%s of a pool whose roll-outs are paused", what)
	}
	// Attempts are counted for what the group launches, and that follows the spec later.
	another := r.observer.facts.launches != s.brought
	if s.stopped.IsZero() || another || r.observer.clock.Since(s.stopped) >= autoscalinggroup.RetryAfter {
		s.stopped = time.Time{}
		return
	}
	if s.retries--; s.retries < 0 {
		r.observer.violate(RetriesOnce, "%s %s after an operator stopped one", what, r.observer.clock.Since(s.stopped))
	}
	s.stopped = time.Time{}
}

// held reports whether something holds back what a pool asks for: a pause, or a missing approval. The approval of
// a version that was deleted since says nothing about a later one, whatever its configuration.
func (r rollouts) held(pool client.Object) bool {
	s := &r.observer.facts.steering
	if s.paused && !s.letGo {
		return true
	}
	if !s.manual || s.letGo || s.pinned != nil {
		return false
	}
	number := pool.GetAnnotations()[infrav1.ApprovedVersionAnnotation]
	approved, err := r.configurationOfOwn(number)
	return err != nil || !r.exists(number) || approved != configurationOf(r.observer.kind.template(pool))
}

// pinLost reports whether a pool is pinned to a version that its launch template, which was created
// again, does not have. Its nodes stay as they are.
func (r rollouts) pinLost() bool {
	pinned := r.observer.facts.steering.pinned
	if pinned == nil {
		return false
	}
	return !r.exists(strconv.FormatInt(*pinned, 10))
}

// exists reports whether the pool's launch template has a version.
func (r rollouts) exists(number string) bool {
	return slices.ContainsFunc(r.observer.aws.ownedTemplates(), func(template ec2types.LaunchTemplate) bool {
		_, err := r.observer.aws.version(*template.LaunchTemplateId, number)
		return err == nil
	})
}

// prunedWithin is the time after the last write within which versions that were in use last are deleted.
const prunedWithin = 45 * time.Minute

// unsettledVersions reports that versions may still be deleted of a pool whose roll-outs the user
// controls. Which of them the pool keeps depends on what is launched, waits, and runs.
func (r rollouts) unsettledVersions(w *World) error {
	if s := &r.observer.facts.steering; !s.letGo && (s.manual || s.paused || s.pinned != nil) && r.observer.clock.Since(w.lastWrite) < prunedWithin {
		return errors.New("versions may still be deleted")
	}
	return nil
}

// unsettledHold returns how a pool that holds something back differs from what it launches: a pause
// leaves instances as they are, and anything else has them run what the pool launches.
func (r rollouts) unsettledHold(ctx context.Context, launches configuration) error {
	if !r.observer.facts.steering.paused {
		return r.observer.facts.otherConfiguration(launches)
	}
	refresh, err := r.inProgress(ctx)
	if err == nil && refresh != nil {
		err = &ViolationError{Invariant: PauseCancels, Cause: fmt.Errorf("instance refresh %s is %s", *refresh.InstanceRefreshId, refresh.Status)}
	}
	return err
}
