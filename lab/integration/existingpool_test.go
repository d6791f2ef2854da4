package integration

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const golden = "golden"

// makeTheirs creates the template, as its owner would.
func (w *world) makeTheirs(data *ec2types.RequestLaunchTemplateData) {
	w.Helper()
	if _, err := w.ec2().CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(goldenTemplate), LaunchTemplateData: data}); err != nil {
		w.Fatal(err)
	}
}

// TestPoolOfExistingTemplate holds that a pool launches from a foreign template and rolls when its
// owner moves the version, that an unfit version is reported and not launched, and that nothing of
// the template is written, also when the pool goes.
func TestPoolOfExistingTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.applyExample(ownTemplate, "launchConfigRef: {name: "+golden+"}\n")
	// after bootstrap data
	w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLaunchConfigReason)
	joining := w.BootstrapData(poolName)
	data := func(instanceType ec2types.InstanceType) *ec2types.RequestLaunchTemplateData {
		return &ec2types.RequestLaunchTemplateData{InstanceType: instanceType, ImageId: aws.String(w.publicImage()), UserData: aws.String(base64.StdEncoding.EncodeToString(joining))}
	}
	w.makeTheirs(data("t3.large"))
	w.followTheirs(golden, infrav1.ExistingLaunchTemplate{Name: goldenTemplate, Version: "latest"})
	settled := func(instanceType ec2types.InstanceType) func() error {
		return func() error {
			pool := w.mustPool()
			if got := ptr.Deref(pool.Status.UpToDateReplicas, 0); got != 2 || !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.RolledOutCondition) {
				return fmt.Errorf("%d replicas, conditions are %+v", got, pool.Status.Conditions)
			}
			if got := w.types(); len(got) != 1 || got[0] != instanceType {
				return fmt.Errorf("instances are %v", got)
			}
			return w.nodes(2)
		}
	}
	w.Eventually("the pool has its two nodes", settled("t3.large"))
	w.moveTheirs(data("m6i.large"))
	w.Eventually("the pool rolls when the newest version moves", settled("m6i.large"))
	w.expectCounts(map[string]int{"StartInstanceRefresh": 1})

	before := w.running()
	unfit := data("m6i.large")
	unfit.InstanceType = ""
	w.moveTheirs(unfit)
	templates, versions := w.theirVersions()
	w.Eventually("the unfit version is followed", func() error { return w.follows(golden, 3) })
	condition := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason)
	if !strings.Contains(condition.Message, "it has no instance type: set mixedInstancesPolicy.overrides") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.rest()
	if got := w.running(); !slices.Equal(got, before) {
		t.Errorf("instances are %q, want those of before, %q", got, before)
	}
	config := &infrav1.AWSLaunchConfig{}
	w.Eventually("the pool's two instances are counted", func() error {
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: golden}, config); err != nil {
			return err
		}
		if used := config.Status.UsedBy; len(used) != 1 || used[0].Name != poolName || used[0].Instances != 2 {
			return fmt.Errorf("it is used by %+v", used)
		}
		return nil
	})
	w.deletePool()
	w.Eventually("the pool is gone", func() error {
		if _, err := w.pool(); err != nil {
			return client.IgnoreNotFound(err)
		}
		return errors.New("it is there")
	})
	w.remove(config, golden)
	w.untouchedTheirs(templates, versions)
}

// untouchedTheirs holds that the template is what it was, and that the manager never wrote to a
// launch template.
func (w *world) untouchedTheirs(templates []ec2types.LaunchTemplate, versions []ec2types.LaunchTemplateVersion) {
	w.Helper()
	templatesAfter, versionsAfter := w.theirVersions()
	if diff := cmp.Diff(templates, templatesAfter, foreignOptions) + cmp.Diff(versions, versionsAfter, foreignOptions); diff != "" {
		w.Errorf("a foreign launch template has changed (-before +after):\n%s", diff)
	}
	for _, action := range w.writes() {
		if strings.Contains(action, "LaunchTemplate") {
			w.Errorf("the manager called %s", action)
		}
	}
}

// TestManagedPoolOfExistingTemplate holds that a managed pool reports what EKS would refuse in a
// foreign template, launches from it once that is corrected, and follows its default version.
func TestManagedPoolOfExistingTemplate(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.makeTheirs(&ec2types.RequestLaunchTemplateData{
		InstanceType: "t3.large", IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
	})
	w.followTheirs(golden, infrav1.ExistingLaunchTemplate{Name: goldenTemplate})
	w.applyManaged("awsLaunchTemplate:\n    instanceType: \"t3.large\"\n    rootVolume:\n      size: 30\n", "launchConfigRef: {name: "+golden+"}\n")
	condition := w.awaitManaged(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason)
	if !strings.Contains(condition.Message, "it has an instance profile, but EKS assigns the instance profile "+
		"of the node role") {
		t.Errorf("the message is %q", condition.Message)
	}
	if count := w.count("CreateNodegroup"); count != 0 {
		t.Errorf("node groups were made: %d", count)
	}
	move := func(instanceType ec2types.InstanceType, number string) {
		w.moveTheirs(&ec2types.RequestLaunchTemplateData{InstanceType: instanceType})
		if _, err := w.ec2().ModifyLaunchTemplate(w.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateName: aws.String(goldenTemplate), DefaultVersion: &number}); err != nil {
			t.Fatal(err)
		}
	}
	move("t3.large", "2")
	w.Eventually("the managed pool has its two nodes", func() error { return w.managedSettled(2) })
	before := w.running()
	move("m6i.large", "3")
	templates, versions := w.theirVersions()
	w.Eventually("the pool rolls when the default version moves", func() error { return w.managedReplaced(before, 2) })
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 1, "CreateNodegroup": 1})
	w.untouchedTheirs(templates, versions)
}
