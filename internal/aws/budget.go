package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Limit is a token bucket: it holds Burst requests and gets PerSecond back.
type Limit struct {
	Burst     int
	PerSecond float64
}

// Limits are request budgets by "service:Action", such as "ec2:CreateTags". A key ending in *
// covers, in one bucket per action, all actions with that beginning that have no key of their own;
// the longest such key wins. A key "service:" is one bucket that all actions of the service share.
type Limits map[string]Limit

// DefaultLimits returns the budgets that AWS gives an account in a region.
//
// EC2's are documented per action (AWS: ec2-api-throttling, section "Request token bucket sizes and
// refill rates"). Every describe that Slipway sends is filtered or paginated. Auto Scaling has one
// bucket for all actions, whose size AWS does not publish; ours is a guess that keeps a manager
// with a thousand pools from using all of it. SSM allows 40 parameter reads a second, and 3 writes
// or describes of parameters (AWS: Systems Manager endpoints and quotas). SQS bounds standard
// queues nearly not at all (AWS: SQS message quotas); ours keeps a loop that goes wrong from
// costing money. S3's budgets are thousands a second for each prefix. EKS, IAM and the price list do
// not publish theirs; ours are guesses that a thousand managed pools can live with. A price is read
// once an hour, so that a new table of prices takes seconds longer.
func DefaultLimits() Limits {
	return Limits{
		"ec2:*":                           {Burst: 50, PerSecond: 5},
		"ec2:Describe*":                   {Burst: 100, PerSecond: 20},
		"ec2:Get*":                        {Burst: 100, PerSecond: 20},
		"ec2:CreateLaunchTemplateVersion": {Burst: 100, PerSecond: 5},
		"ec2:ModifyLaunchTemplate":        {Burst: 100, PerSecond: 5},
		"ec2:CreateTags":                  {Burst: 100, PerSecond: 10},
		"ec2:DeleteTags":                  {Burst: 100, PerSecond: 10},
		"ec2:RunInstances":                {Burst: 5, PerSecond: 2},
		"ec2:TerminateInstances":          {Burst: 100, PerSecond: 5},
		"autoscaling:":                    {Burst: 100, PerSecond: 20},
		"ssm:GetParameter":                {Burst: 40, PerSecond: 40},
		"ssm:*":                           {Burst: 3, PerSecond: 3},
		"sqs:*":                           {Burst: 100, PerSecond: 20},
		"eks:Describe*":                   {Burst: 100, PerSecond: 20},
		"eks:*":                           {Burst: 50, PerSecond: 5},
		"iam:*":                           {Burst: 50, PerSecond: 10},
		"pricing:*":                       {Burst: 20, PerSecond: 5},
	}
}

// Times returns the limits multiplied by a factor, for accounts with higher quotas than the
// documented ones. It returns nil, which limits nothing, for a factor of zero.
func (l Limits) Times(factor float64) Limits {
	if factor == 0 {
		return nil
	}
	times := make(Limits, len(l))
	for key, limit := range l {
		times[key] = Limit{Burst: max(1, int(float64(limit.Burst)*factor)), PerSecond: limit.PerSecond * factor}
	}
	return times
}

// find returns the limit of an action and the key of the bucket it is counted in.
func (l Limits) find(service, action string) (Limit, string, bool) {
	name := service + ":" + action
	if limit, ok := l[name]; ok {
		return limit, name, true
	}
	if limit, ok := l[service+":"]; ok {
		return limit, service + ":", true
	}
	longest := ""
	for key := range l {
		prefix, wild := strings.CutSuffix(key, "*")
		if wild && strings.HasPrefix(name, prefix) && len(key) > len(longest) {
			longest = key
		}
	}
	return l[longest], name, longest != ""
}

// ThrottledError says that a call was not sent, because it would have exceeded the request budget
// of its action.
type ThrottledError struct {
	Service, Action string
	// RetryAfter is when a request will be left for this caller, others that are waiting considered.
	RetryAfter time.Duration
}

// Error implements error. It does not contain the time, so that a condition that shows it stays the
// same.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("delayed to stay within AWS's request rate for %s:%s", e.Service, e.Action)
}

// RetryableError prevents retries by the SDK: it would only sleep.
func (*ThrottledError) RetryableError() bool { return false }

// budget counts the requests of one account in one region, or of one identity while its account is not known.
type budget struct {
	clock  clock.PassiveClock
	limits Limits

	mu      sync.Mutex
	buckets map[string]*bucket
}

func newBudget(c clock.PassiveClock, limits Limits) *budget {
	return &budget{clock: c, limits: limits, buckets: map[string]*bucket{}}
}

// take spends one request, or reports why it cannot. The caller will return if it cannot.
func (b *budget) take(service, action string, by caller) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.bucket(service, action)
	if held == nil {
		return nil
	}
	now, spent := b.clock.Now(), by.pass.spent(held)
	name, requests := by.name, spent+1
	// A shared call of a pass that has requests reserved is one of these.
	if by.shared && !held.reserves(now, by.name) {
		name, requests = "", 1
	}
	wait := held.take(now, name, requests)
	by.pass.count(b, held, wait == 0)
	if wait == 0 {
		return nil
	}
	if name == "" && spent > 0 {
		// The pass begins anew, and sends its own requests again before it asks the shared question.
		wait = max(wait, held.promise(now, by.name, spent))
	}
	return &ThrottledError{Service: service, Action: action, RetryAfter: wait}
}

