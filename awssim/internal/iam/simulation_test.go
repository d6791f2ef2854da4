package iam_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const (
	simulatedRole = "arn:aws:iam::111122223333:role/teams/x"
	template      = "arn:aws:ec2:us-east-1:111122223333:launch-template/lt-1"
	// ofTeam allows launch templates with a tag to be changed, and nothing to be deleted.
	ofTeam = `{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Action":"ec2:*","Resource":"arn:aws:ec2:*:*:launch-template/*","Condition":{"StringEquals":{"aws:ResourceTag/team":"blue"}}},
		{"Effect":"Allow","Action":"ec2:Describe*","Resource":"*"},
		{"Effect":"Deny","Action":"ec2:Delete*","Resource":"*"}]}`
	onlyDescribe = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"ec2:Describe*","Resource":"*"}}`
)

// withRole returns a simulated AWS with a role that has an inline policy, attached policies, and a
// boundary, each unless empty.
func withRole(t *testing.T, inline, boundary string, attached ...string) simulated {
	t.Helper()
	s, name := start(t), aws.String("x")
	in := &iam.CreateRoleInput{RoleName: name, Path: aws.String("/teams/"), AssumeRolePolicyDocument: aws.String(trust)}
	if boundary != "" {
		policy, err := s.client.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String("bound"), PolicyDocument: &boundary})
		if err != nil {
			t.Fatal(err)
		}
		in.PermissionsBoundary = policy.Policy.Arn
	}
	if _, err := s.client.CreateRole(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if inline != "" {
		if _, err := s.client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: name, PolicyName: aws.String("inline"), PolicyDocument: &inline}); err != nil {
			t.Fatal(err)
		}
	}
	for _, arn := range attached {
		if _, err := s.client.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: &arn}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestPoliciesAreSimulated holds what is decided, against AWS's rules of evaluation.
func TestPoliciesAreSimulated(t *testing.T) {
	t.Parallel()
	blue := []types.ContextEntry{{ContextKeyName: aws.String("AWS:ResourceTag/team"), ContextKeyType: types.ContextKeyTypeEnumString, ContextKeyValues: []string{"blue"}}}
	for _, row := range []struct {
		reason, inline, boundary string
		attached                 []string
		in                       iam.SimulatePrincipalPolicyInput
		want                     types.PolicyEvaluationDecisionType
		missing                  []string
		bounded                  *bool
	}{
		{
			reason: "an action without a resource", inline: ofTeam, in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:DescribeImages"}},
			want: "allowed", missing: []string{"aws:ResourceTag/team"},
		},
		{
			reason: "a resource with the tag", inline: ofTeam, want: "allowed",
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:ModifyLaunchTemplate"}, ResourceArns: []string{template}, ContextEntries: blue},
		},
		{
			reason: "a resource without the tag", inline: ofTeam, want: "implicitDeny", missing: []string{"aws:ResourceTag/team"},
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:ModifyLaunchTemplate"}, ResourceArns: []string{template}},
		},
		{
			reason: "all resources, where the policy names one type", inline: ofTeam, want: "implicitDeny",
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:ModifyLaunchTemplate"}, ContextEntries: blue},
		},
		{
			reason: "a Deny wins", inline: ofTeam, want: "explicitDeny",
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:DeleteLaunchTemplate"}, ResourceArns: []string{template}, ContextEntries: blue},
		},
		{
			reason: "a boundary that does not allow what the policy allows", inline: ofTeam, boundary: onlyDescribe, want: "implicitDeny", bounded: aws.Bool(false),
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:ModifyLaunchTemplate"}, ResourceArns: []string{template}, ContextEntries: blue},
		},
		{
			reason: "a boundary that allows it", inline: ofTeam, boundary: onlyDescribe, want: "allowed", bounded: aws.Bool(true),
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:DescribeImages"}, ContextEntries: blue},
		},
		{
			reason: "a boundary that denies", inline: onlyDescribe, want: "explicitDeny", bounded: aws.Bool(false),
			boundary: `{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}`,
			in:       iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:DescribeImages"}},
		},
		{
			reason: "a boundary gives nothing", boundary: onlyDescribe, want: "implicitDeny", bounded: aws.Bool(true),
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:DescribeImages"}},
		},
		{
			reason: "a role without policies may do nothing", want: "implicitDeny",
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:DescribeImages"}},
		},
		{
			reason: "an administrator's role", attached: []string{"arn:aws:iam::aws:policy/AdministratorAccess"}, want: "allowed",
			in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:DeleteLaunchTemplate"}, ResourceArns: []string{template}},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			s := withRole(t, row.inline, row.boundary, row.attached...)
			row.in.PolicySourceArn = aws.String(simulatedRole)
			out, err := s.client.SimulatePrincipalPolicy(t.Context(), &row.in)
			if err != nil {
				t.Fatal(err)
			}
			want := types.EvaluationResult{EvalActionName: &row.in.ActionNames[0], EvalResourceName: aws.String("*"), EvalDecision: row.want}
			if row.bounded != nil {
				want.PermissionsBoundaryDecisionDetail = &types.PermissionsBoundaryDecisionDetail{AllowedByPermissionsBoundary: *row.bounded}
			}
			if len(row.in.ResourceArns) > 0 {
				want.EvalResourceName = &row.in.ResourceArns[0]
				want.ResourceSpecificResults = []types.ResourceSpecificResult{{
					EvalResourceName: want.EvalResourceName, EvalResourceDecision: row.want, MissingContextValues: row.missing,
					PermissionsBoundaryDecisionDetail: want.PermissionsBoundaryDecisionDetail,
				}}
			} else {
				want.MissingContextValues = row.missing
			}
			ignored := cmpopts.IgnoreUnexported(types.EvaluationResult{}, types.ResourceSpecificResult{}, types.PermissionsBoundaryDecisionDetail{})
			if diff := cmp.Diff([]types.EvaluationResult{want}, out.EvaluationResults, ignored, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSimulationsAreRefused holds what AWS refuses, and what is not simulated.
func TestSimulationsAreRefused(t *testing.T) {
	t.Parallel()
	images := []string{"ec2:DescribeImages"}
	for _, row := range []struct {
		reason   string
		attached []string
		in       iam.SimulatePrincipalPolicyInput
		want     string
	}{
		{reason: "a session instead of its role", in: iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String("arn:aws:sts::111122223333:assumed-role/x/session")}, want: "InvalidInput"},
		{reason: "a policy", in: iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String("arn:aws:iam::111122223333:policy/x")}, want: "InvalidInput"},
		{reason: "no ARN", in: iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String("the role of the pipeline")}, want: "ValidationError"},
		{reason: "a role without its path", in: iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String("arn:aws:iam::111122223333:role/x")}, want: "NoSuchEntity"},
		{reason: "a user that does not exist", in: iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String("arn:aws:iam::111122223333:user/x")}, want: "NoSuchEntity"},
		{reason: "a group that does not exist", in: iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String("arn:aws:iam::111122223333:group/x")}, want: "NoSuchEntity"},
		{reason: "a wildcard in an action", in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"ec2:Describe*"}}, want: "InvalidInput"},
		{reason: "an action without its service", in: iam.SimulatePrincipalPolicyInput{ActionNames: []string{"DescribeImages"}}, want: "InvalidInput"},
		{reason: "a resource by its name", in: iam.SimulatePrincipalPolicyInput{ResourceArns: []string{"lt-1"}}, want: "InvalidInput"},
		{reason: "no pages", in: iam.SimulatePrincipalPolicyInput{MaxItems: aws.Int32(0)}, want: "ValidationError"},
		{reason: "two resources", in: iam.SimulatePrincipalPolicyInput{ResourceArns: []string{template, template + "2"}}, want: "NotImplemented"},
		{reason: "further policies", in: iam.SimulatePrincipalPolicyInput{PolicyInputList: []string{onlyDescribe}}, want: "NotImplemented"},
		{reason: "another boundary", in: iam.SimulatePrincipalPolicyInput{PermissionsBoundaryPolicyInputList: []string{onlyDescribe}}, want: "NotImplemented"},
		{reason: "a policy of the resource", in: iam.SimulatePrincipalPolicyInput{ResourcePolicy: aws.String(onlyDescribe)}, want: "NotImplemented"},
		{reason: "an owner", in: iam.SimulatePrincipalPolicyInput{ResourceOwner: aws.String("111122223333")}, want: "NotImplemented"},
		{reason: "another caller", in: iam.SimulatePrincipalPolicyInput{CallerArn: aws.String("arn:aws:iam::111122223333:user/x")}, want: "NotImplemented"},
		{reason: "a scenario", in: iam.SimulatePrincipalPolicyInput{ResourceHandlingOption: aws.String("EC2-VPC-EBS")}, want: "NotImplemented"},
		{
			reason: "policies left out", want: "ValidationError",
			in: iam.SimulatePrincipalPolicyInput{PolicyExclusionList: []types.PolicyIdentifier{&types.PolicyIdentifierMemberPolicyArn{Value: workerNode}}},
		},
		{reason: "a policy of AWS whose content is not known", attached: []string{workerNode}, want: "NotImplemented"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			s := withRole(t, "", "", row.attached...)
			if row.in.PolicySourceArn == nil {
				row.in.PolicySourceArn = aws.String(simulatedRole)
			}
			if row.in.ActionNames == nil {
				row.in.ActionNames = images
			}
			if _, err := s.client.SimulatePrincipalPolicy(t.Context(), &row.in); codeOf(err) != row.want {
				t.Errorf("the error is %v, want %s", err, row.want)
			}
		})
	}
}

// TestCallersSimulateThemselves needs the permission to simulate, on the user.
func TestCallersSimulateThemselves(t *testing.T) {
	t.Parallel()
	const user = "arn:aws:iam::111122223333:user/" + limited
	s := start(t)
	simulate := func() (*iam.SimulatePrincipalPolicyOutput, error) {
		return s.client.SimulatePrincipalPolicy(t.Context(), &iam.SimulatePrincipalPolicyInput{
			PolicySourceArn: aws.String(user), ActionNames: []string{"ec2:DescribeImages", "ec2:RunInstances"}, MaxItems: aws.Int32(1),
		}, func(o *iam.Options) { o.Credentials = credentials.NewStaticCredentialsProvider(limited, "secret", "") })
	}
	out, err := simulate()
	if err != nil || len(out.EvaluationResults) != 1 || out.EvaluationResults[0].EvalDecision != "allowed" || !out.IsTruncated || out.Marker == nil {
		t.Errorf("an administrator's simulation is %+v, %v", out, err)
	}
	if err := s.SetPolicies(limited, onlyDescribe); err != nil {
		t.Fatal(err)
	}
	if _, err := simulate(); codeOf(err) != "AccessDenied" {
		t.Errorf("without the permission: %v", err)
	}
	if err := s.SetPolicies(limited, `{"Statement":{"Effect":"Allow","Action":"iam:SimulatePrincipalPolicy","Resource":"`+user+`"}}`); err != nil {
		t.Fatal(err)
	}
	if out, err = simulate(); err != nil || len(out.EvaluationResults) != 1 || out.EvaluationResults[0].EvalDecision != "implicitDeny" {
		t.Errorf("with the permission to simulate alone: %+v, %v", out, err)
	}
}
