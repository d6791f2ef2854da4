package nodelifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// noon is the time at which the tables are decided.
var noon = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

var (
	// errHeldBack is the refusal of a call that would exceed AWS's request rate.
	errHeldBack = &aws.ThrottledError{Service: "ec2", Action: "DescribeInstances", RetryAfter: 7 * time.Second}
	// errServer is a failure of the API server, or of the way to it.
	errServer = errors.New("the API server does not respond")
)

// edit changes what is decided from.
type edit func(*input)

// row is one row of a table: what is decided for a node at rest after some edits.
type row struct {
	// reason says what the row shows.
	reason string
	given  []edit
	// want is the plan, as summary describes it.
	want string
	// shows is a condition of the node afterwards, as conditionOf describes it; not checked if empty.
	shows string
	// then checks more of the status; nil for nothing.
	then func(status *provisioningv1.ProvisionedNodeStatus) bool
}

// decideRows decides each row of a table.
func decideRows(t *testing.T, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest()
			for _, change := range row.given {
				change(&in)
			}
			object, plan := reconciletest.Decide(t, Decide, in)
			if diff := cmp.Diff(row.want, summary(plan)); diff != "" {
				t.Errorf("the plan is another (-want +got):\n%s", diff)
			}
			condition, _, _ := strings.Cut(row.shows, " ")
			if shows := conditionOf(object, condition); row.shows != "" && shows != row.shows {
				t.Errorf("the condition is %q, want %q", shows, row.shows)
			}
			if row.then != nil && !row.then(&object.Status) {
				t.Errorf("the status is %+v", object.Status)
			}
		})
	}
}

// summary describes a plan in one line.
func summary(plan reconcile.Plan) string {
	var parts []string
	add := func(format string, values ...any) { parts = append(parts, fmt.Sprintf(format, values...)) }
	tell := func(events []reconcile.Event) {
		for _, event := range events {
			add("tell %s %q", event.Reason, event.Note)
		}
	}
	if len(plan.Needs) > 0 {
		return fmt.Sprintf("observe %s", plan.Needs[0])
	}
	for key, value := range plan.Annotations {
		add("annotate %s", strings.TrimPrefix(key, "provisioning.karpenter.sh/")+"="+value)
	}
	for _, step := range plan.Actions {
		add("%s, because %s", step.Action, step.Reason)
		switch action := step.Action.(type) {
		case deleteNode:
			add("count %s", action.Reason)
			tell(action.Told)
		case replaceFailed:
			add("count %s", action.Reason)
			tell(action.Told)
		}
	}
	tell(plan.Events)
	if plan.Again > 0 {
		add("again in %s", plan.Again)
	}
	if plan.Untold {
		add("leave the status")
	}
	if plan.Err != nil {
		add("fail: %v", plan.Err)
	}
	return strings.Join(parts, "; ")
}

// conditionOf describes a condition, such as "Launched False Launching: no capacity".
func conditionOf(node *provisioningv1.ProvisionedNode, condition string) string {
	found := meta.FindStatusCondition(node.Status.Conditions, condition)
	switch {
	case found == nil:
		return condition
	case found.Message == "":
		return fmt.Sprintf("%s %s %s", condition, found.Status, found.Reason)
	}
	return fmt.Sprintf("%s %s %s: %s", condition, found.Status, found.Reason, found.Message)
}

