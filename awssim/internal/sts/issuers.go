package sts

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/oidc"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// issuers are the OpenID Connect issuers of the simulated internet.
type issuers struct{ keys map[string]issuer }

// issuer holds what an issuer publishes.
type issuer struct {
	keys        oidc.Keys
	unreachable bool
}

func issuersOf(k *sim.Kernel) *issuers {
	return sim.GlobalStore(k, func() *issuers { return &issuers{keys: map[string]issuer{}} })
}

// SetIssuer sets the JSON Web Key Set that an issuer, such as https://example.com, publishes. One that is
// unreachable publishes nothing.
func SetIssuer(k *sim.Kernel, url string, keySet []byte, unreachable bool) error {
	if !strings.HasPrefix(url, "https://") {
		return fmt.Errorf("issuer %q does not begin with https://", url)
	}
	published := issuer{unreachable: unreachable}
	switch {
	case !unreachable:
		var err error
		if published.keys, err = oidc.ParseKeys(keySet); err != nil {
			return err
		}
	case len(keySet) > 0:
		return errors.New("an issuer that is unreachable has no keys")
	}
	k.Locked(func() { issuersOf(k).keys[url] = published })
	return nil
}
