package scheduler_test

import (
	"testing"
	"time"

	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

const profile = "nodes.cluster-api-provider-aws.sigs.k8s.io"

func shortOf(instanceType string) awssim.Behavior {
	return awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: instanceType}}}
}

func allowing(given provisioningv1.AllowedLaunchTemplates) func(*provisioningv1.ProvisionerSpec) {
	return func(spec *provisioningv1.ProvisionerSpec) { spec.AllowedLaunchTemplates = &given }
}

// TestPodNamesWhatIsNotAllowed holds that a pod that names a launch template which the Provisioner
// does not allow gets an event and no node, and AWS is not asked about it.
func TestPodNamesWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Template("admin", profile)
	w.Provision("default", allowing(provisioningv1.AllowedLaunchTemplates{Names: []string{"web"}}))
	w.Pod("one", provisioningtest.Naming("admin"))
	w.Settle()
	before := w.Calls("DescribeLaunchTemplates")
	w.Advance(2 * time.Minute)
	if told := w.Told("Warning NoNodeLaunched one:", "spec.allowedLaunchTemplates of Provisioner default does not allow"); len(told) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
	if len(w.Provisioned()) != 0 || w.Calls("DescribeLaunchTemplateVersions") != 0 || w.Calls("DescribeLaunchTemplates") != before {
		t.Errorf("%d nodes, %d descriptions", len(w.Provisioned()), w.Calls("DescribeLaunchTemplates")-before)
	}
}

// TestInstanceProfileOfANamedTemplate holds that the annotation on the identity of the controller's
// own credentials holds both for launch templates that pods name and for launch templates that
// Provisioners name.
func TestInstanceProfileOfANamedTemplate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, allowed string
		launched        int
	}{{"allowed", "nodes.*", 2}, {"not allowed", "web", 0}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			own := &capav1.AWSClusterControllerIdentity{}
			own.Name, own.Annotations = capav1.AWSClusterControllerIdentityName, map[string]string{identity.InstanceProfilesAnnotation: row.allowed}
			w.Create(own)
			w.Template("web", profile)
			w.Provision("default", allowing(provisioningv1.AllowedLaunchTemplates{Prefixes: []string{"w"}}))
			w.Pod("one", provisioningtest.Naming("web"))
			w.Provision("own", func(spec *provisioningv1.ProvisionerSpec) {
				spec.LaunchTemplateRef = &provisioningv1.LaunchTemplateReference{Name: "web"}
			})
			w.Pod("two", provisioningtest.Of("own"))
			w.Launch()
			if got := len(w.Instances()); got != row.launched {
				t.Errorf("%d instances are launched, want %d; events are %q", got, row.launched, w.Events())
			}
			for _, pod := range []string{"one:", "two:"} {
				if told := w.Told("Warning NoNodeLaunched "+pod, "does not allow instance profile", profile); (len(told) == 0) != (row.launched > 0) {
					t.Errorf("the pods are told %q", w.Events())
				}
			}
		})
	}
}
