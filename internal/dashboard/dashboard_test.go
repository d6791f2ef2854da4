package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

var now = time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)

// cluster is a dashboard of objects in memory, with a clock that the test steps.
type cluster struct {
	t         testing.TB
	client    client.Client
	informers *informertest.FakeInformers
	clock     *clocktesting.FakeClock
	page      *Dashboard
	url       string
}

// newCluster starts a dashboard of some objects.
func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	return newClusterWith(t, func(*Options) {}, objects...)
}

// newClusterWith starts a dashboard with other options.
func newClusterWith(t testing.TB, set func(*Options), objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, provisioningv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{t: t, informers: &informertest.FakeInformers{Scheme: scheme}, clock: clocktesting.NewFakeClock(now)}
	c.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithIndex(&eventsv1.Event{}, eventsOfPod, podsOf).Build()
	options := Options{
		Reader: c.client, Informers: c.informers, Kinds: slices.Concat(PoolKinds(), ProvisionerKinds()), Title: "test", Clock: c.clock, Log: testr.NewWithInterface(t, testr.Options{}),
	}
	set(&options)
	c.page = New(options)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.page.Start(ctx) }()
	server := httptest.NewServer(c.page.Handler(func(next http.Handler) http.Handler { return next }))
	c.url = server.URL
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-c.page.Watching()
	for _, object := range objects {
		c.notify(object)
	}
	return c
}

// notify has the informers report an object.
func (c *cluster) notify(object client.Object) {
	c.t.Helper()
	informer, err := c.informers.FakeInformerFor(c.t.Context(), object)
	if err != nil {
		c.t.Fatal(err)
	}
	informer.Add(object)
}

// stream is an open page.
type stream struct {
	t      testing.TB
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

// open opens a page.
func (c *cluster) open() *stream {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+apiPath+"events", http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		cancel()
		_ = answer.Body.Close()
	})
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		c.t.Fatalf("the stream answers %s %v", answer.Status, answer.Header)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 16<<20)
	return &stream{t: c.t, lines: lines, cancel: cancel}
}

// next returns the next event.
func (s *stream) next() (name string, rows update) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		if text, is := strings.CutPrefix(line, "event: "); is {
			name = text
		}
		if data, is := strings.CutPrefix(line, "data: "); is {
			if err := json.Unmarshal([]byte(data), &rows); err != nil {
				s.t.Fatal(err)
			}
			return name, rows
		}
	}
	s.t.Fatalf("the stream ends: %v", s.lines.Err())
	return "", update{}
}

// step lets time pass as soon as something waits for it.
func (c *cluster) step(by time.Duration, waiters int) {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); c.clock.Waiters() < waiters; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%d wait for the clock, want %d", c.clock.Waiters(), waiters)
		}
	}
	c.clock.Step(by)
}

func machinePool(name string, instances int32) *infrav1.AWSMachinePool {
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	pool.Status.Replicas, pool.Status.LaunchTemplateID = instances, "lt-1"
	pool.Status.RunningVersions = []infrav1.RunningVersion{{LaunchTemplateID: "lt-1", Version: 3, Instances: instances, UpToDate: true}}
	pool.Status.Instances = []infrav1.AWSMachinePoolInstanceStatus{{InstanceID: "i-1", LaunchTemplateVersion: "3"}}
	pool.Status.Conditions = []metav1.Condition{{Type: "Converged", Status: "True", Reason: "Converged"}}
	return pool
}

