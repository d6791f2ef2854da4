package scheduler

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// decideLaunches plans launches of the chosen nodes. Pods of nodes that cannot be launched after all
// get the reason. Dry runs show whether EC2 would launch the others.
func decideLaunches(in Input) Plan {
	plan := in.plan()
	draft := &plan.Draft
	draft.Result.Unplaced = slices.Clip(draft.Result.Unplaced) // so that the list of the earlier decision stays as it is
	// A launch takes addresses of the subnets, which all launches of a Provisioner share.
	places := map[string]launcher.Places{}
	names := newNames(in.Seen.Seed)
	for _, group := range bySource(draft.Result.New) {
		surroundings, err := surroundingsOf(in, group.source)
		if err == nil {
			if why := clusterstate.HeldBack(surroundings.Provisioner, in.Seen.Cluster.Provisioned, surroundings.Template, group.source.resources(), in.Now); why != "" {
				err = errors.New(why)
			}
		}
		if err != nil {
			draft.leave(group.nodes, aws.UserMessage(err))
			continue
		}
		if surroundings.Places != nil {
			if places[group.source.provisioner] == nil {
				places[group.source.provisioner] = surroundings.Places.Clone()
			}
			surroundings.Places = places[group.source.provisioner]
		}
		launches, homeless := launcher.Plan(group.nodes, surroundings, names)
		for pod, reason := range homeless {
			draft.Result.Unplaced = append(draft.Result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason, Cause: packing.CauseLaunch})
		}
		for _, launch := range launches {
			in.Memory.Pending.mark(launch)
		}
		if len(launches) > 0 {
			draft.Planned = append(draft.Planned, planned{group.source, surroundings, launches})
		}
	}
	if len(draft.Planned) > 0 {
		plan.Need(needTrials)
	}
	plan.Need(needRetry)
	plan.Then = decideTrials
	return plan
}

// sourceNodes are nodes from one source.
type sourceNodes struct {
	source source
	nodes  []packing.NewNode
}

// bySource returns nodes by their sources, in the order of their first nodes.
func bySource(nodes []packing.NewNode) []sourceNodes {
	var groups []sourceNodes
	at := map[source]int{}
	for i := range nodes {
		from := sourceOf(&nodes[i])
		if _, known := at[from]; !known {
			at[from] = len(groups)
			groups = append(groups, sourceNodes{source: from})
		}
		group := &groups[at[from]]
		group.nodes = append(group.nodes, nodes[i])
	}
	return groups
}

const (
	// suffixLength is the length of unique suffixes of names: there are 27 to the power of 10 of them.
	suffixLength = 10
	// letters are the characters of suffixes, which form no words.
	letters = "bcdfghjklmnpqrstvwxz2456789"
)

// newNames returns a function that returns a unique name with a prefix. The names follow from a seed.
func newNames(seed string) func(prefix string) string {
	number := 0
	return func(prefix string) string {
		number++
		digest := sha256.Sum256(fmt.Appendf(nil, "%s %d", seed, number))
		suffix := digest[:suffixLength]
		for i := range suffix {
			suffix[i] = letters[int(suffix[i])%len(letters)]
		}
		return strings.Join([]string{prefix, string(suffix)}, "-")
	}
}

// decideTrials launches the planned nodes that EC2 accepts according to dry runs. The pods of the
// others are packed anew, without what EC2 refuses.
func decideTrials(in Input) Plan {
	plan := in.plan()
	draft := &plan.Draft
	draft.Places = existing(in.Seen.Cluster, &draft.Result)
	if len(draft.Places) > 0 {
		plan.Do(addPlaces{draft.Places}, "pods fit on nodes that exist")
	}
	for i := range draft.Planned {
		one, trial := &draft.Planned[i], &in.Seen.Trials[i]
		accepted := slices.DeleteFunc(slices.Clone(one.launches), func(launch launcher.Launch) bool { return trial.refuses(launch) })
		if len(accepted) < len(one.launches) {
			draft.Refused = true // their pods get events as all other pods of the template do
			plan.Do(wake{one.source.provisioner}, "EC2 refuses to launch from launch template %s", one.surroundings.Template.ID)
		}
		for _, launch := range accepted {
			draft.Launched = true
			plan.Do(createNodes{launch}, "%d pods find no place on existing nodes", podsOf(launch))
		}
	}
	plan.Then = decideReports
	return plan
}

// refuses reports whether dry runs have shown that EC2 does not launch what a launch asks for.
func (t *Trial) refuses(launch launcher.Launch) bool {
	spec := &launch.Nodes[0].Spec
	return t.Refused || slices.ContainsFunc(spec.Offerings, func(o provisioningv1.NodeOffering) bool {
		offering := constraints.Offering{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: spec.CapacityType}
		return t.After.Why(offering) != "" && t.Before.Why(offering) == ""
	})
}

// podsOf returns how many pods a launch is for.
func podsOf(launch launcher.Launch) int {
	number := 0
	for _, pods := range launch.Pods {
		number += len(pods)
	}
	return number
}

// decideReturn opens the next batch, and decides when pods are considered again.
func decideReturn(in Input, plan *Plan) {
	draft := &plan.Draft
	if draft.Launched {
		plan.Memory.Window.Launched(in.Now, draft.Fresh)
	} else {
		plan.Memory.Window.Idle()
	}
	switch {
	case draft.Refused:
		plan.comeBack(0, "EC2 refuses a launch template")
	case draft.Over > 0:
		plan.comeBack(in.Seen.Launches.Next, fmt.Sprintf("%d nodes wait because no more are launched this minute", draft.Over))
	case slices.ContainsFunc(draft.Result.Deferred, in.Memory.isNew):
		plan.comeBack(0, "more pods wait than one pass looks at")
	case draft.Launched:
		plan.comeBack(tellAgain, "pods are to be told of their nodes")
	default:
		plan.comeBack(bindingTime, "the scheduler is to put the pods where there are places for them now")
	}
}
