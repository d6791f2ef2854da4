package machinepool

import (
	"strconv"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/clouds/cloudstest"
	"github.com/slipway-project/slipway/internal/report"
)

// rollouts is one pool with a group in the simulated AWS. The test plays the part of the launch
// config's controller. Time passes in steps alone, and starts in the middle of a second.
type rollouts struct {
	*testing.T
	client.Client
	sim      *awssim.Simulator
	clock    *simclock.Clock
	ec2      *ec2.Client
	asg      *autoscaling.Client
	recorder *events.FakeRecorder
	pools    *Controller
	image    string
	key      client.ObjectKey
	config   awssdk.Config
	// forgetful has the controller restarted before each pass.
	forgetful bool
}

// settleWindow is the settle window of these tests.
const settleWindow = 10 * time.Second

func newRollouts(t *testing.T, change func(*infrav1.AWSMachinePool)) *rollouts {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 22, 10, 0, 0, 700_000_000, time.UTC), awssim.Options{Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{
		Pending: 30 * time.Second, Boot: time.Second, ShuttingDown: 10 * time.Second,
	}}})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	r := &rollouts{
		T: t, sim: sim, clock: clock, ec2: ec2.NewFromConfig(config), asg: autoscaling.NewFromConfig(config), recorder: events.NewFakeRecorder(1000),
		key: client.ObjectKey{Namespace: "team", Name: "pool"}, config: config,
	}
	r.Client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&infrav1.AWSMachinePool{}, &infrav1.AWSMachinePoolMachine{}, &infrav1.AWSLaunchConfig{}).WithObjects(r.objects(change)...).Build()
	r.restart(config)
	r.findImage()
	return r
}

// restart replaces the reconciler with one that remembers nothing.
func (r *rollouts) restart(config awssdk.Config) {
	registry := clouds.NewRegistry(aws.NewSessions(config, aws.WithClock(r.clock), aws.WithLimits(nil)), cloudstest.AllowAll{}, r.clock, observe.Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second})
	r.pools = New(&Kind{
		Client: r.Client, Live: r.Client, Clouds: registry, Clock: r.clock, Settings: Settings{SettleWindow: settleWindow},
	}, report.Reporter{Recorder: r.recorder})
}

func (r *rollouts) objects(change func(*infrav1.AWSMachinePool)) []client.Object {
	network := &capav1.AWSCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "blue"}}
	network.Spec.Region, network.Status.Ready = "us-east-1", true
	network.Spec.NetworkSpec = capav1.NetworkSpec{VPC: capav1.VPCSpec{ID: "vpc-1"}, Subnets: capav1.Subnets{{ID: "subnet-0b2000000000000aa", AvailabilityZone: "us-east-1a"}}}
	network.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{capav1.SecurityGroupNode: {ID: "sg-1"}, capav1.SecurityGroupLB: {ID: "sg-2"}}
	cluster := &clusterv1.Cluster{ObjectMeta: network.ObjectMeta}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: "blue"}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool"}}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "blue", ptr.To[int32](2)
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("bootstrap")
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "pool", UID: "pool", Generation: 1,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "pool"}},
	}}
	pool.Spec.MinSize, pool.Spec.MaxSize = 1, 4
	pool.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "config"}
	pool.Spec.Subnets = []infrav1.AWSResourceReference{{ID: ptr.To("subnet-0b2000000000000aa")}}
	pool.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true}
	if change != nil {
		change(pool)
	}
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "config", Generation: 1}}
	config.Spec.ClusterName, config.Spec.InstanceType = "blue", "m5.large"
	return []client.Object{network, cluster, machinePool, pool, config}
}

func (r *rollouts) findImage() {
	r.Helper()
	images, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.36.3-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) != 1 {
		r.Fatalf("finding an image: %v", err)
	}
	r.image = *images.Images[0].ImageId
}

