package launchconfig

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// A config that was stored before tokens were required of new ones keeps its fingerprint, whatever
// is lost; a new one keeps asking for tokens.
func TestTokensRequired(t *testing.T) {
	t.Parallel()
	spec := infrav1.AWSLaunchConfigSpec{ClusterName: "one", AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}}
	fingerprint := func(required bool) string {
		made, err := launchtemplate.NewInput(&spec, launchtemplate.Resolved{TokensRequired: required})
		if err != nil {
			t.Fatal(err)
		}
		return made.Fingerprints.Config
	}
	older, newer := fingerprint(false), fingerprint(true)
	tagged, untagged := &launchtemplate.Template{Tags: map[string]string{infrav1.TagTokens: "required"}}, &launchtemplate.Template{}
	pool := []metav1.OwnerReference{{Kind: "AWSMachinePool", Name: "pool", Controller: ptr.To(true)}}
	cloned := map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "shared"}
	for _, row := range []struct {
		reason      string
		template    *launchtemplate.Template
		lost        string
		fingerprint string
		versions    []string
		owners      []metav1.OwnerReference
		annotations map[string]string
		change      func(*infrav1.AWSLaunchConfigSpec)
		want        bool
	}{
		{reason: "a new config", want: true},
		{reason: "a new config that says what it wants: should it say nothing later, it is new still", change: func(spec *infrav1.AWSLaunchConfigSpec) {
			spec.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{HTTPTokens: infrav1.HTTPTokensOptional}
		}, want: true},
		{reason: "a pool's is as CAPA has it", owners: pool},
		{reason: "and stays so", owners: pool, template: untagged, fingerprint: older},
		{reason: "a pool's from an AWSLaunchConfigTemplate, which CAPA has not", owners: pool, annotations: cloned, want: true},
		{reason: "a pool's that goes over to such a template", owners: pool, annotations: cloned, template: untagged, fingerprint: older},
		{reason: "the template knows", template: tagged, want: true},
		{reason: "after an edit and a move too", template: tagged, fingerprint: "", want: true},
		{reason: "a template of an earlier release", template: untagged, fingerprint: older},
		{reason: "after a move", template: untagged},
		{reason: "after an edit", template: untagged, fingerprint: "another"},
		{reason: "an earlier one that says what it wants is not made new by that", template: untagged, change: func(spec *infrav1.AWSLaunchConfigSpec) {
			spec.MetadataOptions = &infrav1.MetadataOptions{}
		}, fingerprint: newer},
		{reason: "another client removed the tag", template: untagged, fingerprint: newer, want: true},
		{reason: "another client deleted the template", lost: "lt-1", fingerprint: newer, want: true},
		{reason: "of an earlier release", lost: "lt-1", fingerprint: older},
		{reason: "and another configuration was launched instead", lost: "lt-1", fingerprint: "another", versions: []string{"another", newer}, want: true},
		{reason: "that of an earlier release too", lost: "lt-1", fingerprint: "another", versions: []string{"another", older}},
		{reason: "and the spec was edited before the template was recreated", lost: "lt-1", fingerprint: "another", versions: []string{"another"}, want: true},
		{reason: "and the spec says what it wants", lost: "lt-1", fingerprint: newer, change: func(spec *infrav1.AWSLaunchConfigSpec) {
			spec.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{HTTPTokens: infrav1.HTTPTokensRequired}
		}, want: true},
	} {
		config := &infrav1.AWSLaunchConfig{Spec: *spec.DeepCopy()}
		config.OwnerReferences, config.Annotations = row.owners, row.annotations
		config.Status.ConfigFingerprint, config.Status.LastLostTemplateID = row.fingerprint, row.lost
		for _, version := range row.versions {
			config.Status.Versions = append(config.Status.Versions, infrav1.LaunchTemplateVersionStatus{ConfigFingerprint: version})
		}
		if row.change != nil {
			row.change(&config.Spec)
		}
		if got := tokensRequired(config, launchtemplate.Observation{Template: row.template}, launchtemplate.Resolved{}); got != row.want {
			t.Errorf("%s: tokens are required: %t, want %t", row.reason, got, row.want)
		}
	}
}

