package ec2_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

func TestDescribeImages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x86, arm := r.image(types.ArchitectureValuesX8664), r.image(types.ArchitectureValuesArm64)
	rows := []struct {
		reason string
		in     ec2.DescribeImagesInput
		want   []string
		code   string
	}{
		{"by id", ec2.DescribeImagesInput{ImageIds: []string{*arm.ImageId}}, []string{*arm.ImageId}, ""},
		{"by owner and name, as CAPA looks images up", ec2.DescribeImagesInput{Owners: []string{*x86.OwnerId}, Filters: []types.Filter{
			filter("name", "capa-ami-ubuntu-24.04-?v1.36.3-*"), filter("architecture", "x86_64"), filter("state", "available"), filter("virtualization-type", "hvm"),
		}}, []string{*x86.ImageId}, ""},
		{"of an owner who has none", ec2.DescribeImagesInput{Owners: []string{"self"}}, nil, ""},
		{"one id is not there", ec2.DescribeImagesInput{ImageIds: []string{*arm.ImageId, "ami-00000000000000000"}}, nil, "InvalidAMIID.NotFound"},
		{"a malformed id", ec2.DescribeImagesInput{ImageIds: []string{"ubuntu"}}, nil, "InvalidAMIID.Malformed"},
		{"an id that the filter leaves out", ec2.DescribeImagesInput{ImageIds: []string{*arm.ImageId}, Filters: []types.Filter{filter("architecture", "x86_64")}}, nil, ""},
		{"an unknown filter", ec2.DescribeImagesInput{Filters: []types.Filter{filter("size", "1")}}, nil, "InvalidParameterValue"},
	}
	for _, row := range rows {
		out, err := r.ec2.DescribeImages(t.Context(), &row.in)
		if got := code(t, err); got != row.code {
			t.Errorf("%s: code is %q, want %q (%v)", row.reason, got, row.code, err)
			continue
		}
		var got []string
		if out != nil {
			for _, i := range out.Images {
				got = append(got, *i.ImageId)
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestPublishImage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	source := r.image(types.ArchitectureValuesX8664)
	copied, err := r.ec2.CopyImage(t.Context(), &ec2.CopyImageInput{Name: aws.String("mine"), SourceImageId: source.ImageId, SourceRegion: aws.String(region), Encrypted: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	registered, err := r.ec2.RegisterImage(t.Context(), &ec2.RegisterImageInput{
		Name: aws.String("capa-ami-ubuntu-24.04-v9.9.9-1"), Architecture: types.ArchitectureValuesArm64, RootDeviceName: aws.String("/dev/sda1"), VirtualizationType: aws.String("hvm"),
		BlockDeviceMappings: []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sda1"), Ebs: &types.EbsBlockDevice{SnapshotId: aws.String("snap-0123456789abcdef0"), VolumeSize: aws.Int32(12)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	own := func() (names []string) {
		out, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"self"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range out.Images {
			names = append(names, *i.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"mine", "capa-ami-ubuntu-24.04-v9.9.9-1"}, own()); diff != "" {
		t.Errorf("own images (-want +got):\n%s", diff)
	}
	launched, err := r.run(func(in *ec2.RunInstancesInput) { in.ImageId, in.InstanceType = registered.ImageId, "m6g.large" })
	if err != nil || launched.Instances[0].Architecture != types.ArchitectureValuesArm64 {
		t.Errorf("launching the registered image: %v, %v", launched, err)
	}
	_, err = r.ec2.CopyImage(t.Context(), &ec2.CopyImageInput{Name: aws.String("mine"), SourceImageId: source.ImageId, SourceRegion: aws.String(region)})
	wantError(t, err, "InvalidAMIName.Duplicate", "mine")
	_, err = r.ec2.DeregisterImage(t.Context(), &ec2.DeregisterImageInput{ImageId: source.ImageId})
	wantError(t, err, "AuthFailure", *source.ImageId)
	if _, err := r.ec2.DeregisterImage(t.Context(), &ec2.DeregisterImageInput{ImageId: copied.ImageId}); err != nil {
		t.Fatal(err)
	}
	if got := own(); slices.Contains(got, "mine") {
		t.Errorf("a deregistered image is still there: %v", got)
	}
}

func TestDescribeInstanceTypes(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) {
		w.Regions[0].NotOffered = []world.Absence{{InstanceType: "m5.large"}, {InstanceType: "c5.large", Zones: []string{"us-east-1a"}}}
	}))
	out, err := r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m6g.large"}})
	if err != nil {
		t.Fatal(err)
	}
	got := out.InstanceTypes[0]
	if *got.VCpuInfo.DefaultVCpus != 2 || *got.MemoryInfo.SizeInMiB != 8192 || got.ProcessorInfo.SupportedArchitectures[0] != types.ArchitectureTypeArm64 || *got.NetworkInfo.MaximumNetworkInterfaces != 3 {
		t.Errorf("m6g.large is %+v", got)
	}
	_, err = r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m6g.large", "m5.large", "m9.tiny"}})
	wantError(t, err, "InvalidInstanceType", "[m5.large, m9.tiny]")

	var all []string
	pages := ec2.NewDescribeInstanceTypesPaginator(r.ec2, &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(7)})
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range out.InstanceTypes {
			all = append(all, string(i.InstanceType))
		}
	}
	if want := len(r.sim.World().InstanceTypes) - 1; len(all) != want || len(slices.Compact(slices.Sorted(slices.Values(all)))) != want {
		t.Errorf("paging shows %d types, want %d, each once", len(all), want)
	}
	arm, err := r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{
		filter("processor-info.supported-architecture", "arm64"), filter("vcpu-info.default-vcpus", "2"), filter("instance-type", "m6g.*"),
	}})
	if err != nil || len(arm.InstanceTypes) != 1 || arm.InstanceTypes[0].InstanceType != "m6g.large" {
		t.Errorf("by filter: %v, %v", arm, err)
	}
	offerings, err := r.ec2.DescribeInstanceTypeOfferings(t.Context(), &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{filter("instance-type", "c5.large")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var zones []string
	for _, o := range offerings.InstanceTypeOfferings {
		zones = append(zones, *o.Location)
	}
	if diff := cmp.Diff([]string{"us-east-1b", "us-east-1c"}, zones); diff != "" {
		t.Errorf("zones that offer c5.large (-want +got):\n%s", diff)
	}
}

func TestEveryInstanceTypeOfTheWorldIsDescribedAndLaunchable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	images := map[string]*string{"arm64": r.image(types.ArchitectureValuesArm64).ImageId, "x86_64": r.image(types.ArchitectureValuesX8664).ImageId}
	for _, kind := range r.sim.World().InstanceTypes {
		_, err := r.run(func(in *ec2.RunInstancesInput) {
			in.InstanceType, in.ImageId, in.DryRun = types.InstanceType(kind.Name), images[kind.Architectures[len(kind.Architectures)-1]], aws.Bool(true)
		})
		if code(t, err) != "DryRunOperation" {
			t.Errorf("%s: %v", kind.Name, err)
		}
	}
}

