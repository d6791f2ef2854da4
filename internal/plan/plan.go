// Package plan shows what an edit does to pools before it is made: which launch template versions are
// created, which instances are replaced and why, and what is changed in place.
//
// A plan runs the controllers themselves. They read the management cluster and AWS, and their
// writes go to copies: to an API server in memory, and to a forecast of AWS. So a plan is right by
// the same code that later does what it shows. It stops where the roll-out begins, because AWS
// performs what follows. The pace of a roll-out is computed from the group's settings.
//
// A plan changes nothing, neither in Kubernetes nor in AWS.
package plan

import (
	"context"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/forecast"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
	"github.com/slipway-project/slipway/internal/workload"
)

// Effect says what a change does to the nodes of a pool.
type Effect string

// The effects of a change.
const (
	// Replaces means that instances are replaced.
	Replaces Effect = "replaces nodes"
	// InPlace means that AWS resources change, and no instance is replaced now.
	InPlace Effect = "changes in place"
	// Nothing means that nothing changes in AWS.
	Nothing Effect = "no effect"
	// Together means that the effect of the change follows from others of the same edit.
	Together Effect = "with the other changes"
	// Fails means that the change keeps the pool from reaching its spec.
	Fails Effect = "fails"
	// Unknown means that the pool does not reach its spec without the edit either.
	Unknown Effect = "not known"
)

// Change is one field that an edit changes.
type Change struct {
	// Object is the kind and the name of the object, and Path the field in it.
	Object string `json:"object"`
	Path   string `json:"path"`
	// Old and New are the values as JSON, empty for none.
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	Effect Effect `json:"effect"`
}

// Step is one change to AWS.
type Step struct {
	// Object is the kind and the name of the object for which the step is done.
	Object string `json:"object"`
	// Action says what is done, and Reason why.
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	// Calls are the API actions that are called, such as ec2:CreateLaunchTemplateVersion.
	Calls []string `json:"calls"`
	// Replaces are the IDs of the instances that the step replaces or terminates.
	Replaces []string `json:"replaces,omitempty"`
	// SharedWith is an earlier pool of the plan that launches from the same AWSLaunchConfig, and whose
	// steps include this one. The step is done once for both.
	SharedWith string `json:"sharedWith,omitempty"`
}

// Problem is something that would keep a pool from reaching what its spec says.
type Problem struct {
	Object string `json:"object"`
	// Condition is the type of the condition that says so, empty for another failure.
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// Pool is the plan of one pool.
type Pool struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Instances is the number of instances that the pool has now.
	Instances int      `json:"instances"`
	Steps     []Step   `json:"steps"`
	Rollout   *Rollout `json:"rollout,omitempty"`
	Drains    *Drains  `json:"drains,omitempty"`
	Price     *Price   `json:"price,omitempty"`
	// Permissions are nil unless they were checked.
	Permissions *Permissions `json:"permissions,omitempty"`
	Problems    []Problem    `json:"problems,omitempty"`
}

// Replaced returns the IDs of the instances that are replaced, each once.
func (p Pool) Replaced() []string {
	var replaced []string
	for _, step := range p.Steps {
		for _, instance := range step.Replaces {
			if !slices.Contains(replaced, instance) {
				replaced = append(replaced, instance)
			}
		}
	}
	return replaced
}

// waits reports whether a pool waits for a user.
func (p Plan) waits() bool {
	return slices.ContainsFunc(p.Pools, func(pool Pool) bool { return len(pool.Problems) > 0 })
}

// failed reports whether something is wrong. A roll-out that waits for a user by the pool's spec is as
// it should be, and so are a paused pool, and a node group that EKS is updating.
func (p Pool) failed() bool {
	asWanted := []string{infrav1.RefreshDisabledReason, infrav1.RolloutPausedReason, infrav1.InstancesLeftReason, infrav1.RollingOutReason}
	return slices.ContainsFunc(p.Problems, func(problem Problem) bool {
		return problem.Condition != infrav1.RolloutApprovedCondition && problem.Condition != infrav1.PausedCondition && !slices.Contains(asWanted, problem.Reason)
	})
}

