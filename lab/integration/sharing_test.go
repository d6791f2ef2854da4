package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
)

const (
	// ownTemplate is the part of the example that configures how instances are launched.
	ownTemplate = "awsLaunchTemplate:\n    instanceType: \"t3.large\"\n    sshKeyName: \"default\"\n"
	// templateName is the AWSLaunchConfigTemplate of these journeys.
	templateName = "nodes"
)

// templateObject is that template in the test's namespace.
func (w *world) templateObject(change func(*infrav1.AWSLaunchConfigTemplate)) *infrav1.AWSLaunchConfigTemplate {
	template := &infrav1.AWSLaunchConfigTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: templateName}}
	template.Spec.Template.Spec.InstanceType, template.Spec.Template.Spec.SSHKeyName = "t3.large", ptr.To("default")
	if change != nil {
		change(template)
	}
	return template
}

func (w *world) createObject(object client.Object) {
	w.Helper()
	if err := w.Client.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) editTemplate(edit func(*infrav1.AWSLaunchConfigTemplate)) {
	w.Helper()
	edited(w, &infrav1.AWSLaunchConfigTemplate{}, templateName, edit)
}

// poolIn is the pool of the example in a namespace.
func (w *world) poolIn(namespace string) *infrav1.AWSMachinePool {
	w.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: poolName}, pool); err != nil {
		w.Fatal(err)
	}
	return pool
}

// types returns the instance types of the running instances, each once.
func (w *world) types() []ec2types.InstanceType {
	var found []ec2types.InstanceType
	for _, id := range w.running() {
		instance, _ := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instance(id)
		found = append(found, instance.InstanceType)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestTemplateOfTwoClusters holds the life of a template that is used by pools of one name, in
// clusters of two namespaces: who may use it, what each gets, that an edit reaches both, and that
// nothing is lost when the template is.
func TestTemplateOfTwoClusters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stopManager()
	other := w.Namespace + "-b"
	// One manager for both namespaces, which is for this test's objects alone.
	w.settings.Change = func(options *manager.Options) { options.Namespace, options.WatchFilter = "", w.Namespace }
	w.startManager()
	if _, err := w.Lab.NewCluster(t.Context(), lab.ClusterOptions{Namespace: other, Name: "two", Cloud: w.Cloud, Account: w.Account}); err != nil {
		t.Fatal(err)
	}
	filter := fmt.Sprintf("  name: %s\n  labels: {cluster.x-k8s.io/watch-filter: %s}\nspec:\n  minSize", poolName, w.Namespace)
	reference := fmt.Sprintf("launchConfigTemplateRef: {name: %s, namespace: %s}\n", templateName, w.Namespace)
	w.createObject(w.templateObject(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Labels = map[string]string{clusterv1.WatchLabel: w.Namespace}
	}))
	manifest := []string{"  name: " + poolName + "\nspec:\n  minSize", filter, ownTemplate, reference}
	w.applyExample(manifest...)
	here := w.Namespace
	w.Namespace = other
	w.applyExample(append(manifest, "clusterName: capa", "clusterName: two", "replicas: 2", "replicas: 1", "namespace: default", "namespace: "+other)...)
	w.Namespace = here

	w.Eventually("the pool of the template's namespace has its two nodes", func() error {
		pool := w.poolIn(here)
		if got := ptr.Deref(pool.Status.UpToDateReplicas, 0); got != 2 || !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.ReadyCondition) {
			return fmt.Errorf("%d replicas, conditions are %+v", got, pool.Status.Conditions)
		}
		return nil
	})
	w.Eventually("the pool of another namespace says what to do", func() error {
		refused := meta.FindStatusCondition(w.poolIn(other).Status.Conditions, infrav1.ReadyCondition)
		if refused == nil || refused.Reason != infrav1.LaunchConfigTemplateNotAllowedReason || !strings.Contains(refused.Message, "spec.allowedNamespaces") {
			return fmt.Errorf("it says %+v", refused)
		}
		return nil
	})
	w.editTemplate(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{Selector: &infrav1.NamespaceSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: other}}}
	})
	both := func(instanceType ec2types.InstanceType) func() error {
		return func() error {
			for _, namespace := range []string{here, other} {
				pool := w.poolIn(namespace)
				for _, condition := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
					if !meta.IsStatusConditionTrue(pool.Status.Conditions, condition) {
						return fmt.Errorf("conditions in %s are %+v", namespace, pool.Status.Conditions)
					}
				}
			}
			if got := w.types(); len(w.running()) != 3 || len(got) != 1 || got[0] != instanceType {
				return fmt.Errorf("%d instances are %v", len(w.running()), got)
			}
			return w.templateUsers(2)
		}
	}
	w.Eventually("both pools have their nodes", both("t3.large"))
	w.holdOrigin(here, "capa", other, "two")

	w.rest()
	w.Cloud.AWS.ClearCalls()
	w.editTemplate(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.InstanceType = "m6i.large"
	})
	w.Eventually("the edit reaches both", both("m6i.large"))
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 2, "StartInstanceRefresh": 2, "CreateLaunchTemplate": 0})

	w.loseTemplate(both("m6i.large"))
}

