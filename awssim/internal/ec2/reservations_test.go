package ec2_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

const (
	blockID    = "cr-0123456789abcdef0"
	onDemandID = "cr-0123456789abcdef1"
)

// withReservations adds an On-Demand reservation of one m5.large, and a Capacity Block of two
// p5.48xlarge that begins in an hour and expires a day later.
func (r *rig) withReservations() {
	r.Helper()
	for _, c := range []awssim.CapacityReservation{
		{ID: onDemandID, InstanceType: "m5.large", Zone: "us-east-1a", Count: 1},
		{ID: blockID, InstanceType: "p5.48xlarge", Zone: "us-east-1a", Count: 2, Block: true, Start: start.Add(time.Hour), End: start.Add(25 * time.Hour)},
	} {
		if err := r.sim.Region(awssim.DefaultAccount, region).SetCapacityReservation(c); err != nil {
			r.Fatal(err)
		}
	}
}

// into has a launch name a reservation.
func into(id string) func(*ec2.RunInstancesInput) {
	return func(in *ec2.RunInstancesInput) {
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String(id)}}
	}
}

// intoBlock is a launch that fits the Capacity Block.
func intoBlock(in *ec2.RunInstancesInput) {
	into(blockID)(in)
	in.InstanceType, in.InstanceMarketOptions = "p5.48xlarge", &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
}

func (r *rig) reservation(id string) types.CapacityReservation {
	r.Helper()
	out, err := r.ec2.DescribeCapacityReservations(r.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
	if err != nil {
		r.Fatal(err)
	}
	return out.CapacityReservations[0]
}

// expect compares state and free places of a reservation.
func (r *rig) expect(when, id string, state types.CapacityReservationState, left int32) {
	r.Helper()
	if got := r.reservation(id); got.State != state || *got.AvailableInstanceCount != left {
		r.Errorf("%s: the reservation is %s with %d places left, want %s with %d", when, got.State, *got.AvailableInstanceCount, state, left)
	}
}

func TestCapacityBlock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withReservations()
	r.expect("before it begins", blockID, types.CapacityReservationStateScheduled, 0)
	_, err := r.run(func(in *ec2.RunInstancesInput) { intoBlock(in); in.DryRun = aws.Bool(true) })
	wantError(t, err, "DryRunOperation", "")
	_, err = r.run(intoBlock)
	wantError(t, err, "InvalidCapacityReservationState.PendingActivation", "not active yet")
	r.clock.Step(time.Hour)
	r.expect("when it begins", blockID, types.CapacityReservationStateActive, 2)

	out, err := r.run(func(in *ec2.RunInstancesInput) { intoBlock(in); in.MaxCount = aws.Int32(5) })
	if err != nil || len(out.Instances) != 2 {
		t.Fatalf("as many as fit: %v, %v", out, err)
	}
	if i := out.Instances[0]; i.InstanceLifecycle != types.InstanceLifecycleTypeCapacityBlock || aws.ToString(i.CapacityReservationId) != blockID {
		t.Errorf("the instance is %s in reservation %s", i.InstanceLifecycle, aws.ToString(i.CapacityReservationId))
	}
	r.expect("when it is full", blockID, types.CapacityReservationStateActive, 0)
	_, err = r.run(intoBlock)
	wantError(t, err, "ReservationCapacityExceeded", "sufficient compatible and available capacity")
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*out.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	r.expect("when one is gone", blockID, types.CapacityReservationStateActive, 1)

	r.clock.Step(23*time.Hour + 30*time.Minute)
	if got := r.instance(*out.Instances[1].InstanceId).State.Name; got != types.InstanceStateNameTerminated {
		t.Errorf("half an hour before the end the instance is %s", got)
	}
	_, err = r.run(intoBlock)
	wantError(t, err, "ReservationCapacityExceeded", "")
	r.clock.Step(30 * time.Minute)
	r.expect("at the end", blockID, types.CapacityReservationStateExpired, 0)
}

func TestReservedLaunchRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withReservations()
	r.clock.Step(time.Hour)
	rows := []struct {
		reason string
		change func(*ec2.RunInstancesInput)
		code   string
	}{
		{"another type than the block's", func(in *ec2.RunInstancesInput) { intoBlock(in); in.InstanceType = "p4d.24xlarge" }, "ReservationCapacityExceeded"},
		{"another zone than the block's", func(in *ec2.RunInstancesInput) { intoBlock(in); in.SubnetId = r.subnet("us-east-1b").SubnetId }, "ReservationCapacityExceeded"},
		{"another market than the block's", func(in *ec2.RunInstancesInput) { intoBlock(in); in.InstanceMarketOptions = nil }, "ReservationCapacityExceeded"},
		{"more than the block has", func(in *ec2.RunInstancesInput) { intoBlock(in); in.MinCount, in.MaxCount = aws.Int32(3), aws.Int32(3) }, "ReservationCapacityExceeded"},
		{"a block that was not bought as one", func(in *ec2.RunInstancesInput) {
			into(onDemandID)(in)
			in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
		}, "ReservationCapacityExceeded"},
		{"no block is named", func(in *ec2.RunInstancesInput) { intoBlock(in); in.CapacityReservationSpecification = nil }, "InvalidParameterCombination"},
		{"an On-Demand reservation", into(onDemandID), ""},
		{"an On-Demand reservation that is full", into(onDemandID), "ReservationCapacityExceeded"},
	}
	for _, row := range rows {
		if _, err := r.run(row.change); code(t, err) != row.code {
			t.Errorf("%s: got %v, want %q", row.reason, err, row.code)
		}
	}
}

// TestStoppedInstanceLeavesItsReservation holds that a stopped instance frees its place, and comes
// back only if there is one.
func TestStoppedInstanceLeavesItsReservation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withReservations()
	first, err := r.run(into(onDemandID))
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{*first.Instances[0].InstanceId}
	if _, err := r.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	r.expect("when it is stopped", onDemandID, types.CapacityReservationStateActive, 1)
	if _, err := r.run(into(onDemandID)); err != nil {
		t.Fatal(err)
	}
	_, err = r.ec2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: ids})
	wantError(t, err, "ReservationCapacityExceeded", "")
}

func TestInvalidCapacityReservations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := awssim.CapacityReservation{ID: blockID, InstanceType: "p5.48xlarge", Zone: "us-east-1a", Count: 1, Block: true, Start: start, End: start.Add(time.Hour)}
	for reason, change := range map[string]func(*awssim.CapacityReservation){
		"another kind of id":        func(c *awssim.CapacityReservation) { c.ID = "i-00000000000000000" },
		"a type that is not":        func(c *awssim.CapacityReservation) { c.InstanceType = "p99.large" },
		"a zone that is not":        func(c *awssim.CapacityReservation) { c.Zone = "us-east-1z" },
		"no instances":              func(c *awssim.CapacityReservation) { c.Count = 0 },
		"no blocks of this type":    func(c *awssim.CapacityReservation) { c.InstanceType = "m5.large" },
		"a block without an end":    func(c *awssim.CapacityReservation) { c.End = time.Time{} },
		"a block without a start":   func(c *awssim.CapacityReservation) { c.Start = time.Time{} },
		"a block that ends at once": func(c *awssim.CapacityReservation) { c.End = c.Start },
	} {
		wrong := good
		change(&wrong)
		if err := r.sim.Region(awssim.DefaultAccount, region).SetCapacityReservation(wrong); err == nil {
			t.Errorf("%s: it was set", reason)
		}
	}
	if err := r.sim.Region(awssim.DefaultAccount, region).SetCapacityReservation(good); err != nil {
		t.Error(err)
	}
}

func TestDescribeCapacityReservations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withReservations()
	for value, want := range map[string]string{"capacity-block": blockID, "default": onDemandID} {
		out, err := r.ec2.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{Filters: []types.Filter{filter("reservation-type", value)}})
		if err != nil || len(out.CapacityReservations) != 1 || *out.CapacityReservations[0].CapacityReservationId != want {
			t.Errorf("of type %s: %v, %v; want %s", value, out, err, want)
		}
	}
	_, err := r.ec2.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-00000000000000000"}})
	wantError(t, err, "InvalidCapacityReservationId.NotFound", "does not exist")
}

