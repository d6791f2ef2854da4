package simulation

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/watches"
)

// Kinds of objects that a schedule can be about.
const (
	// SelfManaged schedules have an AWSMachinePool.
	SelfManaged = "AWSMachinePool"
	// Managed schedules have an AWSManagedMachinePool, and some have an AWSMachinePool as well.
	Managed = "AWSManagedMachinePool"
	// Provisioners schedules have a Provisioner, pods, and nodes.
	Provisioners = "Provisioner"
)

// poolKind holds what a schedule has to know about a kind of pools. Everything else is the same for
// all kinds: how the schedule goes, what a user edits in a launch template, and which instances,
// versions and configurations there have been.
type poolKind struct {
	// name is the kind in the API, and controller the name of its controller.
	name, controller string
	// empty returns an object to read a pool into, and template returns where a pool says what its
	// instances are launched with.
	empty    func() client.Object
	template func(pool client.Object) *infrav1.AWSLaunchTemplate

	// createForeign creates resources of another owner that have the names which the pool's would
	// get, and describeForeign describes them.
	createForeign   func(ctx context.Context, w *World, o *observer) error
	describeForeign func(ctx context.Context, w *World, o *observer) (string, error)
	// create creates the pool, and what Cluster API and CAPA would have created for it.
	create func(ctx context.Context, w *World, o *observer) error
	// register adds the kind's controller to a process.
	register func(p *poolProcess, o *observer, gate *gate, settings watches.Settings) error
	// groups returns the sweep of a cloud that observes the pool's groups.
	groups func(cloud *clouds.Cloud) *observe.Sweep[autoscalinggroup.Group]
	// deeds are what users and operators may do to the pool.
	deeds []deed
	// steeredDeeds are what they may do if the user also controls roll-outs.
	steeredDeeds []deed
	// answers are the deeds that a user does in answer to what the pool shows.
	answers []deed

	// changed notes what a change of the pool says.
	changed func(o *observer, pool client.Object)
	// owns reports whether an instance that was launched is the pool's, by its tags.
	owns func(o *observer, tags map[string]string) bool
	// happened notes an event in AWS that is not about an instance; nil if none concerns the pool.
	happened func(o *observer, event awssim.Event)
	// ended checks an instance that terminates.
	ended func(o *observer, id string, ended *instance)
	// afterCall checks the invariants that a call of the process may have broken.
	afterCall func(o *observer, action string)
	// unsettled returns how a pool differs from its spec, and left what is left of one that is gone.
	unsettled func(ctx context.Context, o *observer, pool client.Object) error
	left      func(ctx context.Context, w *World, o *observer) error
}