// Rollout is the pace of the replacement of instances.
type Rollout struct {
	// Replaced is how many instances are replaced.
	Replaced int `json:"replaced"`
	// AtOnce is how many instances AWS replaces at a time at most, and Batches in how many batches at
	// least.
	AtOnce  int `json:"atOnce"`
	Batches int `json:"batches"`
	// Order says who chooses the order.
	Order string `json:"order"`
	// Checkpoints are where the roll-out pauses.
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	// Left is how many instances are not replaced because the roll-out ends at its last checkpoint. AWS
	// chooses which.
	Left int `json:"left,omitempty"`
	// Stay are the instances that are not replaced, and Held those for which AWS waits an hour. Then the
	// roll-out fails.
	Stay []Aside `json:"stay,omitempty"`
	Held []Aside `json:"held,omitempty"`
	// AtLeast is how long the roll-out takes if every new instance is healthy at once and every drain
	// takes no time. AtMost is how long it takes if each drain takes as long as it may, and a new
	// instance takes startLimit to be in service. Both are zero for a node group: EKS drains its nodes,
	// and names no time for it.
	AtLeast Duration `json:"atLeast,omitzero"`
	AtMost  Duration `json:"atMost,omitzero"`
	// Expected is how long the roll-out takes by the earlier ones of this pool; nil if there are none.
	Expected *Expected `json:"expected,omitempty"`
}

// Checkpoint is where a roll-out pauses: when a percentage of the instances is new, so many are replaced.
type Checkpoint struct {
	Percentage int      `json:"percentage"`
	Replaced   int      `json:"replaced"`
	Delay      Duration `json:"delay"`
}

// Aside are instances that a roll-out treats differently, and why.
type Aside struct {
	Instances []string `json:"instances"`
	Reason    string   `json:"reason"`
}

// Duration is a time.Duration that is written as text, such as 12m30s.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the duration in minutes and seconds.
func (d Duration) String() string { return time.Duration(d).Round(time.Second).String() }

// Plan describes what an edit does.
type Plan struct {
	Changes []Change `json:"changes"`
	Pools   []Pool   `json:"pools"`
}

// Empty reports whether the edit changes nothing in AWS.
func (p Plan) Empty() bool {
	return !slices.ContainsFunc(p.Pools, func(pool Pool) bool { return len(pool.Steps) > 0 })
}

// Failed reports whether something keeps a pool from reaching what its spec says.
func (p Plan) Failed() bool {
	return slices.ContainsFunc(p.Pools, func(pool Pool) bool { return pool.failed() })
}

// Planner makes plans.
type Planner struct {
	// Cluster reads the management cluster.
	Cluster client.Reader
	// AWS is the configuration of the clients that read AWS. Nothing that changes AWS is sent.
	AWS awssdk.Config
	// Kinds are the rules of the API server in memory.
	Kinds *apiserver.Kinds
	Clock clock.WithTicker
	// SecretNamespace is the namespace of the Secrets of AWSClusterStaticIdentities.
	SecretNamespace string
	// SettleWindow is the manager's setting of that name. Changes that a group gets at once and
	// changes that wait for the window are different steps.
	SettleWindow time.Duration
	// MachinePoolMachines, NodeRolePath, and NodeRoleBoundary are the manager's settings of these names.
	MachinePoolMachines            bool
	NodeRolePath, NodeRoleBoundary string
	// Workloads reaches the workload clusters, to find what holds drains; nil to leave that out.
	Workloads *workload.Clusters
	// CheckPermissions has IAM simulate the policies of RoleARN for the calls of a plan, or of the
	// identity that AWS is read with if RoleARN is empty.
	CheckPermissions bool
	RoleARN          string
	// AtOnce is how many pools are planned at the same time; 0 for one after the other. The plan is the same.
	AtOnce int
	// Limits are the request budgets of the account. A read that exceeds them waits, and so does one that AWS
	// throttles. Without limits, the read of a plan that AWS throttles fails.
	Limits aws.Limits

	// sessions are the clients of AWS that all worlds of a plan share.
	sessions *aws.Sessions
	// ahead holds what their controllers will describe in AWS.
	ahead *forecast.Ahead
}

// mostChanges limits the number of changes of an edit that are tried one by one, to find out what
// each does.
const mostChanges = 12

// Plan returns what an edit of objects does. The objects are as the API server would store them; one
// without a UID is created. It fails if the management cluster cannot be read.
func (p *Planner) Plan(ctx context.Context, edited ...client.Object) (Plan, error) {
	p = p.once()
	edits, err := p.compare(ctx, edited)
	if err != nil {
		return Plan{}, err
	}
	targets, err := p.targets(ctx, edits)
	if err != nil {
		return Plan{}, err
	}
	p.readMany(ctx, targets)
	pools, err := p.planPools(ctx, targets, edits, &details{})
	if err != nil {
		return Plan{}, err
	}
	changes, err := p.effects(ctx, targets, edits, pools)
	markShared(pools)
	return Plan{Pools: pools, Changes: changes}, err
}
