package scheduler_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// changed gives the world a launch template whose newest version is what w.Template returns, with
// some changes.
func changed(w *provisioningtest.World, name string, change *ec2types.RequestLaunchTemplateData) {
	w.Helper()
	id := w.Template(name, profile)
	version(w, id, change)
}

func version(w *provisioningtest.World, id string, change *ec2types.RequestLaunchTemplateData) {
	w.Helper()
	_, err := w.EC2.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, SourceVersion: ptr.To("1"), LaunchTemplateData: change})
	if err != nil {
		w.Fatal(err)
	}
}

// enclaves is a launch template for types with Nitro Enclaves: of the types below m5.xlarge has
// them, t3.large has not.
func enclaves(w *provisioningtest.World) {
	w.Helper()
	changed(w, "enclave", &ec2types.RequestLaunchTemplateData{EnclaveOptions: &ec2types.LaunchTemplateEnclaveOptionsRequest{Enabled: ptr.To(true)}})
}

func from(template string, types ...string) func(*provisioningv1.ProvisionerSpec) {
	return func(spec *provisioningv1.ProvisionerSpec) {
		spec.InstanceTypes, spec.LaunchTemplateRef = types, &provisioningv1.LaunchTemplateReference{Name: template}
	}
}

func mustBeReady(w *provisioningtest.World, provisioner, when string) {
	w.Helper()
	if ready, reason := readiness(w, provisioner); !ready {
		w.Errorf("%s, Provisioner %s is not Ready: %s", when, provisioner, reason)
	}
}

func mustNotBeReady(w *provisioningtest.World, provisioner, want, when string) {
	w.Helper()
	if ready, reason := readiness(w, provisioner); ready || reason != want {
		w.Errorf("%s, Ready of Provisioner %s is %v, %s, want %s", when, provisioner, ready, reason, want)
	}
}

// typesOf returns the instance types that run, by name.
func typesOf(w *provisioningtest.World) map[string]int {
	w.Helper()
	types := map[string]int{}
	for _, instance := range w.Instances() {
		types[string(instance.InstanceType)]++
	}
	return types
}

// TestTemplatesAreTriedByTypesWithinTheRequirements holds that a launch template for types with a
// feature is tried by a type that the Provisioner's requirements allow, and not by the smallest
// that there is.
func TestTemplatesAreTriedByTypesWithinTheRequirements(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	enclaves(w)
	w.Provision("default", from("enclave"), func(spec *provisioningv1.ProvisionerSpec) {
		spec.Requirements = []provisioningv1.Requirement{
			{Key: "karpenter.k8s.aws/instance-category", Operator: "In", Values: []string{"m"}}, {Key: "karpenter.k8s.aws/instance-cpu", Operator: "Gt", Values: []string{"3"}},
		}
	})
	w.Settle()
	mustBeReady(w, "default", "without pods")
	w.Pod("one")
	w.Settle()
	w.Advance(3 * time.Second)
	if len(w.Instances()) != 1 {
		t.Errorf("%d instances run; events are %q", len(w.Instances()), w.Events())
	}
}

// TestTemplateWithAdapters holds that a launch template with an Elastic Fabric Adapter, which the
// Provisioner declares, is tried by a type that takes one, and launches one for the pod that
// requests it.
func TestTemplateWithAdapters(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		declared bool
	}{{"declared", true}, {"not declared", false}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			id := w.Template("efa", profile)
			versions, err := w.EC2.DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
			if err != nil {
				t.Fatal(err)
			}
			data := versions.LaunchTemplateVersions[0].LaunchTemplateData
			_, err = w.EC2.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
				ImageId: data.ImageId, UserData: data.UserData,
				NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
					{DeviceIndex: ptr.To[int32](0), InterfaceType: ptr.To("efa"), Groups: data.SecurityGroupIds},
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			w.Provision("default", from("efa"), func(spec *provisioningv1.ProvisionerSpec) {
				if row.declared {
					spec.ExtraResources = provisioningv1.ExtraResources{"vpc.amazonaws.com/efa": resource.MustParse("1")}
				}
			})
			w.Settle()
			mustBeReady(w, "default", "without pods")
			w.Pod("one", func(pod *corev1.Pod) {
				if row.declared {
					pod.Spec.Containers[0].Resources.Requests["vpc.amazonaws.com/efa"] = resource.MustParse("1")
				}
			})
			w.Settle()
			for range 3 {
				w.Advance(3 * time.Second)
			}
			if len(w.Instances()) != 1 {
				t.Errorf("%d instances run; events are %q", len(w.Instances()), w.Events())
			}
			mustBeReady(w, "default", "with a node")
		})
	}
}

