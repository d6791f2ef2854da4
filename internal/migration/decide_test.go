package migration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/preflight"
)

// before returns a cluster that CAPA manages, with one pool.
func before() Observed {
	gates := "--feature-gates=EKS=true,MachinePool=true"
	return Observed{
		Namespace: "slipway-system",
		Management: preflight.Cluster{Definitions: map[string]preflight.Definition{
			"awsmachinepools.infrastructure.cluster.x-k8s.io": {}, "awsmanagedmachinepools.infrastructure.cluster.x-k8s.io": {},
		}},
		Deployments: []Deployment{{
			Object: Object{Namespace: "capa-system", Name: "capa-controller-manager", ResourceVersion: "7"}, Marked: true,
			Containers: []Container{{Name: "manager", Args: []string{"--leader-elect", gates}}},
			Desired:    1, Existing: 1, Updated: 1, Available: 1,
		}},
		Hooks: []Configuration{{
			Object: Object{Name: "capa-validating-webhook-configuration", ResourceVersion: "8", Annotations: 1}, Kind: "ValidatingWebhookConfiguration", Marked: true,
			Webhooks: []Webhook{webhook("cluster", false), webhook("pool", true)},
		}},
		Clusters: []Cluster{{Object: Object{Namespace: "default", Name: "blue", ResourceVersion: "9"}}},
		Pools: []Pool{{
			Object: Object{Namespace: "default", Name: "pool", ResourceVersion: "10"}, Kind: selfManaged, Cluster: "blue", Resource: "pool", ProviderID: groupARN("pool"),
		}},
	}
}

func webhook(name string, pools bool) Webhook {
	return Webhook{Name: name, Pools: pools, OnlyPools: pools, Namespace: "capa-system", Raw: map[string]any{"name": name}}
}

// after returns the cluster whose pool Slipway manages.
func after() Observed {
	o := before()
	o.Management.Manager = &preflight.Deployment{Replicas: 1}
	o.Management.Definitions = map[string]preflight.Definition{}
	for _, name := range []string{"awsmachinepools", "awsmanagedmachinepools"} {
		o.Management.Definitions[name+".infrastructure.cluster.x-k8s.io"] = preflight.Definition{Fields: []string{"launchConfigRef"}}
	}
	d := &o.Deployments[0]
	d.Annotations, d.Record = 1, `{"container":"manager","args":["--leader-elect","--feature-gates=EKS=true,MachinePool=true"]}`
	d.Containers[0].Args = append(d.Containers[0].Args, offArgument)
	h := &o.Hooks[0]
	h.Annotations, h.Record, h.Webhooks = 2, `{"webhooks":[{"index":1,"webhook":{"name":"pool"}}]}`, h.Webhooks[:1]
	o.Pools[0].Owned = true
	return o
}

// released returns the cluster on the way back, with a released pool and a paused cluster.
func released() Observed {
	o := after()
	p, c := &o.Pools[0], &o.Clusters[0]
	p.Owned, p.Release, p.Annotations, p.Released = false, true, 1, metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.ReleasedReason, ObservedGeneration: 1}
	c.Paused, c.Annotations, c.Record = ptr.To(true), 1, `{"paused":null}`
	o.Management.Manager = nil
	o.Management.Definitions = before().Management.Definitions
	return o
}

// row is one case of a decision: the first step that is neither done nor skipped.
type row struct {
	reason string
	change func(*Observed)
	// name and state identify the step, and are empty if there is none.
	name  string
	state State
	// found and remedy are parts of the step's texts.
	found, remedy string
}

func (r row) check(t *testing.T, direction Direction, observed Observed) {
	t.Helper()
	if r.change != nil {
		r.change(&observed)
	}
	report := Decide(direction, observed)
	next := report.Next()
	if next == nil {
		next = &Step{}
	}
	if next.Name != r.name || next.State != r.state || !strings.Contains(next.Found, r.found) || !strings.Contains(next.Remedy, r.remedy) {
		t.Errorf("%s: the next step is %+v", r.reason, *next)
	}
	if want := r.state; want != report.State && (want != "" || report.State != Done) {
		t.Errorf("%s: the state is %s", r.reason, report.State)
	}
	for _, step := range report.Steps {
		blocked, due := step.State == Blocked, step.State == Due
		if blocked != (step.Remedy != "") || due && step.Change == "" || (blocked || due) && step.Nodes == "" || step.Found == "" || step.patch != nil && !due {
			t.Errorf("%s: step %+v is not complete", r.reason, step)
		}
	}
}

