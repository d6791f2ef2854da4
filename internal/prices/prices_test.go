package prices

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/poolview"
)

var (
	listed = time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	read   = time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
)

func of(types ...string) []Option {
	var options []Option
	for _, name := range types {
		options = append(options, Option{InstanceType: name, Weight: 1})
	}
	return options
}

func TestCost(t *testing.T) {
	t.Parallel()
	onDemand := func(price float64) discovery.Price {
		return discovery.Price{PerHour: price, Currency: "USD", Date: listed}
	}
	spot := func(price float64) discovery.Price {
		return discovery.Price{PerHour: price, Currency: "USD", Date: read}
	}
	book := Book{
		onDemand: map[product]discovery.Price{
			{"m5.large", discovery.Linux}: onDemand(0.096), {"m5.xlarge", discovery.Linux}: onDemand(0.192), {"m5.large", discovery.Windows}: onDemand(0.188),
		},
		spot: map[product]map[string]discovery.Price{
			{"m5.large", discovery.Linux}: {"a": spot(0.03), "b": spot(0.05)}, {"gone", discovery.Linux}: {},
		},
	}
	for name, tc := range map[string]struct {
		reason    string
		purchases []Purchase
		want      Cost
		unknown   string
	}{
		"None": {reason: "Nothing costs nothing."},
		"Zero": {
			reason: "A pool that was scaled to zero costs nothing.", purchases: []Purchase{{Options: of("m5.large"), System: discovery.Linux}},
			want: Cost{Currency: "USD", OnDemand: listed},
		},
		"OnDemand": {
			reason: "One instance type has one price.", purchases: []Purchase{{Units: 3, Options: of("m5.large"), System: discovery.Linux}},
			want: Cost{PerHour: Range{0.288, 0.288}, Currency: "USD", OnDemand: listed},
		},
		"Windows": {
			reason: "Windows has its own price.", purchases: []Purchase{{Units: 1, Options: of("m5.large"), System: discovery.Windows}},
			want: Cost{PerHour: Range{0.188, 0.188}, Currency: "USD", OnDemand: listed},
		},
		"Choice": {
			reason: "AWS chooses among instance types, so the price is a range.", purchases: []Purchase{{Units: 10, Options: of("m5.xlarge", "m5.large"), System: discovery.Linux}},
			want: Cost{PerHour: Range{0.96, 1.92}, Currency: "USD", OnDemand: listed},
		},
		"Weights": {
			reason:    "The last instance may exceed the capacity by all of its units but one.",
			purchases: []Purchase{{Units: 10, Options: []Option{{"m5.large", 2}, {"m5.xlarge", 4}}, System: discovery.Linux}},
			want:      Cost{PerHour: Range{0.48, 0.624}, Currency: "USD", OnDemand: listed},
		},
		"Spot": {
			reason: "Spot Instances have a price in each zone.", purchases: []Purchase{{Units: 2, Options: of("m5.large"), Spot: true, System: discovery.Linux}},
			want: Cost{PerHour: Range{0.06, 0.1}, Currency: "USD", Spot: read},
		},
		"SpotZone": {
			reason: "A pool that is in one zone has the price of the zone.", purchases: []Purchase{{Units: 2, Options: of("m5.large"), Spot: true, Zones: []string{"b"}, System: discovery.Linux}},
			want: Cost{PerHour: Range{0.1, 0.1}, Currency: "USD", Spot: read},
		},
		"Mixed": {
			reason:    "On-Demand and Spot capacity is added up.",
			purchases: []Purchase{{Units: 1, Options: of("m5.large"), System: discovery.Linux}, {Units: 2, Options: of("m5.large"), Spot: true, System: discovery.Linux}},
			want:      Cost{PerHour: Range{0.156, 0.196}, Currency: "USD", OnDemand: listed, Spot: read},
		},
		"Unlisted":  {reason: "An instance type without a price is named.", purchases: []Purchase{{Units: 1, Options: of("m5.large", "x9.new"), System: discovery.Linux}}, unknown: "no price of x9.new is known"},
		"NotOnSpot": {reason: "An instance type that no zone sells as Spot has no price.", purchases: []Purchase{{Units: 1, Options: of("gone"), Spot: true, System: discovery.Linux}}, unknown: "no price of gone is known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cost, err := book.Cost(tc.purchases)
			if text := textOf(err); text != tc.unknown {
				t.Fatalf("%s Cost() error = %q, want %q", tc.reason, text, tc.unknown)
			}
			if diff := cmp.Diff(tc.want, cost, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("%s Cost() -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOf(t *testing.T) {
	t.Parallel()
	plain := infrav1.ResolvedLaunchConfig{InstanceType: "m5.large", OperatingSystem: "linux", Market: "on-demand"}
	for name, tc := range map[string]struct {
		reason   string
		resolved *infrav1.ResolvedLaunchConfig
		pool     infrav1.AWSMachinePoolSpec
		managed  *infrav1.AWSManagedMachinePoolSpec
		want     []Purchase
		unknown  string
	}{
		"Plain": {reason: "A pool buys what its MachinePool asks for.", resolved: &plain, want: []Purchase{{Units: 10, Options: of("m5.large"), System: discovery.Linux}}},
		"Spot": {
			reason: "The market of the launch template counts, and so do the zones.", resolved: &infrav1.ResolvedLaunchConfig{InstanceType: "m5.large", Market: "spot", OperatingSystem: "windows"},
			pool: infrav1.AWSMachinePoolSpec{AvailabilityZones: []string{"a"}},
			want: []Purchase{{Units: 10, Options: of("m5.large"), Spot: true, Zones: []string{"a"}, System: discovery.Windows}},
		},
		"Mixed": {
			reason: "Capacity above the base is divided, and rounded in favor of On-Demand.", resolved: &plain,
			pool: infrav1.AWSMachinePoolSpec{MixedInstancesPolicy: &infrav1.MixedInstancesPolicy{
				Overrides:             []infrav1.Overrides{{InstanceType: "m5.large", WeightedCapacity: ptr.To[int32](2)}, {InstanceType: "m5.xlarge", WeightedCapacity: ptr.To[int32](4)}},
				InstancesDistribution: &infrav1.InstancesDistribution{OnDemandBaseCapacity: ptr.To[int64](3), OnDemandPercentageAboveBaseCapacity: ptr.To[int64](25)},
			}},
			want: []Purchase{
				{Units: 5, Options: []Option{{"m5.large", 2}, {"m5.xlarge", 4}}, System: discovery.Linux},
				{Units: 5, Options: []Option{{"m5.large", 2}, {"m5.xlarge", 4}}, Spot: true, System: discovery.Linux},
			},
		},
		"OnlyDistribution": {
			reason: "A policy without overrides launches the template's type.", resolved: &plain,
			pool: infrav1.AWSMachinePoolSpec{MixedInstancesPolicy: &infrav1.MixedInstancesPolicy{InstancesDistribution: &infrav1.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: ptr.To[int64](0)}}},
			want: []Purchase{{Units: 10, Options: of("m5.large"), Spot: true, System: discovery.Linux}},
		},
		"Attributes": {
			reason: "What AWS chooses by attributes has no price.", resolved: &plain,
			pool:    infrav1.AWSMachinePoolSpec{MixedInstancesPolicy: &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{{InstanceRequirements: &infrav1.InstanceRequirements{}}}}},
			unknown: "AWS chooses the instance types by their attributes",
		},
		"TemplateAttributes": {reason: "Nor in the template.", resolved: &infrav1.ResolvedLaunchConfig{InstanceRequirements: "{}"}, unknown: "AWS chooses the instance types by their attributes"},
		"CapacityBlock":      {reason: "A Capacity Block is paid for in advance.", resolved: &infrav1.ResolvedLaunchConfig{InstanceType: "p5.48xlarge", Market: "capacity-block"}, unknown: "the capacity is bought in advance"},
		"Unresolved":         {reason: "A new pool has nothing yet.", unknown: "the instance type has not been resolved yet"},
		"NoType":             {reason: "A template may leave the type out.", resolved: &infrav1.ResolvedLaunchConfig{}, unknown: "the launch template has no instance type"},
		"Managed": {
			reason: "A node group launches its own types.", resolved: &infrav1.ResolvedLaunchConfig{},
			managed: &infrav1.AWSManagedMachinePoolSpec{InstanceTypes: []string{"m5.large", "m5a.large"}, CapacityType: ptr.To(infrav1.ManagedMachinePoolCapacityTypeSpot)},
			want:    []Purchase{{Units: 10, Options: of("m5.large", "m5a.large"), Spot: true, System: discovery.Linux}},
		},
		"ManagedTemplate": {
			reason: "A node group launches the template's type if it has none.", resolved: &plain, managed: &infrav1.AWSManagedMachinePoolSpec{},
			want: []Purchase{{Units: 10, Options: of("m5.large"), System: discovery.Linux}},
		},
		"ManagedBlock": {
			reason: "A node group in a Capacity Block is paid for in advance.", resolved: &plain,
			managed: &infrav1.AWSManagedMachinePoolSpec{CapacityType: ptr.To(infrav1.ManagedMachinePoolCapacityTypeCapacityBlock)}, unknown: "the capacity is bought in advance",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := poolview.Objects{SelfManaged: &infrav1.AWSMachinePool{Spec: tc.pool}, MachinePool: &clusterv1.MachinePool{}, Config: &infrav1.AWSLaunchConfig{}}
			objects.MachinePool.Spec.Replicas, objects.Config.Status.Resolved = ptr.To[int32](10), tc.resolved
			if tc.managed != nil {
				objects.SelfManaged, objects.Managed = nil, &infrav1.AWSManagedMachinePool{Spec: *tc.managed}
			}
			purchases, err := Of(objects)
			if text := textOf(err); text != tc.unknown {
				t.Fatalf("%s Of() error = %q, want %q", tc.reason, text, tc.unknown)
			}
			if diff := cmp.Diff(tc.want, purchases); diff != "" {
				t.Errorf("%s Of() -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// shop is a source of prices that counts what it is asked for.
type shop struct {
	fails error
	asked []string
}

func (s *shop) OnDemand(_ context.Context, instanceType string, _ discovery.OperatingSystem) (discovery.Price, error) {
	s.asked = append(s.asked, instanceType)
	if instanceType == "unlisted" {
		return discovery.Price{}, &discovery.NotFoundError{Kind: "price", What: instanceType}
	}
	return discovery.Price{PerHour: 1}, s.fails
}

func (s *shop) Spot(_ context.Context, instanceType string, _ discovery.OperatingSystem) (map[string]discovery.Price, error) {
	s.asked = append(s.asked, "spot "+instanceType)
	return map[string]discovery.Price{"a": {PerHour: 1}}, nil
}

func TestRead(t *testing.T) {
	t.Parallel()
	source := &shop{}
	both := []Purchase{{Options: of("m5.large", "unlisted")}, {Options: of("m5.large"), Spot: true}, {Options: of("m5.large")}}
	if _, err := Read(t.Context(), source, both...); err != nil {
		t.Errorf("A type that the list does not have is no failure to read it: %v", err)
	}
	if diff := cmp.Diff([]string{"m5.large", "unlisted", "spot m5.large"}, source.asked); diff != "" {
		t.Errorf("Each price is read once. -want +got:\n%s", diff)
	}
	if _, err := Read(t.Context(), &shop{fails: errors.New("no route")}, both...); textOf(err) != "calling pricing:GetProducts: no route" {
		t.Errorf("A failure names the action: got %v", err)
	}
}
