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

func TestVersionsAreNumberedInOrderAndNeverReused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("pool", typed("m5.large"))
	for want := int64(2); want <= 4; want++ {
		if got := r.version(id, typed("m5.xlarge")); got != want {
			t.Fatalf("version is %d, want %d", got, want)
		}
	}
	out, err := r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"4", "3", "1", "9"}})
	if err != nil {
		t.Fatal(err)
	}
	var deleted []int64
	for _, s := range out.SuccessfullyDeletedLaunchTemplateVersions {
		deleted = append(deleted, *s.VersionNumber)
	}
	if diff := cmp.Diff([]int64{4, 3}, deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	failed := map[int64]types.LaunchTemplateErrorCode{}
	for _, f := range out.UnsuccessfullyDeletedLaunchTemplateVersions {
		failed[*f.VersionNumber] = f.ResponseError.Code
	}
	want := map[int64]types.LaunchTemplateErrorCode{1: types.LaunchTemplateErrorCodeUnexpectedError, 9: types.LaunchTemplateErrorCodeLaunchTemplateVersionDoesNotExist}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if got := r.describe(id); *got.LatestVersionNumber != 2 {
		t.Errorf("the latest version is %d, want 2, the highest that is left", *got.LatestVersionNumber)
	}
	if got := r.version(id, typed("m5.large")); got != 5 {
		t.Errorf("the next version is %d, want 5: numbers are not used again", got)
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

func TestDeleteLaunchTemplateVersionsOfNoTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, err := r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("missing"), Versions: []string{"1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.UnsuccessfullyDeletedLaunchTemplateVersions[0].ResponseError.Code; got != types.LaunchTemplateErrorCodeLaunchTemplateNameDoesNotExist {
		t.Errorf("the reason is %s", got)
	}
	many := make([]string, 201)
	for i := range many {
		many[i] = fmt.Sprint(i + 1)
	}
	_, err = r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("missing"), Versions: many})
	wantError(t, err, "InvalidParameterValue", "200")
}

func TestSourceVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	image := r.image(types.ArchitectureValuesX8664)
	id := r.template("pool", &types.RequestLaunchTemplateData{
		ImageId: image.ImageId, InstanceType: "m5.large", KeyName: aws.String("default"), SecurityGroupIds: []string{r.group("node")},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
			DeviceName: aws.String("/dev/sdb"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{SnapshotId: aws.String("snap-0123456789abcdef0"), VolumeSize: aws.Int32(20)},
		}},
	})
	out, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &id, SourceVersion: aws.String("1"), LaunchTemplateData: &types.RequestLaunchTemplateData{
			InstanceType: "m5.xlarge", SecurityGroupIds: []string{r.group("lb")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	data := out.LaunchTemplateVersion.LaunchTemplateData
	if data.InstanceType != "m5.xlarge" || *data.KeyName != "default" || *data.ImageId != *image.ImageId {
		t.Errorf("inherited data is %+v", data)
	}
	if diff := cmp.Diff([]string{r.group("lb")}, data.SecurityGroupIds); diff != "" {
		t.Errorf("a member that is given replaces the source's (-want +got):\n%s", diff)
	}
	if ebs := data.BlockDeviceMappings[0].Ebs; ebs.SnapshotId != nil || *ebs.VolumeSize != 20 {
		t.Errorf("the snapshot of the source is not inherited, the size is; got %+v", ebs)
	}
	_, err = r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, SourceVersion: aws.String("7"), LaunchTemplateData: typed("m5.large")})
	wantError(t, err, "InvalidLaunchTemplateId.VersionNotFound", "version 7")
}

func TestModifyLaunchTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("pool", typed("m5.large"))
	r.version(id, typed("m5.xlarge"))
	if got := r.describe(id); *got.DefaultVersionNumber != 1 || *got.LatestVersionNumber != 2 {
		t.Errorf("a new version must not become the default: %+v", got)
	}
	out, err := r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateName: aws.String("pool"), DefaultVersion: aws.String("2")})
	if err != nil || *out.LaunchTemplate.DefaultVersionNumber != 2 {
		t.Errorf("setting the default version: %+v, %v", out, err)
	}
	_, err = r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &id, DefaultVersion: aws.String("666")})
	wantError(t, err, "InvalidLaunchTemplateId.VersionNotFound", "666")
	_, err = r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"1"}})
	if err != nil {
		t.Errorf("a version that was the default can be deleted: %v", err)
	}
}

func TestDescribeLaunchTemplateVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("one", typed("m5.large"))
	for _, kind := range []types.InstanceType{"m5.xlarge", "c5.large", "m5.2xlarge"} {
		r.version(id, typed(kind))
	}
	other := r.template("two", typed("r5.large"))
	if _, err := r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &id, DefaultVersion: aws.String("2")}); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		reason string
		in     ec2.DescribeLaunchTemplateVersionsInput
		want   []string
		code   string
	}{
		{"all versions, newest first", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id}, []string{"one/4", "one/3", "one/2", "one/1"}, ""},
		{"numbers", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("one"), Versions: []string{"1", "3"}}, []string{"one/3", "one/1"}, ""},
		{"aliases", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"$Latest", "$Default"}}, []string{"one/4", "one/2"}, ""},
		{"a range", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, MinVersion: aws.String("2"), MaxVersion: aws.String("3")}, []string{"one/3", "one/2"}, ""},
		{"an open range", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, MinVersion: aws.String("3")}, []string{"one/4", "one/3"}, ""},
		{"a range as CAPA asks for it", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, MinVersion: aws.String("0"), MaxVersion: aws.String("$Latest"), MaxResults: aws.Int32(3)},
			[]string{"one/4", "one/3", "one/2"}, ""},
		{"a range that ends before the first", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, MaxVersion: aws.String("0")}, nil, "InvalidParameterValue"},
		{"the latest of all templates", ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest"}}, []string{"one/4", "two/1"}, ""},
		{"latest and default of all", ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest", "$Default"}}, []string{"one/4", "one/2", "two/1"}, ""},
		{"a filter", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Filters: []types.Filter{filter("instance-type", "m5.*")}}, []string{"one/4", "one/2", "one/1"}, ""},
		{"the default version by filter", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Filters: []types.Filter{filter("is-default-version", "true")}}, []string{"one/2"}, ""},
		{"a number of all templates", ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"1"}}, nil, "InvalidParameterValue"},
		{"nothing at all", ec2.DescribeLaunchTemplateVersionsInput{}, nil, "MissingParameter"},
		{"a version that is not there", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"1", "9"}}, nil, "InvalidLaunchTemplateId.VersionNotFound"},
		{"an alias in the wrong case", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"$LATEST"}}, nil, "InvalidParameterValue"},
		{"a list and a range", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"1"}, MinVersion: aws.String("1")}, nil, "InvalidParameterCombination"},
		{"id and name", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, LaunchTemplateName: aws.String("one")}, nil, "InvalidParameterCombination"},
		{"an unknown name", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("missing")}, nil, "InvalidLaunchTemplateName.NotFoundException"},
		{"an unknown id", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-00000000000000000")}, nil, "InvalidLaunchTemplateId.NotFound"},
		{"a malformed id", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("one")}, nil, "InvalidLaunchTemplateId.Malformed"},
		{"an unknown filter", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &other, Filters: []types.Filter{filter("color", "blue")}}, nil, "InvalidParameterValue"},
		{"a page that is too long", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, MaxResults: aws.Int32(201)}, nil, "InvalidParameterValue"},
	}
	for _, row := range rows {
		out, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), &row.in)
		if got := code(t, err); got != row.code {
			t.Errorf("%s: code is %q, want %q (%v)", row.reason, got, row.code, err)
			continue
		}
		if diff := cmp.Diff(row.want, versionNames(out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	var paged []string
	pages := ec2.NewDescribeLaunchTemplateVersionsPaginator(r.ec2, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, MaxResults: aws.Int32(3)})
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, versionNames(out)...)
	}
	if diff := cmp.Diff([]string{"one/4", "one/3", "one/2", "one/1"}, paged); diff != "" {
		t.Errorf("paging (-want +got):\n%s", diff)
	}
}

