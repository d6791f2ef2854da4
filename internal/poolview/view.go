// Package poolview computes what a user wants to know about a pool from its objects: which versions its
// instances run, how far a roll-out is, which drain is blocked and by what, and whether a human must act.
//
// It has no clients and no clock: callers read the objects. The commands that show pools and the web page
// use the same values, so that they cannot disagree.
package poolview

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Objects are the objects that a view is computed from. Exactly one of SelfManaged and Managed is set. The
// others may be missing.
type Objects struct {
	SelfManaged *infrav1.AWSMachinePool
	Managed     *infrav1.AWSManagedMachinePool
	// MachinePool is the owner of the pool, and Config the AWSLaunchConfig that the pool launches from.
	MachinePool *clusterv1.MachinePool
	Config      *infrav1.AWSLaunchConfig
	// Machines are the Machines of the pool, and Nodes the Nodes of the workload cluster. Both only add
	// the names of nodes.
	Machines []clusterv1.Machine
	Nodes    []corev1.Node
}

// View describes a pool.
type View struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Cluster   string `json:"cluster,omitempty"`
	// LaunchConfig is the name of the AWSLaunchConfig, and LaunchTemplateID the id of its template.
	LaunchConfig     string `json:"launchConfig,omitempty"`
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`
	// Group is the name of the Auto Scaling group, and Nodegroup the name of the EKS node group.
	Group     string `json:"group,omitempty"`
	Nodegroup string `json:"nodegroup,omitempty"`
	// State is the reason of the condition Converged, or Paused or Deleting. It is Pending for a pool that
	// has not been reconciled since its last edit.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Desired is the number of replicas that the MachinePool asks for. Replicas, Ready, and UpToDate are
	// the numbers of instances: all, those in service, and those with the wanted configuration.
	Desired  int32 `json:"desired"`
	Replicas int32 `json:"replicas"`
	Ready    int32 `json:"ready"`
	UpToDate int32 `json:"upToDate"`
	// WantedVersion is the version that the spec asks for, and PendingVersion the version that waits for
	// approval or for a dry run; zero if none does.
	WantedVersion  int64 `json:"wantedVersion,omitempty"`
	PendingVersion int64 `json:"pendingVersion,omitempty"`
	// RolloutsPaused is true if an annotation of the pool or of its AWSLaunchConfig pauses roll-outs.
	RolloutsPaused bool `json:"rolloutsPaused,omitempty"`
	// Versions are what the instances run, the wanted configuration first.
	Versions []Version `json:"versions"`
	// Rollout is the roll-out that is in progress, or the last one; nil if there was none, or if it is not
	// known what instances should run, such as after an edit that was refused.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Drains are the nodes that are being drained, as far as the conditions name them.
	Drains []Drain `json:"drains,omitempty"`
	// Problems are the conditions that are not as they should be, the most important first.
	Problems []Problem `json:"problems,omitempty"`
	// NeedsHuman is true if one of the problems is solved only by a human.
	NeedsHuman bool `json:"needsHuman"`
	// Writers are the field managers of the spec of the pool, its MachinePool, and an AWSLaunchConfig that it shares, the
	// newest first.
	Writers []Writer `json:"writers,omitempty"`
	// Instances of the pool, sorted by ID.
	Instances []Instance `json:"instances,omitempty"`
	// History lists the launches of the AWSLaunchConfig, newest first.
	History []Launch `json:"history,omitempty"`
}

// NodesText describes how many nodes a pool has.
func (v *View) NodesText() string {
	ready := fmt.Sprintf("%d of %d ready", v.Ready, v.Desired)
	if v.Ready > v.Desired { // a roll-out launches nodes before it terminates others
		ready = fmt.Sprintf("%d ready, %d wanted", v.Ready, v.Desired)
	}
	if slices.ContainsFunc(v.Problems, func(problem Problem) bool {
		return problem.Condition == infrav1.RolledOutCondition && problem.Status == string(metav1.ConditionUnknown)
	}) {
		return ready + ", the wanted configuration is not known"
	}
	return fmt.Sprintf("%s, %d of %d with the wanted configuration", ready, v.UpToDate, v.Replicas)
}

// Version is a launch template version with the number of instances that run it.
type Version struct {
	// Number of the version, zero for instances that were not launched from a template. TemplateID is set
	// if it belongs to another template than the pool's.
	Number     int64  `json:"number,omitempty"`
	TemplateID string `json:"templateID,omitempty"`
	// ImageID is the image that an override names.
	ImageID   string `json:"imageID,omitempty"`
	Instances int32  `json:"instances"`
	// Wanted is true if the version is the wanted configuration.
	Wanted bool `json:"wanted"`
	// Reason is why the version was created.
	Reason string `json:"reason,omitempty"`
}

// Rollout is the progress of the replacement of instances.
type Rollout struct {
	// Done of Total instances have the wanted configuration, which is Percent of them.
	Done    int32 `json:"done"`
	Total   int32 `json:"total"`
	Percent int32 `json:"percent"`
	// Status is the reason of the condition RolledOut, such as RollingOut or RefreshFailed. Active is true
	// while instances are replaced.
	Status string `json:"status"`
	Active bool   `json:"active"`
	// AWS is the status of the instance refresh or of the update of the node group, and ID its ID.
	AWS string `json:"aws,omitempty"`
	ID  string `json:"id,omitempty"`
	// Cause is why instances are replaced.
	Cause   string     `json:"cause,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// ETA is when the roll-out is complete; nil if that cannot be derived.
	ETA *Range `json:"eta,omitempty"`
}

