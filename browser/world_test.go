package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/requestbudget"
	"github.com/slipway-project/slipway/internal/dashboard"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/prices"
)

// world is a dashboard of a cluster in memory.
type world struct {
	t         *testing.T
	client    client.Client
	informers *informertest.FakeInformers
	// url is the address of the page, and token opens it.
	url, token string
	// stop stops the server, as the end of the command does.
	stop func()
	// away is true while the API server does not answer.
	away atomic.Bool
}

// shop is a source of prices in all places. It does not sell one instance type.
type shop struct{}

// unlisted is the instance type without a price.
const unlisted = "x9.unlisted"

// published holds the date of all prices.
var published = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

func (s shop) Source(context.Context, prices.Place) (prices.Source, error) { return s, nil }

func (shop) OnDemand(_ context.Context, instanceType string, _ discovery.OperatingSystem) (discovery.Price, error) {
	if instanceType == unlisted {
		return discovery.Price{}, &discovery.NotFoundError{Kind: "price of instance type", What: instanceType}
	}
	perHour := map[string]float64{"m5.large": 0.115, "m6i.large": 0.115, "r6i.xlarge": 0.304, "r6a.xlarge": 0.274, "m6i.xlarge": 0.23, "c7g.2xlarge": 0.338, "g5.2xlarge": 1.516}[instanceType]
	return discovery.Price{PerHour: max(perHour, 0.01), Currency: "USD", Date: published}, nil
}

func (s shop) Spot(ctx context.Context, instanceType string, system discovery.OperatingSystem) (map[string]discovery.Price, error) {
	price, err := s.OnDemand(ctx, instanceType, system)
	if err != nil {
		return nil, err
	}
	found := map[string]discovery.Price{}
	for i, zone := range zones {
		found[zone] = discovery.Price{PerHour: price.PerHour * (0.3 + 0.1*float64(i)), Currency: "USD", Date: published}
	}
	return found, nil
}

// newWorld serves the dashboard of some objects.
func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, provisioningv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, informers: &informertest.FakeInformers{Scheme: scheme}, token: dashboard.NewToken()}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithObjects(objects...).
		WithIndex(&eventsv1.Event{}, "regarding", func(object client.Object) []string {
			return []string{string(object.(*eventsv1.Event).Regarding.UID)}
		}).Build()
	page := dashboard.New(dashboard.Options{
		Reader: w.client, Informers: w.informers, Kinds: slices.Concat(dashboard.PoolKinds(), dashboard.ProvisionerKinds()), Title: "production",
		Clock: clock.RealClock{}, Log: testr.New(t), Probe: w.probe, Budgets: budgets, Prices: prices.NewTable(shop{}, clock.RealClock{}),
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + listener.Addr().String() + "/dashboard/"
	// The context of a test is canceled before its cleanups run. The server runs until its own cleanup, after
	// the tabs are closed: a page whose server stops logs an error.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{}, 2)
	w.stop = cancel
	go func() {
		defer func() { ended <- struct{}{} }()
		if err := page.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	go func() {
		defer func() { ended <- struct{}{} }()
		if err := dashboard.Serve(ctx, listener, page.LocalHandler(w.token, listener.Addr().String())); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		<-ended
	})
	w.ready(page)
	for _, object := range objects {
		w.notify(object)
	}
	return w
}

// probe answers as the API server does.
func (w *world) probe(context.Context) error {
	if w.away.Load() {
		return errors.New("connection refused")
	}
	return nil
}

// ready waits until the dashboard watches every kind.
func (w *world) ready(page *dashboard.Dashboard) {
	w.t.Helper()
	select {
	case <-page.Watching():
	case <-time.After(20 * time.Second):
		w.t.Fatal("the dashboard does not watch its kinds")
	}
}

// notify has the informers report an object.
func (w *world) notify(object client.Object) {
	w.t.Helper()
	informer, err := w.informers.FakeInformerFor(w.t.Context(), object)
	if err != nil {
		w.t.Fatal(err)
	}
	informer.Add(object)
}

// update changes an object in the cluster.
func (w *world) update(object client.Object) {
	w.t.Helper()
	if err := w.client.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	w.notify(object)
}

// remove deletes an object from the cluster.
func (w *world) remove(object client.Object) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	informer, err := w.informers.FakeInformerFor(w.t.Context(), object)
	if err != nil {
		w.t.Fatal(err)
	}
	informer.Delete(object)
}

