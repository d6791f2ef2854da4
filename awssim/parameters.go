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
func (s *Simulator) SetPublicParameter(account, region, name, value string) error {
	var err error
	now := s.clock.Now()
	if inRegion := s.kernel.InRegion(account, region, func(r *sim.Region) { err = ssm.Publish(r, name, value, now) }); inRegion != nil {
		err = inRegion
	}
	if err != nil {
		return fmt.Errorf("setting a public parameter: %w", err)
	}
	return nil
}

func (s *Simulator) postParameters(r *http.Request) (any, error) {
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
	account, region := s.place(in.Account, in.Region)
	return nil, s.SetPublicParameter(account, region, in.Name, in.Value)
}
