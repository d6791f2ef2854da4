package refreshplan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// members returns members from a word: o old and ready, O old and protected (wait), u updated and
// ready, w updated and warming, p updated and pending, s old in standby, i old and ignored, x
// leaving by the refresh, q old and pending, r and R getting a new root volume, ready and pending.
func members(word string) []Member {
	var all []Member
	for i, r := range word {
		m := Member{ID: fmt.Sprintf("%c%d", r, i), Units: 1, Phase: PhaseReady}
		switch r {
		case 'O':
			m.Treatment = TreatWait
		case 'u':
			m.Updated = true
		case 'w':
			m.Updated, m.Phase = true, PhaseWarming
		case 'p':
			m.Updated, m.Phase = true, PhasePending
		case 's':
			m.Phase, m.Treatment = PhaseStandby, TreatWait
		case 'i':
			m.Treatment = TreatIgnore
		case 'x':
			m.Phase, m.ByRefresh = PhaseLeaving, true
		case 'q':
			m.Phase = PhasePending
		case 'r':
			m.NewRoot = true
		case 'R':
			m.NewRoot, m.Phase = true, PhasePending
		}
		all = append(all, m)
	}
	return all
}

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason      string
		group       string
		desired     int
		min, max    int
		maxExplicit bool
		limit       int
		want        Plan
	}{
		{"90/default of ten replaces one at a time, terminating and launching together", "oooooooooo", 10, 90, 100, false, 100,
			Plan{Terminate: []string{"o0"}, Launch: 1, Remaining: 10}},
		{"90/default of two has no room, so one is terminated all the same", "oo", 2, 90, 100, false, 100,
			Plan{Terminate: []string{"o0"}, Launch: 1, Remaining: 2}},
		{"90/default of one terminates the only instance", "o", 1, 90, 100, false, 100,
			Plan{Terminate: []string{"o0"}, Launch: 1, Remaining: 1}},
		{"100 launches first, one at a time", "oo", 2, 100, 100, false, 100, Plan{Launch: 1, Remaining: 2}},
		{"100/100 launches first", "oo", 2, 100, 100, true, 100, Plan{Launch: 1, Remaining: 2}},
		{"explicit 90/100 of two cannot keep both, so it launches first", "oo", 2, 90, 100, true, 100, Plan{Launch: 1, Remaining: 2}},
		{"launch first waits for the new one to come into service", "oop", 2, 100, 100, true, 100,
			Plan{Wait: WaitPending, Example: "p2", Remaining: 2}},
		{"launch first waits for the new one to warm up", "oow", 2, 100, 100, true, 100,
			Plan{Wait: WaitWarmup, Example: "w2", Remaining: 2}},
		{"launch first terminates once the new one is ready, and launches the next", "oou", 2, 100, 100, true, 100,
			Plan{Terminate: []string{"o0"}, Launch: 1, Percent: 50, Remaining: 2}},
		{"100/150 of four launches two at once", "oooo", 4, 100, 150, true, 100, Plan{Launch: 2, Remaining: 4}},
		{"50/150 of four terminates two and launches four", "oooo", 4, 50, 150, true, 100,
			Plan{Terminate: []string{"o0", "o1"}, Launch: 4, Remaining: 4}},
		{"0 replaces all at once", "ooo", 3, 0, 100, false, 100,
			Plan{Terminate: []string{"o0", "o1", "o2"}, Launch: 3, Remaining: 3}},
		{"a checkpoint bounds how many are new", "oooooooooo", 10, 50, 100, false, 20,
			Plan{Terminate: []string{"o0", "o1"}, Launch: 2, Remaining: 10}},
		{"at the checkpoint nothing more is replaced", "uuoooooooo", 10, 50, 100, false, 20,
			Plan{Wait: WaitCheckpoint, Percent: 20, Remaining: 8}},
		{"a checkpoint bounds launch-first as well", "oooo", 4, 100, 200, true, 25, Plan{Launch: 1, Remaining: 4}},
		{"a protected instance is waited for at the end", "uO", 2, 90, 100, false, 100,
			Plan{Wait: WaitProtected, Example: "O1", Percent: 50, Remaining: 1}},
		{"nothing is launched for an instance that may not go", "uO", 2, 100, 150, true, 100,
			Plan{Wait: WaitProtected, Example: "O1", Percent: 50, Remaining: 1}},
		{"an instance in standby is waited for", "uus", 2, 90, 100, false, 100,
			Plan{Wait: WaitStandby, Example: "s2", Percent: 99, Remaining: 1}},
		{"ignored instances do not keep a refresh from its end", "ui", 2, 90, 100, false, 100, Plan{Done: true, Percent: 100}},
		{"all updated is done", "uu", 2, 90, 100, false, 100, Plan{Done: true, Percent: 100}},
		{"an empty group is done", "", 0, 90, 100, false, 100, Plan{Done: true, Percent: 100}},
		{"the last termination is waited for", "uux", 2, 100, 100, true, 100,
			Plan{Wait: WaitTermination, Example: "x2", Percent: 100}},
		{"what a scale-out misses is launched", "uu", 3, 90, 100, false, 100, Plan{Launch: 1, Percent: 66}},
		{"what a scale-in leaves over goes", "uuu", 2, 90, 100, false, 100, Plan{ScaleIn: 1, Percent: 100}},
		{"surplus that replaces old instances stays", "oouu", 2, 100, 200, true, 100,
			Plan{Terminate: []string{"o0", "o1"}, Percent: 99, Remaining: 2}},
		{"instances still starting hold the refresh up", "qqo", 3, 90, 100, false, 100,
			Plan{Wait: WaitPending, Example: "q1", Remaining: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			got := State{Desired: tt.desired, MinHealthy: tt.min, MaxHealthy: tt.max, MaxExplicit: tt.maxExplicit, Limit: tt.limit,
				Members: members(tt.group)}.Plan()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlanInPlace holds what a refresh that replaces root volumes does. Instances stay: r waits for its
// new root volume, and R is getting it.
func TestPlanInPlace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason  string
		group   string
		desired int
		min     int
		limit   int
		want    Plan
	}{
		{"one at a time where there is no room for more", "rr", 2, 90, 100, Plan{Replace: []string{"r0"}, Remaining: 2}},
		{"nothing while the group has what it must keep", "Rr", 2, 90, 100, Plan{Wait: WaitPending, Example: "R0", Remaining: 2}},
		{"all at once if none must stay", "rrr", 3, 0, 100, Plan{Replace: []string{"r0", "r1", "r2"}, Remaining: 3}},
		{"half of them at most", "rrrr", 4, 50, 100, Plan{Replace: []string{"r0", "r1"}, Remaining: 4}},
		{"a checkpoint bounds how many are new", "rrrr", 4, 0, 25, Plan{Replace: []string{"r0"}, Remaining: 4}},
		{"the next once the first is ready", "ur", 2, 90, 100, Plan{Replace: []string{"r1"}, Percent: 50, Remaining: 1}},
		{"nothing is launched first, but what a scale-out misses is", "rr", 3, 100, 100, Plan{Launch: 1, Remaining: 2}},
		{"what a scale-in leaves over goes", "uuu", 2, 90, 100, Plan{ScaleIn: 1, Percent: 100}},
		{"all updated is done", "uu", 2, 90, 100, Plan{Done: true, Percent: 100}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			got := State{Desired: tt.desired, MinHealthy: tt.min, MaxHealthy: 100, Limit: tt.limit, InPlace: true, Members: members(tt.group)}.Plan()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLaws plays whole refreshes: whatever the percentages, checkpoints and weights, the group
// never has fewer ready units than the floor and never more units than the ceiling, and when it
// finishes, every instance is updated and the desired capacity is in place.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := State{
			Desired:     rapid.IntRange(0, 12).Draw(t, "desired"),
			MinHealthy:  rapid.IntRange(0, 100).Draw(t, "min"),
			MaxHealthy:  100,
			MaxExplicit: rapid.Bool().Draw(t, "explicit"),
			Limit:       100,
		}
		if s.MaxExplicit {
			s.MaxHealthy = rapid.IntRange(100, min(200, 100+s.MinHealthy)).Draw(t, "max")
		}
		checkpoints := append(rapid.SliceOfNDistinct(rapid.IntRange(1, 99), 0, 2, rapid.ID[int]).Draw(t, "checkpoints"), 100)
		if len(checkpoints) == 3 && checkpoints[0] > checkpoints[1] {
			checkpoints[0], checkpoints[1] = checkpoints[1], checkpoints[0]
		}
		for i := range s.Desired {
			s.Members = append(s.Members, Member{ID: fmt.Sprintf("old-%d", i), Units: 1, Phase: PhaseReady})
		}
		floor, ceiling := s.bounds(s.Tally())
		born := 0
		for step := 0; ; step++ {
			if step > 500 {
				t.Fatalf("no end after 500 steps: %+v", s)
			}
			s.Limit = checkpoints[0]
			p := s.Plan()
			if p.Done {
				break
			}
			if p.Wait == WaitCheckpoint {
				checkpoints = checkpoints[1:]
				continue
			}
			for i, m := range s.Members {
				for _, id := range p.Terminate {
					if m.ID == id {
						s.Members[i].Phase, s.Members[i].ByRefresh = PhaseLeaving, true
					}
				}
			}
			for range p.Launch {
				born++
				s.Members = append(s.Members, Member{ID: fmt.Sprintf("new-%d", born), Units: 1, Updated: true})
			}
			tally := s.Tally()
			if tally.ready < floor || tally.Total > ceiling {
				t.Fatalf("ready %d (floor %d), total %d (ceiling %d) after %+v", tally.ready, floor, tally.Total, ceiling, p)
			}
			if len(checkpoints) > 1 && tally.Updated > PercentUp(s.Desired, checkpoints[0]) {
				t.Fatalf("%d updated before checkpoint %d%%", tally.Updated, checkpoints[0])
			}
			s.advance(rapid.IntRange(0, 3).Draw(t, "advance"))
		}
		tally := s.Tally()
		if tally.UpdatedReady != s.Desired || tally.Total != s.Desired {
			t.Fatalf("ended with %d of %d updated and %d in all", tally.UpdatedReady, s.Desired, tally.Total)
		}
	})
}

// advance lets one member of each kind take its next step: which, is drawn.
func (s *State) advance(which int) {
	for i := 0; i < len(s.Members); i++ {
		switch m := &s.Members[i]; {
		case m.Phase == PhasePending && which != 1:
			m.Phase = PhaseWarming
		case m.Phase == PhaseWarming && which != 2:
			m.Phase = PhaseReady
		case m.Phase == PhaseLeaving && which != 3:
			s.Members = append(s.Members[:i], s.Members[i+1:]...)
			i--
		}
	}
}
