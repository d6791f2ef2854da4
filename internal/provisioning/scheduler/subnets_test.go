package scheduler_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

const (
	subnetA = "subnet-0b2000000000000aa"
	subnetB = "subnet-0b2000000000000ab"
	subnetC = "subnet-0b2000000000000ac"
	vpc     = "vpc-0a10000000000000a"
)

var clusterTag = []ec2types.Tag{{Key: ptr.To("kubernetes.io/cluster/" + provisioningtest.Cluster), Value: ptr.To("owned")}}

// owns has the cluster own subnets, and no longer own others.
func owns(w *provisioningtest.World, yes, no []string) {
	w.Helper()
	if len(yes) > 0 {
		if _, err := w.EC2.CreateTags(w.Context(), &ec2.CreateTagsInput{Resources: yes, Tags: clusterTag}); err != nil {
			w.Fatal(err)
		}
	}
	if len(no) > 0 {
		if _, err := w.EC2.DeleteTags(w.Context(), &ec2.DeleteTagsInput{Resources: no, Tags: clusterTag}); err != nil {
			w.Fatal(err)
		}
	}
}

// smallSubnet creates a subnet with eleven addresses.
func smallSubnet(w *provisioningtest.World, zone, block string) string {
	w.Helper()
	made, err := w.EC2.CreateSubnet(w.Context(), &ec2.CreateSubnetInput{
		VpcId: ptr.To(vpc), AvailabilityZone: &zone, CidrBlock: &block, TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSubnet, Tags: clusterTag}},
	})
	if err != nil {
		w.Fatal(err)
	}
	return *made.Subnet.SubnetId
}

// fill takes all addresses of a small subnet, and returns how to give them back.
func fill(w *provisioningtest.World, subnet string) (free func()) {
	w.Helper()
	images, err := w.EC2.DescribeImages(w.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: ptr.To("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-1.36-*"}}}})
	if err != nil || len(images.Images) == 0 {
		w.Fatalf("finding an image: %v", err)
	}
	run, err := w.EC2.RunInstances(w.Context(), &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: "t3.micro", SubnetId: &subnet, MinCount: ptr.To[int32](11), MaxCount: ptr.To[int32](11),
	})
	if err != nil {
		w.Fatal(err)
	}
	return func() {
		var ids []string
		for i := range run.Instances {
			ids = append(ids, *run.Instances[i].InstanceId)
		}
		if _, err := w.EC2.TerminateInstances(w.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids}); err != nil {
			w.Fatal(err)
		}
	}
}

// nodesOf counts the instances that were launched for ProvisionedNodes.
func nodesOf(w *provisioningtest.World) int {
	w.Helper()
	count := 0
	for _, instance := range w.Instances() {
		for _, tag := range instance.Tags {
			if *tag.Key == "slipway.provisioning.karpenter.sh/provisioner" {
				count++
			}
		}
	}
	return count
}

// told fails the test unless a pod has one event with all of the parts, and none that blames AWS
// although it was not asked.
func told(w *provisioningtest.World, pod string, parts ...string) {
	w.Helper()
	if got := w.Told(append([]string{"NoNodeLaunched " + pod + ":"}, parts...)...); len(got) != 1 {
		w.Errorf("pod %s is not told once of %q; events are %q", pod, parts, w.Events())
	}
	if got := w.Told("NoNodeLaunched "+pod+":", "does not sell"); len(got) != 0 {
		w.Errorf("pod %s is told %q", pod, got)
	}
}

func subnetsReady(w *provisioningtest.World, provisioner string) bool {
	w.Helper()
	return meta.IsStatusConditionTrue(w.Provisioner(provisioner).Status.Conditions, provisioningv1.SubnetsReadyCondition)
}

// soon lets pass what it may take until a change in AWS is noticed, and a node is launched.
func soon(w *provisioningtest.World) {
	w.Helper()
	w.Settle()
	w.Advance(11 * time.Second)
	w.Advance(3 * time.Second)
}

