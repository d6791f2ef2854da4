package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/poolread"
	"github.com/slipway-project/slipway/internal/terminal"
)

// shownAt is the time at which the sessions of docs/reference/cli.md take place.
var shownAt = time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(shownAt.Add(-d)) }

// readWorld is a management cluster with a pool that rolls out, its workload cluster, and AWS.
type readWorld struct {
	testing.TB
	client   client.WithWatch
	workload kubernetes.Interface
	template string
	source   *source
}

// Client implements poolread.Workloads.
func (w *readWorld) Client(_ context.Context, cluster types.NamespacedName) (drain.API, error) {
	if w.workload == nil || cluster.Name != "prod" {
		return nil, errors.New("its API server does not respond")
	}
	return drain.Clientset(w.workload), nil
}

// newReadWorld returns a world whose pool has replaced two of four instances, while a PodDisruptionBudget holds
// the drain of the third.
func newReadWorld(t testing.TB, more ...client.Object) *readWorld {
	t.Helper()
	scheme, err := manager.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	if err := provisioningv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &readWorld{TB: t}
	aws := w.startAWS()
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithObjects(append(w.objects(), more...)...).Build()
	w.workload = workloadCluster()
	w.source = &source{
		planCluster: planCluster{Client: w.client, namespace: "blue"}, watcher: w.client, pools: poolread.Reader{Cluster: w.client, Workloads: w},
		aws: func(context.Context) (*poolread.AWS, error) {
			return poolread.NewAWS(w.client, aws, identity.DefaultSecretNamespace, "test"), nil
		},
		clock: clocktesting.NewFakeClock(shownAt),
	}
	return w
}

const kubeadm = `#cloud-config
write_files:
- path: /run/kubeadm/join.yaml
  content: |
    discovery:
      bootstrapToken:
        apiServerEndpoint: api.prod.example.com:6443
        token: %s
runcmd:
- %s
- kubeadm join --config /run/kubeadm/join.yaml
`

// startAWS starts a simulated AWS with a launch template of two versions and a group.
func (w *readWorld) startAWS() awssdk.Config {
	_, clock, url := awssimtest.Start(w, shownAt.Add(-time.Hour), awssim.Options{})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	compute, groups := ec2.NewFromConfig(config), autoscaling.NewFromConfig(config)
	images, err := compute.DescribeImages(w.Context(), &ec2.DescribeImagesInput{Owners: []string{"amazon"}})
	w.check(err)
	data := func(size ec2types.InstanceType, token, command string) *ec2types.RequestLaunchTemplateData {
		return &ec2types.RequestLaunchTemplateData{
			ImageId: images.Images[0].ImageId, InstanceType: size,
			UserData: ptr.To(base64.StdEncoding.EncodeToString(fmt.Appendf(nil, kubeadm, token, command))),
		}
	}
	made, err := compute.CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: ptr.To("workers"), LaunchTemplateData: data(ec2types.InstanceTypeM5Large, "abcdef.0123456789abcdef", "sysctl -w vm.max_map_count=65530"),
	})
	w.check(err)
	w.template = *made.LaunchTemplate.LaunchTemplateId
	_, err = compute.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &w.template, LaunchTemplateData: data(ec2types.InstanceTypeM5Xlarge, "fedcba.fedcba9876543210", "sysctl -w vm.max_map_count=262144"),
	})
	w.check(err)
	_, err = groups.CreateAutoScalingGroup(w.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: ptr.To("blue-workers"), MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](5), AvailabilityZones: []string{"us-east-1a"},
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &w.template, Version: ptr.To("1")},
	})
	w.check(err)
	clock.Step(time.Minute) // the group launches its instance
	return config
}

func (w *readWorld) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func in(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "blue", Name: name, UID: types.UID(name)}
}

// objects returns the objects of the management cluster.
func (w *readWorld) objects() []client.Object {
	network := &capav1.AWSCluster{ObjectMeta: in("prod")}
	network.Spec.Region = "us-east-1"
	network.Spec.NetworkSpec = capav1.NetworkSpec{VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: capav1.Subnets{{ID: "subnet-0b2000000000000aa", AvailabilityZone: "us-east-1a"}}}
	network.Status.Ready = true
	network.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{capav1.SecurityGroupNode: {ID: "sg-0c1000000000000ab"}, capav1.SecurityGroupLB: {ID: "sg-0c1000000000000ac"}}
	cluster := &clusterv1.Cluster{ObjectMeta: in("prod")}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: "prod"}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	machinePool := &clusterv1.MachinePool{ObjectMeta: in("workers")}
	machinePool.UID = "machine-pool"
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = "prod", ptr.To[int32](4)
	return []client.Object{
		network, cluster, machinePool, w.pool(), w.config(), fineManagedPool(),
		event("AWSMachinePool", "workers", corev1.EventTypeNormal, infrav1.InstanceRefreshStartedEvent, "Started instance refresh r-1: instance type m5.large → m5.xlarge", 20*time.Minute),
		event("AWSMachinePool", "workers", corev1.EventTypeNormal, infrav1.NodeDrainingEvent, "Draining node ip-10-0-1-7.ec2.internal (i-0c33000000000000c): 1 pod held by PodDisruptionBudget shop/web", 15*time.Minute),
		event("AWSMachinePool", "others", corev1.EventTypeNormal, "ASGCreated", "Not about this pool", time.Minute),
	}
}

