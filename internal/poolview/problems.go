package poolview

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/conditionhelp"
)

// order lists the conditions from cause to consequence. Ready and Converged repeat others and are left out.
var order = []string{
	infrav1.PausedCondition, infrav1.DeletingCondition, infrav1.AWSReachableCondition, infrav1.ClusterInfrastructureReadyCondition,
	infrav1.BootstrapDataReadyCondition, infrav1.ResolvedCondition, infrav1.VerifiedCondition, infrav1.LaunchTemplateReadyCondition, infrav1.NodeRoleReadyCondition,
	infrav1.ASGReadyCondition, infrav1.NodegroupReadyCondition, infrav1.NodegroupHealthyCondition, infrav1.CapacityAvailableCondition,
	infrav1.RolloutApprovedCondition, infrav1.RolledOutCondition, infrav1.NodesDrainedCondition, infrav1.AdoptedCondition, infrav1.DeprecatedFieldsCondition,
	infrav1.VersionsPrunedCondition,
}

// negative are the conditions that are True while there is something to know.
var negative = []string{infrav1.PausedCondition, infrav1.DeletingCondition, infrav1.DeprecatedFieldsCondition, provisioningv1.ReplacingCondition, provisioningv1.EndingCondition}

// held lists the conditions in negative that are False while something keeps the controller from
// its work.
var held = []string{infrav1.DeletingCondition, provisioningv1.ReplacingCondition}

// ofDeletion lists the conditions that matter while a pool is deleted. The others are about nodes that are no longer
// launched, and Deleting reports every call that fails.
var ofDeletion = []string{
	infrav1.PausedCondition, infrav1.DeletingCondition, infrav1.AWSReachableCondition, infrav1.ClusterInfrastructureReadyCondition, infrav1.NodesDrainedCondition,
}

// blockedAfter limits the time that PodDisruptionBudgets may hold a drain before a human should
// check them.
const blockedAfter = 10 * time.Minute

// problemsOf returns the conditions of a pool, and of its AWSLaunchConfig where they are not the pool's
// own, that are not as they should be. A problem that only waits for another one in the list needs no human.
func problemsOf(of pool, config *infrav1.AWSLaunchConfig, drains []Drain, now time.Time) []Problem {
	found := Problems(of.kind, of.GetName(), of.conditions)
	if config != nil {
		for _, problem := range Problems("AWSLaunchConfig", config.Name, config.Status.Conditions) {
			if !slices.ContainsFunc(found, func(p Problem) bool { return p.Condition == problem.Condition || p.Reason == problem.Reason }) {
				found = append(found, problem)
			}
		}
	}
	if deleting(of) {
		found = slices.DeleteFunc(found, func(problem Problem) bool { return !slices.Contains(ofDeletion, problem.Condition) })
	}
	slices.SortStableFunc(found, func(a, b Problem) int { return rank(a.Condition) - rank(b.Condition) })
	for i := range found {
		problem := &found[i]
		if problem.NeedsHuman && strings.HasPrefix(problem.Remedy, "Act on the condition") && len(found) > 1 {
			problem.NeedsHuman = false
		}
		if problem.Condition == infrav1.NodesDrainedCondition && slices.ContainsFunc(drains, func(d Drain) bool {
			return d.Blocked() && d.Since != nil && now.Sub(*d.Since) > blockedAfter
		}) {
			problem.NeedsHuman, problem.Remedy = true, lasting(problem.Remedy)
		}
	}
	return found
}

// deleting reports whether a pool is being deleted, or its deletion fails.
func deleting(of pool) bool {
	return meta.FindStatusCondition(of.conditions, infrav1.DeletingCondition) != nil
}

// lasting returns what to do about a problem that lasts.
func lasting(remedy string) string {
	if rest, conditional := strings.CutPrefix(remedy, "None. If it lasts, "); conditional && rest != "" {
		return strings.ToUpper(rest[:1]) + rest[1:]
	}
	return remedy
}

func rank(condition string) int {
	if at := slices.Index(order, condition); at >= 0 {
		return at
	}
	return len(order)
}

