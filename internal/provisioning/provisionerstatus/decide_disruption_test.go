package provisionerstatus

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

func TestDecideDisruptions(t *testing.T) {
	t.Parallel()
	// asks returns a node that asks to be disrupted because it is empty.
	asks := func(name string) provisioningv1.ProvisionedNode {
		node := nodeOf(name)
		node.Status.Conditions = []metav1.Condition{{Type: provisioningv1.ReplacingCondition, Status: metav1.ConditionFalse, Reason: string(provisioningv1.DisruptionEmpty)}}
		return node
	}
	allowed := func(node provisioningv1.ProvisionedNode) provisioningv1.ProvisionedNode {
		node.Annotations = map[string]string{provisioningv1.DisruptionAllowedAnnotation: string(provisioningv1.DisruptionEmpty)}
		return node
	}
	nodes := func(nodes ...provisioningv1.ProvisionedNode) func(in *input) {
		return func(in *input) {
			in.Seen.Nodes, in.Seen.Allowing = nodes, NodeList{Read: true, Items: nodes}
		}
	}
	budgeted := func(count int32, schedule string, given func(in *input)) func(in *input) {
		return func(in *input) {
			given(in)
			budget := provisioningv1.DisruptionBudget{Nodes: intstr.FromInt32(count), Schedule: schedule}
			if schedule != "" {
				budget.Duration = &metav1.Duration{Duration: time.Hour}
			}
			in.Object.Spec.Disruption = &provisioningv1.Disruption{Budgets: []provisioningv1.DisruptionBudget{budget}}
		}
	}
	const allow = ", because they request disruption, and the disruption budgets allow it"
	specify(t, []row{
		{reason: "nodes ask, as far as the cache knows", given: func(in *input) { in.Seen.Nodes = []provisioningv1.ProvisionedNode{asks("a")} }, then: "needs nodes to disrupt"},
		{reason: "nodes ask", given: nodes(asks("b"), asks("a")), then: "allow the disruption of 2 ProvisionedNodes: a, b" + allow},
		{reason: "the cache is behind, and one was allowed before", given: func(in *input) {
			nodes(asks("a"), asks("b"))(in)
			in.Seen.Allowing.Items = []provisioningv1.ProvisionedNode{allowed(asks("a")), asks("b")}
		}, then: "allow the disruption of ProvisionedNode b" + allow},
		{reason: "all were allowed", given: nodes(allowed(asks("a"))), then: "nothing", again: lookAgain},
		{reason: "a budget allows one of two", given: budgeted(1, "", nodes(asks("a"), asks("b"))), then: "allow the disruption of ProvisionedNode a" + allow},
		{reason: "a budget allows none, and its window closes", given: budgeted(0, "30 11 * * *", nodes(asks("a"))), then: "nothing", again: lookAgain},
		{reason: "a budget allows none, and its window closes soon", given: budgeted(0, "2 11 * * *", nodes(asks("a"))), then: "nothing", again: 2 * time.Minute},
		{reason: "the API server does not list them", given: func(in *input) {
			nodes(asks("a"))(in)
			in.Seen.Allowing = NodeList{Read: true, Err: errLater}
		}, then: "nothing", fails: "no answer"},
		{reason: "one cannot be allowed", given: func(in *input) { nodes(asks("a"))(in); did(in, allowDisruptions{}, errLater) }, then: "nothing", fails: "allowing disruptions: no answer"},
		{reason: "a node no longer asks", given: nodes(allowed(nodeOf("a"))), then: "forbid the disruption of " +
			"ProvisionedNode a, because they no longer request disruption"},
		{reason: "that cannot be written", given: func(in *input) { nodes(allowed(nodeOf("a")))(in); did(in, revokeDisruptions{}, errLater) }, then: "nothing", fails: "allowing disruptions: no answer"},
		{reason: "a schedule cannot be read", given: budgeted(1, "1 2", nodes(nodeOf("a"))), then: "nothing", again: lookAgain,
			shows: []string{provisioningv1.DisruptionBudgetsValidCondition + "=False/InvalidSchedule"}},
	})
}

