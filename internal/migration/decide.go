package migration

import (
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/slipway-project/slipway/internal/preflight"
	"github.com/slipway-project/slipway/internal/providers"
)

// clusterVersion is the version of Cluster that is read and changed.
var clusterVersion = clusterv1.GroupVersion.String()

// again is the last sentence of a remedy.
const again = " Then run the command again."

// Decide returns the steps of a migration in their order.
func Decide(direction Direction, observed Observed) Report {
	report := Report{Direction: direction, State: Done, Steps: []Step{}}
	if direction == ToCAPA {
		report.Steps = append(report.Steps, decideBack(observed)...)
	} else {
		report.Steps = append(report.Steps, decideThere(observed)...)
	}
	if next := report.Next(); next != nil {
		report.State = next.State
	}
	return report
}

// decideThere returns the steps to Slipway. Clusters are resumed one after the other, each after the
// pools of the clusters before it were taken over.
func decideThere(o Observed) []Step {
	var steps []Step
	for _, pool := range o.Pools {
		check := decideCheck(o, pool)
		steps = append(steps, check, decideAWS(o, pool, check))
	}
	for _, cluster := range o.Clusters {
		steps = append(steps, decidePause(cluster, o.capaRuns(), "CAPA's controllers of pools are off"))
	}
	for _, configuration := range o.Hooks {
		steps = append(steps, decideRemove(o, configuration))
	}
	for _, deployment := range o.Deployments {
		steps = append(steps, decideStop(deployment))
	}
	if len(o.Deployments) == 0 {
		steps = append(steps, Step{
			Name: StopCAPA, Target: deploymentTarget(providers.CAPANamespace, providers.CAPAManager), State: Done,
			Found: "CAPA is not installed, or its Deployment lacks the label " + providers.Label + "=" + providers.CAPA + ".",
		})
	}
	steps = append(steps, decideInstalled(o))
	for _, cluster := range o.Clusters {
		resume := decideResume(cluster, o.capaRuns())
		steps = append(steps, resume)
		for _, pool := range o.poolsOf(cluster) {
			steps = append(steps, decideTakeOver(pool, resume))
		}
	}
	return steps
}

// decideBack returns the steps to CAPA.
func decideBack(o Observed) []Step {
	var steps []Step
	for _, pool := range o.Pools {
		steps = append(steps, decidePin(pool)...)
		steps = append(steps, decideRelease(o, pool))
	}
	for _, cluster := range o.Clusters {
		steps = append(steps, decidePause(cluster, !o.capaServes(), "CAPA's controllers of pools are on"))
	}
	steps = append(steps, decideUninstalled(o), decideDefinitions(o))
	for _, deployment := range o.Deployments {
		steps = append(steps, decideStart(deployment))
	}
	if len(o.Deployments) == 0 {
		steps = append(steps, Step{
			Name: StartCAPA, Target: deploymentTarget(providers.CAPANamespace, providers.CAPAManager), State: Blocked,
			Found: "CAPA is not installed, or its Deployment lacks the label " + providers.Label + "=" + providers.CAPA + ".",
			Nodes: "Nodes keep running, and nothing manages them.", Remedy: "Install CAPA with EXP_MACHINE_POOL=true." + again,
		})
	}
	steps = append(steps, decideRestoreAll(o)...)
	for _, cluster := range o.Clusters {
		steps = append(steps, decideResume(cluster, !o.capaServes()))
	}
	return steps
}

func clusterTarget(c Cluster) string                 { return "Cluster " + c.Namespace + "/" + c.Name }
func poolTarget(p Pool) string                       { return p.Kind + " " + p.Namespace + "/" + p.Name }
func deploymentTarget(namespace, name string) string { return "Deployment " + namespace + "/" + name }

// poolsOf returns the pools of a cluster.
func (o Observed) poolsOf(cluster Cluster) []Pool {
	return slices.DeleteFunc(slices.Clone(o.Pools), func(p Pool) bool { return p.Namespace != cluster.Namespace || p.Cluster != cluster.Name })
}

// clusterOf returns the cluster of a pool, nil if it does not exist.
func (o Observed) clusterOf(pool Pool) *Cluster {
	for i := range o.Clusters {
		if o.Clusters[i].Namespace == pool.Namespace && o.Clusters[i].Name == pool.Cluster {
			return &o.Clusters[i]
		}
	}
	return nil
}

// decidePause pauses a cluster if two controllers could run its pools without that.
func decidePause(c Cluster, needed bool, otherwise string) Step {
	step := Step{Name: PauseCluster, Target: clusterTarget(c), State: Done}
	switch {
	case c.paused() && c.Record != "":
		step.Found = "The cluster is paused by this migration."
	case c.paused():
		step.Found = "The cluster is paused already. This command does not resume it."
	case !needed:
		step.Found = "The cluster need not be paused: " + otherwise + "."
	default:
		step.State, step.patch = Due, c.pause()
		step.Found, step.Change = "The cluster is not paused.", "Set spec.paused of the Cluster to true."
		step.Nodes = "No node is replaced. Until the cluster is resumed, no controller scales or replaces its nodes."
	}
	return step
}

