package ec2

import (
	"slices"
	"strconv"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// fleet is a fleet of the type instant: it launched once, when it was made, and only remembers since.
type fleet struct {
	id        string
	created   time.Time
	request   awsec2.CreateFleetInput
	templates []*LaunchTemplateVersion // by config of the request
	tags      []types.Tag
	instances []types.CreateFleetInstance
	errors    []types.CreateFleetError
	// fulfilled is in units; onDemand is the On-Demand part of it.
	fulfilled, onDemand float64
	state               types.FleetStateCode
}

// fleets holds the fleets of a Region.
type fleets struct {
	*sim.Table[fleet]
	kernel    *sim.Kernel
	instances *sim.Table[instance]
}

func (f fleet) instanceIDs() []string {
	var ids []string
	for _, i := range f.instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}

// live reports whether EC2 still knows a fleet: it deletes one some time after all its instances
// are terminated or none was launched (User Guide, "Configure an EC2 Fleet of type instant"). Here
// that time is the one after which terminated instances are forgotten.
func (fs *fleets) live(f fleet) bool {
	return fs.kernel.Now().Before(f.created.Add(tombstone)) || slices.ContainsFunc(f.instanceIDs(), func(id string) bool {
		_, here := fs.instances.Get(id)
		return here
	})
}

func (fs *fleets) allLive(all []fleet) []fleet {
	return slices.DeleteFunc(slices.Clone(all), func(f fleet) bool { return !fs.live(f) })
}

func (f fleet) data() types.FleetData {
	r := f.request
	data := types.FleetData{
		FleetId: ptr(f.id), Type: types.FleetTypeInstant, FleetState: f.state, CreateTime: ptr(f.created), Tags: f.tags, ClientToken: r.ClientToken, Context: r.Context,
		// SDK, FleetData.ActivityStatus: "the only possible status for instant fleets".
		ActivityStatus: types.FleetActivityStatusFulfilled, FulfilledCapacity: ptr(f.fulfilled), FulfilledOnDemandCapacity: ptr(f.onDemand),
		ReplaceUnhealthyInstances: ptr(false), TerminateInstancesWithExpiration: ptr(false),
		Errors:                      shape.Convert[[]types.DescribeFleetError](f.errors),
		Instances:                   shape.Convert[[]types.DescribeFleetsInstances](f.instances),
		TargetCapacitySpecification: ptr(shape.Convert[types.TargetCapacitySpecification](*r.TargetCapacitySpecification)),
		OnDemandOptions:             ptr(shape.Convert[types.OnDemandOptions](val(r.OnDemandOptions))),
		SpotOptions:                 ptr(shape.Convert[types.SpotOptions](val(r.SpotOptions))),
	}
	if r.ReservedCapacityOptions != nil {
		data.ReservedCapacityOptions = ptr(shape.Convert[types.ReservedCapacityOptions](*r.ReservedCapacityOptions))
	}
	for i, config := range r.LaunchTemplateConfigs {
		shown := shape.Convert[types.FleetLaunchTemplateConfig](config)
		shown.LaunchTemplateSpecification.Version = ptr(strconv.FormatInt(f.templates[i].Number, 10))
		data.LaunchTemplateConfigs = append(data.LaunchTemplateConfigs, shown)
	}
	return data
}
