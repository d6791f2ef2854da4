package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/providers"
)

func decideClusterAPI(o Observed) Finding {
	if why := o.Cluster.DefinitionsUnread; why != nil {
		return unread("Custom resource definitions", why)
	}
	const nodes = "The manager does not start, so it reconciles no pool. Existing nodes keep running."
	var missing, unserved []string
	for _, name := range clusterAPIDefinitions {
		switch definition, exists := o.Cluster.Definitions[name]; {
		case !exists:
			missing = append(missing, name)
		case !slices.Contains(definition.Served, clusterAPIVersion):
			unserved = append(unserved, name)
		}
	}
	switch {
	case len(missing) > 0:
		return Finding{
			Result: Failed, Message: fmt.Sprintf("Cluster API is not installed completely. Missing custom resource definitions: %s.", list(missing)),
			Nodes: nodes, Remedy: "Install Cluster API with `clusterctl init`.",
		}
	case len(unserved) > 0:
		return Finding{
			Result: Failed, Message: fmt.Sprintf("The API server does not serve version %s of %s.", clusterAPIVersion, list(unserved)),
			Nodes: nodes, Remedy: fmt.Sprintf("Upgrade Cluster API with `clusterctl upgrade apply` to a release that serves %s.", clusterAPIVersion),
		}
	}
	for _, deployment := range o.Cluster.ClusterAPI {
		if on, known := providers.Gate(deployment.Args, providers.MachinePoolGate); known && !on {
			return Finding{
				Result:  Failed,
				Message: fmt.Sprintf("The feature gate %s of Deployment %s is off.", providers.MachinePoolGate, deployment.name()),
				Nodes:   "Cluster API refuses new MachinePools and does not reconcile existing ones, so pools get no bootstrap data. Existing nodes keep running.",
				Remedy:  fmt.Sprintf("Set --feature-gates=%s=true in the arguments of the Deployment (EXP_MACHINE_POOL=true for clusterctl).", providers.MachinePoolGate),
			}
		}
	}
	return ok("Cluster API serves %s of Cluster, MachinePool, and Machine.", clusterAPIVersion)
}

// name returns the namespace and name. Both come from the API server, which limits their characters.
func (d Deployment) name() string { return d.Namespace + "/" + d.Name }

func decideCAPAControllers(o Observed) Finding {
	if why := o.Cluster.DeploymentsUnread; why != nil {
		return unread("Deployments", why)
	}
	if len(o.Cluster.CAPA) == 0 {
		return withoutCAPA(o)
	}
	const remedy = "Run `slipway migrate capa`, which pauses clusters meanwhile, or add --feature-gates=MachinePool=false,MachinePoolMachines=false " +
		"to the arguments of the Deployment, and wait until its pod has been replaced. " +
		"config/beside-capa does this for every release of CAPA (docs/how-to/installation.md)."
	var running, unclear []string
	for _, deployment := range o.Cluster.CAPA {
		switch on, known := providers.Gate(deployment.Args, providers.MachinePoolGate); {
		case deployment.Replicas == 0:
		case !known:
			unclear = append(unclear, deployment.name())
		case on:
			running = append(running, deployment.name())
		}
	}
	switch {
	case len(running) > 0:
		return Finding{
			Result:  Failed,
			Message: fmt.Sprintf("CAPA's controllers of pools are on: the feature gate %s of Deployment %s is not false.", providers.MachinePoolGate, list(running)),
			Nodes:   "Two controllers write the same pools. CAPA creates its own launch template versions and rolls them out, which replaces nodes.",
			Remedy:  remedy,
		}
	case len(unclear) > 0:
		return Finding{
			Result:  Warning,
			Message: fmt.Sprintf("The feature gate %s of Deployment %s is neither true nor false.", providers.MachinePoolGate, list(unclear)),
			Nodes:   "If CAPA's controllers of pools are on, two controllers write the same pools, which replaces nodes.",
			Remedy:  remedy,
		}
	}
	return ok("CAPA's controllers of pools are off.")
}

// withoutCAPA returns the finding of a cluster in which no Deployment is known to be CAPA's. CAPA may run
// without clusterctl's label, or in another cluster.
func withoutCAPA(o Observed) Finding {
	found := slices.DeleteFunc(slices.Clone(capaDefinitions), func(name string) bool {
		_, exists := o.Cluster.Definitions[name]
		return !exists
	})
	if len(found) == 0 {
		return skipped("Cluster API Provider AWS is not installed.")
	}
	return Finding{
		Result: Warning,
		Message: fmt.Sprintf("CAPA's definitions exist (%s), but no Deployment has the label %s=%s, or is %s/%s.",
			list(found), providers.Label, providers.CAPA, providers.CAPANamespace, providers.CAPAManager),
		Nodes: "If CAPA runs nevertheless, and its controllers of pools are on, two controllers write the same pools, which replaces nodes. " +
			"If it does not run, new clusters have no network and no control plane.",
		Remedy: "If CAPA runs, make sure that its arguments have --feature-gates=MachinePool=false,MachinePoolMachines=false, " +
			"and set the label so that this command and `slipway migrate capa` find it.",
	}
}

