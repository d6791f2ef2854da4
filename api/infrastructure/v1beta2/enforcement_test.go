package v1beta2_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// matrix are the ids of the validation matrix for launch templates, 4(a), for Auto Scaling groups,
// 4(b), and for EKS managed node groups, 4(c).
const matrix = `
LT1 LT2 LT3 LT4 LT5 LT6 LT7 LT8 LT9 UD1 UD2 UD2W UD3 IT1 IT2 IT3 IT4 IT5 IT6 IT7 IT8 IM1 IM2
BD1 BD2 BD3 BD4 BD5 BD6 BD7 BD8 BD9 BD10 BD11 SG1 SG2 NI1 NI2 NI3 NI4 NI5 NI6 NI7 NI8 NI9 NI10
PL1 PL2 PL3 PL4 PL5 PL6 MD1 MD2 MD3 TG1 TG2 TG3 MK1 MK2 MK3 MK4 MK5 MK6 CR1 CR2 CR3 CP1 CP2 CP3
EN1 HB1 CS1 IP1 IP2 DP1 DP2 OP1 LC1
AS1 AS2 AS3 AS4 AS5 AS6 AS7 AS8 AS9 AS10 AS11 AS12 AS13 AS14 AS15 AS16 AS17 AS18 AS19 AS20 AS21 AS22 AS23
RF1 RF2 RF2W RF3 RF4 RF5 RF6 RF7 RF7W RF8 RF9 RF10 RF11 WP1 WP2 WP3 HK1 HK2 HK3 CB1 AG1 AG2
EK1 EK2 EK3 EK4 EK5 EK6 EK7 EK8 EK9 EK10 EK11 EK11W EK12 EK13 EK14 EK15 EK16 EK17 EK18 EK19 EK20 EK21 EK22 EK23 EK24 EK25
EK26 EK27 EK28 EK29 EK30 EK31 EK32 EK33 EK34 EK35 EK36 EK37 EK38 EK39 EK40
`

// Places where a rule is enforced, or why it is not. A place may go on with an explanation.
const (
	// inCRD: the API server refuses, by the schema or by a rule.
	inCRD = "CRD"
	// inController: only AWS or another object can decide, so that it becomes a condition.
	inController = "controller: "
	// inWebhook: the API server takes it, and the webhook warns of it.
	inWebhook = "webhook"
	// noField: there is no field with which the rule could be broken.
	noField = "no field: "
	// later: the field comes with a later issue, and the rule with it.
	later = "later: "
)

