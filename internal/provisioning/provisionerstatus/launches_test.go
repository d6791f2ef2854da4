package provisionerstatus_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestFailingLaunches holds that a Provisioner whose launches fail in AWS is not Ready at once,
// though AWS answers everything else, also after a restart; that it is Ready and has its node
// within seconds after launches succeed again; and that a launch of many nodes is repeated by one
// call.
func TestFailingLaunches(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Settle()
	fault, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: "CreateFleet", Code: "InternalError", Message: "An internal error has occurred", Status: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three", "four"} {
		w.Pod(name)
	}
	w.Settle()
	notReady := func(when string) {
		t.Helper()
		got := ready(w, "default")
		if got.Status != metav1.ConditionFalse || got.Reason != provisioningv1.LaunchFailedReason || !strings.Contains(got.Message, "An internal error has occurred") {
			t.Errorf("%s, Ready is %+v", when, got)
		}
	}
	notReady("at once")
	w.Restart()
	w.Settle()
	notReady("after a restart")
	w.Advance(time.Minute)
	before := w.Calls("CreateFleet")
	w.Advance(10 * time.Second)
	repeated := w.Calls("CreateFleet") - before
	for _, node := range w.Provisioned() {
		result, err := w.Nodes.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&node)})
		if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > launcher.RetryInterval {
			t.Errorf("the launch of ProvisionedNode %s is repeated after %v: %v", node.Name, result.RequeueAfter, err)
		}
	}
	if again := w.Calls("CreateFleet") - before; repeated == 0 || again != repeated || repeated > 5 {
		t.Errorf("one launch of %d nodes was repeated by %d calls, and once more by %d", len(w.Provisioned()), repeated, again-repeated)
	}
	if !w.Sim.RemoveFault(fault) {
		t.Fatal("no fault")
	}
	w.Advance(launcher.RetryInterval)
	if got := ready(w, "default"); got.Status != metav1.ConditionTrue || len(w.Instances()) == 0 {
		t.Errorf("after the failure, Ready is %+v, and there are %d instances", got, len(w.Instances()))
	}
}

// TestRefusalsAreRechecked holds that a Provisioner which AWS refuses an answer is not Ready, and
// asks again within seconds.
func TestRefusalsAreRechecked(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"DescribeSubnets", "DescribeInstances", "CreateLaunchTemplate"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Faulty = true
			fault, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: action, Code: "UnauthorizedOperation", Message: "You are not authorized.", Status: 403})
			if err != nil {
				t.Fatal(err)
			}
			w.Provision("default")
			w.Settle()
			if got := ready(w, "default"); got == nil || got.Status != metav1.ConditionFalse {
				t.Fatalf("Ready is %+v", got)
			}
			result, err := w.Provisioners.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "default"}})
			if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > launcher.RetryInterval {
				t.Fatalf("it is tried again after %v: %v", result.RequeueAfter, err)
			}
			if !w.Sim.RemoveFault(fault) {
				t.Fatal("no fault")
			}
			w.Advance(launcher.RetryInterval)
			if got := ready(w, "default"); got.Status != metav1.ConditionTrue {
				t.Errorf("after it was mended, Ready is %+v", got)
			}
		})
	}
}
