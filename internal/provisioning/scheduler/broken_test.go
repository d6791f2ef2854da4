package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestTemplatesThatNameWhatDoesNotExist holds that a Provisioner whose launch template names what
// does not exist is not Ready, before and after a pod waits for it; another one launches the same
// types; and within seconds after the launch template names it no longer, the pod has its node.
func TestTemplatesThatNameWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, says string
		data         ec2types.RequestLaunchTemplateData
	}{
		{"key pair", "InvalidKeyPair.NotFound", ec2types.RequestLaunchTemplateData{KeyName: ptr.To("missing")}},
		{"security group", "sg-0123456789abcdef0", ec2types.RequestLaunchTemplateData{SecurityGroupIds: []string{"sg-0123456789abcdef0"}}},
		{"instance profile", "missing", ec2types.RequestLaunchTemplateData{IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: ptr.To("missing")}}},
		{"placement group", "InvalidPlacementGroup.Unknown", ec2types.RequestLaunchTemplateData{Placement: &ec2types.LaunchTemplatePlacementRequest{GroupName: ptr.To("missing")}}},
		{"snapshot", "snap-0123456789abcdef0", ec2types.RequestLaunchTemplateData{BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMappingRequest{
			{DeviceName: ptr.To("/dev/sdf"), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{SnapshotId: ptr.To("snap-0123456789abcdef0")}},
		}}},
		{"image", "ami-0123456789abcdef0", ec2types.RequestLaunchTemplateData{ImageId: ptr.To("ami-0123456789abcdef0")}},
		{"subnet", "subnet-0123456789abcdef0", ec2types.RequestLaunchTemplateData{
			NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: ptr.To[int32](0), SubnetId: ptr.To("subnet-0123456789abcdef0")}},
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			changed(w, "broken", &row.data)
			w.Provision("a-broken", from("broken", "m5.large", "m5.xlarge"))
			w.Provision("b-sound", func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = []string{"m5.large", "m5.xlarge"} })
			w.Settle()
			mustNotBeReady(w, "a-broken", provisioningv1.TemplateUnusableReason, "without pods")
			w.Pod("one", provisioningtest.Of("a-broken"))
			w.Settle()
			w.Pod("two", provisioningtest.Of("b-sound"))
			w.Settle()
			w.Advance(3 * time.Second)
			mustNotBeReady(w, "a-broken", provisioningv1.TemplateUnusableReason, "with a pod")
			mustBeReady(w, "b-sound", "with a pod")
			if got := len(w.Instances()); got != 1 || w.Calls("CreateFleet") != 1 {
				t.Errorf("%d instances run after %d launches; events are %q", got, w.Calls("CreateFleet"), w.Events())
			}
			if told := w.Told("NoNodeLaunched one:", row.says); len(told) != 1 {
				t.Errorf("the pod is told %q", w.Events())
			}
			if _, short := w.Provisioning.Shortages.Next(); short {
				t.Error("something counts as short")
			}
			found, err := w.EC2.DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"broken"}})
			if err != nil {
				t.Fatal(err)
			}
			version(w, *found.LaunchTemplates[0].LaunchTemplateId, &ec2types.RequestLaunchTemplateData{EbsOptimized: ptr.To(true)})
			w.Advance(11 * time.Second)
			w.Advance(3 * time.Second)
			mustBeReady(w, "a-broken", "when it is mended")
			if got := len(w.Instances()); got != 2 {
				t.Errorf("when it is mended, %d instances run; events are %q", got, w.Events())
			}
		})
	}
}

// policy lets the controllers do everything but what a statement denies.
func policy(w *provisioningtest.World, deny string) {
	w.Helper()
	documents := []string{`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}` + deny + `]}`}
	if deny == "" {
		documents = nil
	}
	if err := w.Sim.SetPolicies("AKIASLIPWAY0"+provisioningtest.Account, documents...); err != nil {
		w.Fatal(err)
	}
}

// TestPoliciesOfInstanceTypes holds that a policy that allows only some instance types does not
// affect others: a Provisioner within it is Ready and launches. A pod that asks for another type
// gets the reason, and the Provisioner stays Ready. A Provisioner that allows only forbidden types
// is not Ready, and is within seconds after the policy allows them.
func TestPoliciesOfInstanceTypes(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Template("shared", profile)
	deny := func(types string) string {
		return fmt.Sprintf(`,{"Effect":"Deny","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":"arn:aws:ec2:*:*:instance/*","Condition":{"StringLike":{"ec2:InstanceType":%s}}}`, types)
	}
	policy(w, deny(`["t*"]`))
	w.Provision("a", from("shared"), requiring(provisioningv1.Requirement{Key: "karpenter.k8s.aws/instance-category", Operator: "In", Values: []string{"m"}}), func(spec *provisioningv1.ProvisionerSpec) {
		spec.LaunchTemplateRef = &provisioningv1.LaunchTemplateReference{Name: "shared"}
	})
	w.Provision("b", from("shared", "t3.large"))
	w.Provision("c", from("shared", "t3.large", "m5.large"))
	w.Settle()
	mustBeReady(w, "a", "without pods")
	mustNotBeReady(w, "b", infrav1.AccessDeniedReason, "without pods")
	mustBeReady(w, "c", "without pods")
	w.Pod("one", provisioningtest.Of("a"))
	w.Pod("two", provisioningtest.Of("b"))
	w.Pod("three", provisioningtest.Of("c"), func(pod *corev1.Pod) { pod.Spec.NodeSelector["node.kubernetes.io/instance-type"] = "t3.large" })
	for range 3 {
		w.Settle()
		w.Advance(3 * time.Second)
	}
	mustBeReady(w, "a", "with pods")
	mustNotBeReady(w, "b", infrav1.AccessDeniedReason, "with pods")
	mustBeReady(w, "c", "with pods")
	if got := len(w.Instances()); got != 1 {
		t.Errorf("%d instances run; events are %q", got, w.Events())
	}
	for _, pod := range []string{"two", "three"} {
		if told := w.Told("NoNodeLaunched "+pod+":", "UnauthorizedOperation"); len(told) != 1 {
			t.Errorf("pod %s is told %q", pod, told)
		}
	}
	policy(w, "")
	w.Advance(11 * time.Second)
	w.Advance(3 * time.Second)
	mustBeReady(w, "b", "when the policy allows it")
	if got := typesOf(w); got["t3.large"] != 2 {
		t.Errorf("instances of %v run; events are %q", got, w.Events())
	}
}

// TestPolicyOfMarkets holds that a policy that forbids Spot Instances has On-Demand Instances
// launched where both are allowed. A pod that asks for a Spot Instance gets the reason, and keeps
// no other from its node.
func TestPolicyOfMarkets(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	policy(w, `,{"Effect":"Deny","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":"arn:aws:ec2:*:*:instance/*","Condition":{"StringEquals":{"ec2:InstanceMarketType":"spot"}}}`)
	w.Provision("default", buying("spot", "on-demand"))
	w.Settle()
	w.Pod("spot", selecting(provisioningv1.LabelCapacityType, "spot"))
	w.Settle()
	w.Advance(3 * time.Second)
	mustBeReady(w, "default", "with a pod that cannot have a node")
	w.Pod("one")
	w.Settle()
	w.Advance(3 * time.Second)
	mustBeReady(w, "default", "with another pod")
	if got := markets(w); len(got) != 1 || got[0] != "on-demand" {
		t.Errorf("instances are %q; events are %q", got, w.Events())
	}
	if told := w.Told("NoNodeLaunched spot:", "UnauthorizedOperation"); len(told) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
}
