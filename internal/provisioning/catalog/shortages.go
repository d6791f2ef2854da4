package catalog

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// shortageTTL is how long an offering is left alone of which AWS had none. Capacity comes back by the minute.
const shortageTTL = 3 * time.Minute

// Shortages are offerings of which AWS had none a moment ago. It is safe for concurrent use.
type Shortages struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[Offering]time.Time
}

// NewShortages returns none.
func NewShortages(clk clock.PassiveClock) *Shortages {
	return &Shortages{clock: clk, until: map[Offering]time.Time{}}
}

// Mark leaves an offering alone for a while.
func (s *Shortages) Mark(offering Offering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.until, func(_ Offering, end time.Time) bool { return !now.Before(end) })
	s.until[offering] = now.Add(shortageTTL)
}

// Short is true for an offering that is to be left alone.
func (s *Shortages) Short(offering Offering) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, marked := s.until[offering]
	return marked && s.clock.Now().Before(end)
}

// MarkSubnet leaves a subnet alone for a while that has no free address, or does not exist.
func (s *Shortages) MarkSubnet(id string) { s.Mark(Offering{Zone: id}) }

// ShortSubnet is true for a subnet that is to be left alone.
func (s *Shortages) ShortSubnet(id string) bool { return s.Short(Offering{Zone: id}) }

// Next is when the first of them can be tried again; false if there are none.
func (s *Shortages) Next() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, soonest, some := s.clock.Now(), time.Duration(0), false
	for _, end := range s.until {
		if left := end.Sub(now); left > 0 && (!some || left < soonest) {
			soonest, some = left, true
		}
	}
	return soonest, some
}

// Count returns how many offerings are left alone now, by zone and capacity type.
func (s *Shortages) Count() map[[2]string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, counts := s.clock.Now(), map[[2]string]int{}
	for offering, end := range s.until {
		if now.Before(end) {
			counts[[2]string{offering.Zone, offering.CapacityType}]++
		}
	}
	return counts
}