// decideResume restores spec.paused of a cluster as it was before the migration.
func decideResume(c Cluster, mayPause bool) Step {
	step := Step{Name: ResumeCluster, Target: clusterTarget(c), State: Due, Change: "Restore spec.paused of the Cluster."}
	step.Nodes = "No node is replaced. Controllers scale and replace nodes again."
	switch {
	case c.Record != "":
		before, err := recorded[clusterBefore](c.Object)
		if err != nil {
			return invalidRecord(step, err, "Set spec.paused of the Cluster to false, and remove the annotation.")
		}
		step.Found, step.patch = "The cluster was paused by this migration.", c.resume(before)
	case c.paused():
		return done(step, Skipped, "The cluster was paused before this migration, and stays paused. Resume it to have its pools taken over.")
	case mayPause:
		step.Found = "The cluster will be paused by this migration."
	default:
		return done(step, Done, "The cluster is not paused.")
	}
	return step
}

// done returns a step that changes nothing.
func done(step Step, state State, found string, args ...any) Step {
	step.State, step.Found, step.Change, step.Nodes, step.Remedy, step.patch = state, fmt.Sprintf(found, args...), "", "", "", nil
	return step
}

// invalidRecord returns a step that cannot restore what was before, because the annotation was edited.
func invalidRecord(step Step, err error, remedy string) Step {
	step.State, step.Found, step.Change = Blocked, sentence(err.Error()), ""
	step.Nodes, step.Remedy = "No node is affected.", remedy+again
	return step
}

// sentence returns a text that has a capital letter at its beginning and a period behind it.
func sentence(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), ".")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// decideInstalled checks that Slipway can take the pools over.
func decideInstalled(o Observed) Step {
	step := Step{Name: InstallSlipway, Target: deploymentTarget(o.Namespace, "slipway-manager"), State: Blocked}
	step.Nodes = "Nodes keep running. Until Slipway runs, no controller scales or replaces the nodes of pools."
	manager := o.Management.Manager
	if manager == nil {
		step.Found = "Slipway is not installed in namespace " + o.Namespace + "."
		step.Remedy = "Install Slipway with its definitions: `clusterctl init --infrastructure slipway` (docs/how-to/installation.md), or name its namespace in --namespace." + again
		return step
	}
	for _, finding := range o.Checks {
		if finding.Result == preflight.Failed {
			step.Found, step.Nodes, step.Remedy = finding.Message, finding.Nodes, finding.Remedy+again
			return step
		}
	}
	if manager.Replicas == 0 {
		step.Found, step.Remedy = "The Deployment of Slipway's manager has no replicas.", "Scale the Deployment to at least one replica."+again
		return step
	}
	return done(step, Done, "Slipway is installed, and its definitions replaced CAPA's.")
}

// slipwayRuns reports whether Slipway's manager or its webhooks are installed, in any namespace.
func (o Observed) slipwayRuns() bool {
	return o.Management.Manager != nil || len(o.Management.Hooks) > 0 || len(o.Management.Elsewhere) > 0
}

// decideUninstalled checks that Slipway is gone, so that no two controllers reconcile a pool.
func decideUninstalled(o Observed) Step {
	step := Step{Name: UninstallSlipway, Target: deploymentTarget(o.Namespace, "slipway-manager"), State: Blocked}
	if !o.slipwayRuns() {
		return done(step, Done, "Slipway is not installed.")
	}
	step.Found = "Slipway is installed."
	if others := o.Management.Elsewhere; len(others) > 0 {
		step.Found = "Slipway is installed. Deployments in other namespaces: " + strings.Join(others, ", ") + "."
	}
	step.Nodes = "Nodes keep running. Until CAPA runs again, no controller scales or replaces the nodes of pools."
	step.Remedy = "Run `clusterctl delete --infrastructure slipway`, or uninstall every release of the chart. Never add --include-crd: that deletes the definitions, and with them every pool." + again
	return step
}

// decideDefinitions checks that the definitions of pools are CAPA's.
func decideDefinitions(o Observed) Step {
	slipways, _, missing := o.Management.SharedDefinitions()
	step := Step{Name: RestoreDefinitions, Target: "CustomResourceDefinition " + strings.Join(slices.Concat(slipways, missing), ", "), State: Blocked}
	if len(slipways)+len(missing) == 0 {
		step.Target = "CustomResourceDefinition"
		return done(step, Done, "The definitions of pools are CAPA's.")
	}
	step.Found = "The definitions of pools are not CAPA's."
	step.Nodes = "No node is affected. Stored pools stay."
	step.Remedy = "Apply the two definitions of CAPA's release with `kubectl apply --server-side --force-conflicts`, and delete none: that deletes every pool." + again
	return step
}
