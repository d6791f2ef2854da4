package integration

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// incompressible is a cloud-config of about the given size that gzip can do nothing about.
func incompressible(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same text each time
	text := []byte("#cloud-config\nwrite_files:\n- path: /noise\n  content: ")
	for len(text) < size {
		text = append(text, byte('!'+random.IntN(90)))
	}
	return text
}

// TestUserDataSizes holds what becomes of large bootstrap data: compressed if that helps, refused if not.
func TestUserDataSizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createSecret("by-hand", map[string][]byte{"value": incompressible(40_000)})
	w.applyExample(bootstrapBySecret("by-hand")...)
	condition := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.UserDataTooLargeReason)
	for _, part := range []string{"by-hand", "40000", "16384", "move large files"} {
		if !strings.Contains(condition.Message, part) {
			t.Errorf("the message does not say %q: %s", part, condition.Message)
		}
	}
	if templates := w.templates(); len(templates) != 0 {
		t.Errorf("there are templates %+v", templates)
	}
	large := append([]byte("#cloud-config\nwrite_files:\n- path: /zeros\n  content: "), bytes.Repeat([]byte("0"), 60_000)...)
	w.editSecret("by-hand", func(data map[string][]byte) { data["value"] = large })
	w.Eventually("what can be compressed boots two nodes", func() error { return w.settled(2) })
	data := userData(w, w.latest())
	if len(data) > 16_384 || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		t.Errorf("user data has %d bytes and begins with %x", len(data), data[:2])
	}
	if got := ptr.Deref(w.mustConfig().Status.Resolved.UserDataBytes, 0); int(got) != len(data) {
		t.Errorf("status says %d bytes of %d", got, len(data))
	}
}

// TestIgnition holds that Ignition is sent as it is.
func TestIgnition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ignition := []byte(`{"ignition":{"version":"3.3.0"}}`)
	w.createSecret("by-hand", map[string][]byte{"value": ignition, "format": []byte("ignition")})
	w.applyExample(bootstrapBySecret("by-hand")...)
	w.Eventually("two nodes join", func() error { return w.settled(2) })
	if data := userData(w, w.latest()); !bytes.Equal(data, ignition) {
		t.Errorf("user data is %q", data)
	}
}

// TestRefusals holds that a spec that AWS would refuse, or launch nothing from, is reported in a
// human-readable condition, and that correcting the spec is enough.
func TestRefusals(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason  string
		spoil   func(*infrav1.AWSLaunchTemplate)
		message string
	}{
		{infrav1.ImageNotFoundReason, func(template *infrav1.AWSLaunchTemplate) { template.ImageLookupBaseOS = "plan9" }, "plan9"},
		{infrav1.ImageNotFoundReason, func(template *infrav1.AWSLaunchTemplate) { template.AMI.ID = ptr.To("ami-0123456789abcdef0") }, "ami-0123456789abcdef0"},
		{infrav1.InstanceTypeNotFoundReason, func(template *infrav1.AWSLaunchTemplate) { template.InstanceType = "t99.large" }, "t99.large"},
		{infrav1.RootVolumeTooSmallReason, func(template *infrav1.AWSLaunchTemplate) {
			template.ImageLookupFormat, template.ImageLookupOrg = "amazon-eks-node-1.25-v*", "602401143452"
			template.RootVolume = &infrav1.Volume{Size: 10}
		}, "at least 20 GiB"},
		{infrav1.LaunchTemplateDataInvalidReason, func(template *infrav1.AWSLaunchTemplate) {
			template.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{ID: ptr.To("sg-0123456789abcdef0")}}
		}, "sg-0123456789abcdef0"},
		{infrav1.SecurityGroupNotFoundReason, func(template *infrav1.AWSLaunchTemplate) {
			template.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{Filters: []infrav1.Filter{{Name: "group-name", Values: []string{"missing"}}}}}
		}, "missing"},
	}
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	good := w.mustPool().Spec.AWSLaunchTemplate
	refused := func(reason string, spoil func(*infrav1.AWSLaunchTemplate), message string) {
		t.Helper()
		w.editPool(func(pool *infrav1.AWSMachinePool) { spoil(pool.Spec.AWSLaunchTemplate) })
		condition := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, reason)
		if !strings.Contains(condition.Message, message) {
			t.Errorf("for %s the message is %q, want it to say %q", reason, condition.Message, message)
		}
		w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, reason)
		w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate = good })
		w.Eventually("the pool is well again", func() error { return w.settled(2) })
	}
	for _, row := range rows {
		refused(row.reason, row.spoil, row.message)
	}
	image := *w.latest().ImageId
	refused(infrav1.ArchitectureMismatchReason, func(template *infrav1.AWSLaunchTemplate) {
		template.AMI.ID, template.InstanceType = &image, "m6g.large"
	}, "arm64")
	w.rest()
	// A missing group that is named by its ID is EC2's to notice: it warns about the version, which
	// is created and not used.
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1, "StartInstanceRefresh": 0, "UpdateAutoScalingGroup": 0})
	if err := equals(w.running(), instances); err != nil {
		t.Errorf("instances: %v", err)
	}
}

// TestSecretThatIsNotThere holds that missing or unreadable bootstrap data is waited for.
func TestSecretThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.applyExample(bootstrapBySecret("later")...)
	condition := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.BootstrapDataSecretNotFoundReason)
	if !strings.Contains(condition.Message, "later") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.createSecret("later", map[string][]byte{"value": []byte("#cloud-config\n"), "format": []byte("toml")})
	w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.BootstrapDataInvalidReason)
	w.editSecret("later", func(data map[string][]byte) { data["format"] = []byte("cloud-config") })
	w.Eventually("two nodes join", func() error { return w.settled(2) })
}