func TestDecideDrift(t *testing.T) {
	t.Parallel()
	current := provisioningv1.NodesCurrentCondition
	marked := func(node provisioningv1.ProvisionedNode) provisioningv1.ProvisionedNode {
		node.Annotations = map[string]string{provisioningv1.ReplaceAnnotation: provisioningv1.DriftedReason + ": x"}
		return node
	}
	older := func(node provisioningv1.ProvisionedNode) provisioningv1.ProvisionedNode {
		node.CreationTimestamp = metav1.NewTime(noon.Add(-24 * time.Hour))
		return node
	}
	// drifts has nodes drift, because the default launch template has another version.
	drifts := func(nodes ...provisioningv1.ProvisionedNode) func(in *input) {
		return func(in *input) {
			in.Object.Spec.Drift = &provisioningv1.Drift{MaxReplacing: intstr.FromInt32(1)}
			in.Seen.Nodes, in.Seen.Marking = nodes, NodeList{Read: true, Items: nodes}
			in.Seen.Defaults = map[string]DefaultTemplate{"amd64": defaultTemplate("lt-1", 2)}
		}
	}
	with := func(given func(in *input), changes ...func(in *input)) func(in *input) {
		return func(in *input) {
			given(in)
			for _, change := range changes {
				change(in)
			}
		}
	}
	waiting := func(nodes int) func(in *input) {
		return func(in *input) { in.Seen.CountedDrifted = ptr.To(nodes) }
	}
	const (
		version = "it was launched from version 1 of launch template lt-1, but would now be launched from version 2"
		keep    = "keep ProvisionedNode a, because they have not drifted, or must not be replaced"
	)
	kept := func(in *input) {
		node := older(nodeOf("a"))
		node.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"}
		drifts(node, nodeOf("b"))(in)
	}
	specify(t, []row{
		{reason: "drift is not followed", given: func(in *input) {
			condition(in, current, metav1.ConditionTrue, "Ready", "")
			in.Seen.Defaults = map[string]DefaultTemplate{"amd64": defaultTemplate("lt-1", 2)}
		}, then: "nothing", again: lookAgain, shows: []string{current + "=absent"}},
		{reason: "drift is no longer followed", given: func(in *input) { in.Seen.Nodes = []provisioningv1.ProvisionedNode{marked(nodeOf("a"))} }, then: keep},
		{reason: "the mark cannot be removed", given: func(in *input) {
			in.Seen.Nodes = []provisioningv1.ProvisionedNode{marked(nodeOf("a"))}
			did(in, unmarkDrifted{}, errLater)
		}, then: "nothing", again: lookAgain, fails: "replacing nodes that have drifted: no answer"},
		{reason: "no node has drifted", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Defaults = atRest().Seen.Defaults }), then: "nothing", again: lookAgain,
			shows: []string{current + "=True/Ready"}},
		{reason: "there are no nodes", given: with(drifts(), func(in *input) { in.Seen.Types = TypeLabels{} }), then: "nothing", again: lookAgain, shows: []string{current + "=True/Ready"}},
		{reason: "instance types were not read", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Types = TypeLabels{} }), then: "needs instance types"},
		{reason: "instance types cannot be read", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Types.Err = errLater }), then: "nothing", again: lookAgain, fails: "no answer"},
		{reason: "what keeps nodes was not read", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Members = Members{} }), then: "needs pods of drifted nodes"},
		{reason: "what keeps nodes cannot be read", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Members.Err = errLater }), then: "nothing", again: lookAgain, fails: "no answer"},
		{reason: "nodes have drifted, as far as the cache knows", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Marking = NodeList{} }), then: "needs nodes to mark"},
		{reason: "the API server does not list them", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Marking = NodeList{Read: true, Err: errLater} }), then: "nothing", again: lookAgain, fails: "no answer"},
		{reason: "the oldest goes first", given: drifts(nodeOf("a"), older(nodeOf("b"))), then: "request the replacement of ProvisionedNode b, because " + version},
		{reason: "of two that are equally old, the first by name", given: drifts(nodeOf("b"), nodeOf("a")), then: "request the replacement of ProvisionedNode a, because " + version},
		{reason: "several go at a time", given: with(drifts(nodeOf("a"), nodeOf("b")), func(in *input) { in.Object.Spec.Drift.MaxReplacing = intstr.FromString("100%") }),
			then: "request the replacement of 2 ProvisionedNodes: a, b, because " + version},
		{reason: "it cannot be marked", given: with(drifts(nodeOf("a")), func(in *input) { did(in, markDrifted{}, errLater) }), then: "nothing", again: lookAgain, fails: "replacing nodes that have drifted: no answer"},
		{reason: "the cache is behind, and another one was marked before", given: with(drifts(nodeOf("a"), nodeOf("b")), waiting(1), func(in *input) {
			in.Seen.Marking.Items = []provisioningv1.ProvisionedNode{nodeOf("a"), marked(nodeOf("b"))}
		}), then: "nothing", again: lookAgain, shows: []string{current + "=False/Drifted: 2 of 2 nodes have " +
			"drifted from their current configuration, and 1 are being replaced. The oldest, a: " + version}},
		{reason: "it is gone meanwhile", given: with(drifts(nodeOf("a")), waiting(1), func(in *input) { in.Seen.Marking.Items = nil }), then: "nothing", again: lookAgain,
			shows: []string{current + "=False/Drifted: 0 are being replaced"}},
		{reason: "the metrics show another number", given: drifts(marked(nodeOf("a")), nodeOf("b")), then: "count 1 drifted nodes, because the metrics show another number"},
		{reason: "the metrics show none yet", given: func(in *input) { in.Seen.CountedDrifted = nil }, then: "count 0 drifted nodes, because the metrics show another number"},
		{reason: "one is being replaced", given: with(drifts(marked(nodeOf("a")), nodeOf("b")), waiting(1)), then: "nothing", again: lookAgain,
			shows: []string{current + "=False/Drifted: 2 of 2 nodes have drifted from their current configuration, and 1 are being replaced"}},
		{reason: "the oldest is kept by an annotation", given: kept, then: "request the replacement of ProvisionedNode b, because " + version},
		{reason: "it is kept for as long as the annotation is there", given: with(kept, waiting(1), func(in *input) {
			b := marked(nodeOf("b"))
			in.Seen.Nodes[1], in.Seen.Marking.Items = b, append(in.Seen.Marking.Items[:1:1], b)
		}), then: "nothing", again: recheckKept, shows: []string{current + "=False/Drifted: ProvisionedNode a has the annotation karpenter.sh/do-not-disrupt"}},
		{reason: "a mark is removed where an annotation keeps the node", given: with(drifts(marked(nodeOf("a"))), func(in *input) {
			in.Seen.Nodes[0].Annotations[provisioningv1.DoNotDisruptAnnotation] = "true"
		}), then: keep},
		{reason: "a node that is being deleted is passed by", given: with(drifts(nodeOf("a")), func(in *input) { in.Seen.Nodes[0].DeletionTimestamp = &metav1.Time{Time: noon} }),
			then: "nothing", again: lookAgain, shows: []string{current + "=True/Ready"}},
	})
}

