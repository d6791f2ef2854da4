package simulation_test

import (
	"slices"

	"github.com/slipway-project/slipway/internal/simulation"
)

// kindOf returns the kind of the schedules that notice a mistake, by the name of the mistake.
func kindOf(mistake string) string {
	has := func(mutants []mutant, flaws []flawed) bool {
		return slices.ContainsFunc(mutants, func(one mutant) bool { return one.name == mistake }) ||
			slices.ContainsFunc(flaws, func(one flawed) bool { return one.name == mistake })
	}
	switch {
	case has(slices.Concat(managedMutants, managedSteeringMutants), managedFlaws):
		return simulation.Managed
	case has(provisionerMutants, provisionerFlaws):
		return simulation.Provisioners
	}
	return simulation.SelfManaged
}

// managedMutants are mistakes about AWSManagedMachinePools.
var managedMutants = []mutant{
	{"treat a foreign node group as the pool's", "only the owner tag shows who owns a node group", []edit{{
		"internal/managedmachinepool/observe_nodegroups.go", "case group.OwnedBy(ownerTag(in)):", "case group.OwnedBy(ownerTag(in)) || group.Works():",
	}}},
	{"update the node group for another join token", "another join token replaces nothing", []edit{{
		"internal/managedmachinepool/decide_desired.go", "slices.Contains(status.CurrentVersions, version)", "status.Version == version",
	}}},
	{"forget that node groups use versions", "a version that a node group was created from is kept", []edit{{
		"internal/launchconfig/lookups.go", "			inUse[group.Version] = true\n", "",
	}}},
	{"forget that an update may go back to another version", "a version that a node group may go back to is kept", []edit{{
		"internal/launchconfig/lookups.go", "inUse[version] || group.Busy()", "inUse[version]",
	}}},
	{"expect every node group to be visible", "reads of AWS lag behind", []edit{{
		"internal/launchconfig/decide_delete.go", "if own && (!used.groupEnded ||", "if own && used.user.Kind == kindSelfManaged && (!used.groupEnded ||",
	}}},
	{"create a node group again with the same token", "a request that is repeated creates nothing, and another one does", []edit{{
		"internal/nodegroup/request.go", "\"create\", desired.Owner, desired.UID, lost, text(input)", "\"create\", desired.Owner, desired.UID, lost[:0], text(input)",
	}}},
	{"update the node group from an earlier launch config", "decisions are made from the present launch config", []edit{{
		"internal/managedmachinepool/decide_nodegroup.go", "if step.Version != nil && launchable(in) != nil && !in.Seen.LaunchConfig.Current(plan) {", "if step.Version != nil && launchable(in) == nil && !in.Seen.LaunchConfig.Current(plan) {",
	}}},
	{"scale a node group to the size that an earlier MachinePool asked for", "decisions are made from the present MachinePool", []edit{{
		"internal/managedmachinepool/decide_nodegroup.go", "if step.Resizes() && !in.Seen.Sizes.Current(plan) {", "if step.Resizes() && step.Config == nil && !in.Seen.Sizes.Current(plan) {",
	}}},
	{"overwrite the size that an autoscaler chose", "an external autoscaler decides the size where the MachinePool says so", []edit{{
		"internal/managedmachinepool/decide_desired.go", "if pool.Autoscaled(in.Seen.MachinePool) {", "if pool.Autoscaled(in.Seen.MachinePool) && in.Seen.Group == nil {",
	}}},
	{"do not follow the autoscaler", "the MachinePool has the size that an external autoscaler chose", []edit{{
		"internal/managedmachinepool/decide_report.go", "if tried || !pool.Autoscaled(machinePool) ||", "if tried || pool.Autoscaled(machinePool) ||",
	}}},
	{"do not wake a managed pool when its launch config is ready", "every change wakes the objects that it concerns", []edit{{
		"internal/managedmachinepool/controller.go", "Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfConfig))", "Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfTemplate))",
	}}},
	{"delete the launch config before the node group", "a template that a node group uses is not deleted", []edit{{
		"internal/managedmachinepool/decide_delete.go", "knowNodegroups, deleteNodegroups, deleteConfig, deleteTemplates, deleteRoles,", "knowNodegroups, deleteConfig, deleteNodegroups, deleteTemplates, deleteRoles,",
	}}},
	{"leave the role of a deleted pool", "what is created in AWS is deleted with its object", []edit{{
		"internal/managedmachinepool/decide_delete.go", "		plan.Need(needRoles)\n", "",
	}}},
	{"count an instance that leaves its node group", "an instance on its way out is neither a replica nor ready", []edit{{
		"internal/managedmachinepool/decide_report.go", "		if instance.Leaving() {\n			continue\n		}\n		present++", "		present++",
	}}},
	{"leave a node group that EKS could not create", "a node group that cannot be updated is created again", []edit{{
		"internal/managedmachinepool/decide_nodegroup.go", "	case nodegroup.StatusCreateFailed, nodegroup.StatusDeleteFailed:\n		clearAway(in, plan)\n", "	case nodegroup.StatusCreateFailed:\n		_ = clearAway\n",
	}}},
	{"forget the node group that is being replaced", "what is created in AWS is recorded before it could be forgotten", []edit{{
		"internal/managedmachinepool/decide_replace.go", "recordNames(in, plan, successor+\",\"+group.Name)", "recordNames(in, plan, successor)",
	}}},
	{"take the update in status for the one that is under way", "what status names is compared with what EKS does", []edit{{
		"internal/managedmachinepool/decide_update.go", "if recordedRuns(record) && (!updating || in.Seen.Fresh) {", "if recordedRuns(record) && !updating {",
	}}},
	{"describe no Auto Scaling group again after an update that status missed", "decisions are made from descriptions of one time", []edit{{
		"internal/managedmachinepool/observe_nodegroups.go", "o.updateEnded() || o.updateMissed()", "o.updateEnded() || false && o.updateMissed()",
	}}},
	{"record no name before a node group is created", "what is created in AWS is recorded before it could be forgotten", []edit{{
		"internal/managedmachinepool/decide_create.go", "if ownership.RecordedNodegroup(in.Object) != in.Seen.FreeName {", "if ownership.RecordedNodegroup(in.Object) != in.Seen.FreeName && in.Seen.FreeName == \"\" {",
	}}},
}

