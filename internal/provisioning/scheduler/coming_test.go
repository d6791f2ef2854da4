package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// pending returns how many pods wait, by why, as the metric has it.
func pending(w *provisioningtest.World) map[string]float64 {
	w.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.Progress)
	families, err := registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "slipway_pods_pending" {
			continue
		}
		for _, series := range family.GetMetric() {
			if pods := series.GetGauge().GetValue(); pods > 0 {
				counts[series.GetLabel()[0].GetValue()] = pods
			}
		}
	}
	return counts
}

// comesBack reconciles once, and returns when the next pass comes by itself.
func comesBack(w *provisioningtest.World) time.Duration {
	w.Helper()
	result, err := w.Provisioning.Reconcile(w.Context(), ctrl.Request{})
	if err != nil {
		w.Fatal(err)
	}
	return result.RequeueAfter
}

// TestPodsAreToldOfTheirNodes holds that each pod has one event when its node was launched, which
// names the instance, within seconds and however long the node takes to start.
func TestPodsAreToldOfTheirNodes(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Pod("two")
	if again := comesBack(w); again <= 0 || again > 5*time.Second {
		t.Errorf("the pass after the launch comes after %v", again)
	}
	w.Settle()
	told := func(when string) {
		t.Helper()
		for _, name := range []string{"one", "two"} {
			if got := w.Told(name + ":"); len(got) != 1 || len(w.Told("Normal NodeLaunched "+name+":", "(m5.large in us-east-1")) != 1 {
				t.Errorf("%s, pod %s is told %q", when, name, got)
			}
		}
	}
	told("after the launch")
	w.Advance(10 * time.Minute)
	told("while the node starts")
	w.Join()
	w.Settle()
	told("when the node is ready")
}

// TestPodsOfFailingLaunches holds that pods hear, once and within seconds, that the launch of their
// node fails and is repeated, and that their node is on its way when it succeeds.
func TestPodsOfFailingLaunches(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	fault, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: "CreateFleet", Code: "InternalError", Message: "An internal error has occurred.", Status: 500})
	if err != nil {
		t.Fatal(err)
	}
	w.Pod("one")
	w.Settle()
	w.Advance(3 * time.Minute)
	told := w.Told("Warning NoNodeLaunched one:", "the launch of its node failed (", "An internal error has occurred). Slipway retries.")
	if len(told) != 1 || len(w.Told("one:")) != 1 {
		t.Errorf("the events are %q", w.Events())
	}
	if diff := cmp.Diff(map[string]float64{"launch": 1}, pending(w)); diff != "" {
		t.Errorf("pods wait for other reasons (-want +got):\n%s", diff)
	}
	if again := comesBack(w); again <= 0 || again > 5*time.Second {
		t.Errorf("the next pass comes after %v", again)
	}
	if !w.Sim.RemoveFault(fault) {
		t.Fatal("no fault")
	}
	w.Advance(15 * time.Second)
	if told := w.Told("Normal NodeLaunched one:"); len(told) != 1 || len(w.Told("one:")) != 2 {
		t.Errorf("the events are %q", w.Events())
	}
	if diff := cmp.Diff(map[string]float64{"node_coming": 1}, pending(w)); diff != "" {
		t.Errorf("pods wait for other reasons (-want +got):\n%s", diff)
	}
}

// TestPodsDuringAnOutage holds that pods get an event if EC2 does not even list its instances.
func TestPodsDuringAnOutage(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Faulty = true
	w.Provision("default")
	if _, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: "DescribeInstanceTypes", Code: "InternalError", Message: "An internal error has occurred", Status: 500}); err != nil {
		t.Fatal(err)
	}
	w.Pod("one")
	w.Settle()
	w.Advance(3 * time.Minute)
	if told := w.Told("Warning NoNodeLaunched one:", "EC2 does not return the list of instances", "An internal error has occurred"); len(told) != 1 || len(w.Told("one:")) != 1 {
		t.Errorf("the events are %q", w.Events())
	}
}