// enforcement says for every rule where it is enforced. SL rules are Slipway's own.
var enforcement = map[string]string{
	"LT1":  inCRD,
	"LT2":  inCRD,
	"LT3":  inCRD,
	"LT4":  inCRD,
	"LT5":  noField + "an image is always resolved, so that a template is never empty",
	"LT6":  inCRD,
	"LT7":  noField + "the version description is the controller's, for fingerprints",
	"LT8":  inCRD,
	"LT9":  inController + "pruning keeps what is in use, whatever versionsToKeep says",
	"UD1":  noField + "user data comes from the bootstrap data Secret",
	"UD2":  inController + "the Secret is another object; condition BootstrapDataReady, reason UserDataTooLarge",
	"UD2W": inController + "the Secret is another object; message of condition BootstrapDataReady",
	"UD3":  noField + "there is no inline user data",
	"IT1":  inCRD,
	"IT2":  inCRD,
	"IT3":  inCRD,
	"IT4":  inCRD,
	"IT5":  inCRD,
	"IT6":  noField + "an SSM parameter is resolved before EC2 sees it",
	"IT7":  inController + "condition Resolved, reason InstanceTypeNotFound",
	"IT8":  inController + "condition Resolved, reason ArchitectureMismatch",
	"IM1":  inCRD,
	"IM2":  inCRD,
	"BD1":  inCRD,
	"BD2":  inCRD,
	"BD3":  inCRD,
	"BD4":  inCRD,
	"BD5":  inCRD,
	"BD6":  inCRD,
	"BD7":  inCRD,
	"BD8":  inCRD,
	"BD9":  inCRD,
	"BD10": inCRD,
	"BD11": inCRD,
	"SG1":  inCRD,
	"SG2":  noField + "security groups are ids, or filters that lead to ids",
	"NI1":  inCRD,
	"NI2":  inCRD,
	"NI3":  inCRD,
	"NI4":  inCRD,
	"NI5":  inCRD,
	"NI6":  inCRD,
	"NI7":  inCRD,
	"NI8":  inCRD,
	"NI9":  inCRD,
	"NI10": inCRD,
	"PL1":  inCRD,
	"PL2":  inCRD,
	"PL3":  inCRD,
	"PL4":  inCRD,
	"PL5":  noField + "AWS reserves spreadDomain for future use",
	"PL6":  inCRD,
	"MD1":  inCRD,
	"MD2":  inWebhook,
	"MD3":  inCRD,
	"TG1":  inCRD,
	"TG2":  inCRD,
	"TG3":  inCRD,
	"MK1":  inCRD,
	"MK2":  inCRD,
	"MK3":  inCRD,
	"MK4":  inCRD,
	"MK5":  noField + "blockDurationMinutes is left out for good",
	"MK6":  inCRD,
	"CR1":  inCRD,
	"CR2":  inCRD,
	"CR3":  inCRD,
	"CP1":  inCRD,
	"CP2":  inCRD,
	"CP3":  inCRD,
	"EN1":  inCRD,
	"HB1":  inCRD,
	"CS1":  inCRD,
	"IP1":  inCRD,
	"IP2":  later + "the allow-list of instance profiles comes with identities",
	"DP1":  noField + "Elastic Graphics and Elastic Inference ended",
	"DP2":  inWebhook,
	"OP1":  noField + "operator is for service providers",
	"LC1":  inController + "condition LaunchTemplateReady, reason LaunchTemplateDataInvalid",

	"AS1":  inController + "an image is resolved before a version is made; reason ImageNotFound",
	"AS2":  inCRD,
	"AS3":  inCRD,
	"AS4":  noField + "Spot requests are one-time, and end by termination",
	"AS5":  later + "pools get the field with a launchConfigRef",
	"AS6":  later + "pools get the field with a launchConfigRef",
	"AS7":  later + "pools get the field with a launchConfigRef",
	"AS8":  later + "pools get the field with a launchConfigRef",
	"AS9":  inCRD,
	"AS10": inController + "replicas are the MachinePool's; reason ReplicasOutOfBounds",
	"AS11": inCRD,
	"AS12": inCRD,
	"AS13": inCRD,
	"AS14": inCRD,
	"AS15": inCRD,
	"AS16": inCRD,
	"AS17": inWebhook,
	"AS18": noField + "without zones and subnets the cluster's are taken; there are no zone ids",
	"AS19": inController + "only AWS knows the strategy of a placement group",
	"AS20": inCRD,
	"AS21": inCRD,
	"AS22": inCRD,
	"AS23": noField + "the name is that of a Kubernetes object: shorter, and without colons",
	"RF1":  inCRD,
	"RF2":  inCRD,
	"RF2W": inWebhook,
	"RF3":  inCRD,
	"RF4":  inCRD,
	"RF5":  noField + "an SSM parameter is resolved before EC2 sees it",
	"RF6":  noField + "groups name versions by number",
	"RF7":  inCRD,
	"RF7W": inWebhook,
	"RF8":  inCRD,
	"RF9":  inController + "refreshes are started without a desired configuration",
	"RF10": inController + "condition RolledOut, reason WaitingForRefresh",
	"RF11": noField + "documented: skipMatching compares launch templates, not what their user data fetches",
	"WP1":  inCRD,
	"WP2":  inCRD,
	"WP3":  inCRD,
	"HK1":  inCRD,
	"HK2":  inCRD,
	"HK3":  inCRD,
	"CB1":  inCRD,
	"AG1":  noField + "group and instances take their tags from one place",
	"AG2":  inController + "AWS answers AccessDenied",

	"EK1":   inCRD,
	"EK2":   inCRD,
	"EK3":   inCRD,
	"EK4":   inCRD,
	"EK5":   inCRD,
	"EK6":   inCRD,
	"EK7":   noField + "an SSM parameter is resolved before EKS sees it",
	"EK8":   noField + "with networkInterfaces, security groups go to these",
	"EK9":   inCRD,
	"EK10":  inCRD,
	"EK11":  inCRD,
	"EK11W": inWebhook,
	"EK12":  inCRD,
	"EK13":  inCRD,
	"EK14":  inController + "without bootstrap data, complete user data is generated; condition BootstrapDataReady, reason UserDataInvalid, where it cannot be",
	"EK15":  inController + "the Secret is another object; condition BootstrapDataReady, reason UserDataInvalid",
	"EK16":  inController + "what is not MIME multi-part is made a part of it; condition BootstrapDataReady, reason UserDataInvalid, where it cannot be",
	"EK17":  inController + "the Secret is another object; condition BootstrapDataReady, reason UserDataInvalid",
	"EK18":  inController + "the Secret is another object; message of condition BootstrapDataReady",
	"EK19":  inController + "the Secret is another object; condition BootstrapDataReady, reason UserDataInvalid",
	"EK20":  inCRD,
	"EK21":  inCRD,
	"EK22":  inCRD,
	"EK23":  inCRD,
	"EK24":  inCRD,
	"EK25":  inCRD,
	"EK26":  inCRD,
	"EK27":  inCRD,
	"EK28":  inCRD,
	"EK29":  inCRD,
	"EK30":  inCRD,
	"EK31":  noField + "node groups name versions by number",
	"EK32":  noField + "the cluster's security groups are always added",
	"EK33":  inWebhook,
	"EK34":  inWebhook,
	"EK35":  inWebhook,
	"EK36":  inController + "the control plane is another object",
	"EK37":  inController + "condition RolledOut, reason WaitingForUpdate",
	"EK38":  noField + "there are no refreshPreferences, and warmPool goes to EKS",
	"EK39":  inController + "a version update says nothing of sizes",
	"EK40":  noField + "managed pools have no machinePoolMachines",

	"SL1": inCRD, // subnets and security groups: by id, or by filters
	"SL2": inCRD, // an AWSLaunchConfig stays with its cluster
	"SL3": inCRD, // a Kubernetes version has three numbers
	"SL4": inCRD, // durations are whole seconds, in AWS's range
	"SL5": inCRD, // termination policies exist, and each of them can decide
	"SL6": inCRD, // ids and ARNs are of what they are asked for
	"SL7": inCRD, // one place for bootstrap data, and one that Ignition can read
	"SL8": inCRD, // Ignition's versions, proxies and certificates
	"SL9": inCRD, // a zonal shift has a behavior

	"SL10": inWebhook, // images of Amazon Linux 2 have ended
	"SL11": inWebhook, // preferences of refreshes that are disabled
	"SL12": inWebhook, // processes that a roll-out needs are suspended
	"SL13": inWebhook, // health checks by load balancers that there are none of
	"SL14": inWebhook, // instances that are protected from their own roll-out
	"SL15": inWebhook, // instances that join the cluster from the warm pool
	"SL16": inWebhook, // a version of Ignition that does nothing
	"SL17": inWebhook, // a time limit of a drain that is disabled
	"SL18": inWebhook, // a termination policy that decides nothing
	"SL19": inCRD,     // an instance type once in the overrides
	"SL20": inCRD,     // remote access is public or of security groups
	"SL21": inCRD,     // a managed pool has one launch template
	"SL22": inCRD,     // a node role has a name, and a path and policies of the form that IAM takes
	"SL23": inWebhook, // fields that will go away
	"SL24": inCRD,     // what is about a launch template needs one
	"SL25": inWebhook, // EKS has no image of a family for a version
	"SL26": inWebhook, // more nodes unavailable than there are
	"SL29": inCRD,     // a dry run is of one image and type
	"SL28": inCRD,     // metadata options in one place
	"SL27": inWebhook, // replicas of the MachinePool within the bounds of a managed pool
	"SL32": inWebhook, // EKS takes the cluster's Kubernetes version for a new node group, and none back
	"SL30": inCRD,     // a template has nothing that is of one pool, written by its controller
	"SL31": inCRD,     // a template names no node group
	"SL40": inCRD,     // a template of launch configs names no EC2 launch template
	"SL41": inCRD,     // a pool says in one place what it launches
	"SL42": inCRD,     // a pool stays with its own launch config, or with a shared one
	"SL44": inCRD,     // how roll-outs are held, and versions pinned
	"SL43": inCRD,     // what a shared launch config says is not said in the pool
	"SL50": inCRD,     // nothing is set in a launch template of another owner
	"SL51": inCRD,     // a launch config stays with its launch template
	"SL52": inCRD,     // a version is a number, latest or default
	// the pattern of an image's name has two fields, and nothing is executed; a cluster's pattern
	// is a condition
	"SL70": inCRD,
	"SL71": inCRD, // the name of a Cluster is part of owner tags, in which a slash separates
	"SL75": inCRD, // deletion protection has three levels
	"SL76": inCRD, // sizes are in vCPUs or memory where AWS chooses the instance types
	"SL77": inCRD, // distribution segments name reservations, and leave no room for Spot
	"SL79": inCRD, // an instance whose termination was abandoned is retained or terminated
	"SL78": inCRD, // traffic sources have identifiers of their type
}

