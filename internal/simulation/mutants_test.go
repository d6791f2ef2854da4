package simulation_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var mutantsFlag = flag.Int("mutants", 0, "compile each mutant, and run it through so many schedules at most")

// mutant is a mistake in the product: a change of its source that breaks a rule, and that the
// simulation must notice.
type mutant struct {
	name, rule string
	edits      []edit
}

// edit replaces a text that occurs once in a file.
type edit struct{ file, is, becomes string }

// mutants are plausible mistakes, or actual mistakes of the past.
var mutants = []mutant{
	{"treat a foreign group as the pool's", "only the owner tag says whose a group is", []edit{{
		"internal/autoscalinggroup/groups.go", "case exists && candidate.OwnedBy(owner):", "case exists:",
	}}},
	{"create a version without a client token", "a repeated call creates nothing twice", []edit{{
		"internal/launchtemplate/operate.go", "		ClientToken:        &token,\n", "		ClientToken:        awssdk.String(token[:0]),\n",
	}}},
	{"prune versions that are in use", "a version that an instance runs is kept", []edit{{
		"internal/launchtemplate/prune.go", "&& !inUse[version.Number]", "",
	}}},
	{"prune versions before descriptions show who uses them", "reads of AWS lag behind", []edit{{
		"internal/launchconfig/decide_prune.go", "return usersVisibleAfter - in.Now.Sub(lastWanted(in))", "return -in.Now.Sub(lastWanted(in))",
	}}},
	{"roll instances for another join token", "another join token replaces nothing", []edit{{
		"internal/launchtemplate/input.go", "hash(32, \"config/1\", text, string(masked))", "hash(32, \"config/1\", text, string(masked), string(bootstrap))",
	}}},
	{"give no reason for calls to AWS", "each write in AWS can be traced to the change that caused it", []edit{{
		"internal/reconcile/span.go", "	ctx = cause.Because(ctx, step.Reason)\n", "	ctx = cause.Because(ctx, step.Reason[:0])\n",
	}}},
	{"add no finalizer", "what is created in AWS is deleted with its object", []edit{
		{"internal/reconcile/controller.go", "			controllerutil.AddFinalizer(object, c.Finalizer)\n", "			controllerutil.RemoveFinalizer(object, c.Finalizer)\n"},
	}},
	// Cluster API Provider AWS starts a refresh only in the pass that changes the group. A crash in
	// between loses it.
	{"start a refresh only in the pass that updates the group", "whether a roll-out is due follows from the instances (a known defect of Cluster API Provider AWS)", []edit{
		{"internal/machinepool/decide_rollout.go", "		startIfStillDue(in, plan, decision)\n", "		if repointed(in) != nil {\n			startIfStillDue(in, plan, decision)\n		}\n"},
	}},
	// Cluster API Provider AWS compares tags with what it has recorded of them, and records that
	// only at the end of a whole pass. The second pass over a new pool finds them changed, creates
	// another version, and replaces the new instances.
	{"find the tags of a new pool changed", "an edit that nets to nothing replaces nothing (a known defect of Cluster API Provider AWS)", []edit{{
		"internal/launchconfig/decide_resolve.go", "facts.OwnedTags(names(config)[0], config.Spec.AdditionalTags)",
		"facts.OwnedTags(names(config)[0], map[bool]map[string]string{true: config.Spec.AdditionalTags}[config.Status.LaunchTemplateID != \"\"])",
	}}},
	{"do not scale the group", "the group has as many instances as the MachinePool asks for", []edit{{
		"internal/autoscalinggroup/reasons.go", "return number(\"desired capacity\", group.Capacity, *desired.Capacity)", "return \"\"",
	}}},
	{"forget what a deleted pool leaves in AWS", "what is created in AWS is deleted with its object", []edit{{
		"internal/machinepool/decide_delete.go", "deleteGroupFirst, removeMachinesOfPool,", "removeMachinesOfPool,",
	}}},
	{"delete the template before its users", "a template that a group uses is not deleted", []edit{{
		"internal/launchconfig/decide_delete.go", "inUse := in.Seen.Use.InUse; len(inUse) > 0 {", "inUse := in.Seen.Use.InUse; len(inUse) > 100 {",
	}}},
	{"do not wake a pool when its launch config is ready", "every change wakes the objects that it concerns", []edit{{
		"internal/machinepool/controller.go", "		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfConfig)).\n", "		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfTemplate)).\n",
	}}},
	{"complete the hook at once", "a node is drained before its instance terminates", []edit{{
		"internal/machinepool/decide_drain.go", "return d.empty || d.expired }", "return d.empty || d.expired || d.node != \"\" }",
	}}},
	{"take a workload cluster that does not answer for one without the node", "a node is drained before its instance terminates", []edit{{
		"internal/machinepool/decide_drain.go", "if node.Name == \"\" && node.Failure == \"\" {", "if node.Name == \"\" {",
	}}},
	{"delete the group before its nodes are drained", "a node is drained before its instance terminates", []edit{{
		"internal/machinepool/decide_delete.go", "respectProtection, emptyGroup, emptyProtected", "respectProtection, emptyProtected",
	}}},
	{"drain the nodes of all instances", "a node is drained only if its instance is on its way out", []edit{{
		"internal/machinepool/decide_drain.go", "return !instance.Held() && !retainedHere(in, instance)", "return !instance.Held() && !instance.InService()",
	}}},
	{"give drains no time limit", "a drain finishes", []edit{{
		"internal/machinepool/decide_drain.go", "expired: !in.Now.Before(until) && !unlimited", "expired: !in.Now.Before(until) && unlimited",
	}}},
	{"forget since when a node is drained", "what must survive a restart is recorded", []edit{{
		"internal/machinepool/decide_drain.go", "object.Annotations[DrainingAnnotation]), &begun)", "object.Annotations[\"\"]), &begun)",
	}}},
	{"count a draining instance", "an instance on its way out is neither a replica nor ready", []edit{{
		"internal/machinepool/decide_report.go", "		if instance.Leaving() {\n			continue\n		}\n		present++", "		present++",
	}}},
	{"go on with a roll-out whose nodes do not become Ready", "a roll-out does not cost the nodes that work", []edit{{
		"internal/machinepool/decide_readiness.go", "return len(missing) > ready && ", "return len(missing) > ready+1000 && ",
	}}},
	{"start a roll-out again that was stopped", "a roll-out does not cost the nodes that work", []edit{{
		"internal/autoscalinggroup/rollout.go", " || r.Broken || r.preferences().Disable:", " || r.preferences().Disable:",
	}}},
	{"write status in every pass", "at rest, nothing is written", []edit{{
		"internal/machinepool/decide_report.go", "	countInstances(in)\n	// Both", "	countInstances(in)\n	status.InstanceTypes += in.Now.String()\n	// Both",
	}}},
}

