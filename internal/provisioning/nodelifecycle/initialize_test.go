package nodelifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

const gpu = "nvidia.com/gpu"

// requestsGPU has a pod request a GPU and little else.
func requestsGPU(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{gpu: resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("500m")}
}

// launchesGPUs has a provisioner launch instances with GPUs.
func launchesGPUs(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = []string{"g4dn.xlarge"} }

// offer has all Nodes offer a GPU, as their device plugin does.
func offer(w *provisioningtest.World) {
	w.Helper()
	for _, member := range w.Members() {
		member.Status.Allocatable[gpu] = resource.MustParse("1")
		if err := w.Client.Status().Update(w.Context(), &member); err != nil {
			w.Fatal(err)
		}
	}
}

func initialized(w *provisioningtest.World) bool {
	return meta.IsStatusConditionTrue(w.Provisioned()[0].Status.Conditions, provisioningv1.InitializedCondition)
}

// TestNodeAwaitsItsDevice holds that a pod that waits for a device counts on the node that was
// launched for it while the Node is ready without the device: nothing else is launched.
func TestNodeAwaitsItsDevice(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", launchesGPUs)
	pod := w.Pod("one", requestsGPU)
	w.Launch()
	w.Restart()
	w.Advance(10 * time.Minute)
	if got := len(w.Provisioned()); got != 1 {
		t.Fatalf("%d nodes were launched for one pod", got)
	}
	condition := meta.FindStatusCondition(w.Provisioned()[0].Status.Conditions, provisioningv1.ReadyCondition)
	if initialized(w) || condition.Reason != provisioningv1.InitializingReason || !strings.Contains(condition.Message, gpu) {
		t.Errorf("the node says %+v", condition)
	}
	offer(w)
	w.Settle()
	if !initialized(w) || w.Provisioned()[0].Status.ReadyTime == nil {
		t.Errorf("a Node with its device is not initialized: %+v", w.Provisioned()[0].Status)
	}
	w.Bind(pod, w.Members()[0].Name)
	w.Advance(10 * time.Minute)
	if got := len(w.Provisioned()); got != 1 {
		t.Errorf("there are %d nodes", got)
	}
}

// TestPodThatNeedsADriver holds that a pod which requests a GPU is not promised to a node on its
// way whose image has no driver, though its instance has a GPU: the pod gets a node with the driver
// at once.
func TestPodThatNeedsADriver(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", launchesGPUs)
	w.Pod("plain", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	})
	w.Settle()
	pod := w.Pod("one", requestsGPU)
	w.Advance(3 * time.Second)
	w.Advance(3 * time.Second)
	promised := w.Nodes.Promises.Of(pod.UID)
	for _, node := range w.Provisioned() {
		if node.Name == promised && slices.Equal(node.Spec.AwaitedResources, []string{gpu}) && len(w.Instances()) == 2 {
			return
		}
	}
	t.Errorf("the pod is promised to %q, and %d instances run; events are %q", promised, len(w.Instances()), w.Events())
}

// TestNodesWithoutTheirDevice holds that a node that never gets its device is replaced with growing
// waits, also across restarts, and after some tries no further one is launched until a person says
// so.
func TestNodesWithoutTheirDevice(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", launchesGPUs)
	w.Pod("one", requestsGPU)
	launches := map[string]time.Time{}
	watch := func(d time.Duration) {
		for ; d > 0; d -= time.Minute {
			w.Advance(time.Minute)
			w.Join()
			for _, node := range w.Provisioned() {
				if launches[node.Name].IsZero() {
					launches[node.Name] = w.Clock.Now()
					w.Restart()
				}
			}
		}
	}
	watch(80 * time.Minute)
	few := len(launches)
	watch(140 * time.Minute)
	if len(launches) != 5 || few < 3 {
		t.Fatalf("%d nodes were launched in the first time and %d in all: %v", few, len(launches), launches)
	}
	ready := meta.FindStatusCondition(w.Provisioner("default").Status.Conditions, provisioningv1.ReadyCondition)
	if ready.Reason != provisioningv1.StartTimeoutReason || !strings.Contains(ready.Message, gpu) || !strings.Contains(ready.Message, provisioningv1.RetryAnnotation) {
		t.Errorf("the Provisioner says %+v", ready)
	}
	if told := w.Told("Warning NodeNotInitialized default:", gpu); len(told) != 5 {
		t.Errorf("%d failures are reported on the Provisioner: %q", len(told), w.Events())
	}
	if told := w.Told("Warning NoNodeLaunched one:", gpu, "next attempt is at"); len(told) == 0 {
		t.Errorf("the pod is not told why it waits: %q", w.Events())
	}
	if told := w.Told("Warning NoNodeLaunched one:", gpu, provisioningv1.RetryAnnotation); len(told) == 0 {
		t.Errorf("the pod is not told that nothing is launched: %q", w.Events())
	}
	provisioner := w.Provisioner("default")
	w.Update(provisioner, func() { provisioner.Annotations = map[string]string{provisioningv1.RetryAnnotation: "1"} })
	w.Advance(2 * time.Minute)
	if len(w.Provisioned()) != 1 {
		t.Errorf("nothing is launched after the annotation: %q", w.Events())
	}
	w.Join()
	offer(w)
	w.Settle()
	status := w.Provisioner("default").Status
	if !initialized(w) || len(status.FailedStarts) != 0 || !meta.IsStatusConditionTrue(status.Conditions, provisioningv1.ReadyCondition) {
		t.Errorf("a node started, and the Provisioner says %+v", status)
	}
}

