package integration

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab/capa"
)

// capasWorld is one in which CAPA runs the pool of the example, and Slipway's manager is about to be started.
type capasWorld struct {
	*world
	provider capa.Provider
	// instances are the instances that CAPA launched.
	instances []string
}

// newCAPAsWorld has the pool with two nodes, as CAPA leaves it. Before runs after the pool's
// objects are there and before CAPA creates anything from them.
func newCAPAsWorld(t *testing.T, before func(*capasWorld), replacements ...string) *capasWorld {
	t.Helper()
	return capasPoolIn(newWorld(t), before, replacements...)
}

// capasPoolIn is newCAPAsWorld in a world where nothing is yet.
func capasPoolIn(empty *world, before func(*capasWorld), replacements ...string) *capasWorld {
	empty.Helper()
	w := &capasWorld{world: empty}
	w.stopManager()
	w.applyExample(replacements...)
	w.provider = capa.Provider{Client: w.Client, AWS: w.awsConfig(), Key: w.key(), ImageID: w.publicImageFor("1.25.0")}
	if before != nil {
		before(w)
	}
	w.Eventually("there is bootstrap data", func() error {
		if w.machinePool().Spec.Template.Spec.Bootstrap.DataSecretName == nil {
			return fmt.Errorf("the MachinePool names none")
		}
		return nil
	})
	template, err := w.provider.CreateTemplate(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	// Tokens rotated since: instances run one of several versions.
	for range 2 {
		if err := w.provider.CreateVersion(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
	if err := w.provider.CreateGroup(w.Context(), template); err != nil {
		w.Fatal(err)
	}
	w.Eventually("two instances are in service", func() error {
		for _, instance := range w.group().Instances {
			if instance.LifecycleState != "InService" {
				return fmt.Errorf("instance %s is %s", *instance.InstanceId, instance.LifecycleState)
			}
		}
		w.instances = w.running()
		return equals([]int{len(w.group().Instances), len(w.instances)}, []int{2, 2})
	})
	if err := w.provider.MarkPool(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.Cloud.AWS.ClearCalls()
	return w
}

// publicImageFor is the default look-up's image for a Kubernetes version.
func (w *world) publicImageFor(version string) string {
	w.Helper()
	out, err := w.ec2().DescribeImages(w.Context(), &ec2.DescribeImagesInput{Owners: []string{"819546954734"}})
	if err != nil {
		w.Fatal(err)
	}
	for _, image := range out.Images {
		if image.Architecture == "x86_64" && strings.HasPrefix(*image.Name, "capa-ami-ubuntu-24.04-v"+version+"-") {
			return *image.ImageId
		}
	}
	w.Fatalf("there is no image for %s", version)
	return ""
}

// adopted waits until Slipway runs the pool with the instances that CAPA launched.
func (w *capasWorld) adopted() {
	w.Helper()
	w.Eventually("the pool is settled", func() error { return w.settled(2) })
	w.rest()
	w.keeps("after the adoption")
}

// keeps demands that no instance was replaced, and that no refresh was ever started.
func (w *capasWorld) keeps(when string) {
	w.Helper()
	if err := equals(w.running(), w.instances); err != nil {
		w.Errorf("%s, instances: %v", when, err)
	}
	if refreshes := w.refreshes(); len(refreshes) != 0 {
		w.Errorf("%s, there were refreshes: %+v", when, refreshes)
	}
}

// TestAdoption takes over a pool of CAPA's, and runs it as any other pool from then on.
func TestAdoption(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	before := w.group()
	w.startManager()
	w.adopted()
	// The group has CAPA's settings, so that only its version is updated.
	w.expectCounts(map[string]int{"CreateLaunchTemplate": 0, "CreateLaunchTemplateVersion": 1, "CreateAutoScalingGroup": 0, "UpdateAutoScalingGroup": 1})
	group := w.group()
	if *group.AutoScalingGroupARN != *before.AutoScalingGroupARN || *group.LaunchTemplate.Version != "4" {
		t.Errorf("the group is %s at version %s", *group.AutoScalingGroupARN, *group.LaunchTemplate.Version)
	}
	condition := w.awaitCondition(infrav1.AdoptedCondition, metav1.ConditionTrue, infrav1.AdoptedReason)
	if !strings.Contains(condition.Message, "up to 3") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.awaitEvents("ASGAdopted", "LaunchTemplateAdopted")

	// A rotated token, a restart and a move roll nothing.
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the rotation makes a version", func() error {
		if err := equals(w.numbers(), []int64{1, 2, 3, 4, 5}); err != nil {
			return err
		}
		return w.settled(2)
	})
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	w.touch()
	w.Eventually("the pool is settled after a move", func() error { return w.settled(2) })
	w.rest()
	w.keeps("after a rotation and a move")
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 2})

	// An edit is one roll-out.
	w.editType("m6i.large")
	w.Eventually("the edit replaces both", func() error { return w.replaced(w.instances, 2) })
	w.rest()
	if refreshes := w.refreshes(); len(refreshes) != 1 {
		t.Errorf("there were refreshes: %+v", refreshes)
	}
	w.deletePool()
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
}

