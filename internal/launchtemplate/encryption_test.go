package launchtemplate_test

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// unencrypted returns a config with two volumes that are not encrypted, with an image that exists.
func (r *rig) unencrypted() (infrav1.AWSLaunchConfigSpec, launchtemplate.Resolved) {
	r.Helper()
	images, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("architecture"), Values: []string{"x86_64"}}},
	})
	if err != nil || len(images.Images) == 0 {
		r.Fatalf("there is no image: %v", err)
	}
	spec, resolved := before()
	spec.IamInstanceProfile, spec.SSHKeyName, resolved.SecurityGroupIDs = "", nil, nil
	spec.RootVolume = &infrav1.Volume{Size: 30, Type: "gp3", Encrypted: ptr.To(false)}
	spec.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 20, Encrypted: ptr.To(false)}}
	resolved.ImageID, resolved.RootDeviceName = *images.Images[0].ImageId, *images.Images[0].RootDeviceName
	return spec, resolved
}

func newInput(t *testing.T, spec infrav1.AWSLaunchConfigSpec, resolved launchtemplate.Resolved) launchtemplate.Input {
	t.Helper()
	input, err := launchtemplate.NewInput(&spec, resolved)
	if err != nil {
		t.Fatal(err)
	}
	return input
}

// TestFalseEncryptionIsLeftOut: EC2 refuses to launch a version that says that a volume of a
// snapshot is not encrypted.
func TestFalseEncryptionIsLeftOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec, resolved := r.unencrypted()
	input := newInput(t, spec, resolved)
	old := r.made(input)
	stored, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: awssdk.String(old.TemplateID())})
	if err != nil {
		t.Fatal(err)
	}
	mappings := stored.LaunchTemplateVersions[0].LaunchTemplateData.BlockDeviceMappings
	for _, mapping := range mappings {
		if mapping.Ebs.Encrypted != nil {
			t.Errorf("the version says encrypted %t of %s", *mapping.Ebs.Encrypted, *mapping.DeviceName)
		}
	}
	if len(mappings) != 2 {
		t.Errorf("the version has %d volumes", len(mappings))
	}
	if err := r.templates.DryRun(t.Context(), old.TemplateID(), 1, input, "subnet-0b2000000000000aa"); err != nil {
		t.Errorf("the version cannot be launched: %v", err)
	}
	// A version that is handed back to CAPA is found again.
	back, err := input.ForCAPA(launchtemplate.CAPAForm{InstanceType: "m5.large"})
	if err != nil {
		t.Fatal(err)
	}
	template, err := r.templates.One(t.Context(), old.TemplateID(), "")
	if err != nil {
		t.Fatal(err)
	}
	seen := launchtemplate.Observation{Template: template, Versions: []launchtemplate.Version{old.Version()}}
	for range 2 {
		number, after, err := r.templates.Release(t.Context(), owner, back, seen)
		if err != nil || number != 2 {
			t.Errorf("version %d is released: %v", number, err)
		}
		versions, err := r.templates.Versions(t.Context(), old.TemplateID())
		if err != nil {
			t.Fatal(err)
		}
		seen = after
		seen.Versions = versions
	}
}

// TestFalseEncryptionStaysTheSameConfig: that the value is not sent replaces no node, and is no difference.
func TestFalseEncryptionStaysTheSameConfig(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec, resolved := r.unencrypted()
	input := newInput(t, spec, resolved)
	old := r.made(input)
	for _, row := range []struct {
		reason string
		change func(*infrav1.AWSLaunchConfigSpec, *launchtemplate.Resolved)
		want   []string
	}{
		{"nothing", func(*infrav1.AWSLaunchConfigSpec, *launchtemplate.Resolved) {}, nil},
		{"another size", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) { spec.RootVolume.Size = 40 },
			[]string{"volume /dev/sda1 size in GiB 30 → 40"}},
		{"encryption", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) {
			spec.RootVolume.Encrypted = ptr.To(true)
		},
			[]string{"volume /dev/sda1 encrypted false → true"}},
		{"no longer said", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) { spec.RootVolume.Encrypted = nil },
			[]string{"volume /dev/sda1 encrypted false → none"}},
		{"other bootstrap data", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) {
			resolved.UserData = []byte("#cloud-config\nruncmd: [init]\n")
		}, []string{"bootstrap data changed"}},
		{"a token rotates", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) {
			resolved.UserData = []byte("#cloud-config\nruncmd: [kubeadm join --token " + secondToken + "]\n")
		}, nil},
	} {
		spec, resolved := r.unencrypted()
		row.change(&spec, &resolved)
		if diff := cmp.Diff(row.want, launchtemplate.Changes(old, newInput(t, spec, resolved))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	for reason, change := range map[string]func(*infrav1.AWSLaunchConfigSpec){
		"of both volumes": func(*infrav1.AWSLaunchConfigSpec) {},
		"of one":          func(spec *infrav1.AWSLaunchConfigSpec) { spec.NonRootVolumes[0].Encrypted = nil },
		"of none": func(spec *infrav1.AWSLaunchConfigSpec) {
			spec.RootVolume.Encrypted, spec.NonRootVolumes[0].Encrypted = nil, nil
		},
	} {
		r := newRig(t)
		spec, resolved := r.unencrypted()
		change(&spec)
		input := newInput(t, spec, resolved)
		resolved.UserData = []byte("#cloud-config\nruncmd: [kubeadm join --token " + secondToken + "]\n")
		again, err := r.made(input).WithBootstrap(resolved)
		if err != nil || again.Fingerprints.Config != input.Fingerprints.Config {
			t.Errorf("encryption was left out %s: the version is pinned as config %s, and was made as %s; %v", reason, again.Fingerprints.Config, input.Fingerprints.Config, err)
		}
	}
}
