package adversary

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	slipwayaws "github.com/slipway-project/slipway/internal/aws"
)

// rig is an oracle with two tenants that call a simulated AWS directly.
type rig struct {
	*testing.T
	oracle *oracle
	config aws.Config
}

const rigAccount = "123456789012"

func newRig(t *testing.T) *rig {
	t.Helper()
	cloud := awssim.New(awssim.Options{})
	endpoint, err := cloud.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	config := aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint}
	config.APIOptions = append(config.APIOptions, slipwayaws.SendBodies)
	r := &rig{T: t, config: config}
	r.oracle = newOracle(cloud, func(account, name string) map[string]string {
		return groupTags(t.Context(), tester(config, account), name)
	})
	r.oracle.private = true
	r.oracle.parties = map[string]owner{"red-ns": "red", "blue-ns": "blue"}
	r.oracle.roles = map[string]owner{keyOf("red"): "red", keyOf("blue"): "blue"}
	if err := r.oracle.watch(); err != nil {
		t.Fatal(err)
	}
	r.create("red")
	return r
}

func keyOf(party string) string { return "AKIA" + strings.ToUpper(party) + "000" + rigAccount }

func (r *rig) as(party string) aws.Config { return as(r.config, keyOf(party)) }

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// create has a party own one resource of each kind, all called "theirs".
func (r *rig) create(party string) {
	r.Helper()
	config, name := r.as(party), aws.String("theirs")
	_, err := ec2.NewFromConfig(config).CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeT3Large, ImageId: aws.String(r.image())},
	})
	r.must(err)
	_, err = autoscaling.NewFromConfig(config).CreateAutoScalingGroup(r.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: name, MinSize: aws.Int32(1), MaxSize: aws.Int32(1), VPCZoneIdentifier: aws.String(subnet),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: name, Version: aws.String("1")},
	})
	r.must(err)
	trust := `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`
	_, err = iam.NewFromConfig(config).CreateRole(r.Context(), &iam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: &trust})
	r.must(err)
	_, err = ssm.NewFromConfig(config).PutParameter(r.Context(), &ssm.PutParameterInput{Name: name, Value: aws.String("x"), Type: ssmtypes.ParameterTypeSecureString})
	r.must(err)
	if found := r.oracle.found(); len(found) != 0 {
		r.Fatalf("the oracle objects to what a party creates for itself: %v", found)
	}
}

func (r *rig) image() string {
	r.Helper()
	out, err := ec2.NewFromConfig(tester(r.config, rigAccount)).DescribeImages(r.Context(), &ec2.DescribeImagesInput{
		Filters: []ec2types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}},
	})
	r.must(err)
	return *out.Images[0].ImageId
}

// template returns the id of the launch template.
func (r *rig) template() string {
	r.Helper()
	out, err := ec2.NewFromConfig(tester(r.config, rigAccount)).DescribeLaunchTemplates(r.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"theirs"}})
	r.must(err)
	return *out.LaunchTemplates[0].LaunchTemplateId
}

// instance returns the id of the group's instance.
func (r *rig) instance() string {
	r.Helper()
	for {
		if found := r.oracle.cloud.Region(rigAccount, "us-east-1").Instances(); len(found) > 0 {
			return *found[0].InstanceId
		}
		r.must(r.Context().Err())
	}
}

