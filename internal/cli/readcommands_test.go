package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/poolread"
	"github.com/slipway-project/slipway/internal/poolview"
)

func TestReadCommandsRefuse(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	for name, tc := range map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Format":          {reason: "The format is checked before anything is read.", args: []string{"status", "workers", "-o", "table"}, want: "--output"},
		"NoPool":          {reason: "The namespace is named, because it is the usual mistake.", args: []string{"status", "nobody"}, want: "namespace blue has no"},
		"WatchAll":        {reason: "A watch shows one pool.", args: []string{"status", "-w"}, want: "--watch needs"},
		"WatchYAML":       {reason: "Documents of YAML that follow one another need separators.", args: []string{"status", "workers", "-w", "-o", "yaml"}, want: "text or json"},
		"AllAndOne":       {reason: "A name is of one namespace.", args: []string{"status", "workers", "-A"}, want: "--all-namespaces"},
		"NoVersion":       {reason: "A version that was deleted is named with those that exist.", args: []string{"diff", "workers", "1", "9"}, want: "no version 9: its versions are from 1 to 2"},
		"BadVersion":      {reason: "A version is a number.", args: []string{"diff", "workers", "1", "latest"}, want: `"latest" is no version`},
		"NoTemplate":      {reason: "A pool without a launch template has no versions.", args: []string{"diff", "system", "1", "2"}, want: "no launch template yet"},
		"NoInstance":      {reason: "An instance may have left its pool.", args: []string{"trace", "i-0123456789abcdef0"}, want: "no pool in namespace blue has"},
		"NoInstanceAtAll": {reason: "The error says where it was looked for.", args: []string{"trace", "i-0123456789abcdef0", "-A"}, want: "no pool in any namespace has"},
		"NoCluster":       {reason: "A tree needs a Cluster.", args: []string{"tree", "green"}, want: `has no Cluster "green"`},
		"NothingNamed":    {reason: "A name may be of three kinds of objects.", args: []string{"explain", "nobody"}, want: "has no pool or pod"},
		"NoSuchKind":      {reason: "A kind that is none of pools is refused.", args: []string{"explain", "deployment/web"}, want: "use pool/NAME, node/NAME, or pod/NAME"},
		"NoSuchPodNamed":  {reason: "A kind limits the search.", args: []string{"explain", "pod/workers"}, want: `namespace blue has no pod "workers"`},
		"NoSuchPool":      {reason: "The error is about the kind that was named.", args: []string{"explain", "pool/nobody"}, want: `namespace blue has no pool "nobody"`},
		"NoSuchNode":      {reason: "The error is about the kind that was named.", args: []string{"explain", "node/nobody"}, want: `have no node or instance "nobody"`},
		"NoNameOfKind":    {reason: "A variable of a script may be empty.", args: []string{"explain", "pool/"}, want: "has no name after the slash"},
		"NoNameOfPool":    {reason: "A variable of a script may be empty.", args: []string{"status", "awsmachinepool/"}, want: "the name of the pool is empty"},
		"ImpossibleName":  {reason: "A name that no object can have is a name that no pool has.", args: []string{"status", ".."}, want: `has no AWSMachinePool, AWSManagedMachinePool, or MachinePool ".."`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := w.run(t.Context(), tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s slipway %v: got error %v, want one with %q", tc.reason, tc.args, err, tc.want)
			}
		})
	}
}

// TestReadCommandsPrintData holds that every command prints its output as JSON and as YAML.
func TestReadCommandsPrintData(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t, waitingPod())
	for want, args := range map[string][]string{
		`"upToDate":2`: {"status", "workers"}, `"needsHuman":false`: {"status"}, `"cause":"Edited"`: {"history", "workers"}, `"sameNodes":false`: {"diff", "workers", "1", "2"},
		`"remedy":"Check`: {"explain", "workers"}, `"launchConfig":"workers"`: {"trace", "i-0a11000000000000a"}, `"cluster":"prod"`: {"tree", "prod"},
		`"reason":"NodeDraining"`: {"events", "workers"},
	} {
		out, _, err := w.run(t.Context(), append(args, "-o", "json")...)
		compact := &bytes.Buffer{}
		if err != nil || json.Compact(compact, []byte(out)) != nil || !strings.Contains(compact.String(), want) {
			t.Errorf("slipway %v -o json: got error %v and %s, want %s", args, err, compact, want)
		}
		if _, _, err := w.run(t.Context(), append(args, "-o", "yaml")...); err != nil {
			t.Errorf("slipway %v -o yaml: %v", args, err)
		}
	}
}

