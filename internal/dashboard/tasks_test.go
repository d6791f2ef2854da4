package dashboard

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/internal/poolview"
)

func TestTasksOf(t *testing.T) {
	t.Parallel()
	blocked := poolview.Drain{Node: "n1", Budgets: []poolview.Budget{{Namespace: "shop", Name: "web", Pods: 2}}}
	for name, tc := range map[string]struct {
		reason  string
		view    poolview.View
		config  string
		topics  []topic
		command string
	}{
		"Approval": {
			reason:  "A version that waits is approved on the pool.",
			view:    poolview.View{PendingVersion: 4, Problems: []poolview.Problem{{Condition: "RolloutApproved", Reason: "WaitingForApproval", NeedsHuman: true}}},
			topics:  []topic{approvalTopic},
			command: "kubectl annotate awsmachinepool web -n team --overwrite infrastructure.cluster.x-k8s.io/approved-version=4",
		},
		"SharedApproval": {
			reason: "The version of a shared AWSLaunchConfig is approved there.", config: "shared",
			view:    poolview.View{PendingVersion: 4, Problems: []poolview.Problem{{Condition: "RolloutApproved", Reason: "WaitingForApproval", NeedsHuman: true}}},
			topics:  []topic{approvalTopic},
			command: "kubectl annotate awslaunchconfig shared -n team --overwrite infrastructure.cluster.x-k8s.io/approved-version=4",
		},
		"Blocked": {
			reason: "A drain that a PodDisruptionBudget holds is shown from the beginning.",
			view:   poolview.View{Drains: []poolview.Drain{{Node: "n0"}, blocked}, Problems: []poolview.Problem{{Condition: "NodesDrained", Reason: "Draining"}}},
			topics: []topic{drainTopic}, command: "kubectl get poddisruptionbudget -n shop web",
		},
		"Draining": {
			reason: "A drain that goes on needs nobody.",
			view:   poolview.View{Drains: []poolview.Drain{{Node: "n0"}}, Problems: []poolview.Problem{{Condition: "NodesDrained", Reason: "Draining"}}},
		},
		"Other": {
			reason: "What needs a human is in the inbox, whatever it is.",
			view:   poolview.View{Problems: []poolview.Problem{{Condition: "Resolved", Reason: "NotFound", NeedsHuman: true}, {Condition: "RolledOut", Reason: "RollingOut"}}},
			topics: []topic{otherTopic},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.view.Kind, tc.view.Namespace, tc.view.Name = selfManagedRow, "team", "web"
			if tc.config == "" {
				tc.config = "web"
			}
			var topics []topic
			command := ""
			for _, one := range tasksOf(&tc.view, links{config: tc.config}) {
				topics, command = append(topics, one.Topic), one.Command
			}
			if diff := cmp.Diff(tc.topics, topics); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
			if command != tc.command {
				t.Errorf("%s got command %q, want %q", tc.reason, command, tc.command)
			}
		})
	}
}

func TestPolicyFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason  string
		message string
		action  string
		// policy is whether there is one.
		policy bool
	}{
		"Named": {
			reason:  "AWS names the action.",
			message: "creating a version: UnauthorizedOperation: User: arn:aws:iam::1:role/x is not authorized to perform: ec2:CreateLaunchTemplateVersion on resource: *",
			action:  "ec2:CreateLaunchTemplateVersion", policy: true,
		},
		"Operation": {
			reason:  "AWS names no action, and the SDK names the operation.",
			message: "creating a group: CreateAutoScalingGroup: AccessDenied: You are not authorized",
			action:  "autoscaling:CreateAutoScalingGroup", policy: true,
		},
		"Bounded": {
			reason:  "An action of a feature that must be bounded has no policy without names.",
			message: "x is not authorized to perform: eks:CreateNodegroup on resource: *", action: "eks:CreateNodegroup",
		},
		"Foreign": {reason: "A message of a tenant cannot have the page propose what Slipway does not need.", message: "x is not authorized to perform: iam:CreateAccessKey on resource: *"},
		"All":     {reason: "Nor a pattern.", message: "x is not authorized to perform: ec2:* on resource: *"},
		"None":    {reason: "A message without an action leads to none.", message: "credentials expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			action := actionIn(tc.message)
			if action != tc.action {
				t.Errorf("%s got action %q, want %q", tc.reason, action, tc.action)
			}
			if action == "" {
				return
			}
			policy, command := policyFor(action)
			if (policy != "") != tc.policy || !strings.HasPrefix(command, "slipway iam policy --feature ") {
				t.Errorf("%s got policy %q and command %q", tc.reason, policy, command)
			}
			if policy == "" {
				return
			}
			var document struct{ Statement []struct{ Action string } }
			if err := json.Unmarshal([]byte(policy), &document); err != nil {
				t.Fatal(err)
			}
			for _, statement := range document.Statement {
				if statement.Action != action {
					t.Errorf("%s the policy allows %q too", tc.reason, statement.Action)
				}
			}
		})
	}
}

// TestEveryActionHasAnAnswer holds that the page has an answer to any denied action of Slipway's.
func TestEveryActionHasAnAnswer(t *testing.T) {
	t.Parallel()
	for _, purpose := range permissions.Features {
		for _, action := range permissions.Actions(purpose.Feature) {
			if found := actionIn("x is not authorized to perform: " + action + " on resource: *"); found != action {
				t.Errorf("actionIn does not find %s, but %q", action, found)
			}
			if _, command := policyFor(action); command == "" {
				t.Errorf("policyFor(%q) has no command", action)
			}
		}
	}
}