// interruptibleID is a reservation that its owner may take back.
const interruptibleID = "cr-0123456789abcdef2"

// reservedFleet asks for instances in reservations.
func reservedFleet(template string, total int32, options types.ReservedCapacityOptionsRequest, overrides ...types.FleetLaunchTemplateOverridesRequest) *ec2.CreateFleetInput {
	in := request(template, total, overrides...)
	in.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeReservedCapacity
	in.ReservedCapacityOptions = &options
	return in
}

func inReservations(ids ...string) *types.FleetCapacityReservationTargetRequest {
	return &types.FleetCapacityReservationTargetRequest{CapacityReservationIds: ids}
}

var fallsBack = &types.ReservedCapacityFallbackOptionsRequest{MarketTypes: []types.ReservedCapacityFallbackMarketType{types.ReservedCapacityFallbackMarketTypeOnDemand}}

// bought returns what a fleet launched as "2 m5.large on-demand", in the order of the answer.
func bought(out *ec2.CreateFleetOutput) []string {
	list := []string{}
	for _, i := range out.Instances {
		list = append(list, fmt.Sprintf("%d %s %s", len(i.InstanceIds), i.InstanceType, i.Lifecycle))
	}
	return list
}

// TestFleetsInReservations holds that a fleet launches into reservations by the order of their
// types and of its overrides, and into others only if it may.
func TestFleetsInReservations(t *testing.T) {
	t.Parallel()
	onDemand, interruptible := types.FleetReservationTypeOnDemandCapacityReservation, types.FleetReservationTypeInterruptibleCapacityReservation
	both := []types.FleetReservationType{interruptible, onDemand}
	group := "arn:aws:resource-groups:us-east-1:123456789012:group/ours"
	tests := []struct {
		reason  string
		total   int32
		options types.ReservedCapacityOptionsRequest
		want    []string
		fails   []string
	}{
		{"the types in their order", 3, types.ReservedCapacityOptionsRequest{ReservationTypes: both, CapacityReservationTarget: inReservations(onDemandID, interruptibleID)},
			[]string{"2 m5.large interruptible-capacity-reservation", "1 m5.large on-demand-capacity-reservation"}, []string{"ReservationCapacityExceeded"}},
		{"a type alone that is asked for", 1, types.ReservedCapacityOptionsRequest{ReservationTypes: both[1:], CapacityReservationTarget: inReservations(onDemandID, interruptibleID)},
			[]string{"1 m5.large on-demand-capacity-reservation"}, nil},
		{"no more than there is room for", 5, types.ReservedCapacityOptionsRequest{ReservationTypes: both[1:], CapacityReservationTarget: inReservations(onDemandID)},
			[]string{"1 m5.large on-demand-capacity-reservation"}, []string{"ReservationCapacityExceeded"}},
		{"the rest on demand", 5, types.ReservedCapacityOptionsRequest{ReservationTypes: both[1:], CapacityReservationTarget: inReservations(onDemandID), ReservedCapacityFallbackOptions: fallsBack},
			[]string{"1 m5.large on-demand-capacity-reservation", "4 m5.large on-demand"}, []string{"ReservationCapacityExceeded"}},
		{"a resource group", 2, types.ReservedCapacityOptionsRequest{ReservationTypes: both,
			CapacityReservationTarget: &types.FleetCapacityReservationTargetRequest{CapacityReservationResourceGroupArns: []string{group}}},
			[]string{"2 m5.large interruptible-capacity-reservation"}, nil},
		{"none that is named", 1, types.ReservedCapacityOptionsRequest{ReservationTypes: both}, []string{}, []string{"UnfulfillableCapacity", "UnfulfillableCapacity"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.withReservations()
			if err := r.sim.Region(awssim.DefaultAccount, region).SetCapacityReservation(awssim.CapacityReservation{
				ID: interruptibleID, InstanceType: "m5.large", Zone: "us-east-1a", Count: 2, Interruptible: true, ResourceGroup: group,
			}); err != nil {
				t.Fatal(err)
			}
			out := r.fleet(reservedFleet(r.fleetTemplate(), tt.total, tt.options, r.in("m5.large", "a")))
			if diff := cmp.Diff(tt.want, bought(out)); diff != "" {
				t.Errorf("launched (-want +got):\n%s", diff)
			}
			var codes []string
			for _, e := range out.Errors {
				codes = append(codes, *e.ErrorCode)
			}
			if diff := cmp.Diff(tt.fails, codes); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			described, err := r.ec2.DescribeFleets(t.Context(), &ec2.DescribeFleetsInput{FleetIds: []string{*out.FleetId}})
			if err != nil || len(described.Fleets[0].ReservedCapacityOptions.ReservationTypes) != len(tt.options.ReservationTypes) {
				t.Errorf("described as %+v, %v", described, err)
			}
		})
	}
}

