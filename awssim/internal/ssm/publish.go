package ssm

import (
	"fmt"
	"slices"
	"time"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Publish gives a public parameter another value, as AWS does when there is a newer image (AWS:
// Systems Manager, "Working with public parameters"). It fails for a name that AWS publishes
// nothing by. Only for code under the kernel's lock.
func Publish(r *sim.Region, name, value string, now time.Time) error {
	s := of(r)
	p, exists := s.parameters.Get(key(name))
	if !exists || !p.Public {
		return fmt.Errorf("there is no public parameter %s", name)
	}
	v := p.newest()
	v.Value, v.Modified = value, now
	p.Versions = append(slices.Clone(p.Versions), v)
	s.parameters.Put(key(name), p)
	return nil
}