func onPool(change func(*Pool)) func(*Observed) {
	return func(o *Observed) { change(&o.Pools[0]) }
}

func falseBecause(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: 1}
}

// TestPoolsAreChecked holds which pools Slipway can take over, and what to do about the others.
func TestPoolsAreChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []row{
		{reason: "a pool of CAPA's", name: PauseCluster, state: Due},
		{reason: "spec.providerID is missing", change: onPool(func(p *Pool) { p.ProviderID = "" }), name: CheckPool, state: Blocked,
			found: "does not name an Auto Scaling group", remedy: "set annotation slipway.infrastructure.cluster.x-k8s.io/adopt to its ARN"},
		{reason: "the annotation names the group", change: onPool(func(p *Pool) { p.ProviderID, p.AdoptARN = "", groupARN("pool") }), name: PauseCluster, state: Due},
		{reason: "spec.providerID is no ARN", change: onPool(func(p *Pool) { p.ProviderID = "aws:///us-east-1a/i-1" }), name: CheckPool, state: Blocked, found: "does not name"},
		{reason: "spec.providerID names another group", change: onPool(func(p *Pool) { p.ProviderID = groupARN("other") }), name: CheckPool, state: Blocked,
			found: "names Auto Scaling group other, and CAPA and Slipway look for pool"},
		{reason: "two pools share a group", change: func(o *Observed) {
			o.Pools = append(o.Pools, o.Pools[0])
			o.Pools[1].Namespace = "other"
		}, name: CheckPool, state: Blocked, found: "AWSMachinePool other/pool names the same", remedy: "Remove spec.providerID"},
		{reason: "its MachinePool does not refer to it", change: onPool(func(p *Pool) { p.Refused = "this pool adopts no resources: no MachinePool owns it" }), name: CheckPool, state: Blocked,
			found: "This pool adopts no resources: no MachinePool owns it.", remedy: "Correct the objects"},
		{reason: "CAPA has Machines for its instances", change: onPool(func(p *Pool) { p.MachineKind = "AWSMachine" }), name: CheckPool, state: Blocked, found: "AWSMachines", remedy: "Leave the pool out first."},
		{reason: "Slipway has Machines for its instances", change: onPool(func(p *Pool) { p.MachineKind = "AWSMachinePoolMachine" }), name: PauseCluster, state: Due},
		{reason: "it refers to a launch config", change: onPool(func(p *Pool) { p.SharedConfig = true }), name: CheckPool, state: Blocked, found: "spec.launchConfigRef"},
		{reason: "it is being deleted", change: onPool(func(p *Pool) { p.Deleting = true }), name: CheckPool, state: Blocked, found: "being deleted", remedy: "Wait"},
		{reason: "it is left out", change: onPool(func(p *Pool) { p.LeftOut, p.ProviderID = true, "" }), name: PauseCluster, state: Due},
		{reason: "a managed pool names no group", change: onPool(func(p *Pool) { p.Kind, p.ProviderID = managed, "" }), name: PauseCluster, state: Due},
		{reason: "Slipway manages it already", change: onPool(func(p *Pool) { p.Owned, p.ProviderID = true, "" }), name: PauseCluster, state: Due},
	} {
		row.check(t, ToSlipway, before())
	}
}

