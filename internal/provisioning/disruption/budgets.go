// Package disruption decides how many nodes of a Provisioner may be disrupted voluntarily, and
// which: empty, expired, and drifted nodes, and nodes whose replacement was requested. It is
// functions of values. The Provisioner's controller applies its decisions, and the controller of
// nodes acts on them.
package disruption

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/intstr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// Unlimited is the number of nodes that may be disrupted where no budget applies.
const Unlimited = math.MaxInt

// Reasons are the reasons of voluntary disruptions.
var Reasons = []provisioningv1.DisruptionReason{
	provisioningv1.DisruptionEmpty, provisioningv1.DisruptionExpired, provisioningv1.DisruptionDrifted, provisioningv1.DisruptionRequested,
}

// defaultBudgets hold where a Provisioner has none. Nodes that were launched together expire together.
var defaultBudgets = []provisioningv1.DisruptionBudget{
	{Nodes: intstr.FromString("10%"), Reasons: []provisioningv1.DisruptionReason{provisioningv1.DisruptionExpired}},
}

// budgetsFor returns the budgets that limit disruptions for a reason, at some time or always.
func budgetsFor(spec *provisioningv1.ProvisionerSpec, reason provisioningv1.DisruptionReason) []provisioningv1.DisruptionBudget {
	all := defaultBudgets
	if spec.Disruption != nil && len(spec.Disruption.Budgets) > 0 {
		all = spec.Disruption.Budgets
	}
	return slices.DeleteFunc(slices.Clone(all), func(budget provisioningv1.DisruptionBudget) bool {
		return len(budget.Reasons) > 0 && !slices.Contains(budget.Reasons, reason)
	})
}

// Bounded reports whether a budget limits disruptions for a reason, at some time or always. A node
// may be disrupted for another reason without permission.
func Bounded(spec *provisioningv1.ProvisionerSpec, reason provisioningv1.DisruptionReason) bool {
	return len(budgetsFor(spec, reason)) > 0
}

// Allowance holds how many nodes may be leaving at a time, and until when that holds.
type Allowance struct {
	Nodes int
	// Changes is when the next window of a budget opens or closes; zero if none does.
	Changes time.Time
}

// Allowed returns how many of so many nodes may be leaving at a time for a reason. A budget whose
// schedule cannot be read allows none: to disrupt nodes in a time that was meant to be quiet would
// be worse.
func Allowed(spec *provisioningv1.ProvisionerSpec, reason provisioningv1.DisruptionReason, nodes int, now time.Time) Allowance {
	allowance := Allowance{Nodes: Unlimited}
	for _, budget := range budgetsFor(spec, reason) {
		applies, until, err := window(&budget, now)
		if err != nil {
			allowance.Nodes = 0
			continue
		}
		if applies {
			allowance.Nodes = min(allowance.Nodes, scaled(budget.Nodes, nodes))
		}
		if !until.IsZero() && (allowance.Changes.IsZero() || until.Before(allowance.Changes)) {
			allowance.Changes = until
		}
	}
	return allowance
}

// Problems returns what is wrong with the budgets of a Provisioner.
func Problems(spec *provisioningv1.ProvisionerSpec) []string {
	if spec.Disruption == nil {
		return nil
	}
	var problems []string
	for i := range spec.Disruption.Budgets {
		budget := &spec.Disruption.Budgets[i]
		schedule, err := scheduleOf(budget)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("spec.disruption.budgets[%d].schedule %q is invalid (%v), "+
				"so the budget allows no disruptions: correct the schedule", i, budget.Schedule, err))
		case schedule != nil && schedule.Next(time.Unix(0, 0)).IsZero():
			problems = append(problems, fmt.Sprintf("spec.disruption.budgets[%d].schedule %q has a day that "+
				"does not exist, so the budget never applies: correct the schedule", i, budget.Schedule))
		}
	}
	return problems
}

// scaled returns how many of so many nodes a number or a percentage is, rounded up.
func scaled(value intstr.IntOrString, nodes int) int {
	value = intstr.Parse(value.String()) // a number may be written as a string
	number, err := intstr.GetScaledValueFromIntOrPercent(&value, nodes, true)
	if err != nil {
		return 0 // the API server accepts only what parses
	}
	return max(number, 0)
}

// scheduleOf returns the schedule of a budget, nil if the budget always applies.
func scheduleOf(budget *provisioningv1.DisruptionBudget) (cron.Schedule, error) {
	if budget.Schedule == "" {
		return nil, nil //nolint:nilnil // a budget without a schedule is no error
	}
	if strings.Contains(budget.Schedule, "=") || strings.HasPrefix(budget.Schedule, "@every") {
		// ParseStandard also knows time zones, and intervals that begin nowhere
		return nil, fmt.Errorf("it does not have five cron fields")
	}
	return cron.ParseStandard("TZ=UTC " + budget.Schedule)
}

// window reports whether a budget applies now, and when that changes next; the zero time if it never does.
func window(budget *provisioningv1.DisruptionBudget, now time.Time) (applies bool, changes time.Time, err error) {
	schedule, err := scheduleOf(budget)
	if err != nil {
		return false, time.Time{}, err
	}
	if schedule == nil || budget.Duration == nil {
		return true, time.Time{}, nil
	}
	now = now.UTC()
	duration := budget.Duration.Duration
	began := schedule.Next(now.Add(-duration))
	if began.IsZero() || began.After(now) {
		return false, began, nil
	}
	return true, began.Add(duration), nil
}
