package launchtemplate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

func TestEnsureLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	small, large := r.wanted("m5.large", firstToken), r.wanted("m5.xlarge", firstToken)
	rotated := r.wanted("m5.xlarge", secondToken)
	for _, step := range []struct {
		reason  string
		wanted  launchtemplate.Wanted
		version int64
		created int64
		calls   []string
	}{
		{"the template is made with its first version", small, 1, 1, []string{"CreateLaunchTemplate"}},
		{"another type is another version", large, 2, 2, []string{"CreateLaunchTemplateVersion", "ModifyLaunchTemplate"}},
		{"another token is another version", rotated, 3, 3, []string{"CreateLaunchTemplateVersion", "ModifyLaunchTemplate"}},
		{"back to what was there: the version is used again", small, 1, 0, []string{"ModifyLaunchTemplate"}},
		{"and forth", rotated, 3, 0, []string{"ModifyLaunchTemplate"}},
		{"back with a newer token: the old config is made again", r.wanted("m5.large", secondToken), 4, 4, []string{"CreateLaunchTemplateVersion", "ModifyLaunchTemplate"}},
	} {
		t.Log(step.reason)
		seen := r.observe(step.wanted)
		r.sim.ClearCalls()
		version, _, change, err := r.templates.Ensure(t.Context(), step.wanted, seen)
		if err != nil {
			t.Fatal(err)
		}
		r.wrote(step.calls...)
		if version.Number != step.version || change.VersionCreated != step.created || (change.TemplateCreated != "") != (step.calls[0] == "CreateLaunchTemplate") {
			t.Errorf("version %d, change %+v; want version %d, created %d", version.Number, change, step.version, step.created)
		}
		r.ensure(step.wanted)
	}
	r.hasVersions(small, 1, 2, 3, 4)
}

func TestEnsureMovesDefaultBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	small, large := r.wanted("m5.large", firstToken), r.wanted("m5.xlarge", firstToken)
	r.ensure(small)
	r.ensure(large)
	if _, err := r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateName: awssdk.String("pool"), DefaultVersion: awssdk.String("1")}); err != nil {
		t.Fatal(err)
	}
	if version, _ := r.ensure(large); version.Number != 2 {
		t.Errorf("version %d", version.Number)
	}
}

// TestFingerprintsOfStoredData holds that the data that EC2 stores has the fingerprints of the
// request, so versions can be identified by their data as well as by their description.
func TestFingerprintsOfStoredData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wanted := r.wanted("m5.large", firstToken)
	r.ensure(wanted)
	version := r.observe(wanted).Versions[0]
	if version.Fingerprints != wanted.Input.Fingerprints || version.ImageID != "ami-0a1b2c3d4e5f60718" || version.Created.IsZero() {
		t.Errorf("version %+v", version)
	}
	described, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: awssdk.String("pool")})
	if err != nil {
		t.Fatal(err)
	}
	// The same data under a foreign description.
	data := described.LaunchTemplateVersions[0].LaunchTemplateData
	_, err = r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: awssdk.String("pool"), SourceVersion: awssdk.String("1"), VersionDescription: awssdk.String("by hand"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: data.ImageId},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range r.observe(wanted).Versions {
		if version.Fingerprints != wanted.Input.Fingerprints {
			t.Errorf("version %d has %+v, want %+v", version.Number, version.Fingerprints, wanted.Input.Fingerprints)
		}
	}
	if version, change := r.ensure(wanted); version.Number != 2 || change.VersionCreated != 0 {
		t.Errorf("version %d, change %+v: the adopted version is as good as ours, and newer", version.Number, change)
	}
}

// TestLostAnswers holds that the next pass finds out about a call whose answer was lost, or repeats
// it, and doubles nothing.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, place := range []awssim.Place{awssim.Before, awssim.AfterEffect} {
		for _, action := range []string{"CreateLaunchTemplate", "CreateLaunchTemplateVersion", "ModifyLaunchTemplate", "CreateTags", "DeleteTags"} {
			for _, lagging := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, reads lag: %t", action, place, lagging), func(t *testing.T) {
					t.Parallel()
					loseAnswer(newRig(t), place, action, lagging)
				})
			}
		}
	}
}