// Range is a time between two times. Latest is nil if it is not bounded, such as while a drain is blocked.
type Range struct {
	Earliest time.Time  `json:"earliest"`
	Latest   *time.Time `json:"latest,omitempty"`
}

// Drain is a node that is being drained.
type Drain struct {
	Node     string `json:"node,omitempty"`
	Instance string `json:"instance"`
	// Waits is what the drain waits for.
	Waits string `json:"waits"`
	// Budgets are the PodDisruptionBudgets that hold pods of the node.
	Budgets []Budget `json:"budgets,omitempty"`
	// Since is when the drain began, and Until when the instance is terminated whether it is empty or not.
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// Blocked reports whether a PodDisruptionBudget holds pods of the node.
func (d Drain) Blocked() bool { return len(d.Budgets) > 0 }

// Budget is a PodDisruptionBudget that holds pods.
type Budget struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Pods is how many pods it holds on the node. Names are their names, as far as a caller has read them.
	Pods  int      `json:"pods"`
	Names []string `json:"names,omitempty"`
}

// Problem is a condition that is not as it should be.
type Problem struct {
	// Object is the kind and the name of the object that has the condition.
	Object    string     `json:"object"`
	Condition string     `json:"condition"`
	Status    string     `json:"status"`
	Reason    string     `json:"reason"`
	Message   string     `json:"message,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	// Meaning, Nodes, and Remedy are the documentation of the reason; empty for a reason that this program
	// does not know. Link is where the condition is documented, relative to the repository.
	Meaning string `json:"meaning,omitempty"`
	Nodes   string `json:"nodes,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	Link    string `json:"link"`
	// NeedsHuman is true if the problem is solved only by a human.
	NeedsHuman bool `json:"needsHuman"`
}

// Writer is a field manager of a spec.
type Writer struct {
	// Object is the kind of the object: of the pool, MachinePool, or AWSLaunchConfig.
	Object    string     `json:"object"`
	Manager   string     `json:"manager"`
	Operation string     `json:"operation"`
	Time      *time.Time `json:"time,omitempty"`
	// Fields are the fields of spec that it owns, at most mostFields.
	Fields []string `json:"fields,omitempty"`
}

// Instance is one instance of a pool.
type Instance struct {
	ID string `json:"id"`
	// Node is the name of its node, empty if that is not known.
	Node    string `json:"node,omitempty"`
	Version string `json:"version,omitempty"`
	// Wanted is true if the instance has the wanted configuration, as far as its version shows it.
	Wanted    bool   `json:"wanted"`
	Lifecycle string `json:"lifecycle,omitempty"`
	Health    string `json:"health,omitempty"`
	Zone      string `json:"zone,omitempty"`
	// Type is the instance type, empty if it is not recorded yet.
	Type string `json:"type,omitempty"`
}

// Launch is a configuration that instances were launched with.
type Launch struct {
	Version          int64      `json:"version"`
	LaunchTemplateID string     `json:"launchTemplateID,omitempty"`
	Launched         *time.Time `json:"launched,omitempty"`
	Created          *time.Time `json:"created,omitempty"`
	Cause            string     `json:"cause,omitempty"`
	Change           string     `json:"change,omitempty"`
	// By is the field manager whose edit the version was created for, or launched again for; empty if that
	// is not known. The API server keeps only the last edit of each manager.
	By string `json:"by,omitempty"`
	// Nodes is how many instances run the configuration now: of this pool, and of all pools.
	Nodes    int32 `json:"nodes"`
	AllNodes int32 `json:"allNodes"`
	// Outcome is what became of the launch.
	Outcome Outcome `json:"outcome"`
	// Deleted is true if no version with the configuration exists any longer.
	Deleted bool `json:"deleted,omitempty"`
}

// Outcome describes the result of a launch.
type Outcome string

// The outcomes.
const (
	// Current is the newest launch, which all instances run.
	Current Outcome = "Current"
	// InProgress is the newest launch, while instances are still replaced.
	InProgress Outcome = "InProgress"
	// Incomplete is the newest launch if some instances do not run it, and no roll-out replaces them now.
	Incomplete Outcome = "Incomplete"
	// RolledBack is a launch after which a roll-back followed.
	RolledBack Outcome = "RolledBack"
	// Replaced is a launch after which another one followed.
	Replaced Outcome = "Replaced"
)
