package managertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/examples"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/apitest/managedcases"
	"github.com/slipway-project/slipway/lab/labtest"
)

// managedPool is the managed pool of the cases, in the test's namespace, with a patch of its spec.
func managedPool(e *labtest.Env, version, spec string) *unstructured.Unstructured {
	e.Helper()
	object, err := apitest.Object(strings.Replace(managedcases.Base, "v1beta2", version, 1), "spec: "+spec, "metadata: {namespace: "+e.Namespace+"}")
	if err != nil {
		e.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// refusedWith is nil if the API server's answer says what to do.
func refusedWith(err error, says string) error {
	if err == nil {
		return fmt.Errorf("it was taken, want it refused with %q", says)
	}
	if !strings.Contains(err.Error(), says) {
		return fmt.Errorf("the answer does not say %q: %w", says, err)
	}
	return nil
}

// TestManagedPoolsAreRefused has an API server refuse every combination of fields that EKS would,
// in both versions, and take the neighbors of each.
func TestManagedPoolsAreRefused(t *testing.T) {
	t.Parallel()
	e := labtest.New(t)
	for _, version := range []string{"v1beta1", "v1beta2"} {
		for _, c := range managedcases.Rules {
			if err := e.Client.Create(t.Context(), managedPool(e, version, c.Accept), client.DryRunAll); err != nil {
				t.Errorf("%s, %s (%s): what is allowed is refused: %v", version, c.Rule, c.Reason, err)
			}
			err := e.Client.Create(t.Context(), managedPool(e, version, c.Refuse), client.DryRunAll)
			if err := refusedWith(err, c.Says); err != nil {
				t.Errorf("%s, %s (%s): %v", version, c.Rule, c.Reason, err)
			}
		}
	}
}

// TestManagedPoolsStayAsTheyAre has an API server refuse every edit that EKS could not follow, and
// take the others.
func TestManagedPoolsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	e := labtest.New(t)
	for number, c := range managedcases.Transitions {
		name := fmt.Sprintf("pool-%d", number)
		stored := managedPool(e, "v1beta2", strings.ReplaceAll(c.From, "default_pool", "default_"+name))
		stored.SetName(name)
		if err := e.Client.Create(t.Context(), stored); err != nil {
			t.Fatalf("%s (%s): %v", c.Rule, c.Reason, err)
		}
		if c.Status != "" {
			status, err := apitest.Object("status: " + strings.ReplaceAll(c.Status, "default_pool", "default_"+name))
			if err != nil {
				t.Fatal(err)
			}
			stored.Object["status"] = status["status"]
			if err := e.Client.Status().Update(t.Context(), stored); err != nil {
				t.Fatalf("%s (%s): %v", c.Rule, c.Reason, err)
			}
		}
		edited := managedPool(e, "v1beta2", strings.ReplaceAll(c.To, "default_pool", "default_"+name))
		edited.SetName(name)
		edited.SetResourceVersion(stored.GetResourceVersion())
		err := e.Client.Update(t.Context(), edited, client.DryRunAll)
		if c.Says != "" {
			err = refusedWith(err, c.Says)
		}
		if err != nil {
			t.Errorf("%s (%s): %v", c.Rule, c.Reason, err)
		}
	}
}

// TestPeopleAreWarnedOfManagedPools has the API server ask the manager about each thing that only it can say.
func TestPeopleAreWarnedOfManagedPools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWarning(t.TempDir())
	person, heard := w.Listening()
	ask := func(version, spec string) []string {
		heard.Taken()
		if err := person.Create(t.Context(), managedPool(w.Env, version, spec), client.DryRunAll); err != nil {
			t.Errorf("%s is refused: %v", spec, err)
		}
		return heard.Taken()
	}
	const quiet = "{amiType: AL2023_x86_64_STANDARD, instanceTypes: [m5.large], awsLaunchTemplate: {}}"
	w.Eventually("the manager is asked", func() error {
		if said := ask("v1beta2", "{}"); len(said) == 0 {
			return fmt.Errorf("nothing is said")
		}
		return nil
	})
	for _, c := range []struct{ rule, spec, says string }{
		{"none", quiet, ""},
		{"EK11W", "{amiType: AL2023_x86_64_STANDARD, awsLaunchTemplate: {}}", "spec.instanceTypes: no instance type is set"},
		{"EK33", "{amiType: CUSTOM, instanceTypes: [m5.large], awsLaunchTemplate: {}, taints: [{key: a, value: b, effect: no-schedule}]}", "--register-with-taints"},
		{"EK34", "{amiType: AL2023_x86_64_STANDARD, instanceTypes: [m5.large], awsLaunchTemplate: {instanceMetadataOptions: {httpPutResponseHopLimit: 1}}}", "set it to 2"},
		{"SL23", "{amiType: AL2023_x86_64_STANDARD, instanceType: m5.large, diskSize: 30}", "spec.amiType, diskSize, instanceType: without a launch template until"},
		{"SL25", "{amiType: AL2_x86_64_GPU, instanceTypes: [m5.large], awsLaunchTemplate: {}}", "use AL2023_x86_64_NVIDIA"},
		{"SL26", "{amiType: AL2023_x86_64_STANDARD, instanceTypes: [m5.large], awsLaunchTemplate: {}, updateConfig: {maxUnavailable: 4}}", "4 is more than scaling.maxSize"},
		{"SL10", "{instanceTypes: [m5.large], awsLaunchTemplate: {ami: {eksLookupType: AmazonLinux}}}", "spec.awsLaunchTemplate.ami.eksLookupType: Amazon Linux 2"},
	} {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			said := ask(version, c.spec)
			if c.says == "" && len(said) > 0 {
				t.Errorf("%s: of a pool that is well it is said %q", version, said)
			}
			if c.says != "" && !slices.ContainsFunc(said, func(warning string) bool { return strings.Contains(warning, c.says) }) {
				t.Errorf("%s, %s: it is said %q, want %q", version, c.rule, said, c.says)
			}
		}
	}

	// The demands of the MachinePool are known once there is one.
	machinePool := strings.ReplaceAll(strings.Split(examples.ManagedMachinePool, "\n---\napiVersion: infrastructure.")[0], "capa-mmp-0", "pool")
	w.Apply(machinePool)
	w.Eventually("the size is held against the MachinePool's", func() error {
		said := ask("v1beta2", strings.TrimSuffix(quiet, "}")+", scaling: {minSize: 3, maxSize: 4}}")
		if !slices.ContainsFunc(said, func(warning string) bool {
			return strings.Contains(warning, `spec.scaling: spec.replicas of MachinePool "pool" is 2`)
		}) {
			return fmt.Errorf("it is said %q", said)
		}
		return nil
	})
}
