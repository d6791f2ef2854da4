package v1alpha2_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inCRD: the API server refuses, by the schema or by a rule. Any other place says where, or why nowhere.
const inCRD = "CRD"

// enforcement says for every rule of the validation matrix 4(d) where it is enforced. SP rules are
// Slipway's own.
var enforcement = map[string]string{
	"PV1":  inCRD,
	"PV2":  inCRD,
	"PV3":  inCRD,
	"PV4":  inCRD,
	"PV5":  inCRD,
	"PV6":  inCRD, // but $LATEST passes: the document writes it
	"PV7":  inCRD,
	"PV8":  inCRD,
	"PV9":  inCRD,
	"PV9W": "a warning by config/provisioner/admission_policy.yaml; provisioner: the condition SpellingsCurrent",
	"PV10": inCRD,
	"PV11": "constraints: the pod gets the reason, and no node",
	"PV12": "templates: the condition LaunchTemplatesReady, and the pod gets the reason",
	"PV13": "inspection: the condition LaunchTemplatesReady",
	"PV14": "constraints: the default template, or the pod gets the reason, by policy",
	"PV15": "provisioner: a message in status.launchTemplates",
	"PV16": "constraints: the condition LaunchTemplatesReady, and the pod gets the reason",
	"PV17": "inspection: the condition for an interface that exists; constraints: nodes are in the zone of a subnet alone, and the condition where spec.zones has another",
	"PV18": "inspection: the condition for a Capacity Block, and for hibernation",
	"PV19": inCRD, // requirements are about instances alone
	"PV20": inCRD,
	"PV21": "provisioner: the condition Distinct; the first by name launches, and pods that mind choose by provisioning.karpenter.sh/name",
	"PV22": "packing: pods with and without a launch template are packed apart",
	"PV23": "inspection: a message in status.launchTemplates where there is no user data, or one with a bootstrap token; other ways to join are not looked for",

	"SP1": inCRD, // one launch template, named one way
	"SP2": inCRD, // names of zones and instance types
	"SP3": inCRD, // a cluster that nodes can join
	"SP4": inCRD, // labels and taints that a node can have
	"SP5": inCRD, // labels of ours that do something, and ids that are ids
	"SP6": inCRD, // what has a field, or is the instance's, is no label
	"SP7": inCRD, // a taint once
	"SP8": inCRD, // limits are amounts
	"SP9": inCRD, // a name that is the value of a label

	"SP10": inCRD, // a budget that lets something happen
	"SP11": inCRD, // one cluster for life
	"SP12": inCRD, // launch templates that pods may name

	"SP20": inCRD, // operators of requirements, with as many values as they take
	"SP21": inCRD, // values that the label can have
	"SP22": inCRD, // extra resources that a node can have

	"SP30": inCRD, // a disruption budget is a number of nodes, and its window has a beginning and a length
	"SP31": inCRD, // a schedule is one of cron
	"SP32": inCRD, // a duration has a length
}

// trials are the tests of rules that are not in the CRD: the directory of a package, and a test.
var trials = map[string][2]string{
	"PV9W": {"lab/provisioner", "TestPeopleAreWarnedOfOldSpellings"},
	"PV11": {"internal/provisioning/constraints", "TestLayers"},
	"PV12": {"lab/provisioner", "TestUnusableTemplate"},
	"PV13": {"internal/inspection", "TestGaps"},
	"PV14": {"lab/provisioner", "TestOtherArchitecture"},
	"PV15": {"internal/provisioning/provisionerstatus", "TestReplacedType"},
	"PV16": {"lab/provisioner", "TestContradictions"},
	"PV17": {"lab/provisioner", "TestSubnetOfTemplate"},
	"PV18": {"lab/provisioner", "TestContradictions"},
	"PV21": {"lab/provisioner", "TestProvisionersAlike"},
	"PV22": {"lab/provisioner", "TestTemplateByLabel"},
	"PV23": {"internal/inspection", "TestJoinsByToken"},
}

