package launchconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// following returns a world with a config that follows the newest version of a template that
// Slipway does not own.
func following(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.config.Spec = infrav1.AWSLaunchConfigSpec{ClusterName: clusterName, Existing: &infrav1.ExistingLaunchTemplate{Name: "theirs", Version: inspection.Latest}}
	template := launchtemplate.Template{ID: templateID, Name: "theirs", DefaultVersion: 1, LatestVersion: 1}
	w.seen.Followed = &followed{Name: "theirs", Template: &template}
	w.seen.Template.Template = &template
	w.seen.Template.Versions = []launchtemplate.Version{{Number: 1, Default: true, Foreign: true, Fingerprints: launchtemplate.Fingerprints{Config: "a"}}}
	w.answers[needFollowed] = func(seen *Observed) { seen.Followed.Version = &answer[inspection.Version]{} }
	return w
}

// TestDecideFollowing shows what Slipway decides for a config that follows a template that Slipway
// does not own.
func TestDecideFollowing(t *testing.T) {
	t.Parallel()
	moves := func(config string) func(w *world) {
		return func(w *world) {
			w.pass()
			template := *w.seen.Template.Template
			template.LatestVersion = 2
			w.seen.Template.Template, w.seen.Followed.Template, w.seen.Followed.Version = &template, &template, nil
			w.seen.Template.Versions = append(w.seen.Template.Versions, launchtemplate.Version{Number: 2, Foreign: true, Fingerprints: launchtemplate.Fingerprints{Config: config}})
			w.config.Status.Versions[0].Reason = "kept"
		}
	}
	for _, row := range []struct {
		reason    string
		given     func(w *world)
		then      []string
		condition string
		shows     string
		version   int64
	}{
		{reason: "the template is seen", then: []string{"LaunchTemplateFollowed"}, shows: "True Ready", version: 1},
		{reason: "its newest version moves", given: moves("b"), then: []string{"LaunchTemplateVersionFollowed"}, shows: "True Ready", version: 2},
		{reason: "only its join token changes", given: moves("a"), then: []string{"LaunchTemplateVersionFollowed"}, shows: "True Ready", version: 2},
		{reason: "nothing moves", given: func(w *world) { w.pass() }, shows: "True Ready", version: 1},
		{reason: "it does not exist", given: func(w *world) { w.seen.Followed.Template = nil }, then: []string{"LaunchTemplateLost"}, shows: "False LaunchTemplateNotFound"},
		{reason: "its id does not exist", given: func(w *world) {
			w.seen.Followed = &followed{Err: &discovery.NotFoundError{Kind: "launch template", What: "lt-1"}}
		}, shows: "False LaunchTemplateNotFound"},
		{reason: "EC2 does not answer", given: func(w *world) { w.seen.Followed.Err = errRefused }, shows: "Unknown AWSUnavailable"},
		{reason: "it is another namespace's", given: func(w *world) {
			w.seen.Followed.Template.Tags = map[string]string{infrav1.TagLaunchConfig: "red/prod/web"}
		}, shows: "False ExistingNotAllowed"},
		{reason: "its versions cannot be read", given: func(w *world) { w.seen.Template.VersionsErr = errRefused }, shows: "Unknown AWSUnavailable"},
		{reason: "the spec names no version", given: func(w *world) { w.config.Spec.Existing.Version = "none" }, shows: "False VersionNotFound"},
		{reason: "the version was deleted", given: func(w *world) { w.seen.Template.Versions = nil }, shows: "False VersionNotFound"},
		{reason: "the version is not among the others yet", given: func(w *world) { w.config.Spec.Existing.Version = "2" }},
		{reason: "the version cannot be read", given: func(w *world) {
			w.answers[needFollowed] = func(seen *Observed) { seen.Followed.Version = &answer[inspection.Version]{Err: errRefused} }
		}, shows: "Unknown AWSUnavailable"},
		{reason: "the identity may not use its instance profile", given: func(w *world) {
			w.seen.Followed.ProfileErr = &identity.Error{Reason: infrav1.InstanceProfileNotAllowedReason}
		}, condition: infrav1.ResolvedCondition, shows: "False InstanceProfileNotAllowed"},
		{reason: "no consumer can launch from it", given: func(w *world) {
			w.answers[needFollowed] = func(seen *Observed) {
				version := inspection.Version{}
				for _, consumer := range inspection.Consumers {
					version.Gaps = append(version.Gaps, inspection.Gap{Consumer: consumer, Blocking: true, Lack: inspection.Lack{Member: "ImageId", Message: "there is no image ami-1"}})
				}
				seen.Followed.Version = &answer[inspection.Version]{Value: version}
			}
		}, then: []string{"LaunchTemplateFollowed"}, shows: "True Ready", version: 1},
		{reason: "the cluster is gone", given: func(w *world) { w.seen.Access.Exists = false }},
		{reason: "nothing was observed", given: func(w *world) { w.seen.Followed = nil }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := following(t)
			if row.given != nil {
				row.given(w)
			}
			w.expect(row.reason, row.then...)
			if row.condition == "" {
				row.condition = infrav1.LaunchTemplateReadyCondition
			}
			w.says(row.condition, row.shows)
			if w.config.Status.Version != row.version {
				t.Errorf("version %d is followed, want %d", w.config.Status.Version, row.version)
			}
			if len(w.config.Finalizers) != 0 || w.last.Hold {
				t.Errorf("the object is held")
			}
		})
	}
}

