package provisioner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/manager"
)

// noFleets has no fleet be launched until the function is called.
func (w *world) noFleets() (again func()) {
	w.Helper()
	id, err := w.Cloud.AWS.AddFault(awssim.Fault{Action: "CreateFleet", Code: "Unavailable", Message: "The server is overloaded.", Status: 503})
	if err != nil {
		w.Fatal(err)
	}
	return func() { w.Cloud.AWS.RemoveFault(id) }
}

// newVersion creates a version of a user's launch template.
func (w *world) newVersion(id, image string) {
	w.Helper()
	_, err := w.ec2().CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: templateData(image)})
	if err != nil {
		w.Fatal(err)
	}
}

// condition is a condition of the provisioner; nil for none.
func (w *world) condition(kind string) *metav1.Condition {
	w.Helper()
	provisioner := &provisioningv1.Provisioner{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
		w.Fatal(err)
	}
	return meta.FindStatusCondition(provisioner.Status.Conditions, kind)
}

// replacing returns the nodes that will be deleted once their pods have places elsewhere.
func (w *world) replacing(reason string) []provisioningv1.ProvisionedNode {
	w.Helper()
	return slices.DeleteFunc(w.provisioned(), func(node provisioningv1.ProvisionedNode) bool {
		condition := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.ReplacingCondition)
		return condition == nil || condition.Reason != reason
	})
}

// replacements returns the calls that launched and terminated instances since the log was cleared,
// repeated ones as one.
func (w *world) replacements() []string {
	var calls []string
	for _, call := range w.Cloud.AWS.Calls() {
		if call.Status == 200 && !strings.Contains(call.Principal, tester) && (call.Action == "CreateFleet" || call.Action == "TerminateInstances") {
			calls = append(calls, call.Action)
		}
	}
	return slices.Compact(calls)
}

// TestDrift holds that nodes follow a newer version of their launch template: one after the other,
// each only when another is there for its pod, and only as PodDisruptionBudgets let.
func TestDrift(t *testing.T) {
	w := newWorld(t)
	image := w.image("x86_64")
	id := w.template("web", image)
	w.provision("default", "labels: {node.k8s.aws/launch-template-name: web}", "drift: {maxReplacing: 1}")
	w.keepReplicas(2)
	before := w.runningOn(2)
	w.readyNodes(2)
	again := w.noFleets()
	w.Cloud.AWS.ClearCalls()
	w.newVersion(id, image)
	w.Eventually("one node is to be replaced, and says so", func() error {
		if condition := w.condition(provisioningv1.NodesCurrentCondition); condition == nil || !strings.HasPrefix(condition.Message, "2 of ") || !strings.Contains(condition.Message, "1 are being replaced") {
			return fmt.Errorf("the provisioner says %+v", condition)
		}
		if nodes := w.replacing(provisioningv1.DriftedReason); len(nodes) != 1 {
			return fmt.Errorf("%d nodes are being replaced", len(nodes))
		}
		return nil
	})
	w.sleep("2m") // without another node this one stays as it is, however long that takes
	if now := w.runningOn(2); !slices.Equal(now, before) {
		t.Errorf("pods moved from %q to %q though there was nowhere to go", before, now)
	}
	if nodes := w.replacing(provisioningv1.DriftedReason); len(nodes) != 1 || nodes[0].DeletionTimestamp != nil {
		t.Errorf("being replaced are %+v", nodes)
	}
	w.allowDisruptions(0) // from the beginning it would keep the node, and no other would be launched
	again()
	w.Eventually("the node is to end, and a budget holds its pod", func() error {
		ending := slices.DeleteFunc(w.provisioned(), func(node provisioningv1.ProvisionedNode) bool { return node.DeletionTimestamp == nil })
		if len(ending) != 1 || !strings.Contains(meta.FindStatusCondition(ending[0].Status.Conditions, provisioningv1.ReadyCondition).Reason, provisioningv1.DeletingReason) {
			return fmt.Errorf("%d nodes are being terminated", len(ending))
		}
		if draining := meta.FindStatusCondition(ending[0].Status.Conditions, provisioningv1.EndingCondition); draining == nil || !strings.Contains(draining.Message, "PodDisruptionBudget") {
			return fmt.Errorf("it says %+v", draining)
		}
		return nil
	})
	if now := w.runningOn(2); !slices.Equal(now, before) {
		t.Errorf("pods moved from %q to %q against their budget", before, now)
	}
	w.allowDisruptions(100)
	w.Eventually("all nodes are of the new version", func() error {
		if launched := w.launchedFrom(); !slices.Equal(launched, []string{id + ":2 x86_64", id + ":2 x86_64"}) {
			return fmt.Errorf("instances are launched from %q", launched)
		}
		if condition := w.condition(provisioningv1.NodesCurrentCondition); condition == nil || condition.Status != metav1.ConditionTrue {
			return fmt.Errorf("the provisioner says %+v", condition)
		}
		return nil
	})
	w.runningOn(2)
	if calls, want := w.replacements(), []string{"CreateFleet", "TerminateInstances", "CreateFleet", "TerminateInstances"}; !slices.Equal(calls, want) {
		t.Errorf("instances were launched and ended as %q, want %q", calls, want)
	}
}

