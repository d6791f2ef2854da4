package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// ofSet has a pod be one of a ReplicaSet.
func ofSet(pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "set", Controller: ptr.To(true)}}
}

// on has a pod run on a Node.
func on(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.Status.Phase, pod.Status.Conditions = node, corev1.PodRunning, nil
	}
}

// nominatedByUs has Slipway have nominated a Node for a pod.
func nominatedByUs(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.NominatedNodeName = node
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: clusterstate.NominationManager}}
	}
}

func leaves(node *provisioningv1.ProvisionedNode) { node.DeletionTimestamp = &metav1.Time{Time: noon} }

// TestPlaces holds which places of pods are kept, passed on and lost.
func TestPlaces(t *testing.T) {
	t.Parallel()
	specify(t, []row{
		{reason: "the cache does not show the last launch", given: func(g *given) { g.seen = Observed{Behind: true} }},
		{reason: "the node is on its way", given: func(g *given) { g.node("a"); g.promise("one", "a") },
			again: 5 * time.Second, counts: map[string]int{nodeComing: 1}},
		{reason: "the pod is bound", given: func(g *given) {
			g.node("a", joined)
			g.promise("one", "a")
			on("node-a")(g.seen.Cluster.Pods[0])
		}, then: []string{"promise "}},
		{reason: "the node leaves", given: func(g *given) { g.node("a", leaves); g.promise("one", "a") },
			then: []string{"create 1 for 1", "promise "}, again: 5 * time.Second},
		{reason: "the scheduler does not bind the pod for long", given: func(g *given) {
			g.node("a", ready)
			g.promise("one", "a")
			g.memory.Ready = readySince{"a": noon.Add(-time.Minute)}
		}, then: []string{"place one=a", "promise "}, again: time.Minute},
		{reason: "the scheduler put other pods there", given: func(g *given) {
			g.node("a", joined)
			g.promise("one", "a")
			g.pods(podOf("other", on("node-a")), podOf("another", on("node-a")))
		}, then: []string{"create 1 for 1", "promise "}, again: 5 * time.Second},
		{reason: "an earlier process nominated a Node", given: func(g *given) {
			g.node("a", joined)
			nominatedByUs("node-a")(g.seen.Cluster.Pods[0])
		}, then: []string{"promise one=a", "tell one NodeLaunched"}, again: time.Minute},
		{reason: "a nomination of an earlier process counts once", given: func(g *given) {
			g.memory.Recovered = true
			g.node("a", ready)
			nominatedByUs("node-a")(g.seen.Cluster.Pods[0])
		}, then: []string{"nominate  for one", "place one=a"}, again: time.Minute},
		{reason: "the pod was evicted, and its successor is there", given: func(g *given) {
			g.node("a")
			g.seen.Cluster.Pods = []*corev1.Pod{podOf("next", ofSet)}
			g.promise("old", "a")
			g.memory.Movers = movers{"old": {controller: "set"}}
		}, then: []string{"promise next=a"}, again: 5 * time.Second},
		{reason: "the pod was evicted, and its successor may come", given: func(g *given) {
			g.node("a")
			g.seen.Cluster.Pods = nil
			g.promise("old", "a")
			g.memory.Movers = movers{"old": {controller: "set", gone: noon.Add(1 - successionTime)}}
		}},
		{reason: "no successor came", given: func(g *given) {
			g.node("a")
			g.seen.Cluster.Pods = nil
			g.promise("old", "a")
			g.memory.Movers = movers{"old": {controller: "set", gone: noon.Add(-successionTime)}}
		}, then: []string{"promise "}},
		{reason: "a pod that is to move has a place on a node that is ready for long", given: func(g *given) {
			g.node("old", joined, leaves)
			g.node("new", ready)
			g.seen.Cluster.Pods = []*corev1.Pod{podOf("moves", ofSet, on("node-old"))}
			g.promise("moves", "new")
			g.memory.Ready = readySince{"new": noon.Add(-time.Hour)}
		}, again: time.Minute},
		{reason: "a pod runs on a node that leaves", given: func(g *given) {
			g.node("old", joined, leaves)
			g.seen.Cluster.Pods = []*corev1.Pod{podOf("moves", ofSet, on("node-old"))}
		}, then: []string{"create 1 for 1"}, again: 5 * time.Second},
		{reason: "a pod moves to a Node of another", given: func(g *given) {
			g.node("old", joined, leaves)
			g.node("new", ready)
			g.seen.Cluster.Provisioned = g.seen.Cluster.Provisioned[:1]
			g.seen.Cluster.Pods = []*corev1.Pod{podOf("moves", ofSet, on("node-old"))}
		}, then: []string{"place moves=node-new"}, again: time.Minute},
	})
}