// TestThere holds the steps to Slipway after the check of pools.
func TestThere(t *testing.T) {
	t.Parallel()
	paused := func(o *Observed) {
		o.Clusters[0].Paused, o.Clusters[0].Annotations, o.Clusters[0].Record = ptr.To(true), 1, `{"paused":null}`
	}
	stopped := func(o *Observed) {
		paused(o)
		installed := after()
		o.Hooks, o.Deployments = installed.Hooks, installed.Deployments
	}
	for _, row := range []row{
		{reason: "the cluster is paused", change: paused, name: RemoveWebhooks, state: Due},
		{reason: "the configuration has no label of CAPA", change: func(o *Observed) { paused(o); o.Hooks[0].Marked = false }, name: RemoveWebhooks, state: Blocked, found: "may not be CAPA's", remedy: "set the label"},
		{reason: "a webhook for pools and other kinds", change: func(o *Observed) { paused(o); o.Hooks[0].Webhooks[1].OnlyPools = false }, name: RemoveWebhooks, state: Blocked, found: "for other kinds"},
		{reason: "a webhook in another namespace", change: func(o *Observed) { paused(o); o.Hooks[0].Webhooks[1].Namespace = "policies" }, name: RemoveWebhooks, state: Blocked, found: "does not call a Service in the namespace of CAPA's manager"},
		{reason: "a webhook with a URL", change: func(o *Observed) { paused(o); o.Hooks[0].Webhooks[1].Namespace = "" }, name: RemoveWebhooks, state: Blocked, found: "may not be CAPA's"},
		{reason: "the record of webhooks was edited", change: func(o *Observed) { paused(o); o.Hooks[0].Record = "none" }, name: RemoveWebhooks, state: Blocked, found: "is not valid", remedy: "Remove the annotation"},
		{reason: "no webhooks for pools", change: func(o *Observed) { paused(o); o.Hooks = after().Hooks }, name: StopCAPA, state: Due},
		{reason: "the Deployment has no labels of CAPA", change: func(o *Observed) { paused(o); o.Hooks = nil; o.Deployments[0].Marked = false }, name: StopCAPA, state: Blocked, found: "may not be CAPA's"},
		{reason: "the gate has no truth value", change: func(o *Observed) {
			paused(o)
			o.Hooks, o.Deployments[0].Containers[0].Args = nil, []string{"--feature-gates=MachinePool=${EXP_MACHINE_POOL}"}
		}, name: StopCAPA, state: Blocked, found: "neither true nor false"},
		{reason: "several containers, and none is the manager", change: func(o *Observed) {
			paused(o)
			o.Hooks, o.Deployments[0].Containers = nil, []Container{{Name: "one"}, {Name: "two"}}
		}, name: StopCAPA, state: Blocked, found: "several containers"},
		{reason: "a container next to the manager", change: func(o *Observed) {
			paused(o)
			o.Hooks, o.Deployments[0].Containers = nil, []Container{{Name: "proxy"}, {Name: "manager"}}
		}, name: StopCAPA, state: Due},
		{reason: "an earlier pod runs", change: func(o *Observed) { stopped(o); o.Deployments[0].Updated = 0 }, name: StopCAPA, state: Waiting},
		{reason: "the new arguments were not noticed yet", change: func(o *Observed) { stopped(o); o.Deployments[0].Generation = 2 }, name: StopCAPA, state: Waiting},
		{reason: "the cluster is resumed while an earlier pod runs", change: func(o *Observed) {
			stopped(o)
			o.Deployments[0].Updated, o.Clusters[0].Paused = 0, nil
		}, name: PauseCluster, state: Due},
		{reason: "CAPA is off, and scaled to zero", change: func(o *Observed) {
			stopped(o)
			d := &o.Deployments[0]
			d.Desired, d.Existing, d.Updated, d.Available = 0, 0, 0, 0
		}, name: InstallSlipway, state: Blocked},
		{reason: "Slipway is not installed", change: stopped, name: InstallSlipway, state: Blocked, found: "not installed in namespace slipway-system", remedy: "clusterctl init"},
		{reason: "CAPA is not installed", change: func(o *Observed) { o.Deployments, o.Hooks = nil, nil }, name: InstallSlipway, state: Blocked},
		{reason: "a check of preflight fails", change: func(o *Observed) {
			stopped(o)
			o.Management.Manager = &preflight.Deployment{Replicas: 1}
			o.Checks = []preflight.Finding{{Result: preflight.Warning}, {Result: preflight.Failed, Message: "the definitions are CAPA's", Nodes: "stay", Remedy: "Apply them."}}
		}, name: InstallSlipway, state: Blocked, found: "the definitions are CAPA's", remedy: "Apply them. Then run the command again."},
		{reason: "Slipway's manager is scaled to zero", change: func(o *Observed) { stopped(o); o.Management.Manager = &preflight.Deployment{} }, name: InstallSlipway, state: Blocked, found: "no replicas"},
		{reason: "Slipway is installed", change: func(o *Observed) { stopped(o); o.Management.Manager = after().Management.Manager }, name: ResumeCluster, state: Due},
		{reason: "the record of a Cluster was edited", change: func(o *Observed) {
			stopped(o)
			o.Management.Manager, o.Clusters[0].Record = after().Management.Manager, "true"
		}, name: ResumeCluster, state: Blocked, found: "is not valid", remedy: "remove the annotation"},
	} {
		row.check(t, ToSlipway, before())
	}
}

