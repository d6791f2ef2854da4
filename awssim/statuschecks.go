package awssim

import (
	"fmt"
	"net/http"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// The status checks that FailStatusCheck takes.
const (
	// SystemStatusCheck fails when the host of the instance fails. The instance status check fails with it.
	SystemStatusCheck = ec2.SystemStatusCheck
	// InstanceStatusCheck fails when the instance does not answer on the network.
	InstanceStatusCheck = ec2.InstanceStatusCheck
)

// FailStatusCheck has a status check of a running instance fail until the instance is stopped, or
// rebooted if its host is sound. An empty check has all of them pass. It returns an error if the
// world has no such region, or there is no such check, or no such instance whose checks have passed
// once.
func (r Region) FailStatusCheck(instance, check string) error {
	if err := r.do(func(held *sim.Region) error { return ec2.FailStatusCheck(held, instance, check) }); err != nil {
		return fmt.Errorf("failing a status check of instance %q: %w", instance, err)
	}
	return nil
}

func (c control) postStatusChecks(r *http.Request) (any, error) {
	type request struct {
		Account  string `json:"account"`
		Region   string `json:"region"`
		Instance string `json:"instance"`
		Failing  string `json:"failing"`
	}
	order, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	region := c.region(order.Account, order.Region)
	return nil, region.FailStatusCheck(order.Instance, order.Failing)
}
