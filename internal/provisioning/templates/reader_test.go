package templates

import (
	"context"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// configs are AWSLaunchConfigs by namespace and name, or the error with which the API server answers.
type configs struct {
	all map[string]*infrav1.AWSLaunchConfig
	err error
}

// LaunchConfig implements Configs.
func (c *configs) LaunchConfig(_ context.Context, namespace, name string) (*infrav1.AWSLaunchConfig, error) {
	if config := c.all[namespace+"/"+name]; config != nil || c.err != nil {
		return config, c.err
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "awslaunchconfigs"}, name)
}

// only allows one instance profile, and no other; none is one too.
type only string

// Problem implements Profiles.
func (o only) Problem(_ context.Context, profile string) (string, error) {
	switch {
	case o == "?":
		return "", errors.New("the API server is away")
	case profile != string(o):
		return "instance profile " + profile + " is not allowed", nil
	}
	return "", nil
}

// rig is a simulated AWS, and a reader of the launch templates there.
type rig struct {
	*testing.T
	*Reader
	sim     *awssim.Simulator
	clock   *simclock.Clock
	ec2     *ec2.Client
	configs configs
}

func newRig(t *testing.T) *rig {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	clients, err := aws.NewSessions(config, aws.WithClock(clock)).For(t.Context(), aws.Principal{}, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, sim: sim, clock: clock, ec2: ec2.NewFromConfig(config)}
	r.Reader = &Reader{Inspection: inspection.NewReader(discovery.New(clients, clock)), Configs: &r.configs}
	return r
}

// image returns the newest image of the world whose name begins so.
func (r *rig) image(prefix string) *string {
	r.Helper()
	found, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: awssdk.String("name"), Values: []string{prefix + "*"}}}})
	if err != nil || len(found.Images) == 0 {
		r.Fatalf("%d images are called %s*: %v", len(found.Images), prefix, err)
	}
	return found.Images[0].ImageId
}

// linux returns the content of a launch template that nodes can be launched from.
func (r *rig) linux() *ec2types.RequestLaunchTemplateData {
	r.Helper()
	return &ec2types.RequestLaunchTemplateData{
		ImageId: r.image("amazon-eks-node-al2023-x86_64-standard-1.36-"), UserData: awssdk.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\n"))),
		IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: awssdk.String("nodes")},
	}
}

// template creates a launch template, with tags in pairs, and returns its ID.
func (r *rig) template(name string, data *ec2types.RequestLaunchTemplateData, tags ...string) string {
	r.Helper()
	input := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data}
	for i := 0; i < len(tags); i += 2 {
		if i == 0 {
			input.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate}}
		}
		input.TagSpecifications[0].Tags = append(input.TagSpecifications[0].Tags, ec2types.Tag{Key: &tags[i], Value: &tags[i+1]})
	}
	made, err := r.ec2.CreateLaunchTemplate(r.Context(), input)
	if err != nil {
		r.Fatal(err)
	}
	return *made.LaunchTemplate.LaunchTemplateId
}

// refuse has EC2 refuse all descriptions of launch templates, until the returned function is called.
func (r *rig) refuse() (again func()) {
	r.Helper()
	id, err := r.sim.AddFault(awssim.Fault{Service: "ec2", Action: "DescribeLaunchTemplates", Code: "UnauthorizedOperation", Message: "not now", Status: 403})
	if err != nil {
		r.Fatal(err)
	}
	return func() { r.sim.RemoveFault(id) }
}

