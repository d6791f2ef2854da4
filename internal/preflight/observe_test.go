package preflight

import (
	"errors"
	"testing"

	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/permissions"
)

// TestCertificateOfTheManager holds which Secret a Deployment names, by each of its flags.
func TestCertificateOfTheManager(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, want string
		args         []string
	}{
		{"a certificate that the manager makes", "other/slipway-webhook-authority", []string{"manager", "--webhook-cert-secret=other/slipway-webhook-authority"}},
		{"a mounted certificate", "slipway-system/certificate", []string{"manager", "--webhook-cert-dir=/etc/certificate"}},
		{"a directory that is no Secret", "", []string{"--webhook-cert-dir=/tmp"}},
		{"no webhook", "", []string{"manager", "--leader-elect"}},
		{"a Secret without its namespace", "", []string{"--webhook-cert-secret=authority"}},
		{"a Secret without its name", "", []string{"--webhook-cert-secret=other/"}},
		{"no arguments", "", nil},
	} {
		deployment := deploymentOf(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: "slipway-manager"},
			Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Volumes: []corev1.Volume{
					{Name: "certificate", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "certificate"}}}, {Name: "scratch"},
				},
				Containers: []corev1.Container{{
					Command: []string{"/slipway"}, Args: row.args,
					VolumeMounts: []corev1.VolumeMount{{Name: "certificate", MountPath: "/etc/certificate"}, {Name: "scratch", MountPath: "/tmp"}},
				}},
			}}},
		})
		key, found := deployment.certificateSecret()
		if found != (row.want != "") || found && key.String() != row.want {
			t.Errorf("%s: the Secret is %s (%t), want %q", row.reason, key, found, row.want)
		}
		if deployment.Replicas != 2 {
			t.Errorf("%s: there are %d replicas", row.reason, deployment.Replicas)
		}
	}
}

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
		if got := principalOf(t.Context(), nil, row.caller); got != row.want {
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

// TestFailuresAreDescribed holds that an error without a status is not taken for a lack of permissions.
func TestFailuresAreDescribed(t *testing.T) {
	t.Parallel()
	if failure(nil) != nil {
		t.Error("no error is a failure")
	}
	if got := failure(errors.New("broken")); got.Denied || got.Text != "broken" {
		t.Errorf("the failure is %+v", got)
	}
}