// TestEveryRuleHasItsPlace fails when a rule of the matrix is forgotten, when the table knows a
// rule that does not exist, and when a rule is said to be in the CRDs but no marker or no test case
// has it.
func TestEveryRuleHasItsPlace(t *testing.T) {
	t.Parallel()
	ids := strings.Fields(matrix)
	marked := markedRules(t, "*_types.go", "rule")
	warned := markedRules(t, "../../../internal/webhooks/*.go", "warning")
	tested := testedRules()
	for _, id := range ids {
		if enforcement[id] == "" {
			t.Errorf("%s: the table does not say where it is enforced", id)
		}
	}
	for id, place := range enforcement {
		if !slices.Contains(ids, id) && !strings.HasPrefix(id, "SL") {
			t.Errorf("%s: not in the matrix", id)
		}
		if place == inWebhook {
			if !warned[id] {
				t.Errorf("%s: said to be in the webhook, but no function is marked +slipway:warning=%s", id, id)
			}
			continue
		}
		if place != inCRD {
			if reason := strings.TrimLeft(place[strings.Index(place, ":")+1:], " "); reason == "" {
				t.Errorf("%s: %q gives no reason", id, place)
			}
			if marked[id] {
				t.Errorf("%s: a marker has it, but the table says %q", id, place)
			}
			continue
		}
		if !marked[id] {
			t.Errorf("%s: said to be in the CRDs, but no field or type is marked +slipway:rule=%s", id, id)
		}
		if !tested[id] {
			t.Errorf("%s: said to be in the CRDs, but no case tries it", id)
		}
	}
	for _, found := range []map[string]bool{marked, warned} {
		for id := range found {
			if enforcement[id] == "" {
				t.Errorf("%s: a marker has it, but the table does not", id)
			}
		}
	}
}

func markedRules(t *testing.T, where, what string) map[string]bool {
	t.Helper()
	sources, err := filepath.Glob(where)
	if err != nil || len(sources) == 0 {
		t.Fatalf("listing sources: %v (%d found)", err, len(sources))
	}
	marked := map[string]bool{}
	marker := regexp.MustCompile(`// \+slipway:` + what + `=(\w+)\n`)
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

func testedRules() map[string]bool {
	tested := map[string]bool{}
	for _, cases := range [][]ruleCase{
		launchTemplateCases, sharedCases, machinePoolCases, launchConfigCases, launchConfigTemplateCases, launchDataCases, launchPlaceCases, ignitionCases, managedPoolCases,
		machinePoolTemplateCases, managedPoolTemplateCases,
	} {
		for _, c := range cases {
			tested[c.rule] = true
		}
	}
	for _, c := range slices.Concat(transitionCases, sharingTransitions, managedTransitionCases) {
		tested[c.rule] = true
	}
	return tested
}