// TestTakeOver holds the outcomes of a takeover.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	for _, row := range []row{
		{reason: "Slipway manages the pool"},
		{reason: "Slipway has not noticed the pool yet", change: onPool(func(p *Pool) { p.Owned = false }), name: TakeOverPool, state: Waiting},
		{reason: "CAPA's condition counts for nothing", change: onPool(func(p *Pool) {
			p.Owned, p.Ready = false, metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.NameTakenReason}
		}), name: TakeOverPool, state: Waiting, found: "is taking the pool over"},
		{reason: "Slipway waits for something", change: onPool(func(p *Pool) { p.Owned, p.Ready = false, falseBecause("Throttled", "AWS throttles requests") }), name: TakeOverPool, state: Waiting, found: "AWS throttles requests."},
		{reason: "Slipway refuses", change: onPool(func(p *Pool) {
			p.Owned, p.Ready = false, falseBecause(infrav1.AdoptionBlockedReason, "another namespace has a cluster named blue")
		}), name: TakeOverPool, state: Blocked, found: "Another namespace has a cluster named blue.", remedy: "AdoptionBlocked"},
		{reason: "the pool was released", change: onPool(func(p *Pool) { p.Owned, p.Release, p.Annotations = false, true, 1 }), name: TakeOverPool, state: Due, found: "was released"},
		{reason: "the release has not begun", change: onPool(func(p *Pool) { p.Release, p.Annotations = true, 1 }), name: TakeOverPool, state: Due},
		{reason: "the user paused the cluster", change: func(o *Observed) { o.Pools[0].Owned, o.Clusters[0].Paused = false, ptr.To(true) }},
		{reason: "the pool is left out", change: onPool(func(p *Pool) { p.Owned, p.LeftOut = false, true })},
	} {
		row.check(t, ToSlipway, after())
	}
	o := after()
	o.Pools[0].Adopted = metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.AdoptedWithDifferencesReason, Message: "the instance type differs"}
	steps := Decide(ToSlipway, o).Steps
	if last := steps[len(steps)-1]; last.Found != "Slipway manages the pool. The instance type differs." {
		t.Errorf("the last step is %+v", last)
	}
}