// want has the launch config ask for a configuration: an instance type, and a key pair if that is
// not empty. The first version of each is made.
func (r *rollouts) want(instanceType, keyName string) {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config); err != nil {
		r.Fatal(err)
	}
	status, fingerprint := &config.Status, instanceType+"/"+keyName
	data := &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceType(instanceType), ImageId: &r.image}
	if keyName != "" {
		data.KeyName = &keyName
	}
	status.Version, status.CurrentVersions = 0, nil
	for _, version := range status.Versions {
		if version.ConfigFingerprint == fingerprint {
			status.Version = version.Number
		}
	}
	if status.Version == 0 {
		status.Version = r.version(status, data)
		status.Versions = append([]infrav1.LaunchTemplateVersionStatus{{
			Number: status.Version, ConfigFingerprint: fingerprint, ImageID: r.image, Created: metav1.NewTime(r.clock.Now()), Reason: "edited to " + fingerprint,
		}}, status.Versions...)
	}
	status.CurrentVersions, status.ConfigFingerprint = []int64{status.Version}, fingerprint
	status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(r.clock.Now())}}
	if err := r.Status().Update(r.Context(), config); err != nil {
		r.Fatal(err)
	}
}

// version makes a version of the template, or the template with its first one.
func (r *rollouts) version(status *infrav1.AWSLaunchConfigStatus, data *ec2types.RequestLaunchTemplateData) int64 {
	r.Helper()
	if status.LaunchTemplateID == "" {
		made, err := r.ec2.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: ptr.To("t" + r.clock.Now().Format("150405")), LaunchTemplateData: data,
			TagSpecifications: []ec2types.TagSpecification{{
				ResourceType: ec2types.ResourceTypeLaunchTemplate,
				Tags:         []ec2types.Tag{{Key: ptr.To(infrav1.TagLaunchConfig), Value: ptr.To("team/blue/config")}},
			}},
		})
		if err != nil {
			r.Fatal(err)
		}
		status.LaunchTemplateID = *made.LaunchTemplate.LaunchTemplateId
		return 1
	}
	made, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &status.LaunchTemplateID, LaunchTemplateData: data})
	if err != nil {
		r.Fatal(err)
	}
	return *made.LaunchTemplateVersion.VersionNumber
}

// reconcile makes one pass, which sees the group as it is, and lets a time go by.
func (r *rollouts) reconcile(then time.Duration) {
	r.Helper()
	if r.forgetful {
		r.restart(r.config)
	}
	cloud, err := r.pools.kind.Clouds.For(r.Context(), aws.Identity{}, "team", "us-east-1")
	if err != nil {
		r.Fatal(err)
	}
	cloud.SeenGroups.Invalidate("pool")
	if _, err := r.pools.Reconcile(r.Context(), ctrl.Request{NamespacedName: r.key}); err != nil {
		r.Fatal(err)
	}
	r.clock.Step(then)
}

// until makes passes until a condition holds, and returns how long that took. No time has passed
// since the last one.
func (r *rollouts) until(what string, holds func() bool) time.Duration {
	r.Helper()
	start := r.clock.Now()
	for range 200 {
		if holds() {
			return r.clock.Since(start)
		}
		r.clock.Step(5 * time.Second)
		r.reconcile(0)
	}
	r.Fatalf("not after 16 minutes: %s; pool status %+v", what, r.pool().Status)
	return 0
}

func (r *rollouts) pool() *infrav1.AWSMachinePool {
	r.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := r.Get(r.Context(), r.key, pool); err != nil {
		r.Fatal(err)
	}
	return pool
}

func (r *rollouts) condition(kind string) metav1.Condition {
	r.Helper()
	return ptr.Deref(meta.FindStatusCondition(r.pool().Status.Conditions, kind), metav1.Condition{})
}

func (r *rollouts) group() asgtypes.AutoScalingGroup {
	r.Helper()
	out, err := r.asg.DescribeAutoScalingGroups(r.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"pool"}})
	if err != nil || len(out.AutoScalingGroups) > 1 {
		r.Fatalf("describing the group: %v", err)
	}
	if len(out.AutoScalingGroups) == 0 {
		return asgtypes.AutoScalingGroup{}
	}
	return out.AutoScalingGroups[0]
}