// TestBatches holds when pods wait for others.
func TestBatches(t *testing.T) {
	t.Parallel()
	specify(t, []row{
		{reason: "no pod waits", given: func(g *given) { g.seen.Cluster.Pods = nil }, counts: map[string]int{}},
		{reason: "the scheduler makes room for the pod", given: func(g *given) {
			host := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host"}}
			host.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			g.seen.Cluster.Nodes = []corev1.Node{host}
			g.seen.Cluster.Pods[0].Status.NominatedNodeName = "host"
		}, again: time.Minute},
		{reason: "a pod alone is served at once", given: func(*given) {}, then: []string{"create 1 for 1"}, again: 5 * time.Second, counts: map[string]int{nodeComing: 1}},
		{reason: "nodes were launched just now", given: func(g *given) { g.memory.Window.Launched(noon, nil) }, again: 500 * time.Millisecond},
		{reason: "more pods than a pass considers", given: func(g *given) {
			g.seen.MostPods = 1
			g.pods(podOf("two"), podOf("three"))
		}, then: []string{"create 1 for 1"}, again: time.Nanosecond, counts: map[string]int{nodeComing: 1, notConsidered: 2}},
		{reason: "more nodes than may be launched this minute", given: func(g *given) {
			g.seen.Launches = launcher.Allowance{PerMinute: 1, Left: 1, Next: 20 * time.Second}
			g.pods(podOf("two"), podOf("three"))
		}, then: []string{"create 1 for 1", "no more than 1 nodes are launched in a minute", "no more than 1 nodes are launched in a minute"}, again: 20 * time.Second,
			counts: map[string]int{nodeComing: 1, string(packing.CauseLaunch): 2}},
	})
}

// TestNothingIsReadForPodsWithPlaces holds that a pass in which all pods have places asks AWS nothing.
func TestNothingIsReadForPodsWithPlaces(t *testing.T) {
	t.Parallel()
	g := oneWaits()
	g.node("a")
	g.promise("one", "a")
	in := Input{Seen: &g.seen, Memory: g.memory, Now: noon}
	if plan := decidePods(in); plan.Then != nil || len(plan.Needs) > 0 {
		t.Errorf("the pass needs %v", plan.Needs)
	}
	g.seen.Cluster.Promised = nil
	if plan := decidePods(in); plan.Then == nil || !slices.Contains(plan.Needs, needRegion) {
		t.Errorf("for a pod without a place, the pass needs %v", plan.Needs)
	}
}

