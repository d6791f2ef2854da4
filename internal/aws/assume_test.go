package aws

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

const (
	managerAccount = "111111111111"
	hubAccount     = "222222222222"
	tenantAccount  = "333333333333"
	hubRole        = "arn:aws:iam::" + hubAccount + ":role/hub"
	tenantRole     = "arn:aws:iam::" + tenantAccount + ":role/tenant"
)

// tenancy is a world in which the manager's account may assume the role hub, and hub of its
// account, with an external id, the role tenant.
type tenancy struct {
	*testing.T
	sim      *awssim.Simulator
	clock    *simclock.Clock
	sessions *Sessions
}

func newTenancy(t *testing.T, opts ...Option) *tenancy {
	t.Helper()
	w := *world.Default()
	w.Roles = append(append([]world.Role{}, w.Roles...),
		world.Role{Name: "hub", TrustedPrincipals: []string{managerAccount}},
		world.Role{Name: "tenant", TrustedPrincipals: []string{hubRole}, ExternalID: "agreed"})
	sim, clock, url := awssimtest.Start(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), awssim.Options{World: &w})
	base := awssimtest.Config(url, "us-east-1", managerAccount)
	return &tenancy{T: t, sim: sim, clock: clock, sessions: NewSessions(base, append([]Option{WithClock(clock)}, opts...)...)}
}

func (w *tenancy) clients(principal Principal) *Clients {
	w.Helper()
	clients, err := w.sessions.For(w.Context(), principal, "us-east-1")
	if err != nil {
		w.Fatal(err)
	}
	return clients
}

func (w *tenancy) describe(clients *Clients) error {
	_, err := clients.EC2.DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{})
	return err
}

// calls returns how often an action was called.
func (w *tenancy) calls(action string) int {
	count := 0
	for _, call := range w.sim.Calls() {
		if call.Action == action {
			count++
		}
	}
	return count
}

func chain(roles ...Role) Principal {
	return Principal{Identity: Identity{Kind: IdentityRole, Name: "tenant"}, Roles: roles}
}

var agreed = Role{ARN: tenantRole, ExternalID: "agreed", SessionName: "slipway-tenant"}

func TestRoleChain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		principal Principal
		as, code  string
	}{
		{"one role", chain(Role{ARN: hubRole}), "arn:aws:sts::" + hubAccount + ":assumed-role/hub/slipway", ""},
		{"a role by a role, with the external id", chain(Role{ARN: hubRole}, agreed), "arn:aws:sts::" + tenantAccount + ":assumed-role/tenant/slipway-tenant", ""},
		{"keys that begin the chain", Principal{Keys: &Keys{AccessKeyID: "AKID" + managerAccount, SecretAccessKey: "s"}, Roles: []Role{{ARN: hubRole}}}, "arn:aws:sts::" + hubAccount + ":assumed-role/hub/slipway", ""},
		{"keys alone", Principal{Identity: Identity{Kind: IdentityStatic, Name: "k"}, Keys: &Keys{AccessKeyID: "AKID" + tenantAccount, SecretAccessKey: "s"}}, "arn:aws:iam::" + tenantAccount + ":user/AKID" + tenantAccount, ""},
		{"without the link between", chain(agreed), "", "AccessDenied"},
		{"another external id", chain(Role{ARN: hubRole}, Role{ARN: tenantRole, ExternalID: "guessed"}), "", "AccessDenied"},
		{"keys of an account that is not trusted", Principal{Keys: &Keys{AccessKeyID: "AKID" + tenantAccount, SecretAccessKey: "s"}, Roles: []Role{{ARN: hubRole}}}, "", "AccessDenied"},
		{"an hour is the most for a role by a role", chain(Role{ARN: hubRole}, Role{ARN: tenantRole, ExternalID: "agreed", Duration: 2 * time.Hour}), "", "ValidationError"},
		{"a policy that is none", chain(Role{ARN: hubRole, InlinePolicy: "everything"}), "", "MalformedPolicyDocument"},
		{"a policy", chain(Role{ARN: hubRole, InlinePolicy: `{"Version":"2012-10-17","Statement":[]}`, PolicyARNs: []string{"arn:aws:iam::aws:policy/ReadOnlyAccess"}}), "arn:aws:sts::" + hubAccount + ":assumed-role/hub/slipway", ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newTenancy(t)
			clients := w.clients(row.principal)
			err := clients.Authenticate(t.Context())
			if Code(err) != row.code {
				t.Fatalf("got %v, want %q", err, row.code)
			}
			if err != nil {
				var refused *CredentialsError
				if !errors.As(err, &refused) || FateOf(err).Kind != WaitForUser || IsUncertain(err) {
					t.Errorf("only a user can resolve %v: %v", err, FateOf(err))
				}
				if text := UserMessage(err); !strings.Contains(text, row.code) || strings.Contains(text, RequestID(err)) {
					t.Errorf("the message to users is %q", text)
				}
				// A caller that ignores it gets the same error, and AWS is called as no other
				// identity.
				if err := w.describe(clients); Code(err) != row.code || w.calls("DescribeLaunchTemplates") != 0 {
					t.Errorf("a call gave %v, and %d were made", err, w.calls("DescribeLaunchTemplates"))
				}
				return
			}
			if err := w.describe(clients); err != nil {
				t.Fatal(err)
			}
			calls := w.sim.Calls()
			if last := calls[len(calls)-1]; last.Principal != row.as {
				t.Errorf("called as %s, want %s", last.Principal, row.as)
			}
			if account, err := clients.AccountID(t.Context()); err != nil || account != strings.Split(row.as, ":")[4] {
				t.Errorf("account %s, %v", account, err)
			}
		})
	}
}

