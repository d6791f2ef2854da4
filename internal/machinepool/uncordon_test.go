package machinepool

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/workload"
	"github.com/slipway-project/slipway/internal/workload/workloadtest"
)

// nodeServer is the API server of a workload cluster with one Node and one pod, which goes when asked to.
type nodeServer struct {
	*testing.T
	node corev1.Node
	pod  bool
	// unreachable is true while it does not answer.
	unreachable bool
	// forged is how many other Nodes, which are listed first, name the instance.
	forged int
}

// forgedPrefix begins the names of forged Nodes.
const forgedPrefix = "a-forged-"

// forge returns a Node that names the instance of the Node.
func (s *nodeServer) forge(name string) corev1.Node {
	other := corev1.Node{TypeMeta: s.node.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: name}}
	other.Spec.ProviderID = s.node.Spec.ProviderID
	return other
}

func (s *nodeServer) nodes() (nodes []corev1.Node) {
	for i := range s.forged {
		nodes = append(nodes, s.forge(fmt.Sprintf("%s%02d", forgedPrefix, i)))
	}
	return append(nodes, s.node)
}

func (s *nodeServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch name := path.Base(request.URL.Path); {
	case strings.HasPrefix(name, forgedPrefix):
		s.answer(w, s.forge(name))
	case strings.Contains(request.URL.RawQuery, forgedPrefix):
		s.answer(w, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}})
	case s.unreachable:
		w.WriteHeader(http.StatusServiceUnavailable)
	case request.Method == http.MethodPatch:
		s.patch(w, request)
	case request.Method == http.MethodPost:
		s.pod = false
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	case strings.HasSuffix(request.URL.Path, "/nodes"):
		s.answer(w, corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: s.nodes()})
	case strings.HasSuffix(request.URL.Path, "/pods"):
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
		if s.pod {
			list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}})
		}
		s.answer(w, list)
	default:
		s.answer(w, s.node)
	}
}

func (s *nodeServer) answer(w io.Writer, object any) {
	if err := json.NewEncoder(w).Encode(object); err != nil {
		s.Error(err)
	}
}

// patch applies a patch to the Node.
func (s *nodeServer) patch(w http.ResponseWriter, request *http.Request) {
	patch, err := io.ReadAll(request.Body)
	if err != nil {
		s.Error(err)
	}
	before, err := json.Marshal(s.node)
	if err != nil {
		s.Error(err)
	}
	var after []byte
	if request.Header.Get("Content-Type") == string(types.JSONPatchType) {
		decoded, decodeErr := jsonpatch.DecodePatch(patch)
		if decodeErr != nil {
			s.Error(decodeErr)
		}
		if after, err = decoded.Apply(before); err != nil { // as the API server answers a test that fails
			w.WriteHeader(http.StatusUnprocessableEntity)
			s.answer(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonInvalid, Code: 422, Message: err.Error()})
			return
		}
	} else if after, err = jsonpatch.MergePatch(before, patch); err != nil {
		s.Error(err)
	}
	s.node = corev1.Node{}
	if err := json.Unmarshal(after, &s.node); err != nil {
		s.Error(err)
	}
	s.answer(w, s.node)
}

// rootRig has a pool whose group has one instance with a Node, and a second image for it.
type rootRig struct {
	*rig
	server          *nodeServer
	template, image string
	instance        string
}

