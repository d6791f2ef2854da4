package ec2_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

func TestCreateLaunchTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("pool"), VersionDescription: aws.String("first"), LaunchTemplateData: typed("m5.large"),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: []types.Tag{tag("owner", "me")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := *out.LaunchTemplate
	if !strings.HasPrefix(*got.LaunchTemplateId, "lt-") || len(*got.LaunchTemplateId) != 20 {
		t.Errorf("the id is %s, want lt- and 17 digits", *got.LaunchTemplateId)
	}
	if *got.DefaultVersionNumber != 1 || *got.LatestVersionNumber != 1 {
		t.Errorf("default and latest version are %d and %d, want 1 and 1", *got.DefaultVersionNumber, *got.LatestVersionNumber)
	}
	if !got.CreateTime.Equal(start) || *got.LaunchTemplateName != "pool" || *got.Tags[0].Value != "me" || *got.CreatedBy == "" {
		t.Errorf("the template is %+v", got)
	}
	if out.Warning != nil {
		t.Errorf("a warning on good data: %v", out.Warning.Errors)
	}
}

func TestCreateLaunchTemplateRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.template("taken", typed("m5.large"))
	encoded := func(n int) *string { return aws.String(base64.StdEncoding.EncodeToString(make([]byte, n))) }
	requirements := func(change func(*types.InstanceRequirementsRequest)) *types.RequestLaunchTemplateData {
		q := &types.InstanceRequirementsRequest{VCpuCount: &types.VCpuCountRangeRequest{Min: aws.Int32(2)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1024)}}
		change(q)
		return &types.RequestLaunchTemplateData{InstanceRequirements: q}
	}
	tags := func(resource types.ResourceType, list ...types.Tag) *types.RequestLaunchTemplateData {
		return &types.RequestLaunchTemplateData{TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: resource, Tags: list}}}
	}
	rows := []struct {
		reason string
		name   string
		data   *types.RequestLaunchTemplateData
		code   string
	}{
		{"names have at least 3 characters", "ab", typed("m5.large"), "InvalidLaunchTemplateName.MalformedException"},
		{"names have at most 128 characters", strings.Repeat("a", 129), typed("m5.large"), "InvalidLaunchTemplateName.MalformedException"},
		{"names have no spaces", "a name", typed("m5.large"), "InvalidLaunchTemplateName.MalformedException"},
		{"names are unique", "taken", typed("m5.large"), "InvalidLaunchTemplateName.AlreadyExistsException"},
		{"at least one parameter is needed", "empty", &types.RequestLaunchTemplateData{}, "MissingParameter"},
		{"user data is base64", "data", &types.RequestLaunchTemplateData{UserData: aws.String("#cloud-config")}, "InvalidUserData.Malformed"},
		{"user data has at most 16,384 bytes", "data", &types.RequestLaunchTemplateData{UserData: encoded(16385)}, "InvalidUserData.Malformed"},
		{"an image id has a form", "data", &types.RequestLaunchTemplateData{ImageId: aws.String("ubuntu")}, "InvalidAMIID.Malformed"},
		{"a security group id has a form", "data", &types.RequestLaunchTemplateData{SecurityGroupIds: []string{"node"}}, "InvalidSecurityGroupId.Malformed"},
		{"values of enumerations are known", "data", &types.RequestLaunchTemplateData{MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: "maybe"}}, "InvalidParameterValue"},
		{"the hop limit is at most 64", "data", &types.RequestLaunchTemplateData{MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpPutResponseHopLimit: aws.Int32(65)}}, "InvalidParameterValue"},
		{"credits are standard or unlimited", "data", &types.RequestLaunchTemplateData{CreditSpecification: &types.CreditSpecificationRequest{CpuCredits: aws.String("some")}}, "InvalidCpuCredits.Malformed"},
		{"a profile ARN has a form", "data", &types.RequestLaunchTemplateData{IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Arn: aws.String("nodes")}}, "InvalidIamInstanceProfileArn.Malformed"},
		{"an interface type is known", "data", &types.RequestLaunchTemplateData{NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{InterfaceType: aws.String("wifi")}}}, "InvalidInterfaceType.Malformed"},
		{"type and requirements exclude each other", "data", func() *types.RequestLaunchTemplateData {
			d := requirements(func(*types.InstanceRequirementsRequest) {})
			d.InstanceType = "m5.large"
			return d
		}(), "InvalidParameterCombination"},
		{"a maximum is not below its minimum", "data", requirements(func(q *types.InstanceRequirementsRequest) { q.VCpuCount.Max = aws.Int32(1) }), "InvalidParameterValue"},
		{"types are allowed or excluded", "data", requirements(func(q *types.InstanceRequirementsRequest) {
			q.AllowedInstanceTypes, q.ExcludedInstanceTypes = []string{"m5*"}, []string{"c5*"}
		}), "InvalidParameterCombination"},
		{"types are named in letters, digits and wildcards", "data", requirements(func(q *types.InstanceRequirementsRequest) {
			q.AllowedInstanceTypes = []string{"m5.*", "c5 large"}
		}), "InvalidParameterValue"},
		{"one price protection for Spot", "data", requirements(func(q *types.InstanceRequirementsRequest) {
			q.SpotMaxPricePercentageOverLowestPrice, q.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice = aws.Int32(10), aws.Int32(10)
		}), "InvalidParameterCombination"},
		{"only what a launch makes is tagged", "data", tags(types.ResourceTypeVpc, tag("a", "b")), "InvalidParameterValue"},
		{"the prefix aws: is AWS's", "data", tags(types.ResourceTypeInstance, tag("aws:a", "b")), "InvalidParameterValue"},
		{"a key comes once", "data", tags(types.ResourceTypeInstance, tag("a", "b"), tag("a", "c")), "InvalidParameterValue"},
		{"keys have at most 128 characters", "data", tags(types.ResourceTypeInstance, tag(strings.Repeat("k", 129), "b")), "InvalidParameterValue"},
		{"values have at most 256 characters", "data", tags(types.ResourceTypeInstance, tag("k", strings.Repeat("v", 257))), "InvalidParameterValue"},
	}
	for _, row := range rows {
		_, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(row.name), LaunchTemplateData: row.data})
		if got := code(t, err); got != row.code {
			t.Errorf("%s: code is %q, want %q (%v)", row.reason, got, row.code, err)
		}
	}
	out, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(out.LaunchTemplates) != 1 {
		t.Errorf("a refused create left something: %v, %v", out, err)
	}
	if _, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("full"), LaunchTemplateData: &types.RequestLaunchTemplateData{UserData: encoded(16384)},
	}); err != nil {
		t.Errorf("16,384 bytes of user data are allowed: %v", err)
	}
}