// TestNominations holds which Nodes the scheduler is pointed to.
func TestNominations(t *testing.T) {
	t.Parallel()
	here := func(g *given) {
		g.node("a", joined)
		g.promise("one", "a")
		g.memory.Launched = told{"one": launchedMessage}
	}
	specify(t, []row{
		{reason: "the Node has registered", given: here, then: []string{"nominate node-a for one"}, again: time.Minute},
		{reason: "the scheduler is of an older version", given: func(g *given) { here(g); g.seen.HeedsNominations = false }, again: time.Minute},
		{reason: "it is nominated", given: func(g *given) { here(g); nominatedByUs("node-a")(g.seen.Cluster.Pods[0]) }, again: time.Minute},
		{reason: "the scheduler nominated another", given: func(g *given) { here(g); g.seen.Cluster.Pods[0].Status.NominatedNodeName = "gone" }, again: time.Minute},
		{reason: "the scheduler removed it just now", given: func(g *given) {
			here(g)
			g.memory.Nominated = map[types.UID]nomination{"one": {node: "node-a", at: noon.Add(-4 * time.Second), times: 1}}
		}, again: 6 * time.Second},
		{reason: "the scheduler removed it for the second time", given: func(g *given) {
			here(g)
			g.memory.Nominated = map[types.UID]nomination{"one": {node: "node-a", at: noon.Add(-10 * time.Second), times: 2}}
		}, again: 10 * time.Second},
		{reason: "the pause is over", given: func(g *given) {
			here(g)
			g.memory.Nominated = map[types.UID]nomination{"one": {node: "node-a", at: noon.Add(-10 * time.Second), times: 1}}
		}, then: []string{"nominate node-a for one"}, again: time.Minute},
		{reason: "another Node than before", given: func(g *given) {
			here(g)
			g.memory.Nominated = map[types.UID]nomination{"one": {node: "node-b", at: noon, times: 1}}
		}, then: []string{"nominate node-a for one"}, again: time.Minute},
		{reason: "the cache shows the Node as it was", given: func(g *given) {
			here(g)
			g.seen.Cluster.Nodes[0].Spec.Taints = []corev1.Taint{{Key: clusterstate.UnregisteredTaint}}
		}, again: 2 * time.Second},
	})
	g := oneWaits()
	here(g)
	for i := range mostNominated {
		name := fmt.Sprint("pod-", i)
		g.pods(podOf(name))
		g.promise(name, "a")
	}
	plan := decidePods(Input{Seen: &g.seen, Memory: g.memory, Now: noon})
	at := slices.IndexFunc(plan.Actions, func(step reconcile.Step) bool { _, is := step.Action.(nominate); return is })
	if writes := plan.Actions[at].Action.(nominate); len(writes.Nominations) != mostNominated || plan.Again != time.Second {
		t.Errorf("%d are nominated, and the next pass comes after %s", len(writes.Nominations), plan.Again)
	}
}

// claims has a pod use a PersistentVolumeClaim.
func claims(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
}

// TestReports holds which events explain to users why pods wait.
func TestReports(t *testing.T) {
	t.Parallel()
	failing := func(node *provisioningv1.ProvisionedNode) {
		node.Status.Conditions = []metav1.Condition{{Type: provisioningv1.LaunchedCondition, Status: metav1.ConditionFalse, Reason: provisioningv1.LaunchFailedReason, Message: "No luck."}}
	}
	specify(t, []row{
		{reason: "the instance runs", given: func(g *given) { g.node("a", launched); g.promise("one", "a") },
			then: []string{"tell one NodeLaunched: Instance i-a (m5.large in us-east-1a)"}, again: time.Minute, counts: map[string]int{nodeComing: 1}},
		{reason: "that is reported once", given: func(g *given) {
			g.node("a", launched)
			g.promise("one", "a")
			g.memory.Launched = told{"one": launchedMessage}
		}, again: time.Minute},
		{reason: "its launch fails", given: func(g *given) { g.node("a", failing); g.promise("one", "a") },
			then:  []string{"tell one NoNodeLaunched: The pod waits, because the launch of its node failed (No luck). Slipway retries."},
			again: 5 * time.Second, counts: map[string]int{string(packing.CauseLaunch): 1}},
		{reason: "no more events are written this minute", given: func(g *given) {
			g.node("a", launched)
			g.promise("one", "a")
			g.seen.Events = launcher.Allowance{Next: 30 * time.Second}
		}, again: 30 * time.Second},
		{reason: "one event is left, and there are two kinds", given: func(g *given) {
			g.node("a", launched)
			g.node("b", failing)
			g.promise("one", "a")
			g.promise("two", "b")
			g.pods(podOf("two"))
			g.seen.Events = launcher.Allowance{Left: 1, Next: 30 * time.Second}
		}, then: []string{"tell two NoNodeLaunched"}, again: 30 * time.Second},
		{reason: "the volume was missing for long", given: func(g *given) {
			claims(g.seen.Cluster.Pods[0])
			g.memory.WaitForVolumes = stuck{"one": noon.Add(-volumeTime)}
		}, then: []string{"tell one NoNodeLaunched: The pod "}, again: time.Minute, counts: map[string]int{string(packing.CauseVolume): 1}},
		{reason: "the volume may come", given: func(g *given) { claims(g.seen.Cluster.Pods[0]) }, again: 5 * time.Second},
		{reason: "the volume is local to a Node that is gone", given: func(g *given) {
			claims(g.seen.Cluster.Pods[0])
			g.seen.Cluster.Claims = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "disk"}}}
			disk := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
			disk.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"host"}}},
			}}}}
			g.seen.Cluster.Volumes = []corev1.PersistentVolume{disk}
		}, then: []string{"tell one VolumeOfOneNode: No node is launched for the pod."}, again: time.Minute, counts: map[string]int{ofOneNode: 1}},
		{reason: "no node suits the pod", given: func(g *given) { g.seen.Cluster.Pods[0].Spec.NodeSelector = map[string]string{"color": "red"} },
			then: []string{"tell one NoNodeLaunched: The pod "}, again: time.Minute},
		{reason: "AWS may launch sooner what it does not launch now", given: func(g *given) {
			g.seen.Cluster.Pods[0].Spec.NodeSelector = map[string]string{"color": "red"}
			g.seen.Retry = 10 * time.Second
		}, then: []string{"tell one NoNodeLaunched: The pod "}, again: 10 * time.Second},
		{reason: "the scheduler leaves a place on a ready node unused", given: func(g *given) {
			g.node("a", ready)
			g.memory.Ready = readySince{"a": noon.Add(-time.Hour)}
			g.memory.Unkept = unkept{"one": {node: "a", since: noon.Add(-bindingTime)}}
		}, then: []string{"place one=a", "tell one NotBound: Node a is ready and has room for the pod"}, again: time.Minute},
	})
}