// get reads a pool.
func (w *world) get(namespace, name string) *infrav1.AWSMachinePool {
	w.t.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pool); err != nil {
		w.t.Fatal(err)
	}
	return pool
}

// shape describes a pool of a test.
type shape struct {
	namespace, name, cluster string
	// on is how many instances run each version, by its number; the last version is wanted.
	on []int
	// conditions lists the conditions that are not as they should be.
	conditions []metav1.Condition
	rolling    bool
	pending    int64
	types      string
	// market is how instances were bought; on-demand if it is empty. Older versions have the instance type of
	// the first change.
	market string
}

var zones = []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}

func condition(kind string, status metav1.ConditionStatus, reason, message string, ago time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Now().Add(-ago))}
}

// pool returns the objects of a pool.
func pool(of shape) []client.Object {
	now := time.Now()
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago).Truncate(time.Second)) }
	object := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{
		Namespace: of.namespace, Name: of.name, Generation: 3, Labels: map[string]string{clusterv1.ClusterNameLabel: of.cluster},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: of.name, UID: "1"}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "argocd-controller", Operation: "Apply", APIVersion: infrav1.GroupVersion.String(), FieldsType: "FieldsV1", Time: ptr.To(at(24 * time.Minute)),
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:awsLaunchTemplate":{"f:instanceType":{}},"f:maxSize":{}}}`),
		}},
	}}
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.name}}
	status := &object.Status
	wanted := int64(len(of.on))
	status.ObservedGeneration, status.WantedVersion, status.LaunchTemplateID, status.InstanceTypes = 3, wanted, "lt-0a1b2c3d4e5f60718", of.types
	total := 0
	for i, count := range of.on {
		version := int64(i + 1)
		for range count {
			status.Instances = append(status.Instances, infrav1.AWSMachinePoolInstanceStatus{
				InstanceID: fmt.Sprintf("i-0%s%08x", "5f3a9c21", total), LaunchTemplateVersion: fmt.Sprint(version), LifecycleState: "InService", HealthStatus: "Healthy",
				AvailabilityZone: zones[total%3], InstanceType: typeOf(of, version, total),
			})
			total++
		}
		if count > 0 {
			status.RunningVersions = append(status.RunningVersions, infrav1.RunningVersion{LaunchTemplateID: status.LaunchTemplateID, Version: version, Instances: int32(count), UpToDate: version == wanted})
		}
		reason := []string{"first configuration", "instance type m5.large → m6i.large", "image ami-0c2b8ca1dad447f8a → ami-0f3c7d07486cad139", "root volume 40 GiB → 60 GiB"}[i%4]
		made := infrav1.LaunchTemplateVersionStatus{
			Number: version, ConfigFingerprint: fmt.Sprintf("c%011d", version), BootstrapFingerprint: fmt.Sprintf("b%011d", version), ImageID: fmt.Sprintf("ami-0%016x", 7919*version),
			Created: at(time.Duration(len(of.on)-i) * 49 * time.Hour), Reason: reason, Market: cmp.Or(of.market, "on-demand"),
		}
		if version == wanted {
			made.Created = at(23 * time.Minute)
		}
		config.Status.Versions = append([]infrav1.LaunchTemplateVersionStatus{made}, config.Status.Versions...)
		config.Status.History = append([]infrav1.LaunchConfigHistoryEntry{{
			Version: version, Launched: made.Created, Created: made.Created, Cause: infrav1.LaunchConfigCauseEdited, Change: reason,
			RunBy: []infrav1.LaunchConfigUser{{Kind: "AWSMachinePool", Name: of.name, Instances: int32(count)}},
		}}, config.Status.History...)
	}
	slices.Reverse(status.RunningVersions)
	config.Status.LaunchTemplateID, config.Status.Version, config.Status.CurrentVersions = status.LaunchTemplateID, wanted, []int64{wanted}
	config.Status.PendingVersion = of.pending
	if of.pending > 0 {
		config.Status.Versions = append([]infrav1.LaunchTemplateVersionStatus{{
			Number: of.pending, ConfigFingerprint: "c9", BootstrapFingerprint: "b9", ImageID: "ami-0aa55", Created: at(9 * time.Minute), Reason: "instance type m6i.large → m7i.large",
		}}, config.Status.Versions...)
	}
	status.Replicas, status.ReadyReplicas = int32(total), ptr.To(int32(total))
	status.UpToDateReplicas = ptr.To(int32(of.on[len(of.on)-1]))
	status.Conditions = []metav1.Condition{condition("Converged", "True", "Converged", "", time.Hour)}
	if of.rolling {
		done := of.on[len(of.on)-1]
		status.Rollout = &infrav1.RolloutStatus{Cause: config.Status.Versions[0].Reason, Status: "InProgress", RefreshID: "8f2c", PercentageComplete: ptr.To(int32(done * 100 / total)), StartTime: ptr.To(at(22 * time.Minute))}
		status.Conditions = append(status.Conditions, condition("RolledOut", "False", "RollingOut", fmt.Sprintf("%d of %d instances replaced", done, total), 22*time.Minute))
	}
	status.Conditions = append(status.Conditions, of.conditions...)
	owner := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.name}}
	owner.Spec.ClusterName, owner.Spec.Replicas = of.cluster, ptr.To(int32(total))
	return []client.Object{object, config, owner}
}

