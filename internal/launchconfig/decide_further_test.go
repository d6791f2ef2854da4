package launchconfig

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// TestDecideWhatAdoptedVersionsRun specifies what the condition Adopted reports about versions that
// were taken over, by what the spec asked for in another world.
func TestDecideWhatAdoptedVersionsRun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// theirs changes the spec that the versions that are taken over were made from.
		theirs func(spec *infrav1.AWSLaunchConfigSpec)
		shows  string
		says   string
	}{
		{reason: "what the spec asks for", theirs: func(*infrav1.AWSLaunchConfigSpec) {}, shows: "True Adopted", says: "they match the spec"},
		{reason: "another type", theirs: func(spec *infrav1.AWSLaunchConfigSpec) { spec.InstanceType = "c5.large" }, shows: "True AdoptedWithDifferences", says: "instance type c5.large → m5.large"},
		{reason: "more than a condition names", theirs: func(spec *infrav1.AWSLaunchConfigSpec) {
			for i := range mostDifferences + 2 {
				spec.NonRootVolumes = append(spec.NonRootVolumes, infrav1.Volume{DeviceName: fmt.Sprintf("/dev/sd%c", 'b'+i), Size: 8})
			}
		}, shows: "True AdoptedWithDifferences", says: "and 2 more"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			other := newWorld(t)
			other.config.Spec.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{HTTPTokens: infrav1.HTTPTokensRequired}
			row.theirs(&other.config.Spec)
			other.pass()
			settings, err := other.inputs[1].Settings()
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			w.config.Spec.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{HTTPTokens: infrav1.HTTPTokensRequired}
			metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.AdoptTemplateAnnotation, templateID)
			w.seen.Template = seenTemplate{Looked: true, Adopt: templateID}
			w.seen.Template.Template = &launchtemplate.Template{ID: templateID, Name: configName, DefaultVersion: 1, LatestVersion: 1, Tags: map[string]string{"Name": "theirs"}}
			w.seen.Template.Versions = []launchtemplate.Version{{
				Number: 1, Default: true, Foreign: true, MadeByCAPA: true, Fingerprints: launchtemplate.Fingerprints{Config: "theirs"}, Settings: settings,
			}}
			w.pass()
			w.says(infrav1.AdoptedCondition, row.shows)
			if got := meta.FindStatusCondition(w.config.Status.Conditions, infrav1.AdoptedCondition); got == nil || !strings.Contains(got.Message, row.says) {
				t.Errorf("the condition says %+v, want %q", got, row.says)
			}
		})
	}
}

// TestDecideWaitingEdits reads as what becomes of an edit that waits for approval when EC2 does not
// do, or say, what is needed.
func TestDecideWaitingEdits(t *testing.T) {
	t.Parallel()
	const edited = "create a version of launch template T: instance type m5.large → m5.xlarge"
	silent := func(number int64) func(w *world) {
		need := reconcile.Need(fmt.Sprintf("%s%d", dataNeed, number))
		return func(w *world) {
			w.answers[need] = func(seen *Observed) {
				seen.Data = with(seen.Data, number, answer[launchtemplate.Data]{Err: errRefused})
			}
		}
	}
	for _, row := range []struct {
		reason  string
		given   func(w *world)
		then    []string
		pending int64
		shows   string
		says    string
	}{
		{reason: "it waits", then: []string{edited}, pending: 2, shows: "False WaitingForApproval", says: "instance type m5.large → m5.xlarge"},
		{
			reason: "EC2 warns of it", given: func(w *world) { w.warns = "InvalidParameterCombination: no" }, then: []string{edited}, pending: 2,
			shows: "False WaitingForApproval", says: "InvalidParameterCombination",
		},
		{reason: "what is launched cannot be read", given: silent(1), shows: ""},
		{
			reason: "EC2 refuses the version", given: func(w *world) { w.fails["create a version"] = errRefused }, then: []string{edited + " (fails)"},
			shows: "False WaitingForApproval", says: "Slipway is creating the version that needs approval",
		},
		{reason: "versions are known from status", given: func(w *world) { w.seen.Template.Recorded = true }, then: []string{edited}, pending: 2, shows: "False WaitingForApproval"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t)
			w.config.Spec.Rollout, w.config.Spec.InstanceType = infrav1.LaunchConfigRolloutManual, "m5.xlarge"
			if row.given != nil {
				row.given(w)
			}
			w.expect(row.reason, row.then...)
			w.says(infrav1.RolloutApprovedCondition, row.shows)
			if got := w.config.Status.PendingVersion; got != row.pending {
				t.Errorf("version %d waits, want %d", got, row.pending)
			}
			if got := meta.FindStatusCondition(w.config.Status.Conditions, infrav1.RolloutApprovedCondition); got != nil && !strings.Contains(got.Message, row.says) {
				t.Errorf("the condition says %q, want %q", got.Message, row.says)
			}
			if version := w.seen.Template.Template.DefaultVersion; version != 1 {
				t.Errorf("version %d is launched without approval", version)
			}
		})
	}
}