// TestPodDoesNotPoisonATemplate holds that a pod that asks for a type which lacks what the launch
// template needs gets no node, and an event that says so. Pods that ask for other types get theirs,
// and the Provisioner stays Ready; within seconds after the launch template does without, the pod
// gets its node.
func TestPodDoesNotPoisonATemplate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		ask    func(*corev1.Pod)
	}{
		{"one type", selecting(corev1.LabelInstanceTypeStable, "t3.large")},
		{"several types", selecting("karpenter.k8s.aws/instance-family", "t3")},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			enclaves(w)
			w.Provision("default", from("enclave", "m5.xlarge", "t3.large", "t3.xlarge"))
			w.Settle()
			w.Pod("poison", row.ask)
			w.Settle()
			w.Advance(3 * time.Second)
			if told := w.Told("NoNodeLaunched poison:", "t3.large", "does not support AWS Nitro Enclaves"); len(told) != 1 {
				t.Errorf("the pod is told %q", w.Events())
			}
			mustBeReady(w, "default", "after the first pod")
			w.Pod("good", selecting(corev1.LabelInstanceTypeStable, "m5.xlarge"))
			w.Settle()
			w.Advance(3 * time.Second)
			w.Pod("plain")
			w.Settle()
			w.Advance(3 * time.Second)
			mustBeReady(w, "default", "after the others")
			if got := typesOf(w); got["m5.xlarge"] != 1 || len(got) != 1 {
				t.Errorf("instances of %v run; events are %q", got, w.Events())
			}
			calls := w.Calls("CreateFleet")
			w.Advance(2 * time.Minute)
			if got := w.Calls("CreateFleet"); got != calls || len(w.Provisioned()) != 1 {
				t.Errorf("%d further launches are tried", got-calls)
			}
			found, err := w.EC2.DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"enclave"}})
			if err != nil {
				t.Fatal(err)
			}
			version(w, *found.LaunchTemplates[0].LaunchTemplateId, &ec2types.RequestLaunchTemplateData{EbsOptimized: ptr.To(true)})
			w.Advance(90 * time.Second) // what a launch template is, is known for a minute
			if got := typesOf(w); got["t3.large"]+got["t3.xlarge"] != 1 {
				t.Errorf("instances of %v run; events are %q", got, w.Events())
			}
		})
	}
}

// TestTypesOfOneProvisionerAreRefused holds that, if two Provisioners use one launch template, the
// Provisioner that only allows types that the template does not suit is not Ready and reports why.
// The other one launches nodes, whichever comes first.
func TestTypesOfOneProvisionerAreRefused(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		t.Run(names[0], func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			enclaves(w)
			w.Provision(names[0], from("enclave", "t3.large", "t3.xlarge"))
			w.Provision(names[1], from("enclave", "m5.xlarge"))
			w.Settle()
			w.Pod("one", provisioningtest.Of(names[0]))
			w.Pod("two", provisioningtest.Of(names[1]))
			w.Settle()
			for range 3 {
				w.Advance(3 * time.Second)
				mustNotBeReady(w, names[0], provisioningv1.TemplateUnusableReason, "with pods")
				mustBeReady(w, names[1], "with pods")
			}
			if got := typesOf(w); got["m5.xlarge"] != 1 || len(got) != 1 || w.Calls("CreateFleet") != 1 {
				t.Errorf("instances of %v run after %d launches; events are %q", got, w.Calls("CreateFleet"), w.Events())
			}
			if told := w.Told("NoNodeLaunched one:", "does not support AWS Nitro Enclaves"); len(told) != 1 {
				t.Errorf("the pod is told %q", w.Events())
			}
			one := w.Provisioner(names[0])
			w.Update(one, func() { one.Spec.InstanceTypes = []string{"m5.xlarge"}; one.Generation++ })
			w.Advance(3 * time.Second)
			mustBeReady(w, names[0], "with another type")
			if got := typesOf(w); got["m5.xlarge"] != 2 {
				t.Errorf("instances of %v run; events are %q", got, w.Events())
			}
		})
	}
}