// newRootRig starts it. The drain hook is on the group.
func newRootRig(t *testing.T) *rootRig {
	t.Helper()
	r := &rootRig{rig: newRig(t)}
	workloads := workload.New(r.Client, r.clock)
	workloads.Loopback = true
	r.pools.kind.Workloads = workloads
	r.template = r.rig.template(poolName, nil, nil)
	images, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) < 2 {
		t.Fatalf("finding two images: %v", err)
	}
	r.image = *images.Images[1].ImageId
	request := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: awssdk.String(poolName), MinSize: awssdk.Int32(0), MaxSize: awssdk.Int32(10), DesiredCapacity: awssdk.Int32(1),
		VPCZoneIdentifier: awssdk.String(subnet), MixedInstancesPolicy: r.policy(*images.Images[0].ImageId),
	}
	for key, value := range slipwayTags(victim) {
		request.Tags = append(request.Tags, asgtypes.Tag{Key: &key, Value: &value, PropagateAtLaunch: awssdk.Bool(false)})
	}
	if _, err := r.asg.CreateAutoScalingGroup(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	group := r.find(poolName)
	r.instance = *group.Instances[0].InstanceId
	pool := poolIn(victim, *group.AutoScalingGroupARN)
	if err := r.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for _, hook := range drainHooks(input{Object: pool}) {
		if _, err := r.asg.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
			AutoScalingGroupName: awssdk.String(poolName), LifecycleHookName: &hook.Name, LifecycleTransition: &hook.Transition,
			DefaultResult: &hook.Result, HeartbeatTimeout: &hook.Heartbeat,
		}); err != nil {
			t.Fatal(err)
		}
	}
	r.serve(*group.Instances[0].AvailabilityZone)
	return r
}

func (r *rootRig) policy(image string) *asgtypes.MixedInstancesPolicy {
	return &asgtypes.MixedInstancesPolicy{LaunchTemplate: &asgtypes.LaunchTemplate{
		LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template, Version: awssdk.String("1")},
		Overrides:                   []asgtypes.LaunchTemplateOverrides{{InstanceType: awssdk.String("m5.large"), ImageId: &image}},
	}}
}

// serve starts the workload cluster.
func (r *rootRig) serve(zone string) {
	r.Helper()
	r.server = &nodeServer{T: r.T, pod: true, node: corev1.Node{
		TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "one", Annotations: map[string]string{"made": "by the kubelet"}},
		Spec: corev1.NodeSpec{ProviderID: "aws:///" + zone + "/" + r.instance},
	}}
	workloadtest.Serve(r, r.Client, client.ObjectKey{Namespace: victim, Name: clusterName}, r.server)
}

// refreshRoots starts the refresh outside Slipway, and waits until the drain hook holds the instance.
func (r *rootRig) refreshRoots() {
	r.Helper()
	if _, err := r.asg.StartInstanceRefresh(r.Context(), &autoscaling.StartInstanceRefreshInput{
		AutoScalingGroupName: awssdk.String(poolName), Strategy: asgtypes.RefreshStrategyReplaceRootVolume,
		DesiredConfiguration: &asgtypes.DesiredConfiguration{MixedInstancesPolicy: r.policy(r.image)},
	}); err != nil {
		r.Fatal(err)
	}
	r.clock.Step(10 * time.Second)
	if states := r.states(); len(states) != 1 || states[0] != "ReplacingRootVolume:Wait" {
		r.Fatalf("instances are in %q, want one that the drain hook holds", states)
	}
}

// imageOf returns the image that the instance has.
func (r *rootRig) imageOf() string {
	r.Helper()
	return awssdk.ToString(r.find(poolName).Instances[0].ImageId)
}

// TestRootVolumeReplacementIsDrained holds that a node is drained before the root volume of its
// instance is replaced, and schedulable again afterwards.
func TestRootVolumeReplacementIsDrained(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	r.refreshRoots()
	pool := r.drainFor(time.Minute)
	if r.server.pod || !r.server.node.Spec.Unschedulable {
		t.Errorf("while the hook holds the instance, its node is unschedulable %t and has a pod %t", r.server.node.Spec.Unschedulable, r.server.pod)
	}
	if pool.Annotations[DrainingAnnotation] == "" {
		t.Error("nothing says that the node is to be uncordoned")
	}
	r.server.unreachable = true
	pool = r.drainFor(20 * time.Minute)
	r.server.unreachable = false
	if states, image := r.states(), r.imageOf(); len(states) != 1 || states[0] != "InService" || image != r.image {
		t.Fatalf("after the hook was completed, instances are in %q with the image %s, want %s", states, image, r.image)
	}
	if *r.find(poolName).Instances[0].InstanceId != r.instance {
		t.Error("the instance was replaced")
	}
	if !r.server.node.Spec.Unschedulable || pool.Annotations[DrainingAnnotation] == "" {
		t.Error("while the workload cluster does not answer, the node cannot be uncordoned, and must not be forgotten")
	}
	pool = r.drainFor(5 * time.Minute)
	if node := r.server.node; node.Spec.Unschedulable || len(node.Annotations) != 1 {
		t.Errorf("once its instance is in service, the node is unschedulable %t with annotations %v", node.Spec.Unschedulable, node.Annotations)
	}
	if pool.Annotations[DrainingAnnotation] != "" {
		t.Errorf("the node is remembered though it is uncordoned: %s", pool.Annotations[DrainingAnnotation])
	}
}