func event(kind, name, level, reason, message string, ago time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: in(strings.ToLower(kind + name + reason)), InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "blue", Name: name},
		Type: level, Reason: reason, Message: message, LastTimestamp: before(ago), Count: 1,
	}
}

// pool returns a pool that rolls out.
func (w *readWorld) pool() *infrav1.AWSMachinePool {
	pool := &infrav1.AWSMachinePool{ObjectMeta: in("workers")}
	pool.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "workers", UID: "machine-pool"}}
	pool.Annotations = map[string]string{"slipway.infrastructure.cluster.x-k8s.io/draining": `{"i-0c33000000000000c":"2026-11-26T09:45:00Z"}`}
	pool.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: infrav1.GroupVersion.String(), Time: ptr.To(before(21 * time.Minute)),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:awsLaunchTemplate":{"f:instanceType":{}}}}`),
	}}
	status := &pool.Status
	status.Replicas, status.ReadyReplicas, status.UpToDateReplicas, status.LaunchTemplateID, status.WantedVersion = 4, ptr.To[int32](3), ptr.To[int32](2), w.template, 2
	status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{Name: "blue-workers"}
	status.RunningVersions = []infrav1.RunningVersion{{LaunchTemplateID: w.template, Version: 1, Instances: 2}, {LaunchTemplateID: w.template, Version: 2, Instances: 2, UpToDate: true}}
	status.Rollout = &infrav1.RolloutStatus{Cause: "instance type m5.large → m5.xlarge", RefreshID: "r-1", Status: "InProgress", PercentageComplete: ptr.To[int32](50), StartTime: ptr.To(before(20 * time.Minute))}
	for i, id := range []string{"i-0a11000000000000a", "i-0b22000000000000b", "i-0c33000000000000c", "i-0d44000000000000d"} {
		instance := infrav1.AWSMachinePoolInstanceStatus{InstanceID: id, LaunchTemplateVersion: "2", LifecycleState: "InService", HealthStatus: "Healthy", AvailabilityZone: "us-east-1a"}
		if i >= 2 {
			instance.LaunchTemplateVersion = "1"
		}
		if i == 2 {
			instance.LifecycleState = "Terminating:Wait"
		}
		status.Instances = append(status.Instances, instance)
	}
	rolling := metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.RollingOutReason, Message: "instance type m5.large → m5.xlarge; 2 of 4 instances run version 1", LastTransitionTime: before(20 * time.Minute)}
	converged := rolling
	rolling.Type, converged.Type = infrav1.RolledOutCondition, infrav1.ConvergedCondition
	status.Conditions = []metav1.Condition{converged, rolling, {
		Type: infrav1.NodesDrainedCondition, Status: metav1.ConditionFalse, Reason: infrav1.DrainingReason, LastTransitionTime: before(15 * time.Minute),
		Message: "node ip-10-0-1-7.ec2.internal (i-0c33000000000000c): 1 pod held by PodDisruptionBudget shop/web, until 2026-11-26T10:15:00Z at the latest",
	}}
	return pool
}

// config returns the AWSLaunchConfig of the pool.
func (w *readWorld) config() *infrav1.AWSLaunchConfig {
	config := &infrav1.AWSLaunchConfig{ObjectMeta: in("workers")}
	config.UID = "config"
	config.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: "workers", UID: "workers"}}
	status := &config.Status
	status.LaunchTemplateID, status.Version, status.CurrentVersions = w.template, 2, []int64{2}
	created := before(20*time.Minute + 50*time.Second)
	status.Versions = []infrav1.LaunchTemplateVersionStatus{
		{Number: 2, ConfigFingerprint: "b", Created: created, Reason: "instance type m5.large → m5.xlarge"}, {Number: 1, ConfigFingerprint: "a", Created: before(50 * time.Hour), Reason: "first version"},
	}
	user := []infrav1.LaunchConfigUser{{Kind: "AWSMachinePool", Name: "workers", Instances: 2}}
	status.History = []infrav1.LaunchConfigHistoryEntry{
		{Version: 2, ConfigFingerprint: "b", Launched: before(19 * time.Minute), Created: created, Cause: infrav1.LaunchConfigCauseEdited, Change: "instance type m5.large → m5.xlarge", RunBy: user},
		{Version: 1, ConfigFingerprint: "a", Launched: before(50 * time.Hour), Created: before(50 * time.Hour), Cause: infrav1.LaunchConfigCauseFirst, Change: "first version", RunBy: user},
	}
	return config
}