// TestMessagesOfTemplates holds what AWS was seen to answer: moto's tests that are verified on AWS.
func TestMessagesOfTemplates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// The length of an image's id is judged when an instance is launched.
	id := r.template("odd", &types.RequestLaunchTemplateData{ImageId: aws.String("ami-def456")})
	_, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{})
	wantError(t, err, "MissingParameter", "To describe the launch template data for all your launch templates, for ‘--versions’ specify")
	_, err = r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"1"}})
	wantError(t, err, "InvalidParameterValue", "To describe the launch template data for all your launch templates, for ‘--versions’ specify")
	_, err = r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &id, LaunchTemplateName: aws.String("odd"), DefaultVersion: aws.String("1")})
	wantError(t, err, "InvalidParameterCombination", "Either provide launch template ID or launch template name to modify the template.")
	_, err = r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &id, DefaultVersion: aws.String("2")})
	wantError(t, err, "InvalidLaunchTemplateId.VersionNotFound", "The launch template version 2 is not found for the specified launch template.")
	_, err = r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-abcd1234", "ami-1234abcd"}})
	wantError(t, err, "InvalidAMIID.NotFound", "The image ids '[ami-abcd1234, ami-1234abcd]' do not exist")
}

func TestLaunchTemplateWarning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	arm := r.image(types.ArchitectureValuesArm64)
	snapshot := arm.BlockDeviceMappings[0].Ebs.SnapshotId
	rows := []struct {
		reason string
		data   *types.RequestLaunchTemplateData
		code   string
	}{
		{"the image is for another architecture", &types.RequestLaunchTemplateData{ImageId: arm.ImageId, InstanceType: "m5.large"}, "InvalidParameterValue"},
		{"the image does not exist", &types.RequestLaunchTemplateData{ImageId: aws.String("ami-00000000000000000")}, "InvalidAMIID.NotFound"},
		{"the type does not exist", typed("m5.gigantic"), "InvalidParameterValue"},
		{"the key pair does not exist", &types.RequestLaunchTemplateData{KeyName: aws.String("missing")}, "InvalidKeyPair.NotFound"},
		{"groups belong to the interface", &types.RequestLaunchTemplateData{
			SecurityGroupIds:  []string{r.group("node")},
			NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}},
		}, "InvalidParameterCombination"},
		{"a snapshot decides about encryption", &types.RequestLaunchTemplateData{BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
			DeviceName: aws.String("/dev/sdb"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{SnapshotId: snapshot, Encrypted: aws.Bool(true)},
		}}}, "InvalidBlockDeviceMapping"},
		{"a good template has none", &types.RequestLaunchTemplateData{InstanceType: "m6g.large", ImageId: arm.ImageId, KeyName: aws.String("default")}, ""},
		{"tags of Spot requests apply only to Spot launches", &types.RequestLaunchTemplateData{TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: []types.Tag{tag("a", "b")}},
		}}, ""},
	}
	for i, row := range rows {
		out, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(fmt.Sprintf("warn-%d", i)), LaunchTemplateData: row.data})
		if err != nil {
			t.Errorf("%s: the template must be created all the same: %v", row.reason, err)
			continue
		}
		got := ""
		if out.Warning != nil {
			got = *out.Warning.Errors[0].Code
		}
		if got != row.code {
			t.Errorf("%s: the warning is %q, want %q", row.reason, got, row.code)
		}
	}
}

