package ec2

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/eventbridge"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// EventBooted is the state of the event that reports that the node in a running instance is up. The
// other states of events of the kind "instance" are EC2's names of instance states.
const EventBooted = "booted"

// instances holds the instances of a Region, and moves them from launch to termination.
type instances struct {
	*sim.Table[instance]
	region     *sim.Region
	kernel     *sim.Kernel
	volumes    *sim.Table[types.Volume]
	interfaces *networkInterfaces
	capacities *capacity
	watchers   []func(Instance)
}

// roomToStart refuses to start an instance whose reservation, or type in its zone, has no capacity left.
func (is *instances) roomToStart(i instance) error {
	if c, reserved := is.capacities.Get(val(i.api.CapacityReservationId)); reserved {
		if is.capacities.reservationLeft(c) == 0 {
			return errReservationFull
		}
		return nil
	}
	zone := val(i.api.Placement.AvailabilityZone)
	if is.capacities.left(i.offering(), 1) > 0 {
		return nil
	}
	return &sim.Error{
		Code: "InsufficientInstanceCapacity", Status: 500,
		Message: "We currently do not have sufficient " + string(i.api.InstanceType) + " capacity in the Availability Zone you requested (" + zone + ").",
	}
}

// store stores an instance whose state has changed, and notifies all who watch instances.
func (is *instances) store(i instance) {
	is.Put(i.id(), i)
	is.tell(i, string(i.stateName()))
}