// TestReadContents holds what is read of a version that decides about nodes.
func TestReadContents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	data := r.linux()
	data.InstanceType = "m5.large"
	data.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
	data.NetworkInterfaces = []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: awssdk.Int32(0), SubnetId: awssdk.String("subnet-0b2000000000000aa"), Groups: []string{"sg-0c1000000000000ab"}}}
	data.BlockDeviceMappings = []ec2types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: awssdk.String("/dev/xvda"), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: awssdk.Int32(80)}}}
	id := r.template("all", data, "team", "web")
	got, err := r.Read(t.Context(), constraints.Reference{ID: id, Version: "default"})
	want := Known{
		ID: id, ImageID: *data.ImageId, FixesSubnet: true,
		Template: constraints.Template{
			Name: "all", Version: 1, Architecture: "amd64", InstanceTypes: []string{"m5.large"}, Zones: []string{"us-east-1a"}, CapacityType: provisioningv1.CapacityTypeSpot,
			EphemeralStorage: 80 << 30, Tags: map[string]string{"team": "web"}, InstanceProfile: "nodes",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("read (-want +got), error %v:\n%s", err, diff)
	}
	refused := constraints.Refused{{InstanceType: "m5.large"}: "no"}
	layer := got.Layer(refused)
	want.Template.FixesSubnet, want.Refused = true, refused
	if diff := cmp.Diff(want.Template, layer); diff != "" || got.Template.FixesSubnet {
		t.Errorf("its layer (-want +got), and what was read is changed: %v:\n%s", got.Template.FixesSubnet, diff)
	}
}

// TestReadProblems holds why nothing is launched from what a reference leads to. A problem is an
// answer, and no error.
func TestReadProblems(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	edited := func(name string, edit func(*ec2types.RequestLaunchTemplateData)) {
		data := r.linux()
		edit(data)
		r.template(name, data)
	}
	edited("web", func(*ec2types.RequestLaunchTemplateData) {})
	edited("no-image", func(d *ec2types.RequestLaunchTemplateData) { d.ImageId = nil })
	edited("no-user-data", func(d *ec2types.RequestLaunchTemplateData) { d.UserData = nil })
	edited("other-architecture", func(d *ec2types.RequestLaunchTemplateData) { d.InstanceType = "m6g.large" })
	edited("windows", func(d *ec2types.RequestLaunchTemplateData) {
		d.ImageId = r.image("Windows_Server-2022-English-Core-EKS_Optimized-")
	})
	edited("token", func(d *ec2types.RequestLaunchTemplateData) {
		d.UserData = awssdk.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\nkubeadm join --token abcdef.0123456789abcdef 10.0.0.1:6443\n")))
	})
	for _, row := range []struct {
		reason   string
		of       constraints.Reference
		problem  string
		warnings string
	}{
		{"nothing is wrong", constraints.Reference{Name: "web", Version: "1"}, "", ""},
		{"there is none of the name", constraints.Reference{Name: "none", Version: "latest"}, "does not exist in this region, or was deleted", ""},
		{"there is none of the ID", constraints.Reference{ID: "lt-00000000000000000", Version: "latest"}, "does not exist in this region, or was deleted", ""},
		{"a version that there is not", constraints.Reference{Name: "web", Version: "2"}, "version 2", ""},
		{"a version that is no number", constraints.Reference{Name: "web", Version: "newest"}, `"newest" is not a version of a launch template`, ""},
		{"a version below the first", constraints.Reference{Name: "web", Version: "0"}, `"0" is not a version of a launch template`, ""},
		{"it names no image", constraints.Reference{Name: "no-image", Version: "latest"}, "it has no image, and a Provisioner " +
			"cannot provide one", ""},
		{"image and type do not go together", constraints.Reference{Name: "other-architecture", Version: "latest"}, "and instance type m6g.large runs arm64", ""},
		{"Windows", constraints.Reference{Name: "windows", Version: "latest"}, "its image is for Windows", ""},
		{"nothing has nodes join", constraints.Reference{Name: "no-user-data", Version: "latest"}, "", "it has no user data"},
		{"nodes join for a day", constraints.Reference{Name: "token", Version: "latest"}, "", "its user data has a kubeadm bootstrap token"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got, err := r.Read(t.Context(), row.of)
			if err != nil || !strings.Contains(got.Problem, row.problem) || (got.Problem == "") != (row.problem == "") {
				t.Errorf("the problem is %q, error %v", got.Problem, err)
			}
			if warnings := strings.Join(got.Warnings, "; "); !strings.Contains(warnings, row.warnings) || (warnings == "") != (row.warnings == "") {
				t.Errorf("the warnings are %q", warnings)
			}
			if want := map[bool]string{true: provisioningv1.TemplateUnusableReason}[row.problem != ""]; got.Reason != want {
				t.Errorf("the reason is %q, want %q", got.Reason, want)
			}
		})
	}
}

