// Package refreshplan decides what an instance refresh does next: the group as it is now goes in,
// and what to launch, to terminate and to wait for comes out. Everything is counted in capacity
// units, which are instances unless the group is weighted.
package refreshplan

// Phase says where an instance stands in a refresh.
type Phase int

// The phases of an instance.
const (
	PhasePending Phase = iota // launched, not yet in service
	PhaseWarming              // in service, warmup not over, or not healthy
	PhaseReady                // in service, healthy and warm
	PhaseStandby              // in standby: counts toward nothing
	PhaseLeaving              // on its way out: counts toward nothing
)

// Treatment says what a refresh may do with an instance that it would replace.
type Treatment int

// The treatments of an instance.
const (
	TreatReplace Treatment = iota
	TreatIgnore            // stays as it is
	TreatWait              // may not be touched until the user lets it go
)

// Member is one instance of the group.
type Member struct {
	ID        string
	Units     int
	Phase     Phase
	Updated   bool // runs what the refresh wants
	Treatment Treatment
	ByRefresh bool // leaving because the refresh replaced it
	NewRoot   bool // it should get a new root volume instead of being replaced itself
}

// State holds the group as a refresh sees it. Members come in the order in which they should be
// replaced.
type State struct {
	Desired     int
	MinHealthy  int
	MaxHealthy  int
	MaxExplicit bool
	// percent of the group that may be new until the next checkpoint is passed; 100 without checkpoints
	Limit   int
	InPlace bool // instances stay and get new root volumes, so that none is launched first
	Members []Member
}

// WaitReason says what holds a refresh up.
type WaitReason int

// The reasons for which a refresh can wait.
const (
	WaitNothing WaitReason = iota
	WaitPending
	WaitWarmup
	WaitTermination
	WaitProtected
	WaitStandby
	WaitCheckpoint
)

// Plan holds what to do now.
type Plan struct {
	Terminate []string
	Replace   []string // to get a new root volume
	Launch    int      // units
	ScaleIn   int      // units above the desired capacity that no replacement explains
	Done      bool
	Wait      WaitReason
	Example   string // an instance it waits for

	Percent   int // of the group that is updated and ready
	Remaining int // instances still to be replaced
}

// Tally sums up the members of a State.
type Tally struct {
	Total, ready            int // units in service or pending; units ready
	Updated, UpdatedReady   int
	kept                    int // units that count and stay although they are not updated
	Old                     int // units that count and are still to be replaced
	remaining               int // instances still to be replaced
	waiting                 int // units of the instances that only the user can release
	largest                 int // units of the largest instance still to be replaced
	pending, warming, Going string
	protected, standby      string
}

// Tally sums up the members.
func (s State) Tally() Tally {
	var t Tally
	for _, m := range s.Members {
		if m.Phase == PhaseLeaving {
			if m.ByRefresh {
				t.Going = m.ID
			}
			continue
		}
		counts := m.Phase != PhaseStandby
		if counts {
			t.Total += m.Units
		}
		if m.Phase == PhaseReady {
			t.ready += m.Units
		}
		switch {
		case m.Updated:
			t.addUpdated(m, counts)
		case m.Treatment == TreatIgnore:
			if counts {
				t.kept += m.Units
			}
		default:
			t.addOld(m, counts)
		}
	}
	return t
}

func (t *Tally) addUpdated(m Member, counts bool) {
	if !counts {
		return
	}
	t.Updated += m.Units
	switch m.Phase {
	case PhaseReady:
		t.UpdatedReady += m.Units
	case PhaseWarming:
		t.warming = m.ID
	case PhasePending:
		t.pending = m.ID
	case PhaseStandby, PhaseLeaving:
	}
}

func (t *Tally) addOld(m Member, counts bool) {
	t.remaining++
	if m.Treatment == TreatWait {
		if m.Phase == PhaseStandby {
			t.standby = m.ID
		} else {
			t.protected = m.ID
		}
	}
	if !counts {
		return
	}
	t.Old += m.Units
	t.largest = max(t.largest, m.Units)
	if m.Treatment == TreatWait {
		t.waiting += m.Units
	}
}

