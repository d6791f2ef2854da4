package nodelifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestPodsThatComeBack holds that the drain of a Node finishes although a pod's controller creates
// successors that tolerate the cordon and come to the Node, which has more room than others. Each was
// evicted for the next one, and the instance was never terminated.
func TestPodsThatComeBack(t *testing.T) {
	t.Parallel()
	w, first, node := withNode(t, provisioningtest.Options{})
	created := 0
	create := func() *corev1.Pod {
		created++
		pod := w.Pod(fmt.Sprintf("agent-%d", created), func(pod *corev1.Pod) {
			pod.Finalizers = []string{"example.com/ends-slowly"}
			pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		})
		w.Bind(pod, node)
		return pod
	}
	pod := create()
	w.Delete(first)
	w.Settle()
	member := w.Members()[0]
	w.Delete(&member)
	w.Settle()
	w.Update(&member, func() {
		member.Spec.Taints = append(member.Spec.Taints, corev1.Taint{
			Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: ptr.To(metav1.NewTime(w.Clock.Now())),
		})
	})
	for range 30 {
		w.Advance(10 * time.Second)
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err == nil && pod.DeletionTimestamp != nil {
			next := create()
			w.Update(pod, func() { pod.Finalizers = nil })
			pod = next
		}
	}
	if len(w.Members()) != 0 || created != 2 {
		t.Errorf("%d Nodes are left after %d pods: %q", len(w.Members()), created, w.Events())
	}
}

// TestPodThatDoesNotEnd holds that a drain gives a pod its grace period, counted from its deletion, and
// waits no longer for a pod whose object something else keeps.
func TestPodThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{0, 30 * time.Second, 10 * time.Minute} {
		w, pod, _ := withNode(t, provisioningtest.Options{})
		w.Update(pod, func() {
			pod.Finalizers = []string{"example.com/keep"}
			pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(grace / time.Second))
		})
		instance := w.Provisioned()[0].Status.InstanceID
		w.Delete(&w.Members()[0])
		w.Settle()
		w.Advance(grace + 30*time.Second)
		if !running(w)[instance] {
			t.Errorf("grace period %s: the instance is terminated too soon: %q", grace, w.Events())
		}
		w.Advance(time.Minute)
		if running(w)[instance] {
			t.Errorf("grace period %s: the instance is left: %q", grace, w.Events())
		}
	}
}

// TestEmptyNodeOfAPodThatDoesNotEnd holds that a pod whose grace period is over and whose object something
// else keeps does not keep an empty node.
func TestEmptyNodeOfAPodThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	w, pod, _ := withNode(t, provisioningtest.Options{})
	provisioner := w.Provisioner("default")
	w.Update(provisioner, func() { provisioner.Spec.TTLSeconds = ptr.To[int64](60) })
	w.Update(pod, func() { pod.Finalizers = []string{"example.com/keep"} })
	w.Delete(pod)
	w.Settle()
	w.Advance(2 * time.Minute) // its grace period is 30 seconds
	if len(w.Instances()) != 1 {
		t.Fatalf("the node goes before the pod had the time to end: %q", w.Events())
	}
	w.Advance(2 * time.Minute)
	if len(w.Instances()) != 0 {
		t.Errorf("the node stays: %+v", w.Provisioned()[0].Status)
	}
}

// TestProvisionerDeletedDuringALaunch holds that nothing is left of a launch whose Provisioner is deleted
// while EC2 is asked for it, and nothing is launched for it any longer.
func TestProvisionerDeletedDuringALaunch(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]*awssim.Fault{
		"answered": nil, "throttled": {Code: "RequestLimitExceeded", Status: 503}, "the answer is lost": {Place: awssim.AfterEffect, Drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			provisioner := w.Provision("default")
			w.Pod("one")
			if fault != nil {
				w.Faulty = true
				fault.Service, fault.Action = "ec2", "CreateFleet"
				id, err := w.Sim.AddFault(*fault)
				if err != nil {
					t.Fatal(err)
				}
				w.Settle()
				w.Sim.RemoveFault(id)
			}
			w.Settle()
			w.Delete(provisioner)
			w.Settle()
			w.Pod("two")
			w.Advance(5 * time.Minute)
			var left provisioningv1.ProvisionerList
			if err := w.Client.List(t.Context(), &left); err != nil {
				t.Fatal(err)
			}
			if len(w.Instances())+len(w.Provisioned())+len(left.Items) != 0 {
				t.Errorf("%d instances, %d nodes, and %d Provisioners are left: %q", len(w.Instances()), len(w.Provisioned()), len(left.Items), w.Events())
			}
		})
	}
}

// TestDrainsAndBudgets holds which PodDisruptionBudgets a drain waits for, and what the node says.
func TestDrainsAndBudgets(t *testing.T) {
	t.Parallel()
	unready := func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }
	for _, row := range []struct {
		reason  string
		pod     func(*corev1.Pod)
		budgets []func(*policyv1.PodDisruptionBudget)
		says    string // empty if the drain finishes
	}{
		{"one that allows no eviction", nil, []func(*policyv1.PodDisruptionBudget){func(*policyv1.PodDisruptionBudget) {}}, "1 pod held by PodDisruptionBudget"},
		{"one that allows an eviction", nil, []func(*policyv1.PodDisruptionBudget){func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }}, ""},
		{"several, whatever they allow", nil, []func(*policyv1.PodDisruptionBudget){
			func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }, func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 },
		}, "1 pod not evicted: Internal error occurred: This pod has more than one PodDisruptionBudget"},
		{"one of a pod that is not ready", unready, []func(*policyv1.PodDisruptionBudget){func(b *policyv1.PodDisruptionBudget) { b.Status.DesiredHealthy = 1 }}, "1 pod held by PodDisruptionBudget"},
		{"one with enough healthy pods", unready, []func(*policyv1.PodDisruptionBudget){func(b *policyv1.PodDisruptionBudget) { b.Status.DesiredHealthy, b.Status.CurrentHealthy = 1, 1 }}, ""},
		{"one that always allows to evict unhealthy pods", unready, []func(*policyv1.PodDisruptionBudget){func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy, b.Status.DesiredHealthy = ptr.To(policyv1.AlwaysAllow), 1
		}}, ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w, pod, _ := withNode(t, provisioningtest.Options{})
			if row.pod != nil {
				w.UpdateStatus(pod, func() { row.pod(pod) })
			}
			for i, edit := range row.budgets {
				budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("budget-%d", i)}}
				budget.Spec.Selector = &metav1.LabelSelector{}
				edit(budget)
				w.Create(budget)
			}
			first := w.Provisioned()[0]
			w.Delete(&w.Members()[0])
			w.Advance(2 * time.Minute)
			said := ""
			for _, node := range w.Provisioned() {
				if condition := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.EndingCondition); condition != nil && node.Name == first.Name {
					said = condition.Message
				}
			}
			if running(w)[first.Status.InstanceID] != (row.says != "") || !strings.HasPrefix(said, row.says) {
				t.Errorf("the node says %q, want %q", said, row.says)
			}
		})
	}
}
