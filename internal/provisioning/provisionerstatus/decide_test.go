package provisionerstatus

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

var noon = time.Date(2026, time.November, 26, 12, 0, 0, 0, time.UTC)

// Failures that only a user can resolve, that a later attempt may resolve, and after which AWS may
// only be asked again later.
var (
	errRefused   = &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "You are not authorized."}
	errLater     = errors.New("no answer")
	errThrottled = &aws.ThrottledError{RetryAfter: 7 * time.Second}
)

// m5 is an offer that nodes can be.
var m5 = catalog.Offer{Offering: catalog.Offering{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "on-demand"}, Type: &discovery.InstanceType{Name: "m5.large"}}

// atRest returns the facts about a Provisioner without a launch template of its own that has a node,
// and nothing to do.
func atRest() *input {
	object := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid", Generation: 2}}
	object.Spec.Cluster.Name = "prod"
	in := &input{Object: object, Now: noon}
	in.Seen = Observed{
		Region: "us-east-1", Outage: pool.Outage{Answered: true}, Nodes: []provisioningv1.ProvisionedNode{nodeOf("a")},
		Name: ClusterName{Read: true},
		Subnets: Subnets{
			Read: true, Found: []discovery.Subnet{{ID: "subnet-1", Zone: "us-east-1a", Free: 5}}, Places: launcher.Places{"us-east-1a": {{SubnetID: "subnet-1", Free: 5}}},
		},
		Named: NamedTemplate{Read: true}, Offers: Offers{Read: true, Seq: slices.Values([]catalog.Offer{m5})},
		Defaults: map[string]DefaultTemplate{"amd64": defaultTemplate("lt-1", 1)},
		OfPods:   PodTemplates{Read: true}, Shortages: Shortages{Read: true}, Others: Others{Read: true},
		Types: TypeLabels{Read: true}, Members: Members{Read: true}, CountedDrifted: ptr.To(0), RegionRead: true,
	}
	return in
}

// nodeOf returns a node that was launched from the default launch template and is ready.
func nodeOf(name string) provisioningv1.ProvisionedNode {
	node := provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	node.Spec.Provisioner, node.Spec.Architecture = "default", provisioningv1.ArchitectureAMD64
	node.Spec.LaunchTemplate = provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 1, Generated: true}
	node.Status.InstanceID, node.Status.ReadyTime, node.Status.NodeName = "i-"+name, &metav1.Time{Time: noon.Add(-time.Hour)}, "node-"+name
	return node
}

func defaultTemplate(id string, version int64) DefaultTemplate {
	return DefaultTemplate{
		Template: defaults.Template{Name: "provisioner-prod-default", LaunchTemplateVersion: provisioningv1.LaunchTemplateVersion{ID: id, Version: version, Generated: true}, ImageID: "ami-1"},
		Trial:    Trial{Read: true},
	}
}

// named has the spec name a launch template, which has no problem.
func named(in *input) {
	in.Object.Spec.Labels = provisioningv1.Labels{provisioningv1.LabelLaunchTemplateName: "web"}
	in.Seen.Named = NamedTemplate{
		Read: true, Trial: Trial{Read: true},
		Known: templates.Known{ID: "lt-web", ImageID: "ami-web", Template: constraints.Template{Name: "web", Version: 3, Architecture: "amd64"}},
	}
	in.Seen.Nodes, in.Seen.Defaults = nil, nil
}

// reference is the launch template that named has the spec name.
func reference(in *input) constraints.Reference { return layerOf(*in).Template }

// condition sets a condition in status.
func condition(in *input, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&in.Object.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 2})
}

// did notes that an action was tried in the pass.
func did(in *input, action reconcile.Action, err error) {
	in.Done = append(in.Done, reconcile.Done{Step: reconcile.Step{Action: action}, Err: err})
}

// row is one line of a specification: given a Provisioner at rest with something changed, this is
// needed, done, or shown.
type row struct {
	reason string
	given  func(in *input)
	// then is the first action and why, or what has to be observed, or nothing.
	then string
	// shows are conditions, as type=status/reason, each with a part of the message after a colon if
	// there is one.
	shows []string
	// again is when the Provisioner is reconciled again, zero for never.
	again time.Duration
	// tells are the reasons of events.
	tells string
	// fails is a part of the error that the pass returns.
	fails string
	// lists are the launch templates in status, each with its message after a colon if it has one;
	// nil for not compared.
	lists []string
}