func (r *rig) describe(id string) types.LaunchTemplate {
	r.Helper()
	out, err := r.ec2.DescribeLaunchTemplates(r.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}})
	if err != nil {
		r.Fatalf("describing %s: %v", id, err)
	}
	return out.LaunchTemplates[0]
}

func TestDescribeLaunchTemplates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 7 {
		name := fmt.Sprintf("pool-%d", i)
		if _, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: &name, LaunchTemplateData: typed("m5.large"),
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: []types.Tag{tag("parity", fmt.Sprint(i%2)), tag("n"+fmt.Sprint(i), "")}}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	names := func(in *ec2.DescribeLaunchTemplatesInput) (all []string) {
		pages := ec2.NewDescribeLaunchTemplatesPaginator(r.ec2, in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, lt := range out.LaunchTemplates {
				all = append(all, *lt.LaunchTemplateName)
			}
		}
		return all
	}
	rows := []struct {
		reason string
		in     ec2.DescribeLaunchTemplatesInput
		want   []string
	}{
		{"pages of two", ec2.DescribeLaunchTemplatesInput{MaxResults: aws.Int32(2)}, []string{"pool-0", "pool-1", "pool-2", "pool-3", "pool-4", "pool-5", "pool-6"}},
		{"by tag", ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{filter("tag:parity", "1")}}, []string{"pool-1", "pool-3", "pool-5"}},
		{"by tag key", ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{filter("tag-key", "n2", "n4")}}, []string{"pool-2", "pool-4"}},
		{"by name with a wildcard, and by tag", ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{filter("launch-template-name", "pool-*"), filter("tag:n6", "")}}, []string{"pool-6"}},
		{"names are given", ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"pool-3"}}, []string{"pool-3"}},
	}
	for _, row := range rows {
		if diff := cmp.Diff(row.want, names(&row.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	_, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"pool-1", "missing"}})
	wantError(t, err, "InvalidLaunchTemplateName.NotFoundException", "At least one")
	_, err = r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{"lt-00000000000000000"}})
	wantError(t, err, "InvalidLaunchTemplateId.NotFound", "At least one")
	_, err = r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{NextToken: aws.String("made up")})
	wantError(t, err, "InvalidNextToken", "")
}