// launchedMessage is the message about the launch of node a.
const launchedMessage = "Instance i-a (m5.large in us-east-1a) is starting and has room for the pod. See ProvisionedNode a for its progress."

// TestCatalog holds which Provisioners and launch templates nodes can be launched from.
func TestCatalog(t *testing.T) {
	t.Parallel()
	web := templates.Known{ID: "lt-web", Template: constraints.Template{Name: "web", Version: 3, Architecture: "amd64"}}
	specify(t, []row{
		{reason: "EC2 does not list its instance types", given: func(g *given) { g.seen.Region.Err = errors.New("no answer") },
			then: []string{"tell one NoNodeLaunched: The pod waits, because EC2 does not return the list of instances"}, fails: "no answer"},
		{reason: "EC2 is asked later", given: func(g *given) { g.seen.Region.Err = &aws.ThrottledError{RetryAfter: 7 * time.Second} }, again: 7 * time.Second},
		{reason: "EC2 refuses to list them", given: func(g *given) {
			g.seen.Region.Err = &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "You are not authorized."}
		}, then: []string{"tell one NoNodeLaunched"}, again: 2 * time.Minute},
		{reason: "the name of the cluster is taken", given: func(g *given) { g.seen.Region.Provisioners[0].Unusable = "the name prod is taken" },
			then: []string{"the name prod is taken"}, again: time.Minute},
		{reason: "the subnets are full", given: func(g *given) { g.seen.Region.Provisioners[0].Places = launcher.Places{} },
			then: []string{"none of its subnets has a free IP address"}, again: time.Minute},
		{reason: "AWS has none", given: func(g *given) {
			g.seen.Short = catalog.LastShortages{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "on-demand"}: {}}
		}, then: []string{"tell one NoNodeLaunched"}, again: time.Minute},
		{reason: "EC2 refuses the default launch template", given: func(g *given) {
			g.seen.Defaults = map[string][]DefaultTemplate{"default": {{Variant: "amd64", Refused: "EC2 cannot launch it"}}}
		}, then: []string{"EC2 cannot launch it"}, again: time.Minute},
		{reason: "EC2 accepts another default launch template of the architecture", given: func(g *given) {
			g.seen.Defaults = map[string][]DefaultTemplate{"default": {{Variant: "amd64-nvidia", Refused: "no"}, {Variant: "amd64"}}}
		}, then: []string{"create 1 for 1"}, again: 5 * time.Second},
		{reason: "EC2 refuses the instance type", given: func(g *given) {
			g.seen.Defaults = map[string][]DefaultTemplate{"default": {{Variant: "amd64", Parts: constraints.Refused{{InstanceType: "m5.large"}: "no such type"}}}}
		}, then: []string{"no such type"}, again: time.Minute},
		{reason: "a launch template that is named", given: func(g *given) { g.named(NamedTemplate{Known: web}) }, then: []string{"create 1 for 1"}, again: 5 * time.Second},
		{reason: "a launch template that has the subnet", given: func(g *given) {
			fixed := web
			fixed.FixesSubnet, fixed.Zones = true, []string{"us-east-1a"}
			g.named(NamedTemplate{Known: fixed})
		}, then: []string{"create 1 for 1"}, again: 5 * time.Second},
		{reason: "it cannot be read", given: func(g *given) { g.named(NamedTemplate{Err: errors.New("no answer")}) }, then: []string{"tell one NoNodeLaunched"}, again: time.Minute},
		{reason: "EC2 refuses it", given: func(g *given) { g.named(NamedTemplate{Known: web, Refused: "no such key pair"}) }, then: []string{"no such key pair"}, again: time.Minute},
	})
}

