package provisioner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
)

// templateActions are EC2's calls about launch templates.
var templateActions = []string{
	"DescribeLaunchTemplates", "DescribeLaunchTemplateVersions", "CreateLaunchTemplate", "CreateLaunchTemplateVersion", "ModifyLaunchTemplate", "DeleteLaunchTemplate",
	"DeleteLaunchTemplateVersions",
}

// noTemplateAPIs has all of these fail until the function is called.
func (w *world) noTemplateAPIs() (again func()) {
	w.Helper()
	var ids []string
	for _, action := range templateActions {
		id, err := w.Cloud.AWS.AddFault(awssim.Fault{Action: action, Code: "Unavailable", Message: "The server is overloaded.", Status: 503})
		if err != nil {
			w.Fatal(err)
		}
		ids = append(ids, id)
	}
	return func() {
		for _, id := range ids {
			w.Cloud.AWS.RemoveFault(id)
		}
	}
}

// statusOf returns a provisioner's status entry of a launch template, nil for none.
func (w *world) statusOf(provisioner, template string) (*provisioningv1.ResolvedLaunchTemplate, error) {
	object := &provisioningv1.Provisioner{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: provisioner}, object); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(object.Status.LaunchTemplates, func(one provisioningv1.ResolvedLaunchTemplate) bool { return one.Name == template })
	if at < 0 {
		return nil, fmt.Errorf("the status has %+v", object.Status.LaunchTemplates)
	}
	return &object.Status.LaunchTemplates[at], nil
}

// TestRestartWithoutTemplateAPIs holds that a provisioner which begins while none of EC2's calls
// about launch templates works launches from all that the status knows: the default launch
// template, the one that a spec names, and the one that pods name. A pod of an unknown one gets the
// reason, and is launched for as soon as EC2 answers.
func TestRestartWithoutTemplateAPIs(t *testing.T) {
	w := newWorld(t)
	image := w.image("x86_64")
	web, own := w.template("web", image), w.template("own", image)
	w.template("unseen", image)
	// Each has nodes that no pod of the others suits: the scheduler fills what is there.
	w.provision("default", "instanceTypes: [m5.large]")
	w.provision("own", "instanceTypes: [m5.large]", "labels: {node.k8s.aws/launch-template-name: own}")
	w.provision("named", "instanceTypes: [m5.large]", "allowedLaunchTemplates: {names: [web, unseen]}")
	pods := func(number string) {
		for name, selector := range map[string][]string{
			"default": {provisioningv1.LabelProvisionerName, "default"}, "own": {provisioningv1.LabelProvisionerName, "own"},
			"web": {provisioningv1.LabelProvisionerName, "named", provisioningv1.LabelLaunchTemplateName, "web"},
		} {
			w.pod(name+"-"+number, selecting(selector...), asking("1500m", "1Gi"))
		}
	}
	pods("1")
	w.readyNodes(3)
	for provisioner, template := range map[string]string{"named": "web", "own": "own"} {
		w.Eventually("the status knows "+template, func() error {
			known, err := w.statusOf(provisioner, template)
			if err == nil && known.Facts == nil {
				err = fmt.Errorf("it says %+v", known)
			}
			return err
		})
	}
	w.stop()
	again := w.noTemplateAPIs()
	defer again()
	w.start()
	pods("2")
	unseen := w.pod("unseen", selecting(provisioningv1.LabelProvisionerName, "named", provisioningv1.LabelLaunchTemplateName, "unseen"), asking("1500m", "1Gi"))
	w.readyNodes(6)
	launched := w.launchedFrom()
	for _, id := range []string{web, own} {
		if got := len(slices.DeleteFunc(slices.Clone(launched), func(from string) bool { return from != id+":1 x86_64" })); got != 2 {
			t.Errorf("%d instances are launched from %s; all are from %q", got, id, launched)
		}
	}
	for provisioner, template := range map[string]string{"named": "web", "own": "own"} {
		w.Eventually("the status says how it launches from "+template, func() error {
			known, err := w.statusOf(provisioner, template)
			if err == nil && (known.Facts == nil || !strings.Contains(known.Message, "the last known version")) {
				err = fmt.Errorf("it says %+v", known)
			}
			return err
		})
	}
	w.eventOf(unseen, "needs launch template unseen")
	again()
	w.bound(unseen)
}

// observed waits until the status is of the spec as it is.
func (w *world) observed() {
	w.Helper()
	w.Eventually("the status is of the spec as it is", func() error {
		provisioner := &provisioningv1.Provisioner{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
			return err
		}
		if provisioner.Status.ObservedGeneration != provisioner.Generation {
			return fmt.Errorf("it is of generation %d, and the spec is %d", provisioner.Status.ObservedGeneration, provisioner.Generation)
		}
		return nil
	})
}

