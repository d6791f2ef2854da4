package simulation_test

import (
	"github.com/slipway-project/slipway/internal/simulation"
)

// provisionerMutants are mistakes about Provisioners: plausible ones, or actual ones of the past.
var provisionerMutants = []mutant{
	{"ignore the limit of CPUs", "the nodes of a Provisioner stay within its limits", []edit{{
		"internal/provisioning/clusterstate/state.go", "bound := packing.Limits{CPU: limits.CPU, Memory: limits.Memory}", "bound := packing.Limits{Memory: limits.Memory}",
	}}},
	{"count no node that ends against limits", "a node counts until its instance has terminated", []edit{{
		"internal/provisioning/clusterstate/state.go", "		if node.Spec.Provisioner != provisioner {\n", "		if node.Spec.Provisioner != provisioner || node.DeletionTimestamp != nil {\n",
	}}},
	{"launch before the cache shows what was launched", "a pass sees what earlier passes wrote", []edit{{
		"internal/provisioning/scheduler/observe.go", "	if o.seen.Behind, err = o.created.unseen(ctx, o.Live, cluster.Provisioned); err != nil || o.seen.Behind {\n",
		"	if _, err = o.created.unseen(ctx, o.Live, cluster.Provisioned); err != nil {\n",
	}}},
	{"launch before the cache shows what an earlier process launched", "a pass sees what earlier processes wrote", []edit{{
		"internal/provisioning/scheduler/observe.go", "		o.created.add(nodes.Items[i].Name)\n", "		_ = nodes.Items[i].Name\n",
	}}},
	{"forget a node whose creation lost its answer", "a write that failed may have its effect", []edit{{
		"internal/provisioning/scheduler/act.go", "		a.created.add(node.Name) // a creation that fails may have its effect\n", "",
	}, {
		"internal/provisioning/scheduler/act.go", "		a.Report.Progress.NodesDecided(node.Spec.Provisioner, metrics.DecisionLaunch, 1)\n",
		"		a.created.add(node.Name)\n		a.Report.Progress.NodesDecided(node.Spec.Provisioner, metrics.DecisionLaunch, 1)\n",
	}}},
	{"launch without a client token", "a repeated call launches nothing twice", []edit{{
		"internal/fleet/fleet.go", "		ClientToken: awssdk.String(clientToken(r)),\n", "		ClientToken: awssdk.String(clientToken(r)[:0]),\n",
	}}},
	{"launch again with another token", "a repeated call launches nothing twice", []edit{{
		"internal/provisioning/nodelifecycle/act_launch.go", "	request := launcher.Request(spec)\n", "	request := launcher.Request(spec)\n	request.Name += a.Clock.Now().Format(\"150405\")\n",
	}}},
	{"launch for every node of a launch", "one call launches all nodes of a launch", []edit{{
		"internal/provisioning/nodelifecycle/act_launch.go", "a.launches.once(l.Launch, a.Clock.Now()", "a.launches.once(a.Object.Name, a.Clock.Now()",
	}, {
		"internal/provisioning/nodelifecycle/act_launch.go", "	request := launcher.Request(spec)\n", "	request := launcher.Request(spec)\n	request.Name = a.Object.Name\n",
	}}},
	{"delete pods rather than evict them", "evictions respect PodDisruptionBudgets", []edit{{
		"internal/drain/api.go", "	return c.PolicyV1().Evictions(eviction.Namespace).Evict(ctx, eviction)\n",
		"	return c.CoreV1().Pods(eviction.Namespace).Delete(ctx, eviction.Name, metav1.DeleteOptions{})\n",
	}}},
	{"evict from a node that takes pods", "a node is cordoned before it is drained", []edit{{
		"internal/drain/drain.go", "	if node.Spec.Unschedulable {\n		return nil\n	}\n	if err := api.Cordon(", "	if !node.Spec.Unschedulable {\n		return nil\n	}\n	if err := api.Cordon(",
	}}},
	{"terminate without a drain", "a node is drained before its instance terminates", []edit{{
		"internal/provisioning/nodelifecycle/decide.go", "checkInstance, nameMember, ensureDrained, ensureTerminated, release}", "checkInstance, nameMember, ensureTerminated, release}",
	}}},
	{"delete a node whose instance is not recorded", "what must survive is recorded", []edit{{
		"internal/provisioning/nodelifecycle/decide.go", "	if in.Seen.Answer == nil || in.Seen.Member == nil {\n", "	if in.Seen.Answer == nil || in.Seen.Member != nil {\n",
	}}},
	{"treat a foreign instance as the node's", "only the tags show whose an instance is", []edit{{
		"internal/fleet/claim.go", "	mark, launch := instance.Tags[infrav1.TagClusterUID], instance.Tags[TagLaunch]\n",
		"	if c.Launch != \"\" {\n		return nil\n	}\n	mark, launch := instance.Tags[infrav1.TagClusterUID], instance.Tags[TagLaunch]\n",
	}}},
	{"leave instances that no node knows", "an instance whose launch lost its answer is terminated", []edit{{
		"internal/provisioning/nodelifecycle/collect.go", "		if !c.suspects[instance.ID] {\n", "		if !c.suspects[instance.ID] || c.suspects[instance.ID] {\n",
	}}},
	{"take an instance that EC2 does not show for none", "reads of AWS lag behind", []edit{{
		"internal/provisioning/nodelifecycle/decide_delete.go", "isMine) && mayAppear(in) {", "isMine) && mayAppear(in) && in.Object == nil {",
	}}},
	{"leave the default launch templates of a deleted Provisioner", "what is created in AWS is deleted with its object", []edit{{
		"internal/provisioning/defaults/defaults.go", "			if !found[name].OwnedBy(owner(provisioner, variant)) {\n				continue\n			}\n			if err := t.Templates.Delete(",
		"			if found[name].OwnedBy(owner(provisioner, variant)) {\n				continue\n			}\n			if err := t.Templates.Delete(",
	}}},
	{"count a node that never starts as one that starts", "a node that fails is replaced", []edit{{
		"internal/provisioning/nodelifecycle/decide_repair.go", "status.ReadyTime == nil && status.AwaySince == nil {", "status.ReadyTime == nil {",
	}}},
	{"keep a node that does not start", "a node that fails is replaced", []edit{{
		"internal/provisioning/nodelifecycle/decide_initialize.go", "	if left := timeout - sinceLaunch(in); left > 0 {\n", "	if left := timeout + sinceLaunch(in); left > 0 {\n",
	}}},
	{"keep the finalizer of Nodes", "a Node goes with its instance", []edit{{
		"internal/provisioning/nodelifecycle/act.go", "	if err := reconciling.RemoveFinalizer(ctx, c, member, provisioningv1.NodeFinalizer); err != nil {\n",
		"	if err := reconciling.RemoveFinalizer(ctx, c, member, provisioningv1.NodeFinalizer+\"s\"); err != nil {\n",
	}}},
	// An actual mistake of the past, by which a node that could never be replaced was reconciled every
	// two seconds.
	{"check forever in short intervals what may never come", "an object at rest is reconciled rarely", []edit{{
		"internal/provisioning/nodelifecycle/decide_disrupt.go", "min(max(waited/15, first), recheckKept)", "min(max(waited/15000, first), recheckKept)",
	}}},
	{"do not wake for pods that wait", "every change wakes the objects that it concerns", []edit{{
		"internal/provisioning/scheduler/register.go", "waits(update.ObjectNew) != waits(update.ObjectOld) || ", "",
	}}},
}

