package catalog

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

const (
	// shortageTTL is the time for which an offering that AWS had none of, or a subnet without a
	// free address, is avoided. Capacity comes back by the minute.
	shortageTTL = 3 * time.Minute
	// spotTTL is the time for which Spot Instances are avoided while the account lacks the role
	// that they need. A user who creates it waits for it to work.
	spotTTL = 15 * time.Second
	// shortageGrace is the time for which a shortage that is over still counts as the last one
	// known about an offering, until something is launched. Slipway launches for waiting pods
	// within seconds, so a Provisioner that is permanently short does not become Ready in between.
	shortageGrace = time.Minute
)

// Shortages holds the offerings that AWS had none of, or the account could have none of, when asked
// last; and subnets without a free address. It is safe for concurrent use.
type Shortages struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// offerings have an empty zone where the shortage holds for all zones, and no instance type
	// either where it holds for the capacity type.
	offerings map[Offering]shortage
	subnets   map[string]fullSubnet
}

// ShortageCause classifies why an offering is short.
type ShortageCause string

// The causes.
const (
	// NoCapacity is for an offering that AWS had none of.
	NoCapacity ShortageCause = ""
	// QuotaUsedUp is for instance types that a quota of the account does not allow.
	QuotaUsedUp ShortageCause = "Quota"
	// NoSpotRole is for Spot Instances in an account without the role that they need.
	NoSpotRole ShortageCause = "SpotRole"
)

// Shortage holds why AWS does not launch an offering now.
type Shortage struct {
	Cause ShortageCause
	// Message is EC2's, where it is not that AWS had none.
	Message string
}

type shortage struct {
	Shortage
	until time.Time
}

// NewShortages returns none.
func NewShortages(clk clock.PassiveClock) *Shortages {
	return &Shortages{clock: clk, offerings: map[Offering]shortage{}, subnets: map[string]fullSubnet{}}
}

// Mark has an offering that AWS had none of avoided for a while.
func (s *Shortages) Mark(offering Offering) { s.mark(offering, Shortage{}, shortageTTL) }

// MarkQuota leaves instance types alone for a while in all zones: a quota of the account does not
// allow them, with EC2's message.
func (s *Shortages) MarkQuota(instanceTypes []string, capacityType, message string) {
	for _, name := range instanceTypes {
		s.mark(Offering{InstanceType: name, CapacityType: capacityType}, Shortage{QuotaUsedUp, message}, shortageTTL)
	}
}

// MarkSpot leaves all Spot Instances alone for a while, because the account lacks the role that
// they need, with EC2's message.
func (s *Shortages) MarkSpot(message string) {
	s.mark(Offering{CapacityType: provisioningv1.CapacityTypeSpot}, Shortage{NoSpotRole, message}, spotTTL)
}

func (s *Shortages) mark(offering Offering, of Shortage, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.offerings, func(_ Offering, old shortage) bool { return !now.Before(old.until.Add(shortageGrace)) })
	s.offerings[offering] = shortage{of, now.Add(ttl)}
}

// Launched forgets an offering's former shortage: AWS has launched one.
func (s *Shortages) Launched(offering Offering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	for _, key := range covering(offering) {
		if old, marked := s.offerings[key]; marked && !now.Before(old.until) {
			delete(s.offerings, key)
		}
	}
}

// covering returns the offerings whose shortage is one of an offering.
func covering(offering Offering) []Offering {
	return []Offering{offering, {InstanceType: offering.InstanceType, CapacityType: offering.CapacityType}, {CapacityType: offering.CapacityType}}
}

// Current returns the shortages for which offerings should be avoided now.
func (s *Shortages) Current() LastShortages {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, all := s.clock.Now(), LastShortages{}
	for offering, known := range s.offerings {
		if now.Before(known.until) {
			all[offering] = known.Shortage
		}
	}
	return all
}

// LastShortages holds why AWS did not launch some offerings when asked last, as it was known at one
// time.
type LastShortages map[Offering]Shortage

// LastKnown returns the shortages that are known now. A shortage stays known for a while after the
// offering may be tried again.
func (s *Shortages) LastKnown() LastShortages {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, all := s.clock.Now(), LastShortages{}
	for offering, known := range s.offerings {
		if now.Before(known.until.Add(shortageGrace)) {
			all[offering] = known.Shortage
		}
	}
	return all
}

// Of returns why AWS launched none of an offering when asked last; false if nothing indicates that
// it did not.
func (l LastShortages) Of(offering Offering) (Shortage, bool) {
	for _, key := range covering(offering) {
		if known, short := l[key]; short {
			return known, true
		}
	}
	return Shortage{}, false
}

// Short reports whether one of the shortages is of an offering.
func (l LastShortages) Short(offering Offering) bool {
	_, short := l.Of(offering)
	return short
}

// Explain says why the offerings are unavailable that a catalog has as such, where it is not that
// AWS has none.
func (l LastShortages) Explain(types []packing.InstanceType) {
	for i := range types {
		for j := range types[i].Offerings {
			if offering := &types[i].Offerings[j]; offering.Unavailable {
				of, _ := l.Of(Offering{InstanceType: types[i].Name, Zone: offering.Zone, CapacityType: offering.CapacityType})
				offering.Why = of.Message
			}
		}
	}
}

// Next returns the time until the first of them can be tried again; false if there are none.
func (s *Shortages) Next() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, soonest, some := s.clock.Now(), time.Duration(0), false
	consider := func(end time.Time) {
		if left := end.Sub(now); left > 0 && (!some || left < soonest) {
			soonest, some = left, true
		}
	}
	for _, known := range s.offerings {
		consider(known.until)
	}
	for _, known := range s.subnets {
		consider(known.until)
	}
	return soonest, some
}

// List returns the offerings that are avoided now. It leaves out shortages of all zones: those are
// a quota's.
func (s *Shortages) List() []Offering {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	var short []Offering
	for offering, known := range s.offerings {
		if offering.Zone != "" && now.Before(known.until) {
			short = append(short, offering)
		}
	}
	return short
}

// fullSubnet is a subnet that had no free address, or did not exist, when EC2 was to launch there.
type fullSubnet struct {
	since, until time.Time
	// refusedAgain is true if EC2 refused again after it had described free addresses: instances
	// take more addresses than there are, or they are fragmented.
	refusedAgain bool
	// describedFree is true once EC2 has described free addresses since.
	describedFree bool
}

// MarkSubnet leaves a subnet alone for a while that has no free address, or does not exist.
func (s *Shortages) MarkSubnet(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.subnets, func(_ string, old fullSubnet) bool { return !now.Before(old.until) })
	s.subnets[id] = fullSubnet{since: now, until: now.Add(shortageTTL), refusedAgain: s.subnets[id].describedFree}
}

// Described takes note of free addresses that EC2 has described since a launch found none: such a
// subnet is tried again at once, but once only.
func (s *Shortages) Described(subnets []discovery.Subnet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range subnets {
		known, marked := s.subnets[subnets[i].ID]
		if marked && !known.refusedAgain && subnets[i].Free > 0 && subnets[i].Seen.After(known.since) {
			known.describedFree = true
			s.subnets[subnets[i].ID] = known
		}
	}
}

// ShortSubnet reports whether a subnet should be avoided.
func (s *Shortages) ShortSubnet(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, marked := s.subnets[id]
	return marked && !known.describedFree && s.clock.Now().Before(known.until)
}
