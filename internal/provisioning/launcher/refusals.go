package launcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/bounded"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

const (
	// RetryInterval is the interval at which Slipway asks EC2 again whether it launches what it
	// refused.
	RetryInterval = 10 * time.Second

	// A refusal that no dry run shows lasts for a time, because only a launch would show that it is
	// over.
	templateTTL = 3 * time.Minute
	accountTTL  = 15 * time.Second
	momentTTL   = 5 * time.Second

	// mostVersions bounds how many versions are remembered that EC2 would launch from. Pods choose
	// which are tried.
	mostVersions = 1000
	// mostRetried bounds how many refused offerings of a version are tried again at a time.
	mostRetried = 3
	// mostParts bounds how many refusals of some offerings a version has. The first ones are
	// dropped.
	mostParts = 100
	// mostUnconfirmed bounds how many launches EC2 may refuse although its dry runs accept them,
	// before nothing is launched from the version for a while.
	mostUnconfirmed = 3
)

// DryRuns ask EC2 whether it would launch, and launch nothing.
type DryRuns interface {
	DryRun(ctx context.Context, request fleet.Request) error
	DryRunFleet(ctx context.Context, request fleet.Request) error
}

// Refusals record what EC2 does not launch from versions of launch templates. EC2 may launch
// nothing from a version, because it names a key pair that does not exist, for example, or because
// the caller lacks a permission. Or it launches nothing of some offerings: their instance type
// lacks a feature, or an IAM policy excludes it. Other launch templates are not affected. A dry run
// tries each version before the first launch from it, and repeats what EC2 refused until EC2
// accepts it. Refusals are in memory only: a process without them asks again. Refusals are safe for
// concurrent use.
type Refusals struct {
	clock clock.PassiveClock
	try   DryRuns

	mu    sync.Mutex
	known map[templateVersion]*refused
	// accepted are the instance types that EC2 would launch from a version.
	accepted *bounded.Map[templateVersion, map[acceptedType]bool]
}

type templateVersion struct {
	id      string
	version int64
}

func versionOf(request *fleet.Request) templateVersion {
	return templateVersion{request.TemplateID, request.Version}
}

type acceptedType struct {
	instanceType string
	spot         bool
}

// Refusal holds why EC2 launches nothing.
type Refusal struct {
	fleet.Verdict
	// Until is when it is forgotten, unless EC2 repeats it.
	Until time.Time
}

// refused holds what EC2 does not launch from a version.
type refused struct {
	whole *refusal
	parts []*refusal
	// fleet is true once EC2 refused a call, and not the instances. Dry runs then ask for a fleet
	// too.
	fleet bool
	// unconfirmed is how many refusals of launches no dry run has shown since something was
	// launched.
	unconfirmed int
}

type refusal struct {
	Refusal
	// offerings that are refused. For a whole version, they are the offerings whose refusal led to
	// it; it is empty if the reason holds for all.
	offerings map[constraints.Offering]bool
	// sample is what EC2 is asked for again, at next.
	sample fleet.Request
	next   time.Time
	// call is true if EC2 refused a call, which may be because of any of the offerings.
	call bool
	// shown reports that a dry run has repeated the refusal, so that the first one which does not
	// clears it; counted reports that none has.
	shown, counted bool
}

func (r *refusal) holds(now time.Time) bool { return r != nil && now.Before(r.Until) }

// covers reports whether an offering is among the refused ones.
func (r *refusal) covers(offering constraints.Offering) bool {
	return slices.ContainsFunc(offering.Patterns(), func(key constraints.Offering) bool { return r.offerings[key] })
}

// without takes an instance type out of the refusal, unless it is of that type alone. It reports
// whether it was taken out.
func (r *refusal) without(instanceType string) bool {
	others := maps.Clone(r.offerings)
	maps.DeleteFunc(others, func(key constraints.Offering, _ bool) bool { return key.InstanceType == instanceType })
	if len(others) == 0 || len(others) == len(r.offerings) {
		return false
	}
	r.offerings = others
	r.sample.Offerings = slices.DeleteFunc(slices.Clone(r.sample.Offerings), func(offering fleet.Offering) bool { return offering.InstanceType == instanceType })
	return true
}

// firstOf returns the offering that a dry run of a request asks for.
func firstOf(request *fleet.Request) constraints.Offering {
	return offeringOf(request, request.Offerings[0])
}

func offeringOf(request *fleet.Request, offering fleet.Offering) constraints.Offering {
	return constraints.Offering{InstanceType: offering.InstanceType, Zone: offering.Zone, CapacityType: Market(*request)}
}