// fineManagedPool returns a pool for which nothing is left to do.
func fineManagedPool() *infrav1.AWSManagedMachinePool {
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: in("system")}
	pool.Status.Replicas, pool.Status.ReadyReplicas, pool.Status.UpToDateReplicas, pool.Status.WantedVersion = 3, ptr.To[int32](3), ptr.To[int32](3), 5
	pool.Status.Conditions = []metav1.Condition{{Type: infrav1.ConvergedCondition, Status: metav1.ConditionTrue, Reason: infrav1.ConvergedReason}}
	return pool
}

// workloadCluster returns a workload cluster with a node that is drained, and the pod that its budget holds.
func workloadCluster() kubernetes.Interface {
	node := func(name, id string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/" + id},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	}
	return kubernetesfake.NewClientset(
		node("ip-10-0-1-5.ec2.internal", "i-0a11000000000000a"), node("ip-10-0-1-7.ec2.internal", "i-0c33000000000000c"),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-5d8f7-x2x4k"}, Spec: corev1.PodSpec{NodeName: "ip-10-0-1-7.ec2.internal"}},
	)
}

// run runs a command, and returns what it prints.
func (w *readWorld) run(ctx context.Context, args ...string) (out, notes string, err error) {
	return w.runOn(ctx, terminal.Screen{}, args...)
}

// runOn runs a command on a screen, and returns what it prints.
func (w *readWorld) runOn(ctx context.Context, screen terminal.Screen, args ...string) (out, notes string, err error) {
	command := New()
	replaced := append(newReadCommands(func(*readFlags) (*source, error) { return w.source, nil }), newSimulateCommand(w.prepare), newPlanCommand(w.prepare))
	for _, old := range command.Commands() {
		for _, one := range replaced {
			if one.Name() == old.Name() {
				command.RemoveCommand(old)
				command.AddCommand(one)
			}
		}
	}
	text, warnings := &strings.Builder{}, &strings.Builder{}
	command.SetOut(text)
	if screen.Interactive {
		command.SetOut(terminal.Writer{Writer: text, On: screen})
	}
	command.SetErr(warnings)
	command.SetArgs(args)
	err = command.ExecuteContext(ctx)
	return text.String(), warnings.String(), err
}

// cliPage is the page of the documentation with a session of each command.
const cliPage = "../../docs/reference/cli.md"

// TestCLIPage holds that the sessions of the page are what the commands print. A session is a block that begins
// with "$ slipway". With -update, it writes what they print.
func TestCLIPage(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	w := newReadWorld(t, waitingPod(), trouble())
	const begin = "```console\n$ slipway "
	parts := strings.Split(string(content), begin)
	seen := map[string]bool{}
	for i, part := range parts[1:] {
		line, rest, _ := strings.Cut(part, "\n")
		shown, after, _ := strings.Cut(rest, "```")
		out, notes, err := w.run(t.Context(), strings.Fields(line)...)
		if exit := (*exitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, errNotAtRest) || notes != "" {
			t.Errorf("slipway %s: got error %v and notes %q", line, err, notes)
		}
		if diff := cmp.Diff(out, shown); diff != "" && !*update {
			t.Errorf("%s: run go test ./internal/cli -run TestCLIPage -update (-printed +shown) of slipway %s:\n%s", cliPage, line, diff)
		}
		seen[strings.Fields(line)[0]] = true
		parts[i+1] = line + "\n" + out + "```" + after
	}
	for _, command := range append(newReadCommands(nil), newSimulateCommand(nil), newPlanCommand(nil)) {
		if !seen[command.Name()] {
			t.Errorf("%s has no session of slipway %s", cliPage, command.Name())
		}
	}
	if *update {
		if err := os.WriteFile(cliPage, []byte(strings.Join(parts, begin)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// waitingPod returns a pod that no node has room for.
func waitingPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: in("web-5d8f7-waits"), Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/4 nodes are available: 4 Insufficient cpu."},
	}}}
}

// trouble returns a Provisioner that cannot launch nodes.
func trouble() *provisioningv1.Provisioner {
	provisioner := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	provisioner.Status.Conditions = []metav1.Condition{{Type: provisioningv1.SubnetsReadyCondition, Status: metav1.ConditionFalse, Reason: provisioningv1.SubnetsUnusableReason,
		Message: "no subnet has the tag kubernetes.io/cluster/prod", LastTransitionTime: before(5 * time.Minute)}}
	return provisioner
}
