package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const (
	drainHook = "slipway-drain"
	// unhurried is the clock's rate while a drain is held up: half an hour, after which AWS
	// releases an instance without heartbeats, is a minute.
	unhurried = 30
)

// drainTimeout is a replacement in the example that sets spec.nodeDrain.timeout.
func drainTimeout(timeout string) []string {
	return []string{"  maxSize: 10", "  maxSize: 10\n  nodeDrain:\n    timeout: " + timeout}
}

// servePods runs a pod of an application on each node, and one of a DaemonSet, with a budget that
// allows no disruption of the application.
func (w *world) servePods() {
	w.Helper()
	w.Eventually("the service account of pods is there", func() error {
		return w.WorkloadClient.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	if err := w.WorkloadClient.Create(w.Context(), budget); err != nil {
		w.Fatal(err)
	}
	w.allowDisruptions(0)
	labels := map[string]string{"app": "agent"}
	agent := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "agent"},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
		}},
	}
	if err := w.WorkloadClient.Create(w.Context(), agent); err != nil {
		w.Fatal(err)
	}
	for i, node := range w.Nodes() {
		w.runPod(fmt.Sprintf("web-%d", i), node.Name, map[string]string{"app": "web"}, nil)
		w.runPod(fmt.Sprintf("agent-%d", i), node.Name, labels, metav1.NewControllerRef(agent, appsv1.SchemeGroupVersion.WithKind("DaemonSet")))
	}
}

func (w *world) runPod(name, node string, labels map[string]string, owner *metav1.OwnerReference) {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "none"}},
			// No kubelet confirms its termination, so it needs no grace period.
			TerminationGracePeriodSeconds: ptr.To[int64](0), AutomountServiceAccountToken: ptr.To(false),
		},
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if err := w.WorkloadClient.Create(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if err := w.WorkloadClient.Status().Update(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
}

// allowDisruptions says what the absent disruption controller would of the budget.
func (w *world) allowDisruptions(allowed int32) {
	w.Helper()
	w.Eventually("the budget is told", func() error {
		budget := &policyv1.PodDisruptionBudget{}
		if err := w.WorkloadClient.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "web"}, budget); err != nil {
			return err
		}
		budget.Status = policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 2, DesiredHealthy: 2, ExpectedPods: 2,
		}
		return w.WorkloadClient.Status().Update(w.Context(), budget)
	})
}

// pods are the names of the application's pods that are left.
func (w *world) pods() []string {
	w.Helper()
	list := &corev1.PodList{}
	if err := w.WorkloadClient.List(w.Context(), list, client.InNamespace(w.Namespace), client.MatchingLabels{"app": "web"}); err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return names
}

// cordoned returns how many nodes take no pods.
func (w *world) cordoned() int {
	count := 0
	for _, node := range w.Nodes() {
		if node.Spec.Unschedulable {
			count++
		}
	}
	return count
}

func (w *world) scaleTo(replicas int32) {
	w.Helper()
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = &replicas })
}

// hooks are the names of the group's lifecycle hooks.
func (w *world) hooks() []string {
	w.Helper()
	out, err := w.asg().DescribeLifecycleHooks(w.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: w.group().AutoScalingGroupName})
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, hook := range out.LifecycleHooks {
		names = append(names, aws.ToString(hook.LifecycleHookName))
	}
	return names
}