// Problems returns the conditions of an object that are not as they should be, with the documentation of
// their reasons.
func Problems(kind, name string, conditions []metav1.Condition) []Problem {
	var found []Problem
	for i := range conditions {
		condition := &conditions[i]
		switch {
		case condition.Type == infrav1.ReadyCondition, condition.Type == infrav1.ConvergedCondition, condition.Type == infrav1.ReleasedCondition:
			continue
		case slices.Contains(negative, condition.Type):
			if condition.Status == metav1.ConditionFalse && !slices.Contains(held, condition.Type) {
				continue
			}
		case condition.Type == infrav1.AdoptedCondition:
			if condition.Reason != infrav1.AdoptedWithDifferencesReason && condition.Status == metav1.ConditionTrue {
				continue
			}
		case condition.Status == metav1.ConditionTrue:
			continue
		}
		help, known := conditionhelp.For(kind, condition.Reason)
		found = append(found, Problem{
			Object: kind + "/" + name, Condition: condition.Type, Status: string(condition.Status), Reason: condition.Reason, Message: condition.Message,
			Since: timeOf(&condition.LastTransitionTime), Meaning: help.Meaning, Nodes: help.Nodes, Remedy: help.Remedy,
			Link: conditionhelp.Link(condition.Type), NeedsHuman: help.NeedsHuman() || !known,
		})
	}
	return found
}

// drainedPart is how the condition NodesDrained describes one node. TestDrainsOf holds that it reads what the
// controller writes.
var (
	drainedPart = regexp.MustCompile(`^(?:node (\S+) \((i-[0-9a-f]+)\)|instance (i-[0-9a-f]+)): (.*?)(?:, until (\S+) at the latest|; its instance is retained until the node is empty)?$`)
	heldPart    = regexp.MustCompile(`^(\d+) pods? held by PodDisruptionBudget ([^/ ]+)/(\S+)$`)
	nextPart    = regexp.MustCompile(`; (node \S+ \(i-[0-9a-f]+\): |instance i-[0-9a-f]+: |and \d+ more$)`)
)

// drainingAnnotation holds since when nodes of an AWSMachinePool are being drained, by instance.
const drainingAnnotation = "slipway.infrastructure.cluster.x-k8s.io/draining"

// drainsOf returns the nodes that are being drained. The condition describes them in a message, so another
// release of the manager may write something that is not understood here. Then the message is in Problems only.
func drainsOf(of pool) []Drain {
	var drains []Drain
	for i := range of.conditions {
		condition := &of.conditions[i]
		if condition.Type == infrav1.NodesDrainedCondition && condition.Status == metav1.ConditionFalse && condition.Reason == infrav1.DrainingReason {
			drains = parseDrains(condition.Message)
		}
	}
	var since map[string]time.Time
	if json.Unmarshal([]byte(of.GetAnnotations()[drainingAnnotation]), &since) == nil {
		for i := range drains {
			if at, known := since[drains[i].Instance]; known {
				drains[i].Since = &at
			}
		}
	}
	return drains
}

// parseDrains reads the message of the condition NodesDrained.
func parseDrains(message string) []Drain {
	var drains []Drain
	for _, part := range strings.Split(nextPart.ReplaceAllString(message, "\n$1"), "\n") {
		match := drainedPart.FindStringSubmatch(part)
		if match == nil {
			continue
		}
		drain := Drain{Node: match[1], Instance: match[2] + match[3], Waits: match[4]}
		if until, err := time.Parse(time.RFC3339, match[5]); err == nil {
			drain.Until = &until
		}
		for _, wait := range strings.Split(drain.Waits, ", ") {
			if held := heldPart.FindStringSubmatch(wait); held != nil {
				count, _ := strconv.Atoi(held[1]) // the pattern has digits only, and too many are no count
				drain.Budgets = append(drain.Budgets, Budget{Namespace: held[2], Name: held[3], Pods: count})
			}
		}
		drains = append(drains, drain)
	}
	return drains
}

// String names the budget and what it holds.
func (b Budget) String() string {
	pods := fmt.Sprintf("%d pods", b.Pods)
	if b.Pods == 1 {
		pods = "1 pod"
	}
	if len(b.Names) > 0 {
		pods += " (" + strings.Join(b.Names, ", ") + ")"
	}
	return fmt.Sprintf("PodDisruptionBudget %s/%s holds %s", b.Namespace, b.Name, pods)
}

// FailedStart describes nodes that did not start.
func FailedStart(failed provisioningv1.FailedStart) string {
	return fmt.Sprintf("nodes of %s version %d did not start in %d tries: %s", failed.LaunchTemplateID, failed.LaunchTemplateVersion, failed.Tries, failed.Message)
}
