package ec2_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

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
