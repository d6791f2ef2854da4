package launching

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/bounded"
	"github.com/slipway-project/slipway/internal/fleet"
)

const (
	// RetryInterval is how often EC2 is asked again whether it launches from a version that it refused.
	RetryInterval = 10 * time.Second

	// A refusal that no dry run shows lasts for a time, because nothing but a launch would tell that it is over.
	templateTTL = 3 * time.Minute
	accountTTL  = 15 * time.Second
	momentTTL   = 5 * time.Second

	// mostVersions bounds how many versions are remembered that EC2 would launch from. Pods choose which are tried.
	mostVersions = 1000
)

// DryRuns ask EC2 whether it would launch, and launch nothing.
type DryRuns interface {
	DryRun(ctx context.Context, request fleet.Request) error
	DryRunFleet(ctx context.Context, request fleet.Request) error
}

// Refusals know the versions of launch templates from which EC2 launches nothing, because of what they name (a key pair that does not exist, for example), or because
// the caller may not. They keep nothing from being launched from other templates. Each version is tried once by a dry run before anything is launched from it, and one
// that is refused is tried again until it is not. They live in memory alone: a process without them asks again. It is safe for concurrent use.
type Refusals struct {
	clock clock.PassiveClock
	try   DryRuns

	mu    sync.Mutex
	known map[templateVersion]refusal
	// sound are versions that EC2 would launch from.
	sound *bounded.Map[templateVersion, struct{}]
}

type templateVersion struct {
	id      string
	version int64
}

// Refusal is why EC2 launches nothing from a version of a launch template.
type Refusal struct {
	fleet.Verdict
	// Until is when it is forgotten, unless EC2 repeats it.
	Until time.Time
}

type refusal struct {
	Refusal
	// sample is what EC2 is asked for again, at next.
	sample fleet.Request
	next   time.Time
	// fleet is true if EC2 refused the call, not the instances; shown if a dry run has repeated the refusal, so that the first one which does not ends it.
	fleet, shown bool
}

// NewRefusals returns none.
func NewRefusals(clk clock.PassiveClock, try DryRuns) *Refusals {
	return &Refusals{clock: clk, try: try, known: map[templateVersion]refusal{}, sound: bounded.NewMap[templateVersion, struct{}](nil, mostVersions, 0, nil)}
}

// Mark remembers why a launch came to nothing.
func (r *Refusals) Mark(request fleet.Request, verdict fleet.Verdict, wholeCall bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(request, refusal{Refusal: Refusal{Verdict: verdict}, sample: request, fleet: wholeCall})
}

// keep remembers a refusal from now on. The refusals are locked.
func (r *Refusals) keep(request fleet.Request, known refusal) {
	now := r.clock.Now()
	maps.DeleteFunc(r.known, func(_ templateVersion, old refusal) bool { return !now.Before(old.Until) })
	known.Until, known.next = now.Add(ttlOf(known.Blame)), now.Add(RetryInterval)
	at := templateVersion{request.TemplateID, request.Version}
	r.known[at] = known
	r.sound.Delete(at)
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

// Of returns the refusal of a version, if EC2 refused it lately. It asks nothing.
func (r *Refusals) Of(id string, version int64) (Refusal, bool) {
	known, is := r.lookup(templateVersion{id, version})
	return known.Refusal, is
}

// Why returns why nothing can be launched from a version, or "".
func (r *Refusals) Why(id string, version int64) string {
	known, is := r.Of(id, version)
	if !is {
		return ""
	}
	return fmt.Sprintf("EC2 launches nothing from version %d of launch template %s: %s", version, id, known.Message)
}

func (r *Refusals) lookup(at templateVersion) (refusal, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, is := r.known[at]
	return known, is && r.clock.Now().Before(known.Until)
}

// Next returns when the first of the versions that EC2 refuses can be tried again; false if there are none.
func (r *Refusals) Next() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, soonest, some := r.clock.Now(), time.Duration(0), false
	for _, known := range r.known {
		next := min(known.next.Sub(now), known.Until.Sub(now))
		if known.Until.After(now) && (!some || next < soonest) {
			soonest, some = max(next, time.Second), true
		}
	}
	return soonest, some
}

// Check tries a version that was not tried yet, and afterwards it is as Of says.
func (r *Refusals) Check(ctx context.Context, request fleet.Request) {
	at := templateVersion{request.TemplateID, request.Version}
	_, sound, _ := r.sound.Get(at)
	if _, refused := r.lookup(at); refused || sound {
		return
	}
	r.tried(request, refusal{sample: request}, r.try.DryRun(ctx, request))
}

// Recheck tries a version again that EC2 refused, if it is time to.
func (r *Refusals) Recheck(ctx context.Context, id string, version int64) {
	at := templateVersion{id, version}
	known, refused := r.lookup(at)
	if !refused || known.Blame == fleet.BlameMoment || r.clock.Now().Before(known.next) {
		return
	}
	var err error
	if known.fleet {
		err = r.try.DryRunFleet(ctx, known.sample)
	}
	if err == nil {
		err = r.try.DryRun(ctx, known.sample)
	}
	r.tried(known.sample, known, err)
}

// tried takes the answer to a dry run. What is not about the launch template or the caller is no answer: launches tell.
func (r *Refusals) tried(request fleet.Request, known refusal, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := templateVersion{request.TemplateID, request.Version}
	switch verdict := fleet.VerdictOf(err); {
	case err != nil && (verdict.Blame == fleet.BlameTemplate || verdict.Blame == fleet.BlameAccount):
		known.Verdict, known.shown = verdict, true
		r.keep(request, known)
	case err == nil && (known.shown || known.Blame == ""):
		delete(r.known, at)
		r.sound.Put("", at, struct{}{})
	default:
		if was, is := r.known[at]; is {
			was.next = r.clock.Now().Add(RetryInterval)
			r.known[at] = was
		}
	}
}
