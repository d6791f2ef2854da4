package launchconfig

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// TestDecideAdoption reads as how a template of Cluster API Provider AWS is taken over: it is owned
// before anything else of it is changed, and its versions count as what the spec asks for.
func TestDecideAdoption(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.AdoptTemplateAnnotation, templateID)
	w.seen.Template = seenTemplate{Looked: true, Adopt: templateID}
	w.seen.Template.Template = &launchtemplate.Template{ID: templateID, Name: configName, DefaultVersion: 1, LatestVersion: 1, Tags: map[string]string{"Name": "theirs"}}
	w.seen.Template.Versions = []launchtemplate.Version{{Number: 1, Default: true, Foreign: true, MadeByCAPA: true, Fingerprints: launchtemplate.Fingerprints{Config: "theirs"}}}
	if log := w.pass(); len(log) != 3 || log[1] != "create a version of launch template T: "+reasonAdopted || log[2] != "make version 2 the default of launch template T: "+reasonAdopted {
		t.Errorf("done: %q", log)
	}
	w.says(infrav1.AdoptedCondition, "True AdoptedWithDifferences")
	if got := w.config.Status.AcceptedVersions; len(got) != 1 || got[0].Last != 1 {
		t.Errorf("accepted are %+v", got)
	}
	w.now = w.now.Add(time.Hour)
	w.seen.Template.Adopt = ""
	w.expect("nothing happens")
	w.seen.Template.Recorded = true
	w.expect("the versions are known from status")
	w.says(infrav1.AdoptedCondition, "True AdoptedWithDifferences")
	w.seen.Template.Recorded = false
	w.config.Spec.InstanceType = "m5.xlarge"
	w.pass()
	w.says(infrav1.AdoptedCondition, "True Adopted")
	if got := w.config.Status.AcceptedVersions; len(got) != 0 {
		t.Errorf("after an edit, accepted are %+v", got)
	}
}

// TestDecideDeletedVersions holds that a version that was deleted outside Slipway counts as the
// wanted configuration, which the template's tag records.
func TestDecideDeletedVersions(t *testing.T) {
	t.Parallel()
	w := readyWorld(t)
	w.seen.Template.Deleted = []int64{7}
	w.expect("a version was deleted", "set tags "+infrav1.TagAccepted+" of launch template T: they were changed "+
		"outside Slipway")
	w.seen.Template.Deleted = nil
	w.expect("nothing happens")
	if !w.config.Accepts(templateID, 7) {
		t.Errorf("accepted are %+v", w.config.Status.AcceptedVersions)
	}
}

// TestDecideLostVersions holds that the versions of a template that was deleted count as the
// configuration that they had.
func TestDecideLostVersions(t *testing.T) {
	t.Parallel()
	w := readyWorld(t)
	w.config.Status.LaunchTemplateID = "lt-0000lost"
	w.config.Status.LaunchTemplateMissingSince = &metav1.Time{Time: w.now.Add(-describeAgain)}
	w.seen.Template = seenTemplate{Looked: true, Named: &answer[*launchtemplate.Template]{}}
	w.pass()
	if status := w.config.Status; !w.config.Accepts("lt-0000lost", 1) || status.LastLostTemplateID != "lt-0000lost" || status.LaunchTemplateMissingSince != nil || status.Versions[0].Reason != reasonLost {
		t.Errorf("status %+v", status)
	}
}

