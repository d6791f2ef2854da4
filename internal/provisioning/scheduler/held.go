package scheduler

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// mostRepacked bounds how often a pass packs anew without pods for which nothing is launched now.
const mostRepacked = 3

// packUnheld packs, and packs again without the pods whose nodes are held back because the last
// ones failed to start: pods that were packed together with them do not wait for what is wrong with
// those.
func (r *Reconciler) packUnheld(ctx context.Context, p *pass, problem *packing.Problem, expected []packing.Pod) *packing.Result {
	result := r.pack(problem, expected)
	var waiting []packing.Unplaced
	for range mostRepacked {
		held := r.held(ctx, p, result.New)
		if len(held) == 0 {
			break
		}
		waiting = append(waiting, held...)
		uids := map[types.UID]bool{}
		for i := range held {
			uids[held[i].Pod.UID] = true
		}
		problem.Pods = slices.DeleteFunc(problem.Pods, func(pod packing.Pod) bool { return uids[pod.UID] })
		result = r.pack(problem, expected)
	}
	result.Unplaced = append(result.Unplaced, waiting...)
	return result
}

// held returns the pods of the chosen nodes that wait because nodes for pods of their kind failed to start.
func (r *Reconciler) held(ctx context.Context, p *pass, chosen []packing.NewNode) []packing.Unplaced {
	if !slices.ContainsFunc(p.provisioners, func(u usable) bool { return len(u.object.Status.FailedStarts) > 0 }) {
		return nil
	}
	var held []packing.Unplaced
	for i := range chosen {
		from := sourceOf(&chosen[i])
		surroundings, err := r.surroundings(ctx, p, from, launcher.Awaited(chosen[i].Pods))
		if err != nil {
			continue // its pods get an event when the node is planned
		}
		for _, pod := range chosen[i].Pods {
			why := clusterstate.HeldBack(surroundings.Provisioner, p.cluster.Provisioned, surroundings.Template, launcher.Awaited([]*corev1.Pod{pod}), r.Clock.Now())
			if why != "" {
				held = append(held, packing.Unplaced{Pod: pod, Reason: "waits, because " + why, Cause: packing.CauseLaunch})
			}
		}
	}
	return held
}
