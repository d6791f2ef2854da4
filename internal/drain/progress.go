package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Progress describes how far the drain of a node is.
type Progress struct {
	// Node is its name.
	Node string
	// Empty is true if nothing is left on it that has to leave.
	Empty bool
	// Gone is set if there is no such Node, or one of another instance: it was not seen empty.
	Gone bool
	// Ending are pods that leave within their grace period, those among them whose eviction was
	// just accepted.
	Ending int
	// Completing are pods that are waited for without being asked to leave.
	Completing int
	// Later are pods whose turn has not come.
	Later int
	// Protected are pods that are left alone until they are done, or until the deadline of the drain.
	Protected int
	// Mounted are the volumes of pods that have left, while the kubelet unmounts them.
	Mounted int
	// Unchecked are further Nodes that name the instance and were not seen empty yet.
	Unchecked int
	// Next is when a pod must be deleted, or the deadline comes; zero without a deadline.
	Next time.Time
	// Held counts the pods that a PodDisruptionBudget holds, by namespace and name of the budget.
	Held map[string]int
	// Failed counts the pods whose eviction failed, by the API server's words.
	Failed map[string]int
}

func (p *Progress) count(answer verdict) {
	switch {
	case answer.accepted:
		p.Ending++
	case answer.budget != "":
		if p.Held == nil {
			p.Held = map[string]int{}
		}
		p.Held[answer.budget]++
	case answer.failure != "":
		if p.Failed == nil {
			p.Failed = map[string]int{}
		}
		p.Failed[answer.failure]++
	}
}

// String says what is in the way, such as "2 pods held by PodDisruptionBudget default/web, 1 pod
// ending". It has no times in it, so that a condition can carry it.
func (p Progress) String() string {
	var parts []string
	add := func(count int, what string) {
		if count > 0 {
			parts = append(parts, pods(count)+" "+what)
		}
	}
	for _, budget := range slices.Sorted(maps.Keys(p.Held)) {
		add(p.Held[budget], "held by PodDisruptionBudget "+budget)
	}
	add(p.Ending, "ending")
	add(p.Completing, "to complete first")
	add(p.Protected, "with an annotation against disruption")
	for _, failure := range slices.Sorted(maps.Keys(p.Failed)) {
		add(p.Failed[failure], "not evicted: "+failure)
	}
	add(p.Later, "to be evicted after these pods")
	switch {
	case p.Mounted == 1:
		parts = append(parts, "1 volume to be unmounted")
	case p.Mounted > 1:
		parts = append(parts, fmt.Sprintf("%d volumes to be unmounted", p.Mounted))
	}
	if p.Unchecked > 0 {
		parts = append(parts, fmt.Sprintf("%d more Nodes name its instance and are checked first", p.Unchecked))
	}
	if len(parts) == 0 {
		return "no pods left"
	}
	return strings.Join(parts, ", ")
}

func pods(count int) string {
	if count == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", count)
}

// The time between two steps of a drain grows with its duration, within these bounds: pods that a
// PodDisruptionBudget protects do not leave faster if evictions are requested more often.
const (
	soonestLook = 5 * time.Second
	latestLook  = 30 * time.Second
)

// NextLook returns the time until the next step of a drain that has already taken some time.
func NextLook(elapsed time.Duration) time.Duration {
	return min(max(elapsed/6, soonestLook), latestLook)
}