func TestDeleteLaunchTemplateFreesTheName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("pool", typed("m5.large"))
	if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id}); err != nil {
		t.Fatal(err)
	}
	_, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})
	wantError(t, err, "InvalidLaunchTemplateId.NotFound", id)
	_, err = r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("pool")})
	wantError(t, err, "InvalidLaunchTemplateName.NotFoundException", "pool")
	if again := r.template("pool", typed("m5.large")); again == id {
		t.Error("a new template has the id of an old one")
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) {
		w.Quotas = map[string]int{world.QuotaLaunchTemplates: 2, world.QuotaLaunchTemplateVersions: 3}
	}))
	id := r.template("one", typed("m5.large"))
	r.template("two", typed("m5.large"))
	_, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("three"), LaunchTemplateData: typed("m5.large")})
	wantError(t, err, "MaxTemplateLimitExceeded", "2")
	r.version(id, typed("m5.large"))
	r.version(id, typed("m5.large"))
	_, err = r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: typed("m5.large")})
	wantError(t, err, "MaxTemplateVersionLimitExceeded", "3")
	if _, err := r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"2"}}); err != nil {
		t.Fatal(err)
	}
	if got := r.version(id, typed("m5.large")); got != 4 {
		t.Errorf("after a deletion there is room for version 4, got %d", got)
	}
}

func TestReadLagOfLaunchTemplates(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{ReadLag: 5 * time.Second}))
	id := r.template("pool", typed("m5.large"))
	_, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}})
	wantError(t, err, "InvalidLaunchTemplateId.NotFound", "")
	_, err = r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("pool")})
	wantError(t, err, "InvalidLaunchTemplateName.NotFoundException", "")
	if got := r.version(id, typed("m5.xlarge")); got != 2 {
		t.Errorf("writes see the present state: version is %d, want 2", got)
	}
	r.clock.Step(6 * time.Second)
	if got := r.describe(id); *got.LatestVersionNumber != 2 {
		t.Errorf("after the lag the latest version is %d, want 2", *got.LatestVersionNumber)
	}
}

func TestResolveAlias(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const parameter = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id"
	id := r.template("pool", &types.RequestLaunchTemplateData{ImageId: aws.String("resolve:ssm:" + parameter), InstanceType: "m5.large"})
	read := func(resolve bool) string {
		out, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, ResolveAlias: &resolve})
		if err != nil {
			t.Fatal(err)
		}
		return *out.LaunchTemplateVersions[0].LaunchTemplateData.ImageId
	}
	if got := read(false); got != "resolve:ssm:"+parameter {
		t.Errorf("without ResolveAlias the image is %s", got)
	}
	if got := read(true); !strings.HasPrefix(got, "ami-") {
		t.Errorf("with ResolveAlias the image is %s", got)
	}
	out, err := r.run(func(in *ec2.RunInstancesInput) {
		in.ImageId, in.LaunchTemplate = nil, &types.LaunchTemplateSpecification{LaunchTemplateId: &id}
	})
	if err != nil || *out.Instances[0].ImageId != read(true) {
		t.Errorf("a launch resolves the parameter: %v, %v", out, err)
	}
}

func TestGetLaunchTemplateData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	launched, err := r.run(func(in *ec2.RunInstancesInput) {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh")))
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{tag("a", "b")}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.ec2.GetLaunchTemplateData(t.Context(), &ec2.GetLaunchTemplateDataInput{InstanceId: launched.Instances[0].InstanceId})
	if err != nil {
		t.Fatal(err)
	}
	data := out.LaunchTemplateData
	if data.InstanceType != "m5.large" || *data.UserData == "" || len(data.BlockDeviceMappings) != 1 || *data.TagSpecifications[0].Tags[0].Key != "a" ||
		!slices.Contains(data.NetworkInterfaces[0].Groups, r.group("default")) {
		t.Errorf("data of the instance is %+v", data)
	}
}
