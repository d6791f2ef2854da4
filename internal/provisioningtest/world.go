// Package provisioningtest runs the controllers of just-in-time nodes for tests: their real
// Reconcile functions, against controller-runtime's in-memory API server and the simulated AWS, on
// one clock that stands still. Nothing runs by itself: the test says when pods come, time passes,
// Nodes join, and a controller restarts.
package provisioningtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/provisioning/provisionerstatus"
	"github.com/slipway-project/slipway/internal/provisioning/scheduler"
)

const (
	// Account is the AWS account in which nodes are launched.
	Account = "123456789012"
	// Region is the region in which nodes are launched.
	Region = "us-east-1"
	// Cluster is the name that nodes, subnets, and security groups have in common.
	Cluster = "just-in-time"
)

// Options change a world.
type Options struct {
	Behavior awssim.Behavior
	// World is what the account has at the start; world.Default() if nil.
	World *world.World
	// LaunchesPerMinute is the launch budget; 300 if zero.
	LaunchesPerMinute int
	// ClusterUID is the UID of the kube-system namespace; "uid-of-this-cluster" if empty.
	ClusterUID string
	// Before sees each request to AWS before it is answered, with its body. It may hold the request up.
	Before func(body []byte)
	// Kubernetes is the version of the cluster; "v1.36.3" if empty.
	Kubernetes string
}

// AWS is a simulated account that several clusters may share.
type AWS struct {
	Sim   *awssim.Simulator
	Clock *simclock.Clock
	// EC2 calls EC2 as a person.
	EC2    *ec2.Client
	config awssdk.Config
}

// World is one cluster with the controllers of just-in-time nodes.
type World struct {
	*testing.T
	*AWS
	Client client.WithWatch
	// Machine is the clock of the controllers from the next restart on: the world's, unless a test replaces it.
	Machine clock.WithTicker
	// Faulty has failed reconciles be expected; else they fail the test.
	Faulty bool

	Provisioning *scheduler.Reconciler
	Nodes        *nodelifecycle.Controller
	Provisioners *provisionerstatus.Controller
	Collector    *nodelifecycle.Collector

	// Progress counts for all controllers of the cluster, across restarts.
	Progress *metrics.Progress

	options Options
	events  *recorder
}

// New returns a cluster in an AWS account of its own.
func New(t *testing.T, options Options) *World {
	t.Helper()
	clock := simclock.New(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), 0)
	t.Cleanup(clock.Close)
	options.Behavior.InstanceTimes = awssim.InstanceTimes{Pending: 2 * time.Second, ShuttingDown: 2 * time.Second}
	sim := awssim.New(awssim.Options{Clock: clock, Behavior: options.Behavior, World: options.World})
	server := httptest.NewServer(before(options.Before, sim.Handler()))
	t.Cleanup(server.Close)
	config := awssdk.Config{
		BaseEndpoint: awssdk.String(server.URL), Region: Region, Credentials: credentials.NewStaticCredentialsProvider("AKIASLIPWAY0"+Account, "secret", ""),
	}
	person := config.Copy()
	person.Credentials = credentials.NewStaticCredentialsProvider("AKIAPERSON00"+Account, "secret", "")
	shared := &AWS{Sim: sim, Clock: clock, EC2: ec2.NewFromConfig(person), config: config}
	w := shared.Cluster(t, options)
	_, err := w.EC2.CreateTags(t.Context(), &ec2.CreateTagsInput{
		Resources: []string{"subnet-0b2000000000000aa", "subnet-0b2000000000000ab", "subnet-0b2000000000000ac", "sg-0c1000000000000ab"},
		Tags:      []ec2types.Tag{{Key: awssdk.String("kubernetes.io/cluster/" + Cluster), Value: awssdk.String("owned")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// before calls a function with the body of each request; nil for none.
func before(see func(body []byte), answer http.Handler) http.Handler {
	if see == nil {
		return answer
	}
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		see(body)
		request.Body = io.NopCloser(bytes.NewReader(body))
		answer.ServeHTTP(response, request)
	})
}

// Main runs the tests of a package with garbage collected rarely: they produce much of it, and need
// little memory.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// Cluster returns a further cluster in the account.
func (a *AWS) Cluster(t *testing.T, options Options) *World {
	t.Helper()
	if options.ClusterUID == "" {
		options.ClusterUID = "uid-of-this-cluster"
	}
	if options.LaunchesPerMinute == 0 {
		options.LaunchesPerMinute = 300
	}
	w := &World{T: t, AWS: a, Machine: a.Clock, Progress: metrics.NewProgress(), options: options, events: &recorder{}}
	w.Client = w.newClient()
	w.Restart()
	t.Cleanup(func() {
		for _, event := range w.Told("..") {
			t.Errorf("an event has two full stops: %q", event)
		}
	})
	return w
}

// Restart replaces the controllers, which forget what they remembered.
func (w *World) Restart() {
	w.Helper()
	clients, err := aws.NewSessions(w.config, aws.WithClock(w.Machine), aws.WithLimits(nil), aws.WithBackoff(time.Millisecond), aws.WithOutageAfter(provisionerstatus.OutageAfter)).For(w.Context(), aws.Principal{}, Region)
	if err != nil {
		w.Fatal(err)
	}
	w.build(clients)
}

// Settle reconciles everything until nothing changes any longer, without time passing.
func (w *World) Settle() {
	w.Helper()
	for before := ""; ; {
		w.reconcile("cluster", w.Provisioning.Reconcile, ctrl.Request{})
		for _, node := range w.Provisioned() {
			w.reconcile(node.Name, w.Nodes.Reconcile, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&node)})
		}
		var provisioners provisioningv1.ProvisionerList
		w.list(&provisioners)
		for i := range provisioners.Items {
			w.reconcile(provisioners.Items[i].Name, w.Provisioners.Reconcile, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&provisioners.Items[i])})
		}
		now := w.fingerprint()
		if now == before {
			return
		}
		before = now
	}
}

