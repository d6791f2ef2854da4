package simulator

import (
	"testing"

	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/permissions"
)

// TestReasonsOfDenials holds how a result of IAM is read.
func TestReasonsOfDenials(t *testing.T) {
	t.Parallel()
	const allowed, implicit, explicit = iamtypes.PolicyEvaluationDecisionTypeAllowed, iamtypes.PolicyEvaluationDecisionTypeImplicitDeny, iamtypes.PolicyEvaluationDecisionTypeExplicitDeny
	outside := &iamtypes.PermissionsBoundaryDecisionDetail{}
	for _, row := range []struct {
		reason string
		result iamtypes.EvaluationResult
		want   string
	}{
		{"allowed", iamtypes.EvaluationResult{EvalDecision: allowed}, ""},
		{"no decision", iamtypes.EvaluationResult{}, "no policy allows it"},
		{"no policy", iamtypes.EvaluationResult{EvalDecision: implicit}, "no policy allows it"},
		{"a Deny", iamtypes.EvaluationResult{EvalDecision: explicit}, "a policy denies it explicitly"},
		{"a service control policy", iamtypes.EvaluationResult{EvalDecision: implicit, OrganizationsDecisionDetail: &iamtypes.OrganizationsDecisionDetail{}}, "the organization's policies do not allow it"},
		{"a boundary", iamtypes.EvaluationResult{EvalDecision: implicit, PermissionsBoundaryDecisionDetail: outside}, "the permissions boundary does not allow it"},
		{"a resource that is denied", iamtypes.EvaluationResult{EvalDecision: allowed, ResourceSpecificResults: []iamtypes.ResourceSpecificResult{
			{EvalResourceDecision: implicit, PermissionsBoundaryDecisionDetail: outside},
		}}, "the permissions boundary does not allow it"},
	} {
		if got := reasonOf(row.result); got != row.want {
			t.Errorf("%s: the reason is %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestPrincipals holds whose policies are simulated for callers that need no request to IAM.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, caller, want string }{
		{"a user", "arn:aws:iam::111122223333:user/teams/admin", "arn:aws:iam::111122223333:user/teams/admin"},
		{"the account itself", "arn:aws:iam::111122223333:root", ""},
		{"a federated user", "arn:aws:sts::111122223333:federated-user/admin", ""},
		{"no ARN", "admin", ""},
		{"nothing", "", ""},
	} {
		if got := PrincipalOf(t.Context(), nil, row.caller); got != row.want {
			t.Errorf("%s: the principal is %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestQuestionsJoinActions holds that requests that differ in their actions alone are one question.
func TestQuestionsJoinActions(t *testing.T) {
	t.Parallel()
	tagged := map[string][]string{"aws:TagKeys": {"a"}}
	got := questions([]permissions.Example{
		{Sid: "Look", Actions: []string{"ec2:DescribeImages"}, Resource: "*"},
		{Sid: "LookAgain", Actions: []string{"ec2:DescribeSubnets"}, Resource: "*", Context: map[string][]string{}},
		{Sid: "Tag", Actions: []string{"ec2:CreateTags"}, Resource: "*", Context: tagged},
	})
	var actions []map[string]string
	for _, question := range got {
		actions = append(actions, question.statements)
	}
	want := []map[string]string{{"ec2:DescribeImages": "Look", "ec2:DescribeSubnets": "LookAgain"}, {"ec2:CreateTags": "Tag"}}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	entries := got[1].entries()
	if len(entries) != 1 || *entries[0].ContextKeyName != "aws:TagKeys" || entries[0].ContextKeyType != iamtypes.ContextKeyTypeEnumStringList {
		t.Errorf("the context is %+v", entries)
	}
}