// awaitHeld waits until the budget holds a drain up, and slows time down.
func (w *world) awaitHeld() {
	w.Helper()
	w.clock.SetRate(unhurried)
	w.Eventually("the budget holds a drain up", func() error {
		pool, err := w.pool()
		if err != nil {
			return err
		}
		words := "held by PodDisruptionBudget " + w.Namespace + "/web"
		for _, condition := range pool.Status.Conditions {
			if condition.Type == infrav1.NodesDrainedCondition && condition.Status == metav1.ConditionFalse &&
				condition.Reason == infrav1.DrainingReason && strings.Contains(condition.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
	})
}

// TestScaleInDrains holds that an instance that leaves waits for its node's pods for as long as a
// budget holds them, a new manager goes on where the old one stopped, and pods that stay anyway do
// not count.
func TestScaleInDrains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool(drainTimeout("24h")...)
	if err := equals(w.hooks(), []string{drainHook}); err != nil {
		t.Fatalf("hooks: %v", err)
	}
	w.servePods()
	w.scaleTo(1)
	w.awaitHeld()
	since := w.mustPool().Annotations["slipway.infrastructure.cluster.x-k8s.io/draining"]
	w.stopManager()
	w.startManager()
	w.pass(2 * time.Minute)
	w.awaitHeld()
	if now := w.mustPool().Annotations["slipway.infrastructure.cluster.x-k8s.io/draining"]; since == "" || now != since {
		t.Errorf("the drain began at %q, and now at %q", since, now)
	}
	if running := w.running(); len(running) != 2 || w.cordoned() != 1 || len(w.pods()) != 2 {
		t.Errorf("instances %q, %d nodes cordoned, pods %q", running, w.cordoned(), w.pods())
	}
	w.allowDisruptions(2)
	w.clock.SetRate(rate)
	w.Eventually("the node goes", func() error { return w.settled(1) })
	if left := w.pods(); len(left) != 1 || w.cordoned() != 0 {
		t.Errorf("pods %q, %d nodes cordoned", left, w.cordoned())
	}
	w.awaitCondition(infrav1.NodesDrainedCondition, metav1.ConditionTrue, infrav1.DrainedReason)
	w.awaitEvents("NodeDraining", "NodeDrained")
	if slices.Contains(w.events(), "NodeDrainTimedOut") {
		t.Error("the drain timed out")
	}
	w.expectCounts(map[string]int{"CompleteLifecycleAction": 1, "UpdateAutoScalingGroup": 1})
	w.Eventually("nothing is remembered of it", func() error {
		if text, there := w.mustPool().Annotations["slipway.infrastructure.cluster.x-k8s.io/draining"]; there {
			return fmt.Errorf("annotation %s", text)
		}
		return nil
	})
}

// TestRefreshDrains holds that a refresh drains each node before its instance goes.
func TestRefreshDrains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool(drainTimeout("24h")...)
	w.servePods()
	before := w.running()
	w.editType("m6i.large")
	w.awaitHeld()
	w.allowDisruptions(2)
	w.clock.SetRate(rate)
	w.Eventually("both are replaced", func() error { return w.replaced(before, 2) })
	if left := w.pods(); len(left) != 0 {
		t.Errorf("pods %q were not evicted", left)
	}
	w.expectCounts(map[string]int{"CompleteLifecycleAction": 2, "StartInstanceRefresh": 1})
}

// TestDeletionDrains holds that a pool's deletion empties its nodes first, whatever keeps instances
// from leaving by themselves.
func TestDeletionDrains(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		prepare func(*world)
	}{
		{reason: "all leave by the hook"},
		{reason: "instances are protected from scale-in", prepare: func(w *world) {
			w.must(w.asg().SetInstanceProtection(w.Context(), &autoscaling.SetInstanceProtectionInput{
				AutoScalingGroupName: w.group().AutoScalingGroupName, InstanceIds: w.running(), ProtectedFromScaleIn: aws.Bool(true),
			}))
		}},
		{reason: "the group's Terminate process is suspended", prepare: func(w *world) {
			w.must(w.asg().SuspendProcesses(w.Context(), &autoscaling.SuspendProcessesInput{
				AutoScalingGroupName: w.group().AutoScalingGroupName, ScalingProcesses: []string{"Terminate"},
			}))
		}},
		{reason: "there is a warm pool", prepare: func(w *world) {
			w.must(w.asg().PutWarmPool(w.Context(), &autoscaling.PutWarmPoolInput{
				AutoScalingGroupName: w.group().AutoScalingGroupName, MinSize: aws.Int32(1), MaxGroupPreparedCapacity: aws.Int32(3),
			}))
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.havePool(drainTimeout("24h")...)
			w.servePods()
			if row.prepare != nil {
				row.prepare(w)
			}
			w.deletePool()
			w.awaitHeld()
			w.Eventually("both nodes take no more pods", func() error { return equals([]int{w.cordoned()}, []int{2}) })
			if pods := w.pods(); len(pods) != 2 || w.count("DeleteAutoScalingGroup") != 0 || len(w.running()) < 2 {
				t.Errorf("pods %q, instances %q, writes %q", pods, w.running(), w.writes())
			}
			w.allowDisruptions(2)
			w.clock.SetRate(rate)
			w.Eventually("the objects are gone", w.gone)
			w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
			if left := w.pods(); len(left) != 0 {
				t.Errorf("pods %q were not evicted", left)
			}
		})
	}
}