// TestZonesWithoutSubnets holds that a Provisioner whose limits allow no zone with a subnet says
// so, as does its pod, which asked for no zone. It launches within seconds after there is a subnet.
func TestZonesWithoutSubnets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		limit  func(*provisioningv1.ProvisionerSpec)
	}{
		{"zones", func(spec *provisioningv1.ProvisionerSpec) { spec.Zones = []string{"us-east-1b", "us-east-1f"} }},
		{"requirements", func(spec *provisioningv1.ProvisionerSpec) {
			spec.Requirements = []provisioningv1.Requirement{{Key: corev1.LabelTopologyZone, Operator: "NotIn", Values: []string{"us-east-1a", "us-east-1c"}}}
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			owns(w, nil, []string{subnetB})
			w.Provision("default", row.limit)
			w.Provision("other")
			w.Pod("one", provisioningtest.Of("default"))
			w.Settle()
			w.Advance(3 * time.Second)
			mustNotBeReady(w, "default", provisioningv1.SubnetsUnusableReason, "without a subnet")
			mustBeReady(w, "other", "with subnets")
			told(w, "one", "Provisioner default can launch no node", "us-east-1a and us-east-1c", "spec."+row.reason)
			if w.Calls("CreateFleet") != 0 {
				t.Errorf("a launch is tried")
			}
			owns(w, []string{subnetB}, nil)
			soon(w)
			mustBeReady(w, "default", "with a subnet")
			if nodesOf(w) != 1 {
				t.Errorf("%d nodes are launched; events are %q", nodesOf(w), w.Events())
			}
		})
	}
}

// TestPodInAZoneWithoutASubnet holds that a pod that asks for a zone without a subnet gets an event
// that says where there are subnets.
func TestPodInAZoneWithoutASubnet(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	owns(w, nil, []string{subnetB})
	w.Provision("default")
	w.Pod("one", selecting(corev1.LabelTopologyZone, "us-east-1b"))
	w.Settle()
	w.Advance(3 * time.Second)
	told(w, "one", "requires topology.kubernetes.io/zone: us-east-1b", "Provisioner default has subnets with free addresses only in us-east-1a or us-east-1c")
	mustBeReady(w, "default", "with two subnets")
}

// TestDeletedSubnets holds that a Provisioner whose subnets were deleted after they had been found
// is not Ready with the first launch that finds them gone, and is with others within seconds. Its
// message is not that AWS has no capacity.
func TestDeletedSubnets(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Settle()
	gone := func(subnets ...string) {
		t.Helper()
		for _, subnet := range subnets {
			if _, err := w.EC2.DeleteSubnet(w.Context(), &ec2.DeleteSubnetInput{SubnetId: ptr.To(subnet)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone(subnetA)
	w.Pod("zero")
	w.Settle()
	w.Advance(3 * time.Second)
	mustBeReady(w, "default", "with two subnets")
	if nodesOf(w) != 1 {
		t.Fatalf("%d nodes are launched; events are %q", nodesOf(w), w.Events())
	}
	other := subnetB
	for _, instance := range w.Instances() {
		if *instance.SubnetId == subnetB {
			other = subnetC
		}
	}
	owns(w, nil, []string{subnetB, subnetC})
	fresh := smallSubnet(w, "us-east-1a", "10.0.200.0/28")
	w.Advance(2 * time.Minute)
	gone(fresh)
	w.Pod("one", func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1a"}
	})
	w.Settle()
	mustNotBeReady(w, "default", provisioningv1.SubnetsUnusableReason, "without subnets")
	if len(w.Told("Warning SubnetsUnusable default:", "was not launched")) != 1 || len(w.Told("InsufficientCapacity")) != 0 {
		t.Errorf("events are %q", w.Events())
	}
	for _, offering := range w.Nodes.Shortages.List() {
		t.Errorf("%+v counts as short", offering)
	}
	smallSubnet(w, "us-east-1a", "10.0.200.16/28")
	owns(w, []string{other}, nil)
	soon(w)
	mustBeReady(w, "default", "with other subnets")
	if nodesOf(w) != 2 {
		t.Errorf("%d nodes are launched; events are %q", nodesOf(w), w.Events())
	}
}

// TestFullSubnets holds that a Provisioner all of whose subnets are full is not Ready, whether EC2
// says so when it describes them or when it should launch there. Within seconds after addresses are
// free it launches.
func TestFullSubnets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		before bool // the subnet is full when it is found
	}{{"described as full", true}, {"found full by a launch", false}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			subnet := smallSubnet(w, "us-east-1a", "10.0.200.0/28")
			var free func()
			if row.before {
				free = fill(w, subnet)
			}
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				spec.Subnets = []infrav1.AWSResourceReference{{ID: &subnet}}
			})
			w.Settle()
			if free == nil {
				mustBeReady(w, "default", "with addresses")
				free = fill(w, subnet)
			}
			w.Pod("one")
			w.Settle()
			w.Advance(3 * time.Second)
			mustNotBeReady(w, "default", provisioningv1.SubnetsUnusableReason, "without addresses")
			told(w, "one", "Provisioner default can launch no node: none of its subnets has a free IP address: "+subnet+" in us-east-1a")
			if len(w.Told("InsufficientCapacity")) != 0 || len(w.Nodes.Shortages.List()) != 0 {
				t.Errorf("%v counts as short, and events are %q", w.Nodes.Shortages.List(), w.Events())
			}
			calls := w.Calls("CreateFleet")
			w.Advance(time.Minute)
			if got := w.Calls("CreateFleet"); got != calls {
				t.Errorf("%d launches are tried", got-calls)
			}
			free()
			soon(w)
			mustBeReady(w, "default", "with addresses")
			if nodesOf(w) != 1 {
				t.Errorf("%d nodes are launched; events are %q", nodesOf(w), w.Events())
			}
		})
	}
}