// TestFleetsInReservationsOfTemplates follows AWS's walkthrough: the launch template names the
// reservation and its market.
func TestFleetsInReservationsOfTemplates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withReservations()
	r.clock.Step(2 * time.Hour) // the Capacity Block has begun
	template := r.template("block", &types.RequestLaunchTemplateData{
		ImageId: r.image(types.ArchitectureValuesX8664).ImageId, InstanceMarketOptions: &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock},
		CapacityReservationSpecification: &types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String(blockID)}},
	})
	high, low := r.in("p5.48xlarge", "a"), r.in("m5.large", "a")
	high.Priority, low.Priority = aws.Float64(0), aws.Float64(1)
	out := r.fleet(reservedFleet(template, 2, types.ReservedCapacityOptionsRequest{
		ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeCapacityBlock}, AllocationStrategy: types.ReservedCapacityAllocationStrategyPrioritized,
	}, low, high))
	if diff := cmp.Diff([]string{"2 p5.48xlarge capacity-block"}, bought(out)); diff != "" {
		t.Errorf("launched (-want +got):\n%s", diff)
	}
	r.expect("with the fleet", blockID, types.CapacityReservationStateActive, 0)
}

func TestFleetsInReservationsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withReservations()
	template := r.fleetTemplate()
	kinds := []types.FleetReservationType{types.FleetReservationTypeOnDemandCapacityReservation}
	rows := []struct {
		reason string
		change func(*ec2.CreateFleetInput)
		code   string
	}{
		{"types of reservations", func(in *ec2.CreateFleetInput) { in.ReservedCapacityOptions.ReservationTypes = nil }, "MissingParameter"},
		{"options with the capacity type", func(in *ec2.CreateFleetInput) { in.ReservedCapacityOptions = nil }, "MissingParameter"},
		{"the capacity type with options", func(in *ec2.CreateFleetInput) {
			in.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeOnDemand
		}, "InvalidFleetConfig"},
		{"no part on demand", func(in *ec2.CreateFleetInput) { in.TargetCapacitySpecification.OnDemandTargetCapacity = aws.Int32(1) }, "InvalidFleetConfig"},
		{"ids or groups", func(in *ec2.CreateFleetInput) {
			in.ReservedCapacityOptions.CapacityReservationTarget.CapacityReservationResourceGroupArns = []string{"arn:aws:resource-groups:us-east-1:123456789012:group/ours"}
		}, "InvalidParameterCombination"},
		{"reservations that exist", func(in *ec2.CreateFleetInput) {
			in.ReservedCapacityOptions.CapacityReservationTarget = inReservations("cr-0123456789abcdeff")
		}, "InvalidCapacityReservationId.NotFound"},
	}
	for _, row := range rows {
		in := reservedFleet(template, 1, types.ReservedCapacityOptionsRequest{ReservationTypes: kinds, CapacityReservationTarget: inReservations(onDemandID)}, r.in("m5.large", "a"))
		row.change(in)
		_, err := r.ec2.CreateFleet(t.Context(), in)
		if got := code(t, err); got != row.code {
			t.Errorf("%s: %q, want %q (%v)", row.reason, got, row.code, err)
		}
	}
}
