package launcher

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// answer holds EC2's answer to a request.
type answer struct {
	fleet.Verdict
	// launches is true if EC2 launches what was asked for.
	launches bool
	// forAll is true if it would be the same for every offering, and ofType if it is about the
	// instance type, wherever and however that is bought.
	forAll, ofType bool
}

func answerOf(request *fleet.Request, err error) answer {
	if err == nil {
		return answer{launches: true}
	}
	first := request.Offerings[0]
	code, message := aws.Code(err), err.Error()
	of := answer{Verdict: request.VerdictOf(err), forAll: fleet.HoldsForAll(code, message), ofType: fleet.OfType(code, message, first.InstanceType)}
	if of.Blame == fleet.BlameSubnet && first.SubnetID == "" {
		of.Blame = fleet.BlameTemplate // the subnet is the launch template's own
	}
	return of
}

// refuses reports whether the answer is about the launch template or the caller. Other failures say
// nothing about a version.
func (a answer) refuses() bool {
	return a.Blame == fleet.BlameTemplate || a.Blame == fleet.BlameAccount
}

// RecordCall records that EC2 refused the call of a launch.
func (r *Refusals) RecordCall(request fleet.Request, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := answerOf(&request, err)
	r.of(versionOf(&request)).fleet = true
	if of.forAll {
		r.keepWhole(request, of.Verdict, false)
		return
	}
	r.keepPart(request, of, false).call = true
}

// RecordFailures records why EC2 launched none of some offerings of a request.
func (r *Refusals) RecordFailures(request fleet.Request, failures []fleet.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	byCode := map[string][]fleet.Failure{}
	for _, failure := range failures {
		verdict := fleet.Verdict{Blame: failure.Blame, Message: failure.Code + ": " + failure.Message}
		refuses := answer{Verdict: verdict}.refuses()
		switch {
		case failure.Blame == fleet.BlameMoment, refuses && fleet.HoldsForAll(failure.Code, failure.Message):
			r.keepWhole(request, verdict, false)
		case refuses:
			byCode[failure.Code] = append(byCode[failure.Code], failure)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		some := byCode[code]
		of := answer{Verdict: fleet.Verdict{Blame: some[0].Blame, Message: code + ": " + some[0].Message}}
		of.ofType = fleet.OfType(code, some[0].Message, some[0].InstanceType)
		part := request
		if some[0].InstanceType != "" {
			part.Offerings = nil
			for _, failure := range some {
				part.Offerings = append(part.Offerings, failure.Offering)
			}
		}
		r.keepPart(part, of, false)
	}
}

// RecordLaunch records that EC2 launched an offering from a version.
func (r *Refusals) RecordLaunch(request fleet.Request, offering fleet.Offering) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, of := versionOf(&request), offeringOf(&request, offering)
	r.accept(at, offering.InstanceType, request.Spot)
	if known := r.known[at]; known != nil {
		known.unconfirmed, known.whole = 0, nil
		known.parts = slices.DeleteFunc(known.parts, func(part *refusal) bool { return part.covers(of) && !part.without(offering.InstanceType) })
	}
}

// Check sends dry runs of samples until EC2 would launch one. Samples are possible launches from
// one version. A sample that was tried recently is not tried again. Verdict, Of, and Parts return
// the result. Check returns the subnets that EC2 does not know.
func (r *Refusals) Check(ctx context.Context, samples []fleet.Request) (unknown []string) {
	for i := range samples {
		switch sample := &samples[i]; r.due(sample) {
		case settled:
			return unknown
		case tried:
		case untried:
			of := r.dryRun(ctx, sample)
			r.recordAnswer(sample, of)
			if of.launches || of.Blame == "" || of.Blame == fleet.BlameMoment || of.refuses() && of.forAll {
				return unknown
			}
			if subnet := sample.Offerings[0].SubnetID; of.Blame == fleet.BlameSubnet && subnet != "" {
				unknown = append(unknown, subnet)
			}
		}
	}
	r.refuseVersion(samples)
	return unknown
}