// TestRelease holds how a pool is released.
func TestRelease(t *testing.T) {
	t.Parallel()
	release := func(p *Pool) { p.Release, p.Annotations = true, 1 }
	for _, row := range []row{
		{reason: "Slipway manages the pool", name: ReleasePool, state: Due},
		{reason: "its image is looked up", change: onPool(func(p *Pool) { p.Lookup, p.Image = &Lookup{}, "ami-1" }), name: PinImage, state: Due},
		{reason: "its image is not known", change: onPool(func(p *Pool) { p.Lookup = &Lookup{} }), name: PinImage, state: Blocked, remedy: "Wait"},
		{reason: "a roll-out is in progress", change: onPool(func(p *Pool) { p.RolledOut = falseBecause("RollingOut", "1 of 2 instances") }), name: ReleasePool, state: Waiting, found: "1 of 2 instances."},
		{reason: "the latest edit was not noticed yet", change: onPool(func(p *Pool) {
			p.Generation, p.RolledOut = 3, metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: 2}
		}), name: ReleasePool, state: Waiting, found: "has not rolled the latest edit"},
		{reason: "it is not known whether a roll-out is due", change: onPool(func(p *Pool) {
			p.RolledOut = metav1.Condition{Status: metav1.ConditionUnknown, Message: "the group does not use the desired version yet", ObservedGeneration: 1}
		}), name: ReleasePool, state: Waiting, found: "The group does not use the desired version yet."},
		{reason: "everything is rolled out", change: onPool(func(p *Pool) {
			p.Generation, p.RolledOut = 2, metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: 2}
		}), name: ReleasePool, state: Due},
		{reason: "roll-outs are disabled", change: onPool(func(p *Pool) { p.RolledOut = falseBecause(infrav1.RefreshDisabledReason, "disabled") }), name: ReleasePool, state: Due},
		{reason: "CAPA's condition says nothing", change: onPool(func(p *Pool) { p.RolledOut = metav1.Condition{Status: metav1.ConditionFalse} }), name: ReleasePool, state: Due},
		{reason: "the pool was rolled back", change: onPool(func(p *Pool) { p.RolledOut = falseBecause(infrav1.RolledBackReason, "the pool was rolled back") }), name: ReleasePool, state: Blocked,
			found: "The pool was rolled back.", remedy: "Edit the spec to match"},
		{reason: "bootstrap data is outside the template", change: onPool(func(p *Pool) { p.OutsideData = true }), name: ReleasePool, state: Blocked, remedy: "bootstrapStorage to UserData"},
		{reason: "the pool is being deleted", change: onPool(func(p *Pool) { p.Deleting = true }), name: ReleasePool, state: Blocked, found: "being deleted"},
		{reason: "the pool is left out, and Slipway manages it", change: onPool(func(p *Pool) { p.LeftOut = true }), name: ReleasePool, state: Blocked, remedy: "Remove annotation cluster.x-k8s.io/paused"},
		{reason: "the cluster is paused", change: func(o *Observed) { o.Clusters[0].Paused = ptr.To(true) }, name: ReleasePool, state: Blocked, remedy: "Set spec.paused of Cluster default/blue to false."},
		{reason: "Slipway's manager is gone", change: func(o *Observed) { o.Management.Manager = nil }, name: ReleasePool, state: Blocked, remedy: "Install Slipway again"},
		{reason: "Slipway is asked to", change: onPool(release), name: ReleasePool, state: Waiting, found: "is releasing"},
		{reason: "Slipway converts the template", change: onPool(func(p *Pool) { release(p); p.Released = falseBecause(infrav1.ReleasingReason, "converting") }), name: ReleasePool, state: Waiting, found: "Converting."},
		{reason: "Slipway refuses", change: onPool(func(p *Pool) { release(p); p.Released = falseBecause(infrav1.InvalidSpecReason, "CAPA cannot run it") }), name: ReleasePool, state: Blocked, found: "CAPA cannot run it.", remedy: "InvalidSpec"},
		{reason: "Slipway could still take the pool over", change: onPool(func(p *Pool) { p.Owned = false }), name: ReleasePool, state: Due},
		{reason: "Slipway did not take the pool over, and the cluster is paused", change: func(o *Observed) { o.Pools[0].Owned, o.Clusters[0].Paused = false, ptr.To(true) }, name: UninstallSlipway, state: Blocked},
		{reason: "the pool is left out", change: onPool(func(p *Pool) { p.Owned, p.LeftOut = false, true }), name: PauseCluster, state: Due},
	} {
		row.check(t, ToCAPA, after())
	}
}

