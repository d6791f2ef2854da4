package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestTemplateLost deletes the template behind the manager's back. Its versions are remembered, so
// no instance is replaced, then or after a move.
func TestTemplateLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances, lost := w.running(), *w.template().LaunchTemplateId
	if _, err := w.ec2().DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &lost}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("there is another template, and the group is at it", func() error {
		if templates := w.templates(); len(templates) != 1 || *templates[0].LaunchTemplateId == lost {
			return fmt.Errorf("templates are %+v", templates)
		}
		if id := *w.group().LaunchTemplate.LaunchTemplateId; id == lost {
			return fmt.Errorf("the group is at %s", id)
		}
		return w.settled(2)
	})
	w.rest()
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	w.touch()
	w.Eventually("the pool is settled after a move", func() error { return w.settled(2) })
	w.rest()
	if err := equals(w.running(), instances); err != nil {
		t.Errorf("instances: %v", err)
	}
	w.expectCounts(map[string]int{"CreateLaunchTemplate": 1, "CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0, "CreateAutoScalingGroup": 0})
	w.awaitEvents("LaunchTemplateLost")

	// They are replaced when the spec asks for something else.
	w.editType("m6i.large")
	w.Eventually("the edit replaces both", func() error { return w.replaced(instances, 2) })
}

// TestTemplateLostWithStatus deletes the template while no record of its versions exists: instances
// then cannot be matched to the config.
func TestTemplateLostWithStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	// The instances run a second version: were it the first, EC2 would take the request for a new
	// template for a repeat of the old one's, by its client token, and its answer would show that
	// they run the same.
	first := w.running()
	w.editType("m6i.large")
	w.Eventually("the edit replaces both", func() error { return w.replaced(first, 2) })
	w.rest()
	instances, lost := w.running(), w.template().LaunchTemplateId
	w.stopManager()
	w.wipeStatus()
	if _, err := w.ec2().DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: lost}); err != nil {
		t.Fatal(err)
	}
	w.startManager()
	w.Eventually("both are replaced", func() error { return w.replaced(instances, 2) })
}

// TestGroupLost deletes the group behind the manager's back.
func TestGroupLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	if _, err := w.asg().DeleteAutoScalingGroup(w.Context(), &autoscaling.DeleteAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(poolName), ForceDelete: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("there is another group with two nodes", func() error { return w.replaced(instances, 2) })
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "CreateAutoScalingGroup": 1, "StartInstanceRefresh": 0})
	if !w.mustPool().Status.Ready {
		t.Error("status.ready went back")
	}
	w.awaitEvents("ASGLost")
}

// TestGroupLostInSight deletes the group and lets the manager see it go: a group that was shown as
// going is still reported as lost when it is gone.
func TestGroupLostInSight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	w.stopManager()
	behavior := w.Cloud.AWS.Behavior()
	behavior.InstanceTimes.ShuttingDown = 10 * time.Minute // the group stays in sight for as long
	w.Cloud.AWS.SetBehavior(behavior)
	w.clock.SetRate(rate / 20)
	if _, err := w.asg().DeleteAutoScalingGroup(w.Context(), &autoscaling.DeleteAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(poolName), ForceDelete: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	w.startManager()
	w.awaitCondition(infrav1.ASGReadyCondition, "False", infrav1.ASGDeletionInProgressReason)
	w.clock.SetRate(rate)
	w.Eventually("there is another group with two nodes", func() error { return w.replaced(instances, 2) })
	w.awaitEvents("ASGLost")
}

// TestInstanceLost terminates one instance: the group replaces it, and the provider ids follow.
func TestInstanceLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	if _, err := w.ec2().TerminateInstances(w.Context(), &ec2.TerminateInstancesInput{InstanceIds: instances[:1]}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("another has taken its place", func() error { return w.replaced(instances[:1], 2) })
	if running := w.running(); !slices.Contains(running, instances[1]) {
		t.Errorf("instances are %q, were %q", running, instances)
	}
	w.rest()
	// The group holds the lost instance by its hook, as it holds one that still runs (AWS:
	// lifecycle-hooks-overview); there is no node to drain.
	if writes := w.writes(); slices.ContainsFunc(writes, func(write string) bool { return write != "CompleteLifecycleAction" }) {
		t.Errorf("the manager wrote %q", writes)
	}
	w.Eventually("the provider ids are those of the two", func() error {
		if ids := w.mustPool().Spec.ProviderIDList; len(ids) != 2 || !slices.IsSorted(ids) {
			return fmt.Errorf("provider ids are %q", ids)
		}
		return nil
	})
}

// TestDriftIsRepaired changes what the manager set, and wants it back without a node being touched.
func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	template, group := w.template(), w.group()
	tags := tagMap(template.Tags)
	other, err := w.ec2().CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: template.LaunchTemplateId, SourceVersion: aws.String("1"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
	})
	if err != nil {
		t.Fatal(err)
	}
	foreign := fmt.Sprint(*other.LaunchTemplateVersion.VersionNumber)
	if _, err := w.ec2().ModifyLaunchTemplate(w.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: template.LaunchTemplateId, DefaultVersion: &foreign}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ec2().DeleteTags(w.Context(), &ec2.DeleteTagsInput{
		Resources: []string{*template.LaunchTemplateId}, Tags: []ec2types.Tag{{Key: aws.String("Name")}, {Key: aws.String("kubernetes.io/cluster/capa")}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.asg().DeleteTags(w.Context(), &autoscaling.DeleteTagsInput{Tags: []asgtypes.Tag{{
		Key: aws.String("kubernetes.io/cluster/capa"), ResourceId: aws.String(poolName), ResourceType: aws.String("auto-scaling-group"),
	}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.asg().UpdateAutoScalingGroup(w.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(poolName), MaxSize: aws.Int32(3),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: template.LaunchTemplateId, Version: aws.String("$Latest")},
	}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("all is as it was", func() error {
		now, nowGroup := w.template(), w.group()
		if diff := cmp.Diff(tags, tagMap(now.Tags)); diff != "" {
			return fmt.Errorf("tags of the template (-want +got):\n%s", diff)
		}
		if *now.DefaultVersionNumber != 1 || *nowGroup.MaxSize != 10 || *nowGroup.LaunchTemplate.Version != "1" || len(nowGroup.Tags) != len(group.Tags) {
			return fmt.Errorf("default version %d, group %+v", *now.DefaultVersionNumber, nowGroup)
		}
		return w.settled(2)
	})
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0})
	if !slices.Equal(w.running(), instances) {
		t.Errorf("instances are %q, were %q", w.running(), instances)
	}
}
