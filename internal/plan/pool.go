package plan

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// planPool plans one pool.
func (p *Planner) planPool(ctx context.Context, target target, edits []edit) (Pool, error) {
	w := p.newWorld()
	if err := w.apply(ctx, edits); err != nil {
		return Pool{}, err
	}
	if err := w.own(ctx, target.name); err != nil {
		return Pool{}, err
	}
	failure := w.run(ctx, target.name)
	if ctx.Err() != nil {
		return Pool{}, ctx.Err()
	}
	planned := Pool{Kind: target.kind, Namespace: target.name.Namespace, Name: target.name.Name, Steps: w.steps}
	if planned.Steps == nil {
		planned.Steps = []Step{}
	}
	object := &infrav1.AWSMachinePool{}
	if err := w.cluster.Get(ctx, target.name, object); err != nil {
		return Pool{}, errors.Join(failure, err)
	}
	planned.Instances = len(object.Status.Instances)
	planned.Problems = problems("AWSMachinePool/"+object.Name, object.Status.Conditions)
	if failure != nil && len(planned.Problems) == 0 {
		planned.Problems = []Problem{{Object: "AWSMachinePool/" + object.Name, Reason: "Error", Message: failure.Error()}}
	}
	if replaced := planned.Replaced(); len(replaced) > 0 {
		planned.Rollout = w.pace(object, len(replaced))
	}
	return planned, nil
}

// decisive are the conditions without which no node of the edited spec is launched.
var decisive = []string{
	infrav1.ClusterInfrastructureReadyCondition, infrav1.BootstrapDataReadyCondition, infrav1.ResolvedCondition, infrav1.VerifiedCondition,
	infrav1.LaunchTemplateReadyCondition, infrav1.RolloutApprovedCondition, infrav1.ASGReadyCondition, infrav1.AWSReachableCondition,
}

// problems returns what keeps an object from what its spec says.
func problems(object string, conditions []metav1.Condition) []Problem {
	var found []Problem
	for _, condition := range conditions {
		failed := condition.Type == infrav1.RolledOutCondition && condition.Reason == infrav1.RefreshStartFailedReason
		if condition.Status == metav1.ConditionFalse && (failed || slices.Contains(decisive, condition.Type)) {
			found = append(found, Problem{Object: object, Condition: condition.Type, Reason: condition.Reason, Message: condition.Message})
		}
	}
	return found
}

// effects returns what each change does by itself.
func (p *Planner) effects(ctx context.Context, targets []target, edits []edit, whole Plan) ([]Change, error) {
	type one struct {
		edit  edit
		field field
	}
	var all []one
	for _, edit := range edits {
		for _, field := range edit.fields() {
			all = append(all, one{edit, field})
		}
	}
	changes := []Change{}
	for _, candidate := range all {
		change := Change{
			Object: candidate.edit.after.GetKind() + "/" + candidate.edit.after.GetName(), Path: strings.Join(candidate.field.path, "."),
			Old: text(candidate.field.old), New: text(candidate.field.new), Effect: Together,
		}
		switch {
		case len(all) == 1 || whole.Empty():
			change.Effect = effectOf(whole.Pools)
		case candidate.edit.before != nil && len(all) <= mostChanges:
			alone := candidate.edit
			alone.only = &candidate.field
			effect, err := p.effect(ctx, targets, alone)
			if err != nil {
				return nil, err
			}
			change.Effect = effect
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// effect plans one change by itself. A change that is not valid by itself is made with the others.
func (p *Planner) effect(ctx context.Context, targets []target, alone edit) (Effect, error) {
	var pools []Pool
	for _, target := range targets {
		planned, err := p.planPool(ctx, target, []edit{alone})
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil || planned.failed() {
			return Together, nil //nolint:nilerr // the whole edit has been planned, and reports what is wrong
		}
		pools = append(pools, planned)
	}
	return effectOf(pools), nil
}

// effectOf returns the strongest effect on some pools.
func effectOf(pools []Pool) Effect {
	effect := Nothing
	for _, pool := range pools {
		switch {
		case len(pool.Replaced()) > 0:
			return Replaces
		case len(pool.Steps) > 0:
			effect = InPlace
		}
	}
	return effect
}
