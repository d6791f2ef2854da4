package launchconfig

import (
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
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
)

const (
	namespace   = "blue"
	clusterName = "prod"
	configName  = "workers"
)

// rig is the controller over an in-memory API server and the simulated AWS, with one self-managed cluster.
type rig struct {
	*testing.T
	sim     *awssim.Simulator
	clock   *simclock.Clock
	config  awssdk.Config
	ec2     *ec2.Client
	groups  *autoscaling.Client
	client  client.WithWatch
	events  *events.FakeRecorder
	subject *Reconciler
	// live is what is read past the cache; nil if that is the same.
	live client.Reader
}

type noWatches struct{}

func (noWatches) Watch(_, _ types.NamespacedName)   {}
func (noWatches) Read(types.NamespacedName, string) {}
func (noWatches) Forget(types.NamespacedName)       {}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	return newRigWith(t, awssim.Options{}, objects...)
}

// newRigWith is newRig in a simulated AWS with options.
func newRigWith(t *testing.T, options awssim.Options, objects ...client.Object) *rig {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), options)
	scheme := reconciletest.Scheme(t, corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, eksv1.AddToScheme, infrav1.AddToScheme)
	r := &rig{T: t, sim: sim, clock: clock, config: awssimtest.Config(url, "us-east-1", "123456789012")}
	r.config.Retryer = func() awssdk.Retryer { return awssdk.NopRetryer{} }
	r.ec2, r.groups = ec2.NewFromConfig(r.config), autoscaling.NewFromConfig(r.config)
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, index := range Indexes() {
		builder = builder.WithIndex(index.Object, index.Name, index.Values)
	}
	r.client = builder.
		WithStatusSubresource(&infrav1.AWSLaunchConfig{}, &infrav1.AWSMachinePool{}, &infrav1.AWSManagedMachinePool{}).
		WithObjects(append(selfManaged(namespace, clusterName), objects...)...).Build()
	r.restart()
	return r
}

// selfManaged are the objects of a self-managed cluster, as CAPA leaves them.
func selfManaged(namespace, name string) []client.Object {
	return []client.Object{
		&clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: name,
			}},
			Status: clusterv1.ClusterStatus{Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)}},
		},
		&capav1.AWSCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: capav1.AWSClusterSpec{Region: "us-east-1", NetworkSpec: capav1.NetworkSpec{
				VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: capav1.Subnets{{ID: "subnet-0b2000000000000aa", AvailabilityZone: "us-east-1a"}},
			}},
			Status: capav1.AWSClusterStatus{Network: capav1.NetworkStatus{SecurityGroups: map[capav1.SecurityGroupRole]capav1.SecurityGroup{
				capav1.SecurityGroupNode: {ID: "sg-0c1000000000000ab"}, capav1.SecurityGroupLB: {ID: "sg-0c1000000000000ac"},
			}}},
		},
	}
}

// restart replaces the controller by one that remembers nothing.
func (r *rig) restart() {
	r.Helper()
	registry := clouds.NewRegistry(aws.NewSessions(r.config, aws.WithClock(r.clock)), cloudstest.AllowAll{}, r.clock,
		observe.Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second})
	r.events = events.NewFakeRecorder(1000)
	var live client.Reader = r.client
	if r.live != nil {
		live = r.live
	}
	r.subject = New(Options{
		Client: r.client, Live: live, Watches: noWatches{}, Clouds: registry, Clock: r.clock, Report: report.Reporter{Recorder: r.events},
	})
}

// launchConfig is a hand-written config.
func launchConfig(change func(*infrav1.AWSLaunchConfig)) *infrav1.AWSLaunchConfig {
	config := &infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName, UID: "config-1", Generation: 1},
		Spec: infrav1.AWSLaunchConfigSpec{
			ClusterName: clusterName, KubernetesVersion: "v1.36.3", AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large"},
		},
	}
	if change != nil {
		change(config)
	}
	return config
}

// pass reconciles the config once.
func (r *rig) pass() {
	r.Helper()
	if _, err := r.subject.Reconcile(r.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: configName}}); err != nil {
		r.Logf("reconciling: %v", err)
	}
}

// reconcile passes twice, so that a pass that ends early after a write is followed by another, and
// returns the config, nil if it is gone.
func (r *rig) reconcile() *infrav1.AWSLaunchConfig {
	r.Helper()
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: configName}}
	for range 2 {
		r.pass()
	}
	config := &infrav1.AWSLaunchConfig{}
	err := r.client.Get(r.Context(), request.NamespacedName, config)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.Fatal(err)
	}
	return config
}

// deleted deletes the config, and fails unless it goes.
func (r *rig) deleted(config *infrav1.AWSLaunchConfig) {
	r.Helper()
	if err := r.client.Delete(r.Context(), config); err != nil {
		r.Fatal(err)
	}
	for range 3 {
		config = r.reconcile()
		r.clock.Step(describeAgain)
	}
	if config != nil {
		r.Errorf("the config is still there: %+v", config.Status.Conditions)
	}
}

// edit changes the config as a user does.
func (r *rig) edit(change func(*infrav1.AWSLaunchConfig)) {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := r.client.Get(r.Context(), types.NamespacedName{Namespace: namespace, Name: configName}, config); err != nil {
		r.Fatal(err)
	}
	change(config)
	config.Generation++
	if err := r.client.Update(r.Context(), config); err != nil {
		r.Fatal(err)
	}
}

// expect checks a condition's status, reason, and a part of its message.
func (r *rig) expect(config *infrav1.AWSLaunchConfig, condition string, status metav1.ConditionStatus, reason, says string) {
	r.Helper()
	shown := meta.FindStatusCondition(config.Status.Conditions, condition)
	if shown == nil || shown.Status != status || shown.Reason != reason || !strings.Contains(shown.Message, says) {
		r.Errorf("condition %s is %+v, want %s %s with %q", condition, shown, status, reason, says)
	}
}

// writes are the calls since the log was cleared that change something in AWS.
func (r *rig) writes() []string { return awssimtest.Writes(r.sim) }

func (r *rig) expectWrites(want ...string) {
	r.Helper()
	if got := r.writes(); !slices.Equal(got, want) {
		r.Errorf("writes %q, want %q", got, want)
	}
}

// template creates a launch template as another client.
func (r *rig) template(name string, tags map[string]string) (id string) {
	r.Helper()
	made, err := r.ec2.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceType: "c5.large", ImageId: awssdk.String(r.image()), SecurityGroupIds: []string{"sg-0c1000000000000ab"},
		},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: ec2Tags(tags)}},
	})
	if err != nil {
		r.Fatal(err)
	}
	return *made.LaunchTemplate.LaunchTemplateId
}

func ec2Tags(tags map[string]string) []ec2types.Tag {
	var list []ec2types.Tag
	for key, value := range tags {
		list = append(list, ec2types.Tag{Key: &key, Value: &value})
	}
	return list
}

// image is the newest of CAPA's images for the config's version of Kubernetes.
func (r *rig) image() string {
	r.Helper()
	images, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.36.3-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) == 0 {
		r.Fatalf("finding an image: %v", err)
	}
	return *images.Images[0].ImageId
}

// templates are the ids of all launch templates that exist, by name.
func (r *rig) templates() map[string]string {
	r.Helper()
	all, err := r.ec2.DescribeLaunchTemplates(r.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		r.Fatal(err)
	}
	found := map[string]string{}
	for i := range all.LaunchTemplates {
		found[*all.LaunchTemplates[i].LaunchTemplateName] = *all.LaunchTemplates[i].LaunchTemplateId
	}
	return found
}
