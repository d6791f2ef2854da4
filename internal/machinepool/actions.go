package machinepool

import (
	"fmt"
	"strings"

	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// kubernetesAction is an action that writes to the management cluster. Its failure fails the pass,
// which is retried with growing delays.
type kubernetesAction interface{ inKubernetes() }

// kubernetes is embedded by kubernetesActions.
type kubernetes struct{}

func (kubernetes) inKubernetes() {}

// The actions on the group.
type (
	createGroup struct {
		reconcile.Creates
		Desired autoscalinggroup.Desired
		Name    string
		// Lost is what is reported about the group before, if it was deleted outside Slipway.
		Lost string
	}
	updateGroup struct {
		Desired autoscalinggroup.Desired
		Changes []autoscalinggroup.Change
		// Outside is true if the group is set back to what it was given last.
		Outside bool
		// NotInPlace is why instances are replaced although the pool prefers new root volumes,
		// empty if it does not.
		NotInPlace string
	}
	tagGroup struct {
		Desired autoscalinggroup.Desired
		Keys    []string
		Outside bool
	}
	changeHooks struct {
		Changes []lifecyclehook.Change
		Outside bool
	}
	adoptGroup struct {
		Group     string
		Instances int
		Tags      map[string]string
	}
	disownGroup struct {
		Group        string
		Hooks        []lifecyclehook.Hook
		RetiredHooks []string
	}
	// watchInstances has the group observed more or less often. It changes nothing in AWS.
	watchInstances struct {
		Group   string
		Closely bool
	}
)

// The actions of a deletion.
type (
	emptyOut struct {
		Group     string
		Instances int
	}
	deleteWarmPool  struct{ Group string }
	lowerProtection struct{ Group, Level string }
	stopRetaining   struct{ Group string }
	deleteGroup     struct {
		Group     string
		Instances int
	}
	deleteTemplate struct {
		Owner    string
		Template launchtemplate.Template
	}
)

// The actions of a roll-out.
type (
	startRefresh struct {
		Group     string
		Replacing autoscalinggroup.Replacing
		// Cause describes why the refresh replaces something, and What describes to users what it
		// replaces.
		What, Cause string
		// Outdated are the IDs of the instances that run something else than what is wanted.
		Outdated []string
	}
	cancelRefresh struct {
		Group, ID, Cause string
		// Paused is true if the user pauses roll-outs, and Broken if nodes with the desired configuration
		// do not become Ready. Otherwise a newer configuration is desired.
		Paused, Broken bool
	}
	protectInstances struct {
		Group     string
		Instances []string
		// Protect is false if protection is given up.
		Protect bool
	}
	rollBack struct {
		kubernetes
		Config   string
		Rollback infrav1.Rollback
	}
)

// note is an instance with what is reported about it, nil for nothing.
type note struct {
	Instance string
	Event    *reconcile.Event
}

// The actions of a drain.
type (
	drainSome     struct{ Instances []autoscalinggroup.Instance }
	uncordonNodes struct{ Instances []autoscalinggroup.Instance }
	recordDrain   struct {
		kubernetes
		Since  map[string]time.Time
		Events []reconcile.Event
		// Told lists the instances whose event waited until they were seen to have gone.
		Told []string
	}
	completeHooks struct {
		Group      string
		Departures []note
	}
	extendHolds struct {
		Group     string
		Instances []string
	}
	retainInstances struct {
		Group      string
		Departures []note
	}
	terminateRetained struct {
		Group     string
		Instances []string
	}
	releaseWarm struct {
		Group     string
		Instances []string
	}
	// reportDepartures reports instances that go with their group. It changes nothing.
	reportDepartures struct{ Departures []note }
)

// ending is an instance that is terminated, by which its group shrinks or which it replaces.
type ending struct {
	Instance string
	Shrink   bool
}

// The actions on Machines, all by instance ID.
type (
	terminateInstances struct {
		Group     string
		Instances []ending
	}
	deleteMachines struct {
		kubernetes
		Instances []string
	}
	syncMachines struct {
		kubernetes
		MachinePool, Cluster string
		Create, Show         []autoscalinggroup.Instance
		Delete, Drop         []string
	}
	removeMachines struct {
		kubernetes
		Instances []string
		// Machines are names.
		Machines []string
	}
	dropInstances struct {
		kubernetes
		Instances []string
	}
)

// The actions on the launch config.
type (
	createLaunchConfig struct {
		kubernetes
		Config *infrav1.AWSLaunchConfig
	}
	updateLaunchConfig struct {
		kubernetes
		Name                string
		Spec                infrav1.AWSLaunchConfigSpec
		Labels, Annotations map[string]string
	}
	markReleased struct {
		kubernetes
		Config string
	}
	deleteLaunchConfig struct {
		kubernetes
		Name string
	}
)

// The actions on the pool itself and its MachinePool.
type (
	recordInstances struct {
		kubernetes
		Generation  int64
		ProviderID  string
		ProviderIDs []string
		Annotations map[string]string
	}
	followAutoscaler struct {
		kubernetes
		MachinePool      string
		Before, Replicas int32
	}
)

func (a createGroup) String() string { return "create Auto Scaling group " + a.Name }
func (a updateGroup) String() string {
	return "update the Auto Scaling group: " + strings.Join(autoscalinggroup.Effects(a.Changes), "; ")
}
func (a tagGroup) String() string    { return "tag the Auto Scaling group: " + strings.Join(a.Keys, ", ") }
func (a changeHooks) String() string { return fmt.Sprintf("change %d lifecycle hooks", len(a.Changes)) }
func (a adoptGroup) String() string  { return "adopt Auto Scaling group " + a.Group }
func (a disownGroup) String() string {
	return "leave Auto Scaling group " + a.Group + " to Cluster API Provider AWS"
}
func (a emptyOut) String() string    { return "empty Auto Scaling group " + a.Group }
func (a deleteGroup) String() string { return "delete Auto Scaling group " + a.Group }
func (a startRefresh) String() string {
	return "start an instance refresh of Auto Scaling group " + a.Group
}

// Replaced implements reconcile.Replaces. Warm instances are no nodes.
func (a startRefresh) Replaced() []string { return a.Outdated }

func (a cancelRefresh) String() string {
	return "cancel instance refresh " + a.ID
}
func (a rollBack) String() string { return fmt.Sprintf("go back to version %d", a.Rollback.Version) }
func (a deleteWarmPool) String() string {
	return "delete the warm pool of Auto Scaling group " + a.Group
}

func (a lowerProtection) String() string {
	return fmt.Sprintf("set the deletion protection of Auto Scaling group %s to %s", a.Group, a.Level)
}

func (a stopRetaining) String() string {
	return fmt.Sprintf("have Auto Scaling group %s retain no instances", a.Group)
}
func (a deleteTemplate) String() string { return "delete launch template " + a.Template.ID }

func (a watchInstances) String() string {
	if a.Closely {
		return "watch Auto Scaling group " + a.Group + " closely"
	}
	return "watch Auto Scaling group " + a.Group + " at rest"
}

func (a protectInstances) String() string {
	if a.Protect {
		return "protect " + named(a.Instances) + " from scale-in"
	}
	return "give up the protection of " + named(a.Instances) + " from scale-in"
}

func (a drainSome) String() string { return "drain the nodes of " + named(instanceIDs(a.Instances)) }
func (a uncordonNodes) String() string {
	return "uncordon the nodes of " + named(instanceIDs(a.Instances))
}
func (a recordDrain) String() string { return "record which nodes are being drained" }
func (a completeHooks) String() string {
	return "complete the lifecycle action of " + named(notedIDs(a.Departures))
}
func (a extendHolds) String() string { return "extend the lifecycle action of " + named(a.Instances) }

func (a retainInstances) String() string {
	return "abandon the termination of " + named(notedIDs(a.Departures))
}
func (a terminateRetained) String() string {
	return "terminate retained instances " + named(a.Instances)
}
func (a releaseWarm) String() string {
	return "complete the lifecycle action of warm instances " + named(a.Instances)
}
func (a reportDepartures) String() string { return "report " + named(notedIDs(a.Departures)) }

func (a terminateInstances) String() string {
	return "terminate " + counted(len(a.Instances))
}

// Replaced implements reconcile.Replaces.
func (a terminateInstances) Replaced() []string {
	ids := make([]string, 0, len(a.Instances))
	for _, one := range a.Instances {
		ids = append(ids, one.Instance)
	}
	return ids
}
func (a deleteMachines) String() string { return "delete the Machines of " + named(a.Instances) }
func (a syncMachines) String() string {
	return fmt.Sprintf("keep AWSMachinePoolMachines: create %d, delete %d, remove %d, update %d", len(a.Create), len(a.Delete), len(a.Drop), len(a.Show))
}
func (a removeMachines) String() string { return fmt.Sprintf("remove %d Machines", len(a.Instances)) }
func (a dropInstances) String() string {
	return fmt.Sprintf("remove the AWSMachinePoolMachines of %s", named(a.Instances))
}
func (a createLaunchConfig) String() string { return "create AWSLaunchConfig " + a.Config.Name }
func (a updateLaunchConfig) String() string { return "update AWSLaunchConfig " + a.Name }
func (a markReleased) String() string       { return "release AWSLaunchConfig " + a.Config }
func (a deleteLaunchConfig) String() string { return "delete AWSLaunchConfig " + a.Name }
func (a recordInstances) String() string {
	return "record " + counted(len(a.ProviderIDs))
}

func (a followAutoscaler) String() string {
	return fmt.Sprintf("set the replicas of MachinePool %s to %d", a.MachinePool, a.Replicas)
}

func notedIDs(notes []note) []string {
	ids := make([]string, 0, len(notes))
	for _, one := range notes {
		ids = append(ids, one.Instance)
	}
	return ids
}
