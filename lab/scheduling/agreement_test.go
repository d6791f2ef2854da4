package scheduling

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
	"github.com/slipway-project/slipway/lab/labtest"
)

// TestAgreement holds that the filters of the real kube-scheduler let every pod that was placed
// onto the node that was foreseen for it, whichever of the node's options AWS has.
func TestAgreement(t *testing.T) {
	env := labtest.New(t)
	prepareVolumes(env)
	filters, err := newFilters(t.Context(), env.Lab.Workload.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		problem := packtest.Problems(rt)
		if err := serve(t.Context(), problem); err != nil {
			rt.Fatal(err)
		}
		result := packing.Pack(problem)
		future := foresee(problem, result, func(options int) int { return rapid.IntRange(0, options-1).Draw(rt, "option") })
		if left := future.bind(t.Context(), filters); left != "" {
			rt.Fatal(left)
		}
	})
}

// serve changes pods as the API server does when it stores them: it writes the keys that terms
// match labels by into their selectors.
func serve(ctx context.Context, problem *packing.Problem) error {
	served := func(pod *corev1.Pod) (*corev1.Pod, error) {
		stored, answer := &core.Pod{}, &corev1.Pod{}
		if err := corev1conversion.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), stored, nil); err != nil {
			return nil, err
		}
		podregistry.Strategy.PrepareForCreate(ctx, stored)
		return answer, corev1conversion.Convert_core_Pod_To_v1_Pod(stored, answer, nil)
	}
	var err error
	for i := range problem.Pods {
		if problem.Pods[i].Pod, err = served(problem.Pods[i].Pod); err != nil {
			return err
		}
	}
	for i := range problem.Nodes {
		for j := range problem.Nodes[i].Pods {
			if problem.Nodes[i].Pods[j], err = served(problem.Nodes[i].Pods[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// future is a cluster as packing foresees it, while the scheduler binds its pods.
type future struct {
	nodes   []*corev1.Node
	bound   []*corev1.Pod
	waiting map[string][]*corev1.Pod // by the node that is foreseen
}

func foresee(problem *packing.Problem, result *packing.Result, choose func(options int) int) *future {
	f := &future{waiting: map[string][]*corev1.Pod{}}
	claims := &volumes{attached: map[string]int64{}}
	byPod := map[*corev1.Pod]packing.Pod{}
	for _, pod := range problem.Pods {
		byPod[pod.Pod] = pod
	}
	add := func(node *corev1.Node, there, coming []*corev1.Pod) {
		f.nodes = append(f.nodes, node)
		for i, pod := range there {
			f.bound = append(f.bound, boundTo(node.Name, pod, fmt.Sprintf("%s-%s-%d", pod.Name, node.Name, i)))
		}
		for _, pod := range coming {
			f.waiting[node.Name] = append(f.waiting[node.Name], claims.with(byPod[pod]))
		}
	}
	for i := range problem.Nodes {
		n := &problem.Nodes[i]
		add(packtest.Existing(n), n.Pods, result.Existing[n.Name])
	}
	for i := range result.New {
		n := &result.New[i]
		node, daemons := packtest.Launched(problem, n, fmt.Sprintf("new-%d", i), n.Options[choose(len(n.Options))])
		add(node, daemons, n.Pods)
	}
	return f
}

// boundTo is a pod on a node, by a name that no other has.
func boundTo(node string, pod *corev1.Pod, name string) *corev1.Pod {
	bound := pod.DeepCopy()
	bound.Name, bound.Spec.NodeName = name, node
	return bound
}

// bind binds the pods one by one, in any order in which the scheduler takes them, and says what is
// left that it never takes.
func (f *future) bind(ctx context.Context, filters *filters) string {
	for {
		progress, left := false, ""
		for _, node := range f.nodes {
			var refused []*corev1.Pod
			for _, pod := range f.waiting[node.Name] {
				filters.see(f.nodes, f.bound)
				if reason := filters.refuse(ctx, pod, node.Name); reason != "" {
					refused = append(refused, pod)
					left = fmt.Sprintf("pod %s can not be on node %s %v: %s", pod.Name, node.Name, node.Labels, reason)
					continue
				}
				f.bound = append(f.bound, boundTo(node.Name, pod, pod.Name))
				progress = true
			}
			f.waiting[node.Name] = refused
		}
		if left == "" || !progress {
			return left
		}
	}
}