// TestBack holds the steps to CAPA after the release of pools.
func TestBack(t *testing.T) {
	t.Parallel()
	started := func(o *Observed) { o.Deployments = before().Deployments }
	resumed := func(o *Observed) { o.Clusters = before().Clusters }
	for _, row := range []row{
		{reason: "Slipway is installed", change: func(o *Observed) { o.Management.Manager = &preflight.Deployment{} }, name: UninstallSlipway, state: Blocked, remedy: "Never add --include-crd"},
		{reason: "Slipway is installed in another namespace, without webhooks", change: func(o *Observed) { o.Management.Elsewhere = []string{"teams/blue"} }, name: UninstallSlipway, state: Blocked, found: "teams/blue", remedy: "every release"},
		{reason: "Slipway's webhooks are installed", change: func(o *Observed) { o.Management.Hooks = []preflight.Hook{{}} }, name: UninstallSlipway, state: Blocked},
		{reason: "the definitions are Slipway's", change: func(o *Observed) { o.Management.Definitions = after().Management.Definitions }, name: RestoreDefinitions, state: Blocked, remedy: "delete none"},
		{reason: "a definition is missing", change: func(o *Observed) { o.Management.Definitions = nil }, name: RestoreDefinitions, state: Blocked},
		{reason: "the cluster is not paused", change: resumed, name: PauseCluster, state: Due},
		{reason: "the command turned CAPA off", name: StartCAPA, state: Due},
		{reason: "the record of a Deployment was edited", change: func(o *Observed) { o.Deployments[0].Record = "[]" }, name: StartCAPA, state: Blocked, found: "is not valid"},
		{reason: "another client turned CAPA off", change: func(o *Observed) { o.Deployments[0].Record = "" }, name: StartCAPA, state: Blocked, remedy: "EXP_MACHINE_POOL=true"},
		{reason: "CAPA is gone", change: func(o *Observed) { o.Deployments = nil }, name: StartCAPA, state: Blocked, found: "not installed"},
		{reason: "CAPA's pod is not available", change: func(o *Observed) { started(o); o.Deployments[0].Available = 0 }, name: StartCAPA, state: Waiting},
		{reason: "CAPA runs", change: started, name: RestoreWebhooks, state: Due},
		{reason: "the record of webhooks was edited", change: func(o *Observed) { started(o); o.Hooks[0].Record = "[]" }, name: RestoreWebhooks, state: Blocked, found: "is not valid"},
		{reason: "another client removed the webhooks", change: func(o *Observed) { started(o); o.Hooks[0].Record = "" }, name: RestoreWebhooks, state: Blocked, remedy: "Apply CAPA's released components"},
		{reason: "the webhooks are there", change: func(o *Observed) { started(o); o.Hooks = before().Hooks }, name: ResumeCluster, state: Due},
		{reason: "CAPA runs the pool", change: func(o *Observed) { started(o); resumed(o); o.Hooks = before().Hooks }},
		{reason: "CAPA runs the pool, and the user paused the cluster", change: func(o *Observed) {
			started(o)
			o.Hooks, o.Clusters[0].Record = before().Hooks, ""
		}},
	} {
		row.check(t, ToCAPA, released())
	}
}

// TestNothingIsReplaced holds that the command announces for no step that nodes are replaced.
func TestNothingIsReplaced(t *testing.T) {
	t.Parallel()
	for _, direction := range []Direction{ToSlipway, ToCAPA} {
		for _, observed := range []Observed{before(), after(), released()} {
			for _, step := range Decide(direction, observed).Steps {
				if step.State == Due && !strings.HasPrefix(step.Nodes, "No node is") {
					t.Errorf("%s of %s: %s", step.Name, step.Target, step.Nodes)
				}
			}
		}
	}
}