func specify(t *testing.T, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest()
			if row.given != nil {
				row.given(in)
			}
			object, plan := reconciletest.Decide(t, Decide, *in)
			if got := firstOf(plan); got != row.then {
				t.Errorf("then %q, want %q", got, row.then)
			}
			if row.then == "nothing" && plan.Again != row.again {
				t.Errorf("reconciled again after %v, want %v", plan.Again, row.again)
			}
			if got := eventsOf(plan.Events); got != row.tells {
				t.Errorf("tells %q, want %q", got, row.tells)
			}
			if failed := fmt.Sprint(plan.Err); (plan.Err != nil) != (row.fails != "") || !strings.Contains(failed, row.fails) {
				t.Errorf("the error is %v, want %q", plan.Err, row.fails)
			}
			if plan.Held || plan.Hold == (object.DeletionTimestamp != nil) {
				t.Errorf("held %t, with finalizer %t", plan.Held, plan.Hold)
			}
			if got := listed(object); row.lists != nil && !slices.Equal(got, row.lists) {
				t.Errorf("status lists %q, want %q", got, row.lists)
			}
			for _, want := range row.shows {
				check(t, object, want)
			}
		})
	}
}

func firstOf(plan reconcile.Plan) string {
	switch {
	case len(plan.Needs) > 0:
		return "needs " + string(plan.Needs[0])
	case len(plan.Actions) > 0:
		return fmt.Sprintf("%s, because %s", plan.Actions[0].Action, plan.Actions[0].Reason)
	case plan.Release:
		return "let the Provisioner go"
	}
	return "nothing"
}

func check(t *testing.T, object *provisioningv1.Provisioner, want string) {
	t.Helper()
	what, message, _ := strings.Cut(want, ": ")
	kind, rest, _ := strings.Cut(what, "=")
	condition, got := meta.FindStatusCondition(object.Status.Conditions, kind), "absent"
	if condition != nil {
		got = string(condition.Status) + "/" + condition.Reason
	}
	if got != rest || condition != nil && !strings.Contains(condition.Message, message) {
		t.Errorf("condition %s is %s (%+v); want %s", kind, got, condition, want)
	}
}

func eventsOf(events []reconcile.Event) string {
	var reasons []string
	for _, event := range events {
		reasons = append(reasons, event.Reason)
	}
	return strings.Join(reasons, " ")
}

// listed returns the launch templates in status.
func listed(object *provisioningv1.Provisioner) []string {
	names := []string{}
	for _, entry := range object.Status.LaunchTemplates {
		name := entry.ID
		if entry.ID == "" {
			name = entry.Name
		}
		if entry.Message != "" {
			name += ": " + entry.Message
		}
		names = append(names, name)
	}
	return names
}

