package awssim

import (
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/ssm"
)

// SetPublicParameter gives one of the parameters that AWS publishes another value, as it does when
// there is a newer image. It fails if the world has no such region, or AWS publishes nothing by
// that name.
func (r Region) SetPublicParameter(name, value string) error {
	if err := r.do(func(held *sim.Region) error { return ssm.Publish(held, name, value, r.kernel.Now()) }); err != nil {
		return fmt.Errorf("setting a public parameter: %w", err)
	}
	return nil
}

func (c control) postParameters(r *http.Request) (any, error) {
	type request struct {
		Account string `json:"account"`
		Region  string `json:"region"`
		Name    string `json:"name"`
		Value   string `json:"value"`
	}
	in, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(in.Account, in.Region)
	return nil, region.SetPublicParameter(in.Name, in.Value)
}
