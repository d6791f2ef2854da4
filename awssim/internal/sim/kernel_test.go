package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type echoInput struct {
	InstanceIds []string //nolint:revive // the SDK spells it so
}

type echoOutput struct{ At time.Time }

// shelf is the state of the tests' service.
type shelf struct{ books *Table[string] }

func shelfOf(r *Region) *shelf {
	return Store(r, func(r *Region) *shelf {
		s := &shelf{NewTable[string](r.Kernel())}
		s.books.Put("first", "from the world")
		return s
	})
}

func newKernel(t testing.TB, settings Settings) (*Kernel, *simclock.Clock) {
	t.Helper()
	reg := NewRegistry()
	echo := func(c *Call, _ *echoInput) (*echoOutput, error) { return &echoOutput{c.Now}, nil }
	for _, action := range []string{"DescribeThings", "RunInstances", "TerminateInstances", "CreateLaunchTemplateVersion", "CreateThing", "DescribeInstances"} {
		Handle(reg, "ec2", action, echo)
	}
	Handle(reg, "autoscaling", "DescribeGroups", echo)
	Handle(reg, "autoscaling", "CreateGroup", echo)
	Handle(reg, "ssm", "GetParameter", echo)
	Handle(reg, "ssm", "GetParameters", echo)
	Handle(reg, "eks", "DescribeNodegroup", echo)
	Handle(reg, "eks", "CreateNodegroup", echo)
	Handle(reg, "ec2", "Break", func(*Call, *echoInput) (*echoOutput, error) { return nil, errors.New("a defect") })
	reg.State("ec2", func(r *Region) any { return map[string]any{"books": shelfOf(r).books.All()} })
	clock := simclock.New(start, 0)
	t.Cleanup(clock.Close)
	k, err := New(clock, &world.World{Regions: []world.Region{{Name: "here"}, {Name: "there"}}}, reg, settings)
	if err != nil {
		t.Fatal(err)
	}
	return k, clock
}

func request(service, action string, ids ...string) Request {
	return Request{Service: service, Action: action, Account: "1", Region: "here", Input: &echoInput{ids}}
}

func TestDo(t *testing.T) {
	t.Parallel()
	k, clock := newKernel(t, Settings{})
	clock.Step(time.Minute)
	out, err := k.Do(request("ec2", "DescribeThings"))
	if err != nil {
		t.Fatal(err)
	}
	if at := out.(*echoOutput).At; !at.Equal(start.Add(time.Minute)) {
		t.Errorf("the call was served at %v", at)
	}
	rows := []struct {
		reason  string
		request Request
		want    Error
	}{
		{"no service handles the action", request("ec2", "Dance"), Error{"InvalidAction", "The action Dance is not valid for this web service.", 0}},
		{
			"the world lacks the region", Request{Service: "ec2", Action: "DescribeThings", Account: "1", Region: "nowhere", Input: &echoInput{}},
			Error{"InvalidClientTokenId", `The simulated world has no region "nowhere"; it has here, there.`, 403},
		},
		{"an error that is no AWS error is a defect", request("ec2", "Break"), Error{"InternalError", "a defect", 500}},
	}
	for _, row := range rows {
		_, err := k.Do(row.request)
		var got *Error
		if !errors.As(err, &got) || *got != row.want {
			t.Errorf("%s: got %v, want %v", row.reason, err, row.want)
		}
	}
}

func TestEventsRunInOrderAtTheirTimes(t *testing.T) {
	t.Parallel()
	k, clock := newKernel(t, Settings{})
	var ran []string
	note := func(name string) func() {
		return func() { ran = append(ran, fmt.Sprintf("%s@%v", name, k.Now().Sub(start))) }
	}
	k.Locked(func() {
		k.After(2*time.Second, note("b"))
		k.After(time.Second, func() {
			note("a")()
			k.After(time.Second, note("d"))
			k.After(0, note("a2"))
		})
		k.After(2*time.Second, note("c"))
		k.After(0, note("now"))
	})
	clock.Step(time.Hour)
	want := []string{"now@0s", "a@1s", "a2@1s", "b@2s", "c@2s", "d@2s"}
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, waiting := clock.Next(); waiting {
		t.Error("the kernel still waits though nothing is to come")
	}
}

// TestCallsSeeWhatIsDue holds that a call sees everything that is due, even if the clock's own
// wake-up comes later.
func TestCallsSeeWhatIsDue(t *testing.T) {
	t.Parallel()
	k, clock := newKernel(t, Settings{})
	happened := false
	seen := false
	k.Locked(func() { k.After(time.Second, func() { happened = true }) })
	// This waiter is older than the kernel's own of the same time.
	clock.AfterFunc(time.Second, func() { k.Locked(func() { seen = happened }) })
	k.Locked(func() {}) // arms again, behind the waiter
	clock.Step(time.Second)
	if !seen {
		t.Error("a call at the event's time did not see the event")
	}
}

