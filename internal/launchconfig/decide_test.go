package launchconfig

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

var errRefused = errors.New("EC2 refuses")

// TestDecideVersions reads as what becomes of an edit: given a config at rest, when something
// happens, then these are the actions, and the reasons for them.
func TestDecideVersions(t *testing.T) {
	t.Parallel()
	const (
		edited  = "create a version of launch template T: instance type m5.large → m5.xlarge"
		toTwo   = "make version 2 the default of launch template T: instance type m5.large → m5.xlarge"
		backOne = "make version 1 the default of launch template T: instance type m5.xlarge → m5.large"
	)
	setType := func(instanceType string) func(w *world) {
		return func(w *world) { w.config.Spec.InstanceType = instanceType }
	}
	type when struct {
		happens func(w *world)
		then    []string
	}
	for _, row := range []struct {
		reason string
		given  func(w *world)
		when   []when
		shows  map[string]string
		// reasons lists the reasons of the versions in status, the newest first; nil if they do not
		// matter.
		reasons []string
	}{
		{reason: "nothing happens", when: []when{{func(*world) {}, nil}}, shows: map[string]string{infrav1.LaunchTemplateReadyCondition: "True Ready"}},
		{reason: "the type is edited", when: []when{{setType("m5.xlarge"), []string{edited, toTwo}}, {func(*world) {}, nil}}},
		{reason: "and edited back: the version that exists is used", when: []when{{setType("m5.xlarge"), []string{edited, toTwo}}, {setType("m5.large"), []string{backOne}}}},
		{reason: "a second edit, before status knows of the first: the reason is what differs from what was launched", when: []when{{func(w *world) {
			before := w.config.DeepCopy()
			w.config.Spec.InstanceType = "m5.xlarge"
			w.pass()
			w.config = before
			w.config.Spec.InstanceType = "m5.2xlarge"
		}, []string{
			"create a version of launch template T: instance type m5.large → m5.2xlarge", "make version 3 the default of launch template T: instance type m5.large → m5.2xlarge",
		}}}},
		{reason: "the same edit, before status knows of it: the reason is found again", when: []when{{func(w *world) {
			before := w.config.DeepCopy()
			w.config.Spec.InstanceType = "m5.xlarge"
			w.pass()
			before.Spec = w.config.Spec
			w.config = before
		}, nil}}, reasons: []string{"instance type m5.large → m5.xlarge", "first version"}},
		{reason: "an edit that is taken back before status knows of it", when: []when{{func(w *world) {
			before := w.config.DeepCopy()
			w.config.Spec.InstanceType = "m5.xlarge"
			w.pass()
			w.config = before
		}, []string{backOne}}}, reasons: []string{"", "instance type m5.xlarge → m5.large"}},
		{reason: "another client changes the default", when: []when{{func(w *world) {
			w.config.Spec.InstanceType = "m5.xlarge"
			w.pass()
			w.now = w.now.Add(time.Hour)
			template := *w.seen.Template.Template
			template.DefaultVersion = 1
			w.seen.Template.Template = &template
			w.seen.Template.Versions[0].Default, w.seen.Template.Versions[1].Default = true, false
		}, []string{"make version 2 the default of launch template T: version 1 was made the default outside Slipway", "LaunchTemplateChangedOutside"}}}},
		{reason: "another client removes a tag", when: []when{{func(w *world) {
			delete(w.seen.Template.Template.Tags, infrav1.TagTokens)
		}, []string{"set tags " + infrav1.TagTokens + " of launch template T: they were changed outside Slipway", "LaunchTemplateChangedOutside"}}}},
		{reason: "tags are asked for, and no longer", when: []when{
			{func(w *world) { w.config.Spec.AdditionalTags = map[string]string{"team": "blue"} }, []string{
				"create a version of launch template T: tag team added", "make version 2 the default of launch template T: tag team added",
				"set tags team of launch template T: the spec requests them",
			}},
			{func(w *world) { w.config.Spec.AdditionalTags = nil }, []string{
				"make version 1 the default of launch template T: tag team removed", "remove tags team of launch template T: " +
					"the spec no longer requests them",
			}},
		}},
		{
			reason: "EC2 refuses a version", when: []when{{func(w *world) {
				w.fails["create a version"] = errRefused
				w.config.Spec.InstanceType = "m5.xlarge"
			}, []string{edited + " (fails)"}}}, shows: map[string]string{infrav1.LaunchTemplateReadyCondition: "True Ready"},
		},
		{
			reason: "all names are taken", given: func(w *world) { w.seen.Template.Taken = names(w.config) }, when: []when{{func(*world) {}, nil}},
			shows: map[string]string{infrav1.LaunchTemplateReadyCondition: "False NameTaken"},
		},
		{
			reason: "the image that was kept is gone", when: []when{{func(w *world) {
				w.seen.Image = &foundImage{Image: discovery.Image{ID: "ami-2", Architecture: "x86_64", RootDeviceName: "/dev/xvda"}, Key: "key", Gone: "ami-1"}
			}, []string{
				"create a version of launch template T: image ami-1 → ami-2", "make version 2 the default of launch template T: image ami-1 → ami-2", "ImageGone",
			}}},
		},
		{
			reason: "the image is not found", when: []when{{func(w *world) { w.seen.Image = &foundImage{Err: &discovery.NotFoundError{Kind: "image", What: "x"}} }, nil}},
			shows: map[string]string{infrav1.ResolvedCondition: "False ImageNotFound"},
		},
		{
			reason: "a security group is not found", when: []when{{func(w *world) {
				w.seen.Lookups.Groups.Err = &discovery.NotFoundError{Kind: "security group", What: "x"}
			}, nil}},
			shows: map[string]string{infrav1.ResolvedCondition: "False SecurityGroupNotFound"},
		},
		{
			reason: "image and type contradict each other", when: []when{{func(w *world) {
				image := *w.seen.Image
				image.Architecture = "arm64"
				w.seen.Image = &image
			}, nil}},
			shows: map[string]string{infrav1.ResolvedCondition: "False ArchitectureMismatch"},
		},
		{
			reason: "the cluster is gone", when: []when{{func(w *world) { w.seen.Access.Exists, w.seen.Access.Facts = false, nil }, nil}},
			shows: map[string]string{infrav1.ClusterInfrastructureReadyCondition: "False WaitingForCluster"},
		},
		{
			reason: "the Secret does not exist", when: []when{{func(w *world) { w.config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "missing"} }, nil}},
			shows: map[string]string{infrav1.BootstrapDataReadyCondition: "False BootstrapDataSecretNotFound"},
		},
		{reason: "a pinned version is launched, and the spec's again", when: []when{
			{setType("m5.xlarge"), []string{edited, toTwo}},
			{func(w *world) { w.config.Spec.PinnedVersion = ptr.To[int64](1) }, []string{"make version 1 the default of launch template T: pinned: instance type m5.xlarge → m5.large"}},
			{func(w *world) { w.config.Spec.PinnedVersion = nil }, []string{toTwo}},
		}},
		{
			reason: "the pinned version does not exist", when: []when{{func(w *world) { w.config.Spec.PinnedVersion = ptr.To[int64](7) }, nil}},
			shows: map[string]string{infrav1.LaunchTemplateReadyCondition: "False VersionNotFound"},
		},
		{
			reason: "an edit waits for approval, and gets it", given: func(w *world) { w.config.Spec.Rollout = infrav1.LaunchConfigRolloutManual }, when: []when{
				{setType("m5.xlarge"), []string{edited}},
				{func(w *world) {
					metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.ApprovedVersionAnnotation, "1")
				}, nil},
				{func(w *world) {
					metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.ApprovedVersionAnnotation, "2")
				}, []string{toTwo}},
			}, shows: map[string]string{infrav1.RolloutApprovedCondition: "True Approved"},
		},
		{
			reason: "an edit waits while roll-outs are paused, also with an approval, and is launched when they are resumed",
			given: func(w *world) {
				metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.RolloutPausedAnnotation, "true")
				w.config.Spec.Rollout = infrav1.LaunchConfigRolloutManual
			},
			when: []when{
				{setType("m5.xlarge"), []string{edited}},
				{func(w *world) {
					metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.ApprovedVersionAnnotation, "2")
					metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.ApprovedByAnnotation, "alice")
				}, nil},
				{func(w *world) { delete(w.config.Annotations, infrav1.RolloutPausedAnnotation) }, []string{toTwo}},
			}, shows: map[string]string{infrav1.RolloutApprovedCondition: "True Approved"},
		},
		{
			reason: "roll-outs are paused", given: func(w *world) {
				metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.RolloutPausedAnnotation, "true")
			}, when: []when{{setType("m5.xlarge"), []string{edited}}, {func(*world) {}, nil}},
			shows: map[string]string{infrav1.RolloutApprovedCondition: "False EditPaused"},
		},
		{
			reason: "EC2 would not launch an edit: it is held back", given: func(w *world) { w.config.Spec.Verify = infrav1.VerifyDryRun }, when: []when{
				{func(w *world) {
					w.fails["try version 2"] = errRefused
					w.config.Spec.InstanceType = "m5.xlarge"
				}, []string{edited, "try version 2 of launch template T: spec.verify requests it, and this " +
					"configuration has not been tried yet (fails)"}},
				{func(w *world) { clear(w.fails) }, []string{
					"try version 2 of launch template T: spec.verify requests it, and this configuration has " +
						"not been tried yet", toTwo,
				}},
			}, shows: map[string]string{infrav1.VerifiedCondition: "True Ready"},
		},
		{
			reason: "the join token rotates", given: func(w *world) {
				w.config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap"}
				w.seen.Bootstrap = &seenBootstrap{Exists: true, Value: secretOf("abcdef.0123456789abcdef").Data[secretValue]}
			}, when: []when{{func(w *world) {
				w.seen.Bootstrap = &seenBootstrap{Exists: true, Value: secretOf("fedcba.fedcba9876543210").Data[secretValue]}
			}, []string{"create a version of launch template T: join token rotated", "make version 2 the default of launch template T: join token rotated"}}},
		},
		{
			reason: "the join token rotates, and the data is kept in a parameter", given: func(w *world) {
				w.config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap", Storage: infrav1.BootstrapStorageSSM}
				w.config.Spec.IamInstanceProfile = "nodes"
				w.seen.Bootstrap = &seenBootstrap{Exists: true, Value: secretOf("abcdef.0123456789abcdef").Data[secretValue]}
			}, when: []when{
				{func(w *world) {
					w.seen.Bootstrap = &seenBootstrap{Exists: true, Value: secretOf("fedcba.fedcba9876543210").Data[secretValue]}
				}, []string{"write bootstrap data to ssm:/slipway/blue/prod/workers/f7dff64697066fc8a7baf771379f53b9: join token rotated"}},
				{func(w *world) { w.now = w.now.Add(25 * time.Hour) }, []string{
					"write bootstrap data to ssm:/slipway/blue/prod/workers/f7dff64697066fc8a7baf771379f53b9: " +
						"its existence was last checked a day ago",
				}},
				{func(w *world) { w.config.Spec.Bootstrap.Storage = "" }, []string{
					"create a version of launch template T: bootstrap data is stored in another place",
					"make version 2 the default of launch template T: bootstrap data is stored in another place",
				}},
			},
		},
		{
			reason: "unused versions are pruned, once AWS must show who uses them", given: func(w *world) { w.config.Spec.VersionsToKeep = ptr.To[int32](1) }, when: []when{
				{setType("m5.xlarge"), []string{edited, toTwo}},
				{func(w *world) { w.now = w.now.Add(usersVisibleAfter - time.Second) }, nil},
				{func(w *world) { w.now = w.now.Add(time.Second) }, []string{
					"delete versions 1 of launch template T: versionsToKeep is 1, and nothing uses these versions", "LaunchTemplateVersionsPruned",
				}},
			}, shows: map[string]string{infrav1.VersionsPrunedCondition: "True Ready"},
		},
		{
			reason: "versions that are used stay", given: func(w *world) { w.config.Spec.VersionsToKeep = ptr.To[int32](1) }, when: []when{
				{setType("m5.xlarge"), []string{edited, toTwo}},
				{func(w *world) {
					w.now = w.now.Add(time.Hour)
					w.answers[needUse] = func(seen *Observed) { seen.Use = &use{InUse: map[int64]bool{1: true}} }
				}, nil},
			}, shows: map[string]string{infrav1.VersionsPrunedCondition: "True Ready"},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if row.given != nil {
				row.given(w)
			}
			w.pass()
			w.now = w.now.Add(time.Hour)
			for i, when := range row.when {
				when.happens(w)
				if when.then == nil {
					w.expect(row.reason)
				} else {
					w.expect(row.reason, when.then...)
				}
				if i == len(row.when)-1 {
					for at, want := range row.reasons {
						if got := w.config.Status.Versions[at].Reason; got != want {
							t.Errorf("the reason of version %d is %q, want %q", w.config.Status.Versions[at].Number, got, want)
						}
					}
					for condition, want := range row.shows {
						w.says(condition, want)
					}
				}
			}
		})
	}
}

