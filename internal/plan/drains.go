package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/workload"
)

// Drains describes what holds the drains of the nodes that a roll-out replaces, as the workload cluster is
// now.
type Drains struct {
	// Limit is how long one drain can be held, and After what happens then. Limit is zero if there is
	// no limit that AWS documents.
	Limit Duration `json:"limit,omitzero"`
	After string   `json:"after,omitempty"`
	// Budgets are the PodDisruptionBudgets that hold or slow down a drain.
	Budgets []Budget `json:"budgets,omitempty"`
	// Overlapping are the pods with more than one budget. Kubernetes refuses to evict them.
	Overlapping []string `json:"overlapping,omitempty"`
	// Unknown says why the workload cluster was not read.
	Unknown string `json:"unknown,omitempty"`
}

// Hold says what a PodDisruptionBudget does to a drain.
type Hold string

// The holds.
const (
	// HoldsAlways means that the budget requires as many healthy pods as there are.
	HoldsAlways Hold = "holds always"
	// HoldsNow means that the budget allows no eviction, because some of its pods are not healthy.
	HoldsNow Hold = "holds now"
	// Slows means that the budget allows fewer evictions than there are pods on nodes that are
	// replaced at a time.
	Slows Hold = "slows"
)

// Budget is a PodDisruptionBudget that holds a drain.
type Budget struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Hold      Hold   `json:"hold"`
	// Pods is how many of its pods are on nodes that are replaced, and Nodes on how many of these nodes.
	Pods  int `json:"pods"`
	Nodes int `json:"nodes"`
	// AtOnce is how many of these pods may have to leave at a time, and Allowed how many may.
	AtOnce  int   `json:"atOnce"`
	Allowed int32 `json:"allowed"`
	// Healthy is how many of its pods are healthy, and Required how many must be.
	Healthy  int32 `json:"healthy"`
	Required int32 `json:"required"`
}

// mostPodsRead limits the pods of all nodes that are replaced.
const mostPodsRead = 50_000

// inspect adds what holds the drains of the nodes that a roll-out replaces, if nodes are drained. A
// workload cluster that cannot be read does not fail the plan.
func (p *Planner) inspect(ctx context.Context, target target, pool view, planned *Pool) error {
	if planned.Rollout == nil || p.Workloads == nil {
		return nil
	}
	drains := target.kind.drains(pool, planned.Rollout)
	if drains == nil {
		return nil
	}
	cluster := types.NamespacedName{Namespace: target.name.Namespace, Name: pool.GetLabels()[clusterv1.ClusterNameLabel]}
	if err := p.findHolds(ctx, cluster, planned, drains); err != nil {
		drains.Budgets, drains.Overlapping, drains.Unknown = nil, nil, workload.Explain(err)
	}
	planned.Drains = drains
	return ctx.Err()
}

// findHolds reads the pods of the replaced nodes, and then the budgets.
func (p *Planner) findHolds(ctx context.Context, cluster types.NamespacedName, planned *Pool, drains *Drains) error {
	api, err := p.Workloads.API(ctx, cluster)
	if err != nil {
		return err
	}
	replaced := setOf(planned.Replaced())
	var nodes []string
	err = api.EachNode(ctx, func(node *corev1.Node) bool {
		if replaced[poolview.InstanceID(node.Spec.ProviderID)] {
			nodes = append(nodes, node.Name)
		}
		return len(nodes) < len(replaced)
	})
	if err != nil {
		return err
	}
	leaving := podsByNamespace{}
	count := 0
	for _, node := range nodes {
		pods, err := api.LabeledPods(ctx, node)
		if err != nil {
			return err
		}
		if count += len(pods); count > mostPodsRead {
			return &workload.AnswerError{Reason: fmt.Sprintf("more than %d pods of the nodes that are replaced", mostPodsRead)}
		}
		leaving.add(node, pods)
	}
	if len(leaving) == 0 {
		return nil
	}
	err = api.EachBudget(ctx, func(budget *policyv1.PodDisruptionBudget) bool {
		if held := leaving.heldBy(budget, planned.Rollout.AtOnce); held != nil {
			drains.Budgets = append(drains.Budgets, *held)
		}
		return true
	})
	drains.Overlapping = leaving.overlapping()
	slices.SortFunc(drains.Budgets, func(a, b Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return err
}

// leavingPod is a pod that must leave its node.
type leavingPod struct {
	name, node string
	labels     labels.Set
	budgets    int
}

// podsByNamespace are the pods that must leave their nodes.
type podsByNamespace map[string][]*leavingPod

// add adds the pods of a node that are evicted. The eviction of a pending pod needs no budget (Kubernetes:
// registry/core/pod/storage/eviction.go, canIgnorePDB).
func (p podsByNamespace) add(node string, pods []corev1.Pod) {
	for i := range pods {
		pod := &pods[i]
		if drain.Leaves(pod) && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodPending {
			p[pod.Namespace] = append(p[pod.Namespace], &leavingPod{name: pod.Name, node: node, labels: pod.Labels})
		}
	}
}

// heldBy counts a budget for the pods that it selects. It returns the budget if it holds some of them, and
// nil otherwise. AtOnce is how many nodes are replaced at a time.
func (p podsByNamespace) heldBy(budget *policyv1.PodDisruptionBudget, atOnce int) *Budget {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return nil // the API server accepts no such selector
	}
	onNode := map[string]int{}
	held := Budget{
		Namespace: budget.Namespace, Name: budget.Name, Allowed: budget.Status.DisruptionsAllowed, Healthy: budget.Status.CurrentHealthy,
		Required: budget.Status.DesiredHealthy,
	}
	for _, pod := range p[budget.Namespace] {
		if selector.Matches(pod.labels) {
			pod.budgets++
			onNode[pod.node]++
			held.Pods++
		}
	}
	held.Nodes, held.AtOnce = len(onNode), mostOn(onNode, atOnce)
	switch {
	case held.Pods == 0 || int(held.Allowed) >= held.AtOnce:
		return nil
	case held.Allowed > 0:
		held.Hold = Slows
	case budget.Status.DesiredHealthy >= budget.Status.ExpectedPods:
		held.Hold = HoldsAlways
	default:
		held.Hold = HoldsNow
	}
	return &held
}

// mostOn returns the most pods that so many nodes have together.
func mostOn(nodes map[string]int, count int) int {
	var counts []int
	for _, pods := range nodes {
		counts = append(counts, pods)
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	most := 0
	for _, pods := range counts[:min(count, len(counts))] {
		most += pods
	}
	return most
}

// overlapping returns the names of the pods with more than one budget, sorted.
func (p podsByNamespace) overlapping() []string {
	var names []string
	for namespace, pods := range p {
		for _, pod := range pods {
			if pod.budgets > 1 {
				names = append(names, namespace+"/"+pod.name)
			}
		}
	}
	slices.Sort(names)
	return names
}