// TestState compares the world before with the world after everything was removed again.
func TestState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	state := func() string {
		all, err := r.sim.Region(awssim.DefaultAccount, region).State()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(all["ec2"])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := state()
	for kind, things := range decode(t, before) {
		if len(things) > 0 {
			t.Errorf("a new account already has a %s of its own: %v", kind, things)
		}
	}
	id := r.template("pool", typed("m5.large"))
	r.version(id, typed("m5.xlarge"))
	launched, err := r.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*r.subnet("us-east-1a").SubnetId}, Tags: []types.Tag{tag("a", "b")}}); err != nil {
		t.Fatal(err)
	}
	during := decode(t, state())
	for _, kind := range []string{"launch-template", "instance", "volume", "subnet"} {
		if len(during[kind]) != 1 {
			t.Errorf("the state has %d of the kind %s, want 1", len(during[kind]), kind)
		}
	}
	versions := during["launch-template"][id].(map[string]any)["versions"].(map[string]any)
	if got := versions["2"].(map[string]any)["data"]; !reflect.DeepEqual(got, map[string]any{"InstanceType": "m5.xlarge"}) {
		t.Errorf("version 2 is shown as %v", got)
	}
	if diff := cmp.Diff(state(), state()); diff != "" {
		t.Errorf("the same state is written in two ways:\n%s", diff)
	}
	if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*launched.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*r.subnet("us-east-1a").SubnetId}, Tags: []types.Tag{tag("a", "b")}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(2 * 60 * 60 * 1e9)
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}