// typeOf returns the instance type of an instance: the first versions launched m5.large.
func typeOf(of shape, version int64, number int) string {
	if version == 1 && len(of.on) > 1 {
		return "m5.large"
	}
	types := strings.Split(of.types, ", ")
	return types[number%len(types)]
}

// three returns three pools: one waits for approval, one has a roll-out with a blocked drain, and one is
// settled.
func three() []client.Object {
	drain := "node ip-10-0-3-17.eu-central-1.compute.internal (i-05f3a9c2100000002): 2 pods held by PodDisruptionBudget shop/checkout, until " +
		time.Now().Add(41*time.Minute).UTC().Format(time.RFC3339) + " at the latest"
	return slices.Concat(
		pool(shape{namespace: "team-shop", name: "web", cluster: "shop", on: []int{0, 3, 9}, rolling: true, types: "m6i.large", conditions: []metav1.Condition{
			condition("NodesDrained", "False", "Draining", drain, 4*time.Minute),
		}}),
		pool(shape{namespace: "team-shop", name: "batch", cluster: "shop", on: []int{0, 24}, pending: 3, types: "m6i.large", conditions: []metav1.Condition{
			condition("RolloutApproved", "False", "WaitingForApproval", `version 3 waits for approval by annotation infrastructure.cluster.x-k8s.io/approved-version: "3": instance type m6i.large → m7i.large`, 9*time.Minute),
		}}),
		pool(shape{namespace: "team-data", name: "stream", cluster: "data", on: []int{0, 0, 0, 6}, types: "r6i.xlarge, r6a.xlarge", market: "spot"}),
	)
}

const denied = "creating launch template version: CreateLaunchTemplateVersion: UnauthorizedOperation: You are not authorized to perform this operation. " +
	"User: arn:aws:sts::111122223333:assumed-role/slipway-manager/1 is not authorized to perform: ec2:CreateLaunchTemplateVersion on resource: arn:aws:ec2:eu-central-1:111122223333:launch-template/lt-0a1b2c3d4e5f60718 " +
	"because no identity-based policy allows the ec2:CreateLaunchTemplateVersion action"

// poolNames are the names of the first pools of a fleet.
var poolNames = func() []string {
	var names []string
	for _, object := range many(60) {
		if _, is := object.(*infrav1.AWSMachinePool); is {
			names = append(names, object.GetName())
		}
	}
	return names
}()

// many returns a fleet in which most pools are settled.
func many(pools int) []client.Object {
	var all []client.Object
	names := []string{"web", "batch", "stream", "gpu", "ingest", "cache", "search", "ml", "api", "ci"}
	teams := []string{"team-shop", "team-data", "team-search", "team-payments", "platform"}
	for i := range pools {
		one := shape{
			namespace: teams[i%len(teams)], name: fmt.Sprintf("%s-%03d", names[(i/5)%len(names)], i), cluster: fmt.Sprintf("prod-%02d", i%40),
			on: []int{0, 0, 3 + i%17}, types: []string{"m6i.large", "c7g.2xlarge", "r6i.xlarge", "g5.2xlarge"}[i%4],
		}
		switch {
		case i%97 == 11:
			one.on = []int{0, 1 + i%4, 4 + i%9}
			one.conditions = []metav1.Condition{condition("LaunchTemplateReady", "False", "AccessDenied", denied, time.Duration(i)*time.Minute)}
		case i%131 == 7:
			one.pending = 4
			one.conditions = []metav1.Condition{condition("RolloutApproved", "False", "WaitingForApproval", "version 4 waits for approval: instance type m6i.large → m7i.large", time.Duration(i)*time.Minute)}
		case i%19 == 3:
			one.on, one.rolling = []int{1 + i%3, 2 + i%5, 4 + i%9}, true
		case i%83 == 5:
			one.conditions = []metav1.Condition{condition("CapacityAvailable", "False", "InsufficientCapacity", "EC2 has no g5.2xlarge in eu-central-1b at the moment. 2 of 9 instances are missing.", time.Duration(i)*time.Minute)}
		}
		all = append(all, pool(one)...)
	}
	return all
}

