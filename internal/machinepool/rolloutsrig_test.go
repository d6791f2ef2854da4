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
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/workload"
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
	// workloads reaches the workload cluster, which has a kubeconfig in some tests.
	workloads *workload.Clusters
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
	scheme := reconciletest.Scheme(t, corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, infrav1.AddToScheme)
	r := &rollouts{
		T: t, sim: sim, clock: clock, ec2: ec2.NewFromConfig(config), asg: autoscaling.NewFromConfig(config), recorder: events.NewFakeRecorder(1000),
		key: client.ObjectKey{Namespace: "team", Name: "pool"}, config: config,
	}
	r.Client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&infrav1.AWSMachinePool{}, &infrav1.AWSMachinePoolMachine{}, &infrav1.AWSLaunchConfig{}).WithObjects(r.objects(change)...).Build()
	r.workloads = workload.New(r.Client, clock)
	r.workloads.Loopback = true
	t.Cleanup(r.workloads.Close)
	r.restart(config)
	r.findImage()
	return r
}

// restart replaces the reconciler with one that remembers nothing.
func (r *rollouts) restart(config awssdk.Config) {
	registry := clouds.NewRegistry(aws.NewSessions(config, aws.WithClock(r.clock), aws.WithLimits(nil), aws.WithBackoff(time.Millisecond)), cloudstest.AllowAll{}, r.clock, observe.Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second})
	r.pools = New(&Kind{
		Client: r.Client, Live: r.Client, Clouds: registry, Clock: r.clock, Settings: Settings{SettleWindow: settleWindow}, Workloads: r.workloads,
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

// newAutoscaled returns a pool with a group whose size an external autoscaler decides.
func newAutoscaled(t *testing.T) *rollouts {
	t.Helper()
	r := newRollouts(t, nil)
	machinePool := &clusterv1.MachinePool{}
	r.must(r.Get(t.Context(), r.key, machinePool))
	machinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
	r.must(r.Update(t.Context(), machinePool))
	r.want("m5.large", "")
	r.until("the group is there", func() bool { return r.group().AutoScalingGroupARN != nil })
	return r
}
