package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
)

// managedConfig is the launch config of the managed pool.
func (w *world) managedConfig() *infrav1.AWSLaunchConfig {
	w.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Client.Get(w.Context(), w.managedKey(), config); err != nil {
		w.Fatal(err)
	}
	return config
}

// editManagedType asks for another instance type.
func (w *world) editManagedType(instanceType string) {
	w.Helper()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = instanceType })
}

// approve names a version in the annotation of the managed pool.
func (w *world) approve(version string) {
	w.Helper()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, infrav1.ApprovedVersionAnnotation, version)
	})
}

// managedAwaits returns nil while the managed pool waits for the approval of a version, runs
// another, and has replaced nothing.
func (w *world) managedAwaits(pending int64, launched string, instances []string) error {
	if err := waits(w.managedConfig(), w.mustManaged(), pending); err != nil {
		return err
	}
	if got := aws.ToString(w.nodegroup().LaunchTemplate.Version); got != launched {
		return fmt.Errorf("the node group is at version %s", got)
	}
	return equals(w.running(), instances)
}

// TestManagedApproval holds that rollout Manual creates the version of an edit, has EKS update
// nothing until its number is approved, lets through what replaces no node, and forgets nothing
// with its status.
func TestManagedApproval(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged("  awsLaunchTemplate:", "  rollout: Manual\n  awsLaunchTemplate:")
	instances := w.running()
	w.editManagedType("m5.large")
	w.Eventually("the edit waits", func() error { return w.managedAwaits(2, "1", instances) })
	message := w.awaitManaged(infrav1.RolloutApprovedCondition, metav1.ConditionFalse, infrav1.WaitingForApprovalReason).Message
	if !strings.Contains(message, "instance type t3.large → m5.large") {
		t.Errorf("the message is %q", message)
	}
	w.approve("1")
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "web"} })
	w.Eventually("the label is there", func() error { return equals([]string{w.nodegroup().Labels["tier"]}, []string{"web"}) })
	w.rest()
	w.stopManager()
	w.wiped(func() []client.Object {
		config, pool := w.managedConfig(), w.mustManaged()
		config.Status, pool.Status = infrav1.AWSLaunchConfigStatus{}, infrav1.AWSManagedMachinePoolStatus{}
		return []client.Object{config, pool}
	})
	w.startManager()
	w.Eventually("the edit waits without its status, and with the approval of another version", func() error { return w.managedAwaits(2, "1", instances) })
	w.rest()
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0, "CreateLaunchTemplateVersion": 1})
	w.approve("2")
	w.Eventually("the approved edit rolls", func() error { return w.managedReplaced(instances, 2) })
	if got := w.types(); !slices.Equal(got, []ec2types.InstanceType{"m5.large"}) {
		t.Errorf("nodes are %v", got)
	}
	instances = w.running()
	w.editManagedType("m5.xlarge")
	w.Eventually("an approval is for one edit", func() error { return w.managedAwaits(3, "2", instances) })
	w.rest()
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 1})
}

// TestManagedPinned holds that a managed pool goes back to an earlier version, and forward again,
// each by one update, and that a version that is not there changes nothing.
func TestManagedPinned(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	pin := func(version *int64) func() {
		return func() {
			w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.PinnedVersion = version })
		}
	}
	for _, row := range []struct {
		reason       string
		change       func()
		version      string
		instanceType ec2types.InstanceType
	}{
		{"the edit rolls", func() { w.editManagedType("m5.large") }, "2", "m5.large"},
		{"the pool goes back", pin(ptr.To[int64](1)), "1", "t3.large"},
		{"the pool goes forward", pin(nil), "2", "m5.large"},
	} {
		before := w.running()
		row.change()
		w.Eventually(row.reason, func() error { return w.managedReplaced(before, 2) })
		if got := aws.ToString(w.nodegroup().LaunchTemplate.Version); got != row.version || !slices.Equal(w.types(), []ec2types.InstanceType{row.instanceType}) {
			t.Errorf("%s: the node group is at version %s, and nodes are %v", row.reason, got, w.types())
		}
		condition := meta.FindStatusCondition(w.mustManaged().Status.Conditions, infrav1.RolloutApprovedCondition)
		if pinned := condition != nil && condition.Reason == infrav1.PinnedReason; pinned != (row.version == "1") {
			t.Errorf("%s: the pool says %+v", row.reason, condition)
		}
	}
	w.rest()
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 3, "CreateLaunchTemplateVersion": 1})
	w.Cloud.AWS.ClearCalls()
	pin(ptr.To[int64](99))()
	condition := w.awaitManaged(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.VersionNotFoundReason)
	if !strings.Contains(condition.Message, "version 99, which spec.pinnedVersion names, does not exist") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.rest()
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the manager wrote %q", writes)
	}
}

// TestManagedTemplateElsewhere holds that a managed pool is created from a template of another
// namespace once that allows it, follows its edits, and keeps its nodes when it is gone.
func TestManagedTemplateElsewhere(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.stopManager()
	w.settings.Change = func(options *manager.Options) { options.Namespace, options.WatchFilter = "", w.Namespace }
	w.startManager()
	here, elsewhere := w.Namespace, w.Namespace+"-templates"
	w.createObject(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})
	template := w.templateObject(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Namespace, template.Labels = elsewhere, map[string]string{clusterv1.WatchLabel: here}
	})
	w.createObject(template)
	change := func(edit func(*infrav1.AWSLaunchConfigTemplateSpec)) {
		t.Helper()
		before := template.DeepCopy()
		edit(&template.Spec)
		if err := w.Client.Patch(w.Context(), template, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	w.applyManaged("  name: "+managedName+"\nspec:\n  amiType", fmt.Sprintf("  name: %s\n  labels: {%s: %s}\nspec:\n  amiType", managedName, clusterv1.WatchLabel, here),
		"awsLaunchTemplate:\n    instanceType: \"t3.large\"\n    rootVolume:\n      size: 30\n", fmt.Sprintf("launchConfigTemplateRef: {name: %s, namespace: %s}\n", templateName, elsewhere))
	w.awaitManaged(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.LaunchConfigTemplateNotAllowedReason)
	if groups := w.nodegroups(); len(groups) != 0 {
		t.Errorf("there are node groups %q", groups)
	}
	change(func(spec *infrav1.AWSLaunchConfigTemplateSpec) {
		spec.AllowedNamespaces = &infrav1.AllowedNamespaces{Selector: &infrav1.NamespaceSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: here}}}
	})
	w.Eventually("the pool has its nodes", func() error { return w.managedSettled(2) })
	if got := w.managedConfig().Annotations[infrav1.LaunchConfigTemplateAnnotation]; got != elsewhere+"/"+templateName {
		t.Errorf("the launch config is made from %q", got)
	}
	before := w.running()
	change(func(spec *infrav1.AWSLaunchConfigTemplateSpec) { spec.Template.Spec.InstanceType = "m5.large" })
	w.Eventually("the edit rolls the pool", func() error { return w.managedReplaced(before, 2) })
	before = w.running()
	if err := w.Client.Delete(w.Context(), template); err != nil {
		t.Fatal(err)
	}
	condition := w.awaitManaged(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.LaunchConfigTemplateNotFoundReason)
	if !strings.Contains(condition.Message, "the pool continues to use its current configuration") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.rest()
	if err := equals(w.running(), before); err != nil {
		t.Errorf("the nodes: %v", err)
	}
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 1, "CreateNodegroup": 1})
}
