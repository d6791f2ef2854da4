package forecast

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/internal/aws/action"
)

// unplanned are the writes that no plan of an edit comes to, with the reason.
var unplanned = map[string]string{
	"autoscaling:CompleteLifecycleAction":             "an instance that is on its way out",
	"autoscaling:RecordLifecycleActionHeartbeat":      "an instance that is on its way out",
	"autoscaling:TerminateInstanceInAutoScalingGroup": "the deletion of a Machine",
	"autoscaling:DeleteAutoScalingGroup":              "the deletion of a pool",
	"ec2:CreateFleet":                                 "a ProvisionedNode",
	"ec2:TerminateInstances":                          "a ProvisionedNode, or the deletion of a pool",
	"eks:DeleteNodegroup":                             "the deletion of a pool, or the end of a replacement",
	"iam:DeleteRole":                                  "the deletion of a pool",
	"sqs:DeleteMessageBatch":                          "events of AWS",
	"sqs:ReceiveMessage":                              "events of AWS",
}

// TestEveryWriteIsKnown holds that the forecast answers each action by which the product changes AWS, or
// that no plan comes to it.
func TestEveryWriteIsKnown(t *testing.T) {
	content, err := os.ReadFile("../aws/calls.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var services []struct {
		Package string
		Actions []string
	}
	if err := yaml.Unmarshal(content, &services); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, service := range services {
		for _, name := range service.Actions {
			if !action.Changes(name) {
				continue
			}
			call := Call{Service: strings.ToLower(service.Package), Action: name}.String()
			seen[call] = true
			_, known := writes[call]
			if _, never := unplanned[call]; known == never {
				t.Errorf("%s: in the forecast: %t, listed as one that no plan comes to: %t; want one of them", call, known, never)
			}
		}
	}
	for call := range unplanned {
		if !seen[call] {
			t.Errorf("%s is listed, and the product does not call it", call)
		}
	}
}
