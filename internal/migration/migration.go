// Package migration moves the pools of a management cluster from Cluster API Provider AWS (CAPA) to
// Slipway and back (docs/how-to/migration.md). Observe reads the cluster. Decide is a pure function from
// what was observed to ordered steps, and each step that is due has a patch. Run applies the patch of the
// first step that is due, and decides again.
//
// Nothing is remembered between two runs: the cluster shows which steps are done. The package
// records each change to an object that is not Slipway's on the object itself, so that the way back
// restores it.
package migration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/preflight"
)

// Direction is the direction of a migration.
type Direction string

// The directions.
const (
	ToSlipway Direction = "to-slipway"
	ToCAPA    Direction = "to-capa"
)

// State is the state of a step.
type State string

// The states of a step. A waiting step depends on a controller, and a blocked step on the user. A step
// is skipped if the user left its object out.
const (
	Done    State = "done"
	Due     State = "due"
	Waiting State = "waiting"
	Blocked State = "blocked"
	Skipped State = "skipped"
)

// The names of the steps to Slipway, in their order.
const (
	CheckPool      = "check-pool"
	CheckAWS       = "check-aws"
	PauseCluster   = "pause-cluster"
	RemoveWebhooks = "remove-capa-webhooks"
	StopCAPA       = "stop-capa-controllers"
	InstallSlipway = "install-slipway"
	ResumeCluster  = "resume-cluster"
	TakeOverPool   = "take-over-pool"
)

// The names of the steps to CAPA, in their order. PauseCluster comes after ReleasePool, and
// ResumeCluster comes last.
const (
	PinImage           = "pin-image"
	ReleasePool        = "release-pool"
	UninstallSlipway   = "uninstall-slipway"
	RestoreDefinitions = "restore-capa-definitions"
	StartCAPA          = "start-capa-controllers"
	RestoreWebhooks    = "restore-capa-webhooks"
)

// Step is one step of a migration, for one object.
type Step struct {
	Name string `json:"name"`
	// Target is the kind and name of the object.
	Target string `json:"target"`
	State  State  `json:"state"`
	// Found describes why the step is in its state.
	Found string `json:"found"`
	// Change describes what the step changes, and Nodes what that means for nodes. Both are empty for a
	// step that changes nothing.
	Change string `json:"change,omitempty"`
	Nodes  string `json:"nodes,omitempty"`
	// Remedy describes what the user must do. It is empty unless the step is blocked.
	Remedy string `json:"remedy,omitempty"`

	// patch is what the step does. A step that is due has none while it depends on an earlier step.
	patch *patch
}

// Report holds the steps of a migration in their order.
type Report struct {
	Direction Direction `json:"direction"`
	// State is the state of the first step that is neither done nor skipped: done if there is none.
	State State  `json:"state"`
	Steps []Step `json:"steps"`
}

// Next returns the first step that is neither done nor skipped, nil if there is none.
func (r Report) Next() *Step {
	for i := range r.Steps {
		if state := r.Steps[i].State; state != Done && state != Skipped {
			return &r.Steps[i]
		}
	}
	return nil
}

// Count returns the number of steps in a state.
func (r Report) Count(state State) int {
	count := 0
	for i := range r.Steps {
		if r.Steps[i].State == state {
			count++
		}
	}
	return count
}

// patch changes one object, provided that it has not changed since it was observed.
type patch struct {
	APIVersion, Kind string
	Namespace, Name  string
	Operations       []operation
}

// operation is an operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Observed holds everything that steps are decided from.
type Observed struct {
	// Namespace is the namespace of Slipway's manager.
	Namespace string
	// Management is what preflight reads from the cluster, and Checks are its findings about Slipway's
	// installation.
	Management  preflight.Cluster
	Checks      []preflight.Finding
	Deployments []Deployment
	Hooks       []Configuration
	Clusters    []Cluster
	Pools       []Pool
	// AWSUnchecked is why takeovers were not tried with AWS, empty if they were.
	AWSUnchecked string
}

