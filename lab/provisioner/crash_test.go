package provisioner

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/lab/crashsweep"
	"github.com/slipway-project/slipway/lab/product"
)

// crashes is the number of points of a scenario that a run of the tests does. SWEEP says otherwise,
// as for package crashsweep.
const crashes = 4

// scenario is something during which a provisioner may die.
type scenario struct {
	name string
	// prepare is done before; act is swept.
	prepare, act func(*world)
	// done is nil once what is wanted has come about.
	done func(*world) error
	// launched is how many instances there were ever, in the end.
	launched int
}

// three are pods that need a node each: two of a kind, which are launched by one fleet, and one of
// another architecture.
func three(w *world) {
	w.provision("default")
	threePods(w)
}

func threePods(w *world) {
	for _, name := range []string{"one", "two"} {
		w.pod(name, labeled("app", "twin"), apartFrom(corev1.LabelHostname, "twin"), selecting(corev1.LabelArchStable, "amd64"))
	}
	w.pod("other", selecting(corev1.LabelArchStable, "arm64"))
}

// threeRun is nil if the three pods run, on nodes whose instances are all that there are.
func threeRun(w *world) error {
	pods := &corev1.PodList{}
	if err := w.Client.List(w.Context(), pods, client.InNamespace(w.Namespace)); err != nil {
		return err
	}
	used := map[string]bool{}
	for i := range pods.Items {
		used[pods.Items[i].Spec.NodeName] = true
	}
	if len(used) != 3 || used[""] {
		return fmt.Errorf("pods run on %v", used)
	}
	known := map[string]bool{}
	for _, node := range w.provisioned() {
		if !isTrue(&node, provisioningv1.ReadyCondition) {
			return fmt.Errorf("%s is not ready: %+v", node.Name, node.Status.Conditions)
		}
		known[node.Status.InstanceID] = true
	}
	for _, instance := range w.instances() {
		if !known[*instance.InstanceId] {
			return fmt.Errorf("no ProvisionedNode knows instance %s", *instance.InstanceId)
		}
	}
	if len(known) != 3 || len(w.Nodes()) != 3 || len(w.instances()) != 3 {
		return fmt.Errorf("there are %d ProvisionedNodes, %d Nodes and %d instances", len(known), len(w.Nodes()), len(w.instances()))
	}
	return nil
}

// startupTaint is the taint that a daemon of the tests removes from the nodes.
const startupTaint = "example.com/starting"

// threeStart is threeRun for nodes with a startup taint, which it takes off each node that has been
// registered, as a daemon there would.
func threeStart(w *world) error {
	for _, node := range w.Nodes() {
		kept := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(taint corev1.Taint) bool { return taint.Key == startupTaint })
		if len(kept) == len(node.Spec.Taints) {
			continue
		}
		before := node.DeepCopy()
		node.Spec.Taints = kept
		if err := w.Client.Patch(w.Context(), &node, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
	}
	return threeRun(w)
}

func awaitThree(w *world) {
	w.Helper()
	three(w)
	w.Eventually("three pods run", func() error { return threeRun(w) })
}

// awaitReplica has one pod of a set run.
func awaitReplica(w *world) {
	w.Helper()
	w.provision("default")
	w.keepReplicas(1)
	w.Eventually("the pod runs", func() error { return replicaRuns(w) })
}

// replicaRuns returns nil if the pod of the set runs on the only node, whose instance runs, and
// whose replacement is not requested.
func replicaRuns(w *world) error {
	nodes, instances, pods := w.provisioned(), w.instances(), w.set()
	if len(nodes) != 1 || len(w.Nodes()) != 1 || len(instances) != 1 || len(pods) != 1 {
		return fmt.Errorf("there are %d ProvisionedNodes, %d Nodes, %d instances and %d pods", len(nodes), len(w.Nodes()), len(instances), len(pods))
	}
	node, instance := &nodes[0], &instances[0]
	if !isTrue(node, provisioningv1.ReadyCondition) || node.Annotations[provisioningv1.ReplaceAnnotation] != "" || pods[0].Spec.NodeName != node.Status.NodeName {
		return fmt.Errorf("the pod is on %q, and the node is %+v", pods[0].Spec.NodeName, node)
	}
	if *instance.InstanceId != node.Status.InstanceID || instance.State.Name != ec2types.InstanceStateNameRunning {
		return fmt.Errorf("instance %s of node %+v is %s", *instance.InstanceId, node.Status, instance.State.Name)
	}
	return nil
}

// awaitFailure has the node of a pod fail until shortly before it is replaced.
func awaitFailure(w *world) {
	w.Helper()
	awaitReplica(w)
	if _, err := w.ec2().StopInstances(w.Context(), &ec2.StopInstancesInput{InstanceIds: []string{*w.instances()[0].InstanceId}}); err != nil {
		w.Fatal(err)
	}
	w.Eventually("the node fails", func() error {
		if node := w.provisioned()[0]; node.Status.FailedSince == nil {
			return fmt.Errorf("its status is %+v", node.Status)
		}
		return nil
	})
	w.sleep("9m")
}