func TestSessionsAreRenewedBeforeTheyEnd(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	clients := w.clients(chain(Role{ARN: hubRole}, agreed))
	for _, step := range []struct {
		reason  string
		after   time.Duration
		assumed int
	}{
		{"at first", 0, 2},
		{"it is good for an hour", 54 * time.Minute, 2},
		{"but not used to its end", 90 * time.Second, 4},
		{"and again", 54 * time.Minute, 4},
		{"after a long rest", 24 * time.Hour, 6},
	} {
		w.clock.Step(step.after)
		if err := w.describe(clients); err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if got := w.calls("AssumeRole"); got != step.assumed {
			t.Errorf("%s: %d roles assumed, want %d", step.reason, got, step.assumed)
		}
	}
}

// behind is the clock of a machine that slept.
type behind struct {
	clock.PassiveClock
	by time.Duration
}

func (b *behind) Now() time.Time                  { return b.PassiveClock.Now().Add(-b.by) }
func (b *behind) Since(t time.Time) time.Duration { return b.Now().Sub(t) }

// TestSessionThatIsOverIsRenewed holds that a session that AWS says is over is renewed by the next call,
// though it is good by the machine's clock.
func TestSessionThatIsOverIsRenewed(t *testing.T) {
	t.Parallel()
	machine := &behind{}
	w := newTenancy(t)
	machine.PassiveClock = w.clock
	w.sessions = NewSessions(w.sessions.base, WithClock(machine))
	clients := w.clients(Principal{Roles: []Role{{ARN: hubRole}, {ARN: tenantRole, ExternalID: "agreed"}}})
	if err := w.describe(clients); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(2 * time.Hour)
	machine.by = 2 * time.Hour
	if err := w.describe(clients); !isSessionOver(err) {
		t.Fatalf("after two hours that the machine slept: %v", err)
	}
	if err := w.describe(clients); err != nil {
		t.Errorf("the session was not renewed: %v", err)
	}
}

// TestRefusalsAreRemembered holds that a role that is taken away is lost when its session expires,
// a failing STS before that is not noticed, and a thousand callers that ask in vain cause one call.
func TestRefusalsAreRemembered(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	clients := w.clients(chain(Role{ARN: hubRole}))
	if err := w.describe(clients); err != nil {
		t.Fatal(err)
	}
	fault, err := w.sim.AddFault(awssim.Fault{Service: "sts", Action: "AssumeRole", Code: "AccessDenied", Status: 403})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Step(56 * time.Minute)
	if err := w.describe(clients); err != nil {
		t.Errorf("the session is still good: %v", err)
	}
	w.clock.Step(5 * time.Minute)
	before := w.calls("AssumeRole")
	for range 1000 {
		if err := clients.Authenticate(t.Context()); Code(err) != "AccessDenied" {
			t.Fatalf("the session has ended: %v", err)
		}
	}
	if asked := w.calls("AssumeRole") - before; asked != 1 {
		t.Errorf("AWS was asked %d times", asked)
	}
	w.sim.RemoveFault(fault)
	w.clock.Step(refusedFor)
	if err := w.describe(clients); err != nil {
		t.Errorf("the role is back: %v", err)
	}
}

// TestOtherCredentialsOtherClients holds that another key, and another role, give other clients,
// and that the same credentials give the same clients.
func TestOtherCredentialsOtherClients(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	before := w.clients(chain(Role{ARN: hubRole}))
	if w.clients(chain(Role{ARN: hubRole})) != before {
		t.Error("the same role has other clients")
	}
	after := w.clients(chain(Role{ARN: hubRole, ExternalID: "new"}))
	if after == before {
		t.Error("another external id has the same clients")
	}
	if w.clients(chain(Role{ARN: hubRole})) == before {
		t.Error("clients that were replaced come back")
	}
}

// TestIdentitiesOfOneAccountShareItsBudget holds that identities of one account share a budget, as
// soon as their account is known: AWS counts by account and region.
func TestIdentitiesOfOneAccountShareItsBudget(t *testing.T) {
	t.Parallel()
	w := newTenancy(t, WithLimits(Limits{"ec2:*": {Burst: 2, PerSecond: 1}}))
	one := w.clients(chain(Role{ARN: hubRole}))
	two := w.clients(Principal{Identity: Identity{Kind: IdentityStatic, Name: "keys"}, Keys: &Keys{AccessKeyID: "AKID" + hubAccount, SecretAccessKey: "s"}})
	other := w.clients(Principal{Identity: Identity{Kind: IdentityStatic, Name: "other"}, Keys: &Keys{AccessKeyID: "AKID" + tenantAccount, SecretAccessKey: "s"}})
	for _, clients := range []*Clients{one, two, other} {
		if err := clients.Authenticate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.describe(one), w.describe(two)); err != nil {
		t.Fatal(err)
	}
	for name, clients := range map[string]*Clients{"one": one, "two": two} {
		if err := w.describe(clients); !IsThrottled(err) {
			t.Errorf("%s spends more than the account has: %v", name, err)
		}
	}
	if err := w.describe(other); err != nil {
		t.Errorf("another account's budget is spent too: %v", err)
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		principal Principal
		want      string
	}{
		{"the controller's own", Principal{}, ""},
		{"keys", Principal{Keys: &Keys{AccessKeyID: "AKIA"}}, ""},
		{"the last role's", chain(Role{ARN: hubRole}, agreed), tenantAccount},
		{"another partition", chain(Role{ARN: "arn:aws-cn:iam::444444444444:role/path/to/role"}), "444444444444"},
		{"no ARN", chain(Role{ARN: "tenant"}), ""},
	} {
		if got := row.principal.Account(); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
