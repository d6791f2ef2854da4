package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/once"
)

// details holds the permissions that were checked for the pools of a plan, by what they were checked for.
type details struct{ permissions once.Answers[*Permissions] }

// planPool plans one pool of a management cluster as edits leave it. It adds the price, what holds drains, and
// missing permissions, unless known is nil.
func (p *Planner) planPool(ctx context.Context, edited client.Reader, target target, edits []edit, known *details) (Pool, error) {
	w, ctx := p.newWorld(ctx, edited)
	w.cluster.pool = target
	if err := w.own(ctx, target); err != nil {
		return Pool{}, err
	}
	planned, after, err := w.planned(ctx, target)
	if pins(edits, target) {
		planned.Problems = slices.DeleteFunc(planned.Problems, func(problem Problem) bool { return problem.Reason == infrav1.PinnedReason })
	}
	if err != nil || known == nil || len(planned.Steps) == 0 {
		return planned, err
	}
	return planned, p.detail(ctx, w, target, after, &planned, known)
}

// detail adds to a plan what is not decided by the controllers.
func (p *Planner) detail(ctx context.Context, w *world, target target, after view, planned *Pool, known *details) error {
	if !planned.failed() {
		price, err := p.price(ctx, w, target)
		if err != nil {
			return err
		}
		planned.Price = price
	}
	if err := w.expect(ctx, after, planned); err != nil {
		return err
	}
	if err := p.inspect(ctx, target, after, planned); err != nil {
		return err
	}
	return p.permit(ctx, w, after, planned, known)
}

// planned runs the controllers of a pool, and returns what they do and the pool afterwards.
func (w *world) planned(ctx context.Context, target target) (Pool, view, error) {
	before, err := target.kind.read(ctx, w.cluster, target.name)
	if err != nil {
		return Pool{}, view{}, err
	}
	failure := w.run(ctx, target, before)
	if ctx.Err() != nil {
		return Pool{}, view{}, ctx.Err()
	}
	after, err := target.kind.read(ctx, w.cluster, target.name)
	if err != nil {
		return Pool{}, view{}, errors.Join(failure, err)
	}
	object := target.kind.name + "/" + target.name.Name
	planned := Pool{
		Kind: target.kind.name, Namespace: target.name.Namespace, Name: target.name.Name,
		Instances: len(before.instances), Steps: w.steps, Problems: problems(object, after.conditions),
	}
	if planned.Steps == nil {
		planned.Steps = []Step{}
	}
	if failure != nil && len(planned.Problems) == 0 {
		planned.Problems = []Problem{{Object: object, Reason: "Error", Message: failureText(failure)}}
	}
	if replaced := planned.Replaced(); len(replaced) > 0 {
		planned.Rollout = target.kind.pace(w, after, replaced)
	} else if waits := before.waitsForEKS(object); waits != nil {
		planned.Problems = append(planned.Problems, *waits)
	}
	return planned, after, nil
}

// waitsForEKS returns what keeps a plan of a node group from going on: an earlier change that EKS still makes. Nil is
// returned if there is none.
func (v view) waitsForEKS(object string) *Problem {
	pool, is := v.Object.(*infrav1.AWSManagedMachinePool)
	if !is || pool.Status.Update == nil || pool.Status.Update.Status != nodegroup.UpdateInProgress {
		return nil
	}
	return &Problem{Object: object, Condition: infrav1.RolledOutCondition, Reason: infrav1.RollingOutReason, Message: "EKS still makes an earlier change of " +
		"the node group, and accepts no other one meanwhile. What follows it is not planned, and may replace nodes: plan the edit again when the change is complete"}
}

// busy reports whether the plan ends early, because EKS still makes an earlier change.
func (p Pool) busy() bool {
	return slices.ContainsFunc(p.Problems, func(problem Problem) bool { return problem.Reason == infrav1.RollingOutReason })
}

// noneOf returns the effect of an edit that has no steps: it is not known if EKS still makes an earlier change, because
// the steps may follow it.
func noneOf(whole []Pool) Effect {
	if slices.ContainsFunc(whole, Pool.busy) {
		return Unknown
	}
	return Nothing
}