// body returns a flaw of the requests of an action of EKS.
func body(action string, change func(body map[string]any)) simulation.Flaw {
	return simulation.Flaw{Body: func(name string, body map[string]any) {
		if name == action {
			change(body)
		}
	}}
}

// lacks returns a change that drops a member.
func lacks(member string) func(map[string]any) {
	return func(body map[string]any) { delete(body, member) }
}

// firstVersion has a node group launch from the first version of its template.
func firstVersion(body map[string]any) {
	if template, is := body["launchTemplate"].(map[string]any); is {
		template["version"] = "1"
	}
}

// managedFlaws are mistakes at the edges of a process that has AWSManagedMachinePools.
var managedFlaws = []flawed{
	{"create node groups without tags", "only the owner tag says whose a node group is", body("CreateNodegroup", lacks("tags"))},
	{"create node groups from the first version", "a node group has the wanted version", body("CreateNodegroup", firstVersion)},
	{"create node groups with one node more", "a node group has as many nodes as the MachinePool asks for", body("CreateNodegroup", func(body map[string]any) {
		body["scalingConfig"] = map[string]any{"minSize": 1, "maxSize": 5, "desiredSize": 4}
	})},
	{"update node groups to the first version", "a node group has the wanted version", body("UpdateNodegroupVersion", firstVersion)},
	{"do not change the size of node groups", "a node group has as many nodes as the MachinePool asks for", body("UpdateNodegroupConfig", func(body map[string]any) {
		lacking("scalingConfig", "desiredSize")(body)
	})},
	{"do not change the labels of nodes", "an edit reaches the nodes", body("UpdateNodegroupConfig", lacks("labels"))},
	{"do not change the taints of nodes", "an edit reaches the nodes", body("UpdateNodegroupConfig", lacks("taints"))},
	{"send no client tokens for node groups", "a repeated call creates nothing twice", simulation.Flaw{Body: func(_ string, body map[string]any) { delete(body, "clientRequestToken") }}},
	{"decide from node groups as they were", "decisions follow from what AWS holds, not from memory", simulation.Flaw{Remembers: "DescribeNodegroup"}},
	{"hold managed pools by no finalizer", "what is created in AWS is deleted with its object", patched("AWSManagedMachinePool", false, lacking("metadata", "finalizers"))},
	{"write no status of managed pools", "status says what is", patched("AWSManagedMachinePool", true, func(patch map[string]any) { delete(patch, "status") })},
	{"do not tell Cluster API which instances of node groups run", "Cluster API knows the instances", patched("AWSManagedMachinePool", false, lacking("spec", "providerIDList"))},
	{"hear nothing about managed pools", "every change wakes the objects that it concerns", simulation.Flaw{Deaf: "AWSManagedMachinePool"}},
	{"create roles without tags", "only the owner tag says whose a role is", form("CreateRole", without("Tags."))},
}
