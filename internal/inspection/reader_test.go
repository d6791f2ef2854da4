package inspection_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
)

// The content of the default world (awssim/world/default.yaml).
const (
	region    = "us-east-1"
	group     = "sg-0c1000000000000ab"
	subnet    = "subnet-0b2000000000000aa"
	parameter = "/aws/service/bottlerocket/aws-k8s-1.32/arm64/latest/image_id"
)

// rig is a simulated AWS with foreign templates, and a reader.
type rig struct {
	*testing.T
	inspection.Reader
	sim     *awssim.Simulator
	clock   *simclock.Clock
	clients *aws.Clients
}

func newRig(t *testing.T) *rig {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), awssim.Options{})
	clients, err := aws.NewSessions(awssimtest.Config(url, region, "123456789012"), aws.WithClock(clock)).For(t.Context(), aws.Principal{}, region)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, Reader: inspection.NewReader(discovery.New(clients, clock)), sim: sim, clock: clock, clients: clients}
}

// template creates a template of the given versions, outside Slipway, and returns its ID.
func (r *rig) template(name string, versions ...*ec2types.RequestLaunchTemplateData) string {
	r.Helper()
	made, err := r.clients.EC2.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: versions[0]})
	if err != nil {
		r.Fatal(err)
	}
	for _, version := range versions[1:] {
		if _, err := r.clients.EC2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateName: &name, LaunchTemplateData: version}); err != nil {
			r.Fatal(err)
		}
	}
	return *made.LaunchTemplate.LaunchTemplateId
}

// calls are those since the last time, by action.
func (r *rig) calls() map[string]int {
	counted := map[string]int{}
	for _, call := range r.sim.Calls() {
		counted[call.Action]++
	}
	r.sim.ClearCalls()
	return counted
}

// all returns a version that sets everything that is reported, with an image behind a parameter.
func all() *ec2types.RequestLaunchTemplateData {
	return &ec2types.RequestLaunchTemplateData{
		ImageId: awssdk.String("resolve:ssm:" + parameter), InstanceType: "m6g.large",
		InstanceMarketOptions: &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot},
		NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			{DeviceIndex: awssdk.Int32(0), Groups: []string{group}, SubnetId: awssdk.String(subnet)},
		},
		IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: awssdk.String("nodes")},
		BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMappingRequest{
			{DeviceName: awssdk.String("/dev/xvdb"), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: awssdk.Int32(80)}},
		},
		UserData: awssdk.String(base64.StdEncoding.EncodeToString([]byte("[settings]\n"))),
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("theirs", all(), &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"})
	r.calls()
	version, err := r.Read(t.Context(), inspection.Reference{Name: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	if version.Template.ID != id || version.Number != 1 || version.Template.LatestVersion != 2 || version.Fingerprints.Config == "" {
		t.Errorf("read %+v, want version 1, the default, of %s", version, id)
	}
	want := inspection.Resolved{
		ImageParameter: parameter, Architecture: "arm64", OperatingSystem: "linux", RootDeviceName: "/dev/xvda", InstanceType: "m6g.large", Market: "spot",
		SecurityGroups: []string{group}, SubnetIDs: []string{subnet}, Zones: []string{"us-east-1a"}, InstanceProfile: "nodes",
		EphemeralStorageGiB: 80, UserDataBytes: len("[settings]\n"),
	}
	if diff := cmp.Diff(want, version.Resolved, cmpopts.IgnoreFields(inspection.Resolved{}, "ImageID", "Gaps")); diff != "" {
		t.Errorf("what the version comes to (-want +got):\n%s", diff)
	}
	if _, exists := r.sim.Region("", region).Image(version.ImageID); !exists {
		t.Errorf("the parameter leads to image %q", version.ImageID)
	}
	if got := inspection.Blocking(version.Gaps, inspection.AWSMachinePool); got != "" {
		t.Errorf("a group cannot launch from it: %s", got)
	}
	wantCalls := map[string]int{
		"DescribeLaunchTemplates": 1, "DescribeLaunchTemplateVersions": 1, "GetParameter": 1, "DescribeImages": 1, "DescribeInstanceTypes": 1,
		"DescribeSubnets": 1, "DescribeSecurityGroups": 1,
	}
	if diff := cmp.Diff(wantCalls, r.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, err := r.Read(t.Context(), inspection.Reference{Name: "theirs", Version: "1"}); err != nil || len(r.calls()) != 0 {
		t.Errorf("reading it again is not free (%v)", err)
	}
}

func TestReadVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("theirs", &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"}, &ec2types.RequestLaunchTemplateData{InstanceType: "m5.xlarge"})
	for _, row := range []struct {
		reason    string
		reference inspection.Reference
		want      int64
		err       string
	}{
		{reason: "a number", reference: inspection.Reference{ID: id, Version: "2"}, want: 2},
		{reason: "the newest", reference: inspection.Reference{Name: "theirs", Version: inspection.Latest}, want: 2},
		{reason: "the default", reference: inspection.Reference{ID: id, Version: inspection.Default}, want: 1},
		{reason: "no version is the default", reference: inspection.Reference{ID: id}, want: 1},
		{reason: "a version that was never made", reference: inspection.Reference{ID: id, Version: "7"}, err: "version 7"},
		{reason: "a template that was never made, by id", reference: inspection.Reference{ID: "lt-0123456789abcdef0"}, err: "lt-0123456789abcdef0"},
		{reason: "a template that was never made, by name", reference: inspection.Reference{Name: "gone"}, err: "gone"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			version, err := r.Read(t.Context(), row.reference)
			var missing *discovery.NotFoundError
			if row.err != "" {
				if !errors.As(err, &missing) || !strings.Contains(err.Error(), row.err) {
					t.Errorf("got %v, want that %s was not found", err, row.err)
				}
				return
			}
			if err != nil || version.Number != row.want {
				t.Errorf("got version %d (%v), want %d", version.Number, err, row.want)
			}
		})
	}
	var invalid *discovery.InvalidQueryError
	if _, err := r.Read(t.Context(), inspection.Reference{ID: id, Version: "$Latest"}); !errors.As(err, &invalid) {
		t.Errorf("$Latest is taken: %v", err)
	}
}

// TestReadWhatIsGone holds that a version that names something that is gone can be read, and that
// this is reported for the version.
func TestReadWhatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	data := all()
	data.ImageId, data.InstanceType = awssdk.String("ami-0123456789abcdef0"), "m6g.large"
	data.NetworkInterfaces[0].Groups = []string{"sg-0123456789abcdef0"}
	id := r.template("theirs", data)
	version, err := r.Read(t.Context(), inspection.Reference{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, consumer := range inspection.Consumers {
		members := map[string]bool{}
		for _, gap := range version.Gaps {
			members[gap.Member] = members[gap.Member] || gap.Consumer == consumer && gap.Blocking
		}
		if !members["ImageId"] || !members["SecurityGroupIds"] {
			t.Errorf("a %s can launch what does not exist: %+v", consumer, version.Gaps)
		}
	}
	if version.Architecture != "arm64" {
		t.Errorf("without the image the architecture is %q, want the instance type's", version.Architecture)
	}
	// A change of the default version is seen within a minute.
	if _, err := r.clients.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: all()}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	if version, err = r.Read(t.Context(), inspection.Reference{ID: id, Version: inspection.Latest}); err != nil || version.Number != 2 {
		t.Errorf("the newest version is %d (%v)", version.Number, err)
	}
}