// atRest returns what is decided from for an initialized node that a pod uses.
func atRest() input {
	node := &provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node", Generation: 1}}
	node.Spec = provisioningv1.ProvisionedNodeSpec{
		Provisioner: "default", Cluster: "blue", CapacityType: "spot", Launch: provisioningv1.NodeLaunch{Name: "launch", Nodes: 1, ClusterUID: "uid"},
		LaunchTemplate: provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 3},
	}
	node.Status = provisioningv1.ProvisionedNodeStatus{
		InstanceID: "i-1", InstanceType: "m5.large", Zone: "us-east-1a", ImageID: "ami-1", NodeName: "ip-1",
		RequestTime: ago(time.Hour), LaunchTime: ago(time.Hour), ReadyTime: ago(58 * time.Minute),
	}
	for _, condition := range []string{provisioningv1.LaunchedCondition, provisioningv1.RegisteredCondition, provisioningv1.InitializedCondition} {
		reconciling.True(node, condition, condition, "")
	}
	reconciling.True(node, provisioningv1.NodeReadyCondition, provisioningv1.ReadyReason, "")
	reconciling.Stamp(node, node, noon.Add(-time.Hour))
	member := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ip-1", UID: "member", Finalizers: []string{provisioningv1.NodeFinalizer}}}
	member.Spec.ProviderID = "aws:///us-east-1a/i-1"
	member.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return input{Object: node, Now: noon, Seen: Observed{
		Settings: Settings{ClusterUID: "uid", RegistrationTimeout: 15 * time.Minute}, Began: noon,
		Provisioner: &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}},
		Instance:    Instance{ID: "i-1", ImageID: "ami-1", Found: ptr.To(running("i-1"))}, Member: member, Pods: podsAre(pod("web")),
	}}
}

// ago returns a time before noon.
func ago(before time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(-before)} }

// running returns an instance that was launched for the node's launch.
func running(id string) fleet.Instance {
	return fleet.Instance{ID: id, InstanceType: "m5.large", Zone: "us-east-1a", State: "running", Tags: map[string]string{infrav1.TagClusterUID: "uid", fleet.TagLaunch: "launch"}}
}

// pod returns a pod that a ReplicaSet controls.
func pod(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: "pod-1", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: name, Controller: ptr.To(true)}}}}
	pod.Status.Phase = corev1.PodRunning
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func podsAre(pods ...corev1.Pod) Fact[[]corev1.Pod] {
	return Fact[[]corev1.Pod]{Known: true, Value: pods}
}

func pods(pods ...corev1.Pod) edit { return func(in *input) { in.Seen.Pods = podsAre(pods...) } }

// is returns a fact that was observed.
func is[T any](value T) Fact[T] { return Fact[T]{Known: true, Value: value} }

// unanswered returns a fact that AWS did not answer for.
func unanswered[T any](err error) Fact[T] { return Fact[T]{Known: true, Err: err} }

// done has an action be tried in the pass.
func done(action reconcile.Action, err error) edit {
	return func(in *input) {
		in.Done = append(in.Done, reconcile.Done{Step: reconcile.Step{Action: action}, Err: err})
	}
}

func status(change func(*provisioningv1.ProvisionedNodeStatus)) edit {
	return func(in *input) { change(&in.Object.Status) }
}

func provisioner(change func(*provisioningv1.Provisioner)) edit {
	return func(in *input) { change(in.Seen.Provisioner) }
}

func member(change func(*corev1.Node)) edit { return func(in *input) { change(in.Seen.Member) } }

func annotation(key, value string) edit {
	return func(in *input) { reconciling.SetAnnotation(in.Object, key, value) }
}

func orphaned(in *input) { in.Seen.Provisioner = nil }

func deleted(in *input) { in.Object.DeletionTimestamp = ago(time.Minute) }

// ended has EC2 report the instance as terminated.
func ended(in *input) { in.Seen.Instance.Found.State = "terminated" }

// unshown has EC2 not show the instance, and no Node run on it.
func unshown(in *input) { in.Seen.Instance.Found, in.Seen.Member = nil, nil }

// foreign has the instance have the tags of another cluster.
func foreign(in *input) {
	unshown(in)
	in.Seen.Instance.Foreign = errors.New("instance i-1 was launched by another cluster")
}

func launchedAgo(before time.Duration) edit {
	return status(func(s *provisioningv1.ProvisionedNodeStatus) { s.LaunchTime = ago(before) })
}

// condition sets a condition that became so an hour ago.
func condition(name, reason string, is bool) edit {
	return func(in *input) {
		set := reconciling.False
		if is {
			set = reconciling.True
		}
		set(in.Object, name, reason, "")
		reconciling.Stamp(in.Object, in.Object, noon.Add(-time.Hour))
	}
}

// unready has the kubelet not be ready.
var unready = member(func(m *corev1.Node) { m.Status.Conditions[0].Status = corev1.ConditionUnknown })
