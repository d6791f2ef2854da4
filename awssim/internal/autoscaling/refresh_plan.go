package autoscaling

// This file decides what an instance refresh does next. It is pure: the group as it is now goes in,
// what to launch, to terminate and to wait for comes out. Everything is counted in capacity units,
// which are instances unless the group is weighted.

// refreshPhase is where an instance stands, seen from a refresh.
type refreshPhase int

const (
	phasePending refreshPhase = iota // launched, not yet in service
	phaseWarming                     // in service, warmup not over, or not healthy
	phaseReady                       // in service, healthy and warm
	phaseStandby                     // in standby: counts toward nothing
	phaseLeaving                     // on its way out: counts toward nothing
)

// refreshTreatment is what a refresh may do with an instance that it would replace.
type refreshTreatment int

const (
	treatReplace refreshTreatment = iota
	treatIgnore                   // stays as it is
	treatWait                     // may not be touched until the user lets it go
)

// refreshMember is one instance of the group.
type refreshMember struct {
	id        string
	units     int
	phase     refreshPhase
	updated   bool // runs what the refresh wants
	treatment refreshTreatment
	byRefresh bool // leaving because the refresh replaced it
	newRoot   bool // it is to get a new root volume, not to be replaced itself
}

// refreshState is the group as a refresh sees it. Members come in the order in which they should be replaced.
type refreshState struct {
	desired     int
	minHealthy  int
	maxHealthy  int
	maxExplicit bool
	// percent of the group that may be new until the next checkpoint is passed; 100 without checkpoints
	limit   int
	inPlace bool // instances stay and get new root volumes, so that none is launched first
	members []refreshMember
}

// waitReason is what holds a refresh up.
type waitReason int

const (
	waitNothing waitReason = iota
	waitPending
	waitWarmup
	waitTermination
	waitProtected
	waitStandby
	waitCheckpoint
)

// refreshPlan is what to do now.
type refreshPlan struct {
	terminate []string
	replace   []string // to get a new root volume
	launch    int      // units
	scaleIn   int      // units above the desired capacity that no replacement explains
	done      bool
	wait      waitReason
	example   string // an instance it waits for

	percent   int // of the group that is updated and ready
	remaining int // instances still to be replaced
}

// refreshTally sums the members.
type refreshTally struct {
	total, ready            int // units in service or pending; units ready
	updated, updatedReady   int
	kept                    int // units that count and stay although they are not updated
	old                     int // units that count and are still to be replaced
	remaining               int // instances still to be replaced
	waiting                 int // units of those that only the user can let go
	largest                 int // units of the largest instance still to be replaced
	pending, warming, going string
	protected, standby      string
}

func (s refreshState) tally() refreshTally {
	var t refreshTally
	for _, m := range s.members {
		if m.phase == phaseLeaving {
			if m.byRefresh {
				t.going = m.id
			}
			continue
		}
		counts := m.phase != phaseStandby
		if counts {
			t.total += m.units
		}
		if m.phase == phaseReady {
			t.ready += m.units
		}
		switch {
		case m.updated:
			t.addUpdated(m, counts)
		case m.treatment == treatIgnore:
			if counts {
				t.kept += m.units
			}
		default:
			t.addOld(m, counts)
		}
	}
	return t
}

func (t *refreshTally) addUpdated(m refreshMember, counts bool) {
	if !counts {
		return
	}
	t.updated += m.units
	switch m.phase {
	case phaseReady:
		t.updatedReady += m.units
	case phaseWarming:
		t.warming = m.id
	case phasePending:
		t.pending = m.id
	case phaseStandby, phaseLeaving:
	}
}

func (t *refreshTally) addOld(m refreshMember, counts bool) {
	t.remaining++
	if m.treatment == treatWait {
		if m.phase == phaseStandby {
			t.standby = m.id
		} else {
			t.protected = m.id
		}
	}
	if !counts {
		return
	}
	t.old += m.units
	t.largest = max(t.largest, m.units)
	if m.treatment == treatWait {
		t.waiting += m.units
	}
}

