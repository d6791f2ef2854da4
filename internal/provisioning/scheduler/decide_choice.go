package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
)

// mostRepacked bounds how often a pass packs anew without pods for which nothing is launched now.
const mostRepacked = 3

// decideChoice chooses nodes, with room for the pods that are expected. Pods whose nodes are held back
// because the last ones failed to start are left out then, so that pods that were packed together with
// them do not wait for what is wrong with those.
func decideChoice(in Input) Plan {
	plan := in.plan()
	draft := &plan.Draft
	isNew := func(pod *corev1.Pod) bool { return in.Memory.isNew(pod) }
	draft.Result = *launcher.Pack(draft.Problem, in.Memory.Window.Expected(draft.Fresh), isNew)
	failedStarts := slices.ContainsFunc(draft.Provisioners, func(u usable) bool { return len(u.object.Status.FailedStarts) > 0 })
	if !failedStarts || draft.Repacked == mostRepacked {
		endChoice(in, &plan)
		return plan
	}
	ensureDefaults(in, &plan)
	plan.Then = decideHeld
	return plan
}

// decideHeld has nodes chosen again without the pods whose nodes are held back, if there are some.
func decideHeld(in Input) Plan {
	plan := in.plan()
	draft := &plan.Draft
	held := heldBack(in)
	if len(held) == 0 {
		endChoice(in, &plan)
		return plan
	}
	uids := map[types.UID]bool{}
	for i := range held {
		uids[held[i].Pod.UID] = true
	}
	problem := *draft.Problem
	problem.Pods = slices.DeleteFunc(slices.Clone(problem.Pods), func(pod packing.Pod) bool { return uids[pod.UID] })
	draft.Problem, draft.Withheld = &problem, slices.Concat(draft.Withheld, held)
	draft.Repacked++
	plan.Packs = len(problem.Pods)
	plan.Then = decideChoice
	return plan
}

// heldBack returns the pods of the chosen nodes that wait because nodes for pods of their kind failed
// to start.
func heldBack(in Input) []packing.Unplaced {
	var held []packing.Unplaced
	for i := range in.Draft.Result.New {
		node := &in.Draft.Result.New[i]
		surroundings, err := surroundingsOf(in, sourceOf(node))
		if err != nil {
			continue // its pods get an event when the node is planned
		}
		for _, pod := range node.Pods {
			why := clusterstate.HeldBack(surroundings.Provisioner, in.Seen.Cluster.Provisioned, surroundings.Template, launcher.Awaited([]*corev1.Pod{pod}), in.Now)
			if why != "" {
				held = append(held, packing.Unplaced{Pod: pod, Reason: "waits, because " + why, Cause: packing.CauseLaunch})
			}
		}
	}
	return held
}

// endChoice completes the choice of nodes, and leaves out the nodes that may not be launched this
// minute.
func endChoice(in Input, plan *Plan) {
	draft := &plan.Draft
	draft.Result.Unplaced = slices.Concat(draft.Result.Unplaced, draft.Withheld, in.Seen.Cluster.Immovable())
	plan.Do(showBatch{len(draft.Fresh)}, "nodes were chosen")
	chosen := draft.Result.New
	draft.Over = max(len(chosen)-in.Seen.Launches.Left, 0)
	may := len(chosen) - draft.Over
	draft.leave(chosen[may:], fmt.Sprintf("no more than %d nodes are launched in a minute", in.Seen.Launches.PerMinute))
	draft.Result.New = chosen[:may]
	ensureDefaults(in, plan)
	plan.Then = decideLaunches
}

// leave has the pods of nodes wait, for a reason.
func (d *Draft) leave(nodes []packing.NewNode, why string) {
	reason := "waits, because " + why
	for i := range nodes {
		for _, pod := range nodes[i].Pods {
			d.Result.Unplaced = append(d.Result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason, Cause: packing.CauseLaunch})
		}
	}
}

// source holds what nodes are launched from by one call, except for their offerings.
type source struct {
	provisioner  string
	template     constraints.Reference
	version      int64
	architecture string
	// awaited are the extended resources that pods of the nodes request, in one string.
	awaited string
}

func sourceOf(node *packing.NewNode) source {
	return source{node.Ask.Provisioner, node.Ask.Template, node.Ask.Version, node.Architecture, strings.Join(launcher.Awaited(node.Pods), ",")}
}

// defaultOf names the default launch template of a source that has one.
func (s source) defaultOf() (defaultOf, error) {
	variant, err := variants.For(s.architecture, s.resources())
	return defaultOf{s.provisioner, variant}, err
}

// resources returns the extended resources that pods of the nodes request.
func (s source) resources() []string {
	if s.awaited == "" {
		return nil
	}
	return strings.Split(s.awaited, ",")
}

// ensureDefaults has the default launch templates of the chosen nodes ensured that this pass has not
// ensured yet, and requests what EC2 refuses to launch from them.
func ensureDefaults(in Input, plan *Plan) {
	planned := map[defaultOf]bool{}
	for i := range plan.Draft.Result.New {
		from := sourceOf(&plan.Draft.Result.New[i])
		if !from.template.IsDefault() {
			continue
		}
		of, err := from.defaultOf()
		if _, ensured := in.Seen.Ensured[of]; err != nil || ensured || planned[of] {
			continue
		}
		planned[of] = true
		plan.Do(ensureDefault{plan.Draft.usable(of.Provisioner).object, of.Variant}, "nodes of Provisioner %s are launched from it", of.Provisioner)
	}
	if len(planned) > 0 {
		plan.Need(needRefusals)
	}
}

// usable returns a Provisioner that may launch.
func (d *Draft) usable(provisioner string) *usable {
	return &d.Provisioners[slices.IndexFunc(d.Provisioners, func(u usable) bool { return u.object.Name == provisioner })]
}

// surroundingsOf returns what launches from a source need to know, or why nothing can be launched from
// it.
func surroundingsOf(in Input, from source) (launcher.Surroundings, error) {
	provisioner := in.Draft.usable(from.provisioner)
	s := launcher.Surroundings{
		Provisioner: provisioner.object, ClusterUID: in.Seen.ClusterUID, Places: provisioner.places,
		Resources: func(instanceType string) provisioningv1.ProvisionedResources {
			return resourcesOf(in.Draft.Problem.Types, instanceType)
		},
	}
	if from.template.IsDefault() {
		of, err := from.defaultOf()
		if err != nil {
			return launcher.Surroundings{}, err
		}
		template := in.Seen.Ensured[of]
		s.Template = template.Version
		switch {
		case template.Err != nil:
			return launcher.Surroundings{}, template.Err
		case template.Refused != "":
			return launcher.Surroundings{}, errors.New(template.Refused)
		}
		return s, nil
	}
	known := in.Seen.Templates[from.template].Known
	s.Template = provisioningv1.LaunchTemplateVersion{ID: known.ID, Version: from.version}
	if from.template != provisioner.layer.Template {
		s.Template.AskedVersion = from.template.Version
	}
	if known.FixesSubnet {
		s.Places = nil
	}
	return s, nil
}

func resourcesOf(types []packing.InstanceType, name string) provisioningv1.ProvisionedResources {
	at := slices.IndexFunc(types, func(t packing.InstanceType) bool { return t.Name == name })
	if at < 0 {
		return provisioningv1.ProvisionedResources{}
	}
	capacity := types[at].Capacity
	return provisioningv1.ProvisionedResources{CPU: capacity[corev1.ResourceCPU], Memory: capacity[corev1.ResourceMemory]}
}