// TestDecideMissing reads as what becomes of a config whose template EC2 does not return.
func TestDecideMissing(t *testing.T) {
	t.Parallel()
	const created = "create launch template workers: the launch template was deleted outside Slipway"
	missing := &answer[*launchtemplate.Template]{}
	for _, row := range []struct {
		reason string
		named  *answer[*launchtemplate.Template]
		// after is how long after the last change it is found missing, and waited how long it has
		// been missing then.
		after, waited time.Duration
		then          []string
		again         time.Duration
		shows         string
	}{
		{reason: "it was changed a moment ago", named: missing, after: 10 * time.Second, again: describeAgain, shows: "True Ready"},
		{reason: "it is missing for the first time", named: missing, after: time.Hour, again: describeAgain, shows: "True Ready"},
		{reason: "it is still missing", named: missing, after: time.Hour, waited: 3 * time.Second, again: 2 * time.Second, shows: "True Ready"},
		{reason: "it counts as deleted", named: missing, after: time.Hour, waited: describeAgain, then: []string{created, "LaunchTemplateLost"}, again: 8 * time.Minute, shows: "True Ready"},
		{
			reason: "it lost its tag", named: &answer[*launchtemplate.Template]{Value: &launchtemplate.Template{ID: templateID}}, after: time.Hour, again: 2 * time.Minute,
			shows: "False OwnerTagMissing",
		},
		{reason: "EC2 does not say", named: &answer[*launchtemplate.Template]{Err: errRefused}, after: time.Hour, shows: "True Ready"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.pass()
			w.config.Status.LaunchTemplateID, w.config.Status.LaunchTemplateChanged = "lt-lost", &metav1.Time{Time: w.now}
			w.now = w.now.Add(row.after)
			w.seen.Template = seenTemplate{Looked: true, Named: row.named}
			if row.waited > 0 {
				w.config.Status.LaunchTemplateMissingSince = &metav1.Time{Time: w.now.Add(-row.waited)}
			}
			w.expect(row.reason, row.then...)
			w.says(infrav1.LaunchTemplateReadyCondition, row.shows)
			if w.last.Again != row.again {
				t.Errorf("again after %s, want %s", w.last.Again, row.again)
			}
		})
	}
}