// templateUsers is nil once the template's status counts so many launch configs, all of them as it says.
func (w *world) templateUsers(want int32) error {
	template := &infrav1.AWSLaunchConfigTemplate{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: templateName}, template); err != nil {
		return err
	}
	status := template.Status
	if status.LaunchConfigs != want || status.UpToDateLaunchConfigs != want || len(status.UsedBy) != int(want) || status.ObservedGeneration != template.Generation {
		return fmt.Errorf("the template's status is %+v", status)
	}
	return nil
}

// holdOrigin holds the origin that the launch configs report. Places are pairs of namespace and
// cluster.
func (w *world) holdOrigin(places ...string) {
	w.Helper()
	for place := range slices.Chunk(places, 2) {
		config := &infrav1.AWSLaunchConfig{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: place[0], Name: poolName}, config); err != nil {
			w.Fatal(err)
		}
		if !metav1.IsControlledBy(config, w.poolIn(place[0])) || config.Spec.ClusterName != place[1] {
			w.Errorf("the launch config in %s is of cluster %s, and owned by %+v", place[0], config.Spec.ClusterName, config.OwnerReferences)
		}
		for key, want := range map[string]string{
			infrav1.LaunchConfigTemplateAnnotation:          w.Namespace + "/" + templateName,
			clusterv1.TemplateClonedFromNameAnnotation:      templateName,
			clusterv1.TemplateClonedFromGroupKindAnnotation: "AWSLaunchConfigTemplate.infrastructure.cluster.x-k8s.io",
		} {
			if got := config.Annotations[key]; got != want {
				w.Errorf("annotation %s in %s is %q", key, place[0], got)
			}
		}
		if got := config.Labels[infrav1.LaunchConfigTemplateLabel]; got != templateName {
			w.Errorf("the label in %s is %q", place[0], got)
		}
	}
}

// loseTemplate holds that a pool whose template is gone says so and goes on with what it has, join
// tokens included; and that nothing happens when it is back.
func (w *world) loseTemplate(asBefore func() error) {
	w.Helper()
	w.Cloud.AWS.ClearCalls()
	if err := w.Client.Delete(w.Context(), w.templateObject(nil)); err != nil {
		w.Fatal(err)
	}
	condition := w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.LaunchConfigTemplateNotFoundReason)
	if !strings.Contains(condition.Message, "the pool continues to use its current configuration") {
		w.Errorf("the message is %q", condition.Message)
	}
	before := ptr.Deref(w.mustPool().Status.LaunchTemplateVersion, "")
	w.RotateBootstrapToken(poolName)
	w.Eventually("the group has the new token", func() error {
		return differs([]string{ptr.Deref(w.mustPool().Status.LaunchTemplateVersion, "")}, []string{before})
	})
	w.createObject(w.templateObject(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Labels = map[string]string{clusterv1.WatchLabel: w.Namespace}
		template.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{}
		template.Spec.Template.Spec.InstanceType = "m6i.large"
	}))
	w.Eventually("all is as before", asBefore)
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1, "StartInstanceRefresh": 0, "TerminateInstances": 0, "CreateLaunchTemplate": 0})
}

