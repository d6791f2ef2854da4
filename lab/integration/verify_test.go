package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// TestVersionsAreTried holds that EC2 is asked once whether it would launch a version, that a
// config whose version it would not launch is not ready and says why, and that it is asked again
// until it would.
func TestVersionsAreTried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: poolName},
		Spec: infrav1.AWSLaunchConfigSpec{
			ClusterName: "capa", KubernetesVersion: "v1.25.0", Verify: infrav1.VerifyDryRun,
			AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large", AMI: infrav1.AMIReference{ID: ptr.To(w.publicImage())}},
		},
	})
	w.awaitConfigCondition(infrav1.VerifiedCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	tried := slices.DeleteFunc(w.calls(), func(call awssim.Call) bool { return call.Action != "RunInstances" })
	if len(tried) != 1 || tried[0].Code != "DryRunOperation" {
		t.Errorf("EC2 was asked %+v", tried)
	}

	const group = "not-yet"
	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) {
		config.Spec.Placement = &infrav1.Placement{GroupName: group}
	})
	w.awaitConfigCondition(infrav1.VerifiedCondition, metav1.ConditionFalse, infrav1.DryRunFailedReason)
	w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.DryRunFailedReason)
	if instances := w.running(); len(instances) != 0 {
		t.Errorf("a dry run launched %q", instances)
	}

	w.makePlacementGroup(group)
	w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)

	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { config.Spec.Verify = "" })
	w.Eventually("no condition reports on a version that is not tried", func() error {
		for _, condition := range w.mustConfig().Status.Conditions {
			if condition.Type == infrav1.VerifiedCondition {
				return fmt.Errorf("there is %+v", condition)
			}
		}
		return nil
	})
}

func (w *world) makePlacementGroup(name string) {
	w.Helper()
	_, err := w.ec2().CreatePlacementGroup(w.Context(), &ec2.CreatePlacementGroupInput{GroupName: aws.String(name), Strategy: ec2types.PlacementStrategySpread})
	if err != nil {
		w.Fatal(err)
	}
}

// verified is a world with a pool at rest that is launched from a template whose versions are
// tried. More are other fields of the pool.
func verified(t *testing.T, more string) *world {
	t.Helper()
	w := newWorld(t)
	w.createObject(w.templateObject(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.Verify = infrav1.VerifyDryRun
	}))
	w.havePool(ownTemplate, "launchConfigTemplateRef: {name: "+templateName+"}\n"+more)
	return w
}

// placeIn has the template's instances placed in a group, and be of a type.
func (w *world) placeIn(group string, instanceType string) {
	w.Helper()
	w.editTemplate(func(template *infrav1.AWSLaunchConfigTemplate) {
		spec := &template.Spec.Template.Spec
		spec.Placement, spec.InstanceType = nil, instanceType
		if group != "" {
			spec.Placement = &infrav1.Placement{GroupName: group}
		}
	})
}

// heldBack is nil while EC2 would not launch a version, so that the pool launches from another,
// says why, and has replaced nothing.
func (w *world) heldBack(pending int64, launched string, instances []string) error {
	config, pool := w.mustConfig(), w.mustPool()
	condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.ReadyCondition)
	if condition == nil || condition.Reason != infrav1.DryRunFailedReason || config.Status.PendingVersion != pending ||
		!strings.HasSuffix(condition.Message, "the pool continues to use version "+launched) {
		return fmt.Errorf("version %d is held back, and the pool says %+v", config.Status.PendingVersion, condition)
	}
	return w.launches(launched, instances)
}

