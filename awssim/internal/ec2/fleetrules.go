package ec2

import (
	"math"
	"strconv"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Limits of a fleet (User Guide, "Quotas for EC2 Fleet and Spot Fleet", for the target capacity;
// API model, FleetLaunchTemplateConfigListRequest, for the configs; SDK,
// OnDemandOptionsRequest.MinTargetCapacity). The number of overrides of an instant fleet is not
// limited.
const (
	maxFleetCapacity    = 10_000
	maxFleetConfigs     = 50
	maxFleetMinCapacity = 1000
)

// fleetTaggable lists the types of resources that an instant fleet can tag (SDK,
// CreateFleetInput.TagSpecifications).
var fleetTaggable = []types.ResourceType{
	types.ResourceTypeFleet, types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface,
}

// invalidFleet returns EC2's error for a fleet with contradictory parameters. Messages that users
// have reported are used verbatim.
func invalidFleet(format string, args ...any) error {
	return sim.Errorf("InvalidFleetConfig", format, args...)
}

// checkFleet holds the rules of a request that need nothing but the request. The SDK's comments on
// the members are the source where none is given; which code comes with a rule is an inference
// unless it says so.
func checkFleet(in *awsec2.CreateFleetInput) error {
	if err := checkEnums(*in, "CreateFleet"); err != nil {
		return err
	}
	if in.Type != types.FleetTypeInstant {
		return invalidValue("Type", in.Type, "The simulation has fleets of the type instant only.")
	}
	for _, check := range []func(*awsec2.CreateFleetInput) error{checkMaintainOnly, checkFleetTarget, checkFleetOnDemand, checkFleetSpot, checkFleetConfigs} {
		if err := check(in); err != nil {
			return err
		}
	}
	return nil
}

// checkMaintainOnly refuses what only fleets that live on can use. For the dates that is an
// inference: an instant fleet launches once, now.
func checkMaintainOnly(in *awsec2.CreateFleetInput) error {
	for _, member := range []struct {
		name  string
		given bool
	}{
		{"ExcessCapacityTerminationPolicy", in.ExcessCapacityTerminationPolicy != ""},
		{"ReplaceUnhealthyInstances", val(in.ReplaceUnhealthyInstances)},
		{"MaintenanceStrategies", val(in.SpotOptions).MaintenanceStrategies != nil},
		{"TerminateInstancesWithExpiration", val(in.TerminateInstancesWithExpiration)},
		{"ValidFrom", in.ValidFrom != nil},
		{"ValidUntil", in.ValidUntil != nil},
	} {
		if member.given {
			return invalidFleet("The parameter %s is not supported for fleets of type instant.", member.name)
		}
	}
	return nil
}

// checkFleetTarget holds the rules of the capacity. A fleet of type maintain alone may ask for none
// (API reference, TargetCapacitySpecificationRequest).
func checkFleetTarget(in *awsec2.CreateFleetInput) error {
	target := in.TargetCapacitySpecification
	if target == nil || target.TotalTargetCapacity == nil {
		return missingParameter("TargetCapacitySpecification.TotalTargetCapacity")
	}
	total, onDemand, spot := *target.TotalTargetCapacity, val(target.OnDemandTargetCapacity), val(target.SpotTargetCapacity)
	switch {
	case total < 1:
		return invalidValue("TotalTargetCapacity", total, "The target capacity must be at least 1.")
	case total > maxFleetCapacity:
		return invalidValue("TotalTargetCapacity", total, "The target capacity of a fleet must not exceed "+strconv.Itoa(maxFleetCapacity)+".")
	case onDemand < 0 || spot < 0 || onDemand+spot > total:
		return invalidFleet("The On-Demand and Spot target capacities must not be negative or exceed the total target capacity.")
	case onDemand+spot < total && target.DefaultTargetCapacityType == "":
		return missingParameter("TargetCapacitySpecification.DefaultTargetCapacityType")
	case target.TargetCapacityUnitType != "":
		return invalidFleet("TargetCapacityUnitType can be specified only with attribute-based instance type selection.")
	}
	return checkFleetReserved(in)
}

// split divides the target capacity between the markets, in units.
func split(target types.TargetCapacitySpecificationRequest) (onDemand, spot float64) {
	onDemand, spot = float64(val(target.OnDemandTargetCapacity)), float64(val(target.SpotTargetCapacity))
	rest := float64(val(target.TotalTargetCapacity)) - onDemand - spot
	switch target.DefaultTargetCapacityType {
	case types.DefaultTargetCapacityTypeOnDemand:
		return onDemand + rest, spot
	case types.DefaultTargetCapacityTypeReservedCapacity:
		return 0, 0
	default:
	}
	return onDemand, spot + rest
}

// fleetBounds are the members that the options of both markets have.
type fleetBounds struct {
	least                  *int32 // MinTargetCapacity, in units
	singleType, singleZone bool
	budget                 *string // MaxTotalPrice, in US dollars per hour
}

func onDemandBounds(in *awsec2.CreateFleetInput) fleetBounds {
	o := val(in.OnDemandOptions)
	return fleetBounds{o.MinTargetCapacity, val(o.SingleInstanceType), val(o.SingleAvailabilityZone), o.MaxTotalPrice}
}

func spotBounds(in *awsec2.CreateFleetInput) fleetBounds {
	o := val(in.SpotOptions)
	return fleetBounds{o.MinTargetCapacity, val(o.SingleInstanceType), val(o.SingleAvailabilityZone), o.MaxTotalPrice}
}

func (b fleetBounds) check(target float64) error {
	if b.budget != nil {
		if budget, err := strconv.ParseFloat(*b.budget, 64); err != nil || budget <= 0 {
			return invalidValue("MaxTotalPrice", *b.budget, "Expecting a positive price.")
		}
	}
	switch {
	case b.least == nil:
		return nil
	case *b.least < 0 || *b.least > maxFleetMinCapacity:
		return invalidValue("MinTargetCapacity", *b.least, "Expecting a value between 0 and "+strconv.Itoa(maxFleetMinCapacity)+".")
	case !b.singleType && !b.singleZone:
		return invalidFleet("MinTargetCapacity requires SingleAvailabilityZone or SingleInstanceType.")
	case float64(*b.least) > target:
		return invalidFleet("MinTargetCapacity must not exceed the target capacity.")
	}
	return nil
}

// most is the budget as a number, without bound if there is none.
func (b fleetBounds) most() float64 {
	if most, err := strconv.ParseFloat(val(b.budget), 64); err == nil {
		return most
	}
	return math.Inf(1)
}

func checkFleetOnDemand(in *awsec2.CreateFleetInput) error {
	target, _ := split(*in.TargetCapacitySpecification)
	return onDemandBounds(in).check(target)
}

// checkFleetSpot checks the options for Spot. Users have reported the message about the number of
// pools. Instances of an instant fleet cannot be stopped or hibernated, as that takes persistent
// requests (User Guide, "Behavior of Spot Instance interruptions").
func checkFleetSpot(in *awsec2.CreateFleetInput) error {
	options := val(in.SpotOptions)
	if options.InstancePoolsToUseCount != nil {
		if options.AllocationStrategy != "" && options.AllocationStrategy != types.SpotAllocationStrategyLowestPrice {
			return invalidFleet("InstancePoolsToUseCount option is only available with the lowestPrice allocation strategy.")
		}
		if *options.InstancePoolsToUseCount < 1 {
			return invalidValue("InstancePoolsToUseCount", *options.InstancePoolsToUseCount, "Expecting a positive number.")
		}
	}
	if b := options.InstanceInterruptionBehavior; b != "" && b != types.SpotInstanceInterruptionBehaviorTerminate {
		return invalidFleet("The interruption behavior '%s' is not supported for fleets of type instant.", b)
	}
	_, target := split(*in.TargetCapacitySpecification)
	return spotBounds(in).check(target)
}

func checkFleetConfigs(in *awsec2.CreateFleetInput) error {
	if len(in.LaunchTemplateConfigs) == 0 {
		return missingParameter("LaunchTemplateConfigs")
	}
	if len(in.LaunchTemplateConfigs) > maxFleetConfigs {
		return sim.Errorf("InvalidParameterValue", "At most %d launch template configurations may be specified.", maxFleetConfigs)
	}
	for _, config := range in.LaunchTemplateConfigs {
		spec := config.LaunchTemplateSpecification
		switch {
		case spec == nil:
			return missingParameter("LaunchTemplateSpecification")
		case val(spec.Version) == "":
			return missingParameter("LaunchTemplateSpecification.Version")
		}
		if _, err := decodeUserData(val(spec.LaunchTemplateSpecificationUserData), "InvalidParameterValue"); err != nil {
			return err
		}
		for _, override := range config.Overrides {
			if err := checkOverride(override); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOverride: priorities "are whole numbers", but EC2 takes others too: Karpenter gives prices
// as priorities.
func checkOverride(o types.FleetLaunchTemplateOverridesRequest) error {
	switch {
	case o.InstanceRequirements != nil && o.InstanceType != "":
		return invalidCombination("Either InstanceRequirements or InstanceType may be specified, but not both.")
	case o.InstanceRequirements != nil:
		return sim.Errorf("Unsupported", "The simulation has no attribute-based instance type selection for fleets.")
	case o.InstanceType == "mac1.metal":
		return sim.Errorf("Unsupported", "mac1.metal is not supported as a launch template override.")
	case val(o.AvailabilityZone) != "" && val(o.AvailabilityZoneId) != "":
		return invalidCombination("Either AvailabilityZone or AvailabilityZoneId can be specified, but not both.")
	case strings.Contains(val(o.SubnetId), ","):
		return invalidFleet("A fleet of type instant can have only one subnet ID in an override.")
	case val(o.Priority) < 0:
		return invalidValue("Priority", *o.Priority, "Valid values start at 0.")
	case o.WeightedCapacity != nil && *o.WeightedCapacity <= 0:
		return invalidValue("WeightedCapacity", *o.WeightedCapacity, "The weight must be greater than 0.")
	}
	if val(o.MaxPrice) != "" {
		if price, err := strconv.ParseFloat(*o.MaxPrice, 64); err != nil || price < 0.001 {
			// the code is the SDK comment's
			return invalidValue("MaxPrice", *o.MaxPrice, "The minimum value is 0.001.")
		}
	}
	return nil
}

// checkFleetMarket: a template that asks for Spot can serve the Spot part of a fleet only
// (inference: a fleet buys in the markets of its target capacity, and no On-Demand launch takes
// Spot options).
func checkFleetMarket(kind types.MarketType, in *awsec2.CreateFleetInput) error {
	onDemand, _ := split(*in.TargetCapacitySpecification)
	for _, reservation := range val(in.ReservedCapacityOptions).ReservationTypes {
		if reservedMarkets[reservation] == kind {
			return nil
		}
	}
	if kind == "" || kind == "on-demand" || (kind == types.MarketTypeSpot && onDemand == 0) {
		return nil
	}
	return invalidFleet("The launch template specifies the market type %s, which is not that of the target capacity.", kind)
}
