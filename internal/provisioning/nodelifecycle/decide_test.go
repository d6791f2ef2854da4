package nodelifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// TestDecideInstance holds what follows from how EC2 describes the instance of a node.
func TestDecideInstance(t *testing.T) {
	t.Parallel()
	decideRows(t, []row{
		{reason: "an initialized node that a pod uses is left alone", then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.EmptySince == nil }},
		{reason: "the image is recorded", given: []edit{status(func(s *provisioningv1.ProvisionedNodeStatus) { s.ImageID = "" })},
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.ImageID == "ami-1" }},
		{reason: "EC2 holds the call back", given: []edit{func(in *input) { in.Seen.Instance.Err = errHeldBack }}, want: "again in 7s"},
		{reason: "a lost instance is not shown", given: []edit{unshown},
			want: `delete the ProvisionedNode, because its instance is terminated; count InstanceGone; tell InstanceGone "Instance i-1 of ProvisionedNode node was terminated outside Slipway."`},
		{reason: "a new instance is not shown yet", given: []edit{unshown, launchedAgo(time.Minute)}, want: "again in 5s"},
		{reason: "the instance was terminated from outside", given: []edit{ended},
			want: `delete the ProvisionedNode, because its instance is terminated; count InstanceGone; tell InstanceGone "Instance i-1 of ProvisionedNode node was terminated outside Slipway."`},
		{reason: "the Provisioner of a lost instance is gone, and nothing is reported on it", given: []edit{ended, orphaned},
			want: "delete the ProvisionedNode, because its instance is terminated; count InstanceGone"},
		{reason: "the deletion of the lost node fails", given: []edit{ended, done(deleteNode{Reason: instanceGone}, errServer)}, want: "fail: the API server does not respond"},
		{reason: "the lost node is deleted", given: []edit{ended, done(deleteNode{Reason: instanceGone}, nil)}, want: "leave the status"},
		{reason: "a user terminated the instance", given: []edit{ended, endedFor("Client.UserInitiatedShutdown: User initiated shutdown")},
			want: `delete the ProvisionedNode, because its instance is terminated; count InstanceGone; tell InstanceGone "Instance i-1 of ProvisionedNode node was terminated outside Slipway."`},
		{reason: "EC2 interrupted the instance", given: []edit{ended, endedFor("Server.SpotInstanceTermination: Spot instance termination")},
			want: `avoid spot m5.large in us-east-1a, because EC2 took instance i-1 back`},
		{reason: "a node that had started ends by itself", given: []edit{ended, endedFor("Client.InstanceInitiatedShutdown: Instance initiated shutdown")},
			want: `delete the ProvisionedNode, because its instance is terminated; count InstanceGone; tell InstanceGone "Instance i-1 of ProvisionedNode node was terminated: Client.InstanceInitiatedShutdown: Instance initiated shutdown."`},
		{reason: "the Provisioner of an instance that ends while it starts is gone", given: []edit{ended, endedFor("Client.InternalError: Client error on launch"), orphaned, status(func(s *provisioningv1.ProvisionedNodeStatus) { s.ReadyTime = nil })},
			want: "delete the ProvisionedNode, because its instance is terminated; count InstanceGone"},
		{reason: "the instance is another cluster's", given: []edit{foreign},
			want: `tell InstanceNotOwned "ProvisionedNode node: instance i-1 was launched by another cluster. Slipway neither drains nor terminates it, and the ProvisionedNode counts against limits until it is deleted. Delete the ProvisionedNode if it should not manage this instance."`,
			shows: "Launched False InstanceNotOwned: instance i-1 was launched by another cluster. Slipway " +
				"neither drains nor terminates it, and the ProvisionedNode counts against limits until it is " +
				"deleted. Delete the ProvisionedNode if it should not manage this instance"},
		{reason: "that the instance is another cluster's is reported once", given: []edit{foreign, condition(provisioningv1.LaunchedCondition, provisioningv1.InstanceNotOwnedReason, false)}},
	})
}