// TestAdoptionOfIgnition takes over a pool whose bootstrap data CAPA keeps in the cluster's bucket:
// it moves to an object of Slipway's, which replaces nothing, and CAPA's objects stay for the
// instances that boot by them.
func TestAdoptionOfIgnition(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2.3", "3.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := capasPoolIn(newStorageWorld(t), nil,
				"  awsLaunchTemplate:\n", "  ignition:\n    version: \""+version+"\"\n  awsLaunchTemplate:\n    iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n",
				"spec:\n  joinConfiguration:\n", "spec:\n  format: ignition\n  joinConfiguration:\n")
			w.startManager()
			w.adopted()
			w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1, "PutObject": 1, "DeleteObject": 0})
			condition := w.awaitCondition(infrav1.AdoptedCondition, metav1.ConditionTrue, infrav1.AdoptedReason)
			if !strings.Contains(condition.Message, "they match the spec") {
				t.Errorf("the message is %q", condition.Message)
			}
			if names := w.stored(); len(names) != 1 || !bytes.Contains(userData(w.world, w.latest()), []byte(names[0])) {
				t.Errorf("kept are %q, and user data is %s", names, userData(w.world, w.latest()))
			}
			w.rotate("PutObject")
			w.rest()
			w.keeps("after a rotation")
			w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1})
		})
	}
}

// TestAdoptionHoldsDifferences takes over a pool with an edit that CAPA never applied: it is shown,
// and rolled when a user approves it.
func TestAdoptionHoldsDifferences(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.AWSLaunchTemplate.RootVolume = &infrav1.Volume{Size: 30, Type: "gp3"}
	})
	w.startManager()
	w.adopted()
	condition := w.awaitCondition(infrav1.AdoptedCondition, metav1.ConditionTrue, infrav1.AdoptedWithDifferencesReason)
	if !strings.Contains(condition.Message, "volume /dev/sda1 added") || !strings.Contains(condition.Message, infrav1.RollAdoptedAnnotation) {
		t.Errorf("the message is %q", condition.Message)
	}
	if root := device(w.latest(), "/dev/sda1"); root == nil || *root.VolumeSize != 30 {
		t.Errorf("new instances have root volume %+v", root)
	}
	w.annotate(infrav1.RollAdoptedAnnotation, "true")
	w.Eventually("both are replaced", func() error { return w.replaced(w.instances, 2) })
	w.rest()
	if refreshes := w.refreshes(); len(refreshes) != 1 {
		t.Errorf("there were refreshes: %+v", refreshes)
	}
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1})
}