// TestStatusOfNew holds how pools are listed that no controller has reconciled yet.
func TestStatusOfNew(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t, &infrav1.AWSMachinePool{ObjectMeta: in("new")})
	out, _, err := w.run(t.Context(), "status")
	if want := []string{"new", "AWSMachinePool", "Pending", "0/0", "0/0", "-", "no"}; err != nil || !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return slices.Equal(strings.Fields(line), want) }) {
		t.Errorf("slipway status: got error %v and\n%s\nwant a line %q", err, out, want)
	}
}

// TestReadCommandsDegrade holds that commands show what they can if a cluster or AWS cannot be read.
func TestReadCommandsDegrade(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	w.workload = nil
	w.source.aws = func(context.Context) (*poolread.AWS, error) { return nil, errors.New("no credentials") }
	for name, tc := range map[string]struct {
		reason     string
		args       []string
		out, notes string
	}{
		"Status": {reason: "Names of nodes are not needed.", args: []string{"status", "workers"}, out: "RollingOut", notes: "names of nodes are missing"},
		"Tree":   {reason: "Instances have IDs.", args: []string{"tree", "prod"}, out: "i-0d44000000000000d", notes: "names of nodes are missing"},
		"Trace":  {reason: "An ID is in the status of its pool.", args: []string{"trace", "i-0a11000000000000a"}, out: "Edited: instance type"},
		"Events": {reason: "Events of Kubernetes need no AWS.", args: []string{"events", "workers"}, out: "InstanceRefreshStarted", notes: "activities of the Auto Scaling group are missing: no credentials"},
		"Explain": {
			reason: "An instance whose node cannot be read is explained by its group.", args: []string{"explain", "i-0d44000000000000d"},
			out: "no node of it is known", notes: "The node is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, notes, err := w.run(t.Context(), tc.args...)
			if err != nil || !strings.Contains(out, tc.out) || !strings.Contains(notes, tc.notes) {
				t.Errorf("%s slipway %v: got error %v, notes %q, and output %q; want %q and %q", tc.reason, tc.args, err, notes, out, tc.notes, tc.out)
			}
		})
	}
	if _, _, err := w.run(t.Context(), "trace", "ip-10-0-1-5.ec2.internal"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a node of a cluster that cannot be read: got error %v, want one that says so", err)
	}
}

// TestReadCommandsShowNoSecrets holds that join tokens stay secret, and that texts of tenants cannot move the
// cursor of a terminal.
func TestReadCommandsShowNoSecrets(t *testing.T) {
	t.Parallel()
	const hostile = "Draining \x1b[2J\x1b]0;title\anode"
	w := newReadWorld(t, event("AWSMachinePool", "workers", corev1.EventTypeWarning, "Hostile", hostile, 0))
	pool := &infrav1.AWSMachinePool{}
	w.check(w.client.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "workers"}, pool))
	pool.Status.Conditions[1].Message, pool.Status.Rollout.Cause, pool.Status.Conditions[0].Message = hostile, hostile, hostile
	w.check(w.client.Update(t.Context(), pool))
	for _, args := range [][]string{
		{"status", "workers"}, {"history", "workers"}, {"diff", "workers", "1", "2"}, {"explain", "workers"}, {"trace", "i-0a11000000000000a"}, {"tree", "prod"}, {"events", "workers"},
	} {
		out, _, err := w.run(t.Context(), args...)
		if err != nil || strings.ContainsAny(out, "\x1b\a") {
			t.Errorf("slipway %v: got error %v and %q, want text without control characters", args, err, out)
		}
		if strings.Contains(out, "0123456789abcdef\n") || strings.Contains(out, "fedcba9876543210") {
			t.Errorf("slipway %v shows a join token: %s", args, out)
		}
	}
}