// TestDecideRelease reads as what becomes of the template of a pool that goes back to Cluster API
// Provider AWS.
func TestDecideRelease(t *testing.T) {
	t.Parallel()
	const released = "create a version of launch template T as Cluster API Provider AWS has it: annotation " + infrav1.ReleaseAnnotation + " requests it"
	for _, row := range []struct {
		reason string
		given  func(w *world)
		then   []string
		shows  string
	}{
		{reason: "a version is made for it", then: []string{released}, shows: "True Released"},
		{reason: "with the type of the pool", given: func(w *world) {
			w.seen.Owner = ownerPool{Kind: kindSelfManaged, Exists: true, InstanceType: ptr.To("")}
			w.config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap"}
			w.seen.Bootstrap = &seenBootstrap{Exists: true, Value: []byte("#cloud-config\n")}
		}, then: []string{released}, shows: "True Released"},
		{reason: "its pool is gone", given: func(w *world) { w.seen.Owner = ownerPool{Kind: kindSelfManaged} }},
		{reason: "there is no template", given: func(w *world) { w.seen.Template, w.config.Status = seenTemplate{}, infrav1.AWSLaunchConfigStatus{} }, shows: "False Releasing"},
		{reason: "another version is pinned", given: func(w *world) { w.config.Spec.PinnedVersion = ptr.To[int64](1) }, shows: "False Releasing"},
		{reason: "the versions are not visible", given: func(w *world) { w.seen.Template.Versions = nil }, shows: "Unknown AWSUnavailable"},
		{reason: "EC2 refuses", given: func(w *world) { w.fails["create a version"] = errRefused }, then: []string{released + " (fails)"}, shows: "Unknown AWSUnavailable"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t)
			metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.ReleaseAnnotation, "true")
			if row.given != nil {
				row.given(w)
			}
			w.expect(row.reason, row.then...)
			w.says(infrav1.ReleasedCondition, row.shows)
		})
	}
}

