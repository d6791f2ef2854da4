package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// atRest is the time within which a change from outside is repaired: the interval of sweeps at
// rest, and one of sweeps in motion.
const atRest = 4*time.Minute + 5*time.Second

// TestDrift changes, behind the manager's back, one thing at a time, and wants it repaired within a
// sweep at rest, with no instance replaced.
func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances, template := w.running(), w.template().LaunchTemplateId
	other, tags := w.foreignTemplate("foreign"), len(w.group().Tags)
	for _, row := range []struct {
		name     string
		sabotage func() error
		// mended is nil once it is as it was, after so long at rest.
		mended func() error
		within time.Duration
	}{
		{
			"the group is pointed at another template",
			func() error { return w.pointGroup(other, "1") },
			func() error { return w.groupAt(*template, "1") },
			atRest,
		},
		{
			"the group follows the newest version",
			func() error { return w.pointGroup(*template, "$Latest") },
			func() error { return w.groupAt(*template, "1") },
			atRest,
		},
		{
			"the group gets a mixed instances policy",
			func() error {
				_, err := w.asg().UpdateAutoScalingGroup(w.Context(), &autoscaling.UpdateAutoScalingGroupInput{
					AutoScalingGroupName: aws.String(poolName),
					MixedInstancesPolicy: &asgtypes.MixedInstancesPolicy{LaunchTemplate: &asgtypes.LaunchTemplate{
						LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: template, Version: aws.String("1")},
						Overrides:                   []asgtypes.LaunchTemplateOverrides{{InstanceType: aws.String("m5.large")}},
					}},
				})
				return err
			},
			func() error { return w.groupAt(*template, "1") },
			atRest,
		},
		{
			"the group's bounds change",
			func() error {
				_, err := w.asg().UpdateAutoScalingGroup(w.Context(), &autoscaling.UpdateAutoScalingGroupInput{
					AutoScalingGroupName: aws.String(poolName), MinSize: aws.Int32(0), MaxSize: aws.Int32(4),
				})
				return err
			},
			func() error { return equals([]int32{*w.group().MinSize, *w.group().MaxSize}, []int32{1, 10}) },
			atRest,
		},
		{
			"a foreign version becomes the default",
			func() error {
				made, err := w.ec2().CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
					LaunchTemplateId: template, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
				})
				if err != nil {
					return err
				}
				_, err = w.ec2().ModifyLaunchTemplate(w.Context(), &ec2.ModifyLaunchTemplateInput{
					LaunchTemplateId: template, DefaultVersion: aws.String(fmt.Sprint(*made.LaunchTemplateVersion.VersionNumber)),
				})
				return err
			},
			func() error {
				for _, seen := range w.templates() {
					if *seen.LaunchTemplateId == *template && *seen.DefaultVersionNumber != 1 {
						return fmt.Errorf("the default is version %d", *seen.DefaultVersionNumber)
					}
				}
				return nil
			},
			2 * atRest, // templates are described half as often
		},
		{
			"the template loses a tag",
			func() error {
				_, err := w.ec2().DeleteTags(w.Context(), &ec2.DeleteTagsInput{Resources: []string{*template}, Tags: []ec2types.Tag{{Key: aws.String("Name")}}})
				return err
			},
			func() error {
				for _, seen := range w.templates() {
					if *seen.LaunchTemplateId == *template && tagMap(seen.Tags)["Name"] == "" {
						return fmt.Errorf("its tags are %v", tagMap(seen.Tags))
					}
				}
				return nil
			},
			2 * atRest,
		},
		{
			"the group loses a tag",
			func() error {
				_, err := w.asg().DeleteTags(w.Context(), &autoscaling.DeleteTagsInput{Tags: []asgtypes.Tag{{
					Key: aws.String("kubernetes.io/cluster/capa"), ResourceId: aws.String(poolName), ResourceType: aws.String("auto-scaling-group"),
				}}})
				return err
			},
			func() error { return equals([]int{len(w.group().Tags)}, []int{tags}) },
			atRest,
		},
		{
			"a lifecycle hook is deleted, and nothing else moves",
			func() error { return w.deleteDrainHook() },
			func() error { return equals(w.hooks(), []string{drainHook}) },
			time.Hour + atRest,
		},
		{
			"a lifecycle hook is deleted, and the group's size changed",
			func() error {
				if err := w.deleteDrainHook(); err != nil {
					return err
				}
				_, err := w.asg().UpdateAutoScalingGroup(w.Context(), &autoscaling.UpdateAutoScalingGroupInput{
					AutoScalingGroupName: aws.String(poolName), MaxSize: aws.Int32(4),
				})
				return err
			},
			func() error { return equals(w.hooks(), []string{drainHook}) },
			2 * atRest,
		},
	} {
		// Rows share the pool: each begins where the last one was mended. The clock stands, but for
		// what a sweep at rest takes.
		w.clock.SetRate(0)
		// a sweep that is under way now may look before, and wait for the next one from after the step
		w.rest0()
		if err := row.sabotage(); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		w.clock.Step(row.within)
		w.Eventually(row.name+", and is mended", row.mended)
		w.clock.SetRate(rate)
		w.Eventually("the pool is settled", func() error { return w.settled(2) })
		w.rest()
	}
	if err := equals(w.running(), instances); err != nil {
		t.Errorf("instances: %v", err)
	}
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0, "CreateLaunchTemplate": 0})
	w.awaitEvents("ASGChangedOutside", "LaunchTemplateChangedOutside")
	if events := w.events(); slices.Contains(events, "ASGUpdated") {
		t.Errorf("what others changed is told as an update: %q", events)
	}
	w.awaitNotes("max size 4 → 10", "mixed instances policy set → none", "launch template version $Latest → 1", "default version 2 → 1",
		"tags Name", "tags kubernetes.io/cluster/capa", "put lifecycle hook slipway-drain")
}

