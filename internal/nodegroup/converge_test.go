package nodegroup

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// anyTaints draws taints that EKS takes: one for each key and effect.
var anyTaints = rapid.Custom(func(t *rapid.T) []Taint {
	var taints []Taint
	for _, key := range []string{"dedicated", "gpu"} {
		for _, effect := range []string{"NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"} {
			if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
				taints = append(taints, Taint{Key: key, Value: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "value"), Effect: effect})
			}
		}
	}
	return rapid.Permutation(taints).Draw(t, "order")
})

// anySettings draws settings that EKS takes.
var anySettings = rapid.Custom(func(t *rapid.T) Settings {
	settings := DefaultSettings()
	for _, key := range []string{"team", "example.com/tier"} {
		if rapid.Bool().Draw(t, "labeled") {
			if settings.Labels == nil {
				settings.Labels = map[string]string{}
			}
			settings.Labels[key] = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "label")
		}
	}
	settings.Taints = anyTaints.Draw(t, "taints")
	settings.Update = rapid.SampledFrom([]UpdateConfig{
		settings.Update, {MaxUnavailablePercentage: 50, Strategy: "DEFAULT"}, {MaxUnavailable: 1, Strategy: "MINIMAL"},
	}).Draw(t, "update")
	settings.Repair = rapid.SampledFrom([]Repair{
		{}, {Enabled: true}, {Enabled: true, MaxParallelCount: 2, UnhealthyThresholdCount: 3}, {Enabled: true, MaxParallelPercentage: 20, UnhealthyThresholdPercentage: 30},
		{Enabled: true, Overrides: []RepairOverride{
			{Condition: "NetworkingReady", Reason: "InterfaceNotUp", Action: "NoAction", WaitMinutes: 10},
			{Condition: "AcceleratedHardwareReady", Reason: "NvidiaXID13Error", Action: "Reboot", WaitMinutes: 5},
		}},
	}).Draw(t, "repair")
	settings.WarmPool = rapid.SampledFrom([]WarmPool{
		{}, DefaultWarmPool(), {Enabled: true, Min: 1, Prepared: noPrepared, State: "STOPPED"}, {Enabled: true, Prepared: 3, State: "STOPPED", Reuse: true},
	}).Draw(t, "warm pool")
	return settings
})

// anySizes draws bounds and a capacity that may be left out, and gives them to a node group.
func anySizes(t *rapid.T, want *Desired) {
	least := rapid.Int32Range(0, 2).Draw(t, "min")
	most := rapid.Int32Range(max(least, 1), 3).Draw(t, "max")
	want.Bounds, want.Capacity = Bounds{}, nil
	if rapid.Bool().Draw(t, "bounded") {
		want.Bounds = Bounds{Min: &least, Max: &most}
	}
	if rapid.Bool().Draw(t, "sized") {
		want.Capacity = ptr.To(rapid.Int32Range(least, most).Draw(t, "capacity"))
	}
}

// remove deletes a node group and waits until it is gone.
func (w *world) remove(name string) {
	w.Helper()
	w.settled(name)
	if err := w.groups.Delete(w.Context(), Nodegroup{Cluster: "blue", Name: name}); err != nil {
		w.Fatal(err)
	}
	for range 240 {
		if w.describe(name) == nil {
			return
		}
		w.clock.Step(time.Minute)
	}
	w.Fatalf("node group %s is not gone", name)
}

// anyEdits draws what a node group is created as, and then edited to.
var anyEdits = rapid.Custom(func(t *rapid.T) []func(*Desired) {
	var edits []func(*Desired)
	for range rapid.IntRange(2, 4).Draw(t, "edits") {
		settings, sizes := anySettings.Draw(t, "settings"), Desired{}
		anySizes(t, &sizes)
		edits = append(edits, func(d *Desired) { d.Settings, d.Bounds, d.Capacity = settings, sizes.Bounds, sizes.Capacity })
	}
	return edits
})

// TestEditsConverge holds that a node group that was just created needs no update, and that after
// any edits neither does it, once its configuration was updated: by one update for each edit, or by
// two if the warm pool was disabled before, because EKS keeps its number of prepared instances. No
// node is replaced for it.
func TestEditsConverge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for seed := range 12 {
		edits := anyEdits.Example(seed)
		want := w.plain(edits[0])
		want.UID = fmt.Sprint(seed)
		made, err := w.groups.Create(t.Context(), want, "pool", "")
		if err != nil {
			t.Fatal(err)
		}
		if step := Next(want, *made, nil, w.clock.Now()); step.Config != nil || step.Version != nil || step.Hardest().Obstacle != "" {
			t.Errorf("it was created as %+v, and the next step is %+v, %+v, %s", *made, step.Config, step.Version, step.Hardest().Message)
		}
		group := w.settled("pool")
		for _, edit := range edits[1:] {
			want := w.plain(edit)
			if want.Bounds.Min == nil && want.Capacity != nil {
				want.Capacity = ptr.To(min(max(*want.Capacity, group.Sizes.Min), group.Sizes.Max))
			}
			group = w.converged(want, group)
		}
		w.remove("pool")
	}
}

