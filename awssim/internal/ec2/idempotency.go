package ec2

import (
	"reflect"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// tokenKey is the scope of a client token: one action in one account and Region (EC2 Developer
// Guide, "Ensuring idempotency in Amazon EC2 API requests").
type tokenKey struct{ action, token string }

// tokenUse remembers the request that a token was first used with and its answer. Tokens are
// remembered for as long as the simulation lasts; AWS promises a time only for instances
// (inference: a caller that retries cannot notice the difference). With Behavior.ForgetTokens, the
// token of a launch template is forgotten when what it created is deleted.
type tokenUse struct {
	request any
	answer  any
}

// clientTokens remembers the client tokens of one account and Region.
type clientTokens map[tokenKey]tokenUse

// Lengths of client tokens (API reference: 128 for launch templates, 64 for RunInstances).
const (
	maxTemplateToken = 128
	maxInstanceToken = 64
)

// replay returns the answer that the same token with the same request had before. The request must
// be given without DryRun. A token that came with another request is refused with
// IdempotentParameterMismatch.
func replay[O any](tokens clientTokens, action string, token *string, limit int, request any) (*O, error) {
	if val(token) == "" {
		return nil, nil
	}
	if err := checkToken(*token, limit); err != nil {
		return nil, err
	}
	use, used := tokens[tokenKey{action, *token}]
	if !used {
		return nil, nil
	}
	if !reflect.DeepEqual(use.request, request) {
		return nil, sim.Errorf("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
	}
	answer := shape.Clone(use.answer.(O))
	return &answer, nil
}

// remember keeps the answer for later requests with the same token.
func remember[O any](tokens clientTokens, action string, token *string, request any, answer *O) {
	if val(token) != "" {
		tokens[tokenKey{action, *token}] = tokenUse{request: request, answer: shape.Clone(*answer)}
	}
}

func checkToken(token string, limit int) error {
	if len(token) > limit {
		return sim.Errorf("InvalidClientToken", "The client token must be at most %d characters long.", limit)
	}
	for _, c := range token {
		if c < 0x20 || c > 0x7e {
			return sim.Errorf("InvalidClientToken", "The client token may only have ASCII characters.")
		}
	}
	return nil
}