// bounds returns the fewest ready units and the most units in all that the refresh keeps to. Where
// the percentages leave no room at all, an instance is launched first if the minimum is 100 or a
// maximum was given, and terminated first otherwise (SDK RefreshPreferences.MaxHealthyPercentage;
// UG instance-refresh-overview). A refresh that replaces root volumes launches none first: AWS
// recommends it where there is no capacity for that. That it then takes one instance at a time is
// an inference.
func (s State) bounds(t Tally) (floor, ceiling int) {
	floor = min(s.Desired, PercentUp(s.Desired, s.MinHealthy))
	ceiling = max(s.Desired, percentDown(s.Desired, s.MaxHealthy))
	// A unit of room is no room for an instance that weighs more.
	if s.Desired-floor >= t.largest && t.largest > 0 || !s.InPlace && ceiling-s.Desired >= t.largest {
		return floor, ceiling
	}
	if (s.MinHealthy == 100 || s.MaxExplicit) && !s.InPlace {
		return floor, s.Desired + max(t.largest, 1)
	}
	return max(0, s.Desired-max(t.largest, 1)), ceiling
}

// Plan decides the next step.
func (s State) Plan() Plan {
	t := s.Tally()
	floor, ceiling := s.bounds(t)
	allowed := PercentUp(s.Desired, s.Limit)

	var p Plan
	p.Percent = s.percent(t)
	p.Remaining = t.remaining

	total, ready := t.Total, t.ready
	left := t.Old - t.waiting // units that are still to be replaced and may be
	for _, m := range s.Members {
		if m.Updated || m.Treatment != TreatReplace || m.Phase == PhaseLeaving {
			continue
		}
		if m.NewRoot && m.Phase == PhasePending {
			continue // its root volume is being replaced, or it is still coming
		}
		if m.Phase == PhaseStandby {
			p.Terminate = append(p.Terminate, m.ID)
			continue
		}
		after := ready
		if m.Phase == PhaseReady {
			after -= m.Units
		}
		// A refresh only goes on while the group has what it must keep (UG
		// instance-refresh-overview, minimum healthy percentage).
		if after < floor {
			continue
		}
		if m.NewRoot {
			if t.Updated+m.Units <= allowed {
				p.Replace = append(p.Replace, m.ID)
				ready, left = after, left-m.Units
				t.Updated += m.Units
			}
			continue
		}
		// The group replaces terminated instances, and the replacements count as updated. Their
		// number must not exceed what the checkpoint allows.
		if refill := s.Desired - (total - m.Units); refill > 0 && t.Updated+refill > allowed {
			continue
		}
		p.Terminate = append(p.Terminate, m.ID)
		total, ready, left = total-m.Units, after, left-m.Units
	}

	wanted := s.Desired - t.kept - t.waiting - t.Updated
	p.Launch = max(0, min(ceiling-total, wanted, allowed-t.Updated), s.Desired-total)
	p.ScaleIn = max(0, total-s.Desired-left)
	if s.InPlace {
		p.Launch, p.ScaleIn = max(0, s.Desired-total), max(0, total-s.Desired)
	}
	s.explain(&p, t)
	return p
}

// percent is the share of the group that is updated, healthy and warm (SDK
// InstanceRefresh.PercentageComplete). It is 100 only when nothing is left to do.
func (s State) percent(t Tally) int {
	base := s.Desired - t.kept
	if base <= 0 {
		if t.remaining > 0 {
			return 0
		}
		return 100
	}
	p := min(100, t.UpdatedReady*100/base)
	if t.remaining > 0 {
		p = min(p, 99)
	}
	return p
}

// explain says what a plan that does nothing waits for, or that the refresh is done.
func (s State) explain(p *Plan, t Tally) {
	if len(p.Terminate)+len(p.Replace) > 0 || p.Launch > 0 || p.ScaleIn > 0 {
		return
	}
	switch {
	case t.pending != "":
		p.Wait, p.Example = WaitPending, t.pending
	case t.warming != "":
		p.Wait, p.Example = WaitWarmup, t.warming
	case t.Going != "":
		p.Wait, p.Example = WaitTermination, t.Going
	case t.remaining == 0 && t.Total >= s.Desired:
		p.Done = true
	case s.Limit < 100:
		p.Wait = WaitCheckpoint
	case t.standby != "":
		p.Wait, p.Example = WaitStandby, t.standby
	case t.protected != "":
		p.Wait, p.Example = WaitProtected, t.protected
	default:
		// The floor is not reached although nothing that is new is pending: an old instance is not ready.
		p.Wait, p.Example = WaitPending, s.unready()
	}
}

// unready returns the last instance that is not ready.
func (s State) unready() string {
	id := ""
	for _, m := range s.Members {
		if m.Phase == PhaseWarming || m.Phase == PhasePending {
			id = m.ID
		}
	}
	return id
}

// PercentUp returns a share of n, rounded up: Auto Scaling rounds minimums up and maximums down
// (API RefreshPreferences, 2020 edition: "rounded up to the nearest integer"; maximum by symmetry,
// inference).
func PercentUp(n, percent int) int { return (n*percent + 99) / 100 }

func percentDown(n, percent int) int { return n * percent / 100 }