// TestReadConfigs holds that nodes are launched from the launch template of an AWSLaunchConfig only
// if its tags, or the spec, prove that it is that: users who may write a status could name the
// launch template of another tenant.
func TestReadConfigs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owned := r.template("owned", r.linux(), infrav1.TagLaunchConfig, "team/prod/web")
	others := r.template("others", r.linux(), infrav1.TagLaunchConfig, "rival/prod/web")
	plain := r.template("plain", r.linux())
	provider := r.template("provider", r.linux(), infrav1.TagProviderClusterPrefix+"rival", infrav1.TagValueOwned)
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: "AWSLaunchConfig"}}
	for _, row := range []struct {
		reason   string
		status   string // the launch template of the status
		version  int64
		existing *infrav1.ExistingLaunchTemplate
		err      error
		problem  string
		fails    bool
	}{
		{reason: "its tags name the config", status: owned, version: 1},
		{reason: "they name another tenant's", status: others, version: 1, problem: `does not have tag ` + infrav1.TagLaunchConfig + ` with value "team/prod/web"`},
		{reason: "it has no tags", status: plain, version: 1, problem: "does not have tag"},
		{reason: "there is no launch template yet", version: 1, problem: "AWSLaunchConfig team/web has no launch template yet"},
		{reason: "there is no version yet", status: owned, problem: "AWSLaunchConfig team/web has no launch template yet"},
		{reason: "the version is gone", status: owned, version: 9, problem: "version 9"},
		{reason: "the spec names it by ID", status: plain, version: 1, existing: &infrav1.ExistingLaunchTemplate{ID: plain}},
		{reason: "the spec names it by name", status: plain, version: 1, existing: &infrav1.ExistingLaunchTemplate{Name: "plain"}},
		{reason: "the spec names another one by ID", status: plain, version: 1, existing: &infrav1.ExistingLaunchTemplate{ID: owned}, problem: "has not yet read the launch template that its spec names"},
		{reason: "the spec names another one by name", status: others, version: 1, existing: &infrav1.ExistingLaunchTemplate{Name: "plain"}, problem: "has not yet read the launch template that its spec names"},
		{reason: "the spec names another tenant's", status: others, version: 1, existing: &infrav1.ExistingLaunchTemplate{ID: others}, problem: `is owned by "rival/prod/web" according to its tags`},
		{reason: "the spec names a cluster's of Cluster API Provider AWS", status: provider, version: 1, existing: &infrav1.ExistingLaunchTemplate{ID: provider}, problem: `is owned by cluster "rival" of Cluster API Provider AWS according to its tags`},
		{reason: "there is no such config", err: apierrors.NewNotFound(schema.GroupResource{Resource: "awslaunchconfigs"}, "web"), problem: "AWSLaunchConfig team/web does not exist"},
		{reason: "there is no such kind", err: missing, problem: "use launchTemplateRef instead"},
		{reason: "the API server does not respond", err: errors.New("the API server is away"), fails: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
			config.Spec.ClusterName, config.Spec.Existing = "prod", row.existing
			config.Status.LaunchTemplateID, config.Status.Version = row.status, row.version
			reader := &Reader{Inspection: r.Inspection, Configs: &configs{all: map[string]*infrav1.AWSLaunchConfig{"team/web": config}, err: row.err}}
			got, err := reader.Read(t.Context(), constraints.Reference{Config: "team/web", Version: "latest"})
			if (err != nil) != row.fails || !strings.Contains(got.Problem, row.problem) || (got.Problem == "") != (row.problem == "") {
				t.Errorf("the problem is %q, error %v", got.Problem, err)
			}
			if row.problem == "" && !row.fails && (got.ID != row.status || got.Version != row.version) {
				t.Errorf("nodes are launched from %s version %d", got.ID, got.Version)
			}
			if row.problem != "" && (got.ID != "" || got.Reason == "") {
				t.Errorf("with the reason %q, %s is launched from", got.Reason, got.ID)
			}
		})
	}
}

