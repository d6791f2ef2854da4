package disruption

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// monday is a Monday at ten.
var monday = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)

func budget(nodes, schedule, duration string, reasons ...provisioningv1.DisruptionReason) provisioningv1.DisruptionBudget {
	made := provisioningv1.DisruptionBudget{Nodes: intstr.FromString(nodes), Schedule: schedule, Reasons: reasons}
	if duration != "" {
		parsed, err := time.ParseDuration(duration)
		if err != nil {
			panic(err)
		}
		made.Duration = &metav1.Duration{Duration: parsed}
	}
	return made
}

func with(budgets ...provisioningv1.DisruptionBudget) *provisioningv1.ProvisionerSpec {
	return &provisioningv1.ProvisionerSpec{Disruption: &provisioningv1.Disruption{Budgets: budgets}}
}

// TestAllowed holds how many of 15 nodes may be leaving, and until when.
func TestAllowed(t *testing.T) {
	t.Parallel()
	expired, drifted := provisioningv1.DisruptionExpired, provisioningv1.DisruptionDrifted
	for _, row := range []struct {
		reason  string
		spec    *provisioningv1.ProvisionerSpec
		asked   provisioningv1.DisruptionReason
		now     time.Time
		want    int
		changes time.Time
	}{
		{reason: "expiry is bounded by default, rounded up", spec: &provisioningv1.ProvisionerSpec{}, asked: expired, want: 2},
		{reason: "nothing else is", spec: &provisioningv1.ProvisionerSpec{}, asked: drifted, want: Unlimited},
		{reason: "a number", spec: with(budget("3", "", "")), asked: drifted, want: 3},
		{reason: "a number that is one", spec: with(provisioningv1.DisruptionBudget{Nodes: intstr.FromInt32(4)}), asked: drifted, want: 4},
		{reason: "none", spec: with(budget("0", "", "")), asked: expired, want: 0},
		{reason: "0% of them", spec: with(budget("0%", "", "")), asked: expired, want: 0},
		{reason: "a percentage is rounded up", spec: with(budget("10%", "", "")), asked: expired, want: 2},
		{reason: "all of them", spec: with(budget("100%", "", "")), asked: expired, want: 15},
		{reason: "the smallest holds", spec: with(budget("5", "", ""), budget("20%", "", ""), budget("4", "", "")), asked: expired, want: 3},
		{reason: "budgets for other reasons do not", spec: with(budget("0", "", "", drifted), budget("4", "", "", expired, drifted)), asked: expired, want: 4},
		{reason: "within its window", spec: with(budget("0", "0 9 * * mon-fri", "8h")), asked: expired, want: 0, changes: monday.Add(7 * time.Hour)},
		{reason: "from its first moment", spec: with(budget("0", "0 10 * * *", "1h")), asked: expired, want: 0, changes: monday.Add(time.Hour)},
		{reason: "not at its end", spec: with(budget("0", "0 9 * * *", "1h")), asked: expired, want: Unlimited, changes: monday.Add(23 * time.Hour)},
		{reason: "before its window", spec: with(budget("0", "30 10 * * *", "1h")), asked: expired, want: Unlimited, changes: monday.Add(30 * time.Minute)},
		{reason: "outside of it another holds", spec: with(budget("0", "30 10 * * *", "1h"), budget("5", "", "")), asked: expired, want: 5, changes: monday.Add(30 * time.Minute)},
		{reason: "the schedule is in UTC", spec: with(budget("0", "0 9 * * *", "2h")), asked: expired, now: monday.In(time.FixedZone("east", 9*3600)), want: 0, changes: monday.Add(time.Hour)},
		{reason: "windows that overlap", spec: with(budget("0", "@hourly", "90m")), asked: expired, want: 0, changes: monday.Add(30 * time.Minute)},
		{reason: "a day that never comes", spec: with(budget("0", "0 0 30 2 *", "1h")), asked: expired, want: Unlimited},
		{reason: "a schedule that cannot be read forbids", spec: with(budget("5", "0 9 * * 5-2", "1h")), asked: expired, want: 0},
		{reason: "a time zone is none", spec: with(budget("5", "TZ=Europe/Berlin 0 9 * * *", "1h")), asked: expired, want: 0},
	} {
		now := row.now
		if now.IsZero() {
			now = monday
		}
		got := Allowed(row.spec, row.asked, 15, now)
		if got.Nodes != row.want || !got.Changes.Equal(row.changes) {
			t.Errorf("%s: %d until %s, want %d until %s", row.reason, got.Nodes, got.Changes, row.want, row.changes)
		}
		if bounded := Bounded(row.spec, row.asked); !bounded && got.Nodes != Unlimited {
			t.Errorf("%s: nothing bounds %s, and %d are allowed", row.reason, row.asked, got.Nodes)
		}
	}
}

