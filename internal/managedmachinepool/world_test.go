package managedmachinepool

import (
	"fmt"
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
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

// Where the pools of these tests are.
const (
	testAccount    = "123456789012"
	testRegion     = "us-east-1"
	testNamespace  = "team"
	testCluster    = "blue"
	testEKSCluster = "blue"
	testSubnet     = "subnet-0b2000000000000aa"
)

// world is the controller over a simulated AWS and a stored cluster, with a clock that stands still
// until it is stepped.
type world struct {
	*testing.T
	sim        *awssim.Simulator
	clock      *simclock.Clock
	store      client.Client
	ec2        *ec2.Client
	eks        *eks.Client
	asg        *autoscaling.Client
	iam        *iam.Client
	recorder   *events.FakeRecorder
	sessions   *aws.Sessions
	settings   Settings
	controller *Controller
	// forgetful has the controller restarted before each pass.
	forgetful bool
}

func newWorld(t *testing.T, change ...func(*awssim.Options)) *world {
	t.Helper()
	scheme := reconciletest.Scheme(t, infrav1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, eksv1.AddToScheme)
	options := awssim.Options{Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: time.Second, Boot: time.Second}}}
	for _, set := range change {
		set(&options)
	}
	sim, simulated, url := awssimtest.Start(t, time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC), options)
	if err := sim.Region(testAccount, testRegion).SetCluster(awssim.Cluster{Name: testEKSCluster, Version: "1.34", Subnets: []string{testSubnet}}); err != nil {
		t.Fatal(err)
	}
	base := awssimtest.Config(url, testRegion, testAccount)
	sessions := aws.NewSessions(base, aws.WithClock(simulated), aws.WithLimits(nil), aws.WithBackoff(time.Millisecond))
	store := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&infrav1.AWSManagedMachinePool{}, &infrav1.AWSLaunchConfig{}).WithObjects(clusterObjects()...).Build()
	w := &world{
		T: t, sim: sim, clock: simulated, store: store, ec2: ec2.NewFromConfig(base), eks: eks.NewFromConfig(base), asg: autoscaling.NewFromConfig(base), iam: iam.NewFromConfig(base),
		recorder: events.NewFakeRecorder(1000),
	}
	w.sessions = sessions
	w.restart()
	return w
}

// restart replaces the controller with one that remembers nothing.
func (w *world) restart() {
	registry := clouds.NewRegistry(w.sessions, cloudstest.AllowAll{}, w.clock, observe.Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second})
	w.controller = New(&Kind{Client: w.store, Live: w.store, Clouds: registry, Clock: w.clock, Settings: w.settings}, report.Reporter{Recorder: w.recorder})
}

func clusterObjects() []client.Object {
	name := metav1.ObjectMeta{Namespace: testNamespace, Name: testCluster}
	controlPlane := &eksv1.AWSManagedControlPlane{ObjectMeta: name}
	controlPlane.Spec = eksv1.AWSManagedControlPlaneSpec{
		EKSClusterName: testEKSCluster, Region: testRegion, Version: ptr.To("v1.34"),
		NetworkSpec: capav1.NetworkSpec{VPC: capav1.VPCSpec{ID: "vpc-1"}, Subnets: capav1.Subnets{{ID: testSubnet, AvailabilityZone: "us-east-1a"}}},
	}
	controlPlane.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-1"}, capav1.SecurityGroupEKSNodeAdditional: {ID: "sg-2"},
	}
	cluster := &clusterv1.Cluster{ObjectMeta: name}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: eksv1.GroupVersion.Group, Kind: "AWSManagedControlPlane", Name: testCluster}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return []client.Object{cluster, controlPlane}
}

// create stores a pool without a launch template, and the MachinePool that owns it.
func (w *world) create(name string, change func(*infrav1.AWSManagedMachinePool)) {
	w.Helper()
	machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = testCluster, ptr.To[int32](1)
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace, Name: name, UID: types.UID(name + "-" + w.clock.Now().Format(time.RFC3339)),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: name}},
	}}
	pool.Spec.AMIType, pool.Spec.InstanceType = ptr.To(infrav1.AMITypeAL2023X86), ptr.To("t3.large")
	pool.Spec.SubnetIDs = []string{testSubnet}
	if change != nil {
		change(pool)
	}
	if err := client.IgnoreAlreadyExists(w.store.Create(w.Context(), machinePool)); err != nil {
		w.Fatal(err)
	}
	if err := w.store.Create(w.Context(), pool); err != nil {
		w.Fatal(err)
	}
}

