package ownership

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/reconciling"
)

// AppliedAnnotation holds, as JSON, what a pool gave its Auto Scaling group in addition to what
// other clients may have given it. It distinguishes a hook, a target group, or a suspended process
// that was removed from the spec from one that another client added. Slipway writes it before it
// changes AWS, so that none is forgotten if the pass is interrupted.
const AppliedAnnotation = "slipway.infrastructure.cluster.x-k8s.io/applied"

// Applied describes the content of AppliedAnnotation. The lists are sorted.
type Applied struct {
	// Hooks are names of lifecycle hooks.
	Hooks []string `json:"hooks,omitempty"`
	// HooksDigest is the digest of the hooks that were last put. It is "" while they are being
	// changed.
	HooksDigest string `json:"hooksDigest,omitempty"`
	// Settings and Launches are the digests of the settings that the group was given last, and of
	// the launch parameters that it was given (autoscalinggroup: Desired.Digests). They only serve
	// to report changes made outside Slipway. An edit that failed half-way and was reverted is
	// mistaken for such a change.
	Settings string `json:"settings,omitempty"`
	Launches string `json:"launches,omitempty"`
	// Changed is when Settings or Launches last changed. AWS may still return the previous state of
	// the group shortly afterwards.
	Changed *metav1.Time `json:"changed,omitempty"`
	// TargetGroups are ARNs.
	TargetGroups []string `json:"targetGroups,omitempty"`
	// TrafficSources are identifiers.
	TrafficSources []string `json:"trafficSources,omitempty"`
	// Processes are the suspended processes.
	Processes []string `json:"processes,omitempty"`
	// Policies are ARNs of policies of the node role that the user asked for.
	Policies []string `json:"policies,omitempty"`
	// RoleDigest is the digest of the node role as it was last written. It is "" while the role is
	// being changed.
	RoleDigest string `json:"roleDigest,omitempty"`
}

// AppliedOf returns what was recorded. It returns the zero value if the annotation cannot be
// parsed, so that Slipway removes nothing.
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