// must fails the test if a call failed.
func (w *world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// TestDrainEnds has a row for everything that ends a drain, or keeps it from beginning, though pods
// are left that a budget holds.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		pool    []string
		prepare func(*world)
		// leave has instances leave, gone returns nil once they have.
		leave func(*world)
		gone  func(*world) error
		// timesOut is set if the time limit stops it.
		timesOut bool
	}{
		{reason: "the time limit, in scale-in", pool: drainTimeout("2m"), leave: func(w *world) { w.scaleTo(1) },
			gone: func(w *world) error { return w.settled(1) }, timesOut: true},
		{reason: "the time limit, in deletion", pool: drainTimeout("2m"), leave: (*world).deletePool, gone: (*world).gone, timesOut: true},
		{reason: "the pool opted out", pool: []string{"  maxSize: 10", "  maxSize: 10\n  nodeDrain:\n    disable: true"},
			leave: func(w *world) { w.scaleTo(1) }, gone: func(w *world) error { return w.settled(1) }},
		{reason: "the pool opted out, in deletion", pool: []string{"  maxSize: 10", "  maxSize: 10\n  nodeDrain:\n    disable: true"},
			leave: (*world).deletePool, gone: (*world).gone},
		{reason: "the pool opts out while it drains", pool: drainTimeout("24h"), leave: func(w *world) {
			w.scaleTo(1)
			w.awaitHeld()
			w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.NodeDrain.Disable = true })
			w.clock.SetRate(rate)
		}, gone: func(w *world) error { return w.settled(1) }},
		{reason: "Cluster API's annotation on the Machines to come", pool: append(drainTimeout("24h"), "  template:\n    spec:\n      bootstrap:",
			"  template:\n    metadata:\n      annotations: {machine.cluster.x-k8s.io/exclude-node-draining: \"\"}\n    spec:\n      bootstrap:"),
			leave: func(w *world) { w.scaleTo(1) }, gone: func(w *world) error { return w.settled(1) }},
		{reason: "the workload cluster cannot be reached", pool: drainTimeout("2m"), prepare: (*world).loseWorkloadCluster,
			leave: func(w *world) { w.scaleTo(1) }, gone: (*world).oneRuns, timesOut: true},
		{reason: "the workload cluster has no kubeconfig", pool: drainTimeout("2m"),
			prepare: func(w *world) { w.remove(&corev1.Secret{}, "capa-kubeconfig") },
			leave:   func(w *world) { w.scaleTo(1) }, gone: (*world).oneRuns, timesOut: true},
		{reason: "the Cluster is being deleted", pool: drainTimeout("24h"), leave: func(w *world) { w.remove(&clusterv1.Cluster{}, "capa") }, gone: (*world).gone},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.havePool(row.pool...)
			w.servePods()
			if row.prepare != nil {
				row.prepare(w)
			}
			row.leave(w)
			w.Eventually("it is over", func() error { return row.gone(w) })
			if left := w.pods(); len(left) != 2 {
				t.Errorf("pods %q are left, want both", left)
			}
			if row.timesOut {
				w.awaitEvents("NodeDrainTimedOut") // events are written some time after what they report
			} else if slices.Contains(w.events(), "NodeDrainTimedOut") {
				t.Errorf("events %q", w.events())
			}
		})
	}
}

// oneRuns is nil once one instance is left.
func (w *world) oneRuns() error {
	if running := w.running(); len(running) != 1 {
		return fmt.Errorf("instances are %q", running)
	}
	return nil
}

// loseWorkloadCluster has the kubeconfig lead to where nothing answers.
func (w *world) loseWorkloadCluster() {
	w.Helper()
	edited(w, &corev1.Secret{}, "capa-kubeconfig", func(secret *corev1.Secret) {
		secret.Data["value"] = []byte(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: "https://127.0.0.1:9"}}], users: [{name: u, user: {token: none}}]}`)
	})
}

// TestOptingOutAndIn holds that the hook follows the field, and that another hook of the same
// transition is left alone and waited for.
func TestOptingOutAndIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.must(w.asg().PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: w.group().AutoScalingGroupName, LifecycleHookName: aws.String("foreign"), DefaultResult: aws.String("CONTINUE"),
		LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_TERMINATING"), HeartbeatTimeout: aws.Int32(300),
	}))
	for _, disable := range []bool{true, false} {
		w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.NodeDrain = &infrav1.NodeDrain{Disable: disable} })
		want := []string{"foreign"}
		if !disable {
			want = append(want, drainHook)
		}
		w.Eventually(fmt.Sprintf("the hooks are %q", want), func() error { return equals(w.hooks(), want) })
	}
	w.rest()
	w.Cloud.AWS.ClearCalls()
	w.scaleTo(1)
	w.Eventually("the node goes once the other hook lets it", func() error { return w.settled(1) })
	w.expectCounts(map[string]int{"CompleteLifecycleAction": 1, "RecordLifecycleActionHeartbeat": 0})
	w.deletePool()
	w.Eventually("the pool is gone", func() error {
		if _, err := w.pool(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
}