// TestDriftIsOptional holds that nothing is replaced without drift, and that a node that no longer
// should be replaced is not.
func TestDriftIsOptional(t *testing.T) {
	w := newWorld(t)
	image := w.image("x86_64")
	id := w.template("web", image)
	w.provision("default", "labels: {node.k8s.aws/launch-template-name: web}")
	w.keepReplicas(1)
	w.runningOn(1)
	w.readyNodes(1)
	w.newVersion(id, image)
	w.Eventually("the provisioner has seen the version", func() error { return w.resolves("web", 2) })
	if len(w.replacing(provisioningv1.DriftedReason)) != 0 || w.condition(provisioningv1.NodesCurrentCondition) != nil {
		t.Error("a node is replaced without a request")
	}
	again := w.noFleets()
	w.provision("default", "labels: {node.k8s.aws/launch-template-name: web}", "drift: {maxReplacing: 100%}")
	w.Eventually("the node is to be replaced", func() error {
		if len(w.replacing(provisioningv1.DriftedReason)) != 1 {
			return errors.New("it is not")
		}
		return nil
	})
	w.Apply(provisioner("default", "labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: \"1\"}", "drift: {maxReplacing: 1}"))
	w.Eventually("the node is as it should be", func() error {
		node := w.provisioned()[0]
		if len(w.replacing(provisioningv1.DriftedReason)) != 0 || node.Annotations[provisioningv1.ReplaceAnnotation] != "" {
			return fmt.Errorf("%v, %+v", node.Annotations, node.Status.Conditions)
		}
		return nil
	})
	again()
}

// resolves fails unless the status says that a launch template leads to a version.
func (w *world) resolves(name string, version int64) error {
	provisioner := &provisioningv1.Provisioner{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
		return err
	}
	if !slices.ContainsFunc(provisioner.Status.LaunchTemplates, func(one provisioningv1.ResolvedLaunchTemplate) bool {
		return one.Name == name && one.Version == version
	}) {
		return fmt.Errorf("launch templates are %+v", provisioner.Status.LaunchTemplates)
	}
	return nil
}

// TestDriftOfImages holds what else nodes follow: the image behind a parameter, and security groups
// of the cluster.
func TestDriftOfImages(t *testing.T) {
	for _, row := range []struct {
		reason string
		// prepare gives the further lines of the provisioner, and what changes afterwards.
		prepare func(*world) (line string, change func())
		says    string
	}{
		{"the image behind a parameter", func(w *world) (string, func()) {
			parameter := w.parameter("/team/image", w.image("x86_64"))
			w.template("web", "resolve:ssm:"+parameter)
			return "labels: {node.k8s.aws/launch-template-name: web}", func() { w.parameter("/team/image", w.imageFor("1.35", "x86_64")) }
		}, "launched with image"},
		{"a security group more", func(w *world) (string, func()) {
			return "", func() {
				w.tag("sg-0c1000000000000aa", "kubernetes.io/cluster/"+cluster, "owned")
			}
		}, "would now be launched from version 2"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			w := newWorld(t)
			line, change := row.prepare(w)
			w.provision("default", line, "drift: {maxReplacing: 1}")
			w.keepReplicas(1)
			before := w.runningOn(1)
			w.readyNodes(1)
			change()
			w.told(row.says)
			w.Eventually("the pod runs on another node", func() error {
				if now := w.runningOn(1); slices.Equal(now, before) {
					return fmt.Errorf("it runs on %q", now)
				}
				return nil
			})
		})
	}
}