// TestOracle holds that the oracle finds each way to reach what belongs to another party, and
// nothing in what a party does with its own.
func TestOracle(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, reason string
		// call is sent by both tenants; want is what is wrong with it when it is sent by the one
		// that does not own what it names.
		call func(ctx context.Context, r *rig, config aws.Config) error
		want string
	}{
		{"read user data", "versions of a template hold user data", func(ctx context.Context, r *rig, config aws.Config) error {
			_, err := ec2.NewFromConfig(config).DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String(r.template())})
			return err
		}, "it discloses launch template"},
		{"read user data by name", "a name is as good as an id", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := ec2.NewFromConfig(config).DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("theirs")})
			return err
		}, "it discloses launch template named theirs"},
		{"read a parameter", "bootstrap data is kept in parameters", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := ssm.NewFromConfig(config).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("theirs")})
			return err
		}, "it discloses parameter theirs"},
		{"overwrite a parameter", "nodes would run what it holds", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := ssm.NewFromConfig(config).PutParameter(ctx, &ssm.PutParameterInput{
				Name: aws.String("theirs"), Value: aws.String("y"), Type: ssmtypes.ParameterTypeSecureString, Overwrite: aws.Bool(true),
			})
			return err
		}, "it names parameter theirs"},
		{"change a template", "a group that follows $Latest launches it", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := ec2.NewFromConfig(config).CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
				LaunchTemplateName: aws.String("theirs"), SourceVersion: aws.String("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM5Large},
			})
			return err
		}, "it names launch template named theirs"},
		{"tag a template", "a tag says whose it is", func(ctx context.Context, r *rig, config aws.Config) error {
			_, err := ec2.NewFromConfig(config).CreateTags(ctx, &ec2.CreateTagsInput{
				Resources: []string{r.template()}, Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
			})
			return err
		}, "it names launch template lt-"},
		{"launch from a template", "an instance can read its user data", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := autoscaling.NewFromConfig(config).CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
				AutoScalingGroupName: aws.String("other"), MinSize: aws.Int32(0), MaxSize: aws.Int32(0), VPCZoneIdentifier: aws.String(subnet),
				LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: aws.String("theirs"), Version: aws.String("1")},
			})
			return err
		}, "it names launch template named theirs"},
		{"resize a group", "nodes of another cluster would go", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := autoscaling.NewFromConfig(config).UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("theirs"), MaxSize: aws.Int32(2)})
			return err
		}, "it names Auto Scaling group theirs"},
		{"tag a group", "a tag says whose it is", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := autoscaling.NewFromConfig(config).CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: []asgtypes.Tag{{
				ResourceId: aws.String("theirs"), ResourceType: aws.String("auto-scaling-group"), Key: aws.String("a"), Value: aws.String("b"), PropagateAtLaunch: aws.Bool(false),
			}}})
			return err
		}, "it names Auto Scaling group theirs"},
		{"terminate an instance", "an instance belongs to the owner of its template", func(ctx context.Context, r *rig, config aws.Config) error {
			_, err := ec2.NewFromConfig(config).TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{r.instance()}})
			return err
		}, "it names instance i-"},
		{"delete a role", "nodes of another cluster would lose it", func(ctx context.Context, _ *rig, config aws.Config) error {
			_, err := iam.NewFromConfig(config).DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("theirs")})
			return err
		}, "it names IAM role theirs"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for _, party := range []string{"blue", "red"} {
				if err := row.call(t.Context(), r, r.as(party)); err != nil && party == "blue" {
					t.Fatal(err)
				}
				found := r.oracle.found()
				if party == "red" && len(found) != 0 {
					t.Errorf("the owner may do it, and the oracle says %v", found)
				}
				if party == "blue" && (len(found) == 0 || !strings.Contains(found[0].why, row.want)) {
					t.Errorf("it must be found because %s; the oracle says %v", row.reason, found)
				}
			}
		})
	}
}

// TestOracleKnowsTheCaller holds that the oracle finds a call that is sent with the wrong
// credentials or in the name of another tenant.
func TestOracleKnowsTheCaller(t *testing.T) {
	t.Parallel()
	describe := func(ctx context.Context, config aws.Config) error {
		_, err := ec2.NewFromConfig(config).DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
		return err
	}
	r := newRig(t)
	r.oracle.belongsTo("blue-ns")
	r.must(describe(t.Context(), r.as("red")))
	if found := r.oracle.found(); len(found) != 1 || !strings.Contains(found[0].why, "with the credentials of red") {
		t.Errorf("a reconcile for blue that uses the credentials of red: %v", found)
	}
	r.oracle.belongsTo("")
	r.must(describe(t.Context(), as(r.config, "AKIAMANAGER0000"+rigAccount)))
	if found := r.oracle.found(); len(found) != 1 || !strings.Contains(found[0].why, "the manager's own credentials") {
		t.Errorf("the manager's own credentials: %v", found)
	}
	_, err := autoscaling.NewFromConfig(r.as("red")).CreateOrUpdateTags(t.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: []asgtypes.Tag{{
		ResourceId: aws.String("theirs"), ResourceType: aws.String("auto-scaling-group"), Key: aws.String(infrav1.TagMachinePool), Value: aws.String("blue-ns/prod/pool"),
		PropagateAtLaunch: aws.Bool(false),
	}}})
	r.must(err)
	if found := r.oracle.found(); len(found) != 1 || !strings.Contains(found[0].why, "owner tag") {
		t.Errorf("an owner tag of another namespace: %v", found)
	}
}
