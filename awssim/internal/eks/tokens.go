package eks

import (
	"reflect"
	"time"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// tokenUse holds the request that a client request token was used for, and the answer.
type tokenUse struct {
	request, output any
	at              time.Time
}

// tokens remembers the answers to requests with a client request token.
type tokens struct {
	kernel *sim.Kernel
	used   map[string]tokenUse // by action and token
}

func newTokens(k *sim.Kernel) *tokens { return &tokens{kernel: k, used: map[string]tokenUse{}} }

// tokenLife is the time for which EKS remembers a token (inference: what EC2 promises at least).
const tokenLife = 24 * time.Hour

// replay returns the answer to an earlier request with the same token. It refuses a token of a
// different request (SDK ClientRequestToken: "a unique, case-sensitive identifier that you provide
// to ensure the idempotency of the request").
func replay[O any](ts *tokens, action string, token *string, request any) (*O, error) {
	use, known := ts.used[action+"/"+val(token)]
	if val(token) == "" || !known || ts.kernel.Now().Sub(use.at) > tokenLife {
		return nil, nil
	}
	if !reflect.DeepEqual(use.request, request) {
		return nil, invalid("The client request token %s was used before for a request with other parameters.", *token)
	}
	return use.output.(*O), nil
}

// remember records the answer to a request and keeps it after the group is deleted. EC2 also answers
// with a launch template that was deleted since, and AWS documents nothing else for EKS (inference).
func (ts *tokens) remember(action string, token *string, request, output any) {
	for known, use := range ts.used {
		if ts.kernel.Now().Sub(use.at) > tokenLife {
			delete(ts.used, known)
		}
	}
	if val(token) != "" {
		ts.used[action+"/"+*token] = tokenUse{request: request, output: output, at: ts.kernel.Now()}
	}
}
