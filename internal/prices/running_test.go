package prices

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/poolview"
)

// some returns instances of a type in zones.
func some(instanceType string, zones ...string) []Instance {
	all := make([]Instance, 0, len(zones))
	for _, zone := range zones {
		all = append(all, Instance{Type: instanceType, Zone: zone})
	}
	return all
}

func TestRunning(t *testing.T) {
	t.Parallel()
	price := func(perHour float64) discovery.Price { return discovery.Price{PerHour: perHour, Currency: "USD"} }
	large, xlarge := product{"m5.large", discovery.Linux}, product{"m5.xlarge", discovery.Linux}
	book := Book{
		onDemand: map[product]discovery.Price{large: price(1), xlarge: price(2)},
		spot:     map[product]map[string]discovery.Price{large: {"a": price(0.3), "b": price(0.4)}, xlarge: {"a": price(0.5), "b": price(0.5)}},
	}
	for name, tc := range map[string]struct {
		reason  string
		of      Running
		want    Range
		unknown string
	}{
		"Nothing":  {reason: "Nothing costs nothing."},
		"OnDemand": {reason: "Types are known, so their sum is exact.", of: Running{Instances: append(some("m5.large", "a", "b"), some("m5.xlarge", "a")...), LeastOnDemand: 3, MostOnDemand: 3}, want: Range{4, 4}},
		"Spot":     {reason: "Zones are known, and a Spot price is one of a zone.", of: Running{Instances: some("m5.large", "a", "b")}, want: Range{0.7, 0.7}},
		"NoZone":   {reason: "A Spot Instance without a zone may be in any.", of: Running{Instances: some("m5.large", "")}, want: Range{0.3, 0.4}},
		"Mixed":    {reason: "Equal instances cost the same, whichever is On-Demand.", of: Running{Instances: some("m5.large", "a", "a", "a"), LeastOnDemand: 1, MostOnDemand: 1}, want: Range{1.6, 1.6}},
		"Which": {
			reason: "It is not recorded which instance is On-Demand: the cheaper one or the more expensive one.",
			of:     Running{Instances: append(some("m5.large", "a"), some("m5.xlarge", "a")...), LeastOnDemand: 1, MostOnDemand: 1}, want: Range{1.5, 2.3},
		},
		"Unknown":  {reason: "It is not recorded how the instances were bought.", of: Running{Instances: some("m5.large", "a", "b"), MostOnDemand: 2}, want: Range{0.7, 2}},
		"Unlisted": {reason: "A type without a price is named.", of: Running{Instances: some("x9.new", "a"), LeastOnDemand: 1, MostOnDemand: 1}, unknown: "no price of x9.new is known"},
		"NotThere": {reason: "A zone that sells no Spot Instance of the type has no price.", of: Running{Instances: some("m5.large", "c")}, unknown: "no price of m5.large is known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.of.System = discovery.Linux
			cost, err := book.Running(tc.of)
			if text := textOf(err); text != tc.unknown {
				t.Fatalf("%s Running() error = %q, want %q", tc.reason, text, tc.unknown)
			}
			if diff := cmp.Diff(tc.want, cost.PerHour, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("%s Running() -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// bounds are the least and the most On-Demand Instances of all instances, and of versions 1 and 2.
type bounds struct{ All, One, Two [2]int }

func TestRunningOf(t *testing.T) {
	t.Parallel()
	mixed := func(base, percent int64, weights ...int32) func(*infrav1.AWSMachinePool, *infrav1.AWSLaunchConfig) {
		return func(pool *infrav1.AWSMachinePool, _ *infrav1.AWSLaunchConfig) {
			policy := &infrav1.MixedInstancesPolicy{InstancesDistribution: &infrav1.InstancesDistribution{OnDemandBaseCapacity: &base, OnDemandPercentageAboveBaseCapacity: &percent}}
			for _, weight := range weights {
				policy.Overrides = append(policy.Overrides, infrav1.Overrides{InstanceType: "m5.large", WeightedCapacity: ptr.To(weight)})
			}
			pool.Spec.MixedInstancesPolicy = policy
		}
	}
	markets := func(one, two string) func(*infrav1.AWSMachinePool, *infrav1.AWSLaunchConfig) {
		return func(_ *infrav1.AWSMachinePool, config *infrav1.AWSLaunchConfig) {
			config.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 2, Market: two}, {Number: 1, Market: one}}
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		edit    func(*infrav1.AWSMachinePool, *infrav1.AWSLaunchConfig)
		want    bounds
		unknown string
	}{
		"OnDemand": {reason: "Each version says how its instances are bought.", edit: markets("on-demand", "on-demand"), want: bounds{[2]int{4, 4}, [2]int{1, 1}, [2]int{3, 3}}},
		"Changed":  {reason: "An edit of the market leaves the instances of the version before it.", edit: markets("on-demand", "spot"), want: bounds{[2]int{1, 1}, [2]int{1, 1}, [2]int{0, 0}}},
		"NoRecord": {reason: "The market of an old version without a record is not known; that of the wanted one is.", edit: markets("", ""), want: bounds{[2]int{3, 4}, [2]int{0, 1}, [2]int{3, 3}}},
		"Advance":  {reason: "A Capacity Block is paid for in advance.", edit: markets("capacity-block", "on-demand"), unknown: "the capacity is bought in advance"},
		"Mixed":    {reason: "The shares of a policy are of the whole group.", edit: mixed(1, 34), want: bounds{[2]int{3, 3}, [2]int{0, 1}, [2]int{2, 3}}},
		"AllSpot":  {reason: "A policy may buy Spot Instances only.", edit: mixed(0, 0), want: bounds{}},
		"Weighted": {reason: "Shares of weighted capacity are not numbers of instances.", edit: mixed(1, 0, 1, 4), want: bounds{[2]int{0, 4}, [2]int{0, 1}, [2]int{0, 3}}},
		"NoTypes": {
			reason: "An earlier release recorded the types of the pool only.", unknown: "the instance types are not recorded yet",
			edit: func(pool *infrav1.AWSMachinePool, _ *infrav1.AWSLaunchConfig) {
				pool.Status.Instances[0].InstanceType, pool.Status.InstanceTypes = "", "m5.large, m5.xlarge"
			},
		},
		"OneType": {
			reason: "If there was one type only, all instances have it.", want: bounds{[2]int{3, 4}, [2]int{0, 1}, [2]int{3, 3}},
			edit: func(pool *infrav1.AWSMachinePool, _ *infrav1.AWSLaunchConfig) {
				pool.Status.Instances[0].InstanceType, pool.Status.InstanceTypes = "", "m5.large"
			},
		},
		"Fewer": {reason: "A status that lists fewer instances than it counts is not summed up.", edit: func(pool *infrav1.AWSMachinePool, _ *infrav1.AWSLaunchConfig) { pool.Status.Replicas = 9 }, unknown: "not all instances are recorded yet"},
		"Stopped": {reason: "A stopped instance of a warm pool is not charged for.", edit: func(pool *infrav1.AWSMachinePool, config *infrav1.AWSLaunchConfig) {
			markets("on-demand", "on-demand")(pool, config)
			pool.Status.Instances[1].LifecycleState, pool.Status.Replicas = "Warmed:Stopped", 3
		}, want: bounds{[2]int{3, 3}, [2]int{1, 1}, [2]int{2, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, config := &infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}
			pool.Status.Replicas = 4
			for _, version := range []string{"1", "2", "2", "2"} {
				pool.Status.Instances = append(pool.Status.Instances, infrav1.AWSMachinePoolInstanceStatus{LaunchTemplateVersion: version, InstanceType: "m5.large", AvailabilityZone: "a"})
			}
			config.Status.Version, config.Status.Resolved = 2, &infrav1.ResolvedLaunchConfig{Market: "on-demand"}
			tc.edit(pool, config)
			running, err := RunningOf(poolview.Objects{SelfManaged: pool, Config: config})
			if text := textOf(err); text != tc.unknown {
				t.Fatalf("%s RunningOf() error = %q, want %q", tc.reason, text, tc.unknown)
			}
			of := func(r Running) [2]int { return [2]int{r.LeastOnDemand, r.MostOnDemand} }
			if diff := cmp.Diff(tc.want, bounds{of(running.All), of(running.Versions[1]), of(running.Versions[2])}); diff != "" {
				t.Errorf("%s RunningOf() -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRunningOfManaged(t *testing.T) {
	t.Parallel()
	for capacity, want := range map[infrav1.ManagedMachinePoolCapacityType]int{infrav1.ManagedMachinePoolCapacityTypeOnDemand: 1, infrav1.ManagedMachinePoolCapacityTypeSpot: 0} {
		pool := &infrav1.AWSManagedMachinePool{Spec: infrav1.AWSManagedMachinePoolSpec{CapacityType: &capacity}}
		pool.Status.Instances = []infrav1.AWSMachinePoolInstanceStatus{{InstanceType: "m5.large"}}
		running, err := RunningOf(poolview.Objects{Managed: pool})
		if err != nil || running.All.LeastOnDemand != want || running.All.MostOnDemand != want || running.Versions[0].MostOnDemand != want {
			t.Errorf("A node group has one capacity type: %s got %+v, %v", capacity, running, err)
		}
	}
}