// bounds returns the fewest ready units and the most units in all that the refresh keeps to. Where
// the percentages leave no room at all, an instance is launched first if the minimum is 100 or a
// maximum was given, and terminated first otherwise (SDK RefreshPreferences.MaxHealthyPercentage;
// UG instance-refresh-overview). A refresh that replaces root volumes launches none first: AWS
// recommends it where there is no capacity for that. That it then takes one instance at a time is
// an inference.
func (s refreshState) bounds(t refreshTally) (floor, ceiling int) {
	floor = min(s.desired, percentUp(s.desired, s.minHealthy))
	ceiling = max(s.desired, percentDown(s.desired, s.maxHealthy))
	// A unit of room is no room for an instance that weighs more.
	if s.desired-floor >= t.largest && t.largest > 0 || !s.inPlace && ceiling-s.desired >= t.largest {
		return floor, ceiling
	}
	if (s.minHealthy == 100 || s.maxExplicit) && !s.inPlace {
		return floor, s.desired + max(t.largest, 1)
	}
	return max(0, s.desired-max(t.largest, 1)), ceiling
}

// plan decides the next step.
func (s refreshState) plan() refreshPlan {
	t := s.tally()
	floor, ceiling := s.bounds(t)
	allowed := percentUp(s.desired, s.limit)

	var p refreshPlan
	p.percent = s.percent(t)
	p.remaining = t.remaining

	total, ready := t.total, t.ready
	left := t.old - t.waiting // units that are still to be replaced and may be
	for _, m := range s.members {
		if m.updated || m.treatment != treatReplace || m.phase == phaseLeaving {
			continue
		}
		if m.newRoot && m.phase == phasePending {
			continue // its root volume is being replaced, or it is still coming
		}
		if m.phase == phaseStandby {
			p.terminate = append(p.terminate, m.id)
			continue
		}
		after := ready
		if m.phase == phaseReady {
			after -= m.units
		}
		// A refresh only goes on while the group has what it must keep (UG
		// instance-refresh-overview, minimum healthy percentage).
		if after < floor {
			continue
		}
		if m.newRoot {
			if t.updated+m.units <= allowed {
				p.replace = append(p.replace, m.id)
				ready, left = after, left-m.units
				t.updated += m.units
			}
			continue
		}
		// What is terminated is launched again, and what is launched is new: not more of it than
		// the checkpoint allows.
		if refill := s.desired - (total - m.units); refill > 0 && t.updated+refill > allowed {
			continue
		}
		p.terminate = append(p.terminate, m.id)
		total, ready, left = total-m.units, after, left-m.units
	}

	wanted := s.desired - t.kept - t.waiting - t.updated
	p.launch = max(0, min(ceiling-total, wanted, allowed-t.updated), s.desired-total)
	p.scaleIn = max(0, total-s.desired-left)
	if s.inPlace {
		p.launch, p.scaleIn = max(0, s.desired-total), max(0, total-s.desired)
	}
	s.explain(&p, t)
	return p
}

// percent is the share of the group that is updated, healthy and warm (SDK
// InstanceRefresh.PercentageComplete). It is 100 only when nothing is left to do.
func (s refreshState) percent(t refreshTally) int {
	base := s.desired - t.kept
	if base <= 0 {
		if t.remaining > 0 {
			return 0
		}
		return 100
	}
	p := min(100, t.updatedReady*100/base)
	if t.remaining > 0 {
		p = min(p, 99)
	}
	return p
}

// explain says what a plan that does nothing waits for, or that the refresh is done.
func (s refreshState) explain(p *refreshPlan, t refreshTally) {
	if len(p.terminate)+len(p.replace) > 0 || p.launch > 0 || p.scaleIn > 0 {
		return
	}
	switch {
	case t.pending != "":
		p.wait, p.example = waitPending, t.pending
	case t.warming != "":
		p.wait, p.example = waitWarmup, t.warming
	case t.going != "":
		p.wait, p.example = waitTermination, t.going
	case t.remaining == 0 && t.total >= s.desired:
		p.done = true
	case s.limit < 100:
		p.wait = waitCheckpoint
	case t.standby != "":
		p.wait, p.example = waitStandby, t.standby
	case t.protected != "":
		p.wait, p.example = waitProtected, t.protected
	default:
		// The floor is not reached although nothing that is new is pending: an old instance is not ready.
		p.wait, p.example = waitPending, s.unready()
	}
}

// unready returns the last instance that is not ready.
func (s refreshState) unready() string {
	id := ""
	for _, m := range s.members {
		if m.phase == phaseWarming || m.phase == phasePending {
			id = m.id
		}
	}
	return id
}
