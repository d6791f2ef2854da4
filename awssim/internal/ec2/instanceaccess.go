package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// LookupInstance returns the instance as it is now, also for a while after it was terminated.
func LookupInstance(r *sim.Region, id string) (Instance, bool) {
	i, ok := stateOf(r).instances.Get(id)
	return i.public(), ok
}

// Instances returns all instances as they are now, in the order of their launch, those included
// that were terminated a short while ago.
func Instances(r *sim.Region) []Instance {
	var all []Instance
	for _, i := range stateOf(r).instances.All() {
		all = append(all, i.public())
	}
	return all
}

// LookupVolume returns a volume as it is now.
func LookupVolume(r *sim.Region, id string) (types.Volume, bool) { return stateOf(r).volumes.Get(id) }

// LookupSubnet returns a subnet as it is now.
func LookupSubnet(r *sim.Region, id string) (types.Subnet, bool) { return stateOf(r).subnets.Get(id) }

// LookupImage returns an image as it is now.
func LookupImage(r *sim.Region, id string) (types.Image, bool) { return stateOf(r).images.Get(id) }

// LookupPlacementGroup returns the placement group of that name as it is now.
func LookupPlacementGroup(r *sim.Region, name string) (types.PlacementGroup, bool) {
	for _, p := range stateOf(r).placements.All() {
		if val(p.GroupName) == name {
			return p, true
		}
	}
	return types.PlacementGroup{}, false
}

// OnInstanceChange makes f see an instance after every change of its state, tags included, and when
// its node has booted. f runs under the kernel's lock, at the moment of the change, and stays until
// the Region is reset.
func OnInstanceChange(r *sim.Region, f func(Instance)) {
	s := stateOf(r)
	s.instances.watchers = append(s.instances.watchers, f)
}

// TerminateInstances terminates instances on behalf of a service. Termination protection does not
// hold it back (Auto Scaling User Guide, "Amazon EC2 Auto Scaling and instance termination
// protection"). Instances that are terminated already, or unknown, are left alone.
func TerminateInstances(r *sim.Region, ids ...string) {
	s := stateOf(r)
	for _, id := range ids {
		if i, ok := s.instances.Get(id); ok {
			s.instances.terminate(i, userInitiated)
		}
	}
}

// StopInstances stops instances on behalf of a service, as for a warm pool. It ignores instances
// that are not pending or running.
func StopInstances(r *sim.Region, ids ...string) {
	s := stateOf(r)
	for _, id := range ids {
		if i, ok := s.instances.Get(id); ok && i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning) {
			s.instances.stop(i, userInitiated)
		}
	}
}

// HibernateInstances stops instances like StopInstances, but they keep the content of their memory.
// Instances that were not launched with hibernation enabled stop without it (User Guide, "How
// Amazon EC2 instance hibernation works").
func HibernateInstances(r *sim.Region, ids ...string) {
	s := stateOf(r)
	for _, id := range ids {
		if i, ok := s.instances.Get(id); ok && i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning) {
			s.instances.stop(i, hibernationOf(i))
		}
	}
}

// hibernationOf returns why an instance stopped that was to hibernate.
func hibernationOf(i instance) ending {
	if val(val(i.api.HibernationOptions).Configured) {
		return hibernated
	}
	return userInitiated
}

// StartInstances starts stopped instances on behalf of a service; those in another state are left
// alone. It stops at the first for which there is no capacity, with EC2's
// InsufficientInstanceCapacity.
func StartInstances(r *sim.Region, ids ...string) error {
	s := stateOf(r)
	for _, id := range ids {
		i, ok := s.instances.Get(id)
		if !ok || !i.in(types.InstanceStateNameStopped) {
			continue
		}
		if err := s.instances.roomToStart(i); err != nil {
			return err
		}
		s.instances.restart(i)
	}
	return nil
}

// SetInstanceTags sets tags on an instance on behalf of a service, which may use the prefix aws:.
func SetInstanceTags(r *sim.Region, id string, tags []types.Tag) {
	s := stateOf(r)
	if i, ok := s.instances.Get(id); ok {
		i.api.Tags = mergeTags(i.api.Tags, tags)
		s.instances.Put(id, i)
	}
}