// allRun reports whether the group has two instances in service that run a version, and no other.
func (r *rollouts) allRun(version int64) bool {
	group := r.group()
	for _, instance := range group.Instances {
		if instance.LifecycleState != asgtypes.LifecycleStateInService || *instance.LaunchTemplate.Version != strconv.FormatInt(version, 10) {
			return false
		}
	}
	return len(group.Instances) == 2
}

// settled makes passes until all instances run a version and the pool says so.
func (r *rollouts) settled(version int64) time.Duration {
	r.Helper()
	return r.until("all instances run version "+strconv.FormatInt(version, 10), func() bool {
		return r.allRun(version) && r.condition(infrav1.RolledOutCondition).Status == metav1.ConditionTrue
	})
}

func (r *rollouts) refreshStatus() string {
	r.Helper()
	if rollout := r.pool().Status.Rollout; rollout != nil {
		return rollout.Status
	}
	return ""
}

// told returns the events since it was called last that have a word in them.
func (r *rollouts) told(word string) []string {
	var notes []string
	for {
		select {
		case note := <-r.recorder.Events:
			if strings.Contains(note, word) {
				notes = append(notes, note)
			}
		default:
			return notes
		}
	}
}

// TestEditIsTakenBack holds that an edit that is taken back soon after its refresh began costs no
// wait: our own refresh, which we cancelled, is no attempt that failed.
func TestEditIsTakenBack(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
	r.clock.Step(100 * time.Millisecond)
	r.want("m5.large", "")
	r.reconcile(0) // in the same second
	if took := r.settled(1); took > 2*time.Minute {
		t.Errorf("it took %s", took)
	}
	if ended := r.told("InstanceRefreshEnded"); len(ended) != 1 || !strings.Contains(ended[0], "Cancelled") {
		t.Errorf("ends of refreshes are %q", ended)
	}
}

// TestEditDuringAnEarlyRefresh holds that an edit right after a refresh began costs no wait, though
// that refresh succeeded before the group was at the newer version.
func TestEditDuringAnEarlyRefresh(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](0)}
	})
	r.want("m5.large", "")
	r.settled(1)
	behavior := r.sim.Behavior()
	behavior.InstanceTimes = awssim.InstanceTimes{Pending: time.Second, Boot: time.Second, ShuttingDown: time.Second}
	r.sim.SetBehavior(behavior)
	r.want("m6i.large", "")
	r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
	r.clock.Step(100 * time.Millisecond)
	r.want("c5.large", "")
	r.reconcile(0) // in the same second
	if took := r.settled(3); took > 3*time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TestRefreshIsNotListedYet holds that passes which come while AWS does not list a refresh that it
// has started do not ask for another one: a process that started it does not ask at all, and one
// that does not know about it asks once. The writes of each pass would wake the next one at once.
func TestRefreshIsNotListedYet(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	behavior := r.sim.Behavior()
	behavior.ReadLag = 4 * time.Second
	r.sim.SetBehavior(behavior)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.sim.ClearCalls()
	starts := func() (count int) {
		for _, call := range r.sim.Calls() {
			if call.Action == "StartInstanceRefresh" {
				count++
			}
		}
		return count
	}
	r.until("a refresh was started", func() bool { return starts() > 0 })
	passes := func() {
		for range 5 {
			r.reconcile(0)
		}
	}
	if passes(); starts() != 1 {
		t.Errorf("the process that started a refresh asked %d times", starts())
	}
	r.restart(r.config)
	if passes(); starts() != 2 {
		t.Errorf("after another process asked, there were %d questions", starts())
	}
	version := r.pool().ResourceVersion
	if passes(); r.pool().ResourceVersion != version {
		t.Error("the pool is written though nothing has changed")
	}
	r.settled(2)
}

