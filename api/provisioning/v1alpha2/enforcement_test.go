package v1alpha2_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inCRD: the API server refuses, by the schema or by a rule. Any other place says where, or why nowhere.
const inCRD = "CRD"

// enforcement says for every rule of the validation matrix 4(d) where it is enforced. SP rules are Slipway's own.
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
	"PV16": "constraints: the pod gets the reason, and no node",
	"PV17": "inspection: the condition for an interface that exists; constraints: nodes are in the zone of a subnet alone",
	"PV18": "inspection: the condition for a Capacity Block; EC2 launches instances that may hibernate",
	"PV19": "no field: there are no requirements, and a label has one value",
	"PV20": inCRD,
	"PV21": "nowhere: the first provisioner by name launches, and pods that mind choose by provisioning.karpenter.sh/name",
	"PV22": "packing: pods with and without a launch template are packed apart",
	"PV23": "inspection: a message in status.launchTemplates where there is no user data; what is in it is not read",

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
}

// matrix are the ids of 4(d).
const matrix = `PV1 PV2 PV3 PV4 PV5 PV6 PV7 PV8 PV9 PV9W PV10 PV11 PV12 PV13 PV14 PV15 PV16 PV17 PV18 PV19 PV20 PV21 PV22 PV23`

// TestEveryRuleHasItsPlace fails when a rule of the matrix is forgotten, and when one is said to be in the CRD but no marker or no case has it.
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