// TestProblems holds the messages about schedules.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ schedule, want string }{
		{"0 9 * * mon-fri", ""},
		{"@daily", ""},
		{"0 9 * * 5-2", `spec.disruption.budgets[1].schedule "0 9 * * 5-2" is invalid (beginning of range (5) beyond end of range (2): 5-2), so the budget allows no disruptions: correct the schedule`},
		{"0 0 30 2 *", `spec.disruption.budgets[1].schedule "0 0 30 2 *" has a day that does not exist, so the budget never applies: correct the schedule`},
	} {
		if got := strings.Join(Problems(with(budget("1", "", ""), budget("0", row.schedule, "1h"))), "; "); got != row.want {
			t.Errorf("%s: %q, want %q", row.schedule, got, row.want)
		}
	}
}

// TestKeptBy holds what keeps a node from being disrupted.
func TestKeptBy(t *testing.T) {
	t.Parallel()
	annotated := func(key, value string) map[string]string { return map[string]string{key: value} }
	bounded := &provisioningv1.ProvisionerSpec{TerminationGracePeriod: &metav1.Duration{Duration: time.Hour}}
	pod := func(edit func(*corev1.Pod)) []corev1.Pod {
		made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "batch", Annotations: annotated(provisioningv1.DoNotDisruptAnnotation, "true")}}
		if edit != nil {
			edit(&made)
		}
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}}, made}
	}
	for _, row := range []struct {
		reason      string
		spec        *provisioningv1.ProvisionerSpec
		member, own map[string]string
		pods        []corev1.Pod
		gone        bool
		want        string
	}{
		{reason: "nothing does"},
		{reason: "the Node", member: annotated("karpenter.sh/do-not-disrupt", "true"), want: "Node n has the annotation karpenter.sh/do-not-disrupt"},
		{reason: "by the old name", member: annotated("karpenter.sh/do-not-evict", "true"), want: "Node n has the annotation karpenter.sh/do-not-evict"},
		{reason: "the ProvisionedNode", own: annotated("karpenter.sh/do-not-disrupt", "true"), want: "ProvisionedNode p has the annotation karpenter.sh/do-not-disrupt"},
		{reason: "another value does not", member: annotated("karpenter.sh/do-not-disrupt", "false")},
		{reason: "a pod", pods: pod(nil), want: "pod shop/batch has the annotation karpenter.sh/do-not-disrupt"},
		{reason: "a pod by the old name", pods: pod(func(pod *corev1.Pod) { pod.Annotations = annotated("karpenter.sh/do-not-evict", "true") }), want: "pod shop/batch has the annotation karpenter.sh/do-not-evict"},
		{reason: "a pod that has ended does not", pods: pod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })},
		{reason: "a pod that is ending does not", pods: pod(func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} })},
		{reason: "a pod that is never evicted does not", pods: pod(func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Controller: ptr.To(true)}}
		})},
		{reason: "with a bounded drain a pod delays", spec: bounded, pods: pod(nil)},
		{reason: "and the Node still keeps", spec: bounded, member: annotated("karpenter.sh/do-not-disrupt", "true"), want: "Node n has the annotation karpenter.sh/do-not-disrupt"},
		{reason: "no Node has no pods", gone: true, pods: pod(nil)},
	} {
		spec := row.spec
		if spec == nil {
			spec = &provisioningv1.ProvisionerSpec{}
		}
		member := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: row.member}}
		if row.gone {
			member = nil
		}
		node := &provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: row.own}}
		if got := KeptBy(spec, node, member, row.pods, nil).By; got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestKeptByPodDisruptionBudgets holds for which pods a PodDisruptionBudget keeps a node: the pods