// managedData returns the data of the newest version of the managed pool's launch template. EKS
// keeps a launch template of its own next to it.
func (w *world) managedData() *ec2types.ResponseLaunchTemplateData {
	w.Helper()
	out, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: w.nodegroup().LaunchTemplate.Id, Versions: []string{"$Latest"},
	})
	if err != nil {
		w.Fatal(err)
	}
	return out.LaunchTemplateVersions[0].LaunchTemplateData
}

// TestManagedTemplate holds that a managed pool is created from a template that is for pools of
// both kinds: without the instance profile, which EKS forbids, and with an edit that rolls.
func TestManagedTemplate(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.createObject(w.templateObject(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.IamInstanceProfile = "nodes"
	}))
	w.haveManaged("awsLaunchTemplate:\n    instanceType: \"t3.large\"\n    rootVolume:\n      size: 30\n", "launchConfigTemplateRef: {name: "+templateName+"}\n")
	if data := w.managedData(); data.IamInstanceProfile != nil || data.InstanceType != "t3.large" || data.KeyName == nil {
		t.Errorf("the version is %+v", data)
	}
	before := w.running()
	w.editTemplate(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.InstanceType = "m6i.large"
	})
	w.Eventually("the edit rolls the pool", func() error {
		if slices.ContainsFunc(w.running(), func(id string) bool { return slices.Contains(before, id) }) {
			return fmt.Errorf("instances of before are still there")
		}
		return w.managedSettled(2)
	})
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 1, "CreateNodegroup": 0})
	w.editTemplate(func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.ImageLookupBaseOS = "ubuntu-24.04"
	})
	condition := w.awaitManaged(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason)
	if !strings.Contains(condition.Message, "set amiType of the pool to CUSTOM") {
		t.Errorf("the message is %q", condition.Message)
	}
}

// TestSharedLaunchConfig holds that a pool launches from a launch config that it does not own: it
// waits for it, shows what is wrong with it, follows its edits, and leaves it behind.
func TestSharedLaunchConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const shared = "shared"
	w.applyExample(ownTemplate, "launchConfigRef: {name: "+shared+"}\n")
	condition := w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLaunchConfigReason)
	if !strings.Contains(condition.Message, `AWSLaunchConfig "shared", which spec.launchConfigRef names, does not exist. Running nodes are kept. Create it, or correct the name`) {
		t.Errorf("the message is %q", condition.Message)
	}
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: shared}}
	config.Spec.ClusterName, config.Spec.KubernetesVersion, config.Spec.InstanceType = "capa", "v1.25.0", "t99.large"
	config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: poolName}
	w.createObject(config)
	condition = w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.InstanceTypeNotFoundReason)
	if !strings.Contains(condition.Message, "t99.large") {
		t.Errorf("the failure of the launch config is not visible: %q", condition.Message)
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("writes are %q", writes)
	}
	edit := func(instanceType string) {
		edited(w, &infrav1.AWSLaunchConfig{}, shared, func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = instanceType })
	}
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
	edit("t3.large")
	w.Eventually("the pool has its two nodes", settled("t3.large"))
	group := w.groups()[0]
	tags := map[string]string{}
	for _, tag := range group.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if got := tags[infrav1.TagLaunchConfig]; got != w.Namespace+"/capa/"+shared {
		t.Errorf("the group is tagged as of launch config %q", got)
	}
	edit("m6i.large")
	w.Eventually("an edit rolls the pool", settled("m6i.large"))
	w.deletePool()
	w.Eventually("the pool is gone", func() error {
		err := w.Client.Get(t.Context(), w.key(), &infrav1.AWSMachinePool{})
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
	if len(w.templates()) != 1 {
		t.Errorf("the launch template went with the pool")
	}
}
