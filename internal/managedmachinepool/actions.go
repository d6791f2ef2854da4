package managedmachinepool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// kubernetesAction is an action that writes to the management cluster. Its failure fails the pass,
// which is retried with growing delays.
type kubernetesAction interface{ inKubernetes() }

// kubernetes is embedded by kubernetesActions.
type kubernetes struct{}

func (kubernetes) inKubernetes() {}

// The actions on node groups.
type (
	// recordName records the name of the node group in status, before EKS is called with it:
	// whatever becomes of the spec afterwards, the node group is found again.
	recordName struct {
		kubernetes
		Name string
	}
	createNodegroup struct {
		reconcile.Creates
		Desired nodegroup.Desired
		Name    string
		// LostARN is the ARN of the node group of this name that was deleted outside Slipway, empty
		// if there was none, and Lost what is reported about it.
		LostARN, Lost string
	}
	adoptNodegroup struct {
		Group string
		Tags  map[string]string
	}
	// updateNodegroup has one of the two changes.
	updateNodegroup struct {
		Group   string
		Config  *nodegroup.ConfigChange
		Version *nodegroup.VersionChange
		Cause   string
	}
	tagNodegroup struct {
		Group   string
		Tags    map[string]string
		Retired []string
	}
	deleteNodegroup struct {
		Group string
		Event reconcile.Event
	}
	disownNodegroup struct{ Group string }
)

// The actions on the Auto Scaling group of a node group.
type (
	tagGroup struct {
		Group   string
		Tags    map[string]string
		Retired []string
	}
	changeHooks struct {
		Group   string
		Changes []lifecyclehook.Change
	}
	// watchInstances has the groups observed more or less often. It changes nothing in AWS.
	watchInstances struct{ Closely bool }
)

// The actions on the node role.
type (
	createRole struct {
		reconcile.Creates
		Desired noderole.Desired
	}
	changeRole struct{ Desired noderole.Desired }
	deleteRole struct{ Name string }
	// handOverRole leaves the role to another pool.
	handOverRole struct{ Name, Owner, Heir string }
)

// The actions on the launch config and its template.
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
	deleteTemplate struct {
		Owner    string
		Template launchtemplate.Template
	}
)

// The actions on the pool itself and its MachinePool.
type (
	recordInstances struct {
		kubernetes
		Generation  int64
		ProviderIDs []string
	}
	followAutoscaler struct {
		kubernetes
		MachinePool      string
		Before, Replicas int32
	}
)

func (a recordName) String() string      { return "record the name of node group " + a.Name }
func (a createNodegroup) String() string { return "create node group " + a.Name }
func (a adoptNodegroup) String() string  { return "take over node group " + a.Group }
func (a updateNodegroup) String() string { return "update node group " + a.Group + ": " + a.Cause }

func (a tagNodegroup) String() string {
	return fmt.Sprintf("tag node group %s: %s", a.Group, keysOf(a.Tags, a.Retired))
}
func (a deleteNodegroup) String() string { return "delete node group " + a.Group }
func (a disownNodegroup) String() string { return "take the owner tag from node group " + a.Group }

func (a tagGroup) String() string {
	return fmt.Sprintf("tag Auto Scaling group %s: %s", a.Group, keysOf(a.Tags, a.Retired))
}
func (a changeHooks) String() string { return fmt.Sprintf("change %d lifecycle hooks", len(a.Changes)) }

func (a watchInstances) String() string {
	if a.Closely {
		return "observe the node group often"
	}
	return "observe the node group rarely"
}

func (a createRole) String() string { return "create IAM role " + a.Desired.Name }
func (a changeRole) String() string { return "change IAM role " + a.Desired.Name }
func (a deleteRole) String() string { return "delete IAM role " + a.Name }

func (a handOverRole) String() string {
	return fmt.Sprintf("leave IAM role %s to AWSManagedMachinePool %s", a.Name, a.Heir)
}

func (a createLaunchConfig) String() string { return "create AWSLaunchConfig " + a.Config.Name }
func (a updateLaunchConfig) String() string { return "update AWSLaunchConfig " + a.Name }
func (a markReleased) String() string       { return "release AWSLaunchConfig " + a.Config }
func (a deleteLaunchConfig) String() string { return "delete AWSLaunchConfig " + a.Name }

func (a deleteTemplate) String() string {
	return fmt.Sprintf("delete launch template %s (%s)", a.Template.Name, a.Template.ID)
}

func (a recordInstances) String() string {
	return fmt.Sprintf("record %d instances", len(a.ProviderIDs))
}

func (a followAutoscaler) String() string {
	return fmt.Sprintf("set the replicas of MachinePool %s to %d", a.MachinePool, a.Replicas)
}

// keysOf lists the keys of tags that are set or removed.
func keysOf(tags map[string]string, retired []string) string {
	keys := slices.AppendSeq(slices.Clone(retired), maps.Keys(tags))
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ", ")
}