// Device settings that depend on the image can be refused only once the image is known.
func TestDeviceContradictions(t *testing.T) {
	t.Parallel()
	image := discovery.Image{ID: "ami-1", RootDeviceName: "/dev/xvda", RootSnapshotSizeGiB: 20}
	root := func(ebs *infrav1.EBSBlockDevice) infrav1.BlockDeviceMapping {
		return infrav1.BlockDeviceMapping{DeviceName: "/dev/xvda", EBS: ebs}
	}
	for _, row := range []struct {
		rule, reason  string
		mapping       infrav1.BlockDeviceMapping
		rootVolume    *infrav1.Volume
		refused, says string
	}{
		{rule: "BD1", reason: "the root device in one field", mapping: root(&infrav1.EBSBlockDevice{})},
		{rule: "BD1", reason: "in two", mapping: root(&infrav1.EBSBlockDevice{}), rootVolume: &infrav1.Volume{Size: 20}, refused: infrav1.InvalidSpecReason, says: "is also configured by rootVolume"},
		{rule: "BD10", reason: "no root device", mapping: infrav1.BlockDeviceMapping{DeviceName: "/dev/xvda", NoDevice: ptr.To(true)}, refused: infrav1.InvalidSpecReason, says: "instances boot from /dev/xvda"},
		{rule: "BD11", reason: "a root device that boots", mapping: root(&infrav1.EBSBlockDevice{VolumeType: infrav1.VolumeTypeStandard})},
		{rule: "BD11", reason: "one that does not", mapping: root(&infrav1.EBSBlockDevice{VolumeType: infrav1.VolumeTypeST1}), refused: infrav1.InvalidSpecReason, says: "cannot boot from st1"},
		{rule: "BD2", reason: "as large as the image", mapping: root(&infrav1.EBSBlockDevice{VolumeSize: ptr.To[int32](20)})},
		{rule: "BD2", reason: "too small for the image", mapping: root(&infrav1.EBSBlockDevice{VolumeSize: ptr.To[int32](19)}), refused: infrav1.RootVolumeTooSmallReason, says: "needs at least 20 GiB"},
		{rule: "BD2", reason: "a snapshot has a size", mapping: infrav1.BlockDeviceMapping{DeviceName: "/dev/sdb", EBS: &infrav1.EBSBlockDevice{SnapshotID: "snap-1"}}},
		{rule: "BD2", reason: "nothing has none", mapping: infrav1.BlockDeviceMapping{DeviceName: "/dev/sdb", EBS: &infrav1.EBSBlockDevice{}}, refused: infrav1.InvalidSpecReason, says: "Set volumeSize or snapshotId"},
	} {
		spec := &infrav1.AWSLaunchConfigSpec{}
		spec.BlockDeviceMappings, spec.RootVolume = []infrav1.BlockDeviceMapping{row.mapping}, row.rootVolume
		if reason, message := contradiction(spec, discovery.InstanceType{}, image); reason != row.refused || !strings.Contains(message, row.says) {
			t.Errorf("%s, %s: refused for %q, want %q: %s", row.rule, row.reason, reason, row.refused, message)
		}
	}
}

// TestSameDefault holds that a list of versions which was read before another version became the default
// is not taken for the present one: the earlier default would never be pruned.
func TestSameDefault(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		versions []launchtemplate.Version
		want     bool
	}{
		{"the default is the template's", []launchtemplate.Version{{Number: 1}, {Number: 2, Default: true}}, true},
		{"the list lags behind", []launchtemplate.Version{{Number: 1, Default: true}, {Number: 2}}, false},
		{"only versions that were asked for are listed", []launchtemplate.Version{{Number: 1}}, true},
	} {
		if got := sameDefault(row.versions, launchtemplate.Template{DefaultVersion: 2}); got != row.want {
			t.Errorf("%s: got %t, want %t", row.reason, got, row.want)
		}
	}
}