// reconcile makes one pass over a pool, and lets five seconds go by.
func (w *world) reconcile(name string) {
	w.Helper()
	if w.forgetful {
		w.restart()
	}
	if _, err := w.controller.Reconcile(w.Context(), ctrl.Request{NamespacedName: named(name)}); err != nil {
		w.Logf("a pass failed: %v", err)
	}
	w.clock.Step(5 * time.Second)
}

// passes makes passes until the condition holds, twenty minutes at most.
func (w *world) passes(name, what string, holds func() bool) {
	w.Helper()
	for range 240 {
		if w.reconcile(name); holds() {
			return
		}
	}
	w.Fatalf("%s: not after 240 passes; conditions are %+v", what, w.pool(name).Status.Conditions)
}

// active makes passes until the pool has an active node group.
func (w *world) active(name string) {
	w.Helper()
	w.passes(name, "the node group is active", func() bool {
		group := w.pool(name).Status.Nodegroup
		return group != nil && group.Status == "ACTIVE"
	})
}

func (w *world) pool(name string) *infrav1.AWSManagedMachinePool {
	w.Helper()
	pool := &infrav1.AWSManagedMachinePool{}
	if err := w.store.Get(w.Context(), named(name), pool); err != nil {
		w.Fatal(err)
	}
	return pool
}

// edit changes a pool as its user would, whatever the API server's rules say.
func (w *world) edit(name string, change func(*infrav1.AWSManagedMachinePool)) {
	w.Helper()
	pool := w.pool(name)
	change(pool)
	status := pool.DeepCopy()
	if err := w.store.Update(w.Context(), pool); err != nil {
		w.Fatal(err)
	}
	status.ResourceVersion = pool.ResourceVersion
	if err := w.store.Status().Update(w.Context(), status); err != nil {
		w.Fatal(err)
	}
}

// delete deletes a pool and makes passes until it is gone.
func (w *world) delete(name string) {
	w.Helper()
	if err := w.store.Delete(w.Context(), w.pool(name)); err != nil {
		w.Fatal(err)
	}
	w.passes(name, "the pool is gone", func() bool {
		err := w.store.Get(w.Context(), named(name), &infrav1.AWSManagedMachinePool{})
		return apierrors.IsNotFound(err)
	})
}

func (w *world) condition(name, kind string) metav1.Condition {
	w.Helper()
	return ptr.Deref(meta.FindStatusCondition(w.pool(name).Status.Conditions, kind), metav1.Condition{})
}

// nodegroups returns the names of all node groups.
func (w *world) nodegroups() []string {
	w.Helper()
	out, err := w.eks.ListNodegroups(w.Context(), &eks.ListNodegroupsInput{ClusterName: awssdk.String(testEKSCluster)})
	if err != nil {
		w.Fatal(err)
	}
	return out.Nodegroups
}

func (w *world) nodegroup(name string) *ekstypes.Nodegroup {
	w.Helper()
	out, err := w.eks.DescribeNodegroup(w.Context(), &eks.DescribeNodegroupInput{ClusterName: awssdk.String(testEKSCluster), NodegroupName: &name})
	if err != nil {
		w.Fatal(err)
	}
	return out.Nodegroup
}

// roles returns the names of the node roles that pools made.
func (w *world) roles() []string {
	w.Helper()
	out, err := w.iam.ListRoles(w.Context(), &iam.ListRolesInput{})
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, role := range out.Roles {
		if name := *role.RoleName; len(name) > len(infrav1.NodeRoleSuffix) && name[len(name)-len(infrav1.NodeRoleSuffix):] == infrav1.NodeRoleSuffix {
			names = append(names, name)
		}
	}
	return names
}

