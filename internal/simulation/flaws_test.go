package simulation_test

import (
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/simulation"
)

var flawsFlag = flag.Int("flaws", 0, "run each flaw through so many schedules at most, rather than some flaws through a few")

// quickFlaws are noticed within quickSchedules.
var quickFlaws = []string{
	"create groups without tags", "create groups with one instance more", "create templates without tags", "create versions without a description",
	"create node groups without tags", "create node groups with one node more", "launch instances without tags", "launch one instance more",
}

const quickSchedules = 10

// form returns a flaw of the requests of an action.
func form(action string, change func(form url.Values)) simulation.Flaw {
	return simulation.Flaw{Request: func(name string, form url.Values) {
		if name == action {
			change(form)
		}
	}}
}

// without returns a change that drops the parameters with a prefix.
func without(prefix string) func(url.Values) {
	return func(form url.Values) {
		for name := range form {
			if strings.HasPrefix(name, prefix) {
				form.Del(name)
			}
		}
	}
}

// with returns a change that sets a parameter.
func with(name, value string) func(url.Values) {
	return func(form url.Values) { form.Set(name, value) }
}

// patched returns a flaw of the patches of a kind.
func patched(kind string, ofStatus bool, change func(patch map[string]any)) simulation.Flaw {
	return simulation.Flaw{Patch: func(name string, status bool, patch map[string]any) {
		if name == kind && status == ofStatus {
			change(patch)
		}
	}}
}

// lacking returns a change of a patch that drops a member of another.
func lacking(parent, member string) func(map[string]any) {
	return func(patch map[string]any) {
		if members, is := patch[parent].(map[string]any); is {
			delete(members, member)
		}
	}
}

// unannotated returns a change of a patch that drops an annotation.
func unannotated(name string) func(map[string]any) {
	return func(patch map[string]any) {
		if metadata, is := patch["metadata"].(map[string]any); is {
			lacking("annotations", name)(metadata)
		}
	}
}

// flawed is a flaw and the rule that it breaks.
type flawed struct {
	name, rule string
	flaw       simulation.Flaw
}