// Advance lets time pass, shows the controllers what became of instances, and settles. Long times
// pass in steps of a minute.
func (w *World) Advance(d time.Duration) {
	w.Helper()
	for ; d > 0; d -= time.Minute {
		w.Clock.Step(min(d, time.Minute))
		w.Observe()
		w.Settle()
	}
}

// Observe sweeps the instances of all ProvisionedNodes, and polls their status checks.
func (w *World) Observe() {
	w.Helper()
	if err := w.Nodes.Checks.Poll(w.Context()); err != nil && !w.Faulty {
		w.Errorf("polling status checks: %v", err)
	}
	var ids []string
	for _, node := range w.Provisioned() {
		if node.Status.InstanceID != "" {
			ids = append(ids, node.Status.InstanceID)
		}
	}
	found, err := w.Nodes.Fleets.Describe(w.Context(), ids)
	for _, id := range ids {
		if instance, there := found[id]; there && err == nil {
			var before *fleet.Instance
			if known, is := w.Nodes.Instances.Peek(id); is {
				before = &known
			}
			w.Nodes.Instances.Replace(id, before, instance)
		} else {
			w.Nodes.Instances.Invalidate(id)
		}
	}
}

// Collect runs two passes of the collector; the second terminates what the first found.
func (w *World) Collect() {
	w.Helper()
	for range 2 {
		if err := w.Collector.Collect(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *World) reconcile(name string, reconcile func(ctx context.Context, request ctrl.Request) (ctrl.Result, error), request ctrl.Request) {
	w.Helper()
	if _, err := reconcile(w.Context(), request); err != nil && !w.Faulty && !apierrors.IsConflict(err) {
		w.Errorf("reconciling %s: %v", name, err)
	}
}

// fingerprint returns a text that changes whenever an object does.
func (w *World) fingerprint() string {
	var text strings.Builder
	for _, list := range []client.ObjectList{&provisioningv1.ProvisionerList{}, &provisioningv1.ProvisionedNodeList{}, &corev1.NodeList{}, &corev1.PodList{}} {
		w.list(list)
		for _, object := range itemsOf(list) {
			fmt.Fprintf(&text, "%T %s %s\n", object, object.GetName(), object.GetResourceVersion())
		}
	}
	return text.String()
}

// Instances returns the instances that have not terminated, by ID.
func (w *World) Instances() []awssim.Instance {
	return slices.DeleteFunc(w.Sim.Region(Account, Region).Instances(), func(i awssim.Instance) bool {
		return i.State.Name == ec2types.InstanceStateNameShuttingDown || i.State.Name == ec2types.InstanceStateNameTerminated
	})
}

// Calls counts the calls of an action by Slipway, including failed ones.
func (w *World) Calls(action string) int {
	count := 0
	for _, call := range w.Sim.Calls() {
		if call.Action == action && !strings.Contains(call.Principal, "AKIAPERSON") {
			count++
		}
	}
	return count
}

// Events returns what was reported, as "Warning Reason object: note", in order.
func (w *World) Events() []string { return w.events.all() }

// Told returns the events whose text has all of the parts.
func (w *World) Told(parts ...string) []string {
	return slices.DeleteFunc(w.Events(), func(event string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(event, part) })
	})
}