// TestPodsWithoutDeviceAreLaunchedFor holds that a failure for lack of a device holds back no node
// for pods that do not request it.
func TestPodsWithoutDeviceAreLaunchedFor(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = []string{"g4dn.xlarge", "m5.large"} })
	w.Pod("one", requestsGPU)
	w.Launch()
	w.Advance(16 * time.Minute)
	if got := len(w.Provisioned()); got != 0 {
		t.Fatalf("%d nodes are there after the first has failed", got)
	}
	w.Pod("other")
	w.Advance(5 * time.Second)
	w.Advance(5 * time.Second)
	if got := w.Provisioned(); len(got) != 1 || got[0].Status.InstanceType != "m5.large" {
		t.Errorf("for the other pod there is %+v", got)
	}
}

// TestOneInstanceThatDoesNotStart holds that an instance which does not start while another node of
// its kind is well stops nothing: the Provisioner stays Ready, and its pod gets another node at
// once. If that one fails too, the next waits.
func TestOneInstanceThatDoesNotStart(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	first := w.Pod("first")
	w.Launch()
	w.Bind(first, w.Members()[0].Name)
	w.Pod("second")
	w.Settle()
	isReady := func() bool {
		return meta.IsStatusConditionTrue(w.Provisioner("default").Status.Conditions, provisioningv1.ReadyCondition)
	}
	launched := w.Calls("CreateFleet")
	w.Advance(16 * time.Minute)
	w.Restart()
	w.Advance(10 * time.Second)
	if again := w.Calls("CreateFleet") - launched; again != 1 || !isReady() || len(w.Told("NodeNotInitialized")) != 1 {
		t.Fatalf("after one failure %d nodes are launched, the Provisioner is ready: %t; events are %q", again, isReady(), w.Events())
	}
	w.Advance(16 * time.Minute)
	if again := w.Calls("CreateFleet") - launched; again != 1 || isReady() || len(w.Told("Warning NoNodeLaunched second:", "second time in a row")) != 1 {
		t.Fatalf("after two failures %d nodes are launched, the Provisioner is ready: %t; events are %q", again, isReady(), w.Events())
	}
	w.Advance(10 * time.Minute)
	w.Join()
	w.Settle()
	if !isReady() || len(w.Members()) != 2 {
		t.Errorf("a node started, there are %d, and the Provisioner says %+v", len(w.Members()), w.Provisioner("default").Status)
	}
}

// TestOneOfSeveralInstancesDoesNotStart holds that one of several nodes launched together may fail,
// and nothing is held back for it.
func TestOneOfSeveralInstancesDoesNotStart(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("first")
	w.Pod("second")
	w.Settle()
	w.Advance(5 * time.Second)
	w.Join()
	member := w.Members()[0]
	setReady(w, &member, corev1.ConditionFalse)
	w.Settle()
	w.Advance(16 * time.Minute)
	provisioner := w.Provisioner("default")
	if told := w.Told("NodeNotInitialized"); len(told) != 1 || len(provisioner.Status.FailedStarts) != 0 {
		t.Errorf("one instance failed, and the Provisioner says %+v; events are %q", provisioner.Status, w.Events())
	}
}

// TestStartupTaints holds that startup taints are put on a Node once. While it has them, or the
// taints of readiness controllers and agents, pods count on it.
func TestStartupTaints(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, key string }{
		{"a taint of the spec", "example.com/starting"}, {"a taint of the readiness controller", "readiness.k8s.io/network"},
		{"an agent's", "node.cilium.io/agent-not-ready"}, {"one that is not listed", "example.com/unlisted"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				if row.key == "example.com/starting" {
					spec.StartupTaints = []provisioningv1.Taint{{Key: row.key, Effect: "NoSchedule"}}
				}
			})
			w.Pod("one")
			w.Settle()
			w.Advance(5 * time.Second)
			w.Join()
			taint := corev1.Taint{Key: row.key, Effect: corev1.TaintEffectNoSchedule}
			if row.key != "example.com/starting" {
				member := w.Members()[0]
				w.Update(&member, func() { member.Spec.Taints = append(member.Spec.Taints, taint) })
			}
			w.Settle()
			member := w.Members()[0]
			if len(member.Spec.Taints) != 1 || member.Spec.Taints[0].Key != row.key {
				t.Errorf("the taints are %+v", member.Spec.Taints)
			}
			w.Advance(10 * time.Minute)
			if got := len(w.Provisioned()); got != 1 || initialized(w) {
				t.Fatalf("%d nodes were launched for one pod; initialized %t", got, initialized(w))
			}
			w.Update(&member, func() { member.Spec.Taints = nil })
			w.Settle()
			if !initialized(w) {
				t.Errorf("a Node without the taint is not initialized: %+v", w.Provisioned()[0].Status)
			}
			w.Restart()
			w.Advance(time.Minute)
			if left := w.Members()[0].Spec.Taints; len(left) != 0 {
				t.Errorf("the taint is put on again: %+v", left)
			}
		})
	}
}

// TestStartupTaintsAreWrittenOnce holds that a crash between the write of startup taints and of the
// status does not put them on again.
func TestStartupTaintsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
		spec.StartupTaints = []provisioningv1.Taint{{Key: "example.com/starting", Effect: "NoSchedule"}}
	})
	w.Pod("one")
	w.Launch()
	member, node := w.Members()[0], w.Provisioned()[0]
	w.Update(&member, func() { member.Spec.Taints = nil })
	meta.RemoveStatusCondition(&node.Status.Conditions, provisioningv1.RegisteredCondition)
	if err := w.Client.Status().Update(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	w.Restart()
	w.Settle()
	if left := w.Members()[0].Spec.Taints; len(left) != 0 {
		t.Errorf("the taints are %+v", left)
	}
}
