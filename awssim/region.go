package awssim

import (
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Region shows and sets what an account has in a region, without a call to AWS. Nothing of it is
// delayed, throttled, hit by a fault, or logged.
type Region struct {
	kernel        *sim.Kernel
	account, name string
}

// Region returns what an account has in a region. The world need not have the region: there is
// nothing in it then, and setting something fails.
func (s *Simulator) Region(account, region string) Region {
	return Region{kernel: s.kernel, account: account, name: region}
}

// State returns everything that the account holds in the region, keyed by service, kind and id. Every
// value can be marshaled to JSON, and equal worlds give equal JSON. It fails if the world has no such
// region.
func (r Region) State() (map[string]any, error) { return r.kernel.State(r.account, r.name) }

// do runs f under the kernel's lock, and returns its error. It fails if the world has no such region.
func (r Region) do(f func(*sim.Region) error) error {
	var failure error
	if err := r.kernel.InRegion(r.account, r.name, func(held *sim.Region) { failure = f(held) }); err != nil {
		return err
	}
	return failure
}

// look runs f under the kernel's lock, unless the world has no such region: there is nothing to be
// seen in it then.
func (r Region) look(f func(*sim.Region)) {
	_ = r.do(func(held *sim.Region) error { f(held); return nil })
}