// TestDecideWhatIsInTheWay reads as what keeps a config from being ready, before anything is done.
func TestDecideWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	bootstrap := func(change func(*infrav1.LaunchConfigBootstrap), value, format string) func(w *world) {
		return func(w *world) {
			w.config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap"}
			w.config.Spec.IamInstanceProfile = "nodes"
			if change != nil {
				change(w.config.Spec.Bootstrap)
			}
			w.seen.Bootstrap = &seenBootstrap{Exists: true, Value: []byte(value), Format: format}
		}
	}
	inS3 := func(b *infrav1.LaunchConfigBootstrap) { b.Storage = infrav1.BootstrapStorageS3 }
	inSSM := func(b *infrav1.LaunchConfigBootstrap) { b.Storage = infrav1.BootstrapStorageSSM }
	withIgnition := func(b *infrav1.LaunchConfigBootstrap) { b.Ignition = &infrav1.Ignition{} }
	nodegroup := func(family infrav1.ManagedMachineAMIType) func(w *world) {
		return func(w *world) { w.config.Spec.Nodegroup = &infrav1.LaunchConfigNodegroup{AMIType: family} }
	}
	network := func(found foundInterface) func(w *world) {
		return func(w *world) {
			w.config.Spec.NetworkInterfaces = []infrav1.NetworkInterface{{Subnet: &infrav1.AWSResourceReference{ID: ptr.To("subnet-1")}}}
			w.seen.Lookups.Interfaces = []foundInterface{found}
		}
	}
	for _, row := range []struct {
		reason, condition, shows string
		given                    func(w *world)
	}{
		{"the template is not known", infrav1.LaunchTemplateReadyCondition, "Unknown AWSUnavailable", func(w *world) { w.seen.Template.Err = errRefused }},
		{"an adoption is refused", infrav1.LaunchTemplateReadyCondition, "False AdoptionBlocked", func(w *world) {
			w.seen.Template.Err = &notAdoptableError{reason: infrav1.AdoptionBlockedReason}
		}},
		{"the versions are not known", infrav1.LaunchTemplateReadyCondition, "Unknown AWSUnavailable", func(w *world) { w.seen.Template.VersionsErr = errRefused }},
		{"an unknown format", infrav1.BootstrapDataReadyCondition, "False BootstrapDataInvalid", bootstrap(nil, "x", "tape")},
		{"Ignition settings for cloud-config", infrav1.BootstrapDataReadyCondition, "False InvalidSpec", bootstrap(withIgnition, "#cloud-config\n", "")},
		{"no bucket for S3", infrav1.BootstrapDataReadyCondition, "False BucketNotConfigured", bootstrap(inS3, "#cloud-config\n", "")},
		{"no bucket in an EKS cluster", infrav1.BootstrapDataReadyCondition, "False BucketNotConfigured", func(w *world) {
			w.seen.Access.Facts.EKS = true
			bootstrap(inS3, "#cloud-config\n", "")(w)
		}},
		{"nothing to keep in S3", infrav1.BootstrapDataReadyCondition, "False BootstrapDataInvalid", func(w *world) {
			w.seen.Access.Facts.Bucket = "bucket"
			bootstrap(inS3, "", "")(w)
		}},
		{"Ignition in a parameter", infrav1.BootstrapDataReadyCondition, "False InvalidSpec", bootstrap(inSSM, "{}", "ignition")},
		{"Ignition in S3", infrav1.BootstrapDataReadyCondition, "True Ready", func(w *world) {
			w.seen.Access.Facts.Bucket = "bucket"
			bootstrap(func(b *infrav1.LaunchConfigBootstrap) {
				b.Ignition = &infrav1.Ignition{Version: "3.4", Proxy: &infrav1.IgnitionProxy{HTTPProxy: ptr.To("http://proxy")}, TLS: &infrav1.IgnitionTLS{}}
			}, `{"ignition": {"version": "3.4.0"}}`, "ignition")(w)
		}},
		{"Ignition in the template, behind a proxy", infrav1.BootstrapDataReadyCondition, "True Ready", bootstrap(func(b *infrav1.LaunchConfigBootstrap) {
			b.Ignition = &infrav1.Ignition{
				Version: "3.4", StorageType: infrav1.IgnitionStorageTypeUnencryptedUserData, Proxy: &infrav1.IgnitionProxy{HTTPProxy: ptr.To("http://proxy")},
			}
		}, `{"ignition": {"version": "3.4.0"}}`, "ignition")},
		{"settings that Ignition of the version does not have", infrav1.BootstrapDataReadyCondition, "False InvalidSpec", bootstrap(func(b *infrav1.LaunchConfigBootstrap) {
			b.Ignition = &infrav1.Ignition{
				Version: "2.3", StorageType: infrav1.IgnitionStorageTypeUnencryptedUserData, Proxy: &infrav1.IgnitionProxy{HTTPProxy: ptr.To("http://proxy")},
			}
		}, `{"ignition": {"version": "3.4.0"}}`, "ignition")},
		{"the instances may not read the parameter", infrav1.BootstrapDataReadyCondition, "False InvalidSpec", func(w *world) {
			bootstrap(inSSM, "#cloud-config\n", "")(w)
			w.config.Spec.IamInstanceProfile = ""
		}},
		{"user data that is too large", infrav1.BootstrapDataReadyCondition, "False UserDataTooLarge", bootstrap(nil, "#cloud-config\n"+noise(60000), "")},
		{"AWS refuses to store it", infrav1.BootstrapDataReadyCondition, "Unknown AWSUnavailable", func(w *world) {
			bootstrap(inSSM, "#cloud-config\n", "")(w)
			w.fails["write bootstrap data"] = errRefused
		}},
		{"it is stored in S3", infrav1.BootstrapDataReadyCondition, "True Ready", func(w *world) {
			w.seen.Access.Facts.Bucket = "bucket"
			bootstrap(inS3, "#cloud-config\n", "")(w)
		}},
		{"the identity may not use the instance profile", infrav1.ResolvedCondition, "False InstanceProfileNotAllowed", func(w *world) {
			w.seen.Lookups.ProfileErr = &identity.Error{Reason: infrav1.InstanceProfileNotAllowedReason}
		}},
		{"the identity is not known", infrav1.ResolvedCondition, "", func(w *world) { w.seen.Lookups.ProfileErr = errRefused }},
		{"an interface's group is missing", infrav1.ResolvedCondition, "False SecurityGroupNotFound", network(foundInterface{Groups: answer[[]string]{Err: &discovery.NotFoundError{}}})},
		{"an interface's subnet is missing", infrav1.ResolvedCondition, "False SubnetsNotFound", network(foundInterface{Subnets: answer[[]discovery.Subnet]{Err: &discovery.NotFoundError{}}})},
		{"an interface in two subnets", infrav1.ResolvedCondition, "False InvalidSpec", network(foundInterface{Subnets: answer[[]discovery.Subnet]{Value: []discovery.Subnet{{ID: "a"}, {ID: "b"}}}})},
		{"an interface in one subnet", infrav1.ResolvedCondition, "True Ready", network(foundInterface{Subnets: answer[[]discovery.Subnet]{Value: []discovery.Subnet{{ID: "a"}}}})},
		{"the type does not exist", infrav1.ResolvedCondition, "False InstanceTypeNotFound", func(w *world) { w.seen.Lookups.Type.Err = &discovery.NotFoundError{} }},
		{"EC2 does not describe the image", infrav1.ResolvedCondition, "Unknown AWSUnavailable", func(w *world) { w.seen.Image = &foundImage{Err: errRefused} }},
		{"no image was observed", infrav1.ResolvedCondition, "", func(w *world) { w.seen.Image = nil }},
		{"another root device", infrav1.ResolvedCondition, "False InvalidSpec", func(w *world) { w.config.Spec.RootVolume = &infrav1.Volume{DeviceName: "/dev/sdb", Size: 8} }},
		{"the root device twice", infrav1.ResolvedCondition, "False InvalidSpec", func(w *world) {
			w.config.Spec.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/xvda", Size: 8}}
		}},
		{"a root volume that is too small", infrav1.ResolvedCondition, "False RootVolumeTooSmall", func(w *world) {
			w.config.Spec.RootVolume = &infrav1.Volume{Size: 1}
			w.seen.Image.RootSnapshotSizeGiB = 8
		}},
		{"images of EKS's for another architecture", infrav1.ResolvedCondition, "False ArchitectureMismatch", nodegroup(infrav1.AMITypeAL2023ARM)},
		{"images of EKS's", infrav1.BootstrapDataReadyCondition, "True Ready", nodegroup(infrav1.AMITypeAL2023X86)},
		{"an image of the template's, before EKS says how to join", infrav1.ResolvedCondition, "False WaitingForControlPlane", func(w *world) {
			nodegroup(infrav1.AMITypeCustom)(w)
			w.answers[needCluster] = func(seen *Observed) { seen.EKSCluster = &answer[discovery.EKSCluster]{Err: &discovery.NotFoundError{}} }
		}},
		{"an image of the template's", infrav1.ResolvedCondition, "True Ready", func(w *world) {
			nodegroup(infrav1.AMITypeCustom)(w)
			w.seen.Image.Name = "amazon-eks-node-al2023-x86_64-standard-1.36-v20261101"
			w.answers[needCluster] = func(seen *Observed) {
				seen.EKSCluster = &answer[discovery.EKSCluster]{Value: discovery.EKSCluster{Name: clusterName, Endpoint: "https://e", CertificateAuthority: "Y2E=", ServiceCIDR: "10.0.0.0/16"}}
			}
		}},
		{"bootstrap data of a node group that is no cloud-config", infrav1.BootstrapDataReadyCondition, "False UserDataInvalid", func(w *world) {
			nodegroup(infrav1.AMITypeAL2023X86)(w)
			bootstrap(nil, "{}", "ignition")(w)
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.seen.Lookups.Groups.Value = []string{"sg-2"}
			row.given(w)
			w.pass()
			w.says(row.condition, row.shows)
		})
	}
}