// TestTemplateLostDuringRefresh holds that a refresh is cancelled at once when the launch template
// that it was started with was deleted, and that no wait follows.
func TestTemplateLostDuringRefresh(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.until("the refresh has brought an instance", func() bool {
		return r.pool().Status.UpToDateReplicas != nil && *r.pool().Status.UpToDateReplicas == 1
	})
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config); err != nil {
		t.Fatal(err)
	}
	lost := config.Status.LaunchTemplateID
	if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &lost}); err != nil {
		t.Fatal(err)
	}
	config.Status = infrav1.AWSLaunchConfigStatus{LastLostTemplateID: lost}
	if err := r.Status().Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	r.want("m6i.large", "")
	if took := r.until("it is cancelled", func() bool { return len(r.told("InstanceRefreshSuperseded")) == 1 }); took > 30*time.Second {
		t.Errorf("it took %s until the refresh was cancelled", took)
	}
	if took := r.settled(1); took > 5*time.Minute {
		t.Errorf("it took %s until all instances ran the new template", took)
	}
	if cause := r.pool().Status.Rollout.Cause; cause != "launch template "+lost+" was deleted outside Slipway" {
		t.Errorf("the cause is %q", cause)
	}
}

// TestCauseIsTheDifference holds that the reason for a roll-out is what differs between what the
// instances run and what is wanted, and does not depend on what was wanted in between.
func TestCauseIsTheDifference(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m5.large", "typo")
	r.reconcile(time.Second)
	if message := r.condition(infrav1.RolledOutCondition).Message; !strings.HasPrefix(message, "key pair none → typo; the roll-out starts when") {
		t.Errorf("while the edit settles: %q", message)
	}
	r.want("m5.large", "")
	r.reconcile(time.Second)
	if cause := ptr.Deref(r.pool().Status.Rollout, infrav1.RolloutStatus{}).Cause; cause != "" {
		t.Errorf("after it was taken back the cause is %q", cause)
	}
	r.want("m6i.large", "")
	r.settled(3)
	started := r.told("InstanceRefreshStarted")
	if len(started) != 1 || !strings.HasSuffix(started[0], ": instance type m5.large → m6i.large; 2 of 2 instances run version 1") {
		t.Errorf("events are %q", started)
	}
	if cause := r.pool().Status.Rollout.Cause; cause != "instance type m5.large → m6i.large" {
		t.Errorf("the cause is %q", cause)
	}
}

// TestBadEditDoesNotFreezeStatus holds that what runs is reported while the newest spec cannot be acted on.
func TestBadEditDoesNotFreezeStatus(t *testing.T) {
	t.Parallel()
	refused := func(r *rollouts) { // the launch config is not ready
		config := &infrav1.AWSLaunchConfig{}
		if err := r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config); err != nil {
			r.Fatal(err)
		}
		config.Status.Conditions[0].Status, config.Status.Conditions[0].Reason = metav1.ConditionFalse, infrav1.ImageNotFoundReason
		if err := r.Status().Update(r.Context(), config); err != nil {
			r.Fatal(err)
		}
	}
	unnamed := func(r *rollouts) { // the pass stops before the launch config
		machinePool := &clusterv1.MachinePool{}
		if err := r.Get(r.Context(), r.key, machinePool); err != nil {
			r.Fatal(err)
		}
		machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = nil
		if err := r.Update(r.Context(), machinePool); err != nil {
			r.Fatal(err)
		}
	}
	for reason, edit := range map[string]func(*rollouts){"the launch config is not ready": refused, "the pass ends early": unnamed} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
			edit(r)
			r.until("the end of the refresh shows", func() bool { return r.refreshStatus() == "Successful" })
			status := r.pool().Status
			if percent := status.Rollout.PercentageComplete; percent == nil || *percent != 100 {
				t.Errorf("the refresh is at %v %%", percent)
			}
			r.reconcile(time.Minute)
			r.reconcile(0)
			for _, instance := range r.pool().Status.Instances {
				if instance.LaunchTemplateVersion != "2" {
					t.Errorf("instance %s shows version %s", instance.InstanceID, instance.LaunchTemplateVersion)
				}
			}
		})
	}
}