func TestEvents(t *testing.T) {
	t.Parallel()
	pool := machinePool("web", 2)
	c := newCluster(t, pool, machinePool("other", 1))
	page := c.open()
	name, all := page.next()
	if name != "rows" || !all.Complete || len(all.Rows) != 3 {
		t.Fatalf("A page begins with all rows and what the dashboard is about: got event %s with %v", name, all)
	}
	if row := string(all.Rows["AWSMachinePool/team/web"]); strings.Contains(row, "i-1") || !strings.Contains(row, `"instances":2`) {
		t.Errorf("A row has the numbers of instances and not the instances: got %s", row)
	}
	pool.Status.Replicas, pool.Status.RunningVersions[0].Instances = 7, 7
	if err := c.client.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	c.notify(pool)
	// The dashboard waits for the interval after an update; the page waits for a heartbeat and for
	// streamTime.
	c.step(interval, 3)
	_, changed := page.next()
	if row := string(changed.Rows["AWSMachinePool/team/web"]); len(changed.Rows) != 1 || !strings.Contains(row, `"instances":7`) {
		t.Errorf("A change sends the row that changed: got %v", changed)
	}
	if err := c.client.Delete(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	informer, err := c.informers.FakeInformerFor(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	informer.Delete(pool)
	c.step(interval, 3)
	_, gone := page.next()
	if diff := cmp.Diff([]string{"AWSMachinePool/team/web"}, gone.Gone); diff != "" {
		t.Errorf("A deleted pool leaves the page: -want +got:\n%s", diff)
	}
}

// TestStreamsEnd holds that a page is authorized again after some minutes.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	page := c.open()
	page.next()
	c.step(streamTime, 3)
	for {
		name, _ := page.next()
		if name == "again" {
			break
		}
	}
	if page.lines.Scan(); page.lines.Scan() {
		t.Errorf("the stream goes on with %q", page.lines.Text())
	}
}

func TestLinksOfRows(t *testing.T) {
	t.Parallel()
	pool := machinePool("web", 1)
	pool.OwnerReferences = []metav1.OwnerReference{{Kind: "MachinePool", Name: "owner"}}
	shared := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "eks"}}
	shared.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"}
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	for name, tc := range map[string]struct {
		reason string
		object client.Object
		want   []string
	}{
		"Pool":        {reason: "A pool is its own row.", object: pool, want: []string{"AWSMachinePool/team/web"}},
		"MachinePool": {reason: "The MachinePool has the desired replicas.", object: &clusterv1.MachinePool{ObjectMeta: meta("team", "owner")}, want: []string{"AWSMachinePool/team/web"}},
		"OwnConfig":   {reason: "A pool's own AWSLaunchConfig has its name.", object: &infrav1.AWSLaunchConfig{ObjectMeta: meta("team", "web")}, want: []string{"AWSMachinePool/team/web"}},
		"Shared":      {reason: "A shared AWSLaunchConfig changes all its pools.", object: &infrav1.AWSLaunchConfig{ObjectMeta: meta("team", "shared")}, want: []string{"AWSManagedMachinePool/team/eks"}},
		"Namespace":   {reason: "Another namespace has other objects.", object: &infrav1.AWSLaunchConfig{ObjectMeta: meta("else", "web")}},
		"Event":       {reason: "An event changes the row of its pod.", object: &eventsv1.Event{Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "one"}}, want: []string{"Pod/shop/one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := newTracker()
			tracker.changed(pool, false)
			tracker.changed(shared, false)
			tracker.take()
			tracker.changed(tc.object, false)
			var got []string
			for _, key := range tracker.take() {
				got = append(got, key.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	config.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 3, Reason: "instance type m5.large → m6i.large"}}
	c := newCluster(t, machinePool("web", 1), config)
	for name, tc := range map[string]struct {
		reason, query string
		status        int
		want          []string
	}{
		"Found":   {reason: "The page of a pool has its instances and versions.", query: "kind=AWSMachinePool&namespace=team&name=web", status: http.StatusOK, want: []string{`"id":"i-1"`, "m6i.large"}},
		"Missing": {reason: "Another pool does not exist.", query: "kind=AWSManagedMachinePool&namespace=team&name=web", status: http.StatusNotFound},
		"Kind":    {reason: "Only pools can be read.", query: "kind=AWSLaunchConfig&namespace=team&name=web", status: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := httptest.NewRecorder()
			c.page.servePool(answer, httptest.NewRequest(http.MethodGet, "/?"+tc.query, http.NoBody))
			if answer.Code != tc.status {
				t.Errorf("%s got status %d, want %d", tc.reason, answer.Code, tc.status)
			}
			for _, part := range tc.want {
				if !strings.Contains(answer.Body.String(), part) {
					t.Errorf("%s got %s, want it to have %s", tc.reason, answer.Body, part)
				}
			}
		})
	}
}

func TestPodOf(t *testing.T) {
	t.Parallel()
	waits := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid-1"}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}
		change(pod)
		return pod
	}
	event := func(name string, at time.Time, note string) *eventsv1.Event {
		return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, EventTime: metav1.NewMicroTime(at), Note: note, Regarding: corev1.ObjectReference{Kind: "Pod", UID: "uid-1"}}
	}
	c := newCluster(t, event("one", now.Add(-time.Minute), "older"), event("two", now, "newer"))
	for name, tc := range map[string]struct {
		reason string
		pod    *corev1.Pod
		want   string
	}{
		"Waits":  {reason: "The newest event explains why a pod waits.", pod: waits("a", func(*corev1.Pod) {}), want: "newer"},
		"Bound":  {reason: "A pod with a node does not wait.", pod: waits("b", func(pod *corev1.Pod) { pod.Spec.NodeName = "n" })},
		"Leaves": {reason: "A pod that is deleted needs no node.", pod: waits("c", func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: now} })},
		"New":    {reason: "A pod that the scheduler has not seen does not wait yet.", pod: waits("d", func(pod *corev1.Pod) { pod.Status.Conditions = nil })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, err := c.page.podOf(t.Context(), tc.pod)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if pod, is := row.(*pendingPod); is {
				got = pod.Slipway
			}
			if got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// BenchmarkRows measures the rows of a thousand pools, which a page begins with.
func BenchmarkRows(b *testing.B) {
	var objects []client.Object
	for i := range 1000 {
		objects = append(objects, machinePool(fmt.Sprintf("pool-%d", i), 12))
	}
	c := newCluster(b, objects...)
	for b.Loop() {
		c.page.tracker.markPools()
		c.page.compute(b.Context())
	}
}