// noise is text that does not compress.
func noise(length int) string {
	var text strings.Builder
	for state := uint32(1); text.Len() < length; {
		state = state*1664525 + 1013904223
		text.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[state>>26])
	}
	return text.String()
}

// TestSearchFor holds how an image is found.
func TestSearchFor(t *testing.T) {
	t.Parallel()
	facts := &cluster.Facts{}
	for _, row := range []struct {
		reason string
		spec   infrav1.AWSLaunchConfigSpec
		want   func(imageSearch) bool
	}{
		{"EKS chooses", infrav1.AWSLaunchConfigSpec{Nodegroup: &infrav1.LaunchConfigNodegroup{AMIType: "WINDOWS_CORE_2022_x86_64"}}, func(s imageSearch) bool { return s.none && s.device == "/dev/sda1" }},
		{"it is named", infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{AMI: infrav1.AMIReference{ID: ptr.To("ami-1")}}}, func(s imageSearch) bool { return s.named == "ami-1" && s.key == "" }},
		{"a parameter holds it", infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{AMI: infrav1.AMIReference{ID: ptr.To("resolve:ssm:/a")}}}, func(s imageSearch) bool {
			return s.parameter == "resolve:ssm:/a" && s.key != ""
		}},
		{"it is looked up", infrav1.AWSLaunchConfigSpec{KubernetesVersion: "v1.36.3"}, func(s imageSearch) bool {
			return s.query.KubernetesVersion == "v1.36.3" && s.key != "" && s.named == ""
		}},
	} {
		if got := searchFor(&row.spec, facts, "x86_64"); !row.want(got) {
			t.Errorf("%s: %+v", row.reason, got)
		}
	}
	status := &infrav1.AWSLaunchConfigStatus{Resolved: &infrav1.ResolvedLaunchConfig{ImageKey: "key", ImageID: "ami-1"}}
	if kept, known := keptInStatus(status, "key"); !known || kept != "ami-1" {
		t.Errorf("kept %q, %t", kept, known)
	}
	if kept, known := keptInStatus(status, "another"); known {
		t.Errorf("kept %q of another search", kept)
	}
	foreign := launchtemplate.Observation{Versions: []launchtemplate.Version{{Number: 1, Foreign: true, ImageID: "ami-1"}}}
	if got := runningImage(foreign); got != "ami-1" {
		t.Errorf("the running image is %q", got)
	}
	foreign.Versions = append(foreign.Versions, launchtemplate.Version{Number: 2})
	if got := runningImage(foreign); got != "" {
		t.Errorf("the running image is %q", got)
	}
}