// TestExpiredNodeIsReplaced holds that a node that is too old stays until another is there for its pods.
func TestExpiredNodeIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.clock.SetRate(5) // the node is not to expire while it comes
	w.provision("default", "ttlSecondsUntilExpired: 600")
	w.keepReplicas(1)
	before := w.runningOn(1)
	w.readyNodes(1)
	again := w.noFleets()
	w.clock.SetRate(rate)
	w.Cloud.AWS.ClearCalls()
	w.Eventually("the node is to be replaced", func() error {
		if len(w.replacing(provisioningv1.ExpiredReason)) != 1 {
			return errors.New("it is not")
		}
		return nil
	})
	if now := w.runningOn(1); !slices.Equal(now, before) {
		t.Errorf("the pod moved to %q though there was nowhere to go", now)
	}
	again()
	w.Eventually("the pod runs on another node", func() error {
		if now := w.runningOn(1); slices.Equal(now, before) {
			return fmt.Errorf("it runs on %q", now)
		}
		return nil
	})
	w.Eventually("the instance is ended after another was launched", func() error {
		if calls := w.replacements(); len(calls) < 2 || calls[0] != "CreateFleet" {
			return fmt.Errorf("instances were launched and ended as %q", calls)
		}
		return nil
	})
}

// TestExpiryWithoutReplacement holds that a node that is too old is deleted all the same when
// limits leave no room for another, after as long as a launch may take.
func TestExpiryWithoutReplacement(t *testing.T) {
	w := newWorldWith(t, options{change: func(options *manager.ProvisionerOptions) { options.RegistrationTimeout = 10 * time.Minute }})
	w.provision("default", "ttlSecondsUntilExpired: 300", "limits: {nodes: 1}")
	w.keepReplicas(1)
	before := w.runningOn(1)
	w.Eventually("the pod runs on another node", func() error {
		if now := w.runningOn(1); slices.Equal(now, before) {
			return fmt.Errorf("it runs on %q", now)
		}
		return nil
	})
}

// TestAskedReplacement holds that a user may have a node replaced by an annotation.
func TestAskedReplacement(t *testing.T) {
	w := newWorld(t)
	w.provision("default")
	w.keepReplicas(1)
	before := w.runningOn(1)
	w.readyNodes(1)
	node := w.provisioned()[0]
	patch := client.MergeFrom(node.DeepCopy())
	node.Annotations = map[string]string{provisioningv1.ReplaceAnnotation: "its disk fails"}
	if err := w.Client.Patch(w.Context(), &node, patch); err != nil {
		t.Fatal(err)
	}
	w.told("its replacement was requested: its disk fails")
	w.Eventually("the pod runs on another node", func() error {
		if now := w.runningOn(1); slices.Equal(now, before) {
			return fmt.Errorf("it runs on %q", now)
		}
		return nil
	})
	w.readyNodes(1)
}

// TestVersionsPruned holds that versions of a default launch template go that nothing needs, and
// that none goes while a node is launched from it.
func TestVersionsPruned(t *testing.T) {
	w := newWorld(t)
	w.provision("default")
	w.keepReplicas(1)
	w.runningOn(1)
	w.readyNodes(1)
	id := w.provisioned()[0].Spec.LaunchTemplate.ID
	for version := 2; version <= 6; version++ {
		w.Apply(strings.ReplaceAll(provisioner("default"), "api.example.com", fmt.Sprintf("v%d.example.com", version)))
		w.Eventually("the version is made", func() error { return w.resolves(w.templateName(id), int64(version)) })
	}
	w.Eventually("all but the newest three and the one in use are gone", func() error { return w.versions(id, 1, 4, 5, 6) })
	w.sleep("6m")
	if err := w.versions(id, 1, 4, 5, 6); err != nil {
		t.Error(err)
	}
	node := w.provisioned()[0]
	if err := w.Client.Delete(w.Context(), &node); err != nil {
		t.Fatal(err)
	}
	w.Eventually("nothing needs the first version any more", func() error { return w.versions(id, 4, 5, 6) })
	if condition := w.condition(provisioningv1.VersionsPrunedCondition); condition != nil {
		t.Errorf("the provisioner says %+v", condition)
	}
}

func (w *world) templateName(id string) string {
	w.Helper()
	found, err := w.ec2().DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}})
	if err != nil {
		w.Fatal(err)
	}
	return *found.LaunchTemplates[0].LaunchTemplateName
}

// versions fails unless a launch template has just these.
func (w *world) versions(id string, want ...int64) error {
	found, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
	if err != nil {
		return err
	}
	var numbers []int64
	for _, version := range found.LaunchTemplateVersions {
		numbers = append(numbers, aws.ToInt64(version.VersionNumber))
	}
	slices.Sort(numbers)
	if !slices.Equal(numbers, want) {
		return fmt.Errorf("versions are %v, want %v", numbers, want)
	}
	return nil
}
