package scheduler_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// broken has the world have a launch template that names a key pair which does not exist, and a
// Provisioner that launches from it.
func broken(w *provisioningtest.World) {
	w.Helper()
	id := w.Template("broken", profile)
	_, err := w.EC2.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &id, SourceVersion: ptr.To("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{KeyName: ptr.To("missing-key-pair")},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Provision("a-broken", func(spec *provisioningv1.ProvisionerSpec) {
		spec.LaunchTemplateRef = &provisioningv1.LaunchTemplateReference{Name: "broken"}
	})
}

func mend(w *provisioningtest.World) {
	w.Helper()
	if _, err := w.EC2.CreateKeyPair(w.Context(), &ec2.CreateKeyPairInput{KeyName: ptr.To("missing-key-pair")}); err != nil {
		w.Fatal(err)
	}
}

func readiness(w *provisioningtest.World, provisioner string) (ready bool, reason string) {
	w.Helper()
	condition := meta.FindStatusCondition(w.Provisioner(provisioner).Status.Conditions, provisioningv1.ReadyCondition)
	if condition == nil {
		return false, ""
	}
	return condition.Status == metav1.ConditionTrue, condition.Reason
}

// TestRefusedTemplateAffectsNoOtherProvisioner holds that a launch template with a key pair that
// does not exist launches nothing, and that a dry run reveals this before any launch. Its
// Provisioner and its pods report the failure, other Provisioners launch the same instance types as
// before, and its nodes are launched within seconds after the key pair is created.
func TestRefusedTemplateAffectsNoOtherProvisioner(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	broken(w)
	w.Provision("b-sound")
	w.Pod("one", provisioningtest.Of("a-broken"))
	w.Settle()
	w.Pod("two", provisioningtest.Of("b-sound"))
	w.Advance(3 * time.Second)
	if got := len(w.Instances()); got != 1 || w.Calls("CreateFleet") != 1 {
		t.Errorf("%d instances run after %d launches; events are %q", got, w.Calls("CreateFleet"), w.Events())
	}
	if told := w.Told("NoNodeLaunched one:", "missing-key-pair"); len(told) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
	if ready, reason := readiness(w, "a-broken"); ready || reason != provisioningv1.TemplateUnusableReason {
		t.Errorf("Ready is %v, %s", ready, reason)
	}
	if ready, reason := readiness(w, "b-sound"); !ready {
		t.Errorf("the other one is not Ready: %s", reason)
	}
	w.Advance(2 * time.Minute)
	if got := w.Calls("CreateFleet"); got != 1 {
		t.Errorf("%d launches are tried", got)
	}
	mend(w)
	w.Advance(15 * time.Second)
	if ready, reason := readiness(w, "a-broken"); !ready {
		t.Errorf("Ready is %v, %s", ready, reason)
	}
	if got := len(w.Instances()); got != 2 {
		t.Errorf("%d instances run; events are %q", got, w.Events())
	}
}

// TestRefusedTemplateIsSeenWithoutPods holds that a Provisioner whose launch template EC2 refuses
// says so before any pod waits for it.
func TestRefusedTemplateIsSeenWithoutPods(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	broken(w)
	w.Provision("b-sound")
	w.Settle()
	if ready, reason := readiness(w, "a-broken"); ready || reason != provisioningv1.TemplateUnusableReason {
		t.Errorf("Ready is %v, %s", ready, reason)
	}
	if ready, reason := readiness(w, "b-sound"); !ready {
		t.Errorf("the other one is not Ready: %s", reason)
	}
	tried := w.Calls("RunInstances")
	w.Pod("two", provisioningtest.Of("b-sound"))
	w.Settle()
	if again := w.Calls("RunInstances"); len(w.Instances()) != 1 || again != tried {
		t.Errorf("%d instances run, and %d dry runs were made for them", len(w.Instances()), again-tried)
	}
}