// TestDecidePruningFailures reads as what becomes of versions that cannot be deleted.
func TestDecidePruningFailures(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		given  func(w *world)
		done   int
		shows  string
		again  time.Duration
	}{
		{reason: "AWS does not say who uses them", given: func(w *world) { w.answers[needUse] = func(seen *Observed) { seen.Use = &use{Err: errRefused} } }, shows: "True Ready"},
		{reason: "AWS was asked a moment ago", given: func(w *world) { w.seen.LastAsked = w.now.Add(-time.Minute) }, shows: "True Ready", again: 8 * time.Minute},
		{reason: "EC2 refuses the call", given: func(w *world) { w.fails["delete versions"] = errRefused }, done: 1, shows: "True Ready"},
		{reason: "EC2 refuses a version", given: func(w *world) {
			w.answers[needUse] = func(seen *Observed) {
				seen.Use, seen.Refused = &use{InUse: map[int64]bool{}}, map[int64]string{1: "it is used"}
			}
		}, done: 1, shows: "False PruneFailed", again: 8 * time.Minute},
		{reason: "bootstrap data cannot be deleted", given: func(w *world) {
			metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, PlacesAnnotation, place.String())
			w.fails["delete bootstrap data"] = errRefused
		}, done: 2, shows: "True Ready"},
		{reason: "bootstrap data goes with them", given: func(w *world) { metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, PlacesAnnotation, place.String()) }, done: 3, shows: "True Ready", again: 8 * time.Minute},
		{reason: "a rollback goes back to it", given: func(w *world) { w.config.Spec.Rollback = &infrav1.Rollback{Version: 1} }, shows: "True Ready", again: 8 * time.Minute},
		{reason: "the next launch is compared with it", given: func(w *world) {
			w.config.Status.History = []infrav1.LaunchConfigHistoryEntry{{ConfigFingerprint: w.seen.Template.Versions[0].Fingerprints.Config}}
		}, shows: "True Ready", again: 8 * time.Minute},
		{reason: "a pool has not seen the versions after it, and is about to launch it", given: func(w *world) { w.seen.Usages = []usage{{wanted: 1}} }, shows: "True Ready", again: 8 * time.Minute},
		{reason: "the pool may want it back", given: func(w *world) {
			w.answers[needUse] = func(seen *Observed) { seen.Use = &use{InUse: map[int64]bool{}, LastGood: 1} }
		}, shows: "True Ready", again: 8 * time.Minute},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t)
			w.config.Spec.VersionsToKeep, w.config.Spec.InstanceType = ptr.To[int32](1), "m5.xlarge"
			w.pass()
			w.now = w.now.Add(time.Hour)
			row.given(w)
			if log := w.pass(); len(log) != row.done {
				t.Errorf("done: %q, want %d", log, row.done)
			}
			w.says(infrav1.VersionsPrunedCondition, row.shows)
			if w.last.Again != row.again {
				t.Errorf("again after %s, want %s", w.last.Again, row.again)
			}
		})
	}
}

// TestDecideWarnings specifies how Slipway handles a version that EC2 created with a warning.
func TestDecideWarnings(t *testing.T) {
	t.Parallel()
	edit := func(w *world) {
		w.warns, w.config.Spec.InstanceType = "InvalidParameterCombination: no", "m5.xlarge"
		w.config.Generation++
	}
	t.Run("it is wanted", func(t *testing.T) {
		t.Parallel()
		w := readyWorld(t)
		edit(w)
		w.pass()
		w.says(infrav1.LaunchTemplateReadyCondition, "False LaunchTemplateDataInvalid")
		w.warns = ""
		w.expect("nothing happens")
		w.says(infrav1.LaunchTemplateReadyCondition, "False LaunchTemplateDataInvalid")
		w.config.Spec.InstanceType = "m5.large"
		w.pass()
		w.says(infrav1.LaunchTemplateReadyCondition, "True Ready")
	})
	t.Run("a call after it fails", func(t *testing.T) {
		t.Parallel()
		w := readyWorld(t)
		edit(w)
		w.fails["make version 2"] = errRefused
		w.pass()
		w.says(infrav1.LaunchTemplateReadyCondition, "False LaunchTemplateDataInvalid")
		if w.last.Err == nil || w.config.Status.Version != 2 {
			t.Errorf("version %d, error %v", w.config.Status.Version, w.last.Err)
		}
	})
	t.Run("it waits for approval", func(t *testing.T) {
		t.Parallel()
		w := readyWorld(t)
		w.config.Spec.Rollout = infrav1.LaunchConfigRolloutManual
		edit(w)
		w.pass()
		w.says(infrav1.RolloutApprovedCondition, "False WaitingForApproval")
	})
	t.Run("it is to be tried", func(t *testing.T) {
		t.Parallel()
		w := readyWorld(t)
		w.config.Spec.Verify = infrav1.VerifyDryRun
		w.pass()
		edit(w)
		w.pass()
		w.says(infrav1.VerifiedCondition, "False LaunchTemplateDataInvalid")
		w.warns = ""
		if log := w.pass(); len(log) != 0 || w.config.Status.PendingVersion != 2 || w.config.Status.Version != 1 {
			t.Errorf("done: %q, version %d, pending %d", log, w.config.Status.Version, w.config.Status.PendingVersion)
		}
		w.says(infrav1.VerifiedCondition, "False LaunchTemplateDataInvalid")
	})
}

