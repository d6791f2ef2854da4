package machinepool

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// input holds everything that a decision about an AWSMachinePool is based on.
type input = reconcile.Input[*infrav1.AWSMachinePool, Observed]

// Settings holds the settings of the manager.
type Settings struct {
	// SettleWindow is the time for which what is wanted must not have changed before it is rolled
	// out; zero for no wait.
	SettleWindow time.Duration
	// MachinePoolMachines gives instances Machines where the pool does not say.
	MachinePoolMachines bool
}

// Observed holds what a pass knows in addition to the pool itself.
type Observed struct {
	Settings Settings
	// MachinePool owns the pool, nil if it does not yet or is gone.
	MachinePool *clusterv1.MachinePool
	// Cluster is the pool's Cluster, nil if it is gone. ClusterName is its name, as the MachinePool
	// has it, or as it was recorded before anything was created in AWS.
	Cluster     *clusterv1.Cluster
	ClusterName string
	// Access is whether AWS can be called, and where.
	Access pool.Access

	// Group is the pool's Auto Scaling group, nil if there is none. FreeName is what a new one is called.
	Group    *autoscalinggroup.Group
	FreeName string
	// GroupErr is why it is not known which group is the pool's: AWS did not answer, or a group
	// that the pool names is not the pool's by its tags.
	GroupErr error
	// Candidate is a group that Cluster API Provider AWS created under the pool's name, nil if
	// there is none or it is the pool's already.
	Candidate *Candidate
	// Adopting is true if Cluster API Provider AWS created the group, and it is this pool's and not
	// taken over yet.
	Adopting bool
	// Fresh is true if AWS described the group in this pass. Earlier is the group as it was known before.
	Fresh   bool
	Earlier *autoscalinggroup.Group
	// InMotion is true if the group is observed as often as one in which something is expected to happen.
	InMotion bool
	// Warm is what the group's warm pool was seen to hold.
	Warm WarmPool

	// Sizes is whether the cache shows the present size.
	Sizes pool.Sizes
	// LaunchConfig is the one that the pool launches from.
	LaunchConfig pool.LaunchConfig
	// Shape is what a node of the pool has and is.
	Shape Shape
	// Subnets are the subnets that instances are launched into, as AWS knows them.
	Subnets Subnets
	// Overrides are the facts about the overrides of the mixed instances policy, in their order.
	// OverridesRead is true if they were looked up.
	Overrides     []Override
	OverridesRead bool

	// Hooks are the group's lifecycle hooks, if they were described in this pass. HooksDue is when
	// they are next described although nothing asks for it.
	Hooks    Hooks
	HooksDue time.Time
	// Refreshes are the group's instance refreshes.
	Refreshes Refreshes
	// Differences are what differs between versions of the pool's launch template and the wanted
	// version, by number.
	Differences map[int64]string
	// FailedLaunch is the newest launch that failed.
	FailedLaunch FailedLaunch
	// Readiness is which instances have Ready Nodes.
	Readiness Readiness

	// Machines are the objects that represent instances, by instance ID. Unwanted are Machines of
	// the MachinePool where instances should have none.
	Machines map[string]Machine
	Unwanted []metav1.PartialObjectMetadata
	// Nodes are what was found of Nodes in this pass, by instance ID.
	Nodes map[string]Node
	// Holds are what is known about the lifecycle hook's hold on instances, by instance ID.
	Holds map[string]Hold

	// Leftovers is what a deleted or released pool may leave behind.
	Leftovers pool.Leftovers
}

// Candidate is a group that may be adopted, with what says whether it may. Beyond the group,
// nothing is known unless the pool names it by its ARN.
type Candidate struct {
	Group *autoscalinggroup.Group
	// ProofErr is why the group is not proven to belong to the pool's namespace.
	ProofErr error
	// OtherPool is another pool that names the group by its ARN, empty if there is none.
	OtherPool string
	// AWSMachine is one that CAPA keeps for an instance of the pool (its feature
	// MachinePoolMachines), empty if there is none.
	AWSMachine string
}

