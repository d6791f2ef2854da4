package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

func buying(markets ...string) func(*provisioningv1.ProvisionerSpec) {
	return func(spec *provisioningv1.ProvisionerSpec) {
		spec.Requirements = []provisioningv1.Requirement{{Key: provisioningv1.LabelCapacityType, Operator: "In", Values: markets}}
	}
}

// markets returns how the running nodes were bought.
func markets(w *provisioningtest.World) (all []string) {
	w.Helper()
	for _, instance := range w.Instances() {
		market := "on-demand"
		if instance.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot {
			market = "spot"
		}
		all = append(all, market)
	}
	return all
}

// TestNoRoleForSpotInstances holds that in an account without the role for Spot Instances, nodes
// are On-Demand Instances where both are allowed, of whatever type; a Provisioner that allows Spot
// Instances alone is not Ready and says what to do. Soon after the role can be created there are
// Spot Instances.
func TestNoRoleForSpotInstances(t *testing.T) {
	t.Parallel()
	without := *world.Default()
	without.Roles = slices.DeleteFunc(slices.Clone(without.Roles), func(role world.Role) bool { return role.Name == "AWSServiceRoleForEC2Spot" })
	w := provisioningtest.New(t, provisioningtest.Options{World: &without})
	policy(w, `,{"Effect":"Deny","Action":"iam:CreateServiceLinkedRole","Resource":"*"}`)
	w.Provision("both", buying("spot", "on-demand"))
	w.Provision("spot", buying("spot"))
	w.Settle()
	w.Pod("one", provisioningtest.Of("both"))
	w.Settle()
	w.Advance(3 * time.Second)
	mustBeReady(w, "both", "with On-Demand Instances")
	if got := markets(w); !slices.Equal(got, []string{"on-demand"}) || w.Calls("CreateFleet") > 2 {
		t.Errorf("instances are %q after %d launches; events are %q", got, w.Calls("CreateFleet"), w.Events())
	}
	w.Pod("two", provisioningtest.Of("spot"))
	w.Settle()
	w.Advance(3 * time.Second)
	mustNotBeReady(w, "spot", infrav1.AccessDeniedReason, "without the role")
	mustBeReady(w, "both", "with On-Demand Instances")
	if got := w.Told("NoNodeLaunched two:", "service-linked role for EC2 Spot Instances"); len(got) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
	for range 4 {
		w.Advance(20 * time.Second)
		mustNotBeReady(w, "spot", infrav1.AccessDeniedReason, "later")
	}
	policy(w, "")
	w.Advance(16 * time.Second)
	w.Advance(3 * time.Second)
	mustBeReady(w, "spot", "with the role")
	if got := markets(w); !slices.Equal(got, []string{"on-demand", "spot"}) && !slices.Equal(got, []string{"spot", "on-demand"}) {
		t.Errorf("instances are %q; events are %q", got, w.Events())
	}
}

// TestCallsRefusedForCapacity holds that a call that EC2 refuses for lack of Spot capacity is not
// repeated: the pod gets an On-Demand Instance, and nothing is held against the launch template.
func TestCallsRefusedForCapacity(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		code, message string
		status, times int // a failure of the server is repeated by the SDK
	}{
		{"MaxSpotInstanceCountExceeded", "Max spot instance count exceeded", 400, 1},
		{"UnfulfillableCapacity", "Unable to fulfill capacity due to your request configuration.", 400, 1},
		{"InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.", 500, 3},
		{"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.", 403, 1},
		{"SpotMaxPriceTooLow", "Your Spot request price is lower than the minimum required.", 400, 1},
	} {
		t.Run(row.code, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default", buying("spot", "on-demand"))
			w.Settle()
			if _, err := w.Sim.AddFault(awssim.Fault{Action: "CreateFleet", Count: row.times, Code: row.code, Message: row.message, Status: row.status}); err != nil {
				t.Fatal(err)
			}
			w.Pod("one")
			w.Settle()
			w.Advance(3 * time.Second)
			if got := markets(w); !slices.Equal(got, []string{"on-demand"}) || w.Calls("CreateFleet") != row.times+1 {
				t.Errorf("instances are %q after %d launches; events are %q", got, w.Calls("CreateFleet"), w.Events())
			}
			mustBeReady(w, "default", "with On-Demand Instances")
		})
	}
}