// TestFullSubnetAmongOthers holds that a full subnet keeps nodes neither from other zones nor from
// a launch template that has a subnet of its own.
func TestFullSubnetAmongOthers(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	owns(w, nil, []string{subnetA, subnetC})
	subnet := smallSubnet(w, "us-east-1a", "10.0.200.0/28")
	fill(w, subnet)
	id := w.Template("own", profile)
	found, err := w.EC2.DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
	if err != nil {
		t.Fatal(err)
	}
	data := found.LaunchTemplateVersions[0].LaunchTemplateData
	_, err = w.EC2.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
		ImageId: data.ImageId, UserData: data.UserData,
		NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: ptr.To[int32](0), SubnetId: ptr.To(subnetC), Groups: data.SecurityGroupIds}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	full := func(spec *provisioningv1.ProvisionerSpec) {
		spec.Subnets = []infrav1.AWSResourceReference{{ID: &subnet}}
	}
	w.Provision("a")
	w.Provision("b", full)
	w.Provision("c", full, from("own", "m5.large"))
	w.Settle()
	mustBeReady(w, "a", "with one subnet of two")
	mustNotBeReady(w, "b", provisioningv1.SubnetsUnusableReason, "with a full subnet")
	mustBeReady(w, "c", "with a subnet of its launch template")
	w.Pod("one", provisioningtest.Of("a"))
	w.Pod("two", func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{provisioningv1.LabelProvisionerName: "a", corev1.LabelTopologyZone: "us-east-1a"}
	})
	w.Pod("three", provisioningtest.Of("c"))
	w.Settle()
	w.Advance(3 * time.Second)
	told(w, "two", "Provisioner a has subnets with free addresses only in us-east-1b")
	zones := map[string]int{}
	for _, node := range w.Provisioned() {
		zones[node.Spec.Provisioner+" in "+node.Status.Zone]++
	}
	if diff := cmp.Diff(map[string]int{"a in us-east-1b": 1, "c in us-east-1c": 1}, zones); diff != "" {
		t.Errorf("nodes are elsewhere:\n%s\nevents are %q", diff, w.Events())
	}
}