// TestFailedVersionsAreHeldBack holds that a pool stays on the version that passed while EC2 would
// not launch what its template asks for: with new join tokens, also when status is lost, and until
// a good edit mends it. The default version moves to no version that has not passed.
func TestFailedVersionsAreHeldBack(t *testing.T) {
	t.Parallel()
	w := verified(t, "")
	instances := w.running()
	w.placeIn("not-yet", "m6i.large")
	w.Eventually("the edit is held back", func() error { return w.heldBack(2, "1", instances) })
	if message := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.DryRunFailedReason).Message; !strings.Contains(message, "version 2 of launch template") ||
		!strings.Contains(message, "not-yet") {
		t.Errorf("the pool says %q", message)
	}
	if history := w.mustConfig().Status.History; len(history) != 1 || history[0].Version != 1 {
		t.Errorf("the history lists what was never launched: %+v", history)
	}
	w.RotateBootstrapToken(poolName)
	w.Eventually("the token is new, and the edit is held back", func() error { return w.heldBack(2, "3", instances) })
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 7 })
	w.Eventually("what is no edit of the launch template is done", func() error { return equals([]int32{*w.group().MaxSize}, []int32{7}) })
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	w.Eventually("the edit is held back without its status", func() error { return w.heldBack(2, "3", instances) })
	w.editTemplate(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.Placement, template.Spec.Template.Spec.IamInstanceProfile = nil, "missing-profile"
	})
	if message := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.LaunchTemplateDataInvalidReason).Message; !strings.Contains(message, "missing-profile") {
		t.Errorf("of an instance profile that does not exist the pool says %q", message)
	}
	if err := w.launches("3", instances); err != nil {
		t.Errorf("of a version that EC2 warned of: %v", err)
	}

	w.editTemplate(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.IamInstanceProfile, template.Spec.Template.Spec.InstanceType = "", "m5.large"
	})
	w.Eventually("a good edit rolls", func() error { return w.replaced(instances, 2) })
	if got := w.types(); len(got) != 1 || got[0] != "m5.large" || *w.template().DefaultVersionNumber != w.mustConfig().Status.Version || w.mustConfig().Status.PendingVersion != 0 {
		t.Errorf("instances are %v, the default version is %d", got, *w.template().DefaultVersionNumber)
	}
}

// TestVersionsAreTriedBeforeApproval holds how a dry run and an approval meet: a version is tried
// as soon as it is created, and is launched once both accept it.
func TestVersionsAreTriedBeforeApproval(t *testing.T) {
	t.Parallel()
	w := verified(t, "  rollout: Manual\n")
	instances := w.running()
	w.placeIn("", "m5.xlarge")
	w.Eventually("the edit waits", func() error { return w.awaits(2, "1", instances) })
	w.awaitConfigCondition(infrav1.VerifiedCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	w.expectResolved("m5.xlarge", "t3.large", "2")
	w.placeIn("not-yet", "m5.xlarge")
	w.Eventually("another edit waits, and would fail", func() error {
		if err := w.awaits(3, "1", instances); err != nil {
			return err
		}
		return w.heldBack(3, "1", instances)
	})
	w.annotate(infrav1.ApprovedVersionAnnotation, "3")
	w.awaitCondition(infrav1.RolloutApprovedCondition, metav1.ConditionTrue, infrav1.ApprovedReason)
	w.rest()
	if err := w.heldBack(3, "1", instances); err != nil {
		t.Errorf("an approval launches nothing that EC2 would not: %v", err)
	}
	w.makePlacementGroup("not-yet")
	w.Eventually("what was approved rolls once EC2 would launch it", func() error { return w.replaced(instances, 2) })
	if got := *w.template().DefaultVersionNumber; got != 3 {
		t.Errorf("version %d is launched", got)
	}
	w.expectResolved("m5.xlarge", "", "4")
	w.expectTriedFirst()
}

// expectResolved holds that status says what the spec comes to, what is launched if that is another
// configuration, and that the pool says what nodes that are launched have.
func (w *world) expectResolved(asked, launched, cpus string) {
	w.Helper()
	w.Eventually("status says what is asked for and what is launched", func() error {
		status, cpu := w.mustConfig().Status, w.mustPool().Status.Capacity[corev1.ResourceCPU]
		got := []string{status.Resolved.InstanceType, ptr.Deref(status.Launched, infrav1.ResolvedLaunchConfig{}).InstanceType, cpu.String()}
		return equals(got, []string{asked, launched, cpus})
	})
}

// expectTriedFirst holds that every move of the default version comes after a dry run that passed,
// and that dry runs launched nothing.
func (w *world) expectTriedFirst() {
	w.Helper()
	passed := false
	for _, call := range w.calls() {
		switch {
		case call.Action == "RunInstances" && call.Code == "DryRunOperation":
			passed = true
		case call.Action == "RunInstances" && call.Code == "":
			w.Errorf("an instance was launched: %+v", call)
		case call.Action == "ModifyLaunchTemplate" && !passed:
			w.Errorf("the default version moved before a dry run: %+v", call)
		}
	}
	if !passed {
		w.Error("nothing was tried")
	}
}