// annotate sets an annotation of the pool, or takes it away.
func (w *world) annotate(key, value string) {
	w.Helper()
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		if value == "" {
			delete(pool.Annotations, key)
			return
		}
		if pool.Annotations == nil {
			pool.Annotations = map[string]string{}
		}
		pool.Annotations[key] = value
	})
}

// TestAdoptionKeepsImage takes over a pool whose image was looked up, after a newer one was published.
func TestAdoptionKeepsImage(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, func(w *capasWorld) {
		source := w.publicImage()
		w.provider.ImageID = w.publish(source, "nodes-1.25.0-a")
		w.publish(source, "nodes-1.25.0-b")
	}, "    sshKeyName:", "    imageLookupFormat: nodes-{{.K8sVersion}}-*\n    imageLookupOrg: self\n    sshKeyName:")
	w.startManager()
	w.adopted()
	w.awaitCondition(infrav1.AdoptedCondition, metav1.ConditionTrue, infrav1.AdoptedReason)
	if got := aws.ToString(w.latest().ImageId); got != w.provider.ImageID {
		t.Errorf("new instances run image %s, and those of CAPA's run %s", got, w.provider.ImageID)
	}
}

// TestDeletionDoesNotAdopt deletes a pool of CAPA's that Slipway never got to run: its group is
// left, and the pool says so, until a user of AWS says whose it is.
func TestDeletionDoesNotAdopt(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	w.deletePool()
	before := w.foreigner()
	w.startManager()
	condition := w.awaitCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.OwnerTagMissingReason)
	if !strings.Contains(condition.Message, infrav1.TagMachinePool) || !strings.Contains(condition.Message, infrav1.MachinePoolFinalizer) {
		t.Errorf("the message is %q", condition.Message)
	}
	w.rest()
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the manager wrote %q", writes)
	}
	if diff := cmp.Diff(before, w.foreigner(), foreignOptions); diff != "" {
		t.Errorf("what CAPA made has changed (-before +after):\n%s", diff)
	}
	if _, err := w.asg().CreateOrUpdateTags(w.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: []asgtypes.Tag{{
		ResourceId: aws.String(poolName), ResourceType: aws.String("auto-scaling-group"), PropagateAtLaunch: aws.Bool(false),
		Key: aws.String(infrav1.TagMachinePool), Value: aws.String(w.Namespace + "/capa/" + poolName),
	}}}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("the group is gone", func() error {
		if running := w.running(); len(running) != 0 {
			return fmt.Errorf("instances are %q", running)
		}
		return nil
	})
}