// source returns the file of an edit with the edit applied.
func (e edit) source(t *testing.T, before string) string {
	t.Helper()
	if before == "" {
		read, err := os.ReadFile(filepath.Join("..", "..", e.file))
		if err != nil {
			t.Fatal(err)
		}
		before = string(read)
	}
	if n := strings.Count(before, e.is); n != 1 {
		t.Fatalf("%q occurs %d times in %s: change the mutant with the source", e.is, n, e.file)
	}
	return strings.Replace(before, e.is, e.becomes, 1)
}

// sources returns the files that a mutant changes, as it has them.
func (m mutant) sources(t *testing.T) map[string]string {
	t.Helper()
	changed := map[string]string{}
	for _, change := range m.edits {
		changed[change.file] = change.source(t, changed[change.file])
	}
	return changed
}

// TestMutants holds that each mutant can be created from the source as it is. With -mutants N each
// is caught within N schedules.
func TestMutants(t *testing.T) {
	for _, one := range slices.Concat(mutants, steeringMutants, managedMutants, managedSteeringMutants, provisionerMutants) {
		t.Run(one.name, func(t *testing.T) {
			sources := one.sources(t)
			if *mutantsFlag == 0 {
				return
			}
			output, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=0", "-run", "TestNotices$", "-v",
				"-overlay", overlay(t, sources), ".", "-notices", strconv.Itoa(*mutantsFlag), "-kind", kindOf(one.name)).CombinedOutput()
			if err != nil {
				t.Fatalf("the mutant cannot be run: %v\n%s", err, output)
			}
			noticed, is := found(string(output))
			if !is {
				t.Fatalf("no schedule of %d notices", *mutantsFlag)
			}
			t.Log(noticed)
			record(t, "mutant", one.name, one.rule, noticed)
		})
	}
}

// TestMutantsCompile holds that all mutants together compile, so that none is noticed only because
// of an unused variable.
func TestMutantsCompile(t *testing.T) {
	t.Parallel()
	sources, packages := map[string]string{}, map[string]bool{}
	for _, one := range slices.Concat(mutants, steeringMutants, managedMutants, managedSteeringMutants, provisionerMutants) {
		for _, change := range one.edits {
			sources[change.file] = change.source(t, sources[change.file])
			packages["./"+filepath.Dir(change.file)] = true
		}
	}
	arguments := append([]string{"build", "-overlay", overlay(t, sources)}, slices.Sorted(maps.Keys(packages))...)
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = filepath.Join("..", "..")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// overlay writes sources next to each other, and returns the file that has the go command use them
// in place of the product's sources.
func overlay(t *testing.T, sources map[string]string) string {
	t.Helper()
	replace := map[string]string{}
	directory := t.TempDir()
	for file, source := range sources {
		original, err := filepath.Abs(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		replace[original] = filepath.Join(directory, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(replace[original], []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(directory, "overlay.json")
	if err := os.WriteFile(name, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
