package awsmanagedmachinepool

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// The bounds of what status says of health issues (API).
const (
	mostIssues    = 64
	mostResources = 100
)

// reportHealth shows what EKS says is wrong with the node group, in words. A node group that is not
// well is kept as desired like any other.
func (r *Reconciler) reportHealth(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil {
		p.pool.Status.HealthIssues = nil
		reconciling.Remove(p.pool, infrav1.NodegroupHealthyCondition)
		return reconciling.Continue()
	}
	p.pool.Status.HealthIssues = issueStatuses(p.group.Issues)
	if len(p.group.Issues) == 0 && p.group.Status != nodegroup.StatusDegraded {
		reconciling.True(p.pool, infrav1.NodegroupHealthyCondition, infrav1.HealthyReason, "")
		return reconciling.Continue()
	}
	message := issuesText(p.group.Issues)
	if message == "" {
		message = "EKS says that the node group is degraded, and not why"
	}
	before := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.NodegroupHealthyCondition)
	if before == nil || before.Status != metav1.ConditionFalse || before.Message != common.Shortened(message) {
		r.Report.Warn(ctx, p.pool, "NodegroupUnhealthy", "Node group %s: %s", p.group.Name, message)
	}
	reconciling.False(p.pool, infrav1.NodegroupHealthyCondition, infrav1.DegradedReason, common.Shortened(message))
	return reconciling.Continue()
}

func issueStatuses(issues []nodegroup.Issue) []infrav1.NodegroupHealthIssue {
	var statuses []infrav1.NodegroupHealthIssue
	for _, issue := range issues[:min(len(issues), mostIssues)] {
		statuses = append(statuses, infrav1.NodegroupHealthIssue{
			Code: issue.Code, Message: common.Shortened(issue.Message), ResourceIDs: slices.Clone(issue.Resources[:min(len(issue.Resources), mostResources)]),
		})
	}
	return statuses
}

// issuesText is what is wrong, in words, and what helps.
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
