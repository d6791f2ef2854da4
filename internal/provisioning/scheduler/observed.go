package scheduler

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// The observations that decisions request, in the order in which a pass requests them.
const (
	// needRegion reads what the region sells, and where Provisioners can launch.
	needRegion reconcile.Need = "region"
	// needTemplates reads the launch templates that Provisioners and pods name, and what EC2 refuses
	// to launch from these and from the default launch templates.
	needTemplates reconcile.Need = "launch templates"
	// needRefusals reads what EC2 refuses to launch from the default launch templates of chosen nodes.
	needRefusals reconcile.Need = "refusals of default launch templates"
	// needTrials sends dry runs of planned launches.
	needTrials reconcile.Need = "dry runs of launches"
	// needRetry reads when something can be launched again that AWS does not launch now.
	needRetry reconcile.Need = "retry"
)

// Observed holds what was observed in a pass.
type Observed struct {
	// Behind is true while the cache does not show all ProvisionedNodes that were launched. Nothing
	// else was observed then.
	Behind bool
	// Cluster is the cluster as the cache has it, with the places that were promised to pods.
	Cluster *clusterstate.Cluster
	// HeedsNominations is true if the scheduler takes account of nominations by others.
	HeedsNominations bool
	// ClusterUID marks the instances of this cluster, and MostPods bounds how many pods a pass packs.
	ClusterUID string
	MostPods   int
	// Seed makes the names of this pass's launches unique.
	Seed string

	// Launches and Events are how many nodes may be launched, and how many events may be written, as
	// of the current decision.
	Launches, Events launcher.Allowance

	Region Region
	// Templates are the launch templates that Provisioners and pods name, by reference, and Defaults
	// the default launch templates that are known, by Provisioner.
	Templates map[constraints.Reference]NamedTemplate
	Defaults  map[string][]DefaultTemplate
	// Short are the offerings that AWS does not launch now.
	Short catalog.LastShortages
	// Ensured are the default launch templates that this pass ensured.
	Ensured map[defaultOf]EnsuredTemplate
	// Trials are the results of dry runs, in the order of the planned launches.
	Trials []Trial
	// Retry is the time until something can be launched again that AWS does not launch now; zero if
	// there is nothing.
	Retry time.Duration
}

// Region holds what the region sells, and where Provisioners can launch.
type Region struct {
	Provisioners []Provisioner
	Facts        catalog.Facts
	// Err is why the facts are not known.
	Err error
}

// Provisioner is a Provisioner that is not being deleted.
type Provisioner struct {
	Object *provisioningv1.Provisioner
	// Unusable is why it can launch nothing; "" if it can.
	Unusable string
	// Found are its subnets, and Places the subnets that nodes can be launched into.
	Found  []discovery.Subnet
	Places launcher.Places
}

// NamedTemplate is a launch template that a Provisioner or a pod names.
type NamedTemplate struct {
	Known templates.Known
	// Err is why it could not be read, now or before.
	Err error
	// Refused is why EC2 launches nothing from it; "" if it does. Parts are the offerings that EC2
	// does not launch from it.
	Refused string
	Parts   constraints.Refused
}

// DefaultTemplate is a default launch template that was ensured in an earlier pass.
type DefaultTemplate struct {
	Variant string
	Refused string
	Parts   constraints.Refused
}

// defaultOf names a default launch template.
type defaultOf struct{ Provisioner, Variant string }

// EnsuredTemplate is a default launch template that this pass ensured.
type EnsuredTemplate struct {
	Version provisioningv1.LaunchTemplateVersion
	// Err is why it could not be ensured.
	Err error
	// Tried is true once Refused was observed: why EC2 launches nothing from it.
	Tried   bool
	Refused string
}

// Trial holds the result of dry runs of launches from one source.
type Trial struct {
	// Refused is true if EC2 launches nothing from the launch template.
	Refused bool
	// Before and After are the offerings that EC2 does not launch from it, as they were known before
	// and after the dry runs.
	Before, After constraints.Refused
}

// Memory holds what a process remembers of earlier passes. Without it, the pods that wait get the
// same events again, pods with a place are packed again onto the same nodes, and metrics begin anew.
// A decision returns it as it is from then on.
type Memory struct {
	// Recovered is true once the nominations that an earlier process wrote were read.
	Recovered bool
	// Ready is since when nodes are ready, Movers are pods that leave their nodes.
	Ready  readySince
	Movers movers
	// Nominated are the nominations that were written.
	Nominated map[types.UID]nomination
	// Told are the pods with an event that no node is launched for them, and Tied the pods with an
	// event that they wait for one Node alone.
	Told, Tied told
	// Launched are pods with an event that their node is on its way, Failing the pods with an event
	// that its launch fails, and Stuck the pods with an event that they wait for a volume.
	Launched, Failing, Stuck told
	// WaitForVolumes is since when pods wait for a volume.
	WaitForVolumes stuck
	// Unkept are pods that a ready node has a place for.
	Unkept unkept
	// Pending is since when pods are pending. Metrics and rejected offerings
	// depend on it, and no choice of nodes does.
	Pending pending
	// Rejected is when the rejected offerings of each Provisioner were last written.
	Rejected map[string]time.Time
	// Window decides when a batch of pods is complete.
	Window launcher.Window
}
