package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/providers"
)

// overlayAdvice names the overlay that installs CAPA without its controllers of pools.
const overlayAdvice = "config/beside-capa does this for every release of CAPA (docs/how-to/installation.md)."

// off reports whether CAPA's controllers of pools are off. It is not known if the gate has no truth value.
func (d Deployment) off() (off, known bool) {
	var args []string
	for _, container := range d.Containers {
		args = slices.Concat(args, container.Command, container.Args)
	}
	on, known := providers.Gate(args, providers.MachinePoolGate)
	return known && !on, known
}

// rolledOut reports whether no pod has an earlier configuration.
func (d Deployment) rolledOut() bool {
	return d.ObservedGeneration >= d.Generation && d.Existing == d.Updated && d.Updated >= d.Desired
}

// available reports whether all pods have the current configuration and serve.
func (d Deployment) available() bool { return d.rolledOut() && d.Available >= d.Desired }

// capaRuns reports whether a pod of CAPA's may have controllers of pools.
func (o Observed) capaRuns() bool {
	return slices.ContainsFunc(o.Deployments, func(d Deployment) bool {
		off, _ := d.off()
		return !off || !d.rolledOut()
	})
}

// capaServes reports whether CAPA's controllers of pools are on, and its pods serve its webhooks.
func (o Observed) capaServes() bool {
	return len(o.Deployments) > 0 && !slices.ContainsFunc(o.Deployments, func(d Deployment) bool {
		off, known := d.off()
		return off || !known || !d.available()
	})
}

// managerContainer returns the index of the container whose arguments turn feature gates on and off.
func (d Deployment) managerContainer() (int, bool) {
	if len(d.Containers) == 1 {
		return 0, true
	}
	i := slices.IndexFunc(d.Containers, func(c Container) bool { return c.Name == "manager" })
	return i, i >= 0
}

// decideStop turns CAPA's controllers of pools off.
func decideStop(d Deployment) Step {
	step := Step{Name: StopCAPA, Target: deploymentTarget(d.Namespace, d.Name), State: Blocked}
	step.Change = "Add the argument " + offArgument + ". Its pod is replaced."
	step.Nodes = "No node is replaced. CAPA no longer scales or replaces the nodes of pools, and manages clusters and control planes as before."
	off, known := d.off()
	container, found := d.managerContainer()
	byHand := "Add the argument " + offArgument + " to CAPA's manager yourself; " + overlayAdvice + again
	switch {
	case off && !d.rolledOut():
		step = done(step, Waiting, "CAPA's controllers of pools are off, and a pod with the earlier arguments still runs.")
	case off:
		step = done(step, Done, "CAPA's controllers of pools are off.")
	case !d.Marked:
		step.Found = fmt.Sprintf("The Deployment lacks the labels %s=%s and control-plane=%s, so it may not be CAPA's.", providers.Label, providers.CAPA, providers.CAPAManager)
		step.Remedy = "If it is CAPA's, set both labels. " + byHand
	case !known:
		step.Found, step.Remedy = "The feature gate MachinePool is neither true nor false.", byHand
	case !found:
		step.Found, step.Remedy = "The Deployment has several containers, and none is named manager.", byHand
	default:
		step.State, step.patch = Due, d.stop(container)
		step.Found = "CAPA's controllers of pools are on."
	}
	return step
}

// decideStart turns CAPA's controllers of pools on again, as they were.
func decideStart(d Deployment) Step {
	step := Step{Name: StartCAPA, Target: deploymentTarget(d.Namespace, d.Name), State: Blocked}
	step.Nodes = "No node is replaced, because every pool has the form that CAPA expects."
	off, known := d.off()
	switch {
	case d.Record != "":
		before, err := recorded[deploymentBefore](d.Object)
		if err != nil {
			return invalidRecord(step, err, "Remove the argument "+offArgument+" from the Deployment, and remove the annotation.")
		}
		step.State, step.patch = Due, d.start(before)
		step.Found, step.Change = "This migration turned CAPA's controllers of pools off.", "Restore the arguments of the Deployment. Its pod is replaced."
	case off, !known:
		step.Found = "CAPA's controllers of pools are off, and this command did not turn them off."
		step.Remedy = "Apply CAPA's released components with EXP_MACHINE_POOL=true and with `kubectl apply --server-side --force-conflicts`." + again
	case !d.available():
		step = done(step, Waiting, "CAPA's controllers of pools are on, and its pods are not available yet.")
	default:
		step = done(step, Done, "CAPA's controllers of pools are on.")
	}
	return step
}

