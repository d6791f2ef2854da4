package provisionerstatus_test

import (
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// templates returns the launch templates in the account, by id.
func templates(w *provisioningtest.World) map[string]ec2types.LaunchTemplate {
	w.Helper()
	described, err := w.EC2.DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		w.Fatal(err)
	}
	found := map[string]ec2types.LaunchTemplate{}
	for _, template := range described.LaunchTemplates {
		found[*template.LaunchTemplateId] = template
	}
	return found
}

// theTemplate returns the id of the only one.
func theTemplate(w *provisioningtest.World) string {
	w.Helper()
	found := templates(w)
	if len(found) != 1 {
		w.Fatalf("there are %d launch templates", len(found))
	}
	for id := range found {
		return id
	}
	return ""
}

func deleteTemplate(w *provisioningtest.World, id string) {
	w.Helper()
	if _, err := w.EC2.DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id}); err != nil {
		w.Fatal(err)
	}
}

func markOf(template ec2types.LaunchTemplate) string {
	for _, tag := range template.Tags {
		if *tag.Key == infrav1.TagClusterUID {
			return *tag.Value
		}
	}
	return ""
}

func ready(w *provisioningtest.World, name string) *metav1.Condition {
	w.Helper()
	return meta.FindStatusCondition(w.Provisioner(name).Status.Conditions, provisioningv1.ReadyCondition)
}

// TestRecreatedProvisioner holds that a Provisioner that was deleted and created again, with the
// same spec, launches at once, again and again.
func TestRecreatedProvisioner(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	for range 3 {
		w.Provision("default")
		w.Pod("one")
		w.Launch()
		if got := len(w.Instances()); got != 1 {
			t.Fatalf("%d instances run; events are %q", got, w.Events())
		}
		theTemplate(w)
		w.Advance(time.Minute) // a process that has just started waits for templates of an earlier one
		w.Delete(w.Provisioner("default"))
		w.Settle()
		w.Advance(5 * time.Second)
		if len(w.Instances()) != 0 || len(templates(w)) != 0 {
			t.Fatalf("%d instances and %d launch templates are left", len(w.Instances()), len(templates(w)))
		}
		for _, pod := range w.Pods() {
			w.Delete(&pod)
		}
		w.Advance(3 * time.Second)
	}
}

// TestDefaultTemplateDeletedInEC2 holds that a default launch template that was deleted in EC2 is
// created again as soon as a launch finds it gone, as often as that happens, also by a provisioner
// that restarted.
func TestDefaultTemplateDeletedInEC2(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Launch()
	seen := map[string]bool{}
	for _, name := range []string{"two", "three", "four"} {
		id := theTemplate(w)
		if seen[id] {
			t.Fatalf("launch template %s is there again", id)
		}
		seen[id] = true
		deleteTemplate(w, id)
		if name == "four" {
			w.Restart()
		}
		before := len(w.Instances())
		w.Pod(name)
		w.Launch()
		w.Advance(3 * time.Second)
		if got := len(w.Instances()); got != before+1 {
			t.Fatalf("%d instances run, want %d; events are %q", got, before+1, w.Events())
		}
		if told := w.Told("Warning LaunchTemplateLost default: Default launch template " + id); len(told) != 1 {
			t.Errorf("events are %q", w.Events())
		}
	}
	if condition := ready(w, "default"); condition == nil || condition.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v", condition)
	}
}

// TestDefaultTemplateCannotBeCreatedAgain holds that while a default launch template that is gone
// cannot be created again, Ready says so, and nothing is launched from it.
func TestDefaultTemplateCannotBeCreatedAgain(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Launch()
	gone := theTemplate(w)
	deleteTemplate(w, gone)
	fault, err := w.Sim.AddFault(awssim.Fault{Action: "CreateLaunchTemplate", Code: "UnauthorizedOperation", Message: "You are not authorized.", Status: 403})
	if err != nil {
		t.Fatal(err)
	}
	w.Faulty = true
	w.Pod("two")
	w.Settle()
	w.Advance(6 * time.Minute)
	condition := ready(w, "default")
	if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "not authorized") {
		t.Errorf("Ready is %+v", condition)
	}
	if told := w.Told("NoNodeLaunched two:", "not authorized"); len(told) == 0 {
		t.Errorf("the pod is told %q", w.Events())
	}
	calls := w.Calls("CreateFleet")
	w.Advance(time.Minute)
	if got := w.Calls("CreateFleet"); got != calls {
		t.Errorf("CreateFleet was called %d times for a launch template that is gone", got-calls)
	}
	w.Sim.RemoveFault(fault)
	w.Faulty = false
	w.Advance(6 * time.Minute)
	if condition := ready(w, "default"); condition == nil || condition.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v", condition)
	}
	if got := len(w.Instances()); got != 2 {
		t.Errorf("%d instances run", got)
	}
}