// TestNamesakesAreNotAdopted holds that a group of CAPA's is only taken over by the pool that it is
// certain to be of.
func TestNamesakesAreNotAdopted(t *testing.T) {
	t.Parallel()
	otherARN := "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:0f0e0d0c-0000-4000-8000-000000000000:autoScalingGroupName/" + poolName
	for _, row := range []struct {
		name, reason string
		prepare      func(*capasWorld)
		message      string
		// relent corrects the pool so that it can be adopted.
		relent func(*capasWorld)
	}{
		{
			"a pool that was applied anew", infrav1.NameTakenReason,
			func(w *capasWorld) { w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.ProviderID = "" }) },
			infrav1.AdoptAnnotation,
			func(w *capasWorld) { w.annotate(infrav1.AdoptAnnotation, *w.group().AutoScalingGroupARN) },
		},
		{
			"a pool with a group of this name in another account", infrav1.NameTakenReason,
			func(w *capasWorld) {
				w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.ProviderID = otherARN })
			},
			infrav1.AdoptAnnotation,
			func(w *capasWorld) { w.annotate(infrav1.AdoptAnnotation, *w.group().AutoScalingGroupARN) },
		},
		{
			"two pools that share a group", infrav1.NameTakenReason,
			func(w *capasWorld) {
				other := w.mustPool()
				*other = infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "namesake"}, Spec: other.Spec}
				if err := w.Client.Create(w.Context(), other); err != nil {
					w.Fatal(err)
				}
			},
			"namesake",
			func(w *capasWorld) { w.remove(&infrav1.AWSMachinePool{}, "namesake") },
		},
		{
			"CAPA keeps Machines for it", infrav1.AdoptionBlockedReason,
			func(w *capasWorld) {
				pool := w.mustPool()
				machine := &capav1.AWSMachine{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: poolName + "-abcde", OwnerReferences: []metav1.OwnerReference{{
						APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: poolName, UID: pool.UID,
					}}},
					Spec: capav1.AWSMachineSpec{InstanceType: "t3.large"},
				}
				if err := w.Client.Create(w.Context(), machine); err != nil {
					w.Fatal(err)
				}
			},
			poolName + "-abcde",
			func(w *capasWorld) { w.remove(&capav1.AWSMachine{}, poolName+"-abcde") },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newCAPAsWorld(t, nil)
			row.prepare(w)
			before := w.foreigner()
			w.startManager()
			condition := w.awaitCondition(infrav1.ASGReadyCondition, metav1.ConditionFalse, row.reason)
			if !strings.Contains(condition.Message, row.message) {
				t.Errorf("the message is %q", condition.Message)
			}
			w.rest()
			if writes := w.writes(); len(writes) != 0 {
				t.Errorf("the manager wrote %q", writes)
			}
			if diff := cmp.Diff(before, w.foreigner(), foreignOptions); diff != "" {
				t.Errorf("what CAPA made has changed (-before +after):\n%s", diff)
			}
			row.relent(w)
			w.touchPool()
			w.adopted()
		})
	}
}

// touchPool has the manager reconcile the pool again where there is no launch config yet.
func (w *world) touchPool() {
	w.Helper()
	w.annotate("touched", w.clock.Now().String())
}

// TestNamesakeIsNotDeleted deletes a pool while a group that is not certain to be its own has its
// name.
func TestNamesakeIsNotDeleted(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.ProviderID = "" })
	w.startManager()
	w.awaitCondition(infrav1.ASGReadyCondition, metav1.ConditionFalse, infrav1.NameTakenReason)
	w.deletePool()
	w.Eventually("the objects are gone", w.gone)
	w.rest()
	w.keeps("after the deletion")
	if err := equals(w.numbers(), []int64{1, 2, 3}); err != nil {
		t.Errorf("versions: %v", err)
	}
}

// TestAdoptionOfAGroupWithoutItsTemplate takes over a group whose template was deleted: CAPA never
// repairs that (its instances go on).
func TestAdoptionOfAGroupWithoutItsTemplate(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	lost := w.template().LaunchTemplateId
	if _, err := w.ec2().DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: lost}); err != nil {
		t.Fatal(err)
	}
	w.startManager()
	w.adopted()
	if got := *w.group().LaunchTemplate.LaunchTemplateId; got == *lost {
		t.Error("the group launches from the lost template")
	}
}

// TestScaleOfAnAdoptedPool holds that new instances run the spec, and that the existing ones stay.
func TestScaleOfAnAdoptedPool(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	w.startManager()
	w.adopted()
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = aws.Int32(3) })
	w.Eventually("a third node joins", func() error { return w.settled(3) })
	for _, id := range w.instances {
		if !slices.Contains(w.running(), id) {
			t.Errorf("instance %s is gone", id)
		}
	}
	var versions []string
	out, err := w.asg().DescribeAutoScalingInstances(w.Context(), &autoscaling.DescribeAutoScalingInstancesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range out.AutoScalingInstances {
		versions = append(versions, *instance.LaunchTemplate.Version)
	}
	slices.Sort(versions)
	if err := equals(versions, []string{"3", "3", "4"}); err != nil {
		t.Errorf("the instances run versions: %v", err)
	}
	if err := w.Client.Get(w.Context(), w.key(), &infrav1.AWSLaunchConfig{}); apierrors.IsNotFound(err) {
		t.Error("there is no launch config")
	}
}