// TestDecideDeletion reads as what becomes of a config that is deleted.
func TestDecideDeletion(t *testing.T) {
	t.Parallel()
	const deleted = "delete launch template T: AWSLaunchConfig workers is being deleted, and nothing uses its launch template"
	launches := []usage{{config: configName, user: infrav1.LaunchConfigUser{Kind: kindSelfManaged, Name: "web"}}}
	for _, row := range []struct {
		reason  string
		given   func(w *world)
		then    []string
		release bool
		again   time.Duration
		shows   string
	}{
		{reason: "nothing was ever made", given: func(w *world) { w.seen.Access.NothingMade = true }, release: true},
		{reason: "nothing uses the template", then: []string{deleted}, release: true},
		{
			reason: "its own pool lives on", given: func(w *world) {
				w.seen.Owner = ownerPool{Kind: kindSelfManaged, Name: configName, Exists: true, Same: true}
			}, release: true,
		},
		{
			reason: "its own pool goes back to CAPA", given: func(w *world) {
				w.seen.Owner = ownerPool{Kind: kindSelfManaged, Name: configName, Exists: true, Same: true}
				metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.ReleaseAnnotation, "true")
			}, then: []string{"leave launch template T to Cluster API Provider AWS: the pool is being released " +
				"to Cluster API Provider AWS"}, release: true,
		},
		{
			reason: "a group uses the template", given: func(w *world) {
				w.answers[needUse] = func(seen *Observed) { seen.Use = &use{InUse: map[int64]bool{1: true}} }
			}, again: stillUsed, shows: "True Deleting",
		},
		{
			reason: "AWS does not say who uses it", given: func(w *world) { w.answers[needUse] = func(seen *Observed) { seen.Use = &use{Err: errRefused} } }, shows: "Unknown AWSUnavailable",
		},
		{
			reason: "a pool may have created a group", given: func(w *world) { w.seen.Usages = launches }, again: describeAgain, shows: "True Deleting",
		},
		{
			reason: "a pool may have created a group, and it would be visible by now", given: func(w *world) {
				w.seen.Usages = launches
				w.config.Status.DeletionSeen = &metav1.Time{Time: w.now.Add(-usersVisibleAfter)}
			}, then: []string{deleted}, release: true,
		},
		{
			reason: "no template is listed", given: func(w *world) { w.seen.Template = seenTemplate{} }, again: describeAgain, shows: "True Deleting",
		},
		{
			reason: "no template is listed, still", given: func(w *world) {
				w.seen.Template, w.config.Status.LaunchTemplateID = seenTemplate{}, ""
				w.config.Status.DeletionSeen = &metav1.Time{Time: w.now.Add(-describeAgain)}
			}, release: true,
		},
		{
			reason: "the template lost its tag", given: func(w *world) {
				w.seen.Template = seenTemplate{}
				w.config.Status.DeletionSeen = &metav1.Time{Time: w.now.Add(-describeAgain)}
				w.answers[needNamed] = func(seen *Observed) {
					seen.Template.Named = &answer[*launchtemplate.Template]{Value: &launchtemplate.Template{ID: templateID}}
				}
			}, then: []string{"LaunchTemplateLeft"}, release: true,
		},
		{
			reason: "EC2 refuses", given: func(w *world) { w.fails["delete"] = errRefused }, then: []string{deleted + " (fails)"}, shows: "Unknown AWSUnavailable",
		},
		{
			reason: "bootstrap data is kept outside", given: func(w *world) { metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, PlacesAnnotation, place.String()) },
			then: []string{deleted, "delete bootstrap data in ssm: the launch template that referred to it was " +
				"deleted"}, release: true,
		},
		{
			reason: "bootstrap data cannot be deleted", given: func(w *world) {
				metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, PlacesAnnotation, place.String())
				w.fails["delete bootstrap data"] = errRefused
			}, then: []string{deleted, "delete bootstrap data in ssm: the launch template that referred to it " +
				"was deleted (fails)"}, shows: "Unknown AWSUnavailable",
		},
		{reason: "AWS cannot be called", given: func(w *world) { w.seen.Access.Err = errRefused }, shows: "Unknown AWSUnavailable"},
		{
			reason: "EC2 does not describe the template", given: func(w *world) {
				w.seen.Template = seenTemplate{}
				w.answers[needTemplate] = func(seen *Observed) { seen.Template.Looked, seen.Template.Err = true, errRefused }
			}, shows: "Unknown AWSUnavailable",
		},
		{
			reason: "EC2 does not describe the template that status names", given: func(w *world) {
				w.seen.Template = seenTemplate{}
				w.config.Status.DeletionSeen = &metav1.Time{Time: w.now.Add(-describeAgain)}
				w.answers[needNamed] = func(seen *Observed) { seen.Template.Named = &answer[*launchtemplate.Template]{Err: errRefused} }
			}, shows: "Unknown AWSUnavailable",
		},
		{
			reason: "it goes back to CAPA, and EC2 refuses", given: func(w *world) {
				w.seen.Owner = ownerPool{Kind: kindSelfManaged, Name: configName, Exists: true, Same: true}
				metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, infrav1.ReleaseAnnotation, "true")
				w.fails["leave"] = errRefused
			}, then: []string{"leave launch template T to Cluster API Provider AWS: the pool is being released " +
				"to Cluster API Provider AWS (fails)"}, shows: "Unknown AWSUnavailable",
		},
		{reason: "a template that Slipway does not own is not cleaned up", given: func(w *world) {
			w.config.Spec.Existing = &infrav1.ExistingLaunchTemplate{Name: "theirs"}
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t)
			w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
			w.seen.Use = nil
			if row.given != nil {
				row.given(w)
			}
			w.expect(row.reason, row.then...)
			w.says(infrav1.DeletingCondition, row.shows)
			if w.last.Release != row.release || w.last.Again != row.again {
				t.Errorf("let go: %t, again after %s; want %t, %s", w.last.Release, w.last.Again, row.release, row.again)
			}
		})
	}
}