// converged updates a node group until it needs no update, and returns it.
func (w *world) converged(want Desired, group Nodegroup) Nodegroup {
	w.Helper()
	for range 3 {
		step := Next(want, group, nil, w.clock.Now())
		switch {
		case step.Version != nil || step.Hardest().Obstacle != "":
			w.Fatalf("the step is %+v, obstacle %s", step.Version, step.Hardest().Message)
		case step.Config == nil:
			if diff := cmp.Diff(want.Settings.Sorted().Taints, group.Settings.Taints); diff != "" && len(want.Settings.Taints) > 0 {
				w.Errorf("taints (-want +got):\n%s", diff)
			}
			if want.Capacity != nil && group.Sizes.Desired != *want.Capacity {
				w.Errorf("the desired size is %d, want %d", group.Sizes.Desired, *want.Capacity)
			}
			return group
		}
		if _, err := w.groups.UpdateConfig(w.Context(), *step.Config, group); err != nil {
			w.Fatalf("EKS refuses %q: %v", step.Config.Reasons, err)
		}
		group = w.settled("pool")
	}
	w.Fatalf("updates of %+v to %+v do not end", group.Settings, want.Settings)
	return group
}

// TestOrderIsNoDifference holds that the order of taints and overrides is no change, and that
// sorting them leaves the caller's lists as they were.
func TestOrderIsNoDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		settings := anySettings.Draw(t, "settings")
		shuffled := settings
		shuffled.Taints = rapid.Permutation(settings.Taints).Draw(t, "taints")
		shuffled.Repair.Overrides = rapid.Permutation(settings.Repair.Overrides).Draw(t, "overrides")
		given := slices.Clone(shuffled.Taints)
		if reasons := settingsDiffer(shuffled, settings.Sorted()); len(reasons) > 0 {
			t.Errorf("another order is a change: %q", reasons)
		}
		one, other := desired(func(d *Desired) { d.Settings = settings.Sorted() }), desired(func(d *Desired) { d.Settings = shuffled.Sorted() })
		if one.Key() != other.Key() {
			t.Error("another order has another key")
		}
		if first, second := createInput(one, "pool", ""), createInput(desired(func(d *Desired) { d.Settings = shuffled }), "pool", ""); *first.ClientRequestToken != *second.ClientRequestToken {
			t.Error("another order has another token")
		}
		if !slices.Equal(given, shuffled.Taints) {
			t.Errorf("the taints were sorted in place: %v, before %v", shuffled.Taints, given)
		}
	})
}

// TestNewSizesAreValid holds that EKS takes the sizes of a new node group, whatever is given.
func TestNewSizesAreValid(t *testing.T) {
	t.Parallel()
	optional := rapid.Ptr(rapid.Int32Range(0, 450), true)
	rapid.Check(t, func(t *rapid.T) {
		want := Desired{Capacity: optional.Draw(t, "capacity"), Bounds: Bounds{Min: optional.Draw(t, "min"), Max: optional.Draw(t, "max")}}
		sizes := newSizes(want)
		if *sizes.MinSize < 0 || *sizes.MaxSize < 1 || *sizes.MinSize > *sizes.DesiredSize || *sizes.DesiredSize > *sizes.MaxSize {
			t.Errorf("sizes are %d ≤ %d ≤ %d", *sizes.MinSize, *sizes.DesiredSize, *sizes.MaxSize)
		}
		if want.Bounds.Max != nil && *want.Bounds.Max > 0 && *sizes.MaxSize != *want.Bounds.Max {
			t.Errorf("max is %d, want %d", *sizes.MaxSize, *want.Bounds.Max)
		}
		inside := want.Capacity != nil && *want.Capacity >= ptr.Deref(want.Bounds.Min, 0) && *want.Capacity <= ptr.Deref(want.Bounds.Max, 450)
		if inside && *sizes.DesiredSize != *want.Capacity {
			t.Errorf("%d nodes were asked for within the bounds, and %d are", *want.Capacity, *sizes.DesiredSize)
		}
	})
}
