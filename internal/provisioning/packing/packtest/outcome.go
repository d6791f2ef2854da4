package packtest

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Outcome returns a result in lines, equal for equal results.
func Outcome(result *packing.Result) []string {
	var lines []string
	for _, n := range result.New {
		lines = append(lines, fmt.Sprintf("new %s %v: %v", n.Ask.Group(), n.Options, Names(n.Pods)))
	}
	for name, placed := range result.Existing {
		lines = append(lines, fmt.Sprintf("existing %s: %v", name, Names(placed)))
	}
	for _, u := range result.Unplaced {
		lines = append(lines, fmt.Sprintf("unplaced %s: %s", u.Pod.Name, u.Reason))
	}
	lines = append(lines, fmt.Sprintf("deferred %v", Names(result.Deferred)))
	slices.Sort(lines)
	return lines
}

// Names of pods.
func Names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}