func loseAnswer(r *rig, place awssim.Place, action string, lagging bool) {
	r.Helper()
	wanted := r.wanted("m5.large", firstToken)
	want := []int64{1}
	if action != "CreateLaunchTemplate" {
		wanted.Tags["old"] = "x"
		r.ensure(wanted)
		wanted = r.wanted("m5.xlarge", firstToken)
		wanted.Tags["team"], wanted.RetiredTags = "red", []string{"old"}
		want = []int64{1, 2}
	}
	if _, err := r.sim.AddFault(awssim.Fault{Action: action, Nth: 1, Place: place, Drop: true}); err != nil {
		r.Fatal(err)
	}
	before := r.observe(wanted)
	if _, _, _, err := r.templates.Ensure(r.Context(), wanted, before); !aws.IsUncertain(err) {
		r.Fatalf("the answer was not lost: %v", err)
	}
	if lagging {
		// A restarted controller that sees the world of before the call.
		if _, _, _, err := r.templates.Ensure(r.Context(), wanted, before); err != nil {
			r.Fatal(err)
		}
	}
	version, _ := r.ensure(wanted)
	if version.Number != want[len(want)-1] {
		r.Errorf("version %d, want %d", version.Number, want[len(want)-1])
	}
	r.hasVersions(wanted, want...)
	all, err := r.ec2.DescribeLaunchTemplates(r.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(all.LaunchTemplates) != 1 {
		r.Errorf("%d templates, error %v", len(all.LaunchTemplates), err)
	}
	if difference := cmp.Diff(wanted.Tags, r.observe(wanted).Template.Tags); difference != "" {
		r.Errorf("tags (-want +got):\n%s", difference)
	}
}

func TestTagsOfTheTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wanted := r.wanted("m5.large", firstToken)
	wanted.Tags["old"] = "x"
	r.ensure(wanted)
	id := r.observe(wanted).Template.ID
	if _, err := r.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{
		{Key: awssdk.String("cost-center"), Value: awssdk.String("7")}, {Key: awssdk.String("team"), Value: awssdk.String("another")},
	}}); err != nil {
		t.Fatal(err)
	}
	delete(wanted.Tags, "old")
	wanted.RetiredTags = []string{"old", "never-there"}
	wanted.Tags["new"] = ""
	r.ensure(wanted)
	want := map[string]string{infrav1.TagLaunchConfig: owner, "team": "blue", "new": "", "cost-center": "7"}
	if difference := cmp.Diff(want, r.observe(wanted).Template.Tags); difference != "" {
		t.Errorf("tags (-want +got):\n%s", difference)
	}
	r.hasVersions(wanted, 1)
}

func TestNamesTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	theirs := ownedBy("other/pool", r.wanted("c5.large", firstToken))
	theirs.Names = []string{"pool"}
	r.ensure(theirs)

	ours := r.wanted("m5.large", firstToken)
	r.ensure(ours)
	if name := r.observe(ours).Template.Name; name != "pool-1a2b3c4d" {
		t.Errorf("ours is called %q", name)
	}
	r.hasVersions(theirs, 1)

	late := ownedBy("third/pool", r.wanted("m5.large", firstToken))
	_, _, _, err := r.templates.Ensure(t.Context(), late, r.observe(late))
	var taken *launchtemplate.NamesTakenError
	if !errors.As(err, &taken) || !slices.Equal(taken.Names, late.Names) || aws.FateOf(err).Kind != aws.WaitForUser {
		t.Errorf("error %v, fate %+v", err, aws.FateOf(err))
	}
}

// TestNameTakenMeanwhile holds that a name that was free when it was checked, and is taken now, is
// an error to retry soon, and that the next pass takes another name.
func TestNameTakenMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ours := r.wanted("m5.large", firstToken)
	before := r.observe(ours)
	theirs := ownedBy("other/pool", r.wanted("c5.large", firstToken))
	r.ensure(theirs)
	if _, _, _, err := r.templates.Ensure(t.Context(), ours, before); !aws.IsAlreadyExists(err) || aws.FateOf(err).Kind != aws.RetrySoon {
		t.Errorf("error %v", err)
	}
	r.ensure(ours)
	if name := r.observe(ours).Template.Name; name != "pool-1a2b3c4d" {
		t.Errorf("ours is called %q", name)
	}
}

func TestTemplateLost(t *testing.T) {
	t.Parallel()
	whateverTokensDo(t, templateLost)
}