// TestAskedTemplates holds which launch templates pods name, and that they are bounded.
func TestAskedTemplates(t *testing.T) {
	t.Parallel()
	name := func(name string) []corev1.NodeSelectorRequirement {
		return []corev1.NodeSelectorRequirement{{Key: provisioningv1.LabelLaunchTemplateName, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}
	}
	affinity := func(affinity corev1.NodeAffinity) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &affinity} }
	}
	many := make([]*corev1.Pod, 0, 2*provisioningv1.MaxStatusLaunchTemplates)
	for i := range cap(many) {
		many = append(many, podOf("a", func(pod *corev1.Pod) {
			pod.Spec.NodeSelector = map[string]string{provisioningv1.LabelLaunchTemplateName: fmt.Sprint("lt-", i)}
		}))
	}
	own := podOf("a", func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{provisioningv1.LabelLaunchTemplateName: "lt-own"}
	})
	spec := provisioningv1.ProvisionerSpec{Labels: provisioningv1.Labels{provisioningv1.LabelLaunchTemplateName: "lt-own"}, AllowedLaunchTemplates: &provisioningv1.AllowedLaunchTemplates{Names: []string{"web"}, Prefixes: []string{"lt-"}}}
	provisioners := []usable{{layer: constraints.FromSpec("default", &spec)}}
	for _, row := range []struct {
		reason string
		pods   []*corev1.Pod
		want   int
	}{
		{"none", []*corev1.Pod{podOf("a")}, 0},
		{"a node selector", []*corev1.Pod{many[0], many[0]}, 1},
		{"the Provisioner's own", []*corev1.Pod{own}, 0},
		{"a required affinity", []*corev1.Pod{podOf("a", affinity(corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: name("web")}}},
		}))}, 1},
		{"a preferred affinity", []*corev1.Pod{podOf("a", affinity(corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: name("web")}}},
		}))}, 1},
		{"an affinity to other things", []*corev1.Pod{podOf("a", affinity(corev1.NodeAffinity{}))}, 0},
		{"another Provisioner's", []*corev1.Pod{podOf("a", func(pod *corev1.Pod) {
			pod.Spec.NodeSelector = map[string]string{provisioningv1.LabelLaunchTemplateName: "web", provisioningv1.LabelProvisionerName: "other"}
		})}, 0},
		{"many", many, provisioningv1.MaxStatusLaunchTemplates},
	} {
		if got := askedTemplates(row.pods, provisioners)["default"]; len(got) != row.want {
			t.Errorf("%s: %v, want %d", row.reason, got, row.want)
		}
	}
}

