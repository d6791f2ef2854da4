package dashboard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/internal/poolview"
)

// task is something in the inbox: a problem that waits for a human.
type task struct {
	poolview.Problem
	Topic topic `json:"topic"`
	// Command is what a user runs to do it, if that can be one command.
	Command string `json:"command,omitempty"`
	// Action is the action that AWS denied, and Policy the IAM policy to add, as JSON.
	Action string `json:"action,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Drains are the nodes that PodDisruptionBudgets hold.
	Drains []poolview.Drain `json:"drains,omitempty"`
}

// topic groups tasks in the inbox.
type topic string

const (
	approvalTopic   topic = "approval"
	drainTopic      topic = "drain"
	permissionTopic topic = "permission"
	otherTopic      topic = "other"
)

// tasksOf returns what about a pool waits for a human.
func tasksOf(view *poolview.View, of links) []task {
	var tasks []task
	for _, problem := range view.Problems {
		one := task{Problem: problem, Topic: otherTopic}
		switch {
		case problem.Reason == infrav1.WaitingForApprovalReason && view.PendingVersion > 0:
			one.Topic, one.Command = approvalTopic, approvalOf(view, of)
		case problem.Reason == infrav1.AccessDeniedReason:
			one.Topic = permissionTopic
			one.Action = actionIn(problem.Message)
			one.Policy, one.Command = policyFor(one.Action)
		case problem.Condition == infrav1.NodesDrainedCondition && slices.ContainsFunc(view.Drains, poolview.Drain.Blocked):
			one.Topic = drainTopic
			for _, drain := range view.Drains {
				if drain.Blocked() {
					one.Drains = append(one.Drains, drain)
				}
			}
			one.Command = fmt.Sprintf("kubectl get poddisruptionbudget -n %s %s", one.Drains[0].Budgets[0].Namespace, one.Drains[0].Budgets[0].Name)
		case !problem.NeedsHuman:
			continue
		}
		tasks = append(tasks, one)
	}
	return tasks
}

// approvalOf returns the command that approves the version that waits. Names of objects are safe in a
// shell. The annotation of a shared AWSLaunchConfig is on the AWSLaunchConfig.
func approvalOf(view *poolview.View, of links) string {
	kind, name := strings.ToLower(view.Kind), view.Name
	if of.config != view.Name {
		kind, name = "awslaunchconfig", of.config
	}
	return fmt.Sprintf("kubectl annotate %s %s -n %s --overwrite %s=%d", kind, name, view.Namespace, infrav1.ApprovedVersionAnnotation, view.PendingVersion)
}

var (
	// deniedAction matches the denied action in an error of AWS that names it.
	deniedAction = regexp.MustCompile(`not authorized to perform:? ([a-z0-9-]+:[A-Za-z0-9]+)`)
	// deniedOperation matches the beginning of other errors of the SDK: the operation and AWS's
	// error code.
	deniedOperation = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]+): (?:UnauthorizedOperation|AccessDenied|AccessDeniedException)\b`)
)

// policyFor returns the policy that allows an action, bounded as Slipway's own policy bounds it, and the
// command that prints that policy. If the bounds need names, it returns the command only.
func policyFor(action string) (policy, command string) {
	if action == "" {
		return "", ""
	}
	var found []permissions.Feature
	for _, purpose := range permissions.Features {
		if slices.Contains(permissions.Actions(purpose.Feature), action) {
			found = append(found, purpose.Feature)
		}
	}
	for _, feature := range found {
		if documents, err := permissions.Policies(permissions.Scope{}, feature); err == nil {
			return statementsFor(action, documents), "slipway iam policy --feature " + string(feature)
		}
	}
	return "", "slipway iam policy --feature " + string(found[0])
}

// actionIn returns the action that a message reports as denied, if Slipway needs it, or nothing. A message
// is a text of AWS that can contain texts of tenants. It only chooses among the actions in Slipway's
// policies.
func actionIn(message string) string {
	var all []permissions.Feature
	for _, purpose := range permissions.Features {
		all = append(all, purpose.Feature)
	}
	needed := permissions.Actions(all...)
	if match := deniedAction.FindStringSubmatch(message); match != nil && slices.Contains(needed, match[1]) {
		return match[1]
	}
	match := deniedOperation.FindStringSubmatch(message)
	if match == nil {
		return ""
	}
	found := ""
	for _, action := range needed {
		if _, operation, _ := strings.Cut(action, ":"); operation == match[1] {
			if found != "" {
				return "" // two services have an operation of this name
			}
			found = action
		}
	}
	return found
}

// statementsFor returns a policy with the statements that allow an action, reduced to it.
func statementsFor(action string, documents []permissions.Document) string {
	reduced := permissions.Document{}
	for _, document := range documents {
		reduced.Version = document.Version
		for _, statement := range document.Statement {
			if slices.Contains(statement.Action, action) {
				statement.Action = permissions.Values{action}
				reduced.Statement = append(reduced.Statement, statement)
			}
		}
	}
	return reduced.String()
}