// TestLaunchCauses holds why something was launched, and who counts as running it.
func TestLaunchCauses(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]infrav1.LaunchConfigCause{
		reasonFirst: infrav1.LaunchConfigCauseFirst, reasonAdopted: infrav1.LaunchConfigCauseAdopted, reasonLost: infrav1.LaunchConfigCauseTemplateLost, "another": "",
	} {
		if cause, _ := firstLaunch([]infrav1.LaunchTemplateVersionStatus{{Number: 1, Reason: reason}}); cause != want {
			t.Errorf("%s: cause %q, want %q", reason, cause, want)
		}
	}
	pinned := launchConfig(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = ptr.To[int64](1) })
	if cause, change := launchCause(pinned, "image a → b"); cause != infrav1.LaunchConfigCausePinned || change != "pinned: image a → b" {
		t.Errorf("cause %q, change %q", cause, change)
	}
	if got := bounded(strings.Repeat("x", 300)); len([]rune(got)) != longestReason {
		t.Errorf("a reason has %d characters", len(got))
	}
	user := infrav1.LaunchConfigUser{Kind: kindSelfManaged, Name: "web"}
	var listed []infrav1.LaunchConfigUser
	for _, instances := range []int32{0, 2, 1} {
		listed = addUser(listed, user, instances)
	}
	if len(listed) != 1 || listed[0].Instances != 3 {
		t.Errorf("users %+v", listed)
	}
	for len(listed) < infrav1.MaxLaunchConfigUsers {
		listed = append(listed, infrav1.LaunchConfigUser{})
	}
	if got := addUser(listed, infrav1.LaunchConfigUser{Name: "one more"}, 1); len(got) != infrav1.MaxLaunchConfigUsers {
		t.Errorf("%d users are listed", len(got))
	}
}