// TestExplainOfWorkloadCluster holds what is explained of a node that a Provisioner launched.
func TestExplainOfWorkloadCluster(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-1"}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "no network"}},
	}}
	provisioned := &provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: "default-abc"}}
	provisioned.Spec.Provisioner, provisioned.Status.NodeName, provisioned.Status.InstanceType = "default", "n1", "m5.large"
	provisioned.Status.Conditions = []metav1.Condition{{Type: provisioningv1.InitializedCondition, Status: metav1.ConditionFalse, Reason: provisioningv1.NotReadyReason}}
	w := newReadWorld(t, node, provisioned)
	for _, name := range []string{"n1", "node/n1"} {
		out, _, err := w.run(t.Context(), "explain", name)
		for _, want := range []string{"Ready is False: no network", "default-abc of Provisioner default, m5.large", "Initialized is False", "conditions.md#initialized"} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("slipway explain %s: got error %v and %s, want %q", name, err, out, want)
			}
		}
	}
}

// TestNodeOfProvisioner holds that a node that a Provisioner launched is found by its name, its instance, and its
// ProvisionedNode, before and after it has joined.
func TestNodeOfProvisioner(t *testing.T) {
	t.Parallel()
	launched := metav1.NewTime(shownAt.Add(-time.Minute))
	of := func(name, instance, node string) *provisioningv1.ProvisionedNode {
		object := &provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Spec.Provisioner, object.Spec.Cluster, object.Spec.LaunchTemplate = "default", "prod", provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 3}
		object.Status.InstanceID, object.Status.InstanceType, object.Status.NodeName, object.Status.LaunchTime = instance, "m5.large", node, &launched
		object.Status.Conditions = []metav1.Condition{{Type: provisioningv1.LaunchedCondition, Status: metav1.ConditionTrue, Reason: provisioningv1.LaunchedReason}, {Type: provisioningv1.RegisteredCondition, Status: metav1.ConditionFalse, Reason: provisioningv1.RegisteringReason, Message: "waits for the Node"}}
		return object
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-0abc1"}}
	w := newReadWorld(t, node, of("default-abc", "i-0abc1", "n1"), of("default-new", "i-0abc2", ""))
	for command, wanted := range map[string][]string{
		"explain i-0abc1":                     {"Node n1", "default-abc of Provisioner default, i-0abc1"},
		"explain default-abc":                 {"Node n1", "default-abc of Provisioner default"},
		"explain node/i-0abc1":                {"Node n1"},
		"explain i-0abc2":                     {"ProvisionedNode default-new", "its instance is starting, and has not joined the cluster yet", "Registered is False, Registering"},
		"explain provisionednode/default-new": {"ProvisionedNode default-new"},
		"trace i-0abc1":                       {"Instance  i-0abc1, m5.large, Registering", "Node      n1", "3 of lt-1", "ProvisionedNode default-abc", "2026-11-26 09:59:00 UTC", "Provisioner default", "Cluster   prod", "pods that waited for a node"},
		"trace n1":                            {"Provisioner default"},
		"trace default-new":                   {"Instance  i-0abc2"},
		"trace i-0abc2 -o json":               {`"kind": "ProvisionedNode"`, `"provisioner": "default"`, `"provisionedNode": "default-new"`},
	} {
		out, notes, err := w.run(t.Context(), strings.Fields(command)...)
		for _, want := range wanted {
			if err != nil || notes != "" || !strings.Contains(out, want) {
				t.Errorf("slipway %s: got error %v, notes %q, and\n%s\nwant %q", command, err, notes, out, want)
			}
		}
	}
}