// TestHeldBack holds that pods whose nodes failed to start wait, and that other pods do not.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	failed := func(resource, template string) func(*given) {
		return func(g *given) {
			g.provisioner().Status.FailedStarts = []provisioningv1.FailedStart{{LaunchTemplateID: template, LaunchTemplateVersion: 1, Resource: resource, Tries: 2, LastTime: metav1.NewTime(noon)}}
		}
	}
	specify(t, []row{
		{reason: "all nodes fail", given: failed("", "lt-1"), then: []string{"tell one NoNodeLaunched: The pod waits, because nodes from version 1 of launch template lt-1 failed to start"},
			again: time.Minute, counts: map[string]int{string(packing.CauseLaunch): 1}},
		{reason: "nodes from another launch template fail", given: failed("", "lt-2"), then: []string{"create 1 for 1"}, again: 5 * time.Second},
		{reason: "nodes for another resource fail", given: failed("nvidia.com/gpu", "lt-1"), then: []string{"create 1 for 1"}, again: 5 * time.Second},
		{reason: "the default launch template cannot be ensured", given: func(g *given) {
			failed("", "lt-1")(g)
			g.defaults["amd64"] = EnsuredTemplate{Err: errors.New("no image")}
		}, then: []string{"no image"}, again: time.Minute},
	})
	// Pods are packed together, and one of them waits for a resource that its nodes lack.
	g := oneWaits()
	failed("example.com/tpu", "lt-1")(g)
	g.pods(podOf("two", needs("example.com/tpu")))
	g.provisioner().Spec.ExtraResources = nil
	in := Input{Seen: &g.seen, Memory: g.memory, Now: noon}
	in.Draft.Provisioners = []usable{{object: g.provisioner()}}
	in.Draft.Problem = &packing.Problem{Pods: []packing.Pod{{Pod: g.seen.Cluster.Pods[0]}, {Pod: g.seen.Cluster.Pods[1]}}}
	in.Draft.Result.New = []packing.NewNode{{Ask: constraints.Ask{Provisioner: "default"}, Architecture: "amd64", Pods: g.seen.Cluster.Pods}}
	g.seen.Ensured = map[defaultOf]EnsuredTemplate{{"default", "amd64"}: g.defaults["amd64"]}
	plan := decideHeld(in)
	if draft := plan.Draft; len(draft.Problem.Pods) != 1 || draft.Problem.Pods[0].Name != "one" || len(draft.Withheld) != 1 || draft.Repacked != 1 || plan.Packs != 1 {
		t.Errorf("after one pod is held back, the draft is %+v", plan.Draft)
	}
	if before := in.Draft.Problem.Pods; len(before) != 2 || before[1].Pod == nil {
		t.Error("the decision changed the problem that it began with")
	}
	in.Draft.Repacked = mostRepacked
	in.Draft.Problem = &packing.Problem{}
	ends := func(step reconcile.Step) bool { _, is := step.Action.(showBatch); return is }
	if plan := decideChoice(in); !slices.ContainsFunc(plan.Actions, ends) {
		t.Errorf("nodes are chosen again after %d times", mostRepacked)
	}
	in.Draft.Repacked--
	if plan := decideChoice(in); slices.ContainsFunc(plan.Actions, ends) {
		t.Errorf("nodes are chosen only %d times again", in.Draft.Repacked)
	}
}