// failureText describes the failure of the controllers: each call to AWS that failed once, and what is wrong with it.
func failureText(failure error) string {
	joined, is := failure.(interface{ Unwrap() []error })
	if !is {
		return aws.UserMessage(failure)
	}
	var texts []string
	for _, one := range joined.Unwrap() {
		if text := failureText(one); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// decisive are the conditions without which no node of the edited spec is launched.
var decisive = []string{
	infrav1.ClusterInfrastructureReadyCondition, infrav1.BootstrapDataReadyCondition, infrav1.ResolvedCondition, infrav1.VerifiedCondition,
	infrav1.LaunchTemplateReadyCondition, infrav1.RolloutApprovedCondition, infrav1.ASGReadyCondition, infrav1.AWSReachableCondition,
	infrav1.NodeRoleReadyCondition, infrav1.NodegroupReadyCondition,
}

// leaving are the reasons of the condition RolledOut for which no refresh replaces instances.
var leaving = []string{infrav1.RefreshStartFailedReason, infrav1.RefreshDisabledReason, infrav1.RolloutPausedReason, infrav1.NodesNotReadyReason, infrav1.InstancesLeftReason}

// pausedMessage says what a paused pool means for a plan.
const pausedMessage = "the pool is paused, so that an edit changes nothing until it is unpaused. Plan it again then"

// problems returns what keeps an object from what its spec says.
func problems(object string, conditions []metav1.Condition) []Problem {
	var found []Problem
	for _, condition := range conditions {
		if condition.Type == infrav1.PausedCondition && condition.Status == metav1.ConditionTrue {
			found = append(found, Problem{Object: object, Condition: condition.Type, Reason: condition.Reason, Message: pausedMessage})
			continue
		}
		left := condition.Type == infrav1.RolledOutCondition && slices.Contains(leaving, condition.Reason)
		if condition.Status == metav1.ConditionFalse && (left || slices.Contains(decisive, condition.Type)) {
			found = append(found, Problem{Object: object, Condition: condition.Type, Reason: condition.Reason, Message: condition.Message})
		}
	}
	return found
}

// effects returns what each change does by itself: how the plan of it alone differs from what is done
// without the edit. A change has no stronger effect than the edit as a whole.
func (p *Planner) effects(ctx context.Context, targets []target, edits []edit, whole []Pool) ([]Change, error) {
	changes, alone := changesOf(edits)
	strongest, failed := strongestOf(whole), slices.ContainsFunc(whole, Pool.failed)
	switch {
	case strongest == Nothing && !failed:
		for i := range changes {
			changes[i].Effect = noneOf(whole)
		}
		return changes, nil
	case len(changes) > mostChanges || len(alone) > 0 && alone[0].before == nil:
		return changes, nil
	}
	for _, target := range targets {
		if _, err := target.kind.read(ctx, p.Cluster, target.name); err != nil {
			return changes, ctx.Err() // the edit may create the pool
		}
	}
	pinned := pinsOf(alone)
	before, steered := &unedited{planner: p, targets: targets}, &unedited{planner: p, targets: targets, pins: pinned}
	for i := range changes {
		anyway := before
		if !alone[i].only.pins() {
			anyway = steered
		}
		pools, err := whole, error(nil)
		if len(changes) > 1 { // a change that is the whole edit has been planned
			pools, err = p.planPools(ctx, targets, append(slices.Clone(anyway.pins), alone[i]), nil)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		effect, err := anyway.effectAlone(ctx, pools, err, failed)
		if err != nil {
			return changes, ctx.Err()
		}
		changes[i].Effect = effect
		if !failed {
			changes[i].Effect = weaker(effect, strongest)
		}
	}
	return changes, nil
}

// changesOf returns the changes of an edit, and for each the edit that makes it alone.
func changesOf(edits []edit) (changes []Change, alone []edit) {
	changes = []Change{}
	for _, edit := range edits {
		for _, field := range edit.fields() {
			changes = append(changes, Change{
				Object: edit.after.GetKind() + "/" + edit.after.GetName(), Path: strings.Join(field.path, "."),
				Old: text(field.old), New: text(field.new), Effect: Together,
			})
			one := edit
			one.only = &field
			alone = append(alone, one)
		}
	}
	return changes, alone
}

// planPools plans all targets of an edit. The error is the one of the first target that has one.
func (p *Planner) planPools(ctx context.Context, targets []target, edits []edit, known *details) ([]Pool, error) {
	edited, err := p.edited(ctx, edits)
	if err != nil {
		return nil, err
	}
	pools, errs := make([]Pool, len(targets)), make([]error, len(targets))
	var group errgroup.Group
	group.SetLimit(max(p.AtOnce, 1))
	var failed atomic.Bool
	for i, target := range targets {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			pools[i], errs[i] = p.planPool(ctx, edited, target, edits, known)
			if errs[i] != nil {
				errs[i] = fmt.Errorf("planning %s %s: %w", target.kind.name, target.name, errs[i])
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return pools, nil
}