// finish finishes a pass of a caller that spent so many requests of a bucket, and was refused none.
func (b *budget) finish(held *bucket, caller string, spent int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held.finish(b.clock.Now(), caller, spent)
}

// empty empties a bucket because AWS reported that the account has no requests left. Another client
// of the account may have used them.
func (b *budget) empty(service, action string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if held := b.bucket(service, action); held != nil {
		held.refill(b.clock.Now())
		held.tokens = 0
	}
}

func (b *budget) bucket(service, action string) *bucket {
	limit, key, limited := b.limits.find(service, action)
	if !limited {
		return nil
	}
	held, ok := b.buckets[key]
	if !ok {
		held = &bucket{limit: limit, tokens: float64(limit.Burst), last: b.clock.Now()}
		b.buckets[key] = held
	}
	return held
}

// bucket is a token bucket that never blocks a caller. It remembers which callers it refused and
// gives each a different time to return, so that they do not all return for the same request.
//
// A caller that is refused begins anew when it returns. If it was refused at its third request, then
// three are reserved for it. With one it would be refused at the second request each time, for as
// long as the bucket is nearly empty.
type bucket struct {
	limit  Limit
	tokens float64
	last   time.Time
	// promised maps callers to what was promised to each. All shared calls have one promise, under
	// the key "": whichever caller returns first sends the call for all.
	promised map[string]promise
	// needed is the average number of requests that recent passes sent, by the kind and namespace of their
	// objects. At least as many are reserved for another such pass from its first refusal on. It is
	// forgotten once no caller waits.
	needed map[string]float64
}

// promise reserves requests for a caller that was refused.
type promise struct {
	// at is when the caller may return.
	at time.Time
	// requests is how many are reserved for it from then on, and spent how many it has taken since.
	requests, spent int
}

// left returns how many requests are still reserved.
func (p promise) left() int { return max(0, p.requests-p.spent) }

// kept is the duration for which a promise is kept for a caller that does not return on time. A
// process with a thousand objects returns seconds late, and a caller that loses its place waits
// again, and reads again all that it needs.
const kept = 10 * time.Second

// take spends a token and returns zero, or returns how long to wait until so many requests are left
// for the caller. A caller that returns before its time, because something else woke it, keeps its
// place and does not take another one: an unused place is a request that AWS would have accepted.
// A caller that waits for nothing yet takes only what the next one that is due can spare.
func (b *bucket) take(now time.Time, caller string, requests int) time.Duration {
	b.refill(now)
	due := b.reserves(now, caller)
	own, known := b.promised[caller]
	reserved := b.reservedBesides(now, caller)
	if b.has(1) && (due || b.has(reserved+1)) {
		b.tokens--
		if known {
			own.spent++
			b.promised[caller] = own
		}
		return 0
	}
	if own.left() > 0 && own.at.After(now) {
		return own.at.Sub(now)
	}
	return b.promise(now, caller, min(b.needs(caller, requests), max(1, b.limit.Burst)))
}

// reservedBesides returns how many requests of the bucket are for other callers: callers that are due, and
// the next one to become due, as far as the bucket does not gain its requests until then. It forgets
// callers that did not return.
func (b *bucket) reservedBesides(now time.Time, besides string) int {
	reserved, next := 0, promise{}
	for caller, promised := range b.promised {
		switch {
		case now.Sub(promised.at) > kept:
			delete(b.promised, caller)
		case caller == besides || promised.left() == 0:
		case !promised.at.After(now):
			reserved += promised.left()
		case next.at.IsZero() || promised.at.Before(next.at) || promised.at.Equal(next.at) && promised.left() > next.left():
			next = promised
		}
	}
	if next.left() == 0 {
		return reserved
	}
	return reserved + max(0, next.left()-int(b.limit.PerSecond*next.at.Sub(now).Seconds()))
}

// needs returns how many requests a caller is expected to need that was refused at so many.
func (b *bucket) needs(caller string, requests int) int {
	if len(b.promised) == 0 {
		b.needed = nil
	}
	return max(requests, int(math.Round(b.needed[alike(caller)])))
}

// finish records how many requests a pass sent that was refused none, and gives back the requests that
// are still reserved for its caller.
func (b *bucket) finish(now time.Time, caller string, spent int) {
	if own, known := b.promised[caller]; known && !own.at.After(now) {
		own.requests = own.spent
		b.promised[caller] = own
	}
	if len(b.promised) == 0 {
		return
	}
	if b.needed == nil {
		b.needed = map[string]float64{}
	}
	const weight = 0.25 // of the latest pass
	before, known := b.needed[alike(caller)]
	if !known {
		before = float64(spent)
	}
	b.needed[alike(caller)] = before + weight*(float64(spent)-before)
}