func decideCAPAWebhooks(o Observed) Finding {
	if why := o.Cluster.HooksUnread; why != nil {
		return unread("Webhook configurations", why)
	}
	if len(o.Cluster.CAPAHooks) > 0 {
		return Finding{
			Result:  Failed,
			Message: fmt.Sprintf("CAPA has webhooks for pools: %s.", list(o.Cluster.CAPAHooks)),
			Nodes: "While CAPA's controllers of pools are off, nothing serves these webhooks, and the API server refuses every edit of a pool. " +
				"While they are on, they reject fields that only Slipway has. Existing nodes keep running.",
			Remedy: "Run `slipway migrate capa`, or delete CAPA's webhook configurations, and apply CAPA's components again without the webhooks for pools " +
				"(config/beside-capa; docs/how-to/installation.md has the commands).",
		}
	}
	return ok("CAPA has no webhooks for pools.")
}

// Installed reports whether anything of Slipway is in the cluster.
func (c Cluster) Installed() bool {
	return c.Manager != nil || len(c.Hooks) > 0 || slices.ContainsFunc(ownDefinitions, func(name string) bool {
		_, exists := c.Definitions[name]
		return exists
	})
}

// SharedDefinitions returns which of the definitions that CAPA has too are Slipway's, which are CAPA's,
// and which are missing.
func (c Cluster) SharedDefinitions() (slipways, capas, missing []string) {
	for _, name := range sharedDefinitions {
		switch definition, exists := c.Definitions[name]; {
		case !exists:
			missing = append(missing, name)
		case slices.Contains(definition.Fields, distinctiveField):
			slipways = append(slipways, name)
		default:
			capas = append(capas, name)
		}
	}
	return slipways, capas, missing
}

// lacking returns the fields that Slipway's definitions lack.
func (c Cluster) lacking() []string {
	var fields []string
	for _, name := range slices.Concat(sharedDefinitions, ownDefinitions) {
		kind, _, _ := strings.Cut(name, ".")
		for _, field := range c.Definitions[name].Lacking {
			fields = append(fields, field+" of "+kind)
		}
	}
	return fields
}

func decideSlipwayCRDs(o Observed) Finding {
	if why := o.Cluster.DefinitionsUnread; why != nil {
		return unread("Custom resource definitions", why)
	}
	var missing, outdated []string
	_, foreign, _ := o.Cluster.SharedDefinitions()
	for _, name := range slices.Concat(sharedDefinitions, ownDefinitions) {
		switch definition, exists := o.Cluster.Definitions[name]; {
		case !exists:
			missing = append(missing, name)
		case slices.Contains(foreign, name):
		case definition.Storage != slipwayVersion || !slices.Contains(definition.Served, slipwayVersion):
			outdated = append(outdated, name)
		}
	}
	const remedy = "Apply Slipway's definitions with `kubectl apply --server-side --force-conflicts`. Do not delete definitions: that deletes every pool."
	switch {
	case !o.Cluster.Installed() && len(foreign) > 0:
		return skipped("Slipway is not installed. The installation replaces CAPA's definitions of %s, and keeps the stored pools.", list(foreign))
	case !o.Cluster.Installed():
		return skipped("Slipway is not installed.")
	case len(foreign) > 0:
		return Finding{
			Result:  Failed,
			Message: fmt.Sprintf("The definitions are those of CAPA, and not of Slipway: %s.", list(foreign)),
			Nodes:   "The API server drops fields that only Slipway has from pools that are written. Slipway then acts as if they were not set, which can replace nodes.",
			Remedy: remedy + " An upgrade of CAPA puts its definitions back unless its components are built with config/beside-capa " +
				"(docs/how-to/installation.md).",
		}
	case len(missing) > 0:
		return Finding{
			Result:  Failed,
			Message: fmt.Sprintf("Slipway is installed, but custom resource definitions are missing: %s.", list(missing)),
			Nodes:   "The manager does not start, or does not reconcile these kinds. Existing nodes keep running.", Remedy: remedy,
		}
	case len(outdated) > 0:
		return Finding{
			Result:  Failed,
			Message: fmt.Sprintf("The API server does not serve and store version %s of %s.", slipwayVersion, list(outdated)),
			Nodes:   "The manager does not start, or does not reconcile these kinds. Existing nodes keep running.", Remedy: remedy,
		}
	}
	if lacking := o.Cluster.lacking(); len(lacking) > 0 {
		return Finding{
			Result:  Warning,
			Message: fmt.Sprintf("The definitions are those of another release of Slipway than this program, and lack fields: %s.", list(lacking)),
			Nodes:   "The API server drops these fields from objects that are written. Slipway then acts as if they were not set, which can replace nodes.",
			Remedy:  remedy + " If the manager is of another release than this command, run the command of that release, or upgrade Slipway.",
		}
	}
	return ok("The API server serves and stores %s of all kinds of Slipway.", slipwayVersion)
}
