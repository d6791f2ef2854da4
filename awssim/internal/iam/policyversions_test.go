package iam_test

import (
	"errors"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

func documentOf(action string) *string {
	return aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"` + action + `","Resource":"*"}}`)
}

// versionsOf returns the identifiers of the versions as they are listed; the default one has a star.
func versionsOf(t *testing.T, c *iam.Client, arn *string) []string {
	t.Helper()
	listed, err := c.ListPolicyVersions(t.Context(), &iam.ListPolicyVersionsInput{PolicyArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, v := range listed.Versions {
		if v.Document != nil || v.CreateDate == nil {
			t.Errorf("listed %+v", v)
		}
		ids = append(ids, *v.VersionId+map[bool]string{true: "*"}[v.IsDefaultVersion])
	}
	return ids
}

// TestPolicyVersions leads a policy as Terraform does, to the last version that there may be and back.
func TestPolicyVersions(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	created, err := c.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("p"), Description: aws.String("of nodes"), PolicyDocument: documentOf("s3:One")})
	if err != nil {
		t.Fatal(err)
	}
	arn := created.Policy.Arn
	create := func(action string, isDefault bool) func() error {
		return func() error {
			_, err := c.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: documentOf(action), SetAsDefault: isDefault})
			return err
		}
	}
	remove := func(id string) func() error {
		return func() error {
			_, err := c.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: arn, VersionId: &id})
			return err
		}
	}
	setDefault := func(id string) func() error {
		return func() error {
			_, err := c.SetDefaultPolicyVersion(ctx, &iam.SetDefaultPolicyVersionInput{PolicyArn: arn, VersionId: &id})
			return err
		}
	}
	const full = "A managed policy can have up to 5 versions. Before you create a new version, you must delete an existing version."
	const versions = "This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy."
	steps := []struct {
		reason string
		do     func() error
		code   string
		says   string
		want   []string
	}{
		{"a version that is not the default", create("s3:Two", false), "", "", []string{"v2", "v1*"}},
		{"a version that is", create("s3:Three", true), "", "", []string{"v3*", "v2", "v1"}},
		{"the default cannot be deleted", remove("v3"), "DeleteConflict", "Cannot delete the default version of a policy.", []string{"v3*", "v2", "v1"}},
		{"another can", remove("v1"), "", "", []string{"v3*", "v2"}},
		{"a version that is gone", remove("v1"), "NoSuchEntity", "Policy " + *arn + " version v1 does not exist or is not attachable.", []string{"v3*", "v2"}},
		{"making it the default", setDefault("v1"), "NoSuchEntity", "Policy " + *arn + " version v1 does not exist or is not attachable.", []string{"v3*", "v2"}},
		{"the older one becomes the default", setDefault("v2"), "", "", []string{"v3", "v2*"}},
		{"the newest is deleted", remove("v3"), "", "", []string{"v2*"}},
		{"its identifier is not used again", create("s3:Four", false), "", "", []string{"v4", "v2*"}},
		{"not JSON", func() error {
			_, err := c.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: aws.String("{")})
			return err
		}, "MalformedPolicyDocument", "Syntax errors in policy.", []string{"v4", "v2*"}},
		{"the third", create("s3:Five", false), "", "", []string{"v5", "v4", "v2*"}},
		{"the fourth", create("s3:Six", false), "", "", []string{"v6", "v5", "v4", "v2*"}},
		{"the fifth", create("s3:Seven", false), "", "", []string{"v7", "v6", "v5", "v4", "v2*"}},
		{"the sixth is one too many", create("s3:Eight", false), "LimitExceeded", full, []string{"v7", "v6", "v5", "v4", "v2*"}},
		{"a policy with versions stays", func() error {
			_, err := c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn})
			return err
		}, "DeleteConflict", versions, []string{"v7", "v6", "v5", "v4", "v2*"}},
		{"AWS's policies get no versions", func() error {
			_, err := c.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: aws.String(workerNode), PolicyDocument: documentOf("s3:Two")})
			return err
		}, "AccessDenied", "", []string{"v7", "v6", "v5", "v4", "v2*"}},
	}
	for _, step := range steps {
		err := step.do()
		var api smithy.APIError
		if codeOf(err) != step.code || step.says != "" && (!errors.As(err, &api) || api.ErrorMessage() != step.says) {
			t.Errorf("%s: %v, want %q %q", step.reason, err, step.code, step.says)
		}
		if diff := cmp.Diff(step.want, versionsOf(t, c, arn)); diff != "" {
			t.Errorf("%s: the versions differ (-want +got):\n%s", step.reason, diff)
		}
	}
	got, err := c.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: arn, VersionId: aws.String("v2")})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := url.PathUnescape(*got.PolicyVersion.Document); err != nil || text != *documentOf("s3:Two") || !got.PolicyVersion.IsDefaultVersion {
		t.Errorf("the default version is %+v, %s, %v", got.PolicyVersion, text, err)
	}
	policy, err := c.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: arn})
	if err != nil || *policy.Policy.DefaultVersionId != "v2" || aws.ToString(policy.Policy.Description) != "of nodes" || created.Policy.Description != nil {
		t.Errorf("the policy is %+v, %v; created %+v", policy, err, created.Policy)
	}
	for _, id := range []string{"v4", "v5", "v6", "v7"} {
		if err := remove(id)(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}); err != nil {
		t.Error(err)
	}
	if _, err := c.ListPolicyVersions(ctx, &iam.ListPolicyVersionsInput{PolicyArn: arn}); codeOf(err) != "NoSuchEntity" {
		t.Errorf("the deleted policy's versions: %v", err)
	}
}

// TestUpdateDateIsThatOfTheNewestVersion covers API_Policy's UpdateDate.
func TestUpdateDateIsThatOfTheNewestVersion(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, ctx := s.client, t.Context()
	created, err := c.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("p"), PolicyDocument: documentOf("s3:One")})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Step(time.Hour)
	if _, err := c.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: created.Policy.Arn, PolicyDocument: documentOf("s3:Two")}); err != nil {
		t.Fatal(err)
	}
	s.clock.Step(time.Hour)
	got, err := c.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: created.Policy.Arn})
	if err != nil {
		t.Fatal(err)
	}
	if age := got.Policy.UpdateDate.Sub(*got.Policy.CreateDate); age != time.Hour {
		t.Errorf("the policy was updated %v after its creation", age)
	}
}

// TestPoliciesAreListedByUse lists policies and who uses them.
func TestPoliciesAreListedByUse(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	arns := map[string]*string{"worker": aws.String(workerNode)}
	for _, name := range []string{"attached", "boundary", "unused"} {
		p, err := c.CreatePolicy(ctx, &iam.CreatePolicyInput{
			PolicyName: &name, Path: aws.String("/teams/"), PolicyDocument: documentOf("s3:One"), Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		arns[name] = p.Policy.Arn
	}
	if _, err := c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("r"), Path: aws.String("/pools/"), AssumeRolePolicyDocument: aws.String(trust), PermissionsBoundary: arns["boundary"]}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("r"), PolicyArn: arns["attached"]}); err != nil {
		t.Fatal(err)
	}
	const asPolicy, asBoundary = types.PolicyUsageTypePermissionsPolicy, types.PolicyUsageTypePermissionsBoundary
	for _, row := range []struct {
		reason string
		in     iam.ListPoliciesInput
		want   []string
	}{
		{"the account's own", iam.ListPoliciesInput{Scope: types.PolicyScopeTypeLocal}, []string{"attached", "boundary", "unused"}},
		{"those in use", iam.ListPoliciesInput{Scope: types.PolicyScopeTypeLocal, OnlyAttached: true}, []string{"attached", "boundary"}},
		{"those attached", iam.ListPoliciesInput{Scope: types.PolicyScopeTypeLocal, PolicyUsageFilter: asPolicy}, []string{"attached"}},
		{"permissions boundaries", iam.ListPoliciesInput{PolicyUsageFilter: asBoundary}, []string{"boundary"}},
		{"a path, in either scope", iam.ListPoliciesInput{PathPrefix: aws.String("/teams/")}, []string{"attached", "boundary", "unused"}},
		{"AWS's on a path", iam.ListPoliciesInput{Scope: types.PolicyScopeTypeAws, PathPrefix: aws.String("/service-role/")}, []string{"AmazonEBSCSIDriverPolicy", "AmazonEC2RoleforSSM", "AmazonEFSCSIDriverPolicy"}},
	} {
		out, err := c.ListPolicies(ctx, &row.in)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, p := range out.Policies {
			if names = append(names, *p.PolicyName); len(p.Tags) > 0 {
				t.Errorf("%s: listed %s with tags", row.reason, *p.PolicyName)
			}
		}
		if diff := cmp.Diff(row.want, names); diff != "" {
			t.Errorf("%s: the policies differ (-want +got):\n%s", row.reason, diff)
		}
	}
	for _, row := range []struct {
		reason, policy string
		in             iam.ListEntitiesForPolicyInput
		want           int
	}{
		{"attached", "attached", iam.ListEntitiesForPolicyInput{}, 1},
		{"a boundary", "boundary", iam.ListEntitiesForPolicyInput{EntityFilter: types.EntityTypeRole, PathPrefix: aws.String("/pools/")}, 1},
		{"used in another way", "boundary", iam.ListEntitiesForPolicyInput{PolicyUsageFilter: asPolicy}, 0},
		{"no user has it", "attached", iam.ListEntitiesForPolicyInput{EntityFilter: types.EntityTypeUser}, 0},
		{"no role on that path", "attached", iam.ListEntitiesForPolicyInput{PathPrefix: aws.String("/teams/")}, 0},
		{"unused", "unused", iam.ListEntitiesForPolicyInput{}, 0},
	} {
		row.in.PolicyArn = arns[row.policy]
		out, err := c.ListEntitiesForPolicy(ctx, &row.in)
		if err != nil || len(out.PolicyRoles) != row.want || row.want == 1 && *out.PolicyRoles[0].RoleName != "r" {
			t.Errorf("%s: %+v, %v, want %d roles", row.reason, out, err, row.want)
		}
	}
}

func TestPolicyTags(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	created, err := c.CreatePolicy(ctx, &iam.CreatePolicyInput{
		PolicyName: aws.String("p"), PolicyDocument: documentOf("s3:One"), Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	arn := created.Policy.Arn
	many := []types.Tag{}
	for i := range 50 {
		many = append(many, types.Tag{Key: aws.String(strconv.Itoa(i)), Value: aws.String("")})
	}
	tag := func(arn *string, tags ...types.Tag) error {
		_, err := c.TagPolicy(ctx, &iam.TagPolicyInput{PolicyArn: arn, Tags: tags})
		return err
	}
	b := types.Tag{Key: aws.String("b"), Value: aws.String("2")}
	for _, row := range []struct {
		reason string
		err    error
		want   string
	}{
		{"one more", tag(arn, b), ""},
		{"too many", tag(arn, many...), "LimitExceeded"},
		{"AWS's policy", tag(aws.String(workerNode), b), "AccessDenied"},
		{"no such policy", tag(aws.String(*arn+"x"), b), "NoSuchEntity"},
	} {
		if codeOf(row.err) != row.want {
			t.Errorf("%s: %v, want %q", row.reason, row.err, row.want)
		}
	}
	if _, err := c.UntagPolicy(ctx, &iam.UntagPolicyInput{PolicyArn: arn, TagKeys: []string{"a", "none"}}); err != nil {
		t.Error(err)
	}
	tags, err := c.ListPolicyTags(ctx, &iam.ListPolicyTagsInput{PolicyArn: arn})
	if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Key != "b" || *tags.Tags[0].Value != "2" {
		t.Errorf("the tags are %+v, %v", tags, err)
	}
}