// provisionerFlaws are mistakes at the edges of a process that has Provisioners.
var provisionerFlaws = []flawed{
	{"launch instances without tags", "only the tags show whose an instance is", form("CreateFleet", without("TagSpecification"))},
	{"launch one instance more", "a launch has an instance for each of its nodes", form("CreateFleet", with("TargetCapacitySpecification.TotalTargetCapacity", "5"))},
	{"send no client token for a fleet", "a repeated call launches nothing twice", form("CreateFleet", with("ClientToken", ""))},
	{"terminate nothing", "what is created in AWS is deleted with its object", form("TerminateInstances", with("InstanceId.1", "i-00000000000000001"))},
	{"do not cordon", "a node is cordoned before it is drained", simulation.Flaw{NoCordons: true}},
	{"delete evicted pods", "evictions respect PodDisruptionBudgets", simulation.Flaw{Deletes: true}},
	{"decide from instances as they were", "decisions follow from what AWS holds, not from memory", simulation.Flaw{Remembers: "DescribeInstances"}},
	{"receive no events about pods", "every change wakes the objects that it concerns", simulation.Flaw{Deaf: "Pod"}},
	{"receive no events about ProvisionedNodes", "every change wakes the objects that it concerns", simulation.Flaw{Deaf: "ProvisionedNode"}},
	{"receive no events about Nodes", "every change wakes the objects that it concerns", simulation.Flaw{Deaf: "Node"}},
	{"hold Provisioners by no finalizer", "what is created in AWS is deleted with its object", patched("Provisioner", false, lacking("metadata", "finalizers"))},
	{"write no status of ProvisionedNodes", "status says what is", patched("ProvisionedNode", true, func(patch map[string]any) { delete(patch, "status") })},
}