// that the API server would refuse to evict now.
func TestKeptByPodDisruptionBudgets(t *testing.T) {
	t.Parallel()
	budget := func(edit func(*policyv1.PodDisruptionBudget)) policyv1.PodDisruptionBudget {
		made := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 1}}
		made.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		made.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 2, DesiredHealthy: 2}
		if edit != nil {
			edit(&made)
		}
		return made
	}
	always, other := policyv1.AlwaysAllow, budget(func(b *policyv1.PodDisruptionBudget) { b.Name = "other"; b.Status.DisruptionsAllowed = 1 })
	for _, row := range []struct {
		reason  string
		pod     func(*corev1.Pod)
		budgets []policyv1.PodDisruptionBudget
		edit    func(*provisioningv1.ProvisionerSpec, *provisioningv1.ProvisionedNode)
		kept    string
	}{
		{reason: "no budget"},
		{reason: "no eviction is allowed", budgets: []policyv1.PodDisruptionBudget{budget(nil)}, kept: "PodDisruptionBudget shop/web does not " +
			"currently allow the eviction of pod web-1"},
		{reason: "one is", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 })}},
		{reason: "one was, for an older spec", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed, b.Generation = 1, 2 })}, kept: "PodDisruptionBudget shop/web"},
		{reason: "a budget of another namespace", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" })}},
		{reason: "of other pods", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = "db" })}},
		{reason: "of no pods", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil })}},
		{reason: "of all pods", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} })}, kept: "PodDisruptionBudget shop/web"},
		{reason: "two budgets", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }), other}, kept: "pod shop/web-1 matches several PodDisruptionBudgets, such as web and other"},
		{reason: "a pod that is pending", budgets: []policyv1.PodDisruptionBudget{budget(nil)}, pod: func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }},
		{reason: "a pod that ends", budgets: []policyv1.PodDisruptionBudget{budget(nil)}, pod: func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }},
		{reason: "a pod of a DaemonSet", budgets: []policyv1.PodDisruptionBudget{budget(nil)}, pod: func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Controller: ptr.To(true)}}
		}},
		{reason: "an unready pod of an application that is healthy", budgets: []policyv1.PodDisruptionBudget{budget(nil)}, pod: func(pod *corev1.Pod) { pod.Status.Conditions = nil }},
		{reason: "an unready pod of one that is not", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 1 })}, pod: func(pod *corev1.Pod) { pod.Status.Conditions = nil },
			kept: "PodDisruptionBudget shop/web"},
		{reason: "and one that may always be evicted", budgets: []policyv1.PodDisruptionBudget{budget(func(b *policyv1.PodDisruptionBudget) {
			b.Status.CurrentHealthy, b.Spec.UnhealthyPodEvictionPolicy = 1, &always
		})}, pod: func(pod *corev1.Pod) { pod.Status.Conditions = nil }},
		{reason: "the drain is bounded", budgets: []policyv1.PodDisruptionBudget{budget(nil)}, edit: func(spec *provisioningv1.ProvisionerSpec, _ *provisioningv1.ProvisionedNode) {
			spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
		}},
		{reason: "the replacement has begun", budgets: []policyv1.PodDisruptionBudget{budget(nil)}, edit: func(_ *provisioningv1.ProvisionerSpec, node *provisioningv1.ProvisionedNode) {
			node.Status.Conditions = []metav1.Condition{{Type: provisioningv1.ReplacingCondition, Status: metav1.ConditionTrue}}
		}},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}}}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		if row.pod != nil {
			row.pod(&pod)
		}
		spec, node := &provisioningv1.ProvisionerSpec{}, &provisioningv1.ProvisionedNode{}
		if row.edit != nil {
			row.edit(spec, node)
		}
		got := KeptBy(spec, node, &corev1.Node{}, []corev1.Pod{pod}, row.budgets)
		if got.Keeps() != (row.kept != "") || !strings.HasPrefix(got.By, row.kept) || got.Keeps() && got.Reason != provisioningv1.PodDisruptionBudgetReason {
			t.Errorf("%s: the node is kept by %+v, want %q", row.reason, got, row.kept)
		}
	}
}

