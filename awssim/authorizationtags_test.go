package awssim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// TestTagsDecide holds that conditions see the tags of existing resources, and the tags of a
// request.
func TestTagsDecide(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	must[*iam.CreateRoleOutput](t)(iam.NewFromConfig(w.config(key)).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("ours"), Tags: iamTags("team", "blue"),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`),
	}))
	if err := w.createGroup(t.Context(), w.config(key), "pool"); err != nil {
		t.Fatal(err)
	}
	if err := w.createNodegroup(t.Context(), w.config(key), "pool"); err != nil {
		t.Fatal(err)
	}
	config := w.config(limited)
	calls := map[string]func(context.Context) error{
		"a template": func(ctx context.Context) error {
			_, err := ec2.NewFromConfig(config).ModifyLaunchTemplate(ctx, &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &w.template, DefaultVersion: aws.String("1")})
			return err
		},
		"a group": func(ctx context.Context) error {
			_, err := autoscaling.NewFromConfig(config).SuspendProcesses(ctx, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: aws.String("pool"), ScalingProcesses: []string{"AZRebalance"}})
			return err
		},
		"a node group": func(ctx context.Context) error {
			_, err := eks.NewFromConfig(config).DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: aws.String("blue"), NodegroupName: aws.String("pool")})
			return err
		},
		"a role": func(ctx context.Context) error {
			_, err := iam.NewFromConfig(config).UntagRole(ctx, &iam.UntagRoleInput{RoleName: aws.String("ours"), TagKeys: []string{"other"}})
			return err
		},
	}
	for team, allowed := range map[string]bool{"blue": true, "red": false} {
		policy := `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/team":"` + team + `"}}}}`
		if err := w.SetPolicies(limited, policy); err != nil {
			t.Fatal(err)
		}
		for what, call := range calls {
			if err := call(t.Context()); (err == nil) != allowed {
				t.Errorf("%s of team blue, for who may change those of team %s: %v", what, team, err)
			}
		}
	}
	if err := w.SetPolicies(limited, `{"Statement":{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*","Condition":{"Null":{"aws:RequestTag/owner":"false"},"ForAllValues:StringEquals":{"aws:TagKeys":["owner"]}}}}`); err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]string{"owner": "", "owner,other": "UnauthorizedOperation", "other": "UnauthorizedOperation"} {
		var tags []types.Tag
		for _, key := range strings.Split(keys, ",") {
			tags = append(tags, types.Tag{Key: &key, Value: aws.String("x")})
		}
		if _, err := ec2.NewFromConfig(config).CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{w.template}, Tags: tags}); code(err) != want {
			t.Errorf("setting tags %s answers %v, want %q", keys, err, want)
		}
	}
}

// TestObjectsWithoutPermission holds what S3 answers about single objects.
func TestObjectsWithoutPermission(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	client := s3.NewFromConfig(w.config(limited), pathStyle)
	for _, row := range []struct{ reason, policy, code string }{
		{"who may list is told that it is not there", allowing("s3:GetObject", "s3:ListBucket"), "NotFound"},
		{"who may not learns nothing", allowing("s3:GetObject"), "Forbidden"},
	} {
		if err := w.SetPolicies(limited, row.policy); err != nil {
			t.Fatal(err)
		}
		if _, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("missing")}); code(err) != row.code {
			t.Errorf("%s: the answer is %v, want %s", row.reason, err, row.code)
		}
	}
	if err := w.SetPolicies(limited, `{"Statement":{"Effect":"Allow","Action":"s3:DeleteObject","Resource":"arn:aws:s3:::`+bucket+`/mine/*"}}`); err != nil {
		t.Fatal(err)
	}
	deleted := must[*s3.DeleteObjectsOutput](t)(client.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{
		Bucket: aws.String(bucket), Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("mine/a")}, {Key: aws.String("theirs/a")}}},
	}))
	if len(deleted.Deleted) != 1 || len(deleted.Errors) != 1 || *deleted.Errors[0].Code != "AccessDenied" || *deleted.Errors[0].Key != "theirs/a" {
		t.Errorf("deleted are %+v, errors are %+v", deleted.Deleted, deleted.Errors)
	}
}

// TestDefaultVersionsDecide holds a session to the default version of its role's policy, whichever is newest.
func TestDefaultVersionsDecide(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	admin, role := iam.NewFromConfig(w.config(key)), operators
	session := must[*sts.AssumeRoleOutput](t)(sts.NewFromConfig(w.config(key)).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::" + account + ":role/" + role), RoleSessionName: aws.String("session"),
	})).Credentials
	config := w.config(key)
	config.Credentials = credentials.NewStaticCredentialsProvider(*session.AccessKeyId, *session.SecretAccessKey, *session.SessionToken)
	arn := must[*iam.CreatePolicyOutput](t)(admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String("images"), PolicyDocument: aws.String(allowing("s3:*"))})).Policy.Arn
	must[*iam.AttachRolePolicyOutput](t)(admin.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: &role, PolicyArn: arn}))
	steps := []struct {
		reason string
		do     func()
		want   string
	}{
		{"the first version does not allow it", func() {}, "UnauthorizedOperation"},
		{"a version that is not the default changes nothing", func() {
			must[*iam.CreatePolicyVersionOutput](t)(admin.CreatePolicyVersion(t.Context(), &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: aws.String(allowing("ec2:*"))}))
		}, "UnauthorizedOperation"},
		{"it becomes the default", func() {
			must[*iam.SetDefaultPolicyVersionOutput](t)(admin.SetDefaultPolicyVersion(t.Context(), &iam.SetDefaultPolicyVersionInput{PolicyArn: arn, VersionId: aws.String("v2")}))
		}, ""},
		{"a new default version does not allow it", func() {
			must[*iam.CreatePolicyVersionOutput](t)(admin.CreatePolicyVersion(t.Context(), &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: aws.String(allowing("s3:*")), SetAsDefault: true}))
		}, "UnauthorizedOperation"},
	}
	for _, step := range steps {
		step.do()
		if _, err := ec2.NewFromConfig(config).DescribeImages(t.Context(), &ec2.DescribeImagesInput{}); code(err) != step.want {
			t.Errorf("%s: %v, want %q", step.reason, err, step.want)
		}
	}
}
