package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// Copy is a copy of a pool with the controllers that run it. It reads the management
// cluster, keeps its writes to itself, and calls the AWS that its Surroundings have. There it starts
// from nothing: it has neither the status nor the AWS resources of its original, and it calls AWS
// without the identity of its Cluster.
type Copy struct {
	// Kind and Name identify the pool.
	Kind string
	Name client.ObjectKey
	// Created is true if the edit creates the pool.
	Created bool

	planner     *Planner
	target      target
	edits       []edit
	cluster     *cluster
	controllers controllers
}

// Surroundings hold what the controllers of a copy call.
type Surroundings struct {
	AWS   awssdk.Config
	Clock clock.WithTicker
	// Workloads reaches the cluster whose nodes the instances of the copy of an AWSMachinePool are. EKS
	// drains the nodes of AWSManagedMachinePools.
	Workloads machinepool.Workloads
}

// ErrNoCopy reports that an edit affects no pool.
var ErrNoCopy = errors.New("the edit affects no pool")

// Copies returns a copy of each pool that an edit affects. A copy is as its original is
// without the edit. It reads nothing before it is started.
func (p *Planner) Copies(ctx context.Context, edited ...client.Object) ([]*Copy, error) {
	edits, err := p.compare(ctx, edited)
	if err != nil {
		return nil, err
	}
	targets, err := p.targets(ctx, edits)
	if err != nil {
		return nil, err
	}
	var copies []*Copy
	for _, target := range targets {
		copies = append(copies, &Copy{Kind: target.kind.name, Name: target.name, Created: creates(edits, target), planner: p, target: target, edits: edits})
	}
	if len(copies) == 0 {
		return nil, ErrNoCopy
	}
	return copies, nil
}

// creates reports whether edits create a pool.
func creates(edits []edit, pool target) bool {
	return slices.ContainsFunc(edits, func(edit edit) bool {
		return edit.before == nil && edit.after.GetKind() == pool.kind.name && client.ObjectKeyFromObject(edit.after) == pool.name
	})
}

// PlanUnedited returns what is done for the original without the edit.
func (c *Copy) PlanUnedited(ctx context.Context) (Pool, error) {
	planner := c.planner.once()
	return planner.planPool(ctx, planner.Cluster, c.target, nil, nil)
}

// Start gives the copy its surroundings, and new controllers. It must be called first.
func (c *Copy) Start(in Surroundings) {
	c.cluster = newCluster(c.planner.Cluster, apiserver.New(c.planner.Kinds, in.Clock, 0))
	c.cluster.keep = original
	sessions := aws.NewSessions(in.AWS, aws.WithClock(in.Clock), aws.WithLimits(nil), aws.WithBackoff(time.Nanosecond))
	planner := *c.planner
	planner.MachinePoolMachines = false
	c.controllers = planner.newControllers(c.cluster, sessions, in.Clock, in.Workloads)
}

// original turns an object of the management cluster into the state that a copy starts from, and
// reports whether the copy has the object at all.
func original(object client.Object) bool {
	switch object := object.(type) {
	case *infrav1.AWSMachinePool:
		object.Status, object.Spec.ProviderID, object.Spec.ProviderIDList = infrav1.AWSMachinePoolStatus{}, "", nil
	case *infrav1.AWSManagedMachinePool:
		object.Status, object.Spec.ProviderIDList = infrav1.AWSManagedMachinePoolStatus{}, nil
	case *infrav1.AWSLaunchConfig:
		if metav1.GetControllerOf(object) != nil {
			return false // the copy of the pool creates its own
		}
		object.Status = infrav1.AWSLaunchConfigStatus{}
	case *capav1.AWSCluster:
		object.Spec.IdentityRef = nil
		return true
	case *eksv1.AWSManagedControlPlane:
		object.Spec.IdentityRef = nil
		return true
	case *infrav1.AWSMachinePoolMachine, *clusterv1.Machine, *capav1.AWSMachine:
		return false
	default:
		return true
	}
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, infrav1.TagSlipwayPrefix) || slices.Contains(steering, key)
	})
	object.SetAnnotations(annotations)
	return true
}

// steering are the annotations that name a version or a roll-out of the original.
var steering = []string{infrav1.ApprovedVersionAnnotation, infrav1.ApprovedByAnnotation, infrav1.RetryRolloutAnnotation}

// Edit makes the edit.
func (c *Copy) Edit(ctx context.Context) error {
	w := &world{cluster: c.cluster}
	for _, edit := range c.edits {
		err := error(nil)
		if edit.before == nil {
			err = w.applyOne(ctx, edit)
		} else {
			err = w.change(ctx, edit.after, edit.fields())
		}
		if err != nil {
			return fmt.Errorf("applying the edit of %s %q to the copy: %w", edit.after.GetKind(), edit.after.GetName(), err)
		}
	}
	return w.own(ctx, c.target)
}

// mostPasses bounds how often the controllers of a copy run while no time passes.
const mostPasses = 40

// Reconcile runs the controllers until they write nothing more. It returns the time until they should
// run again, zero if they do not ask for that, and the failure of the last run.
func (c *Copy) Reconcile(ctx context.Context) (again time.Duration, err error) {
	c.controllers.clouds.Sweep(ctx)
	for range mostPasses {
		before := c.cluster.server.Version()
		again, err = c.controllers.round(ctx, c.cluster, c.target)
		if c.cluster.server.Version() == before || ctx.Err() != nil {
			return again, err
		}
	}
	return again, fmt.Errorf("the controllers still write after %d passes", mostPasses)
}

// State holds what a pool shows about itself.
type State struct {
	Generation int64
	Conditions []metav1.Condition
	// Instances counts the instances that the pool shows, and Replicas is the number in its status.
	Instances, Replicas int
}

// State reads what the copy shows about itself.
func (c *Copy) State(ctx context.Context) (State, error) {
	pool, err := c.target.kind.read(ctx, c.cluster, c.Name)
	if err != nil {
		return State{}, err
	}
	state := State{Generation: pool.GetGeneration(), Conditions: pool.conditions}
	switch pool := pool.Object.(type) {
	case *infrav1.AWSMachinePool:
		state.Instances, state.Replicas = len(pool.Status.Instances), int(pool.Status.Replicas)
	case *infrav1.AWSManagedMachinePool:
		state.Instances, state.Replicas = len(pool.Status.Instances), int(pool.Status.Replicas)
	}
	return state, nil
}

// Cluster returns the management cluster of the copy.
func (c *Copy) Cluster() client.Client { return c.cluster }