// provisioners returns a Provisioner with nodes and a pod that waits.
func provisioners() []client.Object {
	one := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	one.Status.Nodes, one.Status.Conditions = 2, []metav1.Condition{condition("Ready", "True", "Ready", "", time.Hour)}
	one.Spec.Limits = &provisioningv1.Limits{Nodes: ptr.To(int32(40))}
	one.Status.FailedStarts = []provisioningv1.FailedStart{{LaunchTemplateID: "lt-0a1b2c3d4e5f60718", LaunchTemplateVersion: 4, Tries: 3, Message: "the nodes did not register within 15m0s"}}
	one.Status.RejectedOfferings = []provisioningv1.RejectedOfferings{
		{Reason: "InstanceType", Offerings: 1632, Example: "a1.medium, on-demand, in eu-central-1a", Pod: "shop/trainer-0"},
		{Reason: "TooSmall", Offerings: 96, Example: "g5.12xlarge, on-demand, in eu-central-1a", Pod: "shop/trainer-0"},
		{Reason: "NoCapacity", Offerings: 6, Example: "p4d.24xlarge, spot, in eu-central-1b", Pod: "shop/trainer-0"},
	}
	all := []client.Object{one}
	for i, phase := range []string{"True", "False"} {
		node := &provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("default-%d", i), CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))}}
		node.Spec.Provisioner, node.Spec.CapacityType = "default", "spot"
		node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone = fmt.Sprintf("i-0abc%d", i), "m6i.xlarge", zones[i]
		for _, name := range []string{"m6a.xlarge", "m6i.xlarge", "m5.xlarge", "m7i.xlarge"} {
			for _, zone := range zones {
				node.Spec.Offerings = append(node.Spec.Offerings, provisioningv1.NodeOffering{InstanceType: name, Zone: zone})
			}
		}
		for _, kind := range []string{"Launched", "Registered", "Initialized", "Ready"} {
			node.Status.Conditions = append(node.Status.Conditions, condition(kind, metav1.ConditionStatus(phase), "Ready", "", time.Minute))
		}
		all = append(all, node)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "trainer-0", UID: "pod-uid"}}
	pod.Status.Phase, pod.Status.Conditions = corev1.PodPending, []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/12 nodes are available: 12 Insufficient nvidia.com/gpu.", LastTransitionTime: metav1.NewTime(time.Now().Add(-5 * time.Minute)),
	}}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "trainer-0.1"}, EventTime: metav1.NewMicroTime(time.Now()), Reason: "NoNodeLaunched",
		Note:      "The pod requests nvidia.com/gpu: 9, and no instance type that Provisioner default allows has more than 8.",
		Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "trainer-0", UID: "pod-uid"},
	}
	return append(all, pod, event)
}

// budgets returns request budgets: of one, nothing is left.
func budgets() []requestbudget.State {
	const account, region = "111122223333", "eu-central-1"
	soon := time.Now().Add(time.Second).Truncate(time.Hour)
	return []requestbudget.State{
		{Account: account, Region: region, Name: "ec2:CreateLaunchTemplateVersion", Left: 0.4, Burst: 100, PerSecond: 5, Waiting: []requestbudget.Waiter{
			{Name: "AWSLaunchConfig/team-shop/web", At: soon, Requests: 2}, {Name: "AWSMachinePool/team-shop/web", At: soon, Requests: 1}, {At: soon, Requests: 1},
		}},
		{Account: account, Region: region, Name: "autoscaling:", Left: 71.2, Burst: 100, PerSecond: 20},
		{Account: account, Region: region, Name: "ec2:DescribeLaunchTemplateVersions", Left: 100, Burst: 100, PerSecond: 20},
		{Region: "us-east-1", Name: "eks:UpdateNodegroupVersion", Left: 49, Burst: 50, PerSecond: 5},
	}
}
