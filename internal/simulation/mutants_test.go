package simulation_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var mutantsFlag = flag.Int("mutants", 0, "compile each mutant, and run it through so many schedules at most")

// mutant is a mistake in the product: a change of its source that breaks a rule, and that the simulation must notice.
type mutant struct {
	name  string
	edits []edit
}

// edit replaces a text that occurs once in a file.
type edit struct{ file, is, becomes string }

// mutants are mistakes that somebody might make, or has made.
var mutants = []mutant{
	{"take somebody else's group for the pool's", []edit{{
		"internal/autoscalinggroup/groups.go", "case exists && candidate.OwnedBy(owner):", "case exists:",
	}}},
	{"create a version without a client token", []edit{{
		"internal/launchtemplate/templates.go", "		ClientToken:        &token,\n", "		ClientToken:        awssdk.String(token[:0]),\n",
	}}},
	{"prune versions that are in use", []edit{{
		"internal/launchtemplate/prune.go", "&& !inUse[version.Number]", "",
	}}},
	{"prune versions before descriptions show who uses them", []edit{{
		"internal/controllers/awslaunchconfig/version.go", "return usersVisibleAfter - r.Clock.Since(changed)", "return 0",
	}}},
	{"roll instances for another join token", []edit{{
		"internal/launchtemplate/input.go", "hash(32, \"config/1\", text, string(masked))", "hash(32, \"config/1\", text, string(masked), string(bootstrap))",
	}}},
	{"add no finalizer", []edit{{
		"internal/reconciling/object.go", "		controllerutil.AddFinalizer(object, finalizer)\n", "",
	}}},
	// Cluster API Provider AWS starts a refresh only in the pass that changes the group. A crash in between loses it.
	{"start a refresh only in the pass that updates the group", []edit{
		{"internal/controllers/awsmachinepool/controller.go", "	hooksMade bool\n", "	hooksMade bool\n	updated   bool\n"},
		{"internal/controllers/awsmachinepool/group.go", "	seen := *p.group\n", "	seen := *p.group\n	p.updated = desired.Version != 0 && p.group.Version != fmt.Sprint(desired.Version)\n"},
		{"internal/controllers/awsmachinepool/rollout.go", "		return r.startRefresh(ctx, p, history)\n", "		if !p.updated {\n			return reconciling.Continue()\n		}\n		return r.startRefresh(ctx, p, history)\n"},
	}},
	{"do not scale the group", []edit{{
		"internal/autoscalinggroup/reasons.go", "return number(\"desired capacity\", group.Capacity, *desired.Capacity)", "return \"\"",
	}}},
	{"forget what a deleted pool leaves in AWS", []edit{{
		"internal/controllers/awsmachinepool/delete.go", "		{Name: \"deleting the Auto Scaling group\", Run: r.deleteGroup},\n", "",
	}}},
	{"delete the template before its users", []edit{{
		"internal/controllers/awslaunchconfig/delete.go", "	if len(inUse) > 0 {\n", "	if len(inUse) > 100 {\n",
	}}},
	{"do not wake a pool when its launch config is ready", []edit{{
		"internal/controllers/awsmachinepool/register.go", "		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfConfig)).\n", "",
	}}},
	{"write status in every pass", []edit{{
		"internal/controllers/awsmachinepool/controller.go", "			pool.Status.ObservedGeneration = pool.Generation\n", "			pool.Status.ObservedGeneration = pool.Generation\n			pool.Status.Initialization.Provisioned = nil\n",
	}}},
}

// source returns the file of an edit with the edit made.
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

// Each mutant can be made of the source as it is. With -mutants N each is caught within N schedules.
func TestMutants(t *testing.T) {
	for _, one := range mutants {
		t.Run(one.name, func(t *testing.T) {
			sources := map[string]string{}
			for _, change := range one.edits {
				sources[change.file] = change.source(t, sources[change.file])
			}
			if *mutantsFlag == 0 {
				return
			}
			output, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "TestSimulation$", "-v",
				"-overlay", overlay(t, sources), ".", "-seeds", strconv.Itoa(*mutantsFlag)).CombinedOutput()
			if err == nil {
				t.Errorf("no schedule of %d notices", *mutantsFlag)
				return
			}
			violation := regexp.MustCompile(`seed \d+: .*`).FindString(string(output))
			if violation == "" {
				t.Fatalf("the mutant cannot be run:\n%s", output)
			}
			t.Logf("caught by %s", violation)
			t.Log(regexp.MustCompile(`\d+ schedules, `).FindString(string(output)))
		})
	}
}

// overlay writes sources next to each other, and returns the file that has the go command take them for those of the
// product.
func overlay(t *testing.T, sources map[string]string) string {
	t.Helper()
	replace := map[string]string{}
	directory := t.TempDir()
	for file, source := range sources {
		original, err := filepath.Abs(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		replace[original] = filepath.Join(directory, filepath.Base(file))
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