// TestNextProvisioner holds that a Provisioner that comes first by its weight and can launch
// nothing leaves its pods to the next, whatever it lacks.
func TestNextProvisioner(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		deny   string
		edit   func(*provisioningtest.World, *provisioningv1.ProvisionerSpec)
	}{
		{"a zone with a subnet", "", func(_ *provisioningtest.World, spec *provisioningv1.ProvisionerSpec) {
			spec.Zones = []string{"us-east-1f"}
		}},
		{"capacity", "", func(_ *provisioningtest.World, spec *provisioningv1.ProvisionerSpec) {
			spec.InstanceTypes = []string{"c5.large"}
		}},
		{"a sound launch template", "", func(w *provisioningtest.World, spec *provisioningv1.ProvisionerSpec) {
			changed(w, "broken", &ec2types.RequestLaunchTemplateData{KeyName: ptr.To("missing")})
			from("broken", "m5.large")(spec)
		}},
		{"a type with a feature", "", func(w *provisioningtest.World, spec *provisioningv1.ProvisionerSpec) {
			enclaves(w)
			from("enclave", "t3.large", "t3.xlarge")(spec)
		}},
		{"a default launch template that the caller may launch from",
			`,{"Effect":"Deny","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":"arn:aws:ec2:*:*:instance/*","Condition":{"StringEquals":{"aws:RequestTag/slipway.provisioning.karpenter.sh/provisioner":"heavy"}}}`,
			func(_ *provisioningtest.World, spec *provisioningv1.ProvisionerSpec) {
				spec.InstanceTypes = []string{"m5.large", "m5.xlarge"}
			}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{Behavior: shortOf("c5.large")})
			policy(w, row.deny)
			w.Provision("heavy", func(spec *provisioningv1.ProvisionerSpec) { row.edit(w, spec); spec.Weight = ptr.To[int32](50) })
			w.Provision("light")
			w.Settle()
			w.Pod("one")
			w.Settle()
			w.Advance(3 * time.Second)
			if nodes := w.Provisioned(); len(nodes) != 1 || nodes[0].Spec.Provisioner != "light" || len(w.Instances()) != 1 {
				t.Errorf("%d nodes are launched; events are %q", len(nodes), w.Events())
			}
			mustBeReady(w, "light", "which launches")
			if ready, _ := readiness(w, "heavy"); ready {
				t.Error("the other one is Ready")
			}
		})
	}
}

// TestTypesThatZonesDoNotOffer holds that a Provisioner is not Ready if AWS offers none of its
// instance types where its subnets are. Its pod reports that, and it launches within seconds after
// there is a subnet where AWS offers one.
func TestTypesThatZonesDoNotOffer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*provisioningtest.World, *provisioningv1.ProvisionerSpec)
	}{
		{"of the Provisioner", func(*provisioningtest.World, *provisioningv1.ProvisionerSpec) {}},
		{"of the launch template", func(w *provisioningtest.World, spec *provisioningv1.ProvisionerSpec) {
			changed(w, "typed", &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"})
			from("typed")(spec)
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			rare := *world.Default()
			rare.Regions = append([]world.Region{}, rare.Regions...)
			rare.Regions[0].NotOffered = []world.Absence{{InstanceType: "m5.large", Zones: []string{"us-east-1a", "us-east-1b"}}}
			w := provisioningtest.New(t, provisioningtest.Options{World: &rare})
			owns(w, nil, []string{subnetC})
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { row.edit(w, spec) })
			w.Pod("one")
			w.Settle()
			w.Advance(3 * time.Second)
			mustNotBeReady(w, "default", provisioningv1.TemplateUnusableReason, "where AWS offers none")
			if !subnetsReady(w, "default") {
				t.Error("its subnets are said not to be ready")
			}
			told(w, "one", "m5.large", "us-east-1a")
			owns(w, []string{subnetC}, nil)
			soon(w)
			mustBeReady(w, "default", "where AWS offers some")
			if nodesOf(w) != 1 {
				t.Errorf("%d nodes are launched; events are %q", nodesOf(w), w.Events())
			}
		})
	}
}