// alike returns what the callers for objects of a kind in a namespace have in common.
func alike(caller string) string { return caller[:strings.LastIndex(caller, "/")+1] }

// reserves reports whether requests are reserved for a caller at present.
func (b *bucket) reserves(now time.Time, caller string) bool {
	own := b.promised[caller]
	return own.left() > 0 && !own.at.After(now)
}

// rounding is by how much less than a whole request a sum of fractions may be.
const rounding = 1e-9

// has reports whether the bucket holds so many requests.
func (b *bucket) has(requests int) bool { return b.tokens >= float64(requests)-rounding }

// promise gives a caller the time at which as many requests as it needs are not reserved, or are
// there of its namespace's share, if that is sooner: the namespaces that wait take turns, so that one
// whose objects ask for much delays the others by no more than its turn.
func (b *bucket) promise(now time.Time, caller string, requests int) time.Duration {
	delete(b.promised, caller)
	own := namespaceOf(caller)
	all, before, namespaces := requests, requests, map[string]bool{own: true}
	for other, promised := range b.promised {
		left := promised.left()
		if left == 0 {
			continue
		}
		namespace := namespaceOf(other)
		namespaces[namespace] = true
		if all += left; namespace == own {
			before += left
		}
	}
	missing := float64(min(all, before*len(namespaces))) - b.tokens
	// Never nothing, however little is missing: that would be taken for a yes. Rounded up: one who
	// returns for a rest would spend a request, be refused the next, and wait for another rest.
	wait := max(time.Millisecond, time.Duration(math.Ceil(missing/b.limit.PerSecond*float64(time.Second))))
	if b.promised == nil {
		b.promised = map[string]promise{}
	}
	b.promised[caller] = promise{at: now.Add(wait), requests: requests}
	return wait
}

func (b *bucket) refill(now time.Time) {
	gained := now.Sub(b.last).Seconds() * b.limit.PerSecond
	if gained <= 0 {
		return
	}
	b.last = now
	b.tokens = min(float64(b.limit.Burst), b.tokens+gained)
}

// caller is on whose behalf a call is made.
type caller struct {
	// name is <kind>/<namespace>/<name> of the object that repeats the call if it is held back.
	name string
	// shared is true if the call serves other objects too. Any of them may repeat it.
	shared bool
	// pass is what makes the call.
	pass *pass
}

// finish finishes the pass of a caller.
func (by caller) finish() {
	by.pass.mu.Lock()
	counted := maps.Clone(by.pass.requests)
	by.pass.mu.Unlock()
	for held, count := range counted {
		if !count.refused {
			count.budget.finish(held, by.name, count.spent)
		}
	}
}

// pass counts the requests that an object spends from its first call to its last.
type pass struct {
	mu       sync.Mutex
	requests map[*bucket]count
}

// count holds what a pass sent of the requests of one bucket.
type count struct {
	budget  *budget
	spent   int
	refused bool
}

func (p *pass) spent(of *bucket) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[of].spent
}

// count counts a request that was sent, or refused.
func (p *pass) count(budget *budget, of *bucket, sent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests == nil {
		p.requests = map[*bucket]count{}
	}
	counted := p.requests[of]
	counted.budget = budget
	if sent {
		counted.spent++
	} else {
		counted.refused = true
	}
	p.requests[of] = counted
}

// callerKey is the context key of the caller.
type callerKey struct{}

// WithCaller begins a pass: it names the object that calls are for, as <kind>/<namespace>/<name>,
// which will send the same calls again if one is held back. The function that it returns is called
// after the last call of the pass. It gives back requests that are still reserved for the pass.
func WithCaller(ctx context.Context, name string) (context.Context, func()) {
	by := caller{name: name, pass: &pass{}}
	return context.WithValue(ctx, callerKey{}, by), by.finish
}

// WithCallers has a pass make a call for others too. If the call is held back, one request is reserved
// for whichever of them repeats it, and for the pass what it has spent until then.
func WithCallers(ctx context.Context) context.Context {
	by := callerOf(ctx)
	by.shared = true
	return context.WithValue(ctx, callerKey{}, by)
}

// CallerNamespace returns the namespace of the object that calls are for, empty for a caller
// without one and for shared calls.
func CallerNamespace(ctx context.Context) string {
	by := callerOf(ctx)
	if by.shared {
		return ""
	}
	return namespaceOf(by.name)
}

func namespaceOf(caller string) string {
	parts := strings.Split(caller, "/")
	if len(parts) != 3 {
		return ""
	}
	return parts[1]
}

func callerOf(ctx context.Context) caller {
	if known, is := ctx.Value(callerKey{}).(caller); is {
		return known
	}
	return caller{pass: &pass{}}
}

// IsHeldBack reports whether a call was not sent because it would have exceeded a request budget.
func IsHeldBack(err error) bool {
	_, held := asThrottled(err)
	return held
}

// asThrottled returns the *ThrottledError in err, if one is there.
func asThrottled(err error) (*ThrottledError, bool) {
	var throttled *ThrottledError
	ok := errors.As(err, &throttled)
	return throttled, ok
}
