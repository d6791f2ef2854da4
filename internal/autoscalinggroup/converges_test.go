package autoscalinggroup

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fleet is the least that a group with instance refreshes does, by the minute: each replaces one
// instance a minute with what the group names then, and takes for done what it has replaced and
// what was of the named version when it began.
type fleet struct {
	now       time.Time
	wanted    Wanted
	after     string    // the newest refresh when the configuration came to be wanted
	endSeen   time.Time // when the newest refresh was seen to have finished
	versions  map[int64]string
	instances []Instance
	history   []Refresh
	left      map[string]bool // ids that the refresh is still to replace
	launched  int
	id, goal  string // what we recorded of our own
}

func (f *fleet) point(config string) {
	number := int64(len(f.versions) + 1)
	f.versions[number] = config
	if f.wanted.Config != config && len(f.history) > 0 {
		f.after = f.history[0].ID
	}
	f.wanted.Config, f.wanted.Version, f.wanted.Versions = config, number, nil
	for version, of := range f.versions {
		if of == config {
			f.wanted.Versions = append(f.wanted.Versions, version)
		}
	}
}

func (f *fleet) end(status string) {
	if len(f.history) > 0 && f.history[0].Active() {
		f.history[0].Status, f.endSeen, f.left = status, f.now, nil
	}
}

func (f *fleet) minute(t *rapid.T) {
	f.now = f.now.Add(time.Minute)
	rollout := Rollout{
		Wanted: f.wanted, After: f.after, Instances: f.instances, History: f.history, EndSeen: f.endSeen,
		StartedID: f.id, StartedFor: f.goal, Configs: f.versions, Now: f.now,
	}
	decision := rollout.Decide()
	switch decision.Verdict {
	case Start:
		if len(decision.Outdated) == 0 {
			t.Fatal("a refresh starts and none is outdated")
		}
		f.launched++
		f.id, f.goal = fmt.Sprintf("r-%d", f.launched), f.wanted.Key()
		f.history = append([]Refresh{{ID: f.id, Status: "InProgress"}}, f.history...)
		f.left = map[string]bool{}
		for _, instance := range f.instances {
			shielded := slices.ContainsFunc(decision.Shield, func(other Instance) bool { return other.ID == instance.ID })
			if !shielded && !f.wanted.skipped(instance) {
				f.left[instance.ID] = true
			}
		}
	case Supersede:
		f.end("Cancelled")
	case Rolling:
		if f.id == f.history[0].ID {
			f.goal = f.wanted.Key()
		}
	case RolledOut, Later, GoBack, Disabled, Left:
	}
	if len(f.history) > 0 && f.history[0].Active() {
		f.replaceOne(t)
	}
}

func (f *fleet) replaceOne(t *rapid.T) {
	for i := range f.instances {
		if f.left[f.instances[i].ID] {
			delete(f.left, f.instances[i].ID)
			if f.wanted.Runs(f.instances[i]) {
				t.Errorf("%+v runs what is wanted and is replaced", f.instances[i])
			}
			f.launched++
			f.instances[i] = Instance{ID: fmt.Sprintf("i-%d", f.launched), LaunchTemplateID: "lt-1", Version: f.wanted.Version, LifecycleState: "InService"}
			return
		}
	}
	f.end("Successful")
}

// TestRolloutsConverge holds that whatever is edited, rotated, failed and cancelled, in whatever
// order, all instances come to run what is wanted, that no refresh starts without need, and that
// none replaces an instance that runs what is wanted.
func TestRolloutsConverge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &fleet{now: now, wanted: Wanted{TemplateID: "lt-1"}, versions: map[int64]string{}}
		f.point("a")
		for i := range rapid.IntRange(1, 6).Draw(t, "size") {
			f.instances = append(f.instances, Instance{ID: fmt.Sprintf("i-first-%d", i), LaunchTemplateID: "lt-1", Version: 1, LifecycleState: "InService"})
		}
		edited := false
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			switch rapid.SampledFrom([]string{"edit", "rotate", "fail", "cancel", "wait", "wait", "wait"}).Draw(t, "event") {
			case "edit":
				f.point(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "config"))
				edited = true
			case "rotate":
				f.point(f.wanted.Config)
			case "fail":
				f.end("Failed")
			case "cancel":
				f.end("Cancelled")
			}
			f.minute(t)
		}
		for range 60 * 24 { // a day in peace
			f.minute(t)
		}
		for _, instance := range f.instances {
			if !f.wanted.Runs(instance) {
				t.Fatalf("after a day %+v does not run config %s; refreshes are %+v", instance, f.wanted.Config, f.history)
			}
		}
		if !edited && f.launched > 0 {
			t.Errorf("nothing was edited, and %d refreshes or instances were launched", f.launched)
		}
		if latest := f.history; len(latest) > 0 && latest[0].Active() {
			t.Errorf("refresh %+v never ends", latest[0])
		}
	})
}
