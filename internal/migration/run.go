package migration

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner is the name under which the API server records the changes.
const fieldOwner = "slipway-migrate"

// mostAttempts limits how often one step is performed in one run. Another client that changes the
// object back, such as a GitOps controller, causes a step to be due again.
const mostAttempts = 2

// mostConflicts limits how often one step is retried in one run because its object changed after it
// was observed, as the objects of a busy cluster do.
const mostConflicts = 5

// Runner performs a migration.
type Runner struct {
	// Observe reads the cluster, past any cache.
	Observe func(context.Context) (Observed, error)
	// Writer patches the cluster.
	Writer client.Writer
	// Wait returns after a short time, or an error once the user does not want to wait any longer.
	Wait func(context.Context) error
	// Progress is called with each step before it is done, with each step that is waited for, and with a
	// check of AWS that is skipped, before anything is changed.
	Progress func(Step)
}

// Run performs the steps that are due in their order, and waits for controllers in between. It stops at
// the first step that is blocked, and returns the steps as they are then.
func (r Runner) Run(ctx context.Context, direction Direction) (Report, error) {
	attempts, conflicts := map[string]int{}, map[string]int{}
	waitsFor, told := "", false
	for {
		observed, err := r.Observe(ctx)
		if err != nil {
			return Report{}, err
		}
		report := Decide(direction, observed)
		next := report.Next()
		told = told || r.tellUnchecked(observed, report)
		switch {
		case next == nil || next.State == Blocked:
			return report, nil
		case next.State == Waiting:
			if waitsFor != next.Name+next.Target {
				waitsFor = next.Name + next.Target
				r.Progress(*next)
			}
			if err := r.Wait(ctx); err != nil {
				return report, fmt.Errorf("waiting for step %s of %s: %w", next.Name, next.Target, err)
			}
			continue
		case next.patch == nil:
			return report, fmt.Errorf("step %s of %s is due, and depends on a step that is done", next.Name, next.Target)
		}
		key := next.Name + next.Target
		if attempts[key]++; attempts[key] > mostAttempts {
			return report, fmt.Errorf("step %s of %s is due again after it was done: another client changes the object back, such as a GitOps controller", next.Name, next.Target)
		}
		if conflicts[key] == 0 {
			r.Progress(*next)
		}
		err = apply(ctx, r.Writer, *next.patch)
		if conflicts[key]++; mayHaveChanged(err) && conflicts[key] <= mostConflicts {
			attempts[key]--
			continue
		}
		if err != nil {
			return report, fmt.Errorf("step %s of %s: %w", next.Name, next.Target, err)
		}
		conflicts[key] = 0
	}
}

// tellUnchecked reports that AWS was not checked, and why, with the first pool for which it was not. It
// does so if a change is next, and returns whether it did.
func (r Runner) tellUnchecked(observed Observed, report Report) bool {
	next := report.Next()
	if observed.AWSUnchecked == "" || next == nil || next.State != Due {
		return false
	}
	for _, step := range report.Steps {
		if step.Name == CheckAWS && step.State == Skipped {
			r.Progress(step)
			return true
		}
	}
	return false
}

// mayHaveChanged reports whether the API server may have refused a patch because its object has changed. It
// answers a failed test of a JSON patch like an object that is not valid.
func mayHaveChanged(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsConflict(err)
}

// apply sends a patch. The API server refuses it if the object has changed since it was observed.
func apply(ctx context.Context, writer client.Writer, p patch) error {
	encoded, err := json.Marshal(p.Operations)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(p.APIVersion)
	object.SetKind(p.Kind)
	object.SetNamespace(p.Namespace)
	object.SetName(p.Name)
	if err := writer.Patch(ctx, object, client.RawPatch(types.JSONPatchType, encoded), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("patching %s %s: %w", p.Kind, p.Name, err)
	}
	return nil
}