// TestPodsThatWaitForAVolume holds that a pod whose PersistentVolumeClaim is missing, or is bound
// before its pod gets a node and is not bound, has one event about it and no node; that no event is
// written for what passes; and that it gets its node once the claim is bound.
func TestPodsThatWaitForAVolume(t *testing.T) {
	t.Parallel()
	immediate := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate)}
	claim := func(volume string) *corev1.PersistentVolumeClaim {
		one := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
		one.Spec.StorageClassName, one.Spec.VolumeName = ptr.To("at-once"), volume
		return one
	}
	for _, row := range []struct {
		reason string
		before func(*provisioningtest.World)
		mend   func(*provisioningtest.World)
		told   string
	}{
		{"the claim does not exist", func(*provisioningtest.World) {}, func(w *provisioningtest.World) { w.Create(claim("disk")) },
			"The pod waits for PersistentVolumeClaim data, which does not exist"},
		{"the claim is bound before its pod", func(w *provisioningtest.World) { w.Create(claim("")) }, func(w *provisioningtest.World) {
			one := claim("")
			w.Update(one, func() { one.Spec.VolumeName = "disk" })
		}, "StorageClass at-once binds claims before pods are scheduled"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default")
			w.Create(immediate.DeepCopy())
			w.Create(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}})
			row.before(w)
			w.Pod("one", func(pod *corev1.Pod) {
				pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			})
			w.Settle()
			w.Advance(20 * time.Second)
			if again := comesBack(w); len(w.Told("one:")) != 0 || again <= 0 || again > 5*time.Second {
				t.Errorf("while volumes may still come, the next pass comes after %v, and the events are %q", again, w.Events())
			}
			w.Advance(3 * time.Minute)
			if told := w.Told("Warning NoNodeLaunched one:", row.told); len(told) != 1 || len(w.Told("one:")) != 1 || len(w.Provisioned()) != 0 {
				t.Errorf("%d nodes are launched; the events are %q", len(w.Provisioned()), w.Events())
			}
			if diff := cmp.Diff(map[string]float64{"volume": 1}, pending(w)); diff != "" {
				t.Errorf("pods wait for other reasons (-want +got):\n%s", diff)
			}
			row.mend(w)
			w.Settle()
			if got := len(w.Instances()); got != 1 || len(pending(w)) != 1 {
				t.Errorf("%d instances run after the claim is bound; pods wait for %v", got, pending(w))
			}
		})
	}
}

// TestBacklogsAreToldWithinMinutes holds that each of many pods without a place has its event
// within seconds, and not within as many minutes as there are passes.
func TestBacklogsAreToldWithinMinutes(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
		spec.Limits = &provisioningv1.Limits{Nodes: ptr.To[int32](0)}
	})
	const pods = 250
	for i := range pods {
		w.Pod(fmt.Sprintf("pod-%03d", i))
	}
	first := comesBack(w)
	w.Clock.Step(first)
	if told := len(w.Told("NoNodeLaunched")); told < 100 || told == pods || first > 5*time.Second {
		t.Errorf("the first pass tells %d of %d pods, and the next comes after %v", told, pods, first)
	}
	comesBack(w)
	if told := len(w.Told("NoNodeLaunched")); told != pods {
		t.Errorf("%d of %d pods are told after the second pass", told, pods)
	}
	if again := comesBack(w); again < 30*time.Second {
		t.Errorf("all pods are told, and the next pass comes after %v", again)
	}
}

// TestMessagesOfAWSEndOnce holds that a message of AWS that ends with a full stop leads to no event
// with two of them.
func TestMessagesOfAWSEndOnce(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Faulty = true
	w.Provision("default")
	if _, err := w.Sim.AddFault(awssim.Fault{Service: "ec2", Action: "RunInstances", Code: "InvalidParameterValue", Message: "m5.large does not support Nitro Enclaves.", Status: 400}); err != nil {
		t.Fatal(err)
	}
	w.Pod("one")
	w.Settle()
	w.Advance(time.Minute)
	if told := w.Told("NoNodeLaunched one:", "Nitro Enclaves."); len(told) != 1 || len(w.Told("..")) != 0 {
		t.Errorf("the events are %q", w.Events())
	}
}