// nodesGone is nil once nothing is left of any node.
func nodesGone(w *world) error {
	if nodes := len(w.provisioned()) + len(w.Nodes()) + len(w.instances()); nodes > 0 {
		return fmt.Errorf("%d things of nodes are left", nodes)
	}
	return nil
}

// provisionersGone is nodesGone, with the Provisioners and their launch templates.
func provisionersGone(w *world) error {
	provisioners := &provisioningv1.ProvisionerList{}
	if err := w.Client.List(w.Context(), provisioners); err != nil {
		return err
	}
	templates, err := w.ec2().DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		return err
	}
	if left := len(templates.LaunchTemplates); len(provisioners.Items)+left > 0 {
		return fmt.Errorf("%d Provisioners and %d launch templates are left", len(provisioners.Items), left)
	}
	return nodesGone(w)
}

var scenarios = []scenario{
	{name: "launch and registration", prepare: func(*world) {}, act: three, done: threeRun, launched: 3},
	{name: "initialization", prepare: func(*world) {}, done: threeStart, launched: 3, act: func(w *world) {
		w.provision("default", "startupTaints: [{key: "+startupTaint+", effect: NoSchedule}]")
		threePods(w)
	}},
	{name: "termination", prepare: awaitThree, done: nodesGone, launched: 3, act: func(w *world) {
		w.provision("default", "ttlSeconds: 30")
		if err := w.Client.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.Namespace), client.GracePeriodSeconds(0)); err != nil {
			w.Fatal(err)
		}
	}},
	{name: "replacement", prepare: awaitReplica, done: replicaRuns, launched: 2, act: func(w *world) {
		node := w.provisioned()[0]
		before := client.MergeFrom(node.DeepCopy())
		node.Annotations = map[string]string{provisioningv1.ReplaceAnnotation: "its disk fails"}
		if err := w.Client.Patch(w.Context(), &node, before); err != nil {
			w.Fatal(err)
		}
	}},
	{name: "repair", prepare: awaitFailure, act: func(*world) {}, done: replicaRuns, launched: 2},
	{name: "deletion of the provisioner", prepare: awaitThree, done: provisionersGone, launched: 3, act: func(w *world) {
		if err := w.Client.DeleteAllOf(w.Context(), &provisioningv1.Provisioner{}); err != nil {
			w.Fatal(err)
		}
	}},
}

// TestCrashSweep has the provisioner die at calls of AWS and at writes to the API server, and
// another go on: nothing is launched twice, lost, or left behind.
func TestCrashSweep(t *testing.T) {
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			var calls []string
			t.Run("without a crash", func(t *testing.T) { calls = scenario.run(t, crashsweep.Point{}) })
			if len(calls) == 0 {
				t.Fatal("the scenario makes no call: there is nothing to sweep")
			}
			t.Logf("the scenario makes %d calls:\n%s", len(calls), strings.Join(calls, "\n"))
			for _, point := range crashsweep.Points(scenario.name, calls, crashes) {
				t.Run(strings.NewReplacer(" ", "_", "/", ".").Replace(point.String()), func(t *testing.T) { scenario.run(t, point) })
			}
		})
	}
}

// run has the provisioner die at the point, and returns the calls that it sent until then.
func (s scenario) run(t *testing.T, point crashsweep.Point) []string {
	t.Helper()
	w := newWorldWith(t, options{unstarted: true})
	launched := w.countLaunched()
	crasher := crashsweep.NewCrasher()
	running, err := w.Lab.StartManager(w.Context(), w.ManagerEnv(), w.provisioner(product.Settings{
		WrapAWS: crasher.WrapAWS, WrapKubernetes: crasher.WrapKubernetes,
	}))
	if err != nil {
		t.Fatal(err)
	}
	w.running = running
	end := sync.OnceFunc(func() {
		crasher.Release()
		_ = running.Stop() // what its last requests fail with is the crash
	})
	t.Cleanup(end)
	s.prepare(w)
	crasher.Arm(point)
	s.act(w)
	w.Eventually("the provisioner dies, or all is done", func() error {
		select {
		case <-crasher.Crashed():
			return nil
		default:
			return s.done(w)
		}
	})
	calls := crasher.Calls()
	end()
	w.start()
	w.Eventually("all is done", func() error { return s.done(w) })
	w.sleep("2m")
	w.Eventually("it stays so", func() error { return s.done(w) })
	if got := launched(); got != s.launched {
		t.Errorf("%d instances were launched, want %d", got, s.launched)
	}
	return calls
}

// countLaunched counts the instances that there are from now on, however briefly.
func (w *world) countLaunched() func() int {
	var mu sync.Mutex
	ids := map[string]bool{}
	w.Cleanup(w.Cloud.AWS.OnChange(func(event awssim.Event) {
		if event.Kind == "instance" && event.Account == w.Account {
			mu.Lock()
			defer mu.Unlock()
			ids[event.ID] = true
		}
	}))
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(ids)
	}
}