// TestDecideTries reads as what EC2 is asked to try, and what becomes of its answer.
func TestDecideTries(t *testing.T) {
	t.Parallel()
	w := readyWorld(t)
	w.config.Spec.Verify = infrav1.VerifyDryRun
	w.fails["try"] = &inspectionError{}
	w.pass()
	w.says(infrav1.VerifiedCondition, "False DryRunFailed")
	clear(w.fails)
	w.expect("EC2 would launch it", "try version 1 of launch template T: spec.verify requests it, and this "+
		"configuration has not been tried yet")
	w.config.Status.VerifiedFingerprint = "" // status was lost
	w.config.Spec.InstanceType = "m5.xlarge"
	w.fails["try"] = &inspectionError{}
	if log := w.pass(); len(log) != 3 {
		t.Errorf("done: %q", log)
	}
	w.says(infrav1.VerifiedCondition, "False DryRunFailed")
	w.config.Spec.Verify = ""
	w.pass()
	w.says(infrav1.VerifiedCondition, "")
	if w.config.Status.VerifiedFingerprint != "" || w.config.Status.Version != 2 {
		t.Errorf("status %+v", w.config.Status)
	}
}

// inspectionError is an error that only a user can resolve.
type inspectionError struct{}

func (*inspectionError) Error() string      { return "EC2 would not launch it" }
func (*inspectionError) WaitsForUser() bool { return true }

// TestDecideLaunched specifies what status shows about the launched configuration if the spec asks
// for a different one.
func TestDecideLaunched(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		given  func(w *world)
		want   bool
	}{
		{"what it names was found", func(*world) {}, true},
		{"what it names was not looked up", func(w *world) {
			w.answers[factsNeed+"1"] = func(seen *Observed) { seen.Facts = map[int64]answer[inspection.Facts]{1: {Err: errRefused}} }
		}, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t)
			w.config.Spec.InstanceType, w.config.Spec.PinnedVersion = "m5.xlarge", ptr.To[int64](1)
			row.given(w)
			w.pass()
			if got := w.config.Status.Launched != nil; got != row.want {
				t.Errorf("launched is %+v", w.config.Status.Launched)
			}
			if got := w.config.Status.LaunchedInstanceType; row.want && got != "m5.large" {
				t.Errorf("type %s is launched", got)
			}
		})
	}
}

// TestDecideOnRecordedVersions holds that what is known from status alone is read before anything
// follows from it but that all is as it should be.
func TestDecideOnRecordedVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		given  func(w *world)
		reads  bool
	}{
		{"all is as it should be", func(*world) {}, false},
		{"an edit", func(w *world) { w.config.Spec.InstanceType = "m5.xlarge" }, true},
		{"a pinned version", func(w *world) { w.config.Spec.PinnedVersion = ptr.To[int64](1) }, true},
		{"an edit that waits for approval", func(w *world) {
			w.config.Spec.InstanceType, w.config.Spec.Rollout = "m5.xlarge", infrav1.LaunchConfigRolloutManual
		}, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t)
			w.seen.Template.Recorded = true
			row.given(w)
			w.pass()
			if read := !w.seen.Template.Recorded; read != row.reads {
				t.Errorf("versions were read: %t, want %t", read, row.reads)
			}
		})
	}
}

// TestFreeNames holds that a name that the user requests is the only one.
func TestFreeNames(t *testing.T) {
	t.Parallel()
	in := Input{Object: launchConfig(func(config *infrav1.AWSLaunchConfig) { config.Spec.LaunchTemplateName = "named" })}
	if got := freeNames(in); !slices.Equal(got, []string{"named"}) {
		t.Errorf("names %q", got)
	}
	ownedByPool(in.Object)
	if got := freeNames(in); len(got) != 2 {
		t.Errorf("names %q", got)
	}
	if got := TemplateNames(in.Object); !slices.Contains(got, configName) {
		t.Errorf("it is looked for as %q", got)
	}
}

// TestVersionsInUseAreShownAfterConflict holds that a pass shows that versions are in use if the pass
// that asked AWS could not write its status.
func TestVersionsInUseAreShownAfterConflict(t *testing.T) {
	t.Parallel()
	w := readyWorld(t)
	w.config.Spec.VersionsToKeep, w.config.Spec.InstanceType = ptr.To[int32](1), "m5.xlarge"
	w.pass()
	w.now = w.now.Add(time.Hour)
	w.seen.LastAsked = w.now.Add(-time.Minute)
	w.pass()
	if shown := meta.FindStatusCondition(w.config.Status.Conditions, infrav1.VersionsPrunedCondition); shown == nil || !strings.Contains(shown.Message, "still in use") {
		t.Errorf("the condition is %+v", shown)
	}
}