func decode(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	var kinds map[string]map[string]any
	if err := json.Unmarshal([]byte(text), &kinds); err != nil {
		t.Fatal(err)
	}
	return kinds
}

func TestDryRunAnswersForEveryRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dry := aws.Bool(true)
	rows := map[string]func() error{
		"DescribeLaunchTemplates": func() error {
			_, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{DryRun: dry})
			return err
		},
		"DescribeInstances": func() error {
			_, err := r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{DryRun: dry})
			return err
		},
		"DescribeImages": func() error {
			_, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{DryRun: dry})
			return err
		},
		"DescribeInstanceTypes": func() error {
			_, err := r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{DryRun: dry})
			return err
		},
		"DescribeSubnets": func() error {
			_, err := r.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{DryRun: dry})
			return err
		},
		"DescribeVpcs": func() error {
			_, err := r.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{DryRun: dry})
			return err
		},
		"DescribeTags": func() error {
			_, err := r.ec2.DescribeTags(t.Context(), &ec2.DescribeTagsInput{DryRun: dry})
			return err
		},
		"DescribeKeyPairs": func() error {
			_, err := r.ec2.DescribeKeyPairs(t.Context(), &ec2.DescribeKeyPairsInput{DryRun: dry})
			return err
		},
		"DescribeVolumes": func() error {
			_, err := r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{DryRun: dry})
			return err
		},
		"CreateLaunchTemplate": func() error {
			_, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{DryRun: dry, LaunchTemplateName: aws.String("dry"), LaunchTemplateData: typed("m5.large")})
			return err
		},
	}
	for action, call := range rows {
		if err := call(); code(t, err) != "DryRunOperation" {
			t.Errorf("%s: %v, want DryRunOperation", action, err)
		}
	}
	out, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(out.LaunchTemplates) > 0 {
		t.Errorf("a dry run made a template: %v, %v", out, err)
	}
}

func TestDescribeInstancesFiltersAndPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("pool", &types.RequestLaunchTemplateData{ImageId: r.image(types.ArchitectureValuesX8664).ImageId, InstanceType: "m5.large"})
	var ids []string
	for i := range 12 {
		out, err := r.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
			LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: &id}, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			SubnetId:          r.subnet([]string{"us-east-1a", "us-east-1b", "us-east-1c"}[i%3]).SubnetId,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{tag("n", fmt.Sprint(i))}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *out.Instances[0].InstanceId)
	}
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids[:2]}); err != nil {
		t.Fatal(err)
	}
	read := func(in *ec2.DescribeInstancesInput) (found []string) {
		pages := ec2.NewDescribeInstancesPaginator(r.ec2, in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, reservation := range out.Reservations {
				for _, i := range reservation.Instances {
					found = append(found, *i.InstanceId)
				}
			}
		}
		return found
	}
	rows := []struct {
		reason string
		in     ec2.DescribeInstancesInput
		want   []string
	}{
		{"pages of five", ec2.DescribeInstancesInput{MaxResults: aws.Int32(5)}, ids},
		{"those that run", ec2.DescribeInstancesInput{Filters: []types.Filter{filter("instance-state-name", "pending", "running")}}, ids[2:]},
		{"by template, as the system tag says", ec2.DescribeInstancesInput{Filters: []types.Filter{filter("tag:aws:ec2launchtemplate:id", id), filter("tag:n", "3", "4")}}, ids[3:5]},
		{"by zone and type", ec2.DescribeInstancesInput{Filters: []types.Filter{filter("availability-zone", "us-east-1b"), filter("instance-type", "m5.*"), filter("instance-state-name", "running")}}, []string{ids[4], ids[7], ids[10]}},
		{"by id", ec2.DescribeInstancesInput{InstanceIds: ids[5:7]}, ids[5:7]},
	}
	for _, row := range rows {
		if diff := cmp.Diff(row.want, read(&row.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	_, err := r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: aws.Int32(4)})
	wantError(t, err, "InvalidParameterValue", "greater than or equal to 5")
	_, err = r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-nonsense"}})
	wantError(t, err, "InvalidInstanceID.Malformed", "i-nonsense")
	_, err = r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{ids[0], "i-00000000000000000", "i-11111111111111111"}})
	wantError(t, err, "InvalidInstanceID.NotFound", "'i-00000000000000000, i-11111111111111111' do not exist")
}