// TestHookIsBackBeforeInstancesGo holds that a lifecycle hook which was deleted outside is restored
// before the group replaces or loses instances, however lately hooks were checked.
func TestHookIsBackBeforeInstancesGo(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.LifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "ours", LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating, HeartbeatTimeout: &metav1.Duration{Duration: 30 * time.Second}}}
	})
	r.want("m5.large", "")
	r.settled(1)
	deleteHook := func() {
		t.Helper()
		if _, err := r.asg.DeleteLifecycleHook(t.Context(), &autoscaling.DeleteLifecycleHookInput{AutoScalingGroupName: ptr.To("pool"), LifecycleHookName: ptr.To("ours")}); err != nil {
			t.Fatal(err)
		}
		r.sim.ClearCalls()
	}
	// before returns what was called before an action that ends instances.
	before := func(action string) string {
		var calls []string
		for _, call := range r.sim.Calls() {
			if call.Action == action {
				return strings.Join(calls, " ")
			}
			calls = append(calls, call.Action)
		}
		return "no " + action
	}
	deleteHook()
	machinePool := &clusterv1.MachinePool{}
	if err := r.Get(t.Context(), r.key, machinePool); err != nil {
		t.Fatal(err)
	}
	machinePool.Spec.Replicas = ptr.To[int32](1)
	if err := r.Update(t.Context(), machinePool); err != nil {
		t.Fatal(err)
	}
	r.reconcile(0)
	if calls := before("UpdateAutoScalingGroup"); !strings.Contains(calls, "PutLifecycleHook") {
		t.Errorf("before a scale-in: %s", calls)
	}
	r.clock.Step(2 * time.Minute)
	deleteHook()
	r.want("m6i.large", "")
	r.until("a refresh began", func() bool { return r.refreshStatus() != "" })
	if calls := before("StartInstanceRefresh"); !strings.Contains(calls, "PutLifecycleHook") {
		t.Errorf("before a roll-out: %s", calls)
	}
}

// TestSettleWindow holds that the group is not changed before the window is over, wherever in a
// second an edit was seen.
func TestSettleWindow(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.clock.Step(r.clock.Now().Truncate(time.Second).Add(1900 * time.Millisecond).Sub(r.clock.Now()))
	r.want("m6i.large", "")
	r.reconcile(settleWindow - 50*time.Millisecond)
	r.reconcile(0)
	if version := *r.group().LaunchTemplate.Version; version != "1" {
		t.Errorf("the group is at version %s before the window is over", version)
	}
	r.clock.Step(1050 * time.Millisecond)
	r.reconcile(0)
	if version := *r.group().LaunchTemplate.Version; version != "2" {
		t.Errorf("the group is at version %s after the window", version)
	}
}

// TestSizesChangeWithAGoneImage holds that a pool grows and shrinks though AWS no longer takes its
// launch template.
func TestSizesChangeWithAGoneImage(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	own, err := r.ec2.CopyImage(t.Context(), &ec2.CopyImageInput{Name: ptr.To("own"), SourceImageId: &r.image, SourceRegion: ptr.To("us-east-1")})
	if err != nil {
		t.Fatal(err)
	}
	r.image = *own.ImageId
	r.want("m5.large", "")
	r.settled(1)
	if _, err := r.ec2.DeregisterImage(t.Context(), &ec2.DeregisterImageInput{ImageId: &r.image}); err != nil {
		t.Fatal(err)
	}
	size := func(replicas int32) {
		t.Helper()
		machinePool := &clusterv1.MachinePool{}
		if err := r.Get(t.Context(), r.key, machinePool); err != nil {
			t.Fatal(err)
		}
		machinePool.Spec.Replicas = &replicas
		if err := r.Update(t.Context(), machinePool); err != nil {
			t.Fatal(err)
		}
		r.reconcile(time.Second)
		if capacity := *r.group().DesiredCapacity; capacity != replicas {
			t.Errorf("the capacity is %d, want %d; %+v", capacity, replicas, r.condition(infrav1.ASGReadyCondition))
		}
	}
	size(1)
	// With an edit that AWS refuses for the same reason.
	r.want("m6i.large", "")
	r.reconcile(2 * settleWindow)
	size(3)
	if ready := r.condition(infrav1.ASGReadyCondition); ready.Status != metav1.ConditionFalse {
		t.Errorf("the refused launch template does not show: %+v", ready)
	}
}
