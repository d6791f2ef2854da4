package disruption

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// Asks returns the reason for which a node asks to be disrupted, or "" if it does not ask, or is
// being disrupted already. The controller of nodes writes it into the condition Replacing.
func Asks(node *provisioningv1.ProvisionedNode) provisioningv1.DisruptionReason {
	condition := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.ReplacingCondition)
	if condition == nil || condition.Status != metav1.ConditionFalse || node.DeletionTimestamp != nil {
		return ""
	}
	if reason := provisioningv1.DisruptionReason(condition.Reason); slices.Contains(Reasons, reason) {
		return reason
	}
	return ""
}

// Allows reports whether a node was allowed to be disrupted for a reason.
func Allows(node *provisioningv1.ProvisionedNode, reason provisioningv1.DisruptionReason) bool {
	return node.Annotations[provisioningv1.DisruptionAllowedAnnotation] == string(reason)
}

// MarkedDrifted reports whether the Provisioner's controller has a node replaced because it drifted.
func MarkedDrifted(node *provisioningv1.ProvisionedNode) bool {
	return strings.HasPrefix(node.Annotations[provisioningv1.ReplaceAnnotation], provisioningv1.DriftedReason)
}

// Replacing reports whether the replacement of a node has begun, or the node is about to be
// deleted.
func Replacing(node *provisioningv1.ProvisionedNode) bool {
	return node.DeletionTimestamp != nil || meta.IsStatusConditionTrue(node.Status.Conditions, provisioningv1.ReplacingCondition) || MarkedDrifted(node)
}

// Leaving reports whether a node counts against the budgets: it is being deleted, it is being
// replaced or may be, or it was ready once and is not.
func Leaving(node *provisioningv1.ProvisionedNode) bool {
	if _, allowed := node.Annotations[provisioningv1.DisruptionAllowedAnnotation]; allowed || Replacing(node) {
		return true
	}
	return node.Status.ReadyTime != nil && meta.IsStatusConditionFalse(node.Status.Conditions, provisioningv1.NodeReadyCondition)
}

// Candidate is a node that should be disrupted.
type Candidate struct {
	Node   *provisioningv1.ProvisionedNode
	Reason provisioningv1.DisruptionReason
}

// Choice holds which nodes may be disrupted now.
type Choice struct {
	Now []Candidate
	// Held is how many candidates a budget holds back.
	Held int
	// Changes is when a window of a budget that holds some back opens or closes; zero if none does.
	Changes time.Time
}

// Choose returns which candidates may be disrupted now, in their order, so that no budget is
// exceeded. Nodes are all nodes of the Provisioner.
func Choose(spec *provisioningv1.ProvisionerSpec, nodes []provisioningv1.ProvisionedNode, candidates []Candidate, now time.Time) Choice {
	leaving, total := 0, 0
	for i := range nodes {
		if Leaving(&nodes[i]) {
			leaving++
		}
		if nodes[i].Status.ReadyTime != nil {
			total++ // nodes that are coming may be replacements, which would let further nodes go
		}
	}
	allowed := map[provisioningv1.DisruptionReason]Allowance{}
	for _, reason := range Reasons {
		allowed[reason] = Allowed(spec, reason, total, now)
	}
	var choice Choice
	for _, candidate := range candidates {
		allowance := allowed[candidate.Reason]
		if leaving >= allowance.Nodes {
			choice.Held++
			if !allowance.Changes.IsZero() && (choice.Changes.IsZero() || allowance.Changes.Before(choice.Changes)) {
				choice.Changes = allowance.Changes
			}
			continue
		}
		choice.Now = append(choice.Now, candidate)
		if !Leaving(candidate.Node) {
			leaving++
		}
	}
	return choice
}

// Waiting returns the nodes that ask to be disrupted and are not allowed to be, the oldest first.
func Waiting(nodes []provisioningv1.ProvisionedNode) []Candidate {
	var waiting []Candidate
	for i := range nodes {
		if reason := Asks(&nodes[i]); reason != "" && !Allows(&nodes[i], reason) {
			waiting = append(waiting, Candidate{&nodes[i], reason})
		}
	}
	slices.SortFunc(waiting, func(a, b Candidate) int {
		return cmp.Or(a.Node.CreationTimestamp.Compare(b.Node.CreationTimestamp.Time), cmp.Compare(a.Node.Name, b.Node.Name))
	})
	return waiting
}

// Revoked returns the nodes that were allowed to be disrupted and neither ask for it any longer nor
// are being disrupted.
func Revoked(nodes []provisioningv1.ProvisionedNode) []*provisioningv1.ProvisionedNode {
	var revoked []*provisioningv1.ProvisionedNode
	for i := range nodes {
		node := &nodes[i]
		allowed, is := node.Annotations[provisioningv1.DisruptionAllowedAnnotation]
		replacing := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.ReplacingCondition)
		if is && node.DeletionTimestamp == nil && (replacing == nil || replacing.Reason != allowed) {
			revoked = append(revoked, node)
		}
	}
	return revoked
}