// endedFor has EC2 explain the end of the instance.
func endedFor(message string) edit {
	return func(in *input) {
		code, _, _ := strings.Cut(message, ":")
		in.Seen.Instance.Found.StateCode, in.Seen.Instance.Found.StateMessage = code, message
	}
}

// answered has EC2 have answered the launch.
func answered(made answer) edit {
	return func(in *input) {
		in.Seen.Answer, in.Seen.LaunchedAt = &made, noon
		in.Done = append(in.Done, reconcile.Done{Step: reconcile.Step{Action: launchInstances{"launch"}}})
	}
}

// unlaunched has the node be one that was just written.
func unlaunched(in *input) {
	in.Object.Status = provisioningv1.ProvisionedNodeStatus{}
	in.Seen.Instance, in.Seen.Member, in.Seen.Pods = Instance{}, nil, Fact[[]corev1.Pod]{}
	in.Seen.ClusterName, in.Seen.Siblings = is(""), is([]provisioningv1.ProvisionedNode{*in.Object})
}

// limited has the Provisioner have a limit and a number of nodes, which are not observed if there are none.
func limited(limit int32, nodes int) edit {
	return func(in *input) {
		in.Seen.Provisioner = in.Seen.Provisioner.DeepCopy()
		in.Seen.Provisioner.Spec.Limits = &provisioningv1.Limits{Nodes: &limit}
		if in.Seen.OfProvisioner = (Fact[[]provisioningv1.ProvisionedNode]{}); nodes > 0 {
			in.Seen.OfProvisioner = is(slices.Repeat([]provisioningv1.ProvisionedNode{*in.Object}, nodes))
		}
	}
}

// askedAgo has the launch be asked for some time ago.
func askedAgo(before time.Duration) edit {
	return status(func(s *provisioningv1.ProvisionedNodeStatus) { s.RequestTime = ago(before) })
}

func blamed(blame fleet.Blame, why string) edit {
	return answered(answer{blame: blame, why: why})
}

