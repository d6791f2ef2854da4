package provisioner

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/permissions"
)

// TestClusterEndpoints holds that EKS is asked how nodes join where the provisioner does not say,
// by a permission of its own.
func TestClusterEndpoints(t *testing.T) {
	w := newWorldWith(t, options{features: []permissions.Feature{permissions.ClusterEndpoints}})
	err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).SetCluster(awssim.Cluster{
		Name: cluster, Version: "1.36", Subnets: []string{"subnet-0b2000000000000aa", "subnet-0b2000000000000ab"},
		Endpoint: "https://asked.example.com", CertificateAuthority: "YXV0aG9yaXR5",
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Apply("apiVersion: provisioning.karpenter.sh/v1alpha2\nkind: Provisioner\nmetadata: {name: default}\nspec: {cluster: {name: " + cluster + "}}\n")
	w.pod("one")
	w.readyNodes(1)
	launched := w.provisioned()[0].Spec.LaunchTemplate
	found, err := w.ec2().DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &launched.ID})
	if err != nil {
		t.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(*found.LaunchTemplateVersions[0].LaunchTemplateData.UserData)
	if err != nil {
		t.Fatal(err)
	}
	for _, fact := range []string{"https://asked.example.com", "YXV0aG9yaXR5"} {
		if !strings.Contains(string(data), fact) {
			t.Errorf("user data does not have %s:\n%s", fact, data)
		}
	}
}

// TestProvisionedNodeNeverChanges holds that the API server refuses another spec: what is launched
// twice with it must be launched once.
func TestProvisionedNodeNeverChanges(t *testing.T) {
	w := newWorld(t)
	w.provision("default")
	w.pod("one")
	w.readyNodes(1)
	for reason, edit := range map[string]func(*provisioningv1.ProvisionedNode){
		"how it is bought":   func(node *provisioningv1.ProvisionedNode) { node.Spec.CapacityType = provisioningv1.CapacityTypeSpot },
		"what it is part of": func(node *provisioningv1.ProvisionedNode) { node.Spec.Launch.Nodes++ },
		"a label":            func(node *provisioningv1.ProvisionedNode) { node.Spec.Labels["team"] = "web" },
	} {
		node := w.provisioned()[0]
		before := node.DeepCopy()
		edit(&node)
		if err := w.Client.Patch(t.Context(), &node, client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), "spec.launch is immutable") {
			t.Errorf("%s: the API server says %v", reason, err)
		}
	}
}

// TestLaunchConfigRef holds that nodes are launched from the launch template of an AWSLaunchConfig,
// and what the provisioner says until there is one.
func TestLaunchConfigRef(t *testing.T) {
	w := newWorld(t)
	id := w.template("web", w.image("x86_64"))
	w.provision("default", fmt.Sprintf("launchConfigRef: {namespace: %s, name: web}", w.Namespace))
	says := func(words string) {
		t.Helper()
		w.Eventually("the provisioner says that it "+words, func() error {
			condition := w.condition(provisioningv1.LaunchTemplatesReadyCondition)
			if condition == nil || condition.Reason != provisioningv1.LaunchConfigUnavailableReason || !strings.Contains(condition.Message, words) {
				return fmt.Errorf("it says %+v", condition)
			}
			return nil
		})
	}
	says("does not exist")
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "web"}}
	config.Spec.ClusterName = cluster
	if err := w.Client.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	says("has no launch template yet")
	if _, err := w.ec2().CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{
		{Key: aws.String(infrav1.TagLaunchConfig), Value: aws.String(w.Namespace + "/" + cluster + "/web")},
	}}); err != nil {
		t.Fatal(err)
	}
	// as its controller does, in the management cluster
	config.Status.LaunchTemplateID, config.Status.Version = id, 1
	if err := w.Client.Status().Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w.pod("one")
	w.readyNodes(1)
	if launched := w.launchedFrom(); !slices.Equal(launched, []string{id + ":1 x86_64"}) {
		t.Errorf("the instance is launched from %q", launched)
	}
}

