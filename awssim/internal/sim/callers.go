package sim

import (
	"sync"
	"time"

	"github.com/slipway-project/slipway/awssim/iampolicy"
)

// Session holds what temporary credentials stand for.
type Session struct {
	Account         string
	Principal       string // ARN of the assumed role
	SecretAccessKey string
	SessionToken    string
	Expires         time.Time
}

// Callers holds what access keys stand for, and what was asked about them. Its methods may be called
// from anywhere.
type Callers struct {
	mu             sync.Mutex
	sessions       map[string]Session
	policies       map[string][]iampolicy.Policy
	authorizations []Authorization
}

// clear forgets everything.
func (c *Callers) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions, c.policies, c.authorizations = map[string]Session{}, map[string][]iampolicy.Policy{}, nil
}

// AddSession has an access key ID stand for a session.
func (c *Callers) AddSession(accessKeyID string, s Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[accessKeyID] = s
}

// AccountOf returns the account that an access key ID belongs to.
func (c *Callers) AccountOf(accessKeyID string) string {
	if s, ok := c.session(accessKeyID); ok {
		return s.Account
	}
	return AccountOfKey(accessKeyID)
}

func (c *Callers) session(accessKeyID string) (Session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sessions[accessKeyID]
	return s, ok
}

// SetPolicies holds callers with an access key to policies; with none they are the account's
// administrator again.
func (c *Callers) SetPolicies(accessKeyID string, policies []iampolicy.Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policies[accessKeyID] = policies
}

func (c *Callers) policiesOf(accessKeyID string) []iampolicy.Policy {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.policies[accessKeyID]
}

// Authorizations returns all questions that were asked for callers with policies, in order.
func (c *Callers) Authorizations() []Authorization {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Authorization{}, c.authorizations...)
}

// asked writes down a question that was asked.
func (c *Callers) asked(one Authorization) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authorizations = append(c.authorizations, one)
}
