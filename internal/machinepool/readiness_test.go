package machinepool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// TestDecideReadiness specifies what is decided about the nodes of a roll-out.
func TestDecideReadiness(t *testing.T) {
	t.Parallel()
	active := autoscalinggroup.Refresh{ID: "r-1", Status: "InProgress", Strategy: "Rolling"}
	// replaced has a refresh to version 2 replace i-1, which came into service that long ago.
	replaced := func(in *input, ago time.Duration) {
		pointAt(in, 2)
		changeGroup(in, func(group *autoscalinggroup.Group) { group.Instances[0].Version = 2 })
		in.Object.Status.Rollout = &infrav1.RolloutStatus{RefreshID: "r-1", Status: "InProgress", StartedID: "r-1", StartedFor: "config-2", StartedTemplateID: "lt-1", AttemptsFor: "config-2@lt-1", Cause: "instance type m5.large → m6i.large"}
		in.Object.Status.Instances = []infrav1.AWSMachinePoolInstanceStatus{{InstanceID: "i-1", LifecycleState: "InService", LaunchTemplateVersion: "2", InServiceTime: ptr.To(metav1.NewTime(noon.Add(-ago)))}}
		in.Seen.Refreshes = Refreshes{Read: true, List: []autoscalinggroup.Refresh{active}, Again: noon.Add(15 * time.Second)}
		in.Seen.InMotion = true
		did(in, recordInstances{}, nil)
	}
	// most has it replaced three of five instances.
	most := func(in *input) {
		replaced(in, 4*time.Minute)
		changeGroup(in, func(group *autoscalinggroup.Group) {
			for i, version := range []int64{2, 2, 1} {
				more := group.Instances[0]
				more.ID, more.Version = fmt.Sprintf("i-%d", i+3), version
				group.Instances = append(group.Instances, more)
				in.Object.Status.Instances = append(in.Object.Status.Instances, infrav1.AWSMachinePoolInstanceStatus{
					InstanceID: more.ID, LifecycleState: "InService", LaunchTemplateVersion: fmt.Sprint(version), InServiceTime: ptr.To(metav1.NewTime(noon.Add(-4 * time.Minute))),
				})
			}
		})
		in.Seen.Refreshes.Latest, in.Seen.Fresh = true, true
	}
	ready := func(ids ...string) Readiness {
		found := Readiness{Read: true, Ready: map[string]bool{}}
		for _, id := range ids {
			found.Ready["aws:///us-east-1a/"+id] = true
		}
		return found
	}
	rolling := []string{"RolledOut=False/RollingOut: instance refresh r-1 is InProgress; 1 of 2 instances run version 1"}
	specify(t, []row{
		{reason: "the new instance may still become a node", given: func(in *input) { replaced(in, 4*time.Minute-time.Second) }, then: "nothing", shows: rolling, again: 15 * time.Second},
		{reason: "it should be one by now", given: func(in *input) { replaced(in, 4*time.Minute) }, then: "needs which nodes are Ready"},
		{reason: "the user gives instances a longer warm-up", given: func(in *input) {
			replaced(in, 10*time.Minute)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](900)}
		}, then: "nothing", shows: rolling, again: 15 * time.Second},
		{reason: "it is Ready", given: func(in *input) { replaced(in, 4*time.Minute); in.Seen.Readiness = ready("i-1", "i-2") }, then: "nothing", shows: rolling, again: 15 * time.Second},
		{reason: "no node is", given: func(in *input) { replaced(in, 4*time.Minute); in.Seen.Readiness = ready() }, then: "nothing", shows: rolling, again: 15 * time.Second},
		{reason: "the cluster does not answer", given: func(in *input) { replaced(in, 4*time.Minute); in.Seen.Readiness.Err = errLater }, then: "nothing", shows: rolling, again: 15 * time.Second},
		{reason: "only the earlier configuration's is: AWS is asked what is in progress now", given: func(in *input) { replaced(in, 4*time.Minute); in.Seen.Readiness = ready("i-2") }, then: "needs the newest instance refreshes"},
		{reason: "and the refresh is cancelled", given: func(in *input) {
			replaced(in, 4*time.Minute)
			in.Seen.Readiness, in.Seen.Refreshes.Latest, in.Seen.Fresh = ready("i-2"), true, true
		}, then: "cancel instance refresh r-1, because 1 of 1 instances with the desired configuration have no Ready node 4m0s after they came into service: i-1. " +
			"Slipway replaces no more nodes until most of them are Ready or the spec changes"},
		{reason: "one of three is not", given: func(in *input) { most(in); in.Seen.Readiness = ready("i-1", "i-2", "i-3", "i-5") }, then: "nothing", shows: []string{"RolledOut=False/RollingOut"}, again: 15 * time.Second},
		{reason: "two of three are not", given: func(in *input) { most(in); in.Seen.Readiness = ready("i-1", "i-2", "i-5") }, then: "cancel instance refresh r-1, because " +
			"2 of 3 instances with the desired configuration have no Ready node 4m0s after they came into service: i-3, i-4. Slipway replaces no more nodes until most of them are Ready or the spec changes"},
		{reason: "two of three are not, one of which is not overdue", given: func(in *input) {
			most(in)
			in.Object.Status.Instances[2].InServiceTime = ptr.To(metav1.NewTime(noon.Add(-time.Minute)))
			in.Seen.Readiness = ready("i-1", "i-2", "i-5")
		}, then: "nothing", shows: []string{"RolledOut=False/RollingOut"}, again: 15 * time.Second},
		{reason: "two of three are not, and neither is any of the earlier two", given: func(in *input) { most(in); in.Seen.Readiness = ready("i-1") }, then: "nothing", shows: []string{"RolledOut=False/RollingOut"}, again: 15 * time.Second},
		{reason: "two of three are not, and one of the earlier two is: they do better", given: func(in *input) { most(in); in.Seen.Readiness = ready("i-1", "i-2") }, then: "cancel instance refresh r-1, because " +
			"2 of 3 instances with the desired configuration have no Ready node 4m0s after they came into service: i-3, i-4. Slipway replaces no more nodes until most of them are Ready or the spec changes"},
		{reason: "a user's refresh is left alone", given: func(in *input) {
			replaced(in, 4*time.Minute)
			in.Seen.Readiness, in.Object.Status.Rollout.StartedID = ready("i-2"), ""
		}, then: "nothing", shows: []string{"RolledOut=False/NodesNotReady: instance refresh r-1 is InProgress"}, again: 15 * time.Second},
		{reason: "it was cancelled, and none is started", given: func(in *input) {
			replaced(in, 4*time.Minute)
			in.Seen.Readiness, in.Seen.Refreshes.List = ready("i-2"), []autoscalinggroup.Refresh{{ID: "r-1", Status: "Cancelled"}}
			in.Object.Status.Rollout.Status = "Cancelled"
		}, then: "watch Auto Scaling group pool at rest, because nothing is expected to change", shows: []string{"RolledOut=False/NodesNotReady: 1 of 2 instances run version 1; 1 of 1 instances with the desired configuration have no Ready node"}, again: brokenLook},
	})
}