// told returns the notes of the events since it was called last.
func (w *world) told() []string {
	var notes []string
	for {
		select {
		case note := <-w.recorder.Events:
			notes = append(notes, note)
		default:
			return notes
		}
	}
}

// made counts the calls of an action that Slipway made, and which AWS answered.
func (w *world) made(action string) int {
	count := 0
	for _, call := range w.sim.Calls() {
		if call.Action == action && call.Code == "" {
			count++
		}
	}
	return count
}

func (w *world) expectNodegroups(want ...string) {
	w.Helper()
	if got := w.nodegroups(); !slices.Equal(got, want) {
		w.Errorf("there are node groups %q, want %q", got, want)
	}
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: testNamespace, Name: name}
}

// template creates a launch template of the pool named pool, with one version for each instance
// type, and returns its id.
func (w *world) template(instanceTypes ...string) string {
	w.Helper()
	return w.templateNamed("nodes", instanceTypes...)
}

// templateNamed does the same as template, with another name for the template.
func (w *world) templateNamed(name string, instanceTypes ...string) string {
	w.Helper()
	data := func(instanceType string) *ec2types.RequestLaunchTemplateData {
		return &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceType(instanceType)}
	}
	out, err := w.ec2.CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: data(instanceTypes[0]),
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeLaunchTemplate,
			Tags:         []ec2types.Tag{{Key: awssdk.String(infrav1.TagLaunchConfig), Value: awssdk.String("team/blue/pool")}},
		}},
	})
	if err != nil {
		w.Fatal(err)
	}
	for _, instanceType := range instanceTypes[1:] {
		if _, err := w.ec2.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: out.LaunchTemplate.LaunchTemplateId, LaunchTemplateData: data(instanceType),
		}); err != nil {
			w.Fatal(err)
		}
	}
	return *out.LaunchTemplate.LaunchTemplateId
}

// configured has the launch config of a pool say that a version of a template is wanted, as its
// controller would.
func (w *world) configured(name, template string, version int64) {
	w.Helper()
	w.editConfig(name, func(config *infrav1.AWSLaunchConfig) {
		config.Status.LaunchTemplateID, config.Status.Version, config.Status.CurrentVersions = template, version, []int64{version}
		config.Status.ConfigFingerprint = fmt.Sprint("configuration-", version)
		config.Status.Resolved = &infrav1.ResolvedLaunchConfig{InstanceType: "t3.large"}
		meta.SetStatusCondition(&config.Status.Conditions, metav1.Condition{
			Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason, ObservedGeneration: config.Generation,
		})
	})
}

// refused has the launch config of a pool say that its spec cannot be launched from.
func (w *world) refused(name, message string) {
	w.Helper()
	w.editConfig(name, func(config *infrav1.AWSLaunchConfig) {
		meta.SetStatusCondition(&config.Status.Conditions, metav1.Condition{
			Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.InvalidSpecReason, Message: message, ObservedGeneration: config.Generation,
		})
	})
}

func (w *world) editConfig(name string, edit func(*infrav1.AWSLaunchConfig)) {
	w.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := w.store.Get(w.Context(), named(name), config); err != nil {
		w.Fatal(err)
	}
	edit(config)
	if err := w.store.Status().Update(w.Context(), config); err != nil {
		w.Fatal(err)
	}
}

// setVersion asks for a Kubernetes version.
func (w *world) setVersion(name, version string) {
	w.Helper()
	machinePool := &clusterv1.MachinePool{}
	if err := w.store.Get(w.Context(), named(name), machinePool); err != nil {
		w.Fatal(err)
	}
	machinePool.Spec.Template.Spec.Version = version
	if err := w.store.Update(w.Context(), machinePool); err != nil {
		w.Fatal(err)
	}
}

// setReplicas sets how many nodes the MachinePool of a pool asks for.
func (w *world) setReplicas(name string, replicas int32) {
	w.Helper()
	machinePool := &clusterv1.MachinePool{}
	if err := w.store.Get(w.Context(), named(name), machinePool); err != nil {
		w.Fatal(err)
	}
	machinePool.Spec.Replicas = &replicas
	if err := w.store.Update(w.Context(), machinePool); err != nil {
		w.Fatal(err)
	}
}
