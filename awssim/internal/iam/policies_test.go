package iam_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	slipwayaws "github.com/slipway-project/slipway/internal/aws"
)

const (
	trust      = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	workerNode = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
)

// simulated is a simulated AWS that runs.
type simulated struct {
	*awssim.Simulator
	clock  *simclock.Clock
	client *iam.Client
}

// limited is an access key that a test holds to policies.
const limited = "AKIALIMITED111122223333"

func start(t *testing.T) simulated {
	t.Helper()
	clock := simclock.New(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), 0)
	t.Cleanup(clock.Close)
	s := awssim.New(awssim.Options{Clock: clock})
	url, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return simulated{s, clock, iam.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("AKIATEST111122223333", "secret", ""),
		Retryer:    func() aws.Retryer { return aws.NopRetryer{} },
		APIOptions: []func(*middleware.Stack) error{slipwayaws.SendBodies},
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})}
}

func client(t *testing.T) *iam.Client {
	t.Helper()
	return start(t).client
}

func codeOf(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	default:
		return "?" + err.Error()
	}
}

// TestRoleWithPolicies walks through a role's life as a pool's controller leads it: created with a
// boundary and tags, policies attached, changed, and all removed.
func TestRoleWithPolicies(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	boundary, err := c.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("boundary"), Path: aws.String("/teams/"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`)})
	if err != nil {
		t.Fatal(err)
	}
	name := aws.String("nodes")
	created, err := c.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: name, AssumeRolePolicyDocument: aws.String(trust), Path: aws.String("/pools/"), PermissionsBoundary: boundary.Policy.Arn,
		Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	})
	if err != nil || *created.Role.Arn != "arn:aws:iam::111122223333:role/pools/nodes" || *created.Role.PermissionsBoundary.PermissionsBoundaryArn != *boundary.Policy.Arn {
		t.Fatalf("created %+v, %v", created, err)
	}
	steps := []struct {
		reason string
		do     func() error
		want   string
	}{
		{"AWS's own policy", func() error {
			_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: aws.String(workerNode)})
			return err
		}, ""},
		{"once more changes nothing", func() error {
			_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: aws.String(workerNode)})
			return err
		}, ""},
		{"a policy that does not exist", func() error {
			_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: aws.String("arn:aws:iam::aws:policy/Missing")})
			return err
		}, "NoSuchEntity"},
		{"what is no ARN", func() error {
			_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: aws.String("AmazonEKSWorkerNodePolicy")})
			return err
		}, "ValidationError"},
		{"a role that does not exist", func() error {
			_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("missing"), PolicyArn: aws.String(workerNode)})
			return err
		}, "NoSuchEntity"},
		{"AWS's own role", func() error {
			_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("AWSServiceRoleForAutoScaling"), PolicyArn: aws.String(workerNode)})
			return err
		}, "UnmodifiableEntity"},
		{"a role with policies stays", func() error {
			_, err := c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name})
			return err
		}, "DeleteConflict"},
		{"a boundary in use stays", func() error {
			_, err := c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: boundary.Policy.Arn})
			return err
		}, "DeleteConflict"},
		{"AWS's policies stay", func() error {
			_, err := c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: aws.String(workerNode)})
			return err
		}, "AccessDenied"},
		{"a boundary that does not exist", func() error {
			_, err := c.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: name, PermissionsBoundary: aws.String("arn:aws:iam::111122223333:policy/x")})
			return err
		}, "NoSuchEntity"},
		{"tags", func() error {
			_, err := c.TagRole(ctx, &iam.TagRoleInput{RoleName: name, Tags: []types.Tag{{Key: aws.String("b"), Value: aws.String("2")}}})
			return err
		}, ""},
		{"a description", func() error {
			out, err := c.UpdateRoleDescription(ctx, &iam.UpdateRoleDescriptionInput{RoleName: name, Description: aws.String("of nodes")})
			if err == nil && aws.ToString(out.Role.Description) != "of nodes" {
				t.Errorf("the role is %+v", out.Role)
			}
			return err
		}, ""},
		{"the description of AWS's own role", func() error {
			_, err := c.UpdateRoleDescription(ctx, &iam.UpdateRoleDescriptionInput{RoleName: aws.String("AWSServiceRoleForAutoScaling"), Description: aws.String("mine")})
			return err
		}, "UnmodifiableEntity"},
		{"fewer tags", func() error {
			_, err := c.UntagRole(ctx, &iam.UntagRoleInput{RoleName: name, TagKeys: []string{"a"}})
			return err
		}, ""},
	}
	for _, step := range steps {
		if got := codeOf(step.do()); got != step.want {
			t.Errorf("%s: %q, want %q", step.reason, got, step.want)
		}
	}
	if role, err := c.GetRole(ctx, &iam.GetRoleInput{RoleName: name}); err != nil || aws.ToString(role.Role.Description) != "of nodes" {
		t.Errorf("the role is %+v, %v", role, err)
	}
	attached, err := c.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: name})
	if err != nil || len(attached.AttachedPolicies) != 1 || *attached.AttachedPolicies[0].PolicyName != "AmazonEKSWorkerNodePolicy" {
		t.Errorf("attached are %+v, %v", attached, err)
	}
	tags, err := c.ListRoleTags(ctx, &iam.ListRoleTagsInput{RoleName: name})
	if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Key != "b" {
		t.Errorf("the tags are %+v, %v", tags, err)
	}
	detach := &iam.DetachRolePolicyInput{RoleName: name, PolicyArn: aws.String(workerNode)}
	if _, err := c.DetachRolePolicy(ctx, detach); err != nil {
		t.Error(err)
	}
	if _, err := c.DetachRolePolicy(ctx, detach); codeOf(err) != "NoSuchEntity" {
		t.Errorf("detaching once more gives %v", err)
	}
	if _, err := c.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: name}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: boundary.Policy.Arn}); err != nil {
		t.Error(err)
	}
}

func TestPoliciesPerRoleAreBounded(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	if _, err := c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String(trust)}); err != nil {
		t.Fatal(err)
	}
	for i := range 11 {
		p, err := c.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("p" + strconv.Itoa(i)), PolicyDocument: aws.String(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("r"), PolicyArn: p.Policy.Arn})
		if want := map[bool]string{true: "LimitExceeded"}[i == 10]; codeOf(err) != want {
			t.Errorf("policy %d: %v, want %q", i, err, want)
		}
	}
}
