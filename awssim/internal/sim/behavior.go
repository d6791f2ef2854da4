package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Behavior says how the simulated AWS departs from the ideal one, in which everything happens at
// once and never fails. The zero value is the ideal one.
type Behavior struct {
	InstanceTimes InstanceTimes
	// ReadLag is how far reads (Describe…) lag behind writes.
	ReadLag time.Duration
	// Throttling turns on the token buckets that AWS documents.
	Throttling bool
	// Capacity lists where EC2 runs out of instances.
	Capacity []CapacityRule
}

// InstanceTimes is how long an instance stays in its states.
type InstanceTimes struct {
	// Pending is the time from launch to running.
	Pending time.Duration
	// Boot is the time from running until the node in it is up.
	Boot time.Duration
	// ShuttingDown is the time from the call to terminate until terminated.
	ShuttingDown time.Duration
}

// CapacityRule bounds how many instances of a type an account may have in a zone at a time. An
// empty type or zone stands for every one; what a rule counts are all instances it covers.
type CapacityRule struct {
	InstanceType string
	Zone         string
	Available    int
}

// Covers reports whether the rule is about that type in that zone.
func (r CapacityRule) Covers(instanceType, zone string) bool {
	return (r.InstanceType == "" || r.InstanceType == instanceType) && (r.Zone == "" || r.Zone == zone)
}

// Check reports what is wrong with a behavior.
func (b Behavior) Check() error {
	times := b.InstanceTimes
	if min(times.Pending, times.Boot, times.ShuttingDown, b.ReadLag) < 0 {
		return errors.New("a duration of the behavior is negative")
	}
	for _, r := range b.Capacity {
		if r.Available < 0 {
			return fmt.Errorf("the capacity of instance type %q in zone %q is negative", r.InstanceType, r.Zone)
		}
	}
	return nil
}

func (b Behavior) clone() Behavior {
	b.Capacity = slices.Clone(b.Capacity)
	return b
}

// Behavior returns the present behavior. Only for code under the lock.
func (k *Kernel) Behavior() Behavior { return k.behavior }

// SetBehavior replaces the behavior from now on. What has been scheduled keeps its time.
func (k *Kernel) SetBehavior(b Behavior) {
	k.Locked(func() {
		k.behavior = b.clone()
		k.buckets = map[string]*bucket{}
	})
}