func templateLost(r *rig) {
	r.Helper()
	wanted := r.wanted("m5.large", firstToken)
	r.ensure(wanted)
	first := *r.observe(wanted).Template
	if err := r.templates.Delete(r.Context(), owner, first); err != nil {
		r.Fatal(err)
	}
	if err := r.templates.Delete(r.Context(), owner, first); err != nil {
		r.Errorf("deleting what is gone: %v", err)
	}
	wanted.Lost = first.ID
	r.ensure(wanted)
	second := *r.observe(wanted).Template
	if second.ID == first.ID {
		r.Error("the request was taken for a repeat of the first")
	}
	if err := r.templates.Delete(r.Context(), owner, second); err != nil {
		r.Fatal(err)
	}
	wanted.Lost = second.ID
	r.ensure(wanted)
}

// TestSameDataIsOneVersion requests the same data again after something kept a version from being
// seen.
func TestSameDataIsOneVersion(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// unseen creates a version with the data of large, and returns what is seen of the template
		// afterwards.
		unseen func(r *rig, large launchtemplate.Wanted, before launchtemplate.Observation) launchtemplate.Observation
	}{
		{"another version was made from an observation that lacks it", func(r *rig, _ launchtemplate.Wanted, before launchtemplate.Observation) launchtemplate.Observation {
			_, after, _, err := r.templates.Ensure(r.Context(), r.wanted("m5.2xlarge", firstToken), before)
			if err != nil {
				r.Fatal(err)
			}
			return after
		}},
		{"the template shows its number before the list of versions does", func(r *rig, large launchtemplate.Wanted, before launchtemplate.Observation) launchtemplate.Observation {
			seen := r.observe(large)
			seen.Versions = before.Versions
			return seen
		}},
		{"the list of versions shows a later one first", func(r *rig, large launchtemplate.Wanted, _ launchtemplate.Observation) launchtemplate.Observation {
			r.ensure(r.wanted("m5.2xlarge", firstToken))
			seen := r.observe(large)
			seen.Versions = slices.DeleteFunc(seen.Versions, func(version launchtemplate.Version) bool { return version.Number == 2 })
			return seen
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			for name, ask := range map[string]func(*rig, context.Context, launchtemplate.Wanted, launchtemplate.Observation) (launchtemplate.Version, error){
				"the default version": func(r *rig, ctx context.Context, wanted launchtemplate.Wanted, seen launchtemplate.Observation) (launchtemplate.Version, error) {
					version, _, _, err := r.templates.Ensure(ctx, wanted, seen)
					return version, err
				},
				"a version beside it": (*rig).beside,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r := newRig(t)
					small, large := r.wanted("m5.large", firstToken), r.wanted("m5.xlarge", firstToken)
					r.ensure(small)
					before := r.observe(small)
					if _, err := r.sim.AddFault(awssim.Fault{Action: "CreateLaunchTemplateVersion", Nth: 1, Place: awssim.AfterEffect, Drop: true}); err != nil {
						t.Fatal(err)
					}
					if _, err := ask(r, t.Context(), large, before); !aws.IsUncertain(err) {
						t.Fatalf("the answer was not lost: %v", err)
					}
					seen := row.unseen(r, large, before)
					there := r.numbers(large)
					version, err := ask(r, t.Context(), large, seen)
					if err != nil || version.Number != 2 {
						t.Errorf("version %d, want 2, error %v", version.Number, err)
					}
					r.hasVersions(large, there...)
				})
			}
		})
	}
}

// TestAddAfterDeletion adds data again whose version was deleted.
func TestAddAfterDeletion(t *testing.T) {
	t.Parallel()
	whateverTokensDo(t, addAfterDeletion)
}

func addAfterDeletion(r *rig) {
	r.Helper()
	small, large, other := r.wanted("m5.large", firstToken), r.wanted("m5.xlarge", firstToken), r.wanted("m5.2xlarge", firstToken)
	r.ensure(small)
	r.add(large, 2)
	r.add(other, 3)
	if _, err := r.ec2.DeleteLaunchTemplateVersions(r.Context(), &ec2.DeleteLaunchTemplateVersionsInput{
		LaunchTemplateName: awssdk.String("pool"), Versions: []string{"2"},
	}); err != nil {
		r.Fatal(err)
	}
	r.add(large, 4)
	r.hasVersions(small, 1, 3, 4)
}