// unready waits until the provisioner has seen the spec as it is, and reports that it cannot launch from it.
func (w *world) unready(name string) {
	w.Helper()
	w.Eventually("Provisioner "+name+" is not ready", func() error {
		provisioner := &provisioningv1.Provisioner{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Name: name}, provisioner); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(provisioner.Status.Conditions, provisioningv1.ReadyCondition)
		if ready == nil || ready.Status == metav1.ConditionTrue || ready.ObservedGeneration != provisioner.Generation {
			return fmt.Errorf("it is at generation %d, and its condition is %+v", provisioner.Generation, ready)
		}
		return nil
	})
}

// TestEditWithoutTemplateAPIs holds that nodes are launched on after an edit of fields that do not
// affect default launch templates, and that nothing is launched from the former state after an edit
// of fields that do: not after a restart either, because the status stays of the former spec until
// there is a template of the new one.
func TestEditWithoutTemplateAPIs(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "instanceTypes: [m5.large]")
	w.pod("one", asking("1500m", "1Gi"))
	w.readyNodes(1)
	w.observed()
	before := w.launchedFrom()[0]
	again := w.noTemplateAPIs()
	defer again()
	w.provision("default", "instanceTypes: [m5.large]", "limits: {nodes: 4}")
	w.pod("two", asking("1500m", "1Gi"))
	w.readyNodes(2)
	w.observed()
	w.Apply(strings.ReplaceAll(provisioner("default", "instanceTypes: [m5.large]", "limits: {nodes: 4}"), "api.example.com", "other.example.com"))
	// Pods and Provisioners are watched apart: for a pod that is seen before the edit, a node of
	// the former spec is launched.
	w.unready("default")
	const says = "making the default launch template"
	three := w.pod("three", asking("1500m", "1Gi"))
	w.eventOf(three, says)
	w.stop()
	w.start()
	four := w.pod("four", asking("1500m", "1Gi"))
	w.eventOf(four, says)
	if launched := w.launchedFrom(); !slices.Equal(launched, []string{before, before}) {
		t.Errorf("instances are launched from %q, and the first from %q", launched, before)
	}
	provisioner := &provisioningv1.Provisioner{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
		t.Fatal(err)
	}
	if provisioner.Status.ObservedGeneration == provisioner.Generation {
		t.Errorf("the status is of generation %d, and says %+v", provisioner.Generation, provisioner.Status.LaunchTemplates)
	}
	again()
	w.bound(three)
	w.bound(four)
	w.observed()
	after := strings.Replace(before, ":1 ", ":2 ", 1)
	if launched := w.launchedFrom(); !slices.Equal(launched, []string{before, before, after, after}) {
		t.Errorf("instances are launched from %q", launched)
	}
}

// TestOutage holds that a Provisioner at rest shows an outage of EC2 with the time of its begin,
// that pods are launched for once EC2 answers again, and that the outage is shown no longer then.
func TestOutage(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "instanceTypes: [m5.large]")
	w.pod("one", asking("1500m", "1Gi"))
	w.readyNodes(1)
	readyIs := func(status metav1.ConditionStatus, message string) func() error {
		return func() error {
			provisioner := &provisioningv1.Provisioner{}
			if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
				return err
			}
			ready := meta.FindStatusCondition(provisioner.Status.Conditions, provisioningv1.ReadyCondition)
			if ready == nil || ready.Status != status || !strings.Contains(ready.Message, message) {
				return fmt.Errorf("its condition is %+v", ready)
			}
			return nil
		}
	}
	w.Eventually("the Provisioner is ready", readyIs(metav1.ConditionTrue, ""))
	fault, err := w.Cloud.AWS.AddFault(awssim.Fault{Service: "ec2", Code: "Unavailable", Message: "The server is overloaded.", Status: 503})
	if err != nil {
		t.Fatal(err)
	}
	w.Eventually("the Provisioner shows the outage", readyIs(metav1.ConditionFalse, "EC2 in us-east-1 has not answered since "))
	two := w.pod("two", asking("1500m", "1Gi"))
	w.sleep("5m")
	if nodes := w.Nodes(); len(nodes) != 1 {
		t.Errorf("%d nodes are there during the outage", len(nodes))
	}
	if !w.Cloud.AWS.RemoveFault(fault) {
		t.Fatal("no fault")
	}
	w.bound(two)
	w.Eventually("the Provisioner is ready again", readyIs(metav1.ConditionTrue, ""))
	w.readyNodes(2)
}