// made returns a node in a state such as "asks=Expired", which says whether it asks, may leave, or
// leaves.
func made(name, state string) provisioningv1.ProvisionedNode {
	node := provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.ReadyTime = &metav1.Time{}
	what, reason, _ := strings.Cut(state, "=")
	replacing := func(status metav1.ConditionStatus) {
		node.Status.Conditions = append(node.Status.Conditions, metav1.Condition{Type: provisioningv1.ReplacingCondition, Status: status, Reason: reason})
	}
	switch what {
	case "asks":
		replacing(metav1.ConditionFalse)
	case "allowed":
		replacing(metav1.ConditionFalse)
		node.Annotations = map[string]string{provisioningv1.DisruptionAllowedAnnotation: reason}
	case "stale":
		node.Annotations = map[string]string{provisioningv1.DisruptionAllowedAnnotation: reason}
	case "kept":
		reason = provisioningv1.DoNotDisruptReason
		replacing(metav1.ConditionFalse)
		node.Annotations = map[string]string{provisioningv1.DisruptionAllowedAnnotation: "Expired"}
	case "replacing":
		replacing(metav1.ConditionTrue)
	case "marked":
		node.Annotations = map[string]string{provisioningv1.ReplaceAnnotation: provisioningv1.DriftedReason + ": x"}
	case "ending":
		node.DeletionTimestamp = &metav1.Time{}
	case "unready":
		node.Status.Conditions = []metav1.Condition{{Type: provisioningv1.NodeReadyCondition, Status: metav1.ConditionFalse}}
	case "coming":
		node.Status.ReadyTime = nil
		node.Status.Conditions = []metav1.Condition{{Type: provisioningv1.NodeReadyCondition, Status: metav1.ConditionFalse}}
	}
	return node
}

// TestChoose holds which nodes are disrupted next, and that what is leaving counts against every budget.
func TestChoose(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, nodes string
		spec          *provisioningv1.ProvisionerSpec
		want          string
		held          int
		revoked       string
	}{
		{reason: "nothing asks", nodes: "- -", spec: with(budget("1", "", ""))},
		{reason: "as many as the budget lets", nodes: "asks=Expired asks=Expired asks=Expired", spec: with(budget("2", "", "")), want: "a b", held: 1},
		{reason: "none", nodes: "asks=Expired", spec: with(budget("0", "", "")), held: 1},
		{reason: "one in ten by default", nodes: "asks=Expired asks=Expired", spec: with(), want: "a", held: 1},
		{reason: "those that are being replaced count", nodes: "replacing=Drifted asks=Expired", spec: with(budget("1", "", "")), held: 1},
		{reason: "those that may be count", nodes: "allowed=Expired asks=Expired", spec: with(budget("1", "", "")), held: 1},
		{reason: "those that are marked count", nodes: "marked asks=Expired", spec: with(budget("1", "", "")), held: 1},
		{reason: "those that end count", nodes: "ending asks=Expired", spec: with(budget("1", "", "")), held: 1},
		{reason: "those that failed count", nodes: "unready asks=Expired", spec: with(budget("1", "", "")), held: 1},
		{reason: "those that are coming do not", nodes: "coming asks=Expired", spec: with(budget("1", "", "")), want: "b"},
		{reason: "each reason has its budget", nodes: "asks=Expired asks=Empty", spec: with(budget("0", "", "", "Expired"), budget("1", "", "", "Empty")), want: "b", held: 1},
		{reason: "no budget for the reason", nodes: "asks=Empty asks=Empty", spec: with(budget("0", "", "", "Expired")), want: "a b"},
		{reason: "one that is kept gives its permission back", nodes: "kept asks=Expired", spec: with(budget("1", "", "")), held: 1, revoked: "a"},
		{reason: "one that asks no longer too", nodes: "stale=Expired", spec: with(budget("1", "", "")), revoked: "a"},
		{reason: "one that may keeps it", nodes: "allowed=Expired", spec: with(budget("1", "", ""))},
	} {
		var nodes []provisioningv1.ProvisionedNode
		for i, state := range strings.Fields(row.nodes) {
			nodes = append(nodes, made(string(rune('a'+i)), state))
		}
		choice := Choose(row.spec, nodes, Waiting(nodes), monday)
		var chosen, revoked []string
		for _, one := range choice.Now {
			chosen = append(chosen, one.Node.Name)
		}
		for _, one := range Revoked(nodes) {
			revoked = append(revoked, one.Name)
		}
		if !slices.Equal(chosen, strings.Fields(row.want)) || choice.Held != row.held || !slices.Equal(revoked, strings.Fields(row.revoked)) {
			t.Errorf("%s: %q now, %d held, %q revoked", row.reason, chosen, choice.Held, revoked)
		}
	}
}

// TestChangesOfHeld holds that a pass comes back when a window of a budget that holds a node back
// closes.
func TestChangesOfHeld(t *testing.T) {
	t.Parallel()
	nodes := []provisioningv1.ProvisionedNode{made("a", "asks=Expired")}
	if got, want := fmt.Sprint(Choose(with(budget("0", "0 9 * * *", "2h")), nodes, Waiting(nodes), monday).Changes), fmt.Sprint(monday.Add(time.Hour)); got != want {
		t.Errorf("it changes at %s, want %s", got, want)
	}
}