// TestCordonsOfOthersStay holds that a node that another client cordoned before the root volume was
// replaced stays cordoned.
func TestCordonsOfOthersStay(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	r.server.node.Spec.Unschedulable = true
	r.refreshRoots()
	pool := r.drainFor(20 * time.Minute)
	if r.imageOf() != r.image || r.server.pod || !r.server.node.Spec.Unschedulable || pool.Annotations[DrainingAnnotation] != "" {
		t.Errorf("image %s, pod %t, unschedulable %t, record %q", r.imageOf(), r.server.pod, r.server.node.Spec.Unschedulable, pool.Annotations[DrainingAnnotation])
	}
}

// TestRootVolumeReplacementRunsOutOfTime holds that a replacement is not held up for longer than
// the drain timeout, and that it is not abandoned in a pool that retains instances: AWS retains
// those alone whose termination is abandoned.
func TestRootVolumeReplacementRunsOutOfTime(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	r.server.unreachable = true
	pool := &infrav1.AWSMachinePool{}
	if err := r.Get(t.Context(), types.NamespacedName{Namespace: victim, Name: poolName}, pool); err != nil {
		t.Fatal(err)
	}
	pool.Spec.InstanceLifecyclePolicy = &infrav1.InstanceLifecyclePolicy{RetentionTriggers: infrav1.RetentionTriggers{TerminateHookAbandon: infrav1.RetentionActionRetain}}
	if err := r.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	r.refreshRoots()
	r.drainFor(infrav1.DefaultNodeDrainTimeout - time.Minute)
	if states := r.states(); states[0] != "ReplacingRootVolume:Wait" {
		t.Fatalf("within the time limit the instance is %s", states[0])
	}
	pool = r.drainFor(10 * time.Minute)
	if states := r.states(); states[0] != "InService" || r.imageOf() != r.image {
		t.Errorf("after the time limit the instance is %s with the image %s", states[0], r.imageOf())
	}
	if pool.Annotations[RetainedAnnotation] != "" {
		t.Errorf("the instance is recorded as retained: %s", pool.Annotations[RetainedAnnotation])
	}
}

// TestInstancesThatReplaceRootStay holds that an instance counts as present, and as what it runs,
// while its root volume is being replaced.
func TestInstancesThatReplaceRootStay(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"ReplacingRootVolume", "ReplacingRootVolume:Wait", "ReplacingRootVolume:Proceed", "RootVolumeReplaced"} {
		instance := autoscalinggroup.Instance{ID: "i-1", LifecycleState: state, HealthStatus: "Healthy", LaunchTemplateID: "lt-1", Version: 1, Weight: 1}
		in := readyInput(func(config *infrav1.AWSLaunchConfigStatus) {
			config.LaunchTemplateID, config.CurrentVersions, config.Version = "lt-1", []int64{1}, 1
		})
		in.Seen.Group = &autoscalinggroup.Group{LaunchTemplateID: "lt-1", Capacity: 1, Instances: []autoscalinggroup.Instance{instance}}
		countInstances(in)
		status := in.Object.Status
		if status.Replicas != 1 || *status.ReadyReplicas != 0 || *status.UpToDateReplicas != 1 || !inMotion(in.Seen.Group) || in.Seen.Group.Units() != 1 {
			t.Errorf("%s: %d replicas, %d ready, %d up to date, in motion %t, %d units", state, status.Replicas, *status.ReadyReplicas, *status.UpToDateReplicas, inMotion(in.Seen.Group), in.Seen.Group.Units())
		}
		decision := autoscalinggroup.Rollout{Wanted: wanted(in), Instances: in.Seen.Group.Instances}.Decide()
		if decision.Verdict != autoscalinggroup.RolledOut {
			t.Errorf("%s: %s, want no roll-out", state, decision.Verdict)
		}
	}
}
