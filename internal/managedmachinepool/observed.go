package managedmachinepool

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// input holds everything that a decision about an AWSManagedMachinePool is based on.
type input = reconcile.Input[*infrav1.AWSManagedMachinePool, Observed]

// Settings are set for the whole manager.
type Settings struct {
	// SettleWindow is how long what is wanted must not have changed before it is rolled out; zero
	// for no wait.
	SettleWindow time.Duration
	// NodeRolePath begins the IAM paths of node roles that are created, noderole.DefaultPath if
	// empty. NodeRoleBoundary is the ARN of the permissions boundary that they must have, empty for
	// none.
	NodeRolePath, NodeRoleBoundary string
}

// Observed holds what a pass knows in addition to the pool itself.
type Observed struct {
	Settings Settings
	// MachinePool owns the pool, nil if it does not yet or is gone.
	MachinePool *clusterv1.MachinePool
	// Cluster is the pool's, nil if it is gone. ClusterName is its name, as the MachinePool
	// has it, or as it was recorded before anything was created in AWS.
	Cluster     *clusterv1.Cluster
	ClusterName string
	// EKSCluster is the name of the EKS cluster, known as ClusterName is.
	EKSCluster string
	// Access is whether AWS can be called, and where.
	Access pool.Access

	Nodegroups
	// GroupErr is why it is not known which node group is the pool's: AWS did not answer, or a node
	// group that the pool names is not the pool's by its tags.
	GroupErr error
	// Fresh is true if EKS described the node groups in this pass. FreshErr is why it did not when a
	// decision needed that.
	Fresh    bool
	FreshErr error
	// LookDue is the time for which the last description of the node groups stays valid.
	LookDue time.Duration
	// Members and Leaving are the Auto Scaling groups of the node group and of the one that is being
	// replaced, nil while there is none to be seen.
	Members, Leaving *autoscalinggroup.Group
	// InMotion is true if the groups are observed as often as those in which something is expected
	// to happen.
	InMotion bool
	// Strays are the pool's node groups that no recorded and no derived name leads to.
	Strays Strays
	// Update is the update that status names, and Running the one that is under way.
	Update, Running Update
	// Started is the update that EKS started in this pass, nil if it started none.
	Started *nodegroup.Update

	// Sizes is whether the cache shows the present size.
	Sizes pool.Sizes
	// LaunchConfig is the one that the pool launches from.
	LaunchConfig pool.LaunchConfig
	// Shape is what a node of the pool has and is.
	Shape Shape
	// Subnets are where a new node group launches.
	Subnets Subnets
	// Differences are what differs between versions of the pool's launch template and the wanted
	// version, by number.
	Differences map[int64]string
	// Block is the Capacity Block that nodes run in.
	Block Block

	// Role is the node role, if it was read in this pass. RoleDue is when it is next read although
	// nothing asks for it.
	Role    Role
	RoleDue time.Time
	// Hooks are the lifecycle hooks of Members, if they were described in this pass. HooksDue is
	// when they are next described although nothing asks for it.
	Hooks    Hooks
	HooksDue time.Time

	// Leftovers is what a deleted or released pool may leave behind.
	Leftovers Leftovers
}

// Nodegroups are a pool's node groups, as EKS described them last.
type Nodegroups struct {
	// At is when, zero for never, and Asked the names that EKS was asked about.
	At    time.Time
	Asked []string
	// Group is the pool's, nil if there is none. FreeName is what a new one is called.
	Group    *nodegroup.Nodegroup
	FreeName string
	// Adopting is true if Cluster API Provider AWS created the node group, and it is this pool's and
	// not taken over yet.
	Adopting bool
	// Successor and Predecessor are the names that a replacement leads to and away from, empty
	// while there is none. Retiring is the node group that is being replaced.
	Successor, Predecessor string
	Retiring               *nodegroup.Nodegroup
}

// Strays are node groups that have the pool's owner tag, the oldest first.
type Strays struct {
	Read   bool
	Groups []*nodegroup.Nodegroup
	Err    error
}

// Update is an update of the node group, nil if EKS knows none.
type Update struct {
	Read   bool
	Update *nodegroup.Update
	Err    error
}

// Shape describes the capacity and the node info of a node.
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

// Block holds the time at which a Capacity Block expires, the zero time for never.
type Block struct {
	Read bool
	End  time.Time
	Err  error
}

// Role is an IAM role, nil if there is none of that name.
type Role struct {
	Read bool
	Name string
	Role *noderole.Role
	Err  error
	// Users are the other pools whose nodes have the role, as far as that matters.
	Users RoleUsers
}

// RoleUsers are the other pools whose nodes have a role of this pool.
type RoleUsers struct {
	// Heir is a pool of the same namespace, nil if there is none. One that is being deleted is
	// chosen only if all are.
	Heir *infrav1.AWSManagedMachinePool
	// Foreign is true if a pool of another namespace names the role.
	Foreign bool
}

// Hooks are the lifecycle hooks of an Auto Scaling group.
type Hooks struct {
	Read  bool
	Group string
	List  []lifecyclehook.Hook
	Err   error
}

// Leftovers lists what a deleted or released pool may leave behind.
type Leftovers struct {
	pool.Leftovers
	// RolesRead is true if the roles were read that the pool may have created.
	RolesRead bool
	Roles     []Role
}

// Needs of a decision.
const (
	needFresh       reconcile.Need = "the node groups as they are now"
	needUpdate      reconcile.Need = "the update of the node group"
	needRunning     reconcile.Need = "the update that is under way"
	needShape       reconcile.Need = "what a node is"
	needRole        reconcile.Need = "the node role"
	needDifferences reconcile.Need = "differences of launch template versions"
	needSubnets     reconcile.Need = "subnets"
	needStrays      reconcile.Need = "node groups of other names"
	needBlock       reconcile.Need = "when the Capacity Block expires"
	needHooks       reconcile.Need = "lifecycle hooks"
	needConfig      reconcile.Need = "the launch config past the cache"
	needTemplates   reconcile.Need = "launch templates without a launch config"
	needRoles       reconcile.Need = "roles that the pool may have created"
)