type due int

const (
	untried due = iota
	// tried is for a sample that EC2 refused lately.
	tried
	// settled is for one that it would launch, or whose version it refused as a whole lately.
	settled
)

// due reports whether a sample should be tried.
func (r *Refusals) due(sample *fleet.Request) due {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, at := r.clock.Now(), versionOf(sample)
	part := r.partOf(sample)
	if known := r.known[at]; known != nil && known.whole.holds(now) && now.Before(known.whole.next) {
		// Another Provisioner may launch types from the version that have not been tried.
		if len(known.whole.offerings) == 0 || part != nil {
			return settled
		}
	}
	if part != nil {
		if now.Before(part.next) {
			return tried
		}
		return untried
	}
	if r.acceptedOf(at)[acceptedType{sample.Offerings[0].InstanceType, sample.Spot}] && (r.known[at] == nil || !r.known[at].whole.holds(now)) {
		return settled
	}
	return untried
}

// dryRun asks EC2 whether it would launch a sample: the instance, and the fleet if EC2 refused a
// fleet before.
func (r *Refusals) dryRun(ctx context.Context, sample *fleet.Request) answer {
	r.mu.Lock()
	known := r.known[versionOf(sample)]
	wantsFleet := known != nil && known.fleet
	r.mu.Unlock()
	var err error
	if wantsFleet {
		err = r.try.DryRunFleet(ctx, *sample)
	}
	if err == nil {
		err = r.try.DryRun(ctx, *sample)
	}
	return answerOf(sample, err)
}

// recordAnswer records the answer to a dry run.
func (r *Refusals) recordAnswer(sample *fleet.Request, of answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := versionOf(sample)
	switch {
	case of.refuses() && of.forAll:
		r.keepWhole(*sample, of.Verdict, true)
	case of.refuses():
		r.keepPart(*sample, of, true)
	case of.launches:
		r.recordAccepted(sample)
	default: // it is not about the launch template
		if known := r.known[at]; known != nil && known.whole != nil {
			known.whole.next = r.clock.Now().Add(RetryInterval)
		}
		if part := r.partOf(sample); part != nil {
			part.next = r.clock.Now().Add(RetryInterval)
		}
	}
}

// recordAccepted clears the refusals that a dry run has shown, of the version and of the offering
// of a sample that EC2 would launch. Others expire. The caller holds the lock.
func (r *Refusals) recordAccepted(sample *fleet.Request) {
	at, next := versionOf(sample), r.clock.Now().Add(RetryInterval)
	r.accept(at, sample.Offerings[0].InstanceType, sample.Spot)
	known := r.known[at]
	if known == nil {
		return
	}
	if known.whole != nil && known.whole.shown {
		known.whole = nil
	} else if known.whole != nil {
		known.whole.next = next
	}
	before := known.unconfirmed
	known.parts = slices.DeleteFunc(known.parts, func(part *refusal) bool {
		if !part.covers(firstOf(sample)) || part.call && part.without(sample.Offerings[0].InstanceType) {
			return false
		}
		if !part.shown && !part.counted {
			part.counted = true
			known.unconfirmed++
		}
		part.next = next
		return part.shown
	})
	if known.unconfirmed > before && known.unconfirmed >= mostUnconfirmed {
		r.keepWhole(known.parts[0].sample, known.parts[0].Verdict, false)
	}
}

// refuseVersion refuses a version as a whole if EC2 refuses samples of several types, and is not
// known to launch any type.
func (r *Refusals) refuseVersion(samples []fleet.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	types := map[string]bool{}
	var first *refusal
	for i := range samples {
		part := r.partOf(&samples[i])
		if part == nil {
			return
		}
		if first == nil {
			first = part
		}
		types[samples[i].Offerings[0].InstanceType] = true
	}
	if len(types) < 2 || len(r.acceptedOf(versionOf(&samples[0]))) > 0 {
		return
	}
	if known := r.of(versionOf(&samples[0])); !known.whole.holds(r.clock.Now()) || len(known.whole.offerings) > 0 {
		r.keepWhole(first.sample, first.Verdict, first.shown)
		known.whole.offerings = first.offerings
		known.whole.next = first.next
	}
}

