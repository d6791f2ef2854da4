package plan

import (
	"context"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unedited holds what is done for pools without a change. It is planned for a pool when it is first asked for:
// a few pools usually say what an edit does.
type unedited struct {
	planner *Planner
	targets []target
	// pins are the edits that are made in any case.
	pins  []edit
	plans map[int]Pool
	// pinned is the management cluster with these edits, nil until a pool is planned.
	pinned client.Reader
}

// plan returns what is done for a pool.
func (u *unedited) plan(ctx context.Context, number int) (Pool, error) {
	if known, is := u.plans[number]; is {
		return known, nil
	}
	if u.pinned == nil {
		pinned, err := u.planner.edited(ctx, u.pins)
		if err != nil {
			return Pool{}, err
		}
		u.pinned = pinned
	}
	planned, err := u.planner.planPool(ctx, u.pinned, u.targets[number], u.pins, nil)
	if err == nil {
		if u.plans == nil {
			u.plans = map[int]Pool{}
		}
		u.plans[number] = planned
	}
	return planned, err
}

// failed reports whether a pool does not reach its spec.
func (u *unedited) failed(ctx context.Context) (bool, error) {
	for number := range u.targets {
		if planned, err := u.plan(ctx, number); err != nil || planned.failed() {
			return err == nil, err
		}
	}
	return false, nil
}

// effectAlone returns the effect of one change, by the plan of it alone, or the error of that. Failed is
// true if the edit as a whole fails.
func (u *unedited) effectAlone(ctx context.Context, pools []Pool, err error, failed bool) (Effect, error) {
	if err == nil && !slices.ContainsFunc(pools, Pool.failed) {
		return u.effectOf(ctx, pools)
	}
	switch before, err := u.failed(ctx); {
	case err != nil:
		return Together, err
	case before:
		return Unknown, nil
	case failed:
		return Fails, nil
	}
	return Together, nil
}

// effectOf returns the strongest effect on pools, in addition to what is done for them anyway.
func (u *unedited) effectOf(ctx context.Context, pools []Pool) (Effect, error) {
	strongest := Nothing
	for number := range pools {
		if len(pools[number].Steps) == 0 {
			continue
		}
		anyway, err := u.plan(ctx, number)
		replaces := replacing(pools[number].Steps)
		switch {
		case err != nil:
			return Together, err
		case len(replaces) > 0 && !reflect.DeepEqual(replaces, replacing(anyway.Steps)):
			return Replaces, nil
		case !reflect.DeepEqual(pools[number].Steps, anyway.Steps):
			strongest = InPlace
		}
	}
	return strongest, nil
}

// replacing returns the steps that replace or terminate instances.
func replacing(steps []Step) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(step Step) bool { return len(step.Replaces) == 0 })
}

// strongestOf returns the strongest effect on pools.
func strongestOf(pools []Pool) Effect {
	strongest := Nothing
	for number := range pools {
		effect := effectOn(&pools[number])
		if effect == Replaces {
			return Replaces
		}
		if effect == InPlace {
			strongest = InPlace
		}
	}
	return strongest
}

// effectOn returns what a plan does to a pool.
func effectOn(pool *Pool) Effect {
	switch {
	case len(pool.Replaced()) > 0:
		return Replaces
	case len(pool.Steps) > 0:
		return InPlace
	}
	return Nothing
}

// weaker returns the weaker of two effects, and Together if one is that.
func weaker(a, b Effect) Effect {
	for _, effect := range []Effect{Together, Unknown, Nothing, InPlace} {
		if a == effect || b == effect {
			return effect
		}
	}
	return Replaces
}