// TestOldSpellings holds that labels of before March 2021 are read, are put on no node, and are
// reported.
func TestOldSpellings(t *testing.T) {
	w := newWorld(t)
	id := w.template("web", w.image("x86_64"))
	w.provision("default", "labels: {kubernetes.amazonaws.com/launchTemplateId: "+id+", kubernetes.amazonaws.com/capacityType: spot}")
	w.pod("one")
	node := w.readyNodes(1)[0]
	for key := range node.Labels {
		if strings.HasPrefix(key, "kubernetes.amazonaws.com/") {
			t.Errorf("the node has the label %s", key)
		}
	}
	if launched := w.launchedFrom(); !slices.Equal(launched, []string{id + ":1 x86_64"}) || node.Labels[provisioningv1.LabelCapacityType] != "spot" {
		t.Errorf("the instance is launched from %q, as %s", launched, node.Labels[provisioningv1.LabelCapacityType])
	}
	condition := w.condition(provisioningv1.SpellingsCurrentCondition)
	if condition == nil || condition.Status != metav1.ConditionFalse {
		t.Fatalf("the provisioner says %+v", condition)
	}
	for _, words := range []string{"kubernetes.amazonaws.com/launchTemplateId is now spec.launchTemplateRef.id", "kubernetes.amazonaws.com/capacityType is now node.k8s.aws/capacity-type"} {
		if !strings.Contains(condition.Message, words) {
			t.Errorf("it does not say %q: %s", words, condition.Message)
		}
	}
}

// TestWithoutTemplateAPIs holds that nodes are launched while none of EC2's calls about launch
// templates works, from templates that were known before, however long ago.
func TestWithoutTemplateAPIs(t *testing.T) {
	w := newWorld(t)
	w.template("web", w.image("x86_64"))
	w.provision("default", "instanceTypes: [m5.large]")
	w.provision("named", "instanceTypes: [m5.large]", "allowedLaunchTemplates: {names: [web]}")
	// or the scheduler may give it a node of web
	plain := selecting(provisioningv1.LabelProvisionerName, "default")
	named := selecting(provisioningv1.LabelProvisionerName, "named", provisioningv1.LabelLaunchTemplateName, "web")
	w.pod("default-1", plain, asking("1500m", "1Gi"))
	w.pod("web-1", named, asking("1500m", "1Gi"))
	w.readyNodes(2)
	again := w.noTemplateAPIs()
	defer again()  // the provisioner deletes its template in the end
	w.sleep("20m") // nothing that was read still counts as new
	w.pod("default-2", plain, asking("1500m", "1Gi"))
	w.pod("web-2", named, asking("1500m", "1Gi"))
	w.readyNodes(4)
	w.Eventually("the status says how it launches", func() error {
		provisioner := &provisioningv1.Provisioner{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
			return err
		}
		if !slices.ContainsFunc(provisioner.Status.LaunchTemplates, func(one provisioningv1.ResolvedLaunchTemplate) bool {
			return one.Generated && strings.Contains(one.Message, "the last known version")
		}) {
			return fmt.Errorf("launch templates are %+v", provisioner.Status.LaunchTemplates)
		}
		return nil
	})
}

// TestSpot holds that Spot Instances are bought where they are cheap and likely to last.
func TestSpot(t *testing.T) {
	w := newWorld(t)
	w.provision("default", spot...)
	w.pod("one")
	node := w.readyNodes(1)[0]
	instance := w.instances()[0]
	if instance.InstanceLifecycle != ec2types.InstanceLifecycleTypeSpot || node.Labels[provisioningv1.LabelCapacityType] != "spot" {
		t.Errorf("the instance is bought as %q, and its node says %q", instance.InstanceLifecycle, node.Labels[provisioningv1.LabelCapacityType])
	}
	at := slices.IndexFunc(instance.Tags, func(tag ec2types.Tag) bool { return *tag.Key == "aws:ec2:fleet-id" })
	if at < 0 {
		t.Fatalf("the instance has tags %+v", instance.Tags)
	}
	fleets, err := w.ec2().DescribeFleets(t.Context(), &ec2.DescribeFleetsInput{FleetIds: []string{*instance.Tags[at].Value}})
	if err != nil {
		t.Fatal(err)
	}
	if strategy := fleets.Fleets[0].SpotOptions.AllocationStrategy; strategy != ec2types.SpotAllocationStrategyPriceCapacityOptimized {
		t.Errorf("it was chosen by %s", strategy)
	}
}