func versionNames(out *ec2.DescribeLaunchTemplateVersionsOutput) []string {
	if out == nil {
		return nil
	}
	var names []string
	for _, v := range out.LaunchTemplateVersions {
		names = append(names, fmt.Sprintf("%s/%d", *v.LaunchTemplateName, *v.VersionNumber))
	}
	return names
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

func TestClientTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	create := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("pool"), LaunchTemplateData: typed("m5.large"), ClientToken: aws.String("create")}
	first, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
	if err != nil || *again.LaunchTemplate.LaunchTemplateId != *first.LaunchTemplate.LaunchTemplateId {
		t.Errorf("the same token must give the same template: %v, %v", again, err)
	}
	create.LaunchTemplateData = typed("m5.xlarge")
	_, err = r.ec2.CreateLaunchTemplate(t.Context(), create)
	wantError(t, err, "IdempotentParameterMismatch", "")

	id := first.LaunchTemplate.LaunchTemplateId
	version := &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: id, LaunchTemplateData: typed("m5.xlarge"), ClientToken: aws.String("version")}
	for range 3 {
		out, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), version)
		if err != nil || *out.LaunchTemplateVersion.VersionNumber != 2 {
			t.Errorf("the same token must give version 2: %v, %v", out, err)
		}
	}
	if got := r.describe(*id); *got.LatestVersionNumber != 2 {
		t.Errorf("three calls with one token made %d versions, want 2", *got.LatestVersionNumber)
	}
	version.VersionDescription = aws.String("changed")
	_, err = r.ec2.CreateLaunchTemplateVersion(t.Context(), version)
	wantError(t, err, "IdempotentParameterMismatch", "")

	modify := &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: id, DefaultVersion: aws.String("2"), ClientToken: aws.String("create")}
	if _, err := r.ec2.ModifyLaunchTemplate(t.Context(), modify); err != nil {
		t.Errorf("a token counts per action: %v", err)
	}
	modify.DefaultVersion = aws.String("1")
	_, err = r.ec2.ModifyLaunchTemplate(t.Context(), modify)
	wantError(t, err, "IdempotentParameterMismatch", "")
	modify.ClientToken = aws.String(strings.Repeat("t", 129))
	_, err = r.ec2.ModifyLaunchTemplate(t.Context(), modify)
	wantError(t, err, "InvalidClientToken", "128")
}

// TestTokensOfDeletedTemplates repeats requests whose template or version was deleted, with both
// answers that EC2 may give.
func TestTokensOfDeletedTemplates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		forget  bool
		version int64
		sameID  bool
	}{
		{"EC2 remembers the tokens of what was deleted", false, 2, true},
		{"EC2 forgets the tokens of what was deleted", true, 3, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withBehavior(awssim.Behavior{ForgetTokens: row.forget}))
			create := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("pool"), LaunchTemplateData: typed("m5.large"), ClientToken: aws.String("create")}
			first, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
			if err != nil {
				t.Fatal(err)
			}
			id := first.LaunchTemplate.LaunchTemplateId
			add := &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: id, LaunchTemplateData: typed("m5.xlarge"), ClientToken: aws.String("version")}
			expect := func(want int64) {
				t.Helper()
				out, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), add)
				if err != nil || *out.LaunchTemplateVersion.VersionNumber != want {
					t.Errorf("version %v, error %v, want version %d", out, err, want)
				}
			}
			expect(2)
			expect(2)
			if _, err := r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: id, Versions: []string{"2"}}); err != nil {
				t.Fatal(err)
			}
			expect(row.version)
			if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: id}); err != nil {
				t.Fatal(err)
			}
			again, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
			if err != nil || (*again.LaunchTemplate.LaunchTemplateId == *id) != row.sameID {
				t.Errorf("template %v, error %v; the first was %s", again, err, *id)
			}
		})
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
