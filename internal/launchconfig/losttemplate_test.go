package launchconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// lose deletes the config's launch template as another client, and passes until Slipway has seen that.
func (r *rig) lose() (lost string) {
	r.Helper()
	r.clock.Step(10 * time.Minute)
	lost = theTemplate(r)
	if _, err := r.ec2.DeleteLaunchTemplate(r.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &lost}); err != nil {
		r.Fatal(err)
	}
	r.cloud().SeenTemplates.Invalidate(configName)
	r.reconcile()
	r.clock.Step(describeAgain)
	r.cloud().SeenTemplates.Invalidate(configName)
	r.reconcile()
	return lost
}

// launches edits the instance type, and expects a version to be launched.
func (r *rig) launches(instanceType string, version int64) *infrav1.AWSLaunchConfig {
	r.Helper()
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = instanceType })
	config := r.reconcile()
	if config.Status.Version != version {
		r.Fatalf("version %d is launched for %s, want %d: %+v", config.Status.Version, instanceType, version, config.Status.Conditions)
	}
	return config
}

// TestRollbackOfALostTemplate holds that a rollback goes back to the configuration that it was
// written for, and to no other that has its number in a launch template that was created since.
func TestRollbackOfALostTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	r.reconcile()
	good := r.launches("m5.xlarge", 2).Status.ConfigFingerprint
	failed := r.launches("m5.2xlarge", 3).Status.ConfigFingerprint
	r.edit(func(config *infrav1.AWSLaunchConfig) {
		config.Spec.Rollback = &infrav1.Rollback{From: failed, To: good, Version: 2}
	})
	if config := r.reconcile(); config.Status.Version != 2 || config.Status.RolledBackFrom != failed {
		t.Fatalf("version %d is launched, rolled back from %q", config.Status.Version, config.Status.RolledBackFrom)
	}

	lost := r.lose()
	config := r.reconcile()
	if config.Status.LaunchTemplateID == lost || config.Status.Version != 1 || config.Status.ConfigFingerprint != failed {
		t.Fatalf("version %d with configuration %s of template %s is launched, want version 1 with %s (good %s), not of %s: %+v", config.Status.Version, config.Status.ConfigFingerprint, config.Status.LaunchTemplateID, failed, good, lost, config.Status)
	}
	r.launches("c5.large", 2)
	r.launches("m5.2xlarge", 1) // what failed, because nothing has the configuration to go back to
	r.launches("m5.xlarge", 3)  // the configuration to go back to, by another number
	config = r.launches("m5.2xlarge", 3)
	if config.Status.ConfigFingerprint != good || config.Status.RolledBackFrom != failed {
		t.Errorf("configuration %s is launched, rolled back from %q, want %s and %s", config.Status.ConfigFingerprint, config.Status.RolledBackFrom, good, failed)
	}
}

// TestRollbackOfAnEarlierRelease holds that a rollback without a fingerprint goes by its number.
func TestRollbackOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	w := readyWorld(t)
	w.config.Spec.InstanceType = "m5.xlarge"
	w.pass()
	w.config.Spec.Rollback = &infrav1.Rollback{From: w.config.Status.ConfigFingerprint, Version: 1}
	if w.pass(); w.config.Status.Version != 1 {
		t.Errorf("version %d is launched", w.config.Status.Version)
	}
}

// TestPinOfALostTemplate holds that a pin neither has a launch template recreated from another
// configuration than the pinned one, nor names another configuration by the same number.
func TestPinOfALostTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	r.reconcile()
	r.launches("m5.xlarge", 2)
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = ptr.To[int64](2) })
	pinned := r.reconcile().Annotations[pinnedAnnotation]
	if !strings.HasPrefix(pinned, "2 "+theTemplate(r)+" ") {
		t.Fatalf("the pin is recorded as %q", pinned)
	}

	r.lose()
	config := r.reconcile()
	r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.VersionNotFoundReason, "the launch template does not exist")

	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = nil })
	r.reconcile()
	config = r.launches("m5.large", 2)
	if recorded, is := config.Annotations[pinnedAnnotation]; is {
		t.Errorf("the pin that was removed is recorded as %q", recorded)
	}
	r.edit(func(config *infrav1.AWSLaunchConfig) { // as from a backup
		config.Spec.PinnedVersion, config.Annotations[pinnedAnnotation] = ptr.To[int64](2), pinned
	})
	config = r.reconcile()
	r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.PinnedVersionChangedReason, "version 2, which spec.pinnedVersion names")
	if config.Annotations[pinnedAnnotation] != pinned {
		t.Errorf("the pin is recorded as %q now", config.Annotations[pinnedAnnotation])
	}

	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = nil })
	r.reconcile()
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = ptr.To[int64](2) })
	config = r.reconcile()
	r.expect(config, infrav1.RolloutApprovedCondition, metav1.ConditionFalse, infrav1.PinnedReason, "version 2")
	r.expect(config, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
}

// TestPinOfTheSameConfiguration holds that a pin goes on in a recreated launch template whose version
// of that number has the configuration that was pinned, and that a record which is none is ignored.
func TestPinOfTheSameConfiguration(t *testing.T) {
	t.Parallel()
	for reason, recorded := range map[string]func(fingerprint string) string{
		"the same configuration":            func(fingerprint string) string { return "1 lt-earlier " + fingerprint },
		"another version was pinned before": func(string) string { return "2 lt-earlier another" },
		"no record":                         func(string) string { return "nonsense" },
	} {
		w := readyWorld(t)
		metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, pinnedAnnotation, recorded(w.config.Status.ConfigFingerprint))
		w.config.Spec.PinnedVersion = ptr.To[int64](1)
		w.pass()
		w.says(infrav1.LaunchTemplateReadyCondition, "True Ready")
		if want := "1 " + templateID + " " + w.config.Status.ConfigFingerprint; w.config.Annotations[pinnedAnnotation] != want {
			t.Errorf("%s: the pin is recorded as %q, want %q", reason, w.config.Annotations[pinnedAnnotation], want)
		}
	}
}