// Market returns the capacity type of a request's instances.
func Market(request fleet.Request) string {
	if request.Spot {
		return provisioningv1.CapacityTypeSpot
	}
	return provisioningv1.CapacityTypeOnDemand
}

// NewRefusals returns none.
func NewRefusals(clk clock.PassiveClock, try DryRuns) *Refusals {
	return &Refusals{clock: clk, try: try, known: map[templateVersion]*refused{}, accepted: bounded.NewMap[templateVersion, map[acceptedType]bool](nil, mostVersions, 0, nil)}
}

// Of returns the refusal of a whole version, if EC2 refused it lately. It asks nothing.
func (r *Refusals) Of(id string, version int64) (Refusal, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[templateVersion{id, version}]; known != nil && known.whole.holds(r.clock.Now()) {
		return known.whole.Refusal, true
	}
	return Refusal{}, false
}

// Accepted reports whether EC2 would launch something from a version, and refuses nothing of it.
func (r *Refusals) Accepted(id string, version int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, now := templateVersion{id, version}, r.clock.Now()
	if known := r.known[at]; known != nil && (known.whole.holds(now) || slices.ContainsFunc(known.parts, func(part *refusal) bool { return part.holds(now) })) {
		return false
	}
	return len(r.acceptedOf(at)) > 0
}

// acceptedOf returns the types that EC2 would launch from a version. The caller holds the lock.
func (r *Refusals) acceptedOf(at templateVersion) map[acceptedType]bool {
	types, _, _ := r.accepted.Get(at)
	return types
}

// accept notes that EC2 would launch a type from a version. The caller holds the lock.
func (r *Refusals) accept(at templateVersion, instanceType string, spot bool) {
	types := r.acceptedOf(at)
	if types == nil {
		types = map[acceptedType]bool{}
		r.accepted.Put("", at, types)
	}
	types[acceptedType{instanceType, spot}] = true
}

// Why returns why nothing can be launched from a version, or "".
func (r *Refusals) Why(id string, version int64) string {
	known, is := r.Of(id, version)
	if !is {
		return ""
	}
	return fmt.Sprintf("EC2 cannot launch an instance from version %d of launch template %s: %s", version, id, known.Message)
}

// Parts returns the offerings that EC2 does not launch from a version, and EC2's message.
func (r *Refusals) Parts(id string, version int64) constraints.Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[templateVersion{id, version}]
	if known == nil {
		return nil
	}
	var all constraints.Refused
	for _, part := range known.parts {
		if !part.holds(r.clock.Now()) {
			continue
		}
		if all == nil {
			all = constraints.Refused{}
		}
		for offering := range part.offerings {
			all[offering] = part.Message
		}
	}
	return all
}

// Verdict returns why EC2 launches none of the samples; false if it launches one, or if that is not
// known. The message names the version, and the instance type.
func (r *Refusals) Verdict(samples []fleet.Request) (fleet.Verdict, bool) {
	if len(samples) == 0 {
		return fleet.Verdict{}, false
	}
	id, version := samples[0].TemplateID, samples[0].Version
	if known, is := r.Of(id, version); is {
		return fleet.Verdict{Blame: known.Blame, Message: r.Why(id, version)}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *refusal
	for i := range samples {
		part := r.partOf(&samples[i])
		if part == nil {
			return fleet.Verdict{}, false
		}
		if first == nil {
			first = part
		}
	}
	message := fmt.Sprintf("EC2 does not launch %s from version %d of launch template %s: %s", samples[0].Offerings[0].InstanceType, version, id, first.Message)
	return fleet.Verdict{Blame: first.Blame, Message: message}, true
}

// partOf returns the refusal of a sample's offering, nil if there is none. The caller holds the
// lock.
func (r *Refusals) partOf(sample *fleet.Request) *refusal {
	known := r.known[versionOf(sample)]
	if known == nil {
		return nil
	}
	for _, part := range known.parts {
		if part.holds(r.clock.Now()) && part.covers(firstOf(sample)) {
			return part
		}
	}
	return nil
}

// Next returns when the first refused request can be tried again; false if there is none.
func (r *Refusals) Next() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, soonest, some := r.clock.Now(), time.Duration(0), false
	for _, known := range r.known {
		for _, one := range append(slices.Clone(known.parts), known.whole) {
			if !one.holds(now) {
				continue
			}
			if next := min(one.next.Sub(now), one.Until.Sub(now)); !some || next < soonest {
				soonest, some = max(next, time.Second), true
			}
		}
	}
	return soonest, some
}