// Shape describes a node: its capacity, architecture, and operating system.
type Shape struct {
	Known    bool
	Capacity infrav1.NodeCapacity
	NodeInfo *infrav1.NodeInfo
	Err      error
}

// Subnets are the IDs of subnets, sorted, or why they are not known.
type Subnets struct {
	Read bool
	IDs  []string
	Err  error
}

// Override holds what AWS knows about an override of a mixed instances policy.
type Override struct {
	// Reason is the reason of Err, the first thing about the override that could not be found or is
	// not allowed.
	Reason string
	Err    error
	// ImageID is the image of instances of the override, and Architecture the image's, empty if it
	// is not known.
	ImageID, Architecture string
	// InstanceType and Architectures describe the override's type, empty if AWS chooses types that
	// can run the image.
	InstanceType  string
	Architectures []string
}

// Hooks are lifecycle hooks.
type Hooks struct {
	Read bool
	List []lifecyclehook.Hook
	Err  error
}

// Refreshes are instance refreshes, newest first.
type Refreshes struct {
	Read bool
	// Latest is true if AWS was asked in this pass.
	Latest bool
	List   []autoscalinggroup.Refresh
	Err    error
	// Again is when AWS may be asked again about a refresh that is under way.
	Again time.Time
	// UnderWay is true if AWS refused to start a refresh in this pass or shortly before it, because
	// another one is under way.
	UnderWay bool
}

// WarmPool holds what was seen of a warm pool.
type WarmPool struct {
	Read bool
	// Latest is true if AWS was asked in this pass; At is when it was asked last.
	Latest bool
	At     time.Time
	// Instances are the instances that stay. Leaving are the ones on their way out, if AWS was asked
	// in this pass.
	Instances, Leaving []autoscalinggroup.Instance
	Err                error
}

// FailedLaunch is the newest launch that failed, nil if none did.
type FailedLaunch struct {
	Read   bool
	Launch *autoscalinggroup.FailedLaunch
	Err    error
	// Again is when AWS is asked again.
	Again time.Time
}

// Readiness is which Nodes of a workload cluster are Ready.
type Readiness struct {
	Read bool
	// Ready holds the provider IDs of Nodes that are Ready.
	Ready map[string]bool
	Err   error
}

// Node describes the Node of an instance, as this pass found it.
type Node struct {
	// Name is empty if there is no Node, or it is not known.
	Name string
	// Progress is how far its drain is, unless Failure says why that is not known.
	Progress drain.Progress
	Failure  string
	// Uncordoned is true if the Node was made schedulable again in this pass, or needs not be.
	Uncordoned bool
}

// Hold records what is known about the drain hook's hold on an instance, which AWS does not
// describe.
type Hold struct {
	// Extended is when the hold was last extended, zero if that is not known.
	Extended time.Time
	// Completed is true once AWS confirmed that the hook holds the instance no longer.
	Completed bool
	// Terminated is true once AWS accepted the termination of an instance that was retained.
	Terminated bool
	// Unanswered is the event about the completion of the hold, if AWS was asked for it and gave no answer.
	Unanswered *reconcile.Event
}

// Needs of a decision.
const (
	needFreshGroup   reconcile.Need = "the Auto Scaling group as it is now"
	needLatest       reconcile.Need = "the newest instance refreshes"
	needRefreshes    reconcile.Need = "instance refreshes"
	needHooks        reconcile.Need = "lifecycle hooks"
	needWarmPool     reconcile.Need = "instances of the warm pool"
	needWarmPoolNow  reconcile.Need = "instances of the warm pool as they are now"
	needSubnets      reconcile.Need = "subnets"
	needOverrides    reconcile.Need = "overrides"
	needShape        reconcile.Need = "what a node is"
	needDifferences  reconcile.Need = "differences of launch template versions"
	needFailedLaunch reconcile.Need = "failed launches"
	needReadiness    reconcile.Need = "which nodes are Ready"
	needConfig       reconcile.Need = "the launch config past the cache"
	needTemplates    reconcile.Need = "launch templates without a launch config"
)