// TestSubnetOfTemplate holds that a launch template which has its subnet is launched there, and
// that only pods that can run there get nodes of it.
func TestSubnetOfTemplate(t *testing.T) {
	w := newWorld(t)
	const subnet = "subnet-0b2000000000000ac"
	w.template("web", w.image("x86_64"), func(data *ec2types.RequestLaunchTemplateData) {
		data.SecurityGroupIds = nil
		data.NetworkInterfaces = []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(subnet), Groups: []string{"sg-0c1000000000000ab"},
		}}
	})
	w.provision("default", "labels: {node.k8s.aws/launch-template-name: web}")
	w.pod("anywhere")
	node := w.readyNodes(1)[0]
	zone := node.Labels[corev1.LabelTopologyZone]
	if instance := w.instances()[0]; *instance.SubnetId != subnet || *instance.Placement.AvailabilityZone != zone {
		t.Errorf("the instance is in %s, and its node says %s", *instance.SubnetId, zone)
	}
	w.eventOf(w.pod("elsewhere", selecting(corev1.LabelTopologyZone, "us-east-1a")), "requires topology.kubernetes.io/zone")
}

// TestRetryAfterShortage holds that what EC2 had none of is asked for again as another request: EC2
// repeats the answer to a request that launched nothing.
func TestRetryAfterShortage(t *testing.T) {
	none := []awssim.CapacityRule{{InstanceType: "m5.large"}}
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: none}})
	tokens := make(chan string, 100)
	_, err := w.Cloud.AWS.AddFault(awssim.Fault{Action: "CreateFleet", Place: awssim.Before, Callback: func(call *awssim.FaultContext) {
		tokens <- *call.Input.(*ec2.CreateFleetInput).ClientToken
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.provision("default", "instanceTypes: [m5.large]")
	w.pod("one")
	w.told("was not launched")
	w.Eventually("nothing of the launch is left", func() error {
		if nodes := w.provisioned(); len(nodes) > 0 {
			return fmt.Errorf("%d ProvisionedNodes are", len(nodes))
		}
		return nil
	})
	behavior := w.Cloud.AWS.Behavior()
	behavior.Capacity = nil
	w.Cloud.AWS.SetBehavior(behavior)
	w.readyNodes(1)
	seen := map[string]bool{}
	for range len(tokens) {
		token := <-tokens
		if seen[token] {
			t.Errorf("the request %s was repeated, though it had its answer", token)
		}
		seen[token] = true
	}
	if len(seen) < 2 {
		t.Errorf("EC2 was asked by the tokens %q", slices.Collect(maps.Keys(seen)))
	}
}

// TestStatusOfNamedTemplates holds that the status says what the launch templates that pods name
// come to, while pods wait and while they have nodes.
func TestStatusOfNamedTemplates(t *testing.T) {
	w := newWorld(t)
	image := w.image("x86_64")
	id := w.template("web", image)
	w.provision("default", "allowedLaunchTemplates: {prefixes: [we, miss]}")
	w.pod("one", selecting(provisioningv1.LabelLaunchTemplateName, "web"))
	lost := w.pod("two", selecting(provisioningv1.LabelLaunchTemplateName, "missing"))
	entries := func(want ...string) {
		t.Helper()
		w.Eventually(fmt.Sprintf("the status has %q", want), func() error {
			provisioner := &provisioningv1.Provisioner{}
			if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
				return err
			}
			var got []string
			for _, one := range provisioner.Status.LaunchTemplates {
				if !one.Generated {
					problem, _, _ := strings.Cut(one.Message, ":") // what follows is advice
					got = append(got, fmt.Sprintf("%s %s %d %s %s", one.Name, one.ID, one.Version, one.ImageID, problem))
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				return fmt.Errorf("it has %q", got)
			}
			return nil
		})
	}
	web := fmt.Sprintf("web %s 1 %s ", id, image)
	entries("missing  0  no launch template found for missing", web)
	if err := w.Client.Delete(t.Context(), lost, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	entries(web)
}