// TestRightsOfWorkloadCluster holds that a user who may read pods and nodes, and nothing of Slipway, sees what there is
// with a note.
func TestRightsOfWorkloadCluster(t *testing.T) {
	t.Parallel()
	why := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "why"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "web-5d8f7-waits"}, Type: corev1.EventTypeWarning,
		Reason: provisioningv1.NoNodeLaunchedEvent, Message: "The pod requests too much.", LastTimestamp: metav1.NewTime(shownAt),
	}
	w := newReadWorld(t, waitingPod(), why)
	w.source.Client = interceptor.NewClient(w.client, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		switch list.(type) {
		case *provisioningv1.ProvisionerList, *provisioningv1.ProvisionedNodeList:
			return apierrors.NewForbidden(provisioningv1.GroupVersion.WithResource("provisioners").GroupResource(), "", errors.New("no rights"))
		}
		return c.List(ctx, list, options...)
	}})
	out, notes, err := w.run(t.Context(), "explain", "pod/web-5d8f7-waits")
	if err != nil || !strings.Contains(notes, "The Provisioners are missing: listing Provisioners") || !strings.Contains(out, "Slipway   The pod requests too much.") {
		t.Errorf("a pod: got error %v, notes %q, and\n%s", err, notes, out)
	}
	if _, _, err = w.run(t.Context(), "trace", "i-0123456789abcdef0"); err == nil || !strings.Contains(err.Error(), "the nodes of Provisioners cannot be read") {
		t.Errorf("an instance that no pool has: got error %v", err)
	}
	if out, _, err = w.run(t.Context(), "trace", "i-0a11000000000000a"); err != nil || !strings.Contains(out, "Edited: instance type") {
		t.Errorf("an instance of a pool: got error %v and\n%s", err, out)
	}
}

// TestRightsOfOneKindOfPools holds that a user who may list one kind of pools sees those pools, with a note, and that
// a user who may list neither gets an error.
func TestRightsOfOneKindOfPools(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	both := false
	w.source.pools.Cluster = interceptor.NewClient(w.client, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		_, managed := list.(*infrav1.AWSManagedMachinePoolList)
		_, selfManaged := list.(*infrav1.AWSMachinePoolList)
		if managed || selfManaged && both {
			return apierrors.NewForbidden(infrav1.GroupVersion.WithResource("awsmanagedmachinepools").GroupResource(), "", errors.New("no rights"))
		}
		return c.List(ctx, list, options...)
	}})
	const note = "Some pools may be missing: listing AWSManagedMachinePools: "
	for _, args := range [][]string{{"status"}, {"tree", "prod"}} {
		out, notes, err := w.run(t.Context(), args...)
		if err != nil || !strings.Contains(out, "workers") || strings.Contains(out, "system") || !strings.Contains(notes, note) {
			t.Errorf("slipway %v: got error %v, notes %q, and\n%s\nwant the pool workers, and %q", args, err, notes, out, note)
		}
	}
	if out, notes, err := w.run(t.Context(), "trace", "i-0a11000000000000a"); err != nil || notes != "" || !strings.Contains(out, "Edited: instance type") {
		t.Errorf("an instance of a pool that is listed: got error %v, notes %q, and\n%s", err, notes, out)
	}
	if _, _, err := w.run(t.Context(), "trace", "i-0123456789abcdef0"); err == nil || !strings.Contains(err.Error(), "some pools cannot be read") {
		t.Errorf("an instance that no listed pool has: got error %v", err)
	}
	both = true
	if _, _, err := w.run(t.Context(), "status"); !apierrors.IsForbidden(err) {
		t.Errorf("neither kind: got error %v, want one that says what is forbidden", err)
	}
}

func TestPodSummary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		pod    corev1.Pod
		want   string
	}{
		"Gate":      {reason: "A gate keeps the scheduler away.", pod: corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "quota"}}}}, want: "not scheduled: it has the scheduling gate quota"},
		"New":       {reason: "The scheduler may not have tried yet.", want: "not seen by the scheduler yet"},
		"Container": {reason: "A scheduled pod may wait for its image.", pod: corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}, Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}}, want: "scheduled, Pending; container web waits: ImagePullBackOff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, podSummary(&tc.pod)); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	for name, tc := range map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Pools":     {reason: "Both kinds of pools are offered.", args: []string{"status", ""}, want: "system\nworkers\n"},
		"Prefix":    {reason: "A prefix chooses.", args: []string{"history", "wo"}, want: "workers\n"},
		"Instances": {reason: "A trace begins with an instance.", args: []string{"trace", "i-0a"}, want: "i-0a11000000000000a\n"},
		"Clusters":  {reason: "A tree is of a Cluster.", args: []string{"tree", ""}, want: "prod\n"},
		"Second":    {reason: "Versions are not offered.", args: []string{"diff", "workers", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := w.run(t.Context(), append([]string{"__complete"}, tc.args...)...)
			offered, _, _ := strings.Cut(out, ":4\n")
			if diff := cmp.Diff(tc.want, offered); diff != "" || err != nil {
				t.Errorf("%s slipway __complete %v: error %v, -want +got:\n%s", tc.reason, tc.args, err, diff)
			}
		})
	}
}

