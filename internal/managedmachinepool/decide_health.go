package managedmachinepool

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// The limits for health issues in status (API).
const (
	mostIssues    = 64
	mostResources = 100
)

// reportHealth shows what EKS reports to be wrong with the node group. A node group that is not well
// is kept as desired like any other.
func reportHealth(in input, plan *reconcile.Plan) bool {
	group := in.Seen.Group
	if group == nil {
		in.Object.Status.HealthIssues = nil
		reconciling.Remove(in.Object, infrav1.NodegroupHealthyCondition)
		return true
	}
	in.Object.Status.HealthIssues = issueStatuses(group.Issues)
	if len(group.Issues) == 0 && statusNow(in) != nodegroup.StatusDegraded {
		reconciling.True(in.Object, infrav1.NodegroupHealthyCondition, infrav1.HealthyReason, "")
		return true
	}
	message := issuesText(group.Issues)
	if message == "" {
		message = "EKS reports that the node group is degraded, without a reason"
	}
	before := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.NodegroupHealthyCondition)
	if before == nil || before.Status != metav1.ConditionFalse || before.Message != report.Shortened(message) {
		plan.Tell(reconcile.Warningf(infrav1.NodegroupUnhealthyEvent, "Node group %s: %s", group.Name, message))
	}
	reconciling.False(in.Object, infrav1.NodegroupHealthyCondition, infrav1.DegradedReason, report.Shortened(message))
	return true
}

func issueStatuses(issues []nodegroup.Issue) []infrav1.NodegroupHealthIssue {
	var statuses []infrav1.NodegroupHealthIssue
	for _, issue := range issues[:min(len(issues), mostIssues)] {
		statuses = append(statuses, infrav1.NodegroupHealthIssue{
			Code: issue.Code, Message: report.Shortened(issue.Message), ResourceIDs: slices.Clone(issue.Resources[:min(len(issue.Resources), mostResources)]),
		})
	}
	return statuses
}

// issuesText describes what is wrong, and what helps.
func issuesText(issues []nodegroup.Issue) string {
	var texts []string
	for _, issue := range issues {
		text := issue.Code
		if issue.Message != "" {
			text += ": " + strings.TrimSuffix(issue.Message, ".")
		}
		if help := nodegroup.Advice(issue.Code); help != "" {
			text += " (" + help + ")"
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}
