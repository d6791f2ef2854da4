package ec2

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// EventBooted is the state of the event that tells that the node in a running instance is up. The
// other states of events of the kind "instance" are EC2's names of instance states.
const EventBooted = "booted"

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
	s.watchers = append(s.watchers, f)
}

// TerminateInstances terminates instances on behalf of a service. Termination protection does not
// hold it back (Auto Scaling User Guide, "Amazon EC2 Auto Scaling and instance termination
// protection"). Instances that are terminated already, or unknown, are left alone.
func TerminateInstances(r *sim.Region, ids ...string) {
	s := stateOf(r)
	for _, id := range ids {
		if i, ok := s.instances.Get(id); ok {
			s.terminate(i, userInitiated)
		}
	}
}

// StopInstances stops instances on behalf of a service, as for a warm pool. Those that are not
// pending or running are left alone.
func StopInstances(r *sim.Region, ids ...string) {
	s := stateOf(r)
	for _, id := range ids {
		if i, ok := s.instances.Get(id); ok && i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning) {
			s.stop(i, userInitiated)
		}
	}
}

// HibernateInstances is StopInstances for instances that keep what is in their memory. Those that
// were not launched for it stop (User Guide, "How Amazon EC2 instance hibernation works").
func HibernateInstances(r *sim.Region, ids ...string) {
	s := stateOf(r)
	for _, id := range ids {
		if i, ok := s.instances.Get(id); ok && i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning) {
			s.stop(i, hibernationOf(i))
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
		if err := s.roomToStart(i); err != nil {
			return err
		}
		s.restart(i)
	}
	return nil
}

// roomToStart refuses to start an instance whose reservation, or type in its zone, has no capacity left.
func (s *state) roomToStart(i instance) error {
	if c, reserved := s.capacities.Get(val(i.api.CapacityReservationId)); reserved {
		if s.reservationLeft(c) == 0 {
			return errReservationFull
		}
		return nil
	}
	zone := val(i.api.Placement.AvailabilityZone)
	if s.capacityLeft(i.offering(), 1) > 0 {
		return nil
	}
	return &sim.Error{
		Code: "InsufficientInstanceCapacity", Status: 500,
		Message: "We currently do not have sufficient " + string(i.api.InstanceType) + " capacity in the Availability Zone you requested (" + zone + ").",
	}
}

// SetInstanceTags sets tags on an instance on behalf of a service, which may use the prefix aws:.
func SetInstanceTags(r *sim.Region, id string, tags []types.Tag) {
	s := stateOf(r)
	if i, ok := s.instances.Get(id); ok {
		i.api.Tags = mergeTags(i.api.Tags, tags)
		s.instances.Put(id, i)
	}
}

// putInstance stores an instance whose state has changed and tells everybody.
func (s *state) putInstance(i instance) {
	s.instances.Put(i.id(), i)
	s.tell(i, string(i.stateName()))
}

func (s *state) tell(i instance, event string) {
	s.kernel.Emit(sim.Event{Account: s.region.Account.ID, Region: s.region.Name, Kind: "instance", ID: i.id(), State: event})
	s.publish(i, event)
	for _, watch := range s.watchers {
		watch(i.public())
	}
}

// change gives the instance its next state.
func (i instance) change(name types.InstanceStateName) instance {
	i.api.State = instanceState(name)
	i.life++
	return i
}

// later runs f on the instance after d, unless its state has changed by then.
func (s *state) later(d time.Duration, i instance, f func(instance)) {
	id, life := i.id(), i.life
	s.kernel.After(d, func() {
		if now, ok := s.instances.Get(id); ok && now.life == life {
			f(now)
		}
	})
}

// afterPending lets a pending instance run, and its node boot.
func (s *state) afterPending(i instance) {
	times := s.kernel.Behavior().InstanceTimes
	s.later(times.Pending, i, func(i instance) {
		i = i.change(types.InstanceStateNameRunning)
		options := *i.api.MetadataOptions
		options.State = types.InstanceMetadataOptionsStateApplied
		i.api.MetadataOptions = &options
		if i.api.Monitoring.State == types.MonitoringStatePending {
			i.api.Monitoring = &types.Monitoring{State: types.MonitoringStateEnabled}
		}
		s.putInstance(i)
		s.later(times.Boot, i, s.boot)
	})
}