// Recheck repeats the dry runs of offerings that EC2 refuses, for pods that ask for them, if they
// are due.
func (r *Refusals) Recheck(ctx context.Context, id string, version int64) {
	at := templateVersion{id, version}
	r.mu.Lock()
	var again []fleet.Request
	if known := r.known[at]; known != nil {
		for _, part := range known.parts {
			if now := r.clock.Now(); part.holds(now) && !now.Before(part.next) && len(again) < mostRetried {
				again = append(again, part.sample)
			}
		}
	}
	r.mu.Unlock()
	for i := range again {
		r.recordAnswer(&again[i], r.dryRun(ctx, &again[i]))
	}
}

// of returns what is refused of a version, to be changed, and drops what has expired. The caller
// holds the lock.
func (r *Refusals) of(at templateVersion) *refused {
	now := r.clock.Now()
	maps.DeleteFunc(r.known, func(other templateVersion, known *refused) bool {
		if !known.whole.holds(now) {
			known.whole = nil
		}
		known.parts = slices.DeleteFunc(known.parts, func(part *refusal) bool { return !part.holds(now) })
		return other != at && known.whole == nil && len(known.parts) == 0
	})
	if r.known[at] == nil {
		r.known[at] = &refused{}
	}
	return r.known[at]
}

// keepWhole records a refusal of a version. The caller holds the lock.
func (r *Refusals) keepWhole(sample fleet.Request, verdict fleet.Verdict, shown bool) {
	at, now := versionOf(&sample), r.clock.Now()
	known := r.of(at)
	shown = shown || known.whole != nil && known.whole.shown && known.whole.Blame == verdict.Blame
	known.whole = &refusal{Refusal: Refusal{verdict, now.Add(ttlOf(verdict.Blame))}, sample: sample, next: now.Add(RetryInterval), shown: shown}
	r.forgetAccepted(at)
}

// keepPart records a refusal of a request's offerings, and returns it. The caller holds the lock.
func (r *Refusals) keepPart(request fleet.Request, of answer, shown bool) *refusal {
	at, now := versionOf(&request), r.clock.Now()
	known := r.of(at)
	part := &refusal{Refusal: Refusal{of.Verdict, now.Add(ttlOf(of.Blame))}, sample: request, next: now, shown: shown, offerings: map[constraints.Offering]bool{}}
	for _, offering := range request.Offerings {
		key := offeringOf(&request, offering)
		if of.ofType {
			key = constraints.Offering{InstanceType: offering.InstanceType}
		}
		part.offerings[key] = true
	}
	known.parts = slices.DeleteFunc(known.parts, func(old *refusal) bool {
		for offering := range old.offerings {
			if !part.covers(offering) {
				return false
			}
		}
		part.call = part.call || old.call
		return true
	})
	known.parts = append(known.parts, part)
	known.parts = known.parts[max(len(known.parts)-mostParts, 0):]
	if shown {
		part.next = now.Add(RetryInterval)
		delete(r.acceptedOf(at), acceptedType{request.Offerings[0].InstanceType, request.Spot})
	} else {
		r.forgetAccepted(at)
	}
	return part
}

// forgetAccepted causes dry runs of a version before the next launch from it. The caller holds the
// lock.
func (r *Refusals) forgetAccepted(at templateVersion) {
	r.accepted.Delete(at)
}

func ttlOf(blame fleet.Blame) time.Duration {
	switch blame {
	case fleet.BlameAccount:
		return accountTTL
	case fleet.BlameMoment:
		return momentTTL
	default:
		return templateTTL
	}
}