// TestCallRefusedForASubnet holds that a call that EC2 refuses because of one subnet leaves that
// subnet alone, and the node is launched in another.
func TestCallRefusedForASubnet(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Settle()
	if _, err := w.Sim.AddFault(awssim.Fault{Action: "CreateFleet", Count: 1, Code: "InvalidSubnetID.NotFound", Message: "The subnet ID '" + subnetA + "' does not exist"}); err != nil {
		t.Fatal(err)
	}
	w.Pod("one")
	w.Settle()
	w.Advance(3 * time.Second)
	if got := w.Instances(); len(got) != 1 || *got[0].SubnetId == subnetA || w.Calls("CreateFleet") != 2 {
		t.Errorf("%d instances run after %d launches; events are %q", len(got), w.Calls("CreateFleet"), w.Events())
	}
	mustBeReady(w, "default", "with two subnets")
}

// TestQuotaOfAFamily holds that when a quota of vCPUs is used up, instances of other families are
// launched, after one try. A Provisioner that allows none is not Ready and says so, as the event of
// its pod does; others are Ready.
func TestQuotaOfAFamily(t *testing.T) {
	t.Parallel()
	bound := *world.Default()
	bound.Quotas = map[string]int{world.QuotaOfGroup(world.QuotaOnDemandVCPUs, "m5.large"): 2}
	w := provisioningtest.New(t, provisioningtest.Options{World: &bound})
	w.Provision("any", func(spec *provisioningv1.ProvisionerSpec) {
		spec.InstanceTypes = []string{"m5.large", "c5.large", "r5.large", "m5.xlarge", "c6i.xlarge", "g4dn.xlarge"}
	})
	w.Provision("standard", func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = []string{"m5.large", "r5.large"} })
	w.Settle()
	w.Pod("one", provisioningtest.Of("any"))
	w.Settle()
	w.Pod("two", provisioningtest.Of("any"))
	w.Settle()
	w.Advance(3 * time.Second)
	if got := typesOf(w); got["g4dn.xlarge"] != 1 || len(got) != 2 || w.Calls("CreateFleet") > 3 {
		t.Errorf("instances of %v run after %d launches; events are %q", got, w.Calls("CreateFleet"), w.Events())
	}
	w.Pod("three", provisioningtest.Of("standard"))
	w.Settle()
	w.Advance(3 * time.Second)
	mustBeReady(w, "any", "with another family")
	mustNotBeReady(w, "standard", infrav1.QuotaExceededReason, "with no other family")
	if got := w.Told("NoNodeLaunched three:", "vCPU limit"); len(got) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
	for _, instance := range w.Instances() {
		if instance.InstanceType != "g4dn.xlarge" {
			if _, err := w.EC2.TerminateInstances(w.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*instance.InstanceId}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5 {
		w.Advance(time.Minute)
	}
	mustBeReady(w, "standard", "with vCPUs left")
}

// TestNoCapacityAtAll holds that a Provisioner is not Ready for as long as AWS has none of its
// instances, without going to and fro, and says so.
func TestNoCapacityAtAll(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{Behavior: shortOf("m5.large")})
	w.Provision("default")
	w.Provision("other", func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = []string{"m5.large", "c5.large"} })
	w.Settle()
	mustBeReady(w, "default", "before a launch")
	w.Pod("one", provisioningtest.Of("default"))
	w.Settle()
	for range 40 {
		w.Advance(10 * time.Second)
		mustNotBeReady(w, "default", provisioningv1.InsufficientCapacityReason, "while AWS has none")
		mustBeReady(w, "other", "with another type")
	}
	if got := w.Calls("CreateFleet"); got < 2 || got > 4 {
		t.Errorf("%d launches are tried within seven minutes", got)
	}
}