// TestReadProfiles holds that the limit of instance profiles applies to what is launched from, and
// that nothing is launched where it cannot be read.
func TestReadProfiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.template("web", r.linux())
	without := r.linux()
	without.ImageId = nil
	r.template("no-image", without)
	for _, row := range []struct {
		reason, name   string
		profiles       Profiles
		problem, cause string
		fails          bool
	}{
		{"no limit", "web", nil, "", "", false},
		{"it is allowed", "web", only("nodes"), "", "", false},
		{"it is not", "web", only("others"), "instance profile nodes is not allowed", infrav1.InstanceProfileNotAllowedReason, false},
		{"the limit cannot be read", "web", only("?"), "", "", true},
		{"another problem comes first", "no-image", only("?"), "it has no image, and a Provisioner cannot provide one", provisioningv1.TemplateUnusableReason, false},
	} {
		reader := &Reader{Inspection: r.Inspection, Profiles: row.profiles}
		got, err := reader.Read(t.Context(), constraints.Reference{Name: row.name, Version: "latest"})
		if got.Problem != row.problem || got.Reason != row.cause || (err != nil) != row.fails {
			t.Errorf("%s: %s, %q, error %v", row.reason, got.Reason, got.Problem, err)
		}
	}
}

// TestReadWhileAWSIsAway holds that the last observation serves while AWS does not answer, together
// with the trouble, and that there is no answer where there was none before.
func TestReadWhileAWSIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := constraints.Reference{Name: "web", Version: "latest"}
	r.template("web", r.linux())
	again := r.refuse()
	if known, err := r.Read(t.Context(), web); err == nil {
		t.Errorf("nothing was read before, and it is %+v", known)
	}
	again()
	before, err := r.Read(t.Context(), web)
	if err != nil || before.Trouble != nil || before.Name != "web" {
		t.Fatalf("read %+v, error %v", before, err)
	}
	again = r.refuse()
	r.clock.Step(time.Hour)
	during, err := r.Read(t.Context(), web)
	if diff := cmp.Diff(before, during, cmpopts.IgnoreFields(Known{}, "Trouble")); diff != "" || err != nil || during.Trouble == nil {
		t.Errorf("while AWS is away, trouble %v, error %v (-before +during):\n%s", during.Trouble, err, diff)
	}
	again()
	if after, err := r.Read(t.Context(), web); err != nil || after.Trouble != nil {
		t.Errorf("when it is back, trouble %v, error %v", after.Trouble, err)
	}
}

// TestForget holds that nothing is launched any longer from what EC2 says is gone, by whatever
// reference it was read and even if AWS then does not answer, until it is read again.
func TestForget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Forget("lt-1") // before anything was read
	id := r.template("web", r.linux())
	r.template("other", r.linux())
	references := []constraints.Reference{{Name: "web", Version: "latest"}, {ID: id, Version: "1"}}
	other := constraints.Reference{Name: "other", Version: "latest"}
	for _, reference := range append(references, other) {
		if _, err := r.Read(t.Context(), reference); err != nil {
			t.Fatal(err)
		}
	}
	r.Forget(id)
	again := r.refuse()
	for _, reference := range references {
		if known, err := r.Read(t.Context(), reference); err != nil || known.Problem != "EC2 reports that launch template "+id+" or its version 1 does not exist" || known.Reason != provisioningv1.TemplateUnusableReason {
			t.Errorf("%s is %+v, error %v", reference, known, err)
		}
	}
	if known, err := r.Read(t.Context(), other); err != nil || known.Problem != "" {
		t.Errorf("the other one has the problem %q, error %v", known.Problem, err)
	}
	again()
	for _, reference := range references {
		if known, err := r.Read(t.Context(), reference); err != nil || known.Problem != "" || known.ID != id {
			t.Errorf("read again, %s is %+v, error %v", reference, known, err)
		}
	}
}
