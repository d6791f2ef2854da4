package provisionerstatus

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// input holds the facts for a decision about a Provisioner.
type input = reconcile.Input[*provisioningv1.Provisioner, Observed]

// The observations that decisions request, in the order in which a pass requests them.
const (
	// needAllowing lists the nodes past the cache, before some are allowed to be disrupted.
	needAllowing reconcile.Need = "nodes to disrupt"
	needName     reconcile.Need = "cluster name"
	needSubnets  reconcile.Need = "subnets"
	// needFixed reads whether the launch template that the spec names has the subnet.
	needFixed      reconcile.Need = "subnet of the launch template"
	needNamed      reconcile.Need = "launch template"
	needNamedTrial reconcile.Need = "dry runs of the launch template"
	needOffers     reconcile.Need = "offers"
	needTrials     reconcile.Need = "dry runs of default launch templates"
	needOfPods     reconcile.Need = "launch templates of pods"
	needShortages  reconcile.Need = "shortages"
	needOthers     reconcile.Need = "other Provisioners"
	needTypes      reconcile.Need = "instance types"
	needMembers    reconcile.Need = "pods of drifted nodes"
	// needMarking lists the nodes past the cache, before some are marked to be replaced.
	needMarking reconcile.Need = "nodes to mark"
	needRegion  reconcile.Need = "what the region sells"
)

// Observed holds the facts of a pass, in addition to the Provisioner itself. Read is true in the
// parts that were observed, whether or not the observation failed.
type Observed struct {
	// Region is the name of the region.
	Region string
	// Outage is whether AWS answers, as of the last observation or action.
	Outage pool.Outage
	// Nodes are the Provisioner's ProvisionedNodes, as the cache has them.
	Nodes []provisioningv1.ProvisionedNode
	// Allowing and Marking are the same past the cache.
	Allowing, Marking NodeList

	Name    ClusterName
	Subnets Subnets
	Fixed   FixedSubnet
	// Named is the launch template that the spec names.
	Named  NamedTemplate
	Offers Offers
	// Defaults are the default launch templates that this pass ensured, by variant.
	Defaults map[string]DefaultTemplate
	// OfPods are the launch templates that pods name.
	OfPods    PodTemplates
	Shortages Shortages
	Others    Others
	Types     TypeLabels
	Members   Members
	// CountedDrifted is how many drifted nodes the metrics show; nil for none that this process set.
	CountedDrifted *int
	// RegionRead is true once this process has read what the region sells, or this pass tried to.
	RegionRead bool
	// TemplateUnshown is true if EC2 may not show a default launch template yet that should be deleted.
	TemplateUnshown bool
}

// NodeList is a list of ProvisionedNodes.
type NodeList struct {
	Read  bool
	Items []provisioningv1.ProvisionedNode
	Err   error
}

// ClusterName holds why nothing may be launched under the name of the cluster; Taken is empty if
// nothing is in the way.
type ClusterName struct {
	Read  bool
	Taken string
	Err   error
}

// Subnets are the subnets that were found for the Provisioner, and the ones that nodes can be
// launched into.
type Subnets struct {
	Read   bool
	Found  []discovery.Subnet
	Places launcher.Places
	Err    error
}

// FixedSubnet holds whether the launch template that the spec names has the subnet.
type FixedSubnet struct{ Read, Fixed bool }

// Trial holds the result of dry runs of a version of a launch template.
type Trial struct {
	Read bool
	// Refused is true if EC2 launches none of the samples, for the reason in Verdict.
	Refused bool
	Verdict fleet.Verdict
}

// NamedTemplate is a launch template that the spec names.
type NamedTemplate struct {
	Read bool
	// Known is the zero value if the spec names none.
	Known templates.Known
	Err   error
	Trial Trial
}

// Offers are the offerings by which pods that ask for nothing can have nodes.
type Offers struct {
	Read bool
	// Unsuitable is why no instance type is within the limits of the spec, empty if one is.
	Unsuitable string
	// Seq is nil if there are none, or if AWS did not answer. Problem is why there are none.
	Seq     iter.Seq[catalog.Offer]
	Problem string
}

// DefaultTemplate is a default launch template.
type DefaultTemplate struct {
	defaults.Template
	Trial Trial
	// PruneDue is true while it has too many versions, and Unpruned is why one of them could not be
	// deleted.
	PruneDue bool
	Unpruned string
}

// PodTemplates are launch templates that pods name.
type PodTemplates struct {
	Read bool
	// Asked are named by pods that wait for a node.
	Asked []constraints.Reference
	List  []PodTemplate
}

// PodTemplate is a launch template that pods name.
type PodTemplate struct {
	Reference constraints.Reference
	Known     templates.Known
	Err       error
}

// Shortages holds the offerings that AWS does not launch now.
type Shortages struct {
	Read bool
	Last catalog.LastShortages
	// Next is when the first offering that is short can be tried again, if Some is true.
	Next time.Duration
	Some bool
	// Refused are the offerings that EC2 does not launch from the launch templates of the spec.
	Refused constraints.Refused
}

// Others are all Provisioners, this one included.
type Others struct {
	Read  bool
	Items []provisioningv1.Provisioner
	Err   error
}

// TypeLabels are the labels of the nodes' instance types, by type. An unknown type has none.
type TypeLabels struct {
	Read   bool
	Labels map[string]map[string]string
	Err    error
}

// Members are the Nodes of drifted ProvisionedNodes, by the name of the Node.
type Members struct {
	Read    bool
	Nodes   map[string]Member
	Budgets []policyv1.PodDisruptionBudget
	Err     error
}

// Member is a Node and its pods. Node has no name if it does not exist.
type Member struct {
	Node *corev1.Node
	Pods []corev1.Pod
}