// TestRecordedItem specifies when Slipway trusts what status reports about bootstrap data outside
// of the template.
func TestRecordedItem(t *testing.T) {
	t.Parallel()
	location := bootstrapstorage.Location{Hash: strings.Repeat("a", 32)}
	config := launchConfig(func(config *infrav1.AWSLaunchConfig) {
		config.Annotations = map[string]string{PlacesAnnotation: "s3/bucket,ssm,nonsense here", writtenAnnotation: "digest"}
	})
	config.Status.BootstrapDataDigest, config.Status.BootstrapDataLocation = "digest", location.URL(owner(config))
	want := storedItem{Location: location, Digest: "digest", Recorded: true}
	for _, written := range []string{"digest", "digest " + location.URL(owner(config))} {
		config.Annotations[writtenAnnotation] = written
		if got, known := recordedItem(config); !known || got != want {
			t.Errorf("recorded with %q: %s", written, cmp.Diff(want, got))
		}
	}
	if got, known := lastWritten(config); !known || got != location {
		t.Errorf("last written: %t, %s", known, cmp.Diff(location, got))
	}
	config.Annotations[writtenAnnotation] = "digest ssm:/slipway/red/prod/web/" + location.Hash
	if _, known := lastWritten(config); known {
		t.Errorf("what was written last is another object's")
	}
	config.Annotations[writtenAnnotation] = "another"
	if _, known := recordedItem(config); known {
		t.Errorf("a pass that died after a write left something else")
	}
	config.Annotations[writtenAnnotation], config.Status.BootstrapDataLocation = "digest", "ssm:/slipway/red/prod/web/"+location.Hash
	if _, known := recordedItem(config); known {
		t.Errorf("it is another object's")
	}
}

// TestDeletionFindsWhatWasWrittenLast deletes bootstrap data that a list of AWS may not show yet, though
// another process wrote it and its status was lost.
func TestDeletionFindsWhatWasWrittenLast(t *testing.T) {
	t.Parallel()
	location := bootstrapstorage.Location{Hash: strings.Repeat("a", 32)}
	config := launchConfig(func(config *infrav1.AWSLaunchConfig) {
		config.Annotations = map[string]string{PlacesAnnotation: "ssm", writtenAnnotation: "digest " + location.URL(owner(config))}
	})
	var plan reconcile.Plan
	if decideStorageEnd(Input{Object: config}, &plan) || len(plan.Actions) != 1 {
		t.Fatalf("planned: %v", plan.Actions)
	}
	want := sweepStorage{Owner: owner(config), Also: []bootstrapstorage.Location{location}, Tell: true}
	if difference := cmp.Diff(reconcile.Action(want), plan.Actions[0].Action); difference != "" {
		t.Errorf("action (-want +got):\n%s", difference)
	}
}

// TestDecideHistory reads as what is added to the history when instances run another configuration.
func TestDecideHistory(t *testing.T) {
	t.Parallel()
	w := readyWorld(t)
	runs := func(version int64) {
		w.seen.Usages = []usage{{
			config: configName, user: infrav1.LaunchConfigUser{Kind: kindSelfManaged, Name: "web"}, running: map[versionOfTemplate]int32{{templateID, version}: 2},
		}}
	}
	runs(1)
	w.pass()
	w.config.Spec.InstanceType = "m5.xlarge"
	w.pass()
	runs(2)
	w.pass()
	w.config.Spec.Rollback = &infrav1.Rollback{From: w.config.Status.ConfigFingerprint, Version: 1}
	w.expect("the pool rolls back", "make version 1 the default of launch template T: rolled back: instance type m5.xlarge → m5.large")
	runs(1)
	w.now = w.now.Add(time.Minute)
	w.pass()
	var got []string
	for _, entry := range w.config.Status.History {
		got = append(got, string(entry.Cause)+" "+entry.Change)
	}
	want := []string{"RolledBack rolled back: instance type m5.xlarge → m5.large", "Edited instance type m5.large → m5.xlarge", "First first version"}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("history (-want +got):\n%s", difference)
	}
	if launched := w.config.Status.Launched; launched == nil || launched.InstanceType != "m5.large" {
		t.Errorf("launched is %+v", launched)
	}
	w.config.Spec.Rollback.Version = 9
	w.expect("the version to go back to is gone", "make version 2 the default of launch template T: rolled back: instance type m5.large → m5.xlarge")
}
