package plan

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
	"github.com/slipway-project/slipway/internal/workload"
	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// withWorkload gives a rig whose pool runs a workload cluster with a Node for each instance.
func (r *rig) withWorkload() *workloadtest.Server {
	r.Helper()
	var ids []string
	for _, instance := range r.instances() {
		ids = append(ids, "aws:///"+region+"a/"+instance)
	}
	s := workloadtest.NewServer(ids...)
	workloadtest.Serve(r, r.cluster, client.ObjectKey{Namespace: owners.Key.Namespace, Name: "prod"}, s)
	r.reachesWorkloads()
	return s
}

// reachesWorkloads has the planner read workload clusters.
func (r *rig) reachesWorkloads() {
	r.planner.Workloads = workload.New(r.cluster, r.clock)
	r.planner.Workloads.Loopback = true
	r.Cleanup(r.planner.Workloads.Close)
}

func TestPlanOfDrains(t *testing.T) {
	const terminated = "the instance is terminated with the pods that are left"
	limit := Duration(15 * time.Minute)
	for name, tc := range map[string]struct {
		reason string
		serve  func(*workloadtest.Server)
		spec   func(*infrav1.AWSMachinePoolSpec)
		want   *Drains
		text   string
	}{
		"Free": {
			reason: "A budget that allows what leaves at a time holds nothing.",
			serve:  func(s *workloadtest.Server) { s.Pod(0, "web").Pod(1, "web").Budget("web", "web", 1, 3, 2, 3) },
			want:   &Drains{Limit: limit, After: terminated},
			text:   "No PodDisruptionBudget holds a drain of these nodes now.",
		},
		"None": {reason: "A node without pods needs no budget.", serve: func(*workloadtest.Server) {}, want: &Drains{Limit: limit, After: terminated}},
		"Now": {
			reason: "A budget without room holds drains until its pods are healthy.",
			serve: func(s *workloadtest.Server) {
				s.Pod(0, "web").Pod(0, "web").Pod(1, "web").Budget("web", "web", 0, 2, 2, 3)
			},
			want: &Drains{Limit: limit, After: terminated, Budgets: []Budget{
				{Namespace: "shop", Name: "web", Hold: HoldsNow, Pods: 3, Nodes: 2, AtOnce: 2, Healthy: 2, Required: 2},
			}},
			text: "PodDisruptionBudget shop/web holds 3 pods on 2 of these nodes now: it needs 2 healthy pods and has 2\n" +
				"  A drain can be held for 15m0s at most. Then the instance is terminated with the pods that are left.",
		},
		"Always": {
			reason: "A budget of all pods never lets one go.",
			serve: func(s *workloadtest.Server) {
				s.Pod(2, "db").Budget("db", "db", 0, 1, 1, 1).Budget("other", "other", 0, 1, 1, 1)
			},
			spec: func(spec *infrav1.AWSMachinePoolSpec) { spec.NodeDrain.Timeout = &metav1.Duration{Duration: time.Hour} },
			want: &Drains{Limit: Duration(time.Hour), After: terminated, Budgets: []Budget{
				{Namespace: "shop", Name: "db", Hold: HoldsAlways, Pods: 1, Nodes: 1, AtOnce: 1, Healthy: 1, Required: 1},
			}},
			text: "PodDisruptionBudget shop/db holds 1 pod on 1 of these nodes always: it needs all its pods\n" +
				"  A drain can be held for 1h0m0s at most.",
		},
		"Slows": {
			reason: "A budget that allows fewer pods than leave at a time slows drains down.",
			serve: func(s *workloadtest.Server) {
				s.Pod(0, "web").Pod(0, "web").Pod(1, "web").Pod(2, "web").Budget("web", "web", 1, 4, 3, 4)
			},
			spec: func(spec *infrav1.AWSMachinePoolSpec) {
				all := int64(0)
				spec.RefreshPreferences.MinHealthyPercentage = &all
				spec.InstanceLifecyclePolicy = &infrav1.InstanceLifecyclePolicy{RetentionTriggers: infrav1.RetentionTriggers{TerminateHookAbandon: infrav1.RetentionActionRetain}}
			},
			want: &Drains{Limit: limit, After: "the instance is retained and replaced, and is terminated when its node is empty", Budgets: []Budget{
				{Namespace: "shop", Name: "web", Hold: Slows, Pods: 4, Nodes: 3, AtOnce: 4, Allowed: 1, Healthy: 4, Required: 3},
			}},
			text: "PodDisruptionBudget shop/web slows drains of 4 pods on 3 of these nodes: up to 4 leave at a time, and it allows 1",
		},
		"Staying": {
			reason: "Pods that stay, and pods that wait for their node, need no budget.",
			serve: func(s *workloadtest.Server) {
				s.Pod(0, "agent").Pod(0, "agent").Budget("agent", "agent", 0, 1, 1, 1)
				s.Pods[0].OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: new(true)}}
				s.Pods[1].Status.Phase = corev1.PodPending
			},
			want: &Drains{Limit: limit, After: terminated},
		},
		"Several": {
			reason: "Kubernetes refuses to evict a pod with several budgets.",
			serve: func(s *workloadtest.Server) {
				s.Pod(0, "web").Budget("a", "web", 1, 2, 1, 2).Budget("b", "web", 1, 2, 1, 2)
			},
			want: &Drains{Limit: limit, After: terminated, Overlapping: []string{"shop/web-0"}},
			text: "Kubernetes refuses to evict pods with several PodDisruptionBudgets: shop/web-0",
		},
		"Disabled": {
			reason: "Nothing holds a node that is not drained.",
			serve:  func(s *workloadtest.Server) { s.Pod(0, "web").Budget("web", "web", 0, 2, 2, 3) },
			spec:   func(spec *infrav1.AWSMachinePoolSpec) { spec.NodeDrain.Disable = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.running()
			tc.serve(r.withWorkload())
			edited := r.stored()
			edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
			edited.Spec.NodeDrain = &infrav1.NodeDrain{}
			if tc.spec != nil {
				tc.spec(&edited.Spec)
			}
			made := r.plan(edited)
			if diff := gocmp.Diff(tc.want, made.Pools[0].Drains, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s drains: -want +got:\n%s", tc.reason, diff)
			}
			if text := r.printed(made); !strings.Contains(text, tc.text) {
				t.Errorf("%s Print(plan): got\n%s\nwant text with %q", tc.reason, text, tc.text)
			}
		})
	}
}

// TestPlanOfUnknownDrains holds that a workload cluster which cannot be read is one line of a plan.
func TestPlanOfUnknownDrains(t *testing.T) {
	r := newRig(t)
	r.running()
	r.reachesWorkloads()
	edited := r.stored()
	edited.Spec.AWSLaunchTemplate.InstanceType, edited.Spec.NodeDrain = "m5.xlarge", nil
	made := r.plan(edited)
	want := "Whether a PodDisruptionBudget holds drains is not known: workload cluster prod cannot be reached: Secret prod-kubeconfig does not exist."
	if text := r.printed(made); !strings.Contains(text, want) || made.Failed() {
		t.Errorf("Print(plan): got\n%s\nwant a plan that does not fail, with %q", text, want)
	}
}