// TestDecideLaunch holds when a node is launched, and what becomes of one that EC2 does not launch.
func TestDecideLaunch(t *testing.T) {
	t.Parallel()
	launched := answered(answer{instances: map[string]fleet.Instance{"node": running("i-1")}})
	failed := func(err error) edit { return done(launchInstances{"launch"}, err) }
	of := func(nodes int32) edit { return func(in *input) { in.Object.Spec.Launch.Nodes = nodes } }
	knowing := func(in *input) { in.Seen.Resources = is(provisioningv1.ProvisionedResources{}) }
	decideRows(t, []row{
		{reason: "whether another cluster uses the name is asked first", given: []edit{unlaunched, func(in *input) { in.Seen.ClusterName = Fact[string]{} }}, want: "observe use of the cluster name", shows: "Launched False Launching"},
		{reason: "its siblings are asked for", given: []edit{unlaunched, func(in *input) { in.Seen.Siblings = Fact[[]provisioningv1.ProvisionedNode]{} }}, want: "observe nodes of the launch"},
		{reason: "a node is launched", given: []edit{unlaunched},
			want: "launch the instances of launch launch, because ProvisionedNode node has no instance", then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.RequestTime.Time.Equal(noon) }},
		{reason: "whether limits were lowered is asked first", given: []edit{unlaunched, limited(1, 0)}, want: "observe nodes of the Provisioner"},
		{reason: "a node within limits is launched", given: []edit{unlaunched, limited(1, 1)},
			want: "launch the instances of launch launch, because ProvisionedNode node has no instance"},
		{reason: "the limits were lowered before the launch", given: []edit{unlaunched, limited(1, 2)},
			want: `delete the ProvisionedNode, because the limits of its Provisioner were lowered before it was launched; count LimitsExceeded; tell LaunchFailed "ProvisionedNode node was not launched: it would exceed the limits of the Provisioner, which were lowered: limits.nodes is 1."`},
		{reason: "a node of an earlier release has no mark of its cluster", given: []edit{unlaunched, func(in *input) { in.Object.Spec.Launch.ClusterUID = "" }},
			want: "launch the instances of launch launch, because ProvisionedNode node has no instance"},
		{reason: "a node was copied from another cluster", given: []edit{unlaunched, func(in *input) { in.Object.Spec.Launch.ClusterUID = "other" }},
			shows: "Launched False OtherCluster: the ProvisionedNode was created in another cluster: its " +
				"spec.launch.clusterUID is other, but the UID of this cluster is uid. Slipway launches " +
				"nothing for it. Delete it"},
		{reason: "a launch waits until all of its nodes are written", given: []edit{unlaunched, of(2), askedAgo(10 * time.Second)}, want: "again in 20s"},
		{reason: "the writer of a launch has crashed", given: []edit{unlaunched, of(2), askedAgo(30 * time.Second)},
			want: "launch the instances of launch launch, because ProvisionedNode node has no instance"},
		{reason: "a sibling that was launched is gone", given: []edit{unlaunched, of(2), func(in *input) { in.Seen.Answer = &answer{} }},
			want: "launch the instances of launch launch, because ProvisionedNode node has no instance"},
		{reason: "another cluster uses the name", given: []edit{unlaunched, func(in *input) { in.Seen.ClusterName = is("another cluster is called blue") }},
			want:  `tell LaunchFailed "ProvisionedNode node is not launched yet: another cluster is called blue. Slipway retries the launch."; again in 2m0s`,
			shows: "Launched False LaunchFailed: another cluster is called blue"},
		{reason: "whether another cluster uses the name is not known", given: []edit{unlaunched, func(in *input) { in.Seen.ClusterName = unanswered[string](errHeldBack) }},
			want: `tell LaunchFailed "ProvisionedNode node is not launched yet: delayed to stay within AWS's request rate for ec2:DescribeInstances. Slipway retries the launch."; again in 7s`},
		{reason: "EC2 does not answer", given: []edit{unlaunched, failed(errServer)},
			want:  `tell LaunchFailed "ProvisionedNode node is not launched yet: the API server does not respond. Slipway retries the launch."; again in 1s`,
			shows: "Launched False LaunchFailed: the API server does not respond"},
		{reason: "a failure is reported once", given: []edit{unlaunched, failed(errServer), condition(provisioningv1.LaunchedCondition, provisioningv1.LaunchFailedReason, false), askedAgo(40 * time.Second)}, want: "again in 10s"},
		{reason: "the calls of a launch are held back", given: []edit{unlaunched, failed(errHeldBack)},
			want:  `tell LaunchFailed "ProvisionedNode node is not launched yet: delayed to stay within AWS's request rate for ec2:DescribeInstances. Slipway retries the launch."; again in 7s`,
			shows: "Launched False Throttled: delayed to stay within AWS's request rate for ec2:DescribeInstances"},
		{reason: "a launch has failed for five minutes", given: []edit{unlaunched, failed(errServer), askedAgo(6 * time.Minute)},
			want: `delete the ProvisionedNode, because the instance could not be launched; count LaunchFailed; tell LaunchFailed "ProvisionedNode node is not launched yet: the API server does not respond. Slipway retries the launch."; tell LaunchFailed "ProvisionedNode node could not be launched: the API server does not respond"`},
		{reason: "EC2 has no capacity", given: []edit{unlaunched, blamed("", "no m5.large in us-east-1a.")},
			want:  `delete the ProvisionedNode, because EC2 launched no instance for it; count InsufficientCapacity; tell InsufficientCapacity "ProvisionedNode node was not launched: no m5.large in us-east-1a."`,
			shows: "Launched False InsufficientCapacity: no m5.large in us-east-1a."},
		{reason: "EC2 reports no reason", given: []edit{unlaunched, blamed("", "")},
			want: `delete the ProvisionedNode, because EC2 launched no instance for it; count InsufficientCapacity; tell InsufficientCapacity "ProvisionedNode node was not launched: EC2 reports no reason."`},
		{reason: "no subnet can be used", given: []edit{unlaunched, blamed(fleet.BlameSubnet, "no addresses")},
			want: `delete the ProvisionedNode, because EC2 launched no instance for it; count SubnetsUnusable; tell SubnetsUnusable "ProvisionedNode node was not launched: no addresses."`},
		{reason: "EC2 refuses the launch template", given: []edit{unlaunched, blamed(fleet.BlameTemplate, "no key pair")},
			want: `delete the ProvisionedNode, because EC2 launched no instance for it; count LaunchFailed; tell LaunchFailed "ProvisionedNode node was not launched: no key pair."`},
		{reason: "the launch template is gone", given: []edit{unlaunched, blamed(fleet.BlameMissingTemplate, "no template")},
			want: `delete the ProvisionedNode, because its launch template does not exist; count LaunchFailed; tell LaunchFailed "ProvisionedNode node was not launched: version 3 of launch template lt-1 no longer exists."`},
		{reason: "the resources of the launched type are asked for", given: []edit{unlaunched, launched}, want: "observe resources of the instance type"},
		{reason: "the resources of the launched type are not known yet", given: []edit{unlaunched, launched, func(in *input) { in.Seen.Resources = unanswered[provisioningv1.ProvisionedResources](errHeldBack) }}, want: "again in 7s"},
		{reason: "a launched instance is described", given: []edit{unlaunched, launched, knowing}, want: "observe instance",
			shows: "Registered False Registering", then: func(s *provisioningv1.ProvisionedNodeStatus) bool {
				return s.InstanceID == "i-1" && s.Zone == "us-east-1a"
			}},
		{reason: "a launched instance has not joined", given: []edit{unlaunched, launched, knowing, func(in *input) { in.Seen.Instance = Instance{ID: "i-1", Found: ptr.To(running("i-1"))} }},
			want:  `tell Launched "Launched instance i-1 (m5.large, us-east-1a, spot) for ProvisionedNode node."; again in 15m0s`,
			shows: "Registered False Registering: the instance has not joined the cluster yet"},
		{reason: "a launched instance is recorded before its Node is changed", given: []edit{func(in *input) {
			member := in.Seen.Member
			unlaunched(in)
			in.Seen.Member = member
		}, launched, knowing, func(in *input) { in.Seen.Instance = Instance{ID: "i-1", Found: ptr.To(running("i-1"))} }},
			want: `tell Launched "Launched instance i-1 (m5.large, us-east-1a, spot) for ProvisionedNode node."; again in 5s`,
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.InstanceID == "i-1" && s.NodeName != "" }},
	})
}