// TestDecideDriftOf holds what a node is compared with.
func TestDecideDriftOf(t *testing.T) {
	t.Parallel()
	of := func(change func(in *input, node *provisioningv1.ProvisionedNode)) func(in *input) {
		return func(in *input) {
			named(in)
			in.Object.Spec.Drift = &provisioningv1.Drift{MaxReplacing: intstr.FromInt32(1)}
			node := nodeOf("a")
			node.Spec.LaunchTemplate = provisioningv1.LaunchTemplateVersion{ID: "lt-web", Version: 2}
			if change != nil {
				change(in, &node)
			}
			in.Seen.Nodes = []provisioningv1.ProvisionedNode{node}
			in.Seen.Marking = NodeList{Read: true, Items: in.Seen.Nodes}
		}
	}
	asks := func(node *provisioningv1.ProvisionedNode) {
		node.Spec.Labels = map[string]string{provisioningv1.LabelLaunchTemplateName: "batch"}
		node.Spec.LaunchTemplate.AskedVersion = "1"
	}
	const mark, ensure = "request the replacement of ProvisionedNode a, because it was launched from ", "ensure the default launch template for arm64, because ProvisionedNode a would be launched from it now"
	specify(t, []row{
		{reason: "the launch template that the spec names", given: of(nil), then: mark + "version 2 of launch template lt-web, but would now be launched from version 3"},
		{reason: "the launch template has a problem", given: of(func(in *input, _ *provisioningv1.ProvisionedNode) {
			in.Seen.Named.Known.Problem, in.Seen.Offers = "no image", Offers{}
		}), then: "nothing", again: launcherAgain},
		{reason: "a launch template that its pods name", given: of(func(in *input, node *provisioningv1.ProvisionedNode) {
			asks(node)
			in.Seen.OfPods.List = ofPods("lt-batch", nil)
		}), then: mark + "launch template lt-web, but would now be launched from lt-batch"},
		{reason: "a launch template that its pods name, and that could not be read", given: of(func(in *input, node *provisioningv1.ProvisionedNode) {
			asks(node)
			in.Seen.OfPods.List = ofPods("", errLater)
		}), then: "nothing", again: lookAgain},
		{reason: "a launch template that its pods name, and that status has no room for", given: of(func(_ *input, node *provisioningv1.ProvisionedNode) { asks(node) }), then: "nothing", again: lookAgain},
		{reason: "a launch template of another architecture", given: of(func(_ *input, node *provisioningv1.ProvisionedNode) {
			node.Spec.Architecture = provisioningv1.ArchitectureARM64
		}), then: ensure},
		{reason: "a launch template of another architecture, whose pods are ignored", given: of(func(in *input, node *provisioningv1.ProvisionedNode) {
			node.Spec.Architecture = provisioningv1.ArchitectureARM64
			in.Object.Spec.IncompatibleArchitecturePolicy = provisioningv1.Ignore
		}), then: "nothing", again: lookAgain},
		{reason: "the default launch template cannot be read", given: of(func(in *input, node *provisioningv1.ProvisionedNode) {
			node.Spec.Architecture = provisioningv1.ArchitectureARM64
			did(in, ensureDefault{"arm64"}, errThrottled)
		}), then: "nothing", again: 7 * time.Second},
		{reason: "the default launch template", given: of(func(in *input, node *provisioningv1.ProvisionedNode) {
			node.Spec.Architecture = provisioningv1.ArchitectureARM64
			in.Seen.Defaults = map[string]DefaultTemplate{"arm64": defaultTemplate("lt-arm", 1)}
		}), then: mark + "launch template lt-web, but would now be launched from lt-arm"},
		{reason: "the limits of the spec", given: of(func(in *input, node *provisioningv1.ProvisionedNode) {
			in.Object.Spec.Zones = []string{"us-east-1a"}
			node.Status.InstanceType, node.Status.Zone = "m5.large", "us-east-1b"
			in.Seen.Types.Labels = map[string]map[string]string{"m5.large": {}}
		}), then: "request the replacement of ProvisionedNode a, because its topology.kubernetes.io/zone is " +
			"us-east-1b, but spec.zones now allows us-east-1a"},
		{reason: "an instance type that is not known is within the limits", given: of(func(in *input, node *provisioningv1.ProvisionedNode) {
			in.Object.Spec.Zones = []string{"us-east-1a"}
			node.Status.InstanceType, node.Status.Zone, node.Spec.LaunchTemplate.Version = "x9.huge", "us-east-1b", 3
		}), then: "nothing", again: lookAgain},
	})
}