func TestDecide(t *testing.T) {
	t.Parallel()
	launch, name, subnets := provisioningv1.NodesLaunchCondition, provisioningv1.ClusterNameUniqueCondition, provisioningv1.SubnetsReadyCondition
	launches := func(name, reason, message string) provisioningv1.ProvisionedNode {
		node := nodeOf(name)
		node.Status = provisioningv1.ProvisionedNodeStatus{Conditions: []metav1.Condition{{Type: provisioningv1.LaunchedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message}}}
		return node
	}
	specify(t, []row{
		{reason: "nothing to do", then: "nothing", again: lookAgain, lists: []string{"lt-1"}, shows: []string{
			launch + "=True/Ready", name + "=True/Ready", subnets + "=True/Ready", provisioningv1.LaunchTemplatesReadyCondition + "=True/Ready", provisioningv1.NodesStartCondition + "=True/Ready",
			provisioningv1.SpellingsCurrentCondition + "=absent", provisioningv1.VersionsPrunedCondition + "=absent", infrav1.AWSReachableCondition + "=absent",
		}},
		{reason: "launches fail, of which the first by name is shown", given: func(in *input) {
			in.Seen.Nodes = []provisioningv1.ProvisionedNode{launches("c", provisioningv1.LaunchFailedReason, "third"), launches("b", provisioningv1.LaunchFailedReason, "second"), launches("a", "Pending", "first")}
		}, then: "nothing", again: lookAgain, shows: []string{launch + "=False/LaunchFailed: second"}},
		{reason: "a launch that failed has succeeded", given: func(in *input) {
			condition(in, launch, metav1.ConditionFalse, provisioningv1.LaunchFailedReason, "x")
			in.Seen.Name.Read = false
		}, then: "needs cluster name", shows: []string{launch + "=True/Ready"}},
		{reason: "a shortage stays until it was checked", given: func(in *input) {
			condition(in, launch, metav1.ConditionFalse, provisioningv1.InsufficientCapacityReason, "x")
			in.Seen.Name.Read = false
		}, then: "needs cluster name", shows: []string{launch + "=False/InsufficientCapacity"}},
		{reason: "the spec has old labels", given: func(in *input) {
			in.Object.Spec.Labels = provisioningv1.Labels{provisioningv1.LegacyLabelCapacityType: "spot"}
		}, then: "nothing", again: lookAgain, shows: []string{provisioningv1.SpellingsCurrentCondition + "=False/OldSpelling: is now " + provisioningv1.LabelCapacityType}},
		{reason: "another cluster has the name", given: func(in *input) { in.Seen.Name.Taken = "cluster other has it" }, then: "nothing", again: lookAgain,
			shows: []string{name + "=False/ClusterNameTaken: cluster other has it", subnets + "=absent"}, lists: []string{}},
		{reason: "AWS refuses to show who has the name", given: func(in *input) { in.Seen.Name.Err = errRefused }, then: "nothing", again: launcher.RetryInterval,
			shows: []string{name + "=False/AccessDenied: not authorized"}},
		{reason: "AWS does not answer who has the name", given: func(in *input) { in.Seen.Name.Err = errLater }, then: "nothing", fails: "no answer",
			shows: []string{name + "=Unknown/AWSUnavailable"}},
		{reason: "AWS may only be asked later", given: func(in *input) { in.Seen.Name.Err = errThrottled }, then: "nothing", again: 7 * time.Second,
			shows: []string{name + "=Unknown/AWSUnavailable"}},
		{reason: "subnets were not found yet", given: func(in *input) { in.Seen.Subnets = Subnets{} }, then: "needs subnets"},
		{reason: "AWS refuses to show subnets", given: func(in *input) { in.Seen.Subnets.Err = errRefused }, then: "nothing", again: launcher.RetryInterval,
			shows: []string{subnets + "=False/AccessDenied"}},
		{reason: "no subnet has a free address", given: func(in *input) { in.Seen.Subnets.Places = nil }, then: "nothing", again: launcher.RetryInterval,
			shows: []string{subnets + "=False/SubnetsUnusable: none of its subnets has a free IP address"}},
		{reason: "no subnet has a free address, and the launch template may have one", given: func(in *input) { named(in); in.Seen.Subnets.Places = nil }, then: "needs subnet of the launch template"},
		{reason: "the launch template has the subnet", given: func(in *input) {
			named(in)
			in.Seen.Subnets.Places, in.Seen.Fixed, in.Seen.Named.Known.FixesSubnet = nil, FixedSubnet{Read: true, Fixed: true}, true
		}, then: "nothing", again: lookAgain, shows: []string{subnets + "=True/Ready"}},
		{reason: "AWS does not answer", given: func(in *input) { in.Seen.Outage.Outage = &aws.Outage{Service: "EC2", Since: noon} }, then: "nothing", again: lookAgain,
			shows: []string{infrav1.AWSReachableCondition + "=False/AWSUnavailable: EC2 in us-east-1 has not answered since 2026-11-26T12:00:00Z"}},
		{reason: "what the region sells was not read", given: func(in *input) { in.Seen.RegionRead = false }, then: "needs what the region sells"},
	})
}

func TestDecideStarts(t *testing.T) {
	t.Parallel()
	failedStart := func(tries int32, id string) func(in *input) {
		return func(in *input) {
			in.Object.Status.FailedStarts = append(in.Object.Status.FailedStarts, provisioningv1.FailedStart{
				LaunchTemplateID: id, LaunchTemplateVersion: 2, Generation: 2, Tries: tries, LastTime: metav1.NewTime(noon.Add(-time.Minute)), Message: "no kubelet",
			})
		}
	}
	specify(t, []row{
		{reason: "a node failed to start", given: failedStart(1, "lt-2"), then: "nothing", again: 4 * time.Minute,
			shows: []string{provisioningv1.NodesStartCondition + "=False/StartTimeout: nodes from version 2 of launch template lt-2 failed to start for the first time in a row (no kubelet)"}},
		{reason: "the sooner of two is waited for", given: func(in *input) { failedStart(2, "lt-3")(in); failedStart(1, "lt-2")(in) }, then: "nothing", again: 4 * time.Minute,
			shows: []string{provisioningv1.NodesStartCondition + "=False/StartTimeout"}},
		{reason: "nodes failed to start too often", given: failedStart(5, "lt-2"), then: "nothing", again: lookAgain,
			shows: []string{provisioningv1.NodesStartCondition + "=False/StartTimeout: no further one is launched"}},
		{reason: "another version took the place of the one that failed", given: failedStart(1, "lt-1"), then: "nothing", again: lookAgain,
			shows: []string{provisioningv1.NodesStartCondition + "=True/Ready"}},
		{reason: "the version that failed is still launched from", given: func(in *input) {
			failedStart(1, "lt-1")(in)
			in.Seen.Defaults = map[string]DefaultTemplate{"amd64": defaultTemplate("lt-1", 2)}
		}, then: "nothing", again: 4 * time.Minute, shows: []string{provisioningv1.NodesStartCondition + "=False/StartTimeout"}},
		{reason: "the spec was edited since", given: func(in *input) { failedStart(1, "lt-2")(in); in.Object.Generation = 3 }, then: "nothing", again: lookAgain,
			shows: []string{provisioningv1.NodesStartCondition + "=True/Ready"}},
	})
}