// TestDecideRegistration holds how the Node of an instance is registered, and what happens when it
// is deleted, or gone.
func TestDecideRegistration(t *testing.T) {
	t.Parallel()
	fresh := func(in *input) {
		in.Object.Status.ReadyTime, in.Object.Status.Conditions = nil, nil
		in.Seen.Member.Finalizers, in.Seen.Labels = nil, is(map[string]string{"arch": "amd64"})
	}
	unregistered := member(func(m *corev1.Node) {
		m.Spec.Taints = []corev1.Taint{{Key: clusterstate.UnregisteredTaint, Effect: corev1.TaintEffectNoExecute}}
	})
	away := func(since time.Duration) edit {
		return func(in *input) {
			in.Seen.Member, in.Seen.LiveMember = nil, is[*corev1.Node](nil)
			if since > 0 {
				in.Object.Status.AwaySince = ago(since)
			}
		}
	}
	decideRows(t, []row{
		{reason: "the labels of a new Node are asked for", given: []edit{fresh, func(in *input) { in.Seen.Labels = Fact[map[string]string]{} }}, want: "observe labels of the instance type"},
		{reason: "EC2 does not say what the instance type has", given: []edit{fresh, func(in *input) { in.Seen.Labels = unanswered[map[string]string](errHeldBack) }}, want: "again in 7s"},
		{reason: "a new Node is registered", given: []edit{fresh},
			want: "register Node ip-1, because Node ip-1 has joined the cluster"},
		{reason: "a Node is back with the taint of one that is not registered", given: []edit{unregistered, func(in *input) { in.Seen.Labels = is(map[string]string{}) }},
			want: "register Node ip-1, because Node ip-1 has joined the cluster"},
		{reason: "an earlier release put no finalizer on the Node", given: []edit{member(func(m *corev1.Node) { m.Finalizers = nil })}, want: "register Node ip-1, because Node ip-1 lacks the finalizer"},
		{reason: "the write to the Node fails", given: []edit{fresh, done(registerMember{}, errServer)}, want: `fail: labeling Node "ip-1": the API server does not respond`},
		{reason: "a registered Node is initialized", given: []edit{fresh, done(registerMember{}, nil)}, shows: "Registered True Registered",
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.ReadyTime.Time.Equal(noon) }},
		{reason: "a user deletes the Node", given: []edit{member(func(m *corev1.Node) { m.DeletionTimestamp = ago(time.Second) })},
			want: `delete the ProvisionedNode, because its Node was deleted; count NodeDeleted; tell NodeDeleted "Node ip-1 was deleted. Slipway evicts its pods and terminates instance i-1."`},
		{reason: "the API server is asked for a Node that is gone", given: []edit{away(0), func(in *input) { in.Seen.LiveMember = Fact[*corev1.Node]{} }}, want: "observe Node in the API server"},
		{reason: "the cache does not show the Node", given: []edit{func(in *input) { in.Seen.Member, in.Seen.LiveMember = nil, is(in.Seen.Member) }}, want: "again in 2s"},
		{reason: "the Node is gone, and may be back", given: []edit{away(0)}, want: "again in 15m0s", shows: "Registered False NodeGone: Node ip-1 " +
			"does not exist. No pods are scheduled to it. Slipway terminates instance i-1 unless the Node " +
			"returns within 15m",
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.AwaySince.Time.Equal(noon) }},
		{reason: "the Node stays away, and the nodes of its zone are asked for", given: []edit{away(15 * time.Minute)}, want: "observe all nodes"},
		{reason: "the Node stays away", given: []edit{away(15 * time.Minute), func(in *input) { in.Seen.Nodes = is([]provisioningv1.ProvisionedNode{}) }},
			want: `replace the failed node in zone us-east-1a, because Node ip-1 is gone and did not come back within 15m; count NodeGone; tell NodeFailed "Replacing ProvisionedNode node: Node ip-1 is gone and did not come back within 15m. Slipway evicts its pods and terminates instance i-1 within 5m."`},
		{reason: "the Node is back", given: []edit{status(func(s *provisioningv1.ProvisionedNodeStatus) { s.AwaySince = ago(time.Minute) })},
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.AwaySince == nil }},
	})
}

