package launchtemplate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// TestVersionLost holds that a deleted version is created again when it is wanted again, although
// the request for it was sent before.
func TestVersionLost(t *testing.T) {
	t.Parallel()
	whateverTokensDo(t, versionLost)
}

func versionLost(r *rig) {
	r.Helper()
	small, large := r.wanted("m5.large", firstToken), r.wanted("m5.xlarge", firstToken)
	r.ensure(small)
	for want := int64(2); want < 5; want++ {
		version, change := r.ensure(large)
		if version.Number != want || change.VersionCreated != want {
			r.Fatalf("version %d, change %+v, want %d", version.Number, change, want)
		}
		r.ensure(small)
		if _, err := r.ec2.DeleteLaunchTemplateVersions(r.Context(), &ec2.DeleteLaunchTemplateVersionsInput{
			LaunchTemplateName: awssdk.String("pool"), Versions: []string{fmt.Sprint(want)},
		}); err != nil {
			r.Fatal(err)
		}
		r.hasVersions(small, 1)
	}
}

func TestVersionsUnseen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wanted := r.wanted("m5.large", firstToken)
	r.ensure(wanted)
	seen := r.observe(wanted)
	seen.Versions = nil
	r.sim.ClearCalls()
	_, _, _, err := r.templates.Ensure(t.Context(), wanted, seen)
	var unseen *launchtemplate.VersionsUnseenError
	if !errors.As(err, &unseen) || aws.FateOf(err).Kind != aws.RetrySoon {
		t.Errorf("error %v, fate %+v", err, aws.FateOf(err))
	}
	r.wrote()
	if err := r.templates.Delete(t.Context(), owner, *seen.Template); err != nil {
		t.Fatal(err)
	}
	if versions, err := r.templates.Versions(t.Context(), seen.Template.ID); err != nil || len(versions) != 0 {
		t.Errorf("versions %v of a template that is gone, error %v", versions, err)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types := []string{"m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"}
	for _, instanceType := range types {
		r.ensure(r.wanted(instanceType, firstToken))
	}
	wanted := r.wanted("m5.4xlarge", firstToken)
	if _, err := r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateName: awssdk.String("pool"), Versions: []string{"2"}}); err != nil {
		t.Fatal(err)
	}
	seen := r.observe(wanted)
	// The default was moved since: EC2 refuses to delete it, and deletes the rest.
	if _, err := r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateName: awssdk.String("pool"), DefaultVersion: awssdk.String("1")}); err != nil {
		t.Fatal(err)
	}
	after, refused, err := r.templates.Prune(t.Context(), owner, seen, []int64{3, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(refused) != 1 || !strings.Contains(refused[1], "default version") {
		t.Errorf("refused %v: version 1 is the default, version 2 is gone, which is as good as deleted", refused)
	}
	if difference := cmp.Diff(r.numbers(wanted), []int64{1, 4}); difference != "" {
		t.Errorf("versions:\n%s", difference)
	}
	var left []int64
	for _, version := range after.NewestFirst() {
		left = append(left, version.Number)
	}
	if !slices.Equal(left, []int64{4, 1}) {
		t.Errorf("Prune says that %v are left", left)
	}
}

func TestPruneInBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wanted := r.wanted("m5.large", firstToken)
	r.ensure(wanted)
	var plan []int64
	for number := int64(2); number <= 203; number++ {
		if _, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateName: awssdk.String("pool"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
		}); err != nil {
			t.Fatal(err)
		}
		if number != 203 {
			plan = append(plan, number)
		}
	}
	seen := r.observe(wanted)
	if len(seen.Versions) != 203 {
		t.Fatalf("%d versions are seen", len(seen.Versions))
	}
	r.sim.ClearCalls()
	if _, refused, err := r.templates.Prune(t.Context(), owner, seen, plan); err != nil || len(refused) != 0 {
		t.Fatalf("refused %v, error %v", refused, err)
	}
	r.wrote("DeleteLaunchTemplateVersions", "DeleteLaunchTemplateVersions")
	r.hasVersions(wanted, 1, 203)
}

func TestVersionsRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	images, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.36.3-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) != 1 {
		t.Fatalf("finding an image: %v", err)
	}
	made, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("pool"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large", ImageId: images.Images[0].ImageId},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := *made.LaunchTemplate.LaunchTemplateId
	for range 2 {
		if _, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: &id, SourceVersion: awssdk.String("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.xlarge"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	launch := func(version string) string {
		out, err := r.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
			LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateId: &id, Version: &version},
			MinCount:       awssdk.Int32(1), MaxCount: awssdk.Int32(1), SubnetId: awssdk.String("subnet-0b2000000000000aa"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Instances[0].InstanceId
	}
	ended := launch("2")
	launch("1")
	launch("$Latest")
	if _, err := r.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: "m5.large", MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), SubnetId: awssdk.String("subnet-0b2000000000000aa"),
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []map[int64]bool{{1: true, 2: true, 3: true}, {1: true, 3: true}} {
		running, err := r.templates.VersionsRunning(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if difference := cmp.Diff(want, running); difference != "" {
			t.Errorf("versions that run (-want +got):\n%s", difference)
		}
		if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{ended}}); err != nil {
			t.Fatal(err)
		}
	}
}