// kubelets is the API server of a workload cluster in which each instance in service has a Node.
type kubelets struct {
	*rollouts
	// ready says whether the Node of an instance that runs a version is Ready.
	ready map[string]bool
	// unreachable is true while the API server does not answer, and lists counts its answers.
	unreachable bool
	lists       int
	// named has Nodes have the names that EC2 gave their instances, and forged has another Node, which is
	// Ready or not, name each instance too.
	named  bool
	forged *bool
}

// ServeHTTP implements http.Handler.
func (k *kubelets) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if k.unreachable || !strings.HasSuffix(request.URL.Path, "/nodes") {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	k.lists++
	list := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: []corev1.Node{}}
	for _, instance := range k.group().Instances {
		if instance.LifecycleState != asgtypes.LifecycleStateInService {
			continue
		}
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: *instance.InstanceId}}
		node.Spec.ProviderID = "aws:///" + *instance.AvailabilityZone + "/" + *instance.InstanceId
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		if k.ready[*instance.LaunchTemplate.Version] {
			node.Status.Conditions[0].Status = corev1.ConditionTrue
		}
		if k.forged != nil {
			other := *node.DeepCopy()
			other.Name, other.Status.Conditions[0].Status = "a-forged-"+node.Name, corev1.ConditionFalse
			if *k.forged {
				other.Status.Conditions[0].Status = corev1.ConditionTrue
			}
			list.Items = append(list.Items, other)
		}
		if k.named {
			node.Name = k.nameOf(*instance.InstanceId)
		}
		list.Items = append(list.Items, node)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(list); err != nil {
		k.Error(err)
	}
}

