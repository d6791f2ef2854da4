package eks

import (
	"reflect"
	"time"
)

// tokenUse holds the request that a client request token was used for, and the answer.
type tokenUse struct {
	request, output any
	at              time.Time
}

// tokenLife is the time for which EKS remembers a token (inference: what EC2 promises at least).
const tokenLife = 24 * time.Hour

// replay returns the answer to an earlier request with the same token, or refuses a token that was
// used for another request (SDK ClientRequestToken: "a unique, case-sensitive identifier that you
// provide to ensure the idempotency of the request").
func replay[O any](s *service, action string, token *string, request any) (*O, error) {
	use, known := s.tokens[action+"/"+val(token)]
	if val(token) == "" || !known || s.kernel.Now().Sub(use.at) > tokenLife {
		return nil, nil
	}
	if !reflect.DeepEqual(use.request, request) {
		return nil, invalid("The client request token %s was used before for a request with other parameters.", *token)
	}
	return use.output.(*O), nil
}

// remember keeps the answer, also after the group is gone: EC2 answers a token of a launch template
// that was deleted with that template, and AWS documents nothing else for EKS (inference).
func (s *service) remember(action string, token *string, request, output any) {
	for known, use := range s.tokens {
		if s.kernel.Now().Sub(use.at) > tokenLife {
			delete(s.tokens, known)
		}
	}
	if val(token) != "" {
		s.tokens[action+"/"+*token] = tokenUse{request: request, output: output, at: s.kernel.Now()}
	}
}
