package integration

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/ownership"
)

// foreigner is a template, its versions, and a group that have the pool's name and another owner.
type foreigner struct {
	Template ec2types.LaunchTemplate
	Versions []ec2types.LaunchTemplateVersion
	Group    asgtypes.AutoScalingGroup
}

func (w *world) foreigner() foreigner {
	w.Helper()
	var seen foreigner
	for _, template := range w.templates() {
		if *template.LaunchTemplateName == poolName {
			seen.Template = template
		}
	}
	versions, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String(poolName)})
	if err != nil {
		w.Fatal(err)
	}
	seen.Versions = versions.LaunchTemplateVersions
	for _, group := range w.groups() {
		if *group.AutoScalingGroupName == poolName {
			seen.Group = group
		}
	}
	return seen
}

// foreignOptions compare the SDK's descriptions of templates and groups.
var foreignOptions = cmp.FilterPath(func(path cmp.Path) bool { return path.Last().String() == ".noSmithyDocumentSerde" }, cmp.Ignore())

// TestForeignNames holds that foreign resources with the pool's name are never touched.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.foreignTemplate(poolName)
	if _, err := w.asg().CreateAutoScalingGroup(w.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(poolName), MinSize: aws.Int32(0), MaxSize: aws.Int32(1), VPCZoneIdentifier: aws.String(privateSubnetB),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &template, Version: aws.String("1")},
		Tags:           []asgtypes.Tag{{Key: aws.String("kubernetes.io/cluster/capa"), Value: aws.String("owned")}},
	}); err != nil {
		t.Fatal(err)
	}
	before := w.foreigner()
	w.applyExample()
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	instances := w.running()
	w.editType("m6i.large")
	w.Eventually("the pool rolls", func() error { return w.replaced(instances, 2) })
	pool, config := w.mustPool(), w.mustConfig()
	if name := pool.Status.AutoScalingGroup.Name; name == poolName || !strings.HasPrefix(name, poolName+"-") {
		t.Errorf("the group is called %s", name)
	}
	if name := config.Status.LaunchTemplateName; name == poolName || !strings.HasPrefix(name, poolName+"-") {
		t.Errorf("the template is called %s", name)
	}
	w.deletePool()
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains(poolName) })
	if diff := cmp.Diff(before, w.foreigner(), foreignOptions); diff != "" {
		t.Errorf("resources that Slipway does not own have changed (-before +after):\n%s", diff)
	}
}

// TestAllNamesAreTaken holds that a pool without a free name says so, and has one when another
// owner releases it.
func TestAllNamesAreTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: poolName}}
	taken := ownership.Names(poolName, "capa", pool, 3, 128)
	for _, name := range taken {
		w.foreignTemplate(name)
	}
	w.applyExample()
	condition := w.awaitConfigCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.NameTakenReason)
	for _, name := range taken {
		if !strings.Contains(condition.Message, name) {
			t.Errorf("the message does not say %s: %q", name, condition.Message)
		}
	}
	w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.NameTakenReason)
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("writes are %q", writes)
	}
	if _, err := w.ec2().DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &taken[0]}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	if name := w.mustConfig().Status.LaunchTemplateName; name != taken[0] {
		t.Errorf("the template is called %s", name)
	}
}

// TestForeignLaunchConfig holds that a foreign config with the pool's name is a condition, not a
// fight.
func TestForeignLaunchConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := &infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: poolName},
		Spec: infrav1.AWSLaunchConfigSpec{
			ClusterName: "capa", KubernetesVersion: "v1.25.0", AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large"},
		},
	}
	if err := w.Client.Create(w.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.applyExample()
	condition := w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.LaunchConfigNotOwnedReason)
	if !strings.Contains(condition.Message, poolName) {
		t.Errorf("the message is %q", condition.Message)
	}
	w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.LaunchConfigNotOwnedReason)
	if config := w.mustConfig(); config.Spec.InstanceType != "m5.large" || len(config.OwnerReferences) != 0 {
		t.Errorf("their config is now %+v", config.Spec)
	}
	if groups := w.groups(); len(groups) != 0 {
		t.Errorf("there are groups %+v", groups)
	}
	// Once it is gone the pool writes its own.
	w.remove(&infrav1.AWSLaunchConfig{}, poolName)
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
}
