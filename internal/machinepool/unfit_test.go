package machinepool

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// TestIncompatible holds what keeps a pool from launching from a launch config that is not written
// in the pool: the rules that the API server holds for awsLaunchTemplate.
func TestIncompatible(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		pool   func(*infrav1.AWSMachinePoolSpec)
		config func(*infrav1.AWSLaunchConfigSpec)
		says   string
	}{
		{reason: "it fits"},
		{reason: "another cluster's network", config: func(c *infrav1.AWSLaunchConfigSpec) { c.ClusterName = "two" }, says: `it belongs to Cluster "two"`},
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
			pool: func(p *infrav1.AWSMachinePoolSpec) { p.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{} }, says: "it requests Spot Instances, but the pool has mixedInstancesPolicy",
		},
		{
			reason: "a block is of one type", config: func(c *infrav1.AWSLaunchConfigSpec) { c.MarketType = infrav1.MarketTypeCapacityBlock },
			pool: func(p *infrav1.AWSMachinePoolSpec) { p.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{} }, says: "Capacity Block, which cannot",
		},
		{
			reason: "warm pools are On-Demand", config: func(c *infrav1.AWSLaunchConfigSpec) { c.MarketType = infrav1.MarketTypeSpot },
			pool: func(p *infrav1.AWSMachinePoolSpec) { p.WarmPool = &infrav1.WarmPool{} }, says: "it requests Spot Instances or a Capacity Block, which the warmPool of the pool does not support",
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
			}, says: "it specifies a Capacity Reservation, which capacityReservation of the pool overrides",
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
			}, says: "cannot run in the Capacity Reservation",
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := input{Object: &infrav1.AWSMachinePool{}, Seen: Observed{MachinePool: &clusterv1.MachinePool{}}}
			in.Seen.MachinePool.Spec.ClusterName = "one"
			config := infrav1.AWSLaunchConfigSpec{ClusterName: "one"}
			config.InstanceType = "t3.large"
			if row.pool != nil {
				row.pool(&in.Object.Spec)
			}
			if row.config != nil {
				row.config(&config)
			}
			if got := incompatible(in, &config); (got == "") != (row.says == "") || !strings.Contains(got, row.says) {
				t.Errorf("it says %q, want %q", got, row.says)
			}
		})
	}
}

// TestConfigTag holds that a group is tagged with the launch config that it launches from, so that
// no controller deletes a version that the group uses.
func TestConfigTag(t *testing.T) {
	t.Parallel()
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
		in := readyInput(func(status *infrav1.AWSLaunchConfigStatus) {
			status.LaunchTemplateID = "lt-1"
			if !row.ready {
				status.Conditions[0].Status = metav1.ConditionFalse
			}
		})
		in.Seen.ClusterName = "one"
		in.Object.Namespace, in.Object.Name, in.Object.Spec.LaunchConfigRef = "ns", "pool", nil
		if row.reference != "" {
			in.Object.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: row.reference}
		}
		if row.present != "" {
			in.Seen.Group = &autoscalinggroup.Group{LaunchTemplateID: "lt-1", Tags: map[string]string{infrav1.TagLaunchConfig: row.present}}
		}
		if row.settling {
			in.Seen.Settings.SettleWindow = time.Minute
		}
		if got := configTag(in); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