// TestDecideNodegroupData reads as what becomes of user data that EKS merges into its own.
func TestDecideNodegroupData(t *testing.T) {
	t.Parallel()
	data := func(length int) string { return "#cloud-config\n# " + noise(length) + "\n" }
	for _, row := range []struct {
		reason, value, shows, says string
	}{
		{"it is short", data(10), "True Ready", ""},
		{"it takes nearly all that EC2 allows", data(15200), "True Ready", "more than 90% of"},
		{"it is too large", data(60000), "False UserDataTooLarge", `Secret "bootstrap"`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.Spec.Nodegroup = &infrav1.LaunchConfigNodegroup{AMIType: infrav1.AMITypeAL2023X86}
			w.config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap"}
			w.seen.Bootstrap = &seenBootstrap{Exists: true, Value: []byte(row.value)}
			w.pass()
			w.says(infrav1.BootstrapDataReadyCondition, row.shows)
			if got := meta.FindStatusCondition(w.config.Status.Conditions, infrav1.BootstrapDataReadyCondition); got == nil || !strings.Contains(got.Message, row.says) {
				t.Errorf("the condition says %+v, want %q", got, row.says)
			}
		})
	}
}

// TestDecideLaunchedOfNodegroup holds that what a node group still launches is shown with the root
// device of EKS's images.
func TestDecideLaunchedOfNodegroup(t *testing.T) {
	t.Parallel()
	for family, device := range map[infrav1.ManagedMachineAMIType]string{infrav1.AMITypeAL2023X86: "/dev/xvda", "WINDOWS_CORE_2022_x86_64": "/dev/sda1"} {
		t.Run(string(family), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.Spec.Nodegroup = &infrav1.LaunchConfigNodegroup{AMIType: family}
			w.config.Spec.RootVolume = &infrav1.Volume{Size: 80}
			w.seen.Image = &foundImage{Image: discovery.Image{RootDeviceName: device}}
			w.pass()
			w.now = w.now.Add(time.Hour)
			w.config.Spec.Rollout, w.config.Spec.InstanceType = infrav1.LaunchConfigRolloutManual, "m5.xlarge"
			w.pass()
			if got := rootDevice(family); got != device {
				t.Errorf("the root device is %q, want %q", got, device)
			}
			launched := w.config.Status.Launched
			if launched == nil || launched.InstanceType != "m5.large" {
				t.Fatalf("launched is %+v", launched)
			}
		})
	}
}