// TestPatches holds what each step changes.
func TestPatches(t *testing.T) {
	t.Parallel()
	const record = "/metadata/annotations/slipway.infrastructure.cluster.x-k8s.io~1before-migration"
	version := func(value string) operation {
		return operation{Op: "test", Path: "/metadata/resourceVersion", Value: value}
	}
	mixed := before().Hooks[0]
	mixed.Record, mixed.Webhooks = `{"webhooks":[]}`, []Webhook{webhook("pool", true), webhook("cluster", false), webhook("eks", true)}
	rest := after().Hooks[0]
	rest.Webhooks = nil
	lookup := before().Pools[0]
	lookup.Lookup, lookup.Image = &Lookup{ImageLookupFormat: "nodes-{{.K8sVersion}}", ImageLookupOrg: "123456789012"}, "ami-1"
	for _, row := range []struct {
		reason string
		patch  *patch
		want   []operation
	}{
		{"a Cluster is paused", before().Clusters[0].pause(), []operation{
			version("9"), {Op: "add", Path: "/metadata/annotations", Value: map[string]string{infrav1.BeforeMigrationAnnotation: `{"paused":null}`}}, {Op: "add", Path: "/spec/paused", Value: true},
		}},
		{"a Cluster that is resumed meanwhile is paused again", Cluster{Object: Object{ResourceVersion: "9", Annotations: 1, Record: `{"paused":null}`}}.pause(), []operation{
			version("9"), {Op: "add", Path: "/spec/paused", Value: true},
		}},
		{"a Cluster had spec.paused", Cluster{Object: Object{ResourceVersion: "9", Annotations: 2}, Paused: ptr.To(true)}.resume(clusterBefore{Paused: ptr.To(false)}), []operation{
			version("9"), {Op: "remove", Path: record}, {Op: "add", Path: "/spec/paused", Value: false},
		}},
		{"a Cluster had no spec.paused", Cluster{Object: Object{ResourceVersion: "9", Annotations: 1}, Paused: ptr.To(true)}.resume(clusterBefore{}), []operation{
			version("9"), {Op: "remove", Path: "/metadata/annotations"}, {Op: "remove", Path: "/spec/paused"},
		}},
		{"CAPA's controllers are turned off", before().Deployments[0].stop(0), []operation{
			version("7"),
			{Op: "add", Path: "/metadata/annotations", Value: map[string]string{infrav1.BeforeMigrationAnnotation: `{"container":"manager","args":["--leader-elect","--feature-gates=EKS=true,MachinePool=true"]}`}},
			{Op: "add", Path: "/spec/template/spec/containers/0/args/-", Value: offArgument},
		}},
		{"the container of the argument is gone", after().Deployments[0].start(deploymentBefore{Container: "other"}), []operation{
			version("7"), {Op: "remove", Path: "/metadata/annotations"},
		}},
		{"webhooks are removed from the last one on", mixed.remove(hooksBefore{Webhooks: []removedHook{{Index: 1, Webhook: map[string]any{"name": "old"}}, {Index: 0, Webhook: map[string]any{"name": "pool"}}}}), []operation{
			version("8"),
			{Op: "add", Path: record, Value: `{"webhooks":[{"index":0,"webhook":{"name":"pool"}},{"index":1,"webhook":{"name":"old"}},{"index":2,"webhook":{"name":"eks"}}]}`},
			{Op: "remove", Path: "/webhooks/2"}, {Op: "remove", Path: "/webhooks/0"},
		}},
		{"webhooks are restored where none are left", rest.restore(hooksBefore{Webhooks: []removedHook{{Index: 3, Webhook: map[string]any{"name": "pool"}}}}), []operation{
			version("8"), {Op: "remove", Path: record}, {Op: "add", Path: "/webhooks", Value: []any{}}, {Op: "add", Path: "/webhooks/0", Value: map[string]any{"name": "pool"}},
		}},
		{"an image is pinned", lookup.pin(), []operation{
			version("10"),
			{Op: "add", Path: "/metadata/annotations", Value: map[string]string{infrav1.BeforeMigrationAnnotation: `{"imageLookupFormat":"nodes-{{.K8sVersion}}","imageLookupOrg":"123456789012"}`}},
			{Op: "add", Path: "/spec/awsLaunchTemplate/ami", Value: map[string]string{"id": "ami-1"}},
			{Op: "remove", Path: "/spec/awsLaunchTemplate/imageLookupFormat"}, {Op: "remove", Path: "/spec/awsLaunchTemplate/imageLookupOrg"},
		}},
	} {
		if diff := cmp.Diff(row.want, row.patch.Operations); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestEveryPatchTestsTheVersion holds that no patch is applied to an object that changed meanwhile.
func TestEveryPatchTestsTheVersion(t *testing.T) {
	t.Parallel()
	count := 0
	for _, direction := range []Direction{ToSlipway, ToCAPA} {
		for _, observed := range []Observed{before(), after(), released()} {
			for _, step := range Decide(direction, observed).Steps {
				if step.patch == nil {
					continue
				}
				count++
				if first := step.patch.Operations[0]; first.Op != "test" || first.Path != "/metadata/resourceVersion" || slices.Contains([]any{"", nil}, first.Value) {
					t.Errorf("%s of %s begins with %+v", step.Name, step.Target, first)
				}
			}
		}
	}
	if count < 8 {
		t.Errorf("there are %d patches", count)
	}
}