// shownOnce is a writer that reports each write.
type shownOnce struct {
	mu    sync.Mutex
	texts chan string
}

// Write implements io.Writer.
func (s *shownOnce) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts <- string(text)
	return len(text), nil
}

// TestStatusWatches holds that a change is shown without polling, once, and that the command
// returns once its context is done.
func TestStatusWatches(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &shownOnce{texts: make(chan string, 100)}
	command := newStatusCommand(func(*readFlags) (*source, error) { return w.source, nil })
	command.SetOut(out)
	command.SetErr(out)
	command.SetArgs([]string{"workers", "-w"})
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	if first := <-out.texts; !strings.Contains(first, "50 % · 2 of 4 instances") {
		t.Errorf("first status: %s", first)
	}
	pool := &infrav1.AWSMachinePool{}
	w.check(w.client.Get(ctx, client.ObjectKey{Namespace: "blue", Name: "workers"}, pool))
	*pool.Status.UpToDateReplicas = 3
	w.check(w.client.Update(ctx, pool))
	if second := <-out.texts; !strings.Contains(second, "75 % · 3 of 4 instances") {
		t.Errorf("second status: %s", second)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("slipway status -w: got error %v after an interrupt, want none", err)
	}
	if len(out.texts) > 0 {
		t.Errorf("a status was shown again: %s", <-out.texts)
	}
}

// TestStatusWatchIsInterrupted holds that an interrupt while a watch begins is no failure, and that another error is.
func TestStatusWatchIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{true, false} {
		w := newReadWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.source.watcher = interceptor.NewClient(w.client, interceptor.Funcs{
			Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
				if interrupted {
					cancel()
				}
				return nil, errors.New("no watch")
			},
		})
		if _, _, err := w.run(ctx, "status", "workers", "-w"); (err == nil) != interrupted {
			t.Errorf("slipway status -w, interrupted %t: got error %v", interrupted, err)
		}
		cancel()
	}
}

// TestHistoryOutcomes holds what becomes of launches.
func TestHistoryOutcomes(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	out, _, err := w.run(t.Context(), "history", "workers", "-o", "json")
	var launches []poolview.Launch
	if err != nil || json.Unmarshal([]byte(out), &launches) != nil || len(launches) != 2 {
		t.Fatalf("slipway history: got error %v and %s, want two launches", err, out)
	}
	if launches[0].By != "kubectl-edit" || launches[0].Outcome != poolview.InProgress || launches[1].By != "" || launches[1].Outcome != poolview.Replaced {
		t.Errorf("got %+v, want the newest in progress by kubectl-edit, and the first replaced by an unknown writer", launches)
	}
	if out, _, err := w.run(t.Context(), "history", "system"); err != nil || !strings.Contains(out, "No launch is recorded yet") {
		t.Errorf("slipway history of a pool without an AWSLaunchConfig: got error %v and %q", err, out)
	}
}

// TestEventsOfAnotherClock holds that activities are not mixed with events whose times are of another clock.
func TestEventsOfAnotherClock(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		now    time.Time
		note   bool
		// first is the source of the oldest entry that is shown.
		first string
	}{
		{"the clocks agree", shownAt, false, "blue-workers"},
		{"AWS is an hour ahead", shownAt.Add(-2 * time.Hour), true, "AWSMachinePool/workers"},
	} {
		w := newReadWorld(t)
		w.source.clock = clocktesting.NewFakeClock(row.now)
		out, notes, err := w.run(t.Context(), "events", "workers", "-o", "json")
		var events []poolview.Event
		if err != nil || json.Unmarshal([]byte(out), &events) != nil || len(events) < 2 {
			t.Fatalf("%s: slipway events: error %v, and %s", row.reason, err, out)
		}
		if noted := strings.Contains(notes, "clock of AWS"); noted != row.note || events[0].Source != row.first {
			t.Errorf("%s: the first entry is of %s, want %s; notes %q", row.reason, events[0].Source, row.first, notes)
		}
	}
}