func TestDecideDeletion(t *testing.T) {
	t.Parallel()
	going := func(in *input) { in.Object.DeletionTimestamp = &metav1.Time{Time: noon} }
	ready := provisioningv1.ReadyCondition + "=False/Deleting"
	specify(t, []row{
		{reason: "it has nodes", given: going, then: "delete ProvisionedNode a, because Provisioner default is being deleted", shows: []string{ready}},
		{reason: "one of its nodes is left", given: func(in *input) {
			going(in)
			in.Seen.Nodes = []provisioningv1.ProvisionedNode{nodeOf("a"), nodeOf("b"), nodeOf("c")}
			in.Seen.Nodes[1].DeletionTimestamp = &metav1.Time{Time: noon}
		}, then: "delete 2 ProvisionedNodes: a, c, because Provisioner default is being deleted"},
		{reason: "a node cannot be deleted", given: func(in *input) { going(in); did(in, deleteNodes{[]string{"a"}}, errLater) }, then: "nothing", fails: "deleting nodes: no answer", shows: []string{ready}},
		{reason: "its nodes end", given: func(in *input) { going(in); in.Seen.Nodes[0].DeletionTimestamp = &metav1.Time{Time: noon} }, then: "nothing",
			shows: []string{ready + ": 1 nodes are being terminated"}},
		{reason: "its nodes are gone", given: func(in *input) { going(in); in.Seen.Nodes = nil },
			then: "delete the default launch templates, because Provisioner default is being deleted, and has no nodes left", shows: []string{ready}},
		{reason: "EC2 does not delete a launch template", given: func(in *input) { going(in); in.Seen.Nodes = nil; did(in, deleteDefaults{}, errRefused) }, then: "nothing",
			fails: "deleting default launch templates", shows: []string{ready}},
		{reason: "EC2 does not show a launch template yet", given: func(in *input) {
			going(in)
			in.Seen.Nodes, in.Seen.TemplateUnshown = nil, true
			did(in, deleteDefaults{}, nil)
		}, then: "nothing", again: lookForTemplate},
		{reason: "EC2 has not shown it for long enough", given: func(in *input) {
			in.Object.DeletionTimestamp = &metav1.Time{Time: noon.Add(-templateVisibility)}
			in.Seen.Nodes, in.Seen.TemplateUnshown = nil, true
			did(in, deleteDefaults{}, nil)
		}, then: "let the Provisioner go"},
		{reason: "nothing is left", given: func(in *input) { going(in); in.Seen.Nodes = nil; did(in, deleteDefaults{}, nil) }, then: "let the Provisioner go"},
	})
}

func TestDecideDistinct(t *testing.T) {
	t.Parallel()
	distinct := provisioningv1.DistinctCondition
	other := func(weight *int32) func(in *input) {
		return func(in *input) {
			another := provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			another.Spec.Labels, another.Spec.Weight = provisioningv1.Labels{provisioningv1.LabelLaunchTemplateName: "web"}, weight
			in.Seen.Others.Items = []provisioningv1.Provisioner{another, *in.Object}
		}
	}
	specify(t, []row{
		{reason: "the others were not read", given: func(in *input) { in.Seen.Others = Others{} }, then: "needs other Provisioners"},
		{reason: "the others cannot be read", given: func(in *input) { in.Seen.Others.Err = errLater }, then: "nothing", again: lookAgain, fails: "listing Provisioners: no answer"},
		{reason: "there is no other", then: "nothing", again: lookAgain, shows: []string{distinct + "=absent"}},
		{reason: "another one comes first by name", given: other(nil), then: "nothing", again: lookAgain,
			shows: []string{distinct + "=False/SamePods: Provisioner a matches the same pods and takes precedence by name, and launches from launch template web"}},
		{reason: "another one leaves pods of other architectures alone, and its own is not known yet", given: func(in *input) {
			other(nil)(in)
			in.Seen.Others.Items[0].Spec.IncompatibleArchitecturePolicy = provisioningv1.Ignore
		}, then: "nothing", again: lookAgain, shows: []string{distinct + "=absent"}},
		{reason: "another one Provisioner a matches the same pods and takes precedence by weight, and launches from launch template web", given: other(ptr.To[int32](10)), then: "nothing", again: lookAgain, shows: []string{distinct + "=False/SamePods: Provisioner a matches the same pods and takes precedence by weight, and launches from launch template web"}},
	})
}
