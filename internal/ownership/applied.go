package ownership

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/reconciling"
)

// AppliedAnnotation holds what a pool gave its Auto Scaling group beside what others may have given
// it, as JSON. It is how a hook, a target group or a suspended process that left the spec is told
// from one of somebody else's. It is written before AWS is, so that none is forgotten if the pass
// dies between.
const AppliedAnnotation = "slipway.infrastructure.cluster.x-k8s.io/applied"

// Applied is what AppliedAnnotation holds. The lists are sorted.
type Applied struct {
	// Hooks are names of lifecycle hooks.
	Hooks []string `json:"hooks,omitempty"`
	// HooksDigest is that of the hooks as they were put last, "" from when they are about to change
	// until they have.
	HooksDigest string `json:"hooksDigest,omitempty"`
	// Settings and Launches are the digests of what the group was given last, and of what it was
	// given to launch (autoscalinggroup: Desired.Digests). Only for telling what somebody else
	// changed: an edit that failed half-way and was taken back is taken for that.
	Settings string `json:"settings,omitempty"`
	Launches string `json:"launches,omitempty"`
	// Changed is when Settings or Launches last became something else: what is seen of the group
	// shortly after may be from before.
	Changed *metav1.Time `json:"changed,omitempty"`
	// TargetGroups are ARNs.
	TargetGroups []string `json:"targetGroups,omitempty"`
	// TrafficSources are identifiers.
	TrafficSources []string `json:"trafficSources,omitempty"`
	// Processes are those that are suspended.
	Processes []string `json:"processes,omitempty"`
	// Policies are ARNs of policies of the node role that the user asked for.
	Policies []string `json:"policies,omitempty"`
	// RoleDigest is that of the node role as it was made last, "" from when something else is about
	// to be made of it until it has been.
	RoleDigest string `json:"roleDigest,omitempty"`
}

// AppliedOf is what was recorded, nothing if nobody can read it: then nothing is known to be ours
// to take away.
func AppliedOf(object client.Object) Applied {
	var applied Applied
	if json.Unmarshal([]byte(object.GetAnnotations()[AppliedAnnotation]), &applied) != nil {
		return Applied{}
	}
	return applied
}

// Record writes it into the annotation.
func (a Applied) Record(object client.Object) {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings alone: there is nothing that JSON cannot write
	}
	if string(text) == "{}" {
		text = nil
	}
	reconciling.SetAnnotation(object, AppliedAnnotation, string(text))
}

// Union is a list of both, sorted.
func Union(a, b []string) []string {
	union := slices.Concat(a, b)
	slices.Sort(union)
	return slices.Compact(union)
}