// TestTemplateOfAnotherCluster holds that a launch template of another cluster's Provisioner with
// the same names is neither changed nor deleted, also when an earlier release created it without a
// mark.
func TestTemplateOfAnotherCluster(t *testing.T) {
	t.Parallel()
	first := provisioningtest.New(t, provisioningtest.Options{})
	first.Provision("default")
	first.Settle()
	id := theTemplate(first)
	if mark := markOf(templates(first)[id]); mark != "uid-of-this-cluster" {
		t.Errorf("the mark is %q", mark)
	}
	_, err := first.EC2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: awssdk.String(infrav1.TagClusterUID)}}})
	if err != nil {
		t.Fatal(err)
	}
	before := templates(first)[id]
	second := first.Cluster(t, provisioningtest.Options{ClusterUID: "uid-of-another-cluster"})
	second.Provision("default", func(spec *provisioningv1.ProvisionerSpec) { spec.Cluster.Endpoint = "https://other.example.com" })
	second.Settle()
	after := templates(first)
	if len(after) != 2 || *after[id].LatestVersionNumber != *before.LatestVersionNumber || markOf(after[id]) != "" {
		t.Errorf("there are %d launch templates, and the first has version %d and mark %q", len(after), *after[id].LatestVersionNumber, markOf(after[id]))
	}
	second.Delete(second.Provisioner("default"))
	second.Settle()
	if left := theTemplate(first); left != id {
		t.Errorf("%s is left, and %s was the first cluster's", left, id)
	}
	first.Restart()
	first.Advance(6 * time.Minute)
	if left := theTemplate(first); left != id || markOf(templates(first)[id]) != "uid-of-this-cluster" {
		t.Errorf("%s with mark %q is left", left, markOf(templates(first)[left]))
	}
}

// TestLaunchConfigIsProven holds that nodes are launched from the launch template that an
// AWSLaunchConfig's status names only if the template's owner tag, or the config's spec, proves it:
// a user of the namespace may write status.
func TestLaunchConfigIsProven(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, tag string
		existing    bool
		launched    bool
		says        string
	}{
		{reason: "the config's own", tag: "team/prod/web", launched: true},
		{reason: "no owner's", says: "does not have tag"},
		{reason: "another namespace's", tag: "others/prod/web", says: "does not have tag"},
		{reason: "one that the spec names", existing: true, launched: true},
		{reason: "another namespace's that the spec names", tag: "others/prod/web", existing: true, says: `is owned by "others/prod/web"`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			id := w.Template("web", "nodes.cluster-api-provider-aws.sigs.k8s.io")
			if row.tag != "" {
				if _, err := w.EC2.CreateTags(t.Context(), &ec2.CreateTagsInput{
					Resources: []string{id}, Tags: []ec2types.Tag{{Key: awssdk.String(infrav1.TagLaunchConfig), Value: awssdk.String(row.tag)}},
				}); err != nil {
					t.Fatal(err)
				}
			}
			config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
			config.Spec.ClusterName = "prod"
			if row.existing {
				config.Spec.Existing = &infrav1.ExistingLaunchTemplate{ID: id}
			}
			config.Status.LaunchTemplateID, config.Status.Version = id, 1
			w.Create(config)
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				spec.LaunchConfigRef = &provisioningv1.LaunchConfigReference{Namespace: "team", Name: "web"}
			})
			w.Pod("one")
			w.Settle()
			w.Advance(time.Minute)
			if got := len(w.Instances()) > 0; got != row.launched {
				t.Errorf("an instance is launched: %t", got)
			}
			shown := meta.FindStatusCondition(w.Provisioner("default").Status.Conditions, provisioningv1.LaunchTemplatesReadyCondition)
			if shown == nil || !row.launched && (shown.Reason != provisioningv1.LaunchConfigUnavailableReason || !strings.Contains(shown.Message, row.says)) {
				t.Errorf("the provisioner shows %+v", shown)
			}
		})
	}
}
