package noderole_test

import (
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/noderole"
)

const (
	account = "123456789012"
	owner   = "default/blue/pool"
	wide    = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
)

// Access keys of Slipway and of another client in the account.
const (
	slipwaysKey = "AKID" + account
	anothersKey = "AKIDOTHER" + account
)

// newRoles returns the roles of a simulated account, and another client of the account. The
// policies, if any, restrict Slipway.
func newRoles(t *testing.T, policies ...string) (*noderole.Roles, *iam.Client) {
	t.Helper()
	simulated, clock, url := awssimtest.Start(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), awssim.Options{})
	if err := simulated.SetPolicies(slipwaysKey, policies...); err != nil {
		t.Fatal(err)
	}
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	config.Credentials = credentials.NewStaticCredentialsProvider(slipwaysKey, "secret", "")
	clients, err := aws.NewSessions(config, aws.WithClock(clock), aws.WithLimits(nil)).For(t.Context(), aws.Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	config.Credentials = credentials.NewStaticCredentialsProvider(anothersKey, "secret", "")
	return noderole.NewRoles(clients.IAM), iam.NewFromConfig(config)
}

// TestRoleIsOwnedFirst adopts a role of CAPA, which has no tag of Slipway, under a policy that
// denies changes to roles without this tag.
func TestRoleIsOwnedFirst(t *testing.T) {
	t.Parallel()
	roles, other := newRoles(t, `{"Statement":[
		{"Effect":"Allow","Action":["iam:GetRole","iam:ListAttachedRolePolicies","iam:TagRole"],"Resource":"*"},
		{"Effect":"Allow","Action":"iam:*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/`+infrav1.TagManagedMachinePool+`":"`+owner+`"}}}
	]}`)
	desired := wanted(nil)
	if _, err := other.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &desired.Name, Path: &desired.Path,
		AssumeRolePolicyDocument: awssdk.String(`{"Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`),
	}); err != nil {
		t.Fatal(err)
	}
	if role := ensured(t, roles, desired); !role.OwnedBy(owner) || len(role.Policies) != len(noderole.NodePolicies("aws")) {
		t.Errorf("the role is %+v", role)
	}
}

func wanted(change func(*noderole.Desired)) noderole.Desired {
	desired := noderole.Desired{
		Name: "blue-pool", Owner: owner, Path: "/nodes/", Partition: "aws", Tags: map[string]string{infrav1.TagManagedMachinePool: owner, "team": "a"},
	}
	if change != nil {
		change(&desired)
	}
	return desired
}

// ensured is the role after it was made as desired.
func ensured(t *testing.T, roles *noderole.Roles, desired noderole.Desired) *noderole.Role {
	t.Helper()
	role, err := roles.Get(t.Context(), desired.Name)
	if err == nil && role == nil {
		role, err = roles.Create(t.Context(), desired)
	}
	if err != nil {
		t.Fatal(err)
	}
	changes, applied := desired.Changes(*role), desired.Applied(*role)
	done, err := roles.Ensure(t.Context(), desired, *role)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(changes, done); diff != "" {
		t.Errorf("what was changed is not what was to be changed (-want +got):\n%s", diff)
	}
	if role, err = roles.Get(t.Context(), desired.Name); err != nil || role == nil {
		t.Fatalf("the role is %v, %v", role, err)
	}
	if diff := cmp.Diff(applied, *role); diff != "" {
		t.Errorf("the role is not as it was expected to be (-want +got):\n%s", diff)
	}
	desired.RetiredTags, desired.RetiredPolicies = nil, nil
	done, err = roles.Ensure(t.Context(), desired, *role)
	if err != nil || len(done) > 0 {
		t.Errorf("a second time it took %q, %v", done, err)
	}
	return role
}

// TestRole holds a role's life: made, changed with what others gave it left alone, and deleted.
func TestRole(t *testing.T) {
	t.Parallel()
	roles, others := newRoles(t)
	role := ensured(t, roles, wanted(nil))
	if diff := cmp.Diff(slices.Sorted(slices.Values(noderole.NodePolicies("aws"))), role.Policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if role.Path != "/nodes/" || !role.OwnedBy(owner) || noderole.NameOf(role.ARN) != "blue-pool" {
		t.Errorf("the role is %+v", role)
	}

	policy := func(name string) string {
		out, err := others.CreatePolicy(t.Context(), &iam.CreatePolicyInput{
			PolicyName: &name, PolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":[]}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Policy.Arn
	}
	ours, foreign, bound := policy("ours"), policy("foreign"), policy("boundary")
	if _, err := others.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: &role.Name, PolicyArn: &foreign}); err != nil {
		t.Fatal(err)
	}
	role = ensured(t, roles, wanted(func(d *noderole.Desired) {
		d.Policies, d.Boundary = []string{ours}, bound
		d.Tags = map[string]string{infrav1.TagManagedMachinePool: owner}
		d.RetiredTags = []string{"team"}
	}))
	if !slices.Contains(role.Policies, ours) || !slices.Contains(role.Policies, foreign) || role.Boundary != bound || role.Tags["team"] != "" {
		t.Errorf("the role is %+v", role)
	}
	role = ensured(t, roles, wanted(func(d *noderole.Desired) { d.RetiredPolicies = []string{ours, wide} }))
	if slices.Contains(role.Policies, ours) || !slices.Contains(role.Policies, foreign) || !slices.Contains(role.Policies, wide) || role.Boundary != "" {
		t.Errorf("the role is %+v", role)
	}

	if err := roles.Delete(t.Context(), *role); err != nil {
		t.Fatal(err)
	}
	if left, err := roles.Get(t.Context(), role.Name); err != nil || left != nil {
		t.Errorf("the role is %v, %v", left, err)
	}
	if err := roles.Delete(t.Context(), *role); err != nil {
		t.Errorf("a role that is gone: %v", err)
	}
}

// TestBoundaryComesFirst gives a role that exists a boundary and a policy, by IAM policies that
// allow policies to be attached to bounded roles alone.
func TestBoundaryComesFirst(t *testing.T) {
	t.Parallel()
	const bound = "arn:aws:iam::aws:policy/ReadOnlyAccess"
	roles, other := newRoles(t, `{"Statement":[
		{"Effect":"Allow","Action":["iam:GetRole","iam:ListAttachedRolePolicies","iam:PutRolePermissionsBoundary"],"Resource":"*"},
		{"Effect":"Allow","Action":"iam:AttachRolePolicy","Resource":"*","Condition":{"StringEquals":{"iam:PermissionsBoundary":"`+bound+`"}}}
	]}`)
	desired := wanted(func(d *noderole.Desired) { d.Boundary = bound })
	var tags []iamtypes.Tag
	for key, value := range desired.Tags {
		tags = append(tags, iamtypes.Tag{Key: &key, Value: &value})
	}
	if _, err := other.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &desired.Name, Path: &desired.Path, Tags: tags,
		AssumeRolePolicyDocument: awssdk.String(`{"Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`),
	}); err != nil {
		t.Fatal(err)
	}
	if role := ensured(t, roles, desired); role.Boundary != bound || len(role.Policies) != len(noderole.NodePolicies("aws")) {
		t.Errorf("the role is %+v", role)
	}
}
