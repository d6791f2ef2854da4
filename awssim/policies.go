package awssim

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Authorization is one question that was decided for a caller with policies: may it do an action on
// a resource.
type Authorization = sim.Authorization

// SetPolicies holds all callers with an access key to policy documents. With none, the key is the
// account's administrator again, as every key is at first. It fails for a document that IAM
// refuses, or that cannot be evaluated: see package iampolicy. A session is held to what is
// attached to its role instead.
func (s *Simulator) SetPolicies(accessKeyID string, documents ...string) error {
	policies := make([]iampolicy.Policy, len(documents))
	for i, document := range documents {
		var err error
		if policies[i], err = iampolicy.Parse(document); err != nil {
			return fmt.Errorf("setting the policies of access key %s: %w", accessKeyID, err)
		}
	}
	s.kernel.Callers.SetPolicies(accessKeyID, policies)
	return nil
}

// Authorizations returns all questions that were decided, in order. Calls of administrators are not
// among them.
func (s *Simulator) Authorizations() []Authorization { return s.kernel.Callers.Authorizations() }

func (c control) postPolicies(r *http.Request) (any, error) {
	type request struct {
		AccessKeyID string            `json:"accessKeyID"`
		Policies    []json.RawMessage `json:"policies"`
	}
	in, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	documents := make([]string, len(in.Policies))
	for i, policy := range in.Policies {
		documents[i] = string(policy)
	}
	return nil, c.sim.SetPolicies(in.AccessKeyID, documents...)
}
