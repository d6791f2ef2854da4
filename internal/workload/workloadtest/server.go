package workloadtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Server is the API server of a workload cluster. It lists Nodes, the pods of a Node, and
// PodDisruptionBudgets.
type Server struct {
	Nodes   []corev1.Node
	Pods    []corev1.Pod
	Budgets []policyv1.PodDisruptionBudget
}

// NewServer returns a server with a Node for each provider ID of an instance.
func NewServer(providerIDs ...string) *Server {
	s := &Server{}
	for _, id := range providerIDs {
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + id[strings.LastIndexByte(id, '/')+1:]}}
		node.Spec.ProviderID = id
		s.Nodes = append(s.Nodes, node)
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var items any
	switch request.URL.Path {
	case "/api/v1/nodes":
		items = s.Nodes
	case "/api/v1/pods":
		_, node, _ := strings.Cut(request.URL.Query().Get("fieldSelector"), "spec.nodeName=")
		var pods []corev1.Pod
		for _, pod := range s.Pods {
			if pod.Spec.NodeName == node {
				pods = append(pods, pod)
			}
		}
		items = pods
	case "/apis/policy/v1/poddisruptionbudgets":
		items = s.Budgets
	default:
		http.NotFound(w, request)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "List", "items": items})
}

// Pod adds a running pod with a label to the Node of a number.
func (s *Server) Pod(node int, app string) *Server {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("%s-%d", app, len(s.Pods)), Labels: map[string]string{"app": app}}}
	pod.Spec.NodeName, pod.Status.Phase = s.Nodes[node].Name, corev1.PodRunning
	s.Pods = append(s.Pods, pod)
	return s
}

// Budget adds a budget for the pods with a label.
func (s *Server) Budget(name, app string, allowed, healthy, required, expected int32) *Server {
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: required, ExpectedPods: expected}
	s.Budgets = append(s.Budgets, budget)
	return s
}