// nameOf returns the private DNS name of an instance.
func (k *kubelets) nameOf(instance string) string {
	k.Helper()
	for _, described := range k.sim.Region("123456789012", "us-east-1").Instances() {
		if *described.InstanceId == instance {
			return *described.PrivateDnsName
		}
	}
	k.Fatalf("there is no instance %s", instance)
	return ""
}

// newKubelets returns a pool of two instances that run version 1, and whose Nodes are Ready.
func newKubelets(t *testing.T, change func(*infrav1.AWSMachinePool)) *kubelets {
	t.Helper()
	k := &kubelets{rollouts: newRollouts(t, change), ready: map[string]bool{"1": true}}
	workloadtest.Serve(t, k.Client, client.ObjectKey{Namespace: k.key.Namespace, Name: "blue"}, k)
	k.want("m5.large", "")
	k.settled(1)
	return k
}

// stopped makes passes until the roll-out to version 2 is stopped, and an hour more.
func (k *kubelets) stopped() {
	k.Helper()
	k.until("the refresh is cancelled", func() bool { return k.refreshStatus() == "Cancelled" })
	for range 60 {
		k.reconcile(time.Minute)
	}
	k.until("the cancelled refresh has its last replacement", func() bool { return len(k.group().Instances) == 2 && k.inService() == 2 })
}

func (k *kubelets) inService() (count int) {
	for _, running := range k.versions() {
		count += running
	}
	return count
}

// TestRolloutStopsIfNodesDoNotWork holds that a roll-out whose nodes do not become Ready stops at its first
// instance, says so, and goes on by itself or after an edit once they do. A manager that forgets
// everything does the same.
func TestRolloutStopsIfNodesDoNotWork(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		mend   func(*kubelets)
		runs   int64
	}{
		{"the nodes become Ready after all", func(k *kubelets) { k.ready["2"] = true }, 2},
		{"the spec is corrected", func(k *kubelets) { k.ready["3"] = true; k.want("c5.large", "") }, 3},
		{"the edit is taken back", func(k *kubelets) { k.want("m5.large", "") }, 1},
	} {
		for _, forgetful := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, forgetful %t", row.reason, forgetful), func(t *testing.T) {
				t.Parallel()
				k := newKubelets(t, nil)
				k.forgetful = forgetful
				k.told("")
				k.want("m6i.large", "")
				k.stopped()
				if versions := k.versions(); versions["1"] != 1 || versions["2"] != 1 {
					t.Errorf("after an hour, the instances run %v, want one of each version", versions)
				}
				condition := k.condition(infrav1.RolledOutCondition)
				if condition.Reason != infrav1.NodesNotReadyReason || !strings.HasPrefix(condition.Message, "instance type m5.large → m6i.large; 1 of 2 instances run version 1; 1 of 1 instances with "+
					"the desired configuration have no Ready node 4m0s after they came into service: i-") {
					t.Errorf("RolledOut is %s: %s", condition.Reason, condition.Message)
				}
				if events := strings.Join(k.told(""), "\n"); strings.Count(events, infrav1.InstanceRefreshStoppedEvent) != 1 || strings.Count(events, infrav1.InstanceRefreshStartedEvent) != 1 {
					t.Errorf("the events are:\n%s", events)
				}
				k.rests()
				row.mend(k)
				k.settled(row.runs)
			})
		}
	}
}

