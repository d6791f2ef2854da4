package awsmachinepool

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// TestUnfit holds what keeps a pool from launching from a launch config that is not written in the pool: the rules that the API server holds for
// awsLaunchTemplate.
func TestUnfit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		pool   func(*infrav1.AWSMachinePoolSpec)
		config func(*infrav1.AWSLaunchConfigSpec)
		says   string
	}{
		{reason: "it fits"},
		{reason: "another cluster's network", config: func(c *infrav1.AWSLaunchConfigSpec) { c.ClusterName = "two" }, says: `of Cluster "two"`},
		{reason: "user data for EKS", config: func(c *infrav1.AWSLaunchConfigSpec) { c.Nodegroup = &infrav1.LaunchConfigNodegroup{} }, says: "managed node group"},
		{reason: "no type anywhere", config: func(c *infrav1.AWSLaunchConfigSpec) { c.InstanceType = "" }, says: "no instance type"},
		{
			reason: "types in overrides", config: func(c *infrav1.AWSLaunchConfigSpec) { c.InstanceType = "" },
			pool: func(p *infrav1.AWSMachinePoolSpec) {
				p.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}}}
			},
		},
		{
			reason: "Auto Scaling buys Spot itself", config: func(c *infrav1.AWSLaunchConfigSpec) { c.SpotMarketOptions = &infrav1.SpotMarketOptions{} },
			pool: func(p *infrav1.AWSMachinePoolSpec) { p.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{} }, says: "asks for Spot Instances, which mixedInstancesPolicy",
		},
		{
			reason: "a block is of one type", config: func(c *infrav1.AWSLaunchConfigSpec) { c.MarketType = infrav1.MarketTypeCapacityBlock },
			pool: func(p *infrav1.AWSMachinePoolSpec) { p.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{} }, says: "Capacity Block, which can not",
		},
		{
			reason: "warm pools are On-Demand", config: func(c *infrav1.AWSLaunchConfigSpec) { c.MarketType = infrav1.MarketTypeSpot },
			pool: func(p *infrav1.AWSMachinePoolSpec) { p.WarmPool = &infrav1.WarmPool{} }, says: "the pool has a warmPool",
		},
		{
			reason: "instances hibernate that were launched for it", pool: func(p *infrav1.AWSMachinePoolSpec) { p.WarmPool = &infrav1.WarmPool{State: "Hibernated"} },
			says: "its instances cannot hibernate",
		},
		{
			reason: "and these were", pool: func(p *infrav1.AWSMachinePoolSpec) { p.WarmPool = &infrav1.WarmPool{State: "Hibernated"} },
			config: func(c *infrav1.AWSLaunchConfigSpec) {
				c.HibernationOptions = &infrav1.HibernationOptions{Configured: true}
			},
		},
		{
			reason: "instances read S3 with a profile", pool: func(p *infrav1.AWSMachinePoolSpec) { p.BootstrapStorage = infrav1.BootstrapStorageS3 },
			says: "no iamInstanceProfile",
		},
		{
			reason: "with one they can", pool: func(p *infrav1.AWSMachinePoolSpec) { p.BootstrapStorage = infrav1.BootstrapStorageS3 },
			config: func(c *infrav1.AWSLaunchConfigSpec) { c.IamInstanceProfile = "nodes" },
		},
		{
			reason: "a parameter is looked up at each launch", config: func(c *infrav1.AWSLaunchConfigSpec) {
				c.Existing, c.AMI.ID = &infrav1.ExistingLaunchTemplate{}, ptr.To("resolve:ssm:/golden")
			}, says: "set refreshPreferences.skipMatching to false",
		},
		{
			reason: "where nothing is compared it is of no matter", config: func(c *infrav1.AWSLaunchConfigSpec) {
				c.Existing, c.AMI.ID = &infrav1.ExistingLaunchTemplate{}, ptr.To("resolve:ssm:/golden")
			}, pool: func(p *infrav1.AWSMachinePoolSpec) {
				p.RefreshPreferences = &infrav1.RefreshPreferences{SkipMatching: ptr.To(false)}
			},
		},
		{
			reason: "one that a spec names is resolved first", config: func(c *infrav1.AWSLaunchConfigSpec) { c.AMI.ID = ptr.To("resolve:ssm:/golden") },
		},
		{
			reason: "two reservations", config: func(c *infrav1.AWSLaunchConfigSpec) { c.CapacityReservationID = ptr.To("cr-1") },
			pool: func(p *infrav1.AWSMachinePoolSpec) {
				p.CapacityReservation = &infrav1.GroupCapacityReservation{Preference: "none"}
			}, says: "overrules",
		},
		{
			reason: "the group leaves it to the template", config: func(c *infrav1.AWSLaunchConfigSpec) { c.CapacityReservationID = ptr.To("cr-1") },
			pool: func(p *infrav1.AWSMachinePoolSpec) {
				p.CapacityReservation = &infrav1.GroupCapacityReservation{Preference: "default"}
			},
		},
		{
			reason: "Spot runs in no reservation", config: func(c *infrav1.AWSLaunchConfigSpec) { c.MarketType = infrav1.MarketTypeSpot },
			pool: func(p *infrav1.AWSMachinePoolSpec) {
				p.CapacityReservation = &infrav1.GroupCapacityReservation{Preference: "capacity-reservations-only"}
			}, says: "can not run in the Capacity Reservation",
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p := &pass{pool: &infrav1.AWSMachinePool{}, machinePool: &clusterv1.MachinePool{}}
			p.machinePool.Spec.ClusterName = "one"
			config := infrav1.AWSLaunchConfigSpec{ClusterName: "one"}
			config.InstanceType = "t3.large"
			if row.pool != nil {
				row.pool(&p.pool.Spec)
			}
			if row.config != nil {
				row.config(&config)
			}
			if got := unfit(p, &config); (got == "") != (row.says == "") || !strings.Contains(got, row.says) {
				t.Errorf("it says %q, want %q", got, row.says)
			}
		})
	}
}

// TestConfigTag holds which launch config a group is tagged with: the one that it launches from, so that nobody deletes a version under it.
func TestConfigTag(t *testing.T) {
	t.Parallel()
	config := &infrav1.AWSLaunchConfig{}
	for _, row := range []struct {
		reason    string
		reference string
		ready     bool
		settling  bool
		present   string
		want      string
	}{
		{"the pool's own", "", true, false, "", "ns/one/pool"},
		{"a new group", "b", true, false, "", "ns/one/b"},
		{"another is ready", "b", true, false, "ns/one/a", "ns/one/b"},
		{"another is not ready", "b", false, false, "ns/one/a", "ns/one/a"},
		{"edits settle", "b", true, true, "ns/one/a", "ns/one/a"},
	} {
		p := &pass{pool: &infrav1.AWSMachinePool{}, clusterName: "one", settling: row.settling}
		p.pool.Namespace, p.pool.Name = "ns", "pool"
		if row.reference != "" {
			p.pool.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: row.reference}
		}
		if row.ready {
			p.config = config
		}
		if row.present != "" {
			p.group = &autoscalinggroup.Group{Tags: map[string]string{infrav1.TagLaunchConfig: row.present}}
		}
		if got := p.configTag(); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
