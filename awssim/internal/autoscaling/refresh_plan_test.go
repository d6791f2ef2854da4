package autoscaling

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// group makes members from a word: o old and ready, O old and protected (wait), u updated and
// ready, w updated and warming, p updated and pending, s old in standby, i old and ignored, x
// leaving by the refresh, q old and pending.
func members(word string) []refreshMember {
	var all []refreshMember
	for i, r := range word {
		m := refreshMember{id: fmt.Sprintf("%c%d", r, i), units: 1, phase: phaseReady}
		switch r {
		case 'O':
			m.treatment = treatWait
		case 'u':
			m.updated = true
		case 'w':
			m.updated, m.phase = true, phaseWarming
		case 'p':
			m.updated, m.phase = true, phasePending
		case 's':
			m.phase, m.treatment = phaseStandby, treatWait
		case 'i':
			m.treatment = treatIgnore
		case 'x':
			m.phase, m.byRefresh = phaseLeaving, true
		case 'q':
			m.phase = phasePending
		}
		all = append(all, m)
	}
	return all
}

func TestRefreshPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason      string
		group       string
		desired     int
		min, max    int
		maxExplicit bool
		limit       int
		want        refreshPlan
	}{
		{"90/default of ten replaces one at a time, terminating and launching together", "oooooooooo", 10, 90, 100, false, 100,
			refreshPlan{terminate: []string{"o0"}, launch: 1, remaining: 10}},
		{"90/default of two has no room, so one is terminated all the same", "oo", 2, 90, 100, false, 100,
			refreshPlan{terminate: []string{"o0"}, launch: 1, remaining: 2}},
		{"90/default of one terminates the only instance", "o", 1, 90, 100, false, 100,
			refreshPlan{terminate: []string{"o0"}, launch: 1, remaining: 1}},
		{"100 launches first, one at a time", "oo", 2, 100, 100, false, 100, refreshPlan{launch: 1, remaining: 2}},
		{"100/100 launches first", "oo", 2, 100, 100, true, 100, refreshPlan{launch: 1, remaining: 2}},
		{"explicit 90/100 of two can not keep both, so it launches first", "oo", 2, 90, 100, true, 100, refreshPlan{launch: 1, remaining: 2}},
		{"launch first waits for the new one to come into service", "oop", 2, 100, 100, true, 100,
			refreshPlan{wait: waitPending, example: "p2", remaining: 2}},
		{"launch first waits for the new one to warm up", "oow", 2, 100, 100, true, 100,
			refreshPlan{wait: waitWarmup, example: "w2", remaining: 2}},
		{"launch first terminates once the new one is ready, and launches the next", "oou", 2, 100, 100, true, 100,
			refreshPlan{terminate: []string{"o0"}, launch: 1, percent: 50, remaining: 2}},
		{"100/150 of four launches two at once", "oooo", 4, 100, 150, true, 100, refreshPlan{launch: 2, remaining: 4}},
		{"50/150 of four terminates two and launches four", "oooo", 4, 50, 150, true, 100,
			refreshPlan{terminate: []string{"o0", "o1"}, launch: 4, remaining: 4}},
		{"0 replaces all at once", "ooo", 3, 0, 100, false, 100,
			refreshPlan{terminate: []string{"o0", "o1", "o2"}, launch: 3, remaining: 3}},
		{"a checkpoint bounds how many are new", "oooooooooo", 10, 50, 100, false, 20,
			refreshPlan{terminate: []string{"o0", "o1"}, launch: 2, remaining: 10}},
		{"at the checkpoint nothing more is replaced", "uuoooooooo", 10, 50, 100, false, 20,
			refreshPlan{wait: waitCheckpoint, percent: 20, remaining: 8}},
		{"a checkpoint bounds launch-first as well", "oooo", 4, 100, 200, true, 25, refreshPlan{launch: 1, remaining: 4}},
		{"a protected instance is waited for at the end", "uO", 2, 90, 100, false, 100,
			refreshPlan{wait: waitProtected, example: "O1", percent: 50, remaining: 1}},
		{"nothing is launched for an instance that may not go", "uO", 2, 100, 150, true, 100,
			refreshPlan{wait: waitProtected, example: "O1", percent: 50, remaining: 1}},
		{"an instance in standby is waited for", "uus", 2, 90, 100, false, 100,
			refreshPlan{wait: waitStandby, example: "s2", percent: 99, remaining: 1}},
		{"ignored instances do not keep a refresh from its end", "ui", 2, 90, 100, false, 100, refreshPlan{done: true, percent: 100}},
		{"all updated is done", "uu", 2, 90, 100, false, 100, refreshPlan{done: true, percent: 100}},
		{"an empty group is done", "", 0, 90, 100, false, 100, refreshPlan{done: true, percent: 100}},
		{"the last termination is waited for", "uux", 2, 100, 100, true, 100,
			refreshPlan{wait: waitTermination, example: "x2", percent: 100}},
		{"what a scale-out misses is launched", "uu", 3, 90, 100, false, 100, refreshPlan{launch: 1, percent: 66}},
		{"what a scale-in leaves over goes", "uuu", 2, 90, 100, false, 100, refreshPlan{scaleIn: 1, percent: 100}},
		{"surplus that replaces old instances stays", "oouu", 2, 100, 200, true, 100,
			refreshPlan{terminate: []string{"o0", "o1"}, percent: 99, remaining: 2}},
		{"instances still starting hold the refresh up", "qqo", 3, 90, 100, false, 100,
			refreshPlan{wait: waitPending, example: "q1", remaining: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			got := refreshState{desired: tt.desired, minHealthy: tt.min, maxHealthy: tt.max, maxExplicit: tt.maxExplicit, limit: tt.limit,
				members: members(tt.group)}.plan()
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(refreshPlan{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefreshLaws plays whole refreshes: whatever the percentages, checkpoints and weights, the
// group never has fewer ready units than the floor and never more units than the ceiling, and it
// ends with every instance updated and the desired capacity in place.
func TestRefreshLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := refreshState{
			desired:     rapid.IntRange(0, 12).Draw(t, "desired"),
			minHealthy:  rapid.IntRange(0, 100).Draw(t, "min"),
			maxHealthy:  100,
			maxExplicit: rapid.Bool().Draw(t, "explicit"),
			limit:       100,
		}
		if s.maxExplicit {
			s.maxHealthy = rapid.IntRange(100, min(200, 100+s.minHealthy)).Draw(t, "max")
		}
		checkpoints := append(rapid.SliceOfNDistinct(rapid.IntRange(1, 99), 0, 2, rapid.ID[int]).Draw(t, "checkpoints"), 100)
		if len(checkpoints) == 3 && checkpoints[0] > checkpoints[1] {
			checkpoints[0], checkpoints[1] = checkpoints[1], checkpoints[0]
		}
		for i := range s.desired {
			s.members = append(s.members, refreshMember{id: fmt.Sprintf("old-%d", i), units: 1, phase: phaseReady})
		}
		floor, ceiling := s.bounds(s.tally())
		born := 0
		for step := 0; ; step++ {
			if step > 500 {
				t.Fatalf("no end after 500 steps: %+v", s)
			}
			s.limit = checkpoints[0]
			p := s.plan()
			if p.done {
				break
			}
			if p.wait == waitCheckpoint {
				checkpoints = checkpoints[1:]
				continue
			}
			for i, m := range s.members {
				for _, id := range p.terminate {
					if m.id == id {
						s.members[i].phase, s.members[i].byRefresh = phaseLeaving, true
					}
				}
			}
			for range p.launch {
				born++
				s.members = append(s.members, refreshMember{id: fmt.Sprintf("new-%d", born), units: 1, updated: true})
			}
			tally := s.tally()
			if tally.ready < floor || tally.total > ceiling {
				t.Fatalf("ready %d (floor %d), total %d (ceiling %d) after %+v", tally.ready, floor, tally.total, ceiling, p)
			}
			if len(checkpoints) > 1 && tally.updated > percentUp(s.desired, checkpoints[0]) {
				t.Fatalf("%d updated before checkpoint %d%%", tally.updated, checkpoints[0])
			}
			s.advance(rapid.IntRange(0, 3).Draw(t, "advance"))
		}
		tally := s.tally()
		if tally.updatedReady != s.desired || tally.total != s.desired {
			t.Fatalf("ended with %d of %d updated and %d in all", tally.updatedReady, s.desired, tally.total)
		}
	})
}

// advance lets one member of each kind take its next step: which, is drawn.
func (s *refreshState) advance(which int) {
	for i := 0; i < len(s.members); i++ {
		switch m := &s.members[i]; {
		case m.phase == phasePending && which != 1:
			m.phase = phaseWarming
		case m.phase == phaseWarming && which != 2:
			m.phase = phaseReady
		case m.phase == phaseLeaving && which != 3:
			s.members = append(s.members[:i], s.members[i+1:]...)
			i--
		}
	}
}