// Object holds what every patch needs to know about its object.
type Object struct {
	Namespace, Name string
	ResourceVersion string
	// Annotations is the number of annotations, and Record the value of BeforeMigrationAnnotation.
	Annotations int
	Record      string
}

// Deployment holds what matters of a Deployment of CAPA.
type Deployment struct {
	Object
	// Marked is true if its labels say that it is CAPA's manager.
	Marked                         bool
	Containers                     []Container
	Generation, ObservedGeneration int64
	// Desired, Existing, Updated, and Available are numbers of pods. Existing pods include terminating ones,
	// where the API server counts these.
	Desired, Existing, Updated, Available int32
}

// Container holds what matters of a container. Args is nil if the field is not set.
type Container struct {
	Name          string
	Command, Args []string
}

// Configuration holds what matters of a webhook configuration of CAPA.
type Configuration struct {
	Object
	Kind string
	// Marked is true if it has the label of CAPA.
	Marked   bool
	Webhooks []Webhook
}

// Webhook is one webhook of a configuration.
type Webhook struct {
	Name string
	// Pools is true if it is called for pools, and OnlyPools if it is called for nothing else.
	Pools, OnlyPools bool
	// Namespace is the namespace of the Service that it calls, empty if it calls a URL.
	Namespace string
	// Raw is the webhook as the API server returned it.
	Raw map[string]any
}

// Cluster holds what matters of a Cluster that has pools.
type Cluster struct {
	Object
	// Paused is spec.paused, nil if it is not set.
	Paused *bool
}

// Pool holds what matters of a pool.
type Pool struct {
	Object
	Kind, Cluster string
	// Resource is the name of the Auto Scaling group or node group that CAPA created for it.
	Resource string
	// ProviderID is the ARN in spec.providerID, and AdoptARN the one in the annotation.
	ProviderID, AdoptARN string
	// Refused is why the pool is not proven to be one of its cluster, empty if it is.
	Refused string
	// LeftOut is true if the pool has Cluster API's annotation for paused objects.
	LeftOut, Deleting bool
	// MachineKind is the kind of the objects that represent its instances.
	MachineKind string
	// SharedConfig is true if the pool refers to an AWSLaunchConfig, which CAPA lacks.
	SharedConfig bool
	// Owned is true if Slipway manages the pool, and Release if the user or this package asked Slipway to
	// release it.
	Owned, Release bool
	// OutsideData is true if bootstrap data is stored outside the launch template.
	OutsideData bool
	// Takeover is what Slipway would do with the pool, nil if that was not tried.
	Takeover *Takeover
	// Lookup is how the image is looked up, nil if it is not, and Image is the image that runs, empty while
	// it is not known.
	Lookup     *Lookup
	Image      string
	Generation int64
	// Adopted, Ready, RolledOut, and Released are conditions. They are empty if they are missing. Ready is
	// ASGReady or EKSNodegroupReady.
	Adopted, Ready, RolledOut, Released metav1.Condition
}

// Lookup holds the fields of spec.awsLaunchTemplate by which an image is looked up.
type Lookup struct {
	AMI               infrav1.AMIReference `json:"ami,omitzero"`
	ImageLookupFormat string               `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg    string               `json:"imageLookupOrg,omitempty"`
	ImageLookupBaseOS string               `json:"imageLookupBaseOS,omitempty"`
}

// Takeover describes what Slipway would do with a pool, given the objects and AWS. It is found by
// running Slipway's controllers over copies of both.
type Takeover struct {
	// Failed is why it could not be found out, empty if it was.
	Failed string
	// Problems are what keeps Slipway from taking the pool over.
	Problems []Problem
	// Creates is true if Slipway would create a group, because it found none.
	Creates bool
	// Account and Region are where it found none, empty unless Creates is true.
	Account, Region string
	// Replaced is the number of instances that Slipway would replace.
	Replaced int
	// Busy describes what AWS is doing with the group for another user or program, empty if nothing.
	Busy string
	// Adopted is the condition that the pool would have, empty if it would be missing.
	Adopted metav1.Condition
}

// Problem is a condition that would not be True.
type Problem struct{ Reason, Message string }