// TestDecideInitialization holds when a node counts as initialized, and what becomes of one that is
// not in time.
func TestDecideInitialization(t *testing.T) {
	t.Parallel()
	starting := func(in *input) {
		in.Object.Status.ReadyTime, in.Object.Status.LaunchTime = nil, ago(10*time.Minute)
		in.Object.Spec.StartupTaints = []provisioningv1.Taint{{Key: "example.com/starting", Effect: "NoSchedule"}}
		in.Object.Spec.AwaitedResources = []string{"nvidia.com/gpu"}
		reconciling.False(in.Object, provisioningv1.InitializedCondition, provisioningv1.InitializingReason, "")
	}
	tainted := member(func(m *corev1.Node) {
		m.Spec.Taints = []corev1.Taint{{Key: "example.com/starting", Effect: corev1.TaintEffectNoSchedule}}
	})
	late := func(in *input) {
		starting(in)
		in.Object.Status.LaunchTime = ago(15 * time.Minute)
		in.Seen.OfProvisioner = is([]provisioningv1.ProvisionedNode{*in.Object})
	}
	disproved := func(in *input) {
		starting(in)
		in.Object.Spec.AwaitedResources = nil
		in.Seen.Provisioner.Status.FailedStarts = []provisioningv1.FailedStart{{LaunchTemplateID: "lt-1", LaunchTemplateVersion: 3, Generation: 1, Tries: 1}}
	}
	decideRows(t, []row{
		{reason: "the Node of a starting node is not ready", given: []edit{starting, unready}, want: "again in 5m0s", shows: "NodeReady False NodeNotReady: its " +
			"kubelet does not report that it is ready"},
		{reason: "the pods of a ready Node are asked for", given: []edit{starting, func(in *input) { in.Seen.Pods = Fact[[]corev1.Pod]{} }}, want: "observe pods of the Node"},
		{reason: "an earlier release recorded no launch time", given: []edit{starting, status(func(s *provisioningv1.ProvisionedNodeStatus) { s.LaunchTime = nil })}, want: "again in 15m0s"},
		{reason: "a startup taint is there", given: []edit{starting, tainted}, want: "again in 5m0s", shows: "Initialized False Initializing: startup taint not removed: example.com/starting:NoSchedule; not registered by its device plugin: nvidia.com/gpu"},
		{reason: "a device is missing", given: []edit{starting}, want: "again in 5m0s", shows: "Initialized False Initializing: not registered by its device plugin: nvidia.com/gpu"},
		{reason: "a node that was initialized stays so", given: []edit{unready}, want: "again in 10m0s", shows: "Initialized True Initialized"},
		{reason: "the nodes of the Provisioner are asked for when a device did not come in time", given: []edit{late, func(in *input) { in.Seen.OfProvisioner = Fact[[]provisioningv1.ProvisionedNode]{} }}, want: "observe nodes of the Provisioner"},
		{reason: "a device did not come in time, which is recorded first", given: []edit{late},
			want: "record 1 failed starts in Provisioner default, because it was not initialized within 15m: not registered by its device plugin: nvidia.com/gpu"},
		{reason: "the failed start cannot be recorded", given: []edit{late, done(recordStarts{}, errServer)}, want: "fail: the API server does not respond"},
		{reason: "the failed start is recorded", given: []edit{late, done(recordStarts{}, nil)},
			want: `delete the ProvisionedNode, because it was not initialized within 15m: not registered by its device plugin: nvidia.com/gpu; count NodeNotInitialized; tell NodeNotInitialized "Terminating instance i-1 of ProvisionedNode node: it was not initialized within 15m: not registered by its device plugin: nvidia.com/gpu."`},
		{reason: "another node started meanwhile, and nothing is recorded", given: []edit{late, func(in *input) {
			other := in.Object.DeepCopy()
			other.Name, other.Status.ReadyTime = "other", ago(time.Minute)
			in.Seen.OfProvisioner = is([]provisioningv1.ProvisionedNode{*other})
		}},
			want: `delete the ProvisionedNode, because it was not initialized within 15m: not registered by its device plugin: nvidia.com/gpu; count NodeNotInitialized; tell NodeNotInitialized "Terminating instance i-1 of ProvisionedNode node: it was not initialized within 15m: not registered by its device plugin: nvidia.com/gpu."`},
		{reason: "the Provisioner of a node that does not start is gone", given: []edit{late, orphaned},
			want: "delete the ProvisionedNode, because it was not initialized within 15m: not registered by its device plugin: nvidia.com/gpu; count NodeNotInitialized"},
		{reason: "the instance never became a Node", given: []edit{late, func(in *input) { in.Seen.Member, in.Object.Status.NodeName = nil, "" }, done(recordStarts{}, nil)},
			want: `delete the ProvisionedNode, because it was not initialized within 15m: the instance did not register as a Node; count NodeNotInitialized; tell NodeNotInitialized "Terminating instance i-1 of ProvisionedNode node: it was not initialized within 15m: the instance did not register as a Node."`},
		{reason: "a node that starts disproves an earlier failure", given: []edit{disproved},
			want: "record 0 failed starts in Provisioner default, because ProvisionedNode node has started"},
		{reason: "the earlier failure cannot be removed", given: []edit{disproved, done(recordStarts{}, errServer)}, want: "fail: the API server does not respond"},
		{reason: "a failure of another template stays", given: []edit{disproved, provisioner(func(p *provisioningv1.Provisioner) { p.Status.FailedStarts[0].LaunchTemplateID = "lt-2" })},
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.ReadyTime != nil }},
	})
}