// flaws are mistakes at the edges of the process.
var flaws = []flawed{
	{"create groups without tags", "only the owner tag says whose a group is", form("CreateAutoScalingGroup", without("Tags."))},
	{"create groups from another version", "the group names its version by number", form("CreateAutoScalingGroup", with("LaunchTemplate.Version", "$Latest"))},
	{"create groups with one instance more", "the group has as many instances as the MachinePool asks for", form("CreateAutoScalingGroup", with("DesiredCapacity", "4"))},
	{"create groups without their instances", "the group has as many instances as the MachinePool asks for", form("CreateAutoScalingGroup", with("DesiredCapacity", "0"))},
	{"do not change the capacity of groups", "the group has as many instances as the MachinePool asks for", form("UpdateAutoScalingGroup", without("DesiredCapacity"))},
	{"do not point groups at new versions", "an edit reaches the instances", form("UpdateAutoScalingGroup", without("LaunchTemplate."))},
	{"point groups at the newest version", "the group names its version by number", form("UpdateAutoScalingGroup", func(form url.Values) {
		if form.Has("LaunchTemplate.Version") {
			form.Set("LaunchTemplate.Version", "$Latest")
		}
	})},
	{"change the group that has the pool's name", "only the owner tag says whose a group is", form("UpdateAutoScalingGroup", with("AutoScalingGroupName", "workers"))},
	{"delete the group that has the pool's name", "only the owner tag says whose a group is", form("DeleteAutoScalingGroup", with("AutoScalingGroupName", "workers"))},
	{"delete groups only if they are empty", "what is created in AWS is deleted with its object", form("DeleteAutoScalingGroup", without("ForceDelete"))},
	{"replace instances that run what is wanted", "a refresh spares instances that run what is wanted", form("StartInstanceRefresh", func(form url.Values) {
		form.Set("Preferences.SkipMatching", "false")
		form.Set("Preferences.ScaleInProtectedInstances", "Refresh")
	})},
	{"refresh the group that has the pool's name", "only the owner tag says whose a group is", form("StartInstanceRefresh", with("AutoScalingGroupName", "workers"))},
	{"protect instances for ever", "protection that Slipway sets is removed again", form("SetInstanceProtection", with("ProtectedFromScaleIn", "true"))},
	{"create templates without tags", "only the owner tag says whose a template is", form("CreateLaunchTemplate", without("TagSpecification."))},
	{"create versions without a description", "a version says by its fingerprints what it holds", form("CreateLaunchTemplateVersion", without("VersionDescription"))},
	{"create versions without user data", "an instance can join its cluster", form("CreateLaunchTemplateVersion", without("LaunchTemplateData.UserData"))},
	{"create versions with another instance type", "an instance runs what the spec asks for", form("CreateLaunchTemplateVersion", with("LaunchTemplateData.InstanceType", "t3.large"))},
	{"create versions without the root volume", "an instance runs what the spec asks for", form("CreateLaunchTemplateVersion", without("LaunchTemplateData.BlockDeviceMapping."))},
	{"send no client tokens", "a repeated call creates nothing twice", simulation.Flaw{Request: func(_ string, form url.Values) { form.Del("ClientToken") }}},
	{"make the first version the default", "the wanted version is the default", form("ModifyLaunchTemplate", with("SetDefaultVersion", "1"))},
	{"delete the version after the one that is meant", "a version in use is kept", form("DeleteLaunchTemplateVersions", func(form url.Values) {
		for name := range form {
			if strings.HasPrefix(name, "LaunchTemplateVersion.") {
				var number int
				if _, err := fmt.Sscan(form.Get(name), &number); err == nil {
					form.Set(name, fmt.Sprint(number+1))
				}
			}
		}
	})},
	{"delete a foreign template", "only the owner tag says whose a template is", form("DeleteLaunchTemplate", func(form url.Values) {
		form.Del("LaunchTemplateId")
		form.Set("LaunchTemplateName", "workers")
	})},
	{"take no conflict for one", "a write that was decided from an outdated object is refused", simulation.Flaw{Patch: func(_ string, _ bool, patch map[string]any) { lacking("metadata", "resourceVersion")(patch) }}},
	{"hold pools by no finalizer", "what is created in AWS is deleted with its object", patched("AWSMachinePool", false, lacking("metadata", "finalizers"))},
	{"hold launch configs by no finalizer", "what is created in AWS is deleted with its object", patched("AWSLaunchConfig", false, lacking("metadata", "finalizers"))},
	{"write no status of pools", "status says what is", patched("AWSMachinePool", true, func(patch map[string]any) { delete(patch, "status") })},
	{"write no status of launch configs", "status says what is", patched("AWSLaunchConfig", true, func(patch map[string]any) { delete(patch, "status") })},
	{"omit the generation in the status of a pool", "status has the generation that it describes", patched("AWSMachinePool", true, lacking("status", "observedGeneration"))},
	{"omit the generation in the status of a launch config", "status has the generation that it describes", patched("AWSLaunchConfig", true, lacking("status", "observedGeneration"))},
	{"do not say which version is wanted", "status says what is", patched("AWSLaunchConfig", true, lacking("status", "version"))},
	{"do not say how many instances run", "status says what is", patched("AWSMachinePool", true, lacking("status", "replicas"))},
	{"do not tell Cluster API which instances run", "Cluster API knows the instances", patched("AWSMachinePool", false, lacking("spec", "providerIDList"))},
	{"do not pass on edits", "an edit reaches the instances", patched("AWSLaunchConfig", false, func(patch map[string]any) { delete(patch, "spec") })},
	{"own no launch config", "what a pool creates belongs to it", simulation.Flaw{Create: func(object client.Object) {
		if config, is := object.(*infrav1.AWSLaunchConfig); is {
			config.OwnerReferences = nil
		}
	}}},
	{"do not say since when nodes are drained", "what must survive a restart is recorded", patched("AWSMachinePool", false, unannotated(machinepool.DrainingAnnotation))},
	{"delete pods instead of evicting them", "PodDisruptionBudgets are respected", simulation.Flaw{Deletes: true}},
	{"do not cordon nodes", "no pod comes to a node that is drained", simulation.Flaw{NoCordons: true}},
	{"complete another hook", "an instance terminates once its node is drained", form("CompleteLifecycleAction", with("LifecycleHookName", "another"))},
	{"extend the hold of another hook", "an instance is held until its node is drained", form("RecordLifecycleActionHeartbeat", with("LifecycleHookName", "another"))},
	{"decide from groups as they were", "decisions follow from what AWS holds, not from memory", simulation.Flaw{Remembers: "DescribeAutoScalingGroups"}},
	{"decide from templates as they were", "decisions follow from what AWS holds, not from memory", simulation.Flaw{Remembers: "DescribeLaunchTemplates"}},
	{"decide from versions as they were", "decisions follow from what AWS holds, not from memory", simulation.Flaw{Remembers: "DescribeLaunchTemplateVersions"}},
	{"decide from refreshes as they were", "decisions follow from what AWS holds, not from memory", simulation.Flaw{Remembers: "DescribeInstanceRefreshes"}},
	{"hear nothing about pools", "every change wakes the objects that it concerns", simulation.Flaw{Deaf: "AWSMachinePool"}},
	{"hear nothing about launch configs", "every change wakes the objects that it concerns", simulation.Flaw{Deaf: "AWSLaunchConfig"}},
	{"hear nothing about MachinePools", "every change wakes the objects that it concerns", simulation.Flaw{Deaf: "MachinePool"}},
	{"do not look at AWS", "changes outside Slipway are noticed", simulation.Flaw{NoSweeps: true}},
	{"do not look at Secrets", "a new join token reaches the group", simulation.Flaw{NoSecrets: true}},
	{"do not come back", "a pass that waits for something comes back", simulation.Flaw{NoReturns: true}},
	{"do not try again", "a call that failed is tried again", simulation.Flaw{NoRetries: true}},
}

// TestFlaws has the invariants notice each flaw, within as many schedules as -flaws says.
func TestFlaws(t *testing.T) {
	t.Parallel()
	for _, one := range slices.Concat(flaws, steeringFlaws, managedFlaws, provisionerFlaws) {
		if *flawsFlag == 0 && !slices.Contains(quickFlaws, one.name) {
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			noticed, is := notice(t, kindOf(one.name), one.flaw, atMost(*flawsFlag), mistakePatience)
			if !is {
				t.Fatalf("no schedule of %d notices", atMost(*flawsFlag))
			}
			t.Log(noticed)
			record(t, "flaw", one.name, one.rule, noticed)
		})
	}
}