func (is *instances) tell(i instance, event string) {
	is.kernel.Emit(sim.Event{Account: is.region.Account.ID, Region: is.region.Name, Kind: "instance", ID: i.id(), State: event})
	publish(is.region, i, event)
	for _, watch := range is.watchers {
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
func (is *instances) later(d time.Duration, i instance, f func(instance)) {
	id, life := i.id(), i.life
	is.kernel.After(d, func() {
		if now, ok := is.Get(id); ok && now.life == life {
			f(now)
		}
	})
}

// afterPending lets a pending instance run, and its node boot.
func (is *instances) afterPending(i instance) {
	times := is.kernel.Behavior().InstanceTimes
	is.later(times.Pending, i, func(i instance) {
		i = i.change(types.InstanceStateNameRunning)
		options := *i.api.MetadataOptions
		options.State = types.InstanceMetadataOptionsStateApplied
		i.api.MetadataOptions = &options
		if i.api.Monitoring.State == types.MonitoringStatePending {
			i.api.Monitoring = &types.Monitoring{State: types.MonitoringStateEnabled}
		}
		is.store(i)
		is.later(times.Boot, i, is.boot)
	})
}

// boot finishes the boot of the node in a running instance.
func (is *instances) boot(i instance) {
	i.booted = true
	is.Put(i.id(), i)
	is.tell(i, EventBooted)
}

// terminate starts the end of an instance. It reports the state that the instance was in.
func (is *instances) terminate(i instance, why ending) types.InstanceStateName {
	before := i.stateName()
	if i.in(types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated) {
		return before
	}
	i = is.explain(i.change(types.InstanceStateNameShuttingDown), why)
	i.booted = false
	is.store(i)
	is.later(is.kernel.Behavior().InstanceTimes.ShuttingDown, i, is.finish)
	return before
}

// ending describes why an instance was stopped or terminated, with the messages of EC2 (SDK,
// StateReason.Message).
type ending struct{ code, message, transition string }

var (
	userInitiated = ending{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown", "User initiated"}
	hibernated    = ending{"Client.UserInitiatedHibernate", "Client.UserInitiatedHibernate: User initiated hibernate", "User initiated"}
	interrupted   = ending{"Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination", "Server.SpotInstanceTermination"}
)

// endings are the reasons for which an instance ends by itself, by their codes. Most are failures to
// launch, with the codes and messages of EC2 (EC2 API Reference, StateReason; User Guide, "Instance
// terminates immediately").
var endings = map[string]string{
	"Client.InstanceInitiatedShutdown":    "Instance initiated shutdown",
	"Client.InternalError":                "Client error on launch",
	"Client.InvalidSnapshot.NotFound":     "The specified snapshot was not found",
	"Client.VolumeLimitExceeded":          "Volume limit exceeded",
	"Server.InsufficientInstanceCapacity": "Insufficient capacity to satisfy instance request",
	"Server.InternalError":                "Internal error on launch",
}

// EndInstance terminates an instance for one of the reasons in endings. It fails if there is no such
// instance that is pending or running, or the reason is another.
func EndInstance(r *sim.Region, id, code string) error {
	s := stateOf(r)
	message, known := endings[code]
	if !known {
		return fmt.Errorf("%q is none of the reasons %s", code, strings.Join(slices.Sorted(maps.Keys(endings)), ", "))
	}
	i, ok := s.instances.Get(id)
	if !ok || !i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning) {
		return errors.New("there is no such instance that is pending or running")
	}
	s.instances.terminate(i, ending{code, code + ": " + message, code})
	return nil
}

// explain says why the instance was stopped or terminated.
func (is *instances) explain(i instance, why ending) instance {
	i.api.StateReason = &types.StateReason{Code: ptr(why.code), Message: ptr(why.message)}
	i.api.StateTransitionReason = ptr(why.transition + " (" + is.kernel.Now().UTC().Format("2006-01-02 15:04:05") + " GMT)")
	return i
}

// finish makes an instance terminated: its addresses are free, its volumes are gone or available,
// and after a while it is forgotten.
func (is *instances) finish(i instance) {
	is.interfaces.release(i)
	for _, m := range i.api.BlockDeviceMappings {
		is.detach(val(m.Ebs.VolumeId), val(m.Ebs.DeleteOnTermination))
	}
	i = i.change(types.InstanceStateNameTerminated)
	i.api.BlockDeviceMappings, i.api.NetworkInterfaces, i.api.SecurityGroups = nil, nil, nil
	i.api.PrivateIpAddress, i.api.PublicIpAddress, i.api.SubnetId, i.api.VpcId = nil, nil, nil, nil
	i.api.PrivateDnsName, i.api.PublicDnsName, i.api.IamInstanceProfile = ptr(""), ptr(""), nil
	if i.api.Monitoring.State == types.MonitoringStateEnabled {
		i.api.Monitoring = &types.Monitoring{State: types.MonitoringStateDisabled}
	}
	is.store(i)
	is.later(tombstone, i, func(i instance) { is.Delete(i.id()) })
}

func (is *instances) detach(volume string, deleteIt bool) {
	v, ok := is.volumes.Get(volume)
	if !ok {
		return
	}
	if deleteIt {
		is.volumes.Delete(volume)
		return
	}
	v.State, v.Attachments = types.VolumeStateAvailable, nil
	is.volumes.Put(volume, v)
}

// stop starts to stop a running instance.
func (is *instances) stop(i instance, why ending) {
	i = is.explain(i.change(types.InstanceStateNameStopping), why)
	i.booted, i.checks = false, statusChecks{} // it starts again on another host
	is.store(i)
	is.later(is.kernel.Behavior().InstanceTimes.ShuttingDown, i, func(i instance) {
		i = i.change(types.InstanceStateNameStopped)
		for _, view := range i.api.NetworkInterfaces {
			if n, ok := is.interfaces.Get(*view.NetworkInterfaceId); ok {
				is.interfaces.Put(*n.NetworkInterfaceId, is.interfaces.withoutPublicAddress(n, true))
			}
		}
		is.store(is.interfaces.refreshed(i))
	})
}

// restart starts a stopped instance.
func (is *instances) restart(i instance) {
	i = i.change(types.InstanceStateNamePending)
	i.api.LaunchTime = ptr(is.kernel.Now())
	i.api.StateReason, i.api.StateTransitionReason = nil, ptr("")
	is.interfaces.lendAddress(i)
	i = is.interfaces.refreshed(i)
	is.store(i)
	is.afterPending(i)
}

// named returns the instances that a request names; all must exist.
func (is *instances) named(ids []string) ([]instance, error) {
	if len(ids) == 0 {
		return nil, missingParameter("InstanceId")
	}
	return selectByID(instanceID, is.All(), instance.id, ids)
}

func (is *instances) spot(id string) (instance, error) {
	i, ok := is.Get(id)
	if !ok || i.api.InstanceLifecycle != types.InstanceLifecycleTypeSpot || !i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning) {
		return instance{}, fmt.Errorf("there is no Spot Instance %q that is pending or running", id)
	}
	return i, nil
}

// publish sends an event about an instance's new state to EventBridge (EC2 user guide, "State
// change events for your instances").
func publish(region *sim.Region, i instance, state string) {
	if !slices.Contains(types.InstanceStateName("").Values(), types.InstanceStateName(state)) {
		return // "booted" is the simulator's own
	}
	eventbridge.Put(region, eventbridge.Event{
		Source: "aws.ec2", DetailType: "EC2 Instance State-change Notification",
		Resources: []string{"arn:aws:ec2:" + region.Name + ":" + region.Account.ID + ":instance/" + i.id()},
		Detail:    map[string]string{"instance-id": i.id(), "state": state},
	})
}