// TestLaunches holds what is launched of the chosen nodes.
func TestLaunches(t *testing.T) {
	t.Parallel()
	specify(t, []row{
		{reason: "the default launch template cannot be ensured", given: func(g *given) { g.defaults["amd64"] = EnsuredTemplate{Err: errors.New("no image")} },
			then: []string{"tell one NoNodeLaunched: The pod waits, because "}, again: time.Minute},
		{reason: "EC2 refuses the default launch template", given: func(g *given) { g.defaults["amd64"] = EnsuredTemplate{Refused: "EC2 cannot launch it"} },
			then: []string{"EC2 cannot launch it"}, again: time.Minute},
		{reason: "EC2 refuses the launch template in a dry run", given: func(g *given) { g.seen.Trials = []Trial{{Refused: true}} },
			then: []string{"reconcile Provisioner default"}, again: time.Nanosecond},
		{reason: "EC2 refuses the instance type in a dry run", given: func(g *given) {
			g.seen.Trials = []Trial{{After: constraints.Refused{{InstanceType: "m5.large"}: "no"}}}
		}, then: []string{"reconcile Provisioner default"}, again: time.Nanosecond},
		{reason: "EC2 had refused that before, for other Provisioners", given: func(g *given) {
			refused := constraints.Refused{{InstanceType: "m5.large"}: "no"}
			g.seen.Trials = []Trial{{Before: refused, After: refused}}
		}, then: []string{"create 1 for 1"}, again: 5 * time.Second},
		{reason: "pods that are alike", given: func(g *given) { g.pods(podOf("two")) }, then: []string{"create 2 for 2"}, again: 5 * time.Second},
	})
	for _, row := range []struct {
		reason string
		node   packing.NewNode
		want   string
	}{
		{"there is no image with the driver", packing.NewNode{Ask: constraints.Ask{Provisioner: "default"}, Architecture: "amd64", Pods: []*corev1.Pod{podOf("one", needs("amd.com/gpu"))}},
			"no image with support for amd.com/gpu"},
		{"the zone has no subnet", packing.NewNode{
			Ask: constraints.Ask{Provisioner: "default", Labels: map[string]string{}}, Architecture: "amd64", Pods: []*corev1.Pod{podOf("one")},
			Options: []packing.Option{{Type: "m5.large", Zone: "us-east-1b", CapacityType: "on-demand"}},
		}, "requires zone us-east-1b"},
	} {
		g := oneWaits()
		in := Input{Seen: &g.seen, Memory: g.memory, Now: noon}
		g.seen.Ensured = map[defaultOf]EnsuredTemplate{{"default", "amd64"}: g.defaults["amd64"]}
		in.Draft.Provisioners = []usable{{object: g.provisioner(), places: g.seen.Region.Provisioners[0].Places}}
		in.Draft.Problem = &packing.Problem{}
		in.Draft.Result.New = []packing.NewNode{row.node}
		plan := decideLaunches(in)
		if unplaced := plan.Draft.Result.Unplaced; len(plan.Draft.Planned) > 0 || len(unplaced) != 1 || !strings.Contains(unplaced[0].Reason, row.want) {
			t.Errorf("%s: launches %v, pods without a place %v", row.reason, plan.Draft.Planned, unplaced)
		}
	}
}

// TestCreatedNodes holds what is on the ProvisionedNodes that a pass creates.
func TestCreatedNodes(t *testing.T) {
	t.Parallel()
	g := oneWaits()
	g.memory.Pending = pending{"one": noon.Add(-time.Minute)}
	g.pods(podOf("two"))
	places := g.seen.Region.Provisioners[0].Places
	first, again := g.run(t), g.run(t)
	if len(first.created) != 1 || len(first.created[0].Launch.Nodes) != 2 {
		t.Fatalf("the launches are %+v", first.created)
	}
	launch := first.created[0].Launch
	if name := launch.Name; name != again.created[0].Launch.Name || !strings.HasPrefix(name, "default-") || len(name) != len("default-")+suffixLength {
		t.Errorf("launches from one seed are named %q and %q", name, again.created[0].Launch.Name)
	}
	names := newNames("another")
	if one, other := names("default"), names("default"); one == launch.Name || one == other {
		t.Errorf("names are not unique: %q, %q", one, other)
	}
	since := map[string]string{}
	for i, node := range launch.Nodes {
		since[launch.Pods[i][0].Name] = node.Annotations[provisioningv1.PendingSinceAnnotation]
		if cpu := node.Spec.Reserved.CPU; cpu.Value() != 2 || node.Spec.Offerings[0].SubnetID != "subnet-1" || node.Spec.LaunchTemplate.ID != "lt-1" {
			t.Errorf("a node is %+v", node.Spec)
		}
	}
	if since["one"] != "2026-11-26T11:59:00Z" || since["two"] != "2026-11-26T12:00:00Z" {
		t.Errorf("the pods are pending since %v", since)
	}
	if free := places["us-east-1a"][0].Free; free != 5 {
		t.Errorf("the decision took addresses of what was observed: %d are free", free)
	}
	if resources := resourcesOf(nil, "m5.large"); !resources.CPU.IsZero() {
		t.Errorf("a type that is unknown has %+v", resources)
	}
}