func TestResetReturnsToTheStart(t *testing.T) {
	t.Parallel()
	k, clock := newKernel(t, Settings{
		Seed: 7, Behavior: Behavior{Throttling: true}, Faults: []Fault{{ID: "f", Code: "Oops"}},
	})
	firstID := func() (id string) {
		k.Locked(func() { id = k.NewID("i-", 17) })
		return id
	}
	id := firstID()
	k.Locked(func() {
		r, err := k.Account("1").Region("here")
		if err != nil {
			t.Fatal(err)
		}
		shelfOf(r).books.Put("second", "new")
		k.After(time.Second, func() { t.Error("an event survived the reset") })
		k.Callers.AddSession("ASIAX", Session{Account: "2", Expires: start.Add(time.Hour)})
	})
	k.SetBehavior(Behavior{ReadLag: time.Hour})
	k.Faults.Remove("")
	k.Log.Record(CallRecord{})

	k.Reset()
	clock.Step(time.Minute)
	if got := k.Accounts(); len(got) != 0 {
		t.Errorf("accounts %v are left", got)
	}
	if got := k.Log.Calls(); len(got) != 0 {
		t.Errorf("calls %v are left", got)
	}
	if got := k.Faults.All(); len(got) != 1 || got[0].ID != "f" {
		t.Errorf("the faults are %v, want those of the start", got)
	}
	if got := k.Behavior(); !got.Throttling || got.ReadLag != 0 {
		t.Errorf("the behavior is %+v, want that of the start", got)
	}
	if _, _, err := k.Caller("ASIAX"); err == nil {
		t.Error("temporary credentials survived the reset")
	}
	if got := firstID(); got != id {
		t.Errorf("the first id is %s, was %s", got, id)
	}
	state, err := k.State("1", "here")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"ec2": map[string]any{"books": []string{"from the world"}}}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("state (-want +got)\n%s", diff)
	}
}

func TestSubscribersSeeEventsInOrderAndMayCall(t *testing.T) {
	t.Parallel()
	k, clock := newKernel(t, Settings{})
	var seen []string
	cancel := k.OnChange(func(e Event) {
		seen = append(seen, e.ID)
		if e.ID == "1" {
			k.Locked(func() { k.Emit(Event{ID: "by the subscriber"}) })
		}
	})
	k.Locked(func() {
		k.Emit(Event{ID: "1"})
		k.Emit(Event{ID: "2"})
		k.After(time.Second, func() { k.Emit(Event{ID: "3"}) })
	})
	clock.Step(time.Second)
	cancel()
	k.Locked(func() { k.Emit(Event{ID: "too late"}) })
	if diff := cmp.Diff([]string{"1", "2", "by the subscriber", "3"}, seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	k, clock := newKernel(t, Settings{})
	k.Locked(func() {
		k.Callers.AddSession("ASIASESSION123456789012", Session{Account: "555555555555", Principal: "arn:role", Expires: start.Add(time.Hour)})
	})
	rows := []struct{ reason, key, account, principal, code string }{
		{"a key that ends in twelve digits", "AKIA111122223333", "111122223333", "arn:aws:iam::111122223333:user/AKIA111122223333", ""},
		{"any other key", "test", DefaultAccount, "arn:aws:iam::123456789012:user/test", ""},
		{"eleven digits are not enough", "AKIAX11112222333", DefaultAccount, "arn:aws:iam::123456789012:user/AKIAX11112222333", ""},
		{"a session is not read off its key", "ASIASESSION123456789012", "555555555555", "arn:role", ""},
		{"temporary credentials that STS did not issue", "ASIA111122223333", "", "", "InvalidClientTokenId"},
	}
	for _, row := range rows {
		account, principal, err := k.Caller(row.key)
		if code := codeOf(err); account != row.account || principal != row.principal || code != row.code {
			t.Errorf("%s: got %s, %s, %v", row.reason, account, principal, err)
		}
	}
	clock.Step(time.Hour)
	if _, _, err := k.Caller("ASIASESSION123456789012"); codeOf(err) != "ExpiredToken" {
		t.Errorf("after its hour a session answers %v, want ExpiredToken", err)
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}

func TestIDsAreUniqueAndDependOnTheSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) []string {
		k, _ := newKernel(t, Settings{Seed: seed})
		ids := make([]string, 300)
		for i := range ids {
			ids[i] = k.NewID("x-", 3) // collisions are certain to be met
		}
		return ids
	}
	a, b, other := draw(1), draw(1), draw(2)
	if !slices.Equal(a, b) {
		t.Error("the same seed gives different ids")
	}
	if slices.Equal(a, other) {
		t.Error("different seeds give the same ids")
	}
	for _, id := range a {
		if digits, ok := strings.CutPrefix(id, "x-"); !ok || len(digits) != 3 || strings.Trim(digits, "0123456789abcdef") != "" {
			t.Fatalf("%q is not x- and three hexadecimal digits", id)
		}
	}
	slices.Sort(a)
	if len(slices.Compact(a)) != 300 {
		t.Error("an id was given twice")
	}
}

// TestIDsDoNotDependOnOtherAccounts holds that the actions of one account, and their times, change
// no identifier of another's.
func TestIDsDoNotDependOnOtherAccounts(t *testing.T) {
	t.Parallel()
	draw := func(disturb bool) []string {
		k, clock := newKernel(t, Settings{})
		var ids []string
		note := func() { ids = append(ids, k.NewID("i-", 17)) }
		k.Locked(func() { k.on("1", func() { k.After(time.Second, note) }) })
		if disturb {
			k.Locked(func() { k.on("2", func() { k.NewID("i-", 17); k.After(0, func() { k.NewID("i-", 17) }) }) })
		}
		clock.Step(time.Second)
		k.Locked(func() { k.on("1", note) })
		return ids
	}
	if alone, together := draw(false), draw(true); !slices.Equal(alone, together) || len(alone) != 2 || alone[0] == alone[1] {
		t.Errorf("alone %v, beside another account %v", alone, together)
	}
}