// TestEveryOtherRuleHasATest fails when a rule that the API server cannot hold has no test elsewhere.
func TestEveryOtherRuleHasATest(t *testing.T) {
	t.Parallel()
	for id, place := range enforcement {
		trial, named := trials[id]
		if place == inCRD || strings.HasPrefix(place, "no field") {
			if named {
				t.Errorf("%s: it is enforced by %q, and has the trial %s", id, place, trial)
			}
			continue
		}
		if !hasTest(t, trial[0], trial[1]) {
			t.Errorf("%s: there is no test %q in %q", id, trial[1], trial[0])
		}
	}
}

// readings are the tests of what the document of 2021 is taken to say, S1 to S13: a row of a table
// has the number in its reason.
var readings = map[string][2]string{
	"S1": {"internal/provisioning/constraints", "TestLayers"},
	"S2": {"lab/provisioner", "TestLatestIsANumber"},
	"S3": {"lab/provisioner", "TestSpot"},
	"S4": {"api/provisioning/v1alpha2", "TestRules"},
	"S5": {"api/provisioning/v1alpha2", "TestRules"},
	"S6": {"lab/provisioner", "TestOtherArchitecture"}, // the image is behind a parameter
	"S7": {"lab/provisioner", "TestOtherArchitecture"},
	"S8": {"lab/provisioner", "TestTemplateByLabel"},
	"S9": {"internal/provisioning/constraints", "TestLayers"},
	// CreateFleet does override images; why Slipway has no need of it is in docs/adr/0022
	"S10": {"awssim/internal/ec2", "TestCreateFleetLaunches"},
	"S11": {"internal/provisioning/constraints", "TestLayers"},
	"S12": {"lab/provisioner", "TestOldSpellings"},
	"S13": {"lab/provisioner", "TestProvisionersAlike"},
}

func TestEveryReadingHasATest(t *testing.T) {
	t.Parallel()
	for number := 1; number <= 13; number++ {
		id := fmt.Sprintf("S%d", number)
		if trial := readings[id]; !hasTest(t, trial[0], trial[1]) {
			t.Errorf("%s: there is no test %q in %q", id, trial[1], trial[0])
		}
	}
}

func hasTest(t *testing.T, directory, name string) bool {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join("..", "..", "..", directory, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}

// matrix are the ids of 4(d).
const matrix = `PV1 PV2 PV3 PV4 PV5 PV6 PV7 PV8 PV9 PV9W PV10 PV11 PV12 PV13 PV14 PV15 PV16 PV17 PV18 PV19 PV20 PV21 PV22 PV23`

// TestEveryRuleHasItsPlace fails when a rule of the matrix is forgotten, and when one is said to be
// in the CRD but no marker or no case has it.
func TestEveryRuleHasItsPlace(t *testing.T) {
	t.Parallel()
	for _, id := range strings.Fields(matrix) {
		if enforcement[id] == "" {
			t.Errorf("%s: the table does not say where it is enforced", id)
		}
	}
	tested := map[string]bool{}
	for _, c := range ruleCases {
		tested[c.rule] = true
	}
	marked := markedRules(t)
	for id, place := range enforcement {
		if marked[id] != (place == inCRD) {
			t.Errorf("%s: the table says %q, and that a field or type is marked +slipway:rule=%s is %v", id, place, id, marked[id])
		}
		if tested[id] != (place == inCRD) {
			t.Errorf("%s: the table says %q, and that a case tries it is %v", id, place, tested[id])
		}
	}
	for id := range marked {
		if enforcement[id] == "" {
			t.Errorf("%s: a marker has it, but the table does not", id)
		}
	}
}

func markedRules(t *testing.T) map[string]bool {
	t.Helper()
	sources, err := filepath.Glob("*_types.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("listing sources: %v (%d found)", err, len(sources))
	}
	marked := map[string]bool{}
	marker := regexp.MustCompile(`// \+slipway:rule=(\w+)\n`)
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range marker.FindAllSubmatch(content, -1) {
			marked[string(match[1])] = true
		}
	}
	return marked
}