// TestRolloutGoesBackIfNodesDoNotWork holds that a pool that is to go back does so when nodes do not become
// Ready, and not only when the refresh fails.
func TestRolloutGoesBackIfNodesDoNotWork(t *testing.T) {
	t.Parallel()
	k := newKubelets(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
	})
	k.want("m6i.large", "")
	config := &infrav1.AWSLaunchConfig{}
	k.until("the launch config is asked to go back", func() bool {
		if err := k.Get(t.Context(), client.ObjectKey{Namespace: k.key.Namespace, Name: "config"}, config); err != nil {
			t.Fatal(err)
		}
		return config.Spec.Rollback != nil
	})
	back := config.Spec.Rollback
	if back.Version != 1 || back.From != "m6i.large/" || back.To != "m5.large/" || !strings.Contains(back.Reason, "instances with the desired configuration have no Ready node") {
		t.Errorf("it is asked for %+v", back)
	}
	if versions := k.versions(); versions["1"] != 1 {
		t.Errorf("the instances run %v, want one of version 1", versions)
	}
	k.want("m5.large", "")
	k.settled(1)
}

// TestRetryWaitsForNodesAgain holds that a user who asks for another attempt gets one, which stops again
// if nodes still do not work.
func TestRetryWaitsForNodesAgain(t *testing.T) {
	t.Parallel()
	k := newKubelets(t, nil)
	k.want("m6i.large", "")
	k.stopped()
	k.told("")
	k.annotate(infrav1.RetryRolloutAnnotation, "again")
	k.until("another refresh is started", func() bool { return len(k.told(infrav1.InstanceRefreshStartedEvent)) == 1 })
	k.ready["2"] = true
	k.settled(2)
}

// TestRolloutContinuesWithoutKnowledgeOfNodes holds that a roll-out stops for nodes that do not work, and for
// nothing else.
func TestRolloutContinuesWithoutKnowledgeOfNodes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		given  func(*kubelets)
	}{
		{"new nodes work", func(k *kubelets) { k.ready["2"] = true }},
		{"no node works, so that there is none to lose", func(k *kubelets) { k.ready = nil }},
		{"the workload cluster does not answer", func(k *kubelets) { k.unreachable = true }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			k := newKubelets(t, func(pool *infrav1.AWSMachinePool) {
				pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](330)}
			})
			row.given(k)
			k.told("")
			k.want("m6i.large", "")
			for range 20 {
				k.reconcile(30 * time.Second)
			}
			k.settled(2)
			if stopped := k.told(infrav1.InstanceRefreshStoppedEvent); len(stopped) != 0 {
				t.Errorf("the events are %q", stopped)
			}
			if k.lists > 8 || k.lists == 0 && !k.unreachable {
				t.Errorf("the workload cluster listed its nodes %d times", k.lists)
			}
		})
	}
}

// TestStoppedRolloutWaitsForTheCluster holds that a roll-out that was stopped does not go on because the
// workload cluster does not answer.
func TestStoppedRolloutWaitsForTheCluster(t *testing.T) {
	t.Parallel()
	k := newKubelets(t, nil)
	k.want("m6i.large", "")
	k.stopped()
	k.unreachable = true
	k.rests()
	if versions := k.versions(); versions["1"] != 1 {
		t.Errorf("the instances run %v, want one of version 1", versions)
	}
	k.unreachable, k.ready["2"] = false, true
	k.settled(2)
}