// boot ends the boot of the node in a running instance.
func (s *state) boot(i instance) {
	i.booted = true
	s.instances.Put(i.id(), i)
	s.tell(i, EventBooted)
}

// terminate starts the end of an instance. It reports the state that the instance was in.
func (s *state) terminate(i instance, why ending) types.InstanceStateName {
	before := i.stateName()
	if i.in(types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated) {
		return before
	}
	i = s.explain(i.change(types.InstanceStateNameShuttingDown), why)
	i.booted = false
	s.putInstance(i)
	s.later(s.kernel.Behavior().InstanceTimes.ShuttingDown, i, s.finish)
	return before
}

// ending is why an instance was stopped or terminated, as EC2 words it (SDK, StateReason.Message).
type ending struct{ code, message, transition string }

var (
	userInitiated = ending{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown", "User initiated"}
	hibernated    = ending{"Client.UserInitiatedHibernate", "Client.UserInitiatedHibernate: User initiated hibernate", "User initiated"}
	interrupted   = ending{"Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination", "Server.SpotInstanceTermination"}
)

// explain says why the instance was stopped or terminated.
func (s *state) explain(i instance, why ending) instance {
	i.api.StateReason = &types.StateReason{Code: ptr(why.code), Message: ptr(why.message)}
	i.api.StateTransitionReason = ptr(why.transition + " (" + s.kernel.Now().UTC().Format("2006-01-02 15:04:05") + " GMT)")
	return i
}

// finish makes an instance terminated: its addresses are free, its volumes are gone or available,
// and after a while it is forgotten.
func (s *state) finish(i instance) {
	s.releaseNetwork(i)
	for _, m := range i.api.BlockDeviceMappings {
		s.detach(val(m.Ebs.VolumeId), val(m.Ebs.DeleteOnTermination))
	}
	i = i.change(types.InstanceStateNameTerminated)
	i.api.BlockDeviceMappings, i.api.NetworkInterfaces, i.api.SecurityGroups = nil, nil, nil
	i.api.PrivateIpAddress, i.api.PublicIpAddress, i.api.SubnetId, i.api.VpcId = nil, nil, nil, nil
	i.api.PrivateDnsName, i.api.PublicDnsName, i.api.IamInstanceProfile = ptr(""), ptr(""), nil
	if i.api.Monitoring.State == types.MonitoringStateEnabled {
		i.api.Monitoring = &types.Monitoring{State: types.MonitoringStateDisabled}
	}
	s.putInstance(i)
	s.later(tombstone, i, func(i instance) { s.instances.Delete(i.id()) })
}

func (s *state) detach(volume string, deleteIt bool) {
	v, ok := s.volumes.Get(volume)
	if !ok {
		return
	}
	if deleteIt {
		s.volumes.Delete(volume)
		return
	}
	v.State, v.Attachments = types.VolumeStateAvailable, nil
	s.volumes.Put(volume, v)
}

// stop starts to stop a running instance.
func (s *state) stop(i instance, why ending) {
	i = s.explain(i.change(types.InstanceStateNameStopping), why)
	i.booted, i.checks = false, statusChecks{} // it starts again on another host
	s.putInstance(i)
	s.later(s.kernel.Behavior().InstanceTimes.ShuttingDown, i, func(i instance) {
		i = i.change(types.InstanceStateNameStopped)
		for _, view := range i.api.NetworkInterfaces {
			if n, ok := s.interfaces.Get(*view.NetworkInterfaceId); ok {
				s.interfaces.Put(*n.NetworkInterfaceId, s.withoutPublicAddress(n, true))
			}
		}
		s.putInstance(s.withInterfaces(i))
	})
}

// restart starts a stopped instance.
func (s *state) restart(i instance) {
	i = i.change(types.InstanceStateNamePending)
	i.api.LaunchTime = ptr(s.kernel.Now())
	i.api.StateReason, i.api.StateTransitionReason = nil, ptr("")
	s.lendAddress(i)
	i = s.withInterfaces(i)
	s.putInstance(i)
	s.afterPending(i)
}
