package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// goldenTemplate is the foreign launch template in these journeys.
const goldenTemplate = "team/golden"

// followTheirs creates the launch config of the pool's name, which follows a foreign template.
func (w *world) followTheirs(name string, existing infrav1.ExistingLaunchTemplate) {
	w.Helper()
	w.createObject(&infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec:       infrav1.AWSLaunchConfigSpec{ClusterName: "capa", Existing: &existing},
	})
}

// theirVersions are the template and its versions, as AWS has them.
func (w *world) theirVersions() (templates []ec2types.LaunchTemplate, versions []ec2types.LaunchTemplateVersion) {
	w.Helper()
	out, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String(goldenTemplate)})
	if err != nil {
		w.Fatal(err)
	}
	templates = slices.DeleteFunc(w.templates(), func(template ec2types.LaunchTemplate) bool { return *template.LaunchTemplateName != goldenTemplate })
	return templates, out.LaunchTemplateVersions
}

// moveTheirs creates another version of the template, as its owner would.
func (w *world) moveTheirs(data *ec2types.RequestLaunchTemplateData) {
	w.Helper()
	if _, err := w.ec2().CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: aws.String(goldenTemplate), LaunchTemplateData: data,
	}); err != nil {
		w.Fatal(err)
	}
}

// follows is nil once the launch config of the name is ready with the version.
func (w *world) follows(name string, version int64) error {
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, config); err != nil {
		return err
	}
	if config.Status.Version != version || !meta.IsStatusConditionTrue(config.Status.Conditions, infrav1.ReadyCondition) {
		return fmt.Errorf("version %d, conditions are %+v", config.Status.Version, config.Status.Conditions)
	}
	return nil
}

// TestExistingTemplateIsFollowed holds that a foreign launch template is read, reported, and
// followed, that it is never changed, what it costs at rest, and what is reported when it is gone.
func TestExistingTemplateIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.foreignTemplate(goldenTemplate)
	w.followTheirs(poolName, infrav1.ExistingLaunchTemplate{Name: goldenTemplate, Version: "latest"})
	w.followTheirs("by-id", infrav1.ExistingLaunchTemplate{ID: id})
	for _, name := range []string{poolName, "by-id"} {
		w.Eventually(name+" is ready", func() error { return w.follows(name, 1) })
	}
	config := w.mustConfig()
	if status := config.Status; status.LaunchTemplateID != id || status.LaunchTemplateName != goldenTemplate || status.DefaultVersion != 1 ||
		!slices.Equal(status.CurrentVersions, []int64{1}) || len(config.Finalizers) != 0 {
		t.Errorf("status is %+v, finalizers are %q", status, config.Finalizers)
	}
	resolved := config.Status.Resolved
	missing := resolved.Missing
	resolved.Missing = nil
	want := &infrav1.ResolvedLaunchConfig{
		ImageID: w.publicImage(), ImageArchitecture: "x86_64", OperatingSystem: "linux", RootDeviceName: "/dev/sda1", InstanceType: "t3.micro", Market: "on-demand",
		EphemeralStorageGiB: 8, UserDataBytes: aws.Int32(0),
	}
	if diff := cmp.Diff(want, resolved); diff != "" {
		t.Errorf("what the version comes to (-want +got):\n%s", diff)
	}
	if len(missing) != 3 || missing[0].For != "AWSMachinePool" || missing[0].Member != "UserData" || missing[0].Blocking {
		t.Errorf("what is missing is %+v", missing)
	}

	w.moveTheirs(&ec2types.RequestLaunchTemplateData{InstanceType: "m6i.large", ImageId: aws.String(w.publicImage())})
	templates, versions := w.theirVersions()
	w.Eventually("the newest version is followed", func() error { return w.follows(poolName, 2) })
	w.awaitEvents("LaunchTemplateFollowed", "LaunchTemplateVersionFollowed")
	if listed := w.mustConfig().Status.Versions; len(listed) != 2 || listed[0].Reason != "instance type t3.micro → m6i.large" {
		t.Errorf("versions are %+v", listed)
	}
	if err := w.follows("by-id", 1); err != nil {
		t.Errorf("the default has not moved: %v", err)
	}
	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { config.Spec.Existing.Version = "1" })
	w.Eventually("a number is that version", func() error { return w.follows(poolName, 1) })
	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { config.Spec.Existing.Version = "3" })
	w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.VersionNotFoundReason)
	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { config.Spec.Existing.Version = "2" })
	w.Eventually("the version exists", func() error { return w.follows(poolName, 2) })

	w.expectIdle()
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the manager wrote %q", writes)
	}
	templatesAfter, versionsAfter := w.theirVersions()
	if diff := cmp.Diff(templates, templatesAfter, foreignOptions) + cmp.Diff(versions, versionsAfter, foreignOptions); diff != "" {
		t.Errorf("resources that Slipway does not own have changed (-before +after):\n%s", diff)
	}
	w.loseTheirs()
}

// expectIdle holds that a followed template costs a sweep's call and a description of its image at
// rest, and nothing else.
func (w *world) expectIdle() {
	w.Helper()
	w.pass(10 * time.Minute)
	const hours = 2
	counts := w.countsDuring(hours * time.Hour)
	const most = hours*60/8 + 1
	sweeps, images := counts["DescribeLaunchTemplates"], counts["DescribeImages"]
	delete(counts, "DescribeImages")
	if len(counts) != 1 || sweeps > most || images > most {
		w.Errorf("at rest the manager described images %d times, and called %v, in %d hours", images, counts, hours)
	}
}

// loseTheirs holds what is reported when the owner deletes the template, that one of its name is
// followed afterwards, and that nothing goes with the launch config.
func (w *world) loseTheirs() {
	w.Helper()
	if _, err := w.ec2().DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String(goldenTemplate)}); err != nil {
		w.Fatal(err)
	}
	condition := w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.LaunchTemplateNotFoundReason)
	if !strings.Contains(condition.Message, goldenTemplate) || w.mustConfig().Status.Version != 2 {
		w.Errorf("it says %q, and version %d", condition.Message, w.mustConfig().Status.Version)
	}
	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { config.Spec.Existing.Version = "default" })
	again := w.foreignTemplate(goldenTemplate)
	w.Eventually("a template of the name is followed", func() error { return w.follows(poolName, 1) })
	if got := w.mustConfig().Status.LaunchTemplateID; got != again {
		w.Errorf("template %s is followed, want %s", got, again)
	}
	w.remove(&infrav1.AWSLaunchConfig{}, poolName)
	if templates := w.templates(); len(templates) != 1 || *templates[0].LaunchTemplateId != again {
		w.Errorf("templates are %+v", templates)
	}
}
