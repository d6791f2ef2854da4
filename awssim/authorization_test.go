package awssim_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/world"
)

// limited is an access key of the account that is held to policies.
const limited = "AKIALIMITED" + account

// allowing is a policy that allows actions on everything.
func allowing(actions ...string) string {
	text, _ := json.Marshal(actions) // strings always marshal
	return `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":` + string(text) + `,"Resource":"*"}}`
}

// workplace is an account with something of each kind, by names and ids.
type workplace struct {
	*endpoint
	template string
	image    string
}

// launchConfiguration is a launch configuration whose instances have a role.
func (w *workplace) launchConfiguration(name string) *autoscaling.CreateLaunchConfigurationInput {
	return &autoscaling.CreateLaunchConfigurationInput{
		LaunchConfigurationName: &name, ImageId: &w.image, InstanceType: aws.String("t3.large"),
		IamInstanceProfile: aws.String("nodes.cluster-api-provider-aws.sigs.k8s.io"),
	}
}

const (
	nodesRole = "eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"
	subnet    = "subnet-0b2000000000000aa"
	group     = "sg-0c1000000000000ab"
	bucket    = "data"
	operators = "operators" // all callers of the account that are allowed to may become it
)

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	accounts := *world.Default()
	accounts.Roles = slices.DeleteFunc(slices.Clone(accounts.Roles), func(role world.Role) bool { return strings.HasPrefix(role.Path, "/aws-service-role/") })
	accounts.Roles = append(accounts.Roles, world.Role{Name: operators})
	accounts.Regions = slices.Clone(accounts.Regions)
	accounts.Regions[0].Queues = []world.Queue{{Name: "events"}}
	accounts.Regions[0].Buckets = append(slices.Clone(accounts.Regions[0].Buckets), world.Bucket{Name: bucket})
	w := &workplace{endpoint: serve(t, awssim.Options{World: &accounts})}
	image := ""
	for _, candidate := range accounts.Regions[0].Images {
		if candidate.Architecture == "x86_64" && image == "" {
			image = candidate.ID
		}
	}
	made := must[*ec2.CreateLaunchTemplateOutput](t)(ec2.NewFromConfig(w.config(key)).CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("nodes"), TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("blue")}}}},
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: &image, InstanceType: types.InstanceTypeT3Large,
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes.cluster-api-provider-aws.sigs.k8s.io")},
			TagSpecifications:  []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}},
		},
	}))
	w.template, w.image = *made.LaunchTemplate.LaunchTemplateId, image
	if err := w.Region(account, region).SetCluster(awssim.Cluster{Name: "blue", Version: "1.34", Subnets: []string{subnet}}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *workplace) createGroup(ctx context.Context, config aws.Config, name string) error {
	_, err := autoscaling.NewFromConfig(config).CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: aws.Int32(0), MaxSize: aws.Int32(1), VPCZoneIdentifier: aws.String(subnet),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &w.template, Version: aws.String("1")},
		Tags:           []asgtypes.Tag{{Key: aws.String("team"), Value: aws.String("blue"), ResourceId: &name, ResourceType: aws.String("auto-scaling-group")}},
	})
	return err
}

// createFleet asks whether an instant fleet from the template could be launched, with the tag team
// on the fleet and its instances.
func (w *workplace) createFleet(ctx context.Context, config aws.Config, team string) error {
	tags := []types.Tag{{Key: aws.String("team"), Value: &team}}
	_, err := ec2.NewFromConfig(config).CreateFleet(ctx, &ec2.CreateFleetInput{
		DryRun: aws.Bool(true), Type: types.FleetTypeInstant,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateId: &w.template, Version: aws.String("$Latest")},
			Overrides:                   []types.FleetLaunchTemplateOverridesRequest{{SubnetId: aws.String(subnet)}},
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand},
		TagSpecifications:           []types.TagSpecification{{ResourceType: types.ResourceTypeFleet, Tags: tags}, {ResourceType: types.ResourceTypeInstance, Tags: tags}},
	})
	if code(err) == "DryRunOperation" {
		return nil
	}
	return err
}