// TestDecideWhatMovedWhileFollowing shows the reason that is given when a followed template, which
// Slipway does not own, moves to another version, depending on which of the two versions can be
// read.
func TestDecideWhatMovedWhileFollowing(t *testing.T) {
	t.Parallel()
	reads := func(versions ...int64) func(w, other *world) {
		return func(w, other *world) {
			for _, number := range versions {
				input := other.inputs[number]
				w.answers[reconcile.Need(fmt.Sprintf("%s%d", dataNeed, number))] = func(seen *Observed) {
					seen.Data = with(seen.Data, number, answer[launchtemplate.Data]{Value: launchtemplate.DataOf(templateID, launchtemplate.Version{Number: number}, input)})
				}
			}
		}
	}
	for _, row := range []struct {
		reason string
		given  func(w, other *world)
		want   string
	}{
		{"both are read", reads(1, 2), "instance type m5.large → m5.xlarge"},
		{"the one before is not", reads(2), configurationChanged},
		{"the present one is not", reads(1), configurationChanged},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			other := readyWorld(t)
			other.config.Spec.InstanceType = "m5.xlarge"
			other.pass()
			w := following(t)
			w.pass()
			row.given(w, other)
			template := *w.seen.Template.Template
			template.LatestVersion = 2
			w.seen.Template.Template, w.seen.Followed.Template, w.seen.Followed.Version = &template, &template, nil
			w.seen.Template.Versions = append(w.seen.Template.Versions, launchtemplate.Version{Number: 2, Foreign: true, Fingerprints: launchtemplate.Fingerprints{Config: "b"}})
			w.pass()
			index := slices.IndexFunc(w.config.Status.Versions, func(version infrav1.LaunchTemplateVersionStatus) bool { return version.Number == 2 })
			if index < 0 || w.config.Status.Versions[index].Reason != row.want {
				t.Errorf("versions are %+v, want the second with the reason %q", w.config.Status.Versions, row.want)
			}
		})
	}
}

// TestDecideFollowsAnOldVersion holds that the version that is followed is listed although there
// are more newer ones than status lists.
func TestDecideFollowsAnOldVersion(t *testing.T) {
	t.Parallel()
	w := following(t)
	w.config.Spec.Existing.Version = "1"
	for number := int64(2); number <= infrav1.MaxLaunchConfigStatusVersions+5; number++ {
		w.seen.Template.Versions = append(w.seen.Template.Versions, launchtemplate.Version{Number: number, Foreign: true, Fingerprints: launchtemplate.Fingerprints{Config: fmt.Sprint(number)}})
	}
	w.seen.Template.Template.LatestVersion = infrav1.MaxLaunchConfigStatusVersions + 5
	w.pass()
	listed := w.config.Status.Versions
	if last := listed[len(listed)-1]; len(listed) != infrav1.MaxLaunchConfigStatusVersions || last.Number != 1 {
		t.Errorf("%d versions are listed, and the last is %d", len(listed), last.Number)
	}
}

// TestDecideShowsSubnetsOnce holds that status lists the subnets of all interfaces in order, each once.
func TestDecideShowsSubnetsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"subnet-b", "subnet-a", "subnet-b"} {
		w.config.Spec.NetworkInterfaces = append(w.config.Spec.NetworkInterfaces, infrav1.NetworkInterface{Subnet: &infrav1.AWSResourceReference{ID: ptr.To(id)}})
		w.seen.Lookups.Interfaces = append(w.seen.Lookups.Interfaces, foundInterface{Subnets: answer[[]discovery.Subnet]{Value: []discovery.Subnet{{ID: id}}}})
	}
	w.pass()
	if resolved := w.config.Status.Resolved; resolved == nil || !slices.Equal(resolved.SubnetIDs, []string{"subnet-a", "subnet-b"}) {
		t.Errorf("resolved: %+v", resolved)
	}
}

// TestDecideLaunchedNeedsFacts holds that the launched configuration is looked up again after EC2
// did not answer.
func TestDecideLaunchedNeedsFacts(t *testing.T) {
	t.Parallel()
	w := readyWorld(t)
	w.config.Spec.Rollout, w.config.Spec.InstanceType = infrav1.LaunchConfigRolloutManual, "m5.xlarge"
	need := reconcile.Need(factsNeed + "1")
	w.answers[need] = func(seen *Observed) { seen.Facts = map[int64]answer[inspection.Facts]{1: {Err: errRefused}} }
	w.pass()
	if w.config.Status.Launched != nil || w.last.Err == nil {
		t.Errorf("launched is %+v, and the pass ends with %v", w.config.Status.Launched, w.last.Err)
	}
	delete(w.answers, need)
	w.pass()
	if launched := w.config.Status.Launched; launched == nil || launched.InstanceType != "m5.large" {
		t.Errorf("launched is %+v", launched)
	}
}
