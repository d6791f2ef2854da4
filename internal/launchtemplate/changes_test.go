package launchtemplate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// before returns the spec and the resolved values that the rows of TestChanges modify.
func before() (infrav1.AWSLaunchConfigSpec, launchtemplate.Resolved) {
	return infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{
			InstanceType: "m5.large", IamInstanceProfile: "nodes", SSHKeyName: ptr.To("ops"), RootVolume: &infrav1.Volume{Size: 20, Type: "gp3"},
			InstanceMetadataOptions: &infrav1.InstanceMetadataOptions{HTTPTokens: "optional"},
		}}, launchtemplate.Resolved{
			ImageID: "ami-0a1b2c3d4e5f60718", RootDeviceName: "/dev/sda1", SecurityGroupIDs: []string{"sg-0000000000000000a", "sg-0000000000000000b"},
			UserData: []byte("#cloud-config\nruncmd: [kubeadm join --token " + firstToken + "]\n"),
			Tags:     map[string]string{"Name": "pool", "team": "blue"},
		}
}

// made returns the data of a version with the input, as EC2 gives it back.
func (r *rig) made(input launchtemplate.Input) launchtemplate.Data {
	r.Helper()
	version, seen, _, err := r.templates.Ensure(r.Context(), launchtemplate.Wanted{
		Owner: owner, Names: []string{"pool"}, Input: input, Tags: map[string]string{infrav1.TagLaunchConfig: owner},
	}, launchtemplate.Observation{})
	if err != nil {
		r.Fatal(err)
	}
	data, err := r.templates.Data(r.Context(), seen.Template.ID, version.Number)
	if err != nil {
		r.Fatal(err)
	}
	return data
}

func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec, resolved := before()
	input, err := launchtemplate.NewInput(&spec, resolved)
	if err != nil {
		t.Fatal(err)
	}
	old := r.made(input)
	for _, row := range []struct {
		reason string
		change func(*infrav1.AWSLaunchConfigSpec, *launchtemplate.Resolved)
		want   []string
	}{
		{"nothing", func(*infrav1.AWSLaunchConfigSpec, *launchtemplate.Resolved) {}, nil},
		{"a token rotates", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) {
			resolved.UserData = []byte("#cloud-config\nruncmd: [kubeadm join --token " + secondToken + "]\n")
		}, nil},
		{"the instance type", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) { spec.InstanceType = "m6i.large" },
			[]string{"instance type m5.large → m6i.large"}},
		{"the image", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) {
			resolved.ImageID = "ami-0a1b2c3d4e5f60719"
		},
			[]string{"image ami-0a1b2c3d4e5f60718 → ami-0a1b2c3d4e5f60719"}},
		{"groups are a set", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) {
			resolved.SecurityGroupIDs = []string{"sg-0000000000000000c", "sg-0000000000000000a"}
		}, []string{"security group sg-0000000000000000b removed", "security group sg-0000000000000000c added"}},
		{"volumes by device", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) {
			spec.RootVolume.Size, spec.RootVolume.IOPS = 30, 4000
			spec.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 100}}
		}, []string{"volume /dev/sda1 iops none → 4000", "volume /dev/sda1 size in GiB 20 → 30", "volume /dev/sdb added"}},
		{"what is unset", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) {
			spec.SSHKeyName, spec.IamInstanceProfile = nil, ""
		}, []string{"instance profile nodes → none", "key pair ops → none"}},
		{"what is within", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) {
			spec.InstanceMetadataOptions.HTTPTokens, spec.InstanceMetadataOptions.HTTPPutResponseHopLimit = "required", 2
		}, []string{"metadata hop limit none → 2", "metadata http tokens optional → required"}},
		{"Spot", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) {
			spec.SpotMarketOptions = &infrav1.SpotMarketOptions{MaxPrice: ptr.To("0.2")}
		}, []string{"market type none → spot", "Spot max price none → 0.2"}},
		{"a value that is none is not the same as no value", func(spec *infrav1.AWSLaunchConfigSpec, _ *launchtemplate.Resolved) {
			spec.CapacityReservationPreference = infrav1.CapacityReservationPreferenceNone
		}, []string{`capacity reservation preference none → "none"`}},
		{"tags by key, those of instances and volumes once", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) {
			resolved.Tags = map[string]string{"team": "secret", "cost": "secret"}
		}, []string{"tag Name removed", "tag cost added", "tag team changed"}},
		{"bootstrap data, never what", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) {
			resolved.UserData = []byte("#cloud-config\nruncmd: [secret]\n")
		}, []string{"bootstrap data changed"}},
		{"no bootstrap data any more", func(_ *infrav1.AWSLaunchConfigSpec, resolved *launchtemplate.Resolved) { resolved.UserData = nil },
			[]string{"bootstrap data changed"}},
	} {
		spec, resolved := before()
		row.change(&spec, &resolved)
		input, err := launchtemplate.NewInput(&spec, resolved)
		if err != nil {
			t.Fatal(err)
		}
		got := launchtemplate.Changes(old, input)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		if strings.Contains(strings.Join(got, ""), "secret") {
			t.Errorf("%s: %q reveals a secret", row.reason, got)
		}
		if between := r.changesOnceStored(old, input); !slices.Equal(between, got) {
			t.Errorf("%s: between the versions that EC2 stored %q differs, and before %q", row.reason, between, got)
		}
	}
}

