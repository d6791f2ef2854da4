package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// input has everything that a decision about a ProvisionedNode depends on.
type input = reconcile.Input[*provisioningv1.ProvisionedNode, Observed]

// Fact is an observation that a decision asks for, because it costs something and is not always
// needed.
type Fact[T any] struct {
	// Known is true once it was observed.
	Known bool
	Value T
	// Err is why AWS did not answer. Value means nothing then.
	Err error
}

// Observed has everything that a pass knows in addition to the ProvisionedNode itself.
type Observed struct {
	Settings Settings
	// Began is when the pass began.
	Began time.Time
	// Provisioner is the node's, nil if it is gone.
	Provisioner *provisioningv1.Provisioner
	// Impaired is true if the instance failed an EC2 status check in EC2's last answer.
	Impaired bool
	// Promised is true if pods have a place on the node and were not bound to it yet.
	Promised bool
	Instance Instance
	// Member is the Node of the instance, nil if there is none, or the instance is not the node's.
	Member *corev1.Node

	// ClusterName is why the node's cluster name cannot be used, empty if it can.
	ClusterName Fact[string]
	// Siblings are the nodes of the same launch, including this one.
	Siblings Fact[[]provisioningv1.ProvisionedNode]
	// Answer is EC2's answer to the launch, nil if this process has none.
	Answer *answer
	// LaunchedAt is when the answer came.
	LaunchedAt time.Time
	// Resources of the instance type that was launched.
	Resources Fact[provisioningv1.ProvisionedResources]
	// OfLaunch are the instances of the launch.
	OfLaunch Fact[[]fleet.Instance]
	// Labels that follow from the instance type.
	Labels Fact[map[string]string]
	// LiveMember is the Node that status names, as the API server has it; nil if there is none.
	LiveMember Fact[*corev1.Node]
	// Pods are the pods of the Node. They are the cache's.
	Pods Fact[[]corev1.Pod]
	// OfProvisioner are the nodes of the Provisioner.
	OfProvisioner Fact[[]provisioningv1.ProvisionedNode]
	// Nodes are all ProvisionedNodes.
	Nodes Fact[[]provisioningv1.ProvisionedNode]
	// Budgets are the PodDisruptionBudgets of all namespaces. They are the cache's.
	Budgets Fact[[]policyv1.PodDisruptionBudget]
	// Places of the pods of the Node.
	Places Fact[Places]

	// Recovered is true if EC2 reported, when the node should have been replaced, that the instance
	// passes its status checks again.
	Recovered bool
	// Drain is how far the drain of the Node is.
	Drain drain.Progress
}

// Settings of the controller.
type Settings struct {
	// ClusterUID is the UID of the kube-system namespace: the mark of this cluster's instances.
	ClusterUID string
	// RegistrationTimeout is how long an instance has to become an initialized Node.
	RegistrationTimeout time.Duration
}

// Instance is the instance of the node, as EC2 describes it.
type Instance struct {
	// ID is empty until the instance was observed.
	ID string
	// Found is nil if EC2 does not show the instance, or it was launched for something else.
	Found *fleet.Instance
	// ImageID is the image that the instance runs.
	ImageID string
	// Foreign is why the instance is not the node's: its tags do not prove that it was launched for
	// the node. Neither it nor its Node is touched.
	Foreign error
	// Err is why EC2 did not answer.
	Err error
}

// Places lists the places that the pods of a Node have.
type Places struct {
	// Volumes show which pods are tied to one Node.
	Volumes *clusterstate.Cluster
	// ByPod are the places of pods; a pod that has none is missing.
	ByPod map[types.UID]Place
}

// Place is a node that a pod has a place on.
type Place struct {
	// Name of the ProvisionedNode, or of a Node that Slipway did not launch.
	Name string
	// Provisioned and Member are what there is of that name, nil if there is none.
	Provisioned *provisioningv1.ProvisionedNode
	Member      *corev1.Node
}

// Observations that a decision asks for.
const (
	needInstance      reconcile.Need = "instance"
	needClusterName   reconcile.Need = "use of the cluster name"
	needSiblings      reconcile.Need = "nodes of the launch"
	needResources     reconcile.Need = "resources of the instance type"
	needOfLaunch      reconcile.Need = "instances of the launch"
	needLabels        reconcile.Need = "labels of the instance type"
	needLiveMember    reconcile.Need = "Node in the API server"
	needPods          reconcile.Need = "pods of the Node"
	needOfProvisioner reconcile.Need = "nodes of the Provisioner"
	needNodes         reconcile.Need = "all nodes"
	needBudgets       reconcile.Need = "PodDisruptionBudgets"
	needPlaces        reconcile.Need = "places of pods"
)

// known reports whether a fact was observed, and asks for it if not.
func known[T any](fact Fact[T], plan *reconcile.Plan, need reconcile.Need) bool {
	if !fact.Known {
		plan.Need(need)
	}
	return fact.Known
}