func (w *workplace) createNodegroup(ctx context.Context, config aws.Config, name string) error {
	_, err := eks.NewFromConfig(config).CreateNodegroup(ctx, &eks.CreateNodegroupInput{
		ClusterName: aws.String("blue"), NodegroupName: &name, Subnets: []string{subnet}, NodeRole: aws.String("arn:aws:iam::" + account + ":role/" + nodesRole),
		Tags: map[string]string{"team": "blue"}, AmiType: ekstypes.AMITypesAl2023X8664Standard,
	})
	return err
}

// whatCallsNeed are calls, what each needs in the order in which it is asked for, and how it is refused.
var whatCallsNeed = []struct {
	reason string
	call   func(context.Context, *workplace, aws.Config) error
	needs  []string
	code   string
	status int
}{
	{"a describe", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := ec2.NewFromConfig(config).DescribeImages(ctx, &ec2.DescribeImagesInput{})
		return err
	}, []string{"ec2:DescribeImages"}, "UnauthorizedOperation", 403},
	{"a template with tags", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := ec2.NewFromConfig(config).CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: aws.String("tagged"), LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: types.InstanceTypeT3Large},
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}},
		})
		return err
	}, []string{"ec2:CreateLaunchTemplate", "ec2:CreateTags"}, "UnauthorizedOperation", 403},
	{"a dry run from a template", func(ctx context.Context, w *workplace, config aws.Config) error {
		_, err := ec2.NewFromConfig(config).RunInstances(ctx, &ec2.RunInstancesInput{
			DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(subnet), LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: &w.template},
		})
		if code(err) == "DryRunOperation" {
			return nil
		}
		return err
	}, []string{"ec2:RunInstances", "ec2:CreateTags", "iam:PassRole"}, "UnauthorizedOperation", 403},
	{"a fleet", func(ctx context.Context, w *workplace, config aws.Config) error {
		return w.createFleet(ctx, config, "blue")
	}, []string{"ec2:CreateFleet", "ec2:CreateTags", "ec2:RunInstances", "ec2:CreateTags", "iam:PassRole"}, "UnauthorizedOperation", 403},
	{"a group", func(ctx context.Context, w *workplace, config aws.Config) error {
		return w.createGroup(ctx, config, "pool")
	},
		[]string{"autoscaling:CreateAutoScalingGroup", "iam:CreateServiceLinkedRole", "ec2:RunInstances", "ec2:CreateTags", "iam:PassRole"}, "AccessDenied", 403},
	{"a launch configuration", func(ctx context.Context, w *workplace, config aws.Config) error {
		_, err := autoscaling.NewFromConfig(config).CreateLaunchConfiguration(ctx, w.launchConfiguration("pool"))
		return err
	}, []string{"autoscaling:CreateLaunchConfiguration", "iam:PassRole"}, "AccessDenied", 403},
	{"a group of an instance", func(ctx context.Context, w *workplace, config aws.Config) error {
		launched, err := ec2.NewFromConfig(w.config(key)).RunInstances(ctx, &ec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(subnet), LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: &w.template},
		})
		if err != nil {
			return err
		}
		_, err = autoscaling.NewFromConfig(config).CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
			AutoScalingGroupName: aws.String("pool"), MinSize: aws.Int32(0), MaxSize: aws.Int32(1), InstanceId: launched.Instances[0].InstanceId,
		})
		return err
	}, []string{"autoscaling:CreateAutoScalingGroup", "iam:CreateServiceLinkedRole", "autoscaling:CreateLaunchConfiguration", "iam:PassRole"}, "AccessDenied", 403},
	{"the deletion of a launch configuration", func(ctx context.Context, w *workplace, config aws.Config) error {
		if _, err := autoscaling.NewFromConfig(w.config(key)).CreateLaunchConfiguration(ctx, w.launchConfiguration("pool")); err != nil {
			return err
		}
		_, err := autoscaling.NewFromConfig(config).DeleteLaunchConfiguration(ctx, &autoscaling.DeleteLaunchConfigurationInput{LaunchConfigurationName: aws.String("pool")})
		return err
	}, []string{"autoscaling:DeleteLaunchConfiguration"}, "AccessDenied", 403},
	{"a node group", func(ctx context.Context, w *workplace, config aws.Config) error {
		return w.createNodegroup(ctx, config, "pool")
	},
		[]string{"eks:CreateNodegroup", "eks:TagResource", "iam:PassRole", "iam:CreateServiceLinkedRole"}, "AccessDeniedException", 403},
	{"a cluster", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := eks.NewFromConfig(config).CreateCluster(ctx, &eks.CreateClusterInput{
			Name: aws.String("made"), RoleArn: aws.String("arn:aws:iam::" + account + ":role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"), Tags: map[string]string{"team": "blue"},
			ResourcesVpcConfig: &ekstypes.VpcConfigRequest{SubnetIds: []string{subnet, "subnet-0b2000000000000ab"}},
		})
		return err
	}, []string{"eks:CreateCluster", "eks:TagResource", "iam:PassRole", "iam:CreateServiceLinkedRole"}, "AccessDeniedException", 403},
	{"an add-on with a role", func(ctx context.Context, w *workplace, config aws.Config) error {
		if err := w.Region(account, region).SetCluster(awssim.Cluster{Name: "red", Version: "1.35", Subnets: []string{subnet}}); err != nil {
			return err
		}
		_, err := eks.NewFromConfig(config).CreateAddon(ctx, &eks.CreateAddonInput{
			ClusterName: aws.String("red"), AddonName: aws.String("vpc-cni"), ServiceAccountRoleArn: aws.String("arn:aws:iam::" + account + ":role/" + operators),
		})
		return err
	}, []string{"eks:CreateAddon", "iam:PassRole"}, "AccessDeniedException", 403},
	{"an access entry", func(ctx context.Context, w *workplace, config aws.Config) error {
		if err := w.Region(account, region).SetCluster(awssim.Cluster{Name: "red", Version: "1.35", Subnets: []string{subnet}}); err != nil {
			return err
		}
		_, err := eks.NewFromConfig(config).CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: aws.String("red"), PrincipalArn: aws.String("arn:aws:iam::" + account + ":role/" + operators)})
		return err
	}, []string{"eks:CreateAccessEntry"}, "AccessDeniedException", 403},
	{"a role with tags", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := iam.NewFromConfig(config).CreateRole(ctx, &iam.CreateRoleInput{
			RoleName: aws.String("made"), Tags: iamTags("a", "b"),
			AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`),
		})
		return err
	}, []string{"iam:CreateRole", "iam:TagRole"}, "AccessDenied", 403},
	{"an inline policy", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := iam.NewFromConfig(config).PutRolePolicy(ctx, &iam.PutRolePolicyInput{
			RoleName: aws.String(operators), PolicyName: aws.String("p"), PolicyDocument: aws.String(allowing("ec2:*")),
		})
		return err
	}, []string{"iam:PutRolePolicy"}, "AccessDenied", 403},
	{"an identity provider with tags", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := iam.NewFromConfig(config).CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{Url: aws.String("https://example.com"), Tags: iamTags("a", "b")})
		return err
	}, []string{"iam:CreateOpenIDConnectProvider", "iam:TagOpenIDConnectProvider"}, "AccessDenied", 403},
	{"a parameter with tags", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := ssm.NewFromConfig(config).PutParameter(ctx, &ssm.PutParameterInput{
			Name: aws.String("/made"), Value: aws.String("x"), Type: ssmtypes.ParameterTypeString, Tags: []ssmtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
		})
		return err
	}, []string{"ssm:PutParameter", "ssm:AddTagsToResource"}, "AccessDeniedException", 400},
	{"an object", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := s3.NewFromConfig(config, pathStyle).PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Body: strings.NewReader("x")})
		return err
	}, []string{"s3:PutObject"}, "AccessDenied", 403},
	{"messages", func(ctx context.Context, w *workplace, config aws.Config) error {
		_, err := sqs.NewFromConfig(config).ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String(w.url + "/" + account + "/events")})
		return err
	}, []string{"sqs:ReceiveMessage"}, "AccessDeniedException", 400},
	{"a role of the account", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := sts.NewFromConfig(config).AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::" + account + ":role/" + operators), RoleSessionName: aws.String("session")})
		return err
	}, []string{"sts:AssumeRole"}, "AccessDenied", 403},
	{"who it is", func(ctx context.Context, _ *workplace, config aws.Config) error {
		_, err := sts.NewFromConfig(config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		return err
	}, nil, "", 0},
}

func iamTags(key, value string) []iamtypes.Tag { return []iamtypes.Tag{{Key: &key, Value: &value}} }

func pathStyle(o *s3.Options) { o.UsePathStyle = true }

// TestCallsNeedTheirPermissions gives a caller all that a call needs, and all but each. An
// administrator needs nothing.
func TestCallsNeedTheirPermissions(t *testing.T) {
	t.Parallel()
	for _, row := range whatCallsNeed {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			for _, missing := range append(slices.Clone(row.needs), "") {
				w := newWorkplace(t)
				given := slices.DeleteFunc(append(slices.Clone(row.needs), "cloudwatch:PutMetricData"), func(action string) bool { return action == missing })
				if err := w.SetPolicies(limited, allowing(given...)); err != nil {
					t.Fatal(err)
				}
				err := row.call(t.Context(), w, w.config(limited))
				if missing == "" {
					if err != nil {
						t.Errorf("with all that it needs: %v", err)
					}
					var asked []string
					for _, question := range w.Authorizations() {
						asked = append(asked, question.Action)
					}
					if asked = slices.Compact(asked); !slices.Equal(asked, row.needs) {
						t.Errorf("it needs %q, want %q", asked, row.needs)
					}
					continue
				}
				var response *smithyhttp.ResponseError
				if code(err) != row.code || !errors.As(err, &response) || response.HTTPStatusCode() != row.status {
					t.Errorf("without %s the answer is %v, want %d %s", missing, err, row.status, row.code)
				}
			}
			w := newWorkplace(t)
			if err := row.call(t.Context(), w, w.config(key)); err != nil {
				t.Errorf("an administrator is refused: %v", err)
			}
		})
	}
}

// TestFleetsAreAuthorizedOnWhatTheyLaunchWith holds that ec2:CreateFleet is asked on each resource
// that a fleet launches with, with the tags of existing resources and of the resources that the
// request creates.
func TestFleetsAreAuthorizedOnWhatTheyLaunchWith(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	administrator := ec2.NewFromConfig(w.config(key))
	must[*ec2.CreatePlacementGroupOutput](t)(administrator.CreatePlacementGroup(t.Context(), &ec2.CreatePlacementGroupInput{
		GroupName: aws.String("spread"), Strategy: types.PlacementStrategySpread,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypePlacementGroup, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}}}},
	}))
	must[*ec2.CreateKeyPairOutput](t)(administrator.CreateKeyPair(t.Context(), &ec2.CreateKeyPairInput{KeyName: aws.String("debug"), KeyType: types.KeyTypeEd25519}))
	described := must[*ec2.DescribeLaunchTemplateVersionsOutput](t)(administrator.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &w.template}))
	images := must[*ec2.DescribeImagesOutput](t)(administrator.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{*described.LaunchTemplateVersions[0].LaunchTemplateData.ImageId}}))
	root := images.Images[0].BlockDeviceMappings[0]
	must[*ec2.CreateLaunchTemplateVersionOutput](t)(administrator.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &w.template, SourceVersion: aws.String("1"), LaunchTemplateData: &types.RequestLaunchTemplateData{
			KeyName: aws.String("debug"), Placement: &types.LaunchTemplatePlacementRequest{GroupName: aws.String("spread")},
			BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: root.DeviceName, Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{SnapshotId: root.Ebs.SnapshotId}}},
			SecurityGroupIds:    []string{group},
		},
	}))
	denying := func(resource, condition string) string {
		if condition != "" {
			condition = `,"Condition":` + condition
		}
		return `{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"ec2:CreateFleet","Resource":"arn:aws:ec2:` + resource + `"` + condition + `}]}`
	}
	const here, anywhere = region + ":" + account + ":", region + "::"
	for _, row := range []struct {
		reason, policy string
		denied         bool
	}{
		{"the fleet", denying(here+"fleet/*", ""), true},
		{"the image, which no account is a part of", denying(anywhere+"image/*", ""), true},
		{"the snapshot, which no account is a part of", denying(anywhere+"snapshot/*", ""), true},
		{"the instances", denying(here+"instance/*", ""), true},
		{"instances of their type", denying(here+"instance/*", `{"StringLike":{"ec2:InstanceType":"t*"}}`), true},
		{"instances of another type", denying(here+"instance/*", `{"StringLike":{"ec2:InstanceType":"m*"}}`), false},
		{"instances of their market", denying(here+"instance/*", `{"StringEquals":{"ec2:InstanceMarketType":"on-demand"}}`), true},
		{"instances of another market", denying(here+"instance/*", `{"StringEquals":{"ec2:InstanceMarketType":"spot"}}`), false},
		{"the key pair", denying(here+"key-pair/debug", ""), true},
		{"the launch template", denying(here+"launch-template/"+w.template, ""), true},
		{"another launch template", denying(here+"launch-template/lt-0000000000000000f", ""), false},
		{"the network interfaces", denying(here+"network-interface/*", ""), true},
		{"the placement group", denying(here+"placement-group/spread", ""), true},
		{"the security group", denying(here+"security-group/"+group, ""), true},
		{"the subnet", denying(here+"subnet/"+subnet, ""), true},
		{"another subnet", denying(here+"subnet/subnet-0b2000000000000bb", ""), false},
		{"the volumes", denying(here+"volume/*", ""), true},
		{"a launch template with its tag", denying(here+"launch-template/*", `{"StringEquals":{"aws:ResourceTag/team":"blue"}}`), true},
		{"a launch template with another tag", denying(here+"launch-template/*", `{"StringEquals":{"ec2:ResourceTag/team":"red"}}`), false},
		{"a placement group with its tag", denying(here+"placement-group/*", `{"StringEquals":{"ec2:ResourceTag/team":"red"}}`), true},
		{"instances that the request tags", denying(here+"instance/*", `{"StringEquals":{"aws:RequestTag/team":"green"}}`), true},
		{"instances that the launch template tags", denying(here+"instance/*", `{"StringEquals":{"aws:RequestTag/a":"b"}}`), true},
		{"instances with another tag", denying(here+"instance/*", `{"StringEquals":{"aws:RequestTag/team":"red"}}`), false},
	} {
		if err := w.SetPolicies(limited, row.policy); err != nil {
			t.Fatal(err)
		}
		if err := w.createFleet(t.Context(), w.config(limited), "green"); (code(err) == "UnauthorizedOperation") != row.denied || err != nil && !row.denied {
			t.Errorf("with %s denied, the answer is %v", row.reason, err)
		}
	}
}

// TestAllThatIsNotAllowedIsDenied holds the message of a denial, a Deny, and an action with unknown
// permissions.
func TestAllThatIsNotAllowedIsDenied(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	describe := func() error {
		_, err := autoscaling.NewFromConfig(w.config(limited)).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
		return err
	}
	for _, row := range []struct{ reason, policy, says string }{
		{"nothing is said of it", allowing("ec2:*"), "User: arn:aws:iam::" + account + ":user/" + limited + " is not authorized to perform: autoscaling:DescribeAutoScalingGroups because no identity-based policy allows"},
		{"it is denied", `{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"autoscaling:*","Resource":"*"}]}`, "with an explicit deny in an identity-based policy"},
	} {
		if err := w.SetPolicies(limited, row.policy); err != nil {
			t.Fatal(err)
		}
		if err := describe(); code(err) != "AccessDenied" || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: the answer is %v", row.reason, err)
		}
	}
	if err := w.SetPolicies(limited, allowing("*")); err != nil {
		t.Fatal(err)
	}
	if _, err := autoscaling.NewFromConfig(w.config(limited)).EnterStandby(t.Context(), &autoscaling.EnterStandbyInput{
		AutoScalingGroupName: aws.String("x"), ShouldDecrementDesiredCapacity: aws.Bool(true),
	}); code(err) != "NotImplemented" {
		t.Errorf("an action whose permissions are not simulated answers %v", err)
	}
	if err := w.SetPolicies(limited, `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}}}`); err == nil {
		t.Error("a condition that is not simulated is taken")
	}
	if err := w.SetPolicies(limited); err != nil {
		t.Fatal(err)
	}
	if err := describe(); err != nil {
		t.Errorf("without policies the answer is %v", err)
	}
}

// TestSessionsHaveThePoliciesOfTheirRole attaches a policy to a role, and asks as a session of it.
func TestSessionsHaveThePoliciesOfTheirRole(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	admin, role := iam.NewFromConfig(w.config(key)), operators
	session := must[*sts.AssumeRoleOutput](t)(sts.NewFromConfig(w.config(key)).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::" + account + ":role/" + role), RoleSessionName: aws.String("session"),
	})).Credentials
	config := w.config(key)
	config.Credentials = credentials.NewStaticCredentialsProvider(*session.AccessKeyId, *session.SecretAccessKey, *session.SessionToken)
	describe := func() error {
		_, err := ec2.NewFromConfig(config).DescribeImages(t.Context(), &ec2.DescribeImagesInput{})
		return err
	}
	if err := describe(); err != nil {
		t.Errorf("a role without policies of the account's is refused: %v", err)
	}
	policy := must[*iam.CreatePolicyOutput](t)(admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String("groups"), PolicyDocument: aws.String(allowing("autoscaling:*"))})).Policy
	must[*iam.AttachRolePolicyOutput](t)(admin.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: &role, PolicyArn: policy.Arn}))
	if err := describe(); code(err) != "UnauthorizedOperation" || !strings.Contains(err.Error(), ":assumed-role/"+role+"/session") {
		t.Errorf("with a policy for something else the answer is %v", err)
	}
	// A boundary that does not allow what the policy allows takes it away; one that does leaves it.
	groups := func() error {
		_, err := autoscaling.NewFromConfig(config).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
		return err
	}
	if err := groups(); err != nil {
		t.Errorf("what the policy allows answers %v", err)
	}
	for name, allowed := range map[string]bool{"ec2:*": false, "autoscaling:Describe*": true} {
		bound := must[*iam.CreatePolicyOutput](t)(admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{
			PolicyName: aws.String("bound-" + name[:3]), PolicyDocument: aws.String(allowing(name)),
		})).Policy
		must[*iam.PutRolePermissionsBoundaryOutput](t)(admin.PutRolePermissionsBoundary(t.Context(), &iam.PutRolePermissionsBoundaryInput{RoleName: &role, PermissionsBoundary: bound.Arn}))
		if err := groups(); (err == nil) != allowed {
			t.Errorf("with a boundary of %s, what the policy allows answers %v", name, err)
		}
		if err := describe(); code(err) != "UnauthorizedOperation" {
			t.Errorf("with a boundary of %s, what the policy does not allow answers %v", name, err)
		}
	}
	long := `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"arn:aws:s3:::` + strings.Repeat("x", iampolicy.MostCharacters) + `"}}`
	if _, err := admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String("long"), PolicyDocument: &long}); code(err) != "LimitExceeded" {
		t.Errorf("a policy that is too long answers %v", err)
	}
}
