package awssim

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/sts"
)

// Issuer is an OpenID Connect issuer, such as a Kubernetes API server, as AWS sees it from outside.
type Issuer struct {
	// URL is the issuer in its tokens, such as https://oidc.eks.us-east-1.amazonaws.com/id/EXAMPLE.
	URL string `json:"url"`
	// KeySet is the JSON Web Key Set that it publishes (RFC 7517): a Kubernetes API server has it at
	// /openid/v1/jwks.
	KeySet json.RawMessage `json:"keySet"`
	// Unreachable fails calls that need its keys.
	Unreachable bool `json:"unreachable"`
}

// SetIssuer sets the keys that an issuer publishes, for all accounts. AWS fetches them from the
// issuer. The simulated AWS opens no connections, so a test sets them. It fails for a URL that does
// not begin with https://, and for a key set that cannot be read.
func (s *Simulator) SetIssuer(issuer Issuer) error {
	if err := sts.SetIssuer(s.kernel, issuer.URL, issuer.KeySet, issuer.Unreachable); err != nil {
		return fmt.Errorf("setting an OpenID Connect issuer: %w", err)
	}
	return nil
}

func (c control) postIssuers(r *http.Request) (any, error) {
	issuer, err := readJSON[Issuer](r)
	if err != nil {
		return nil, err
	}
	return nil, c.sim.SetIssuer(issuer)
}
