package provisioner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// TestContradictions holds that a launch template which does not go together with its provisioner
// is reported by a condition and to the pod, and that nothing is launched from it.
func TestContradictions(t *testing.T) {
	for _, row := range []struct {
		reason string
		edit   func(*ec2types.RequestLaunchTemplateData)
		line   string
		// says is in the condition, and told is in the event of the pod.
		says, told string
	}{
		{"a template for Spot, and On-Demand asked for", func(data *ec2types.RequestLaunchTemplateData) {
			data.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
		}, "labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/capacity-type: on-demand}", "it is for spot instances", "requires node.k8s.aws/capacity-type"},
		{"a template in one zone, and another asked for", func(data *ec2types.RequestLaunchTemplateData) {
			data.Placement = &ec2types.LaunchTemplatePlacementRequest{AvailabilityZone: aws.String("us-east-1a")}
		}, "labels: {node.k8s.aws/launch-template-name: web}\nzones: [us-east-1b]", "it launches in us-east-1a, but " +
			"spec.zones has us-east-1b", "requires topology.kubernetes.io/zone"},
		{
			"a template for x86_64, and types for arm64 asked for", func(*ec2types.RequestLaunchTemplateData) {}, "labels: {node.k8s.aws/launch-template-name: web}\ninstanceTypes: [m6g.large]",
			"none of spec.instanceTypes can run images for amd64", "has requirements that no instance type satisfies",
		},
		{"a template that hibernates", func(data *ec2types.RequestLaunchTemplateData) {
			data.HibernationOptions = &ec2types.LaunchTemplateHibernationOptionsRequest{Configured: aws.Bool(true)}
		}, "labels: {node.k8s.aws/launch-template-name: web}", "it enables hibernation", "it enables hibernation"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			w := newWorld(t)
			w.template("web", w.image("x86_64"), row.edit)
			w.provision("default", row.line)
			w.eventOf(w.pod("one"), row.told)
			w.Eventually("the provisioner says so", func() error {
				condition := w.condition(provisioningv1.LaunchTemplatesReadyCondition)
				if condition == nil || condition.Reason != provisioningv1.TemplateUnusableReason || !strings.Contains(condition.Message, row.says) {
					return fmt.Errorf("it says %+v", condition)
				}
				return nil
			})
			if w.count("CreateFleet") != 0 {
				t.Error("something was launched")
			}
		})
	}
}

// TestProvisionersAlike holds that if two provisioners differ only in their launch templates, the
// first by name launches nodes, that the other one reports this, and that pods which name the other
// one get its nodes.
func TestProvisionersAlike(t *testing.T) {
	w := newWorld(t)
	w.template("web", w.image("x86_64"))
	const byWeb = "node.k8s.aws/launch-template-name: web"
	w.provision("blue", "labels: {"+byWeb+"}")
	w.provision("default")
	w.Eventually("the second says who takes its pods", func() error {
		condition := w.condition(provisioningv1.DistinctCondition)
		if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "Provisioner blue matches the same pods") {
			return fmt.Errorf("it says %+v", condition)
		}
		return nil
	})
	first := &provisioningv1.Provisioner{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "blue"}, first); err != nil {
		t.Fatal(err)
	}
	if condition := meta.FindStatusCondition(first.Status.Conditions, provisioningv1.DistinctCondition); condition != nil {
		t.Errorf("the first says %+v", condition)
	}
	for _, row := range []struct{ pod, provisioner, template string }{{"plain", "blue", "web"}, {"meant", "default", ""}} {
		name := w.bound(w.pod(row.pod, func(pod *corev1.Pod) {
			if row.pod == "meant" {
				selecting(provisioningv1.LabelProvisionerName, row.provisioner)(pod)
			}
		}))
		// Nodes of the template join without the taint that keeps pods off until they have their labels.
		w.Eventually("pod "+row.pod+" is on a node of "+row.provisioner, func() error {
			node := &corev1.Node{}
			if err := w.Client.Get(w.Context(), client.ObjectKey{Name: name}, node); err != nil {
				return err
			}
			if node.Labels[provisioningv1.LabelProvisionerName] != row.provisioner || node.Labels[provisioningv1.LabelLaunchTemplateName] != row.template {
				return fmt.Errorf("it is on a node with labels %v", node.Labels)
			}
			return nil
		})
	}
	w.provision("blue", "labels: {"+byWeb+", team: blue}")
	w.Eventually("pods have a label to choose by", func() error {
		if condition := w.condition(provisioningv1.DistinctCondition); condition != nil {
			return fmt.Errorf("the second says %+v", condition)
		}
		return nil
	})
}

// TestTwoArchitectures holds the documented setup for two architectures with custom launch
// templates: two provisioners that leave each other's pods alone.
func TestTwoArchitectures(t *testing.T) {
	w := newWorld(t)
	x86, arm := w.template("web-x86", w.image("x86_64")), w.template("web-arm64", w.image("arm64"))
	w.provision("blue", "incompatibleArchitecturePolicy: Ignore", "labels: {node.k8s.aws/launch-template-name: web-x86}")
	w.provision("default", "incompatibleArchitecturePolicy: Ignore", "labels: {node.k8s.aws/launch-template-name: web-arm64}")
	w.bound(w.pod("plain")) // before there is a node of the other, which it would suit
	w.pod("arm", selecting(corev1.LabelArchStable, "arm64"))
	w.readyNodes(2)
	want := []string{x86 + ":1 x86_64", arm + ":1 arm64"}
	slices.Sort(want)
	if launched := w.launchedFrom(); !slices.Equal(launched, want) {
		t.Errorf("instances are launched from %q, want %q", launched, want)
	}
	if condition := w.condition(provisioningv1.DistinctCondition); condition != nil {
		t.Errorf("the second says %+v", condition)
	}
}