// changesOnceStored returns what differs between a version and the one that EC2 makes of an input.
func (r *rig) changesOnceStored(old launchtemplate.Data, input launchtemplate.Input) []string {
	r.Helper()
	create := launchtemplate.CreateVersion{Owner: owner, TemplateID: old.TemplateID(), Input: input, Beside: true}
	answer, _, err := r.templates.Do(r.Context(), create, launchtemplate.Observation{Template: &launchtemplate.Template{
		ID: old.TemplateID(), Name: "pool", Tags: map[string]string{infrav1.TagLaunchConfig: owner},
	}})
	if err != nil {
		r.Fatal(err)
	}
	r.sim.ClearCalls()
	changes, err := r.templates.Changes(r.Context(), old.TemplateID(), old.Number(), answer.Version.Number)
	if err != nil {
		r.Fatal(err)
	}
	if calls := r.sim.Calls(); len(calls) != 1 {
		r.Errorf("comparing two versions took %d calls, want 1", len(calls))
	}
	return changes
}

// TestChangesLaw holds that what differs is said exactly when the config's fingerprint says that it does.
func TestChangesLaw(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec, resolved := before()
	input, err := launchtemplate.NewInput(&spec, resolved)
	if err != nil {
		t.Fatal(err)
	}
	old := r.made(input)
	rapid.Check(t, func(t *rapid.T) {
		spec, resolved := before()
		spec.InstanceType = rapid.SampledFrom([]string{"m5.large", "m6i.large"}).Draw(t, "type")
		spec.RootVolume.Size = rapid.SampledFrom([]int64{20, 30}).Draw(t, "size")
		if rapid.Bool().Draw(t, "more volumes") {
			spec.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 8}}
		}
		resolved.Tags["team"] = rapid.SampledFrom([]string{"blue", "red"}).Draw(t, "team")
		resolved.SecurityGroupIDs = rapid.SampledFrom([][]string{{"sg-0000000000000000a", "sg-0000000000000000b"}, {"sg-0000000000000000b", "sg-0000000000000000a"}, {"sg-0000000000000000a"}}).Draw(t, "groups")
		token := rapid.SampledFrom([]string{firstToken, secondToken}).Draw(t, "token")
		command := rapid.SampledFrom([]string{"join", "init"}).Draw(t, "command")
		resolved.UserData = []byte("#cloud-config\nruncmd: [kubeadm " + command + " --token " + token + "]\n")
		next, err := launchtemplate.NewInput(&spec, resolved)
		if err != nil {
			t.Fatal(err)
		}
		said := launchtemplate.Changes(old, next)
		if (len(said) == 0) != (next.Fingerprints.Config == input.Fingerprints.Config) {
			t.Errorf("fingerprints %s and %s, and %q differs", input.Fingerprints.Config, next.Fingerprints.Config, said)
		}
	})
}

// TestWithBootstrap holds that an old config is the same config with a new token, and asked for as it was.
func TestWithBootstrap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec, resolved := before()
	spec.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 100, Type: "gp3", IOPS: 4000, Throughput: ptr.To[int64](250), Encrypted: ptr.To(true)}}
	spec.SpotMarketOptions = &infrav1.SpotMarketOptions{MaxPrice: ptr.To("0.2")}
	spec.PrivateDNSName = &infrav1.PrivateDNSName{HostnameType: ptr.To("resource-name"), EnableResourceNameDNSARecord: ptr.To(true)}
	spec.EnclaveOptions = &infrav1.EnclaveOptions{Enabled: ptr.To(false)}
	resolved.ImageKey = "0123456789abcdef"
	input, err := launchtemplate.NewInput(&spec, resolved)
	if err != nil {
		t.Fatal(err)
	}
	old := r.made(input)
	if old.Number() != 1 {
		t.Errorf("version %d", old.Number())
	}
	same, err := old.WithBootstrap(resolved)
	if err != nil || same.Fingerprints != input.Fingerprints {
		t.Errorf("fingerprints %+v, want %+v; error %v", same.Fingerprints, input.Fingerprints, err)
	}
	fresh, err := old.WithBootstrap(launchtemplate.Resolved{UserData: []byte("#cloud-config\nruncmd: [kubeadm join --token " + secondToken + "]\n")})
	if err != nil || fresh.Fingerprints.Config != input.Fingerprints.Config || fresh.Fingerprints.Bootstrap == input.Fingerprints.Bootstrap {
		t.Errorf("with another token the fingerprints are %+v, were %+v; error %v", fresh.Fingerprints, input.Fingerprints, err)
	}
	other, err := old.WithBootstrap(launchtemplate.Resolved{UserData: []byte("#cloud-config\nruncmd: [something else]\n")})
	if err != nil || other.Fingerprints.Config == input.Fingerprints.Config {
		t.Errorf("other bootstrap data is the same config: %+v; error %v", other.Fingerprints, err)
	}
	if said := launchtemplate.Changes(old, other); !slices.Equal(said, []string{"bootstrap data changed"}) {
		t.Errorf("what differs is %q", said)
	}
	if _, err := r.templates.Data(t.Context(), old.TemplateID(), 9); err == nil || !strings.Contains(err.Error(), "describing version 9 of launch template") {
		t.Errorf("error %v", err)
	}
}
