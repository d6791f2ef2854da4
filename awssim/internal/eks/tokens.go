package eks

import (
	"reflect"
	"time"
)

// tokenUse is what a client request token was used for.
type tokenUse struct {
	request, output any
	at              time.Time
	group           string // key of the group that it was about
}

// tokenLife is how long EKS remembers a token (inference: what EC2 promises at least).
const tokenLife = 24 * time.Hour

// replay returns the answer to an earlier request with the same token, or refuses a token that was used for another request (SDK
// ClientRequestToken: "a unique, case-sensitive identifier that you provide to ensure the idempotency of the request").
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

// remember keeps the answer for as long as the group is there: a group of the same name that is made later is another one (inference).
func (s *service) remember(g *group, action string, token *string, request, output any) {
	if val(token) != "" {
		s.tokens[action+"/"+*token] = tokenUse{request: request, output: output, at: s.kernel.Now(), group: g.key()}
	}
}