func (w *world) deleteDrainHook() error {
	_, err := w.asg().DeleteLifecycleHook(w.Context(), &autoscaling.DeleteLifecycleHookInput{
		AutoScalingGroupName: aws.String(poolName), LifecycleHookName: aws.String(drainHook),
	})
	return err
}

// awaitNotes waits until the notes of events had all of these words.
func (w *world) awaitNotes(words ...string) {
	w.Helper()
	w.Eventually("events have the expected notes", func() error {
		list := &corev1.EventList{}
		if err := w.Client.List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		for _, text := range words {
			if !slices.ContainsFunc(list.Items, func(event corev1.Event) bool { return strings.Contains(event.Message, text) }) {
				return fmt.Errorf("no event says %q", text)
			}
		}
		return nil
	})
}

func (w *world) pointGroup(template, version string) error {
	_, err := w.asg().UpdateAutoScalingGroup(w.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(poolName),
		LaunchTemplate:       &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &template, Version: &version},
	})
	return err
}

// groupAt is nil once the group launches from a version of a template, and from no mixed instances policy.
func (w *world) groupAt(template, version string) error {
	seen := w.group().LaunchTemplate
	if seen == nil || *seen.LaunchTemplateId != template || *seen.Version != version {
		return fmt.Errorf("the group is at %+v", seen)
	}
	return nil
}

// TestInstanceDetached takes an instance out of the group: another takes its place, and the one
// that left is not managed.
func TestInstanceDetached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	if _, err := w.asg().DetachInstances(w.Context(), &autoscaling.DetachInstancesInput{
		AutoScalingGroupName: aws.String(poolName), InstanceIds: instances[:1], ShouldDecrementDesiredCapacity: aws.Bool(false),
	}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the pool has another, and not the one that left", func() error {
		pool, err := w.pool()
		if err != nil {
			return err
		}
		if len(pool.Spec.ProviderIDList) != 2 || slices.ContainsFunc(pool.Spec.ProviderIDList, func(id string) bool { return id[len(id)-len(instances[0]):] == instances[0] }) {
			return fmt.Errorf("provider ids are %q", pool.Spec.ProviderIDList)
		}
		return nil
	})
	if !slices.Contains(w.running(), instances[0]) {
		t.Error("the instance that left was terminated")
	}
}