// forPools returns the names of the webhooks that are called for pools.
func (c Configuration) forPools() []string {
	var names []string
	for _, webhook := range c.Webhooks {
		if webhook.Pools {
			names = append(names, webhook.Name)
		}
	}
	return names
}

// decideRemove removes CAPA's webhooks for pools from a configuration.
func decideRemove(o Observed, c Configuration) Step {
	step := Step{Name: RemoveWebhooks, Target: c.Kind + " " + c.Name, State: Blocked}
	step.Nodes = "No node is affected. Without CAPA's controllers of pools, nothing serves these webhooks, and the API server would refuse every edit of a pool."
	names := c.forPools()
	step.Change = "Remove the webhooks " + strings.Join(names, ", ") + "."
	byHand := "Remove these webhooks yourself; " + overlayAdvice + again
	mixed := slices.IndexFunc(c.Webhooks, func(w Webhook) bool { return w.Pools && !w.OnlyPools })
	foreign := slices.IndexFunc(c.Webhooks, func(w Webhook) bool { return w.Pools && !o.servedByCAPA(w) })
	var earlier hooksBefore
	var err error
	if c.Record != "" {
		earlier, err = recorded[hooksBefore](c.Object)
	}
	switch {
	case len(names) == 0:
		step = done(step, Done, "The configuration has no webhooks for pools.")
	case !c.Marked:
		step.Found = fmt.Sprintf("The configuration lacks the label %s=%s, so it may not be CAPA's.", providers.Label, providers.CAPA)
		step.Remedy = "If it is CAPA's, set the label. " + byHand
	case mixed >= 0:
		step.Found = fmt.Sprintf("Webhook %s is called for pools and for other kinds.", c.Webhooks[mixed].Name)
		step.Remedy = byHand
	case foreign >= 0:
		step.Found = fmt.Sprintf("Webhook %s does not call a Service in the namespace of CAPA's manager, so it may not be CAPA's.", c.Webhooks[foreign].Name)
		step.Remedy = byHand
	case err != nil:
		step = invalidRecord(step, err, "Remove the annotation.")
	default:
		step.State, step.Found, step.patch = Due, "CAPA has webhooks for pools.", c.remove(earlier)
	}
	return step
}

// servedByCAPA reports whether a webhook calls a Service next to a manager of CAPA's.
func (o Observed) servedByCAPA(w Webhook) bool {
	return slices.ContainsFunc(o.Deployments, func(d Deployment) bool { return d.Marked && d.Namespace == w.Namespace })
}

// decideRestoreAll restores the webhooks of every configuration.
func decideRestoreAll(o Observed) []Step {
	var steps []Step
	none := true
	for _, configuration := range o.Hooks {
		steps = append(steps, decideRestore(configuration))
		none = none && configuration.Record == "" && len(configuration.forPools()) == 0
	}
	if none {
		steps = append(steps, Step{
			Name: RestoreWebhooks, Target: "ValidatingWebhookConfiguration " + providers.CAPAValidatingWebhook, State: Blocked,
			Found: "CAPA has no webhooks for pools, and this command did not remove them.", Nodes: "No node is affected. CAPA does not check edits of pools.",
			Remedy: "Apply CAPA's released components with `kubectl apply --server-side --force-conflicts`." + again,
		})
	}
	return steps
}

// decideRestore adds the webhooks that were removed from a configuration.
func decideRestore(c Configuration) Step {
	step := Step{Name: RestoreWebhooks, Target: c.Kind + " " + c.Name, State: Due, Nodes: "No node is affected. CAPA checks edits of pools again."}
	if c.Record == "" {
		return done(step, Done, "The configuration has its webhooks.")
	}
	before, err := recorded[hooksBefore](c.Object)
	if err != nil {
		return invalidRecord(step, err, "Apply CAPA's released components, and remove the annotation.")
	}
	var names []string
	for _, removed := range before.Webhooks {
		names = append(names, removed.name())
	}
	step.Found, step.Change = "This migration removed webhooks of the configuration.", "Restore the webhooks "+strings.Join(names, ", ")+"."
	step.patch = c.restore(before)
	return step
}