func TestErrorsSayWhat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wanted := r.wanted("m5.large", firstToken)
	r.ensure(wanted)
	seen := r.observe(wanted)
	if _, err := r.sim.AddFault(awssim.Fault{Code: "UnauthorizedOperation", Status: 403}); err != nil {
		t.Fatal(err)
	}
	id := seen.Template.ID
	for reason, call := range map[string]func(context.Context) error{
		`describing launch templates ["pool"]`: func(ctx context.Context) error {
			_, err := r.templates.Describe(ctx, []string{"pool"})
			return err
		},
		`describing the versions of launch template "` + id: func(ctx context.Context) error {
			_, err := r.templates.Versions(ctx, id)
			return err
		},
		`creating a version of launch template "` + id: func(ctx context.Context) error {
			_, _, _, err := r.templates.Ensure(ctx, r.wanted("m5.xlarge", firstToken), seen)
			return err
		},
		`deleting versions ["1"] of launch template "` + id: func(ctx context.Context) error {
			_, _, err := r.templates.Prune(ctx, owner, seen, []int64{1})
			return err
		},
		`deleting launch template "` + id: func(ctx context.Context) error { return r.templates.Delete(ctx, owner, *seen.Template) },
		`describing the instances of launch template "` + id: func(ctx context.Context) error {
			_, err := r.templates.VersionsRunning(ctx, id)
			return err
		},
	} {
		if err := call(t.Context()); err == nil || !strings.Contains(err.Error(), reason) || !aws.IsAccessDenied(err) {
			t.Errorf("error %v, want one that says %s and AWS's code", err, reason)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 3 {
		wanted := ownedBy("default/pool-"+fmt.Sprint(i), r.wanted("m5.large", firstToken))
		wanted.Names = []string{fmt.Sprintf("pool-%d", i)}
		r.ensure(wanted)
	}
	r.sim.ClearCalls()
	names := []string{"pool-0", "pool-2", "unowned", "x"}
	for i := len(names); i < launchtemplate.DescribeBatch; i++ {
		names = append(names, fmt.Sprintf("absent-%d", i))
	}
	found, err := r.templates.Describe(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found["pool-0"].Name != "pool-0" || found["pool-2"].LatestVersion != 1 || found["pool-2"].DefaultVersion != 1 {
		t.Errorf("found %+v", found)
	}
	if calls := r.sim.Calls(); len(calls) != 1 {
		t.Errorf("%d calls for a batch", len(calls))
	}
	if found, err := r.templates.Describe(t.Context(), nil); err != nil || len(found) != 0 || len(r.sim.Calls()) != 1 {
		t.Errorf("no names: found %v, error %v", found, err)
	}
}

func TestWarning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	version, change := r.ensure(r.wanted("m5.large", firstToken))
	if version.Number != 1 || !strings.Contains(change.Warning, "ami-0a1b2c3d4e5f60718") {
		t.Errorf("change %+v: EC2 stores a template with an image that does not exist, and says so", change)
	}
}

// TestTokenCoversDescription holds that another look-up that leads to the same image has another
// token: it is another request, with another description.
func TestTokenCoversDescription(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ensure(r.wanted("m5.large", firstToken))
	one, other := r.wanted("m5.xlarge", firstToken), r.wanted("m5.xlarge", firstToken)
	one.Input.Fingerprints.Image, other.Input.Fingerprints.Image = "0123456789abcdef", "fedcba9876543210"
	before := r.observe(one)
	if _, err := r.sim.AddFault(awssim.Fault{Action: "CreateLaunchTemplateVersion", Nth: 1, Place: awssim.AfterEffect, Drop: true}); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := r.templates.Ensure(t.Context(), one, before); !aws.IsUncertain(err) {
		t.Fatalf("the answer was not lost: %v", err)
	}
	if _, _, _, err := r.templates.Ensure(t.Context(), other, before); err != nil {
		t.Errorf("error %v", err)
	}
}

// TestTaggedTakesTextForItself holds that a value with the wildcards of EC2's filters finds the
// templates that have the very value, and no others.
func TestTaggedTakesTextForItself(t *testing.T) {
	t.Parallel()
	const key = "example.com/cluster"
	r := newRig(t)
	values := map[string]string{"star": "pro*", "question": "pro?", "escape": `pro\*`, "plain": "prod", "longer": "production"}
	for name, value := range values {
		if _, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
			TagSpecifications: []ec2types.TagSpecification{{
				ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: []ec2types.Tag{{Key: awssdk.String(key), Value: &value}},
			}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range values {
		found, err := r.templates.Tagged(t.Context(), key, value)
		if err != nil {
			t.Fatal(err)
		}
		if names := slices.Collect(maps.Keys(found)); !slices.Equal(names, []string{name}) {
			t.Errorf("templates %q have value %q, want %q", names, value, name)
		}
	}
}