// TestTemplateRefusedByLaunchesAlone holds that a refusal that a dry run does not show is learned
// from launches: it keeps no other Provisioner from launching, and the launch is tried again after
// some minutes.
func TestTemplateRefusedByLaunchesAlone(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Settle()
	_, err := w.Sim.AddFault(awssim.Fault{ID: "refused", Action: "CreateFleet", Code: "InvalidBlockDeviceMapping", Message: "no such volume", Status: 400})
	if err != nil {
		t.Fatal(err)
	}
	w.Pod("one")
	w.Settle()
	w.Advance(2 * time.Second)
	if ready, reason := readiness(w, "default"); ready || reason != provisioningv1.TemplateUnusableReason {
		t.Errorf("Ready is %v, %s", ready, reason)
	}
	if told := w.Told("NoNodeLaunched one:", "no such volume"); len(told) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
	calls := w.Calls("CreateFleet")
	if w.Advance(time.Minute); w.Calls("CreateFleet") > calls+6 {
		t.Errorf("%d calls are made within a minute", w.Calls("CreateFleet")-calls)
	}
	w.Sim.RemoveFault("refused")
	w.Advance(15 * time.Second)
	if ready, reason := readiness(w, "default"); !ready || len(w.Instances()) != 1 {
		t.Errorf("Ready is %v, %s; %d instances run", ready, reason, len(w.Instances()))
	}
}

// TestUnauthorizedLaunch holds that the Provisioner and the pod report within seconds that the
// caller may not launch, and that it launches within seconds after it may. Nothing counts as short.
func TestUnauthorizedLaunch(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"CreateFleet", "RunInstances"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			fault := awssim.Fault{ID: "denied", Action: action, Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.", Status: 403}
			if _, err := w.Sim.AddFault(fault); err != nil {
				t.Fatal(err)
			}
			w.Provision("default")
			w.Pod("one")
			w.Settle()
			w.Advance(2 * time.Second)
			if ready, reason := readiness(w, "default"); ready || reason != infrav1.AccessDeniedReason {
				t.Errorf("Ready is %v, %s", ready, reason)
			}
			if told := w.Told("NoNodeLaunched one:", "UnauthorizedOperation", "not authorized"); len(told) != 1 {
				t.Errorf("the pod is told %q", w.Events())
			}
			if _, short := w.Provisioning.Shortages.Next(); short {
				t.Error("offerings count as short")
			}
			w.Advance(5 * time.Minute)
			if ready, _ := readiness(w, "default"); ready || len(w.Provisioned()) > 0 {
				t.Errorf("after five minutes Ready is %v, and there are %d ProvisionedNodes", ready, len(w.Provisioned()))
			}
			w.Sim.RemoveFault("denied")
			w.Advance(15 * time.Second)
			if ready, reason := readiness(w, "default"); !ready || len(w.Instances()) != 1 {
				t.Errorf("Ready is %v, %s; %d instances run", ready, reason, len(w.Instances()))
			}
		})
	}
}

// TestThrottledLaunch holds that a throttled launch is repeated within seconds, and nothing is left
// alone because of it.
func TestThrottledLaunch(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Settle()
	if _, err := w.Sim.AddFault(awssim.Fault{ID: "slow", Action: "CreateFleet", Code: "RequestLimitExceeded", Message: "Request limit exceeded.", Status: 503}); err != nil {
		t.Fatal(err)
	}
	w.Pod("one")
	w.Settle()
	if told := w.Told("Warning LaunchFailed default:", "RequestLimitExceeded"); len(told) == 0 {
		t.Errorf("events are %q", w.Events())
	}
	if _, short := w.Provisioning.Shortages.Next(); short {
		t.Error("offerings count as short")
	}
	if ready, reason := readiness(w, "default"); !ready {
		t.Errorf("it is not Ready: %s", reason)
	}
	w.Sim.RemoveFault("slow")
	w.Advance(6 * time.Second)
	if len(w.Instances()) != 1 {
		t.Errorf("%d instances run", len(w.Instances()))
	}
}

// TestPodIsToldOfAShortage holds that a pod reports that AWS has none of the instances that suit
// it, and not that others are too small.
func TestPodIsToldOfAShortage(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{Behavior: shortOf("m5.large")})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = []string{"m5.large", "t3.nano"} })
	w.Pod("one", func(*corev1.Pod) {})
	w.Settle()
	w.Advance(3 * time.Second)
	if told := w.Told("NoNodeLaunched one:", "needs an instance for which AWS recently had no capacity: m5.large, on-demand"); len(told) != 1 {
		t.Errorf("the pod is told %q", w.Events())
	}
	if told := w.Told("NoNodeLaunched one:", "leaves more than"); len(told) != 0 {
		t.Errorf("the pod is told %q", told)
	}
}
