package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/rolloutcontrol"
)

// steered is the probability that the user of a schedule controls roll-outs.
const steered = 0.4

// disputed is the probability that in such a schedule of an AWSMachinePool an operator cancels instance
// refreshes as they begin. Few would be canceled otherwise, and hardly ever two for one configuration:
// they are short.
const disputed = 0.5

// steeringDeeds lists what users do about the roll-outs of pools of both kinds. All but
// switchApproval write what `slipway rollout` and its siblings write.
var steeringDeeds = []deed{
	switchApproval, switchApproval, pauseOrResume, pauseOrResume, pauseOrResume, approve, approve,
	command(rolloutcontrol.Cancel), undo,
	command(rolloutcontrol.Unpin), retryRollout,
}

// answers lists what users do when a pool of either kind asks for it, and initiatives what they do when it
// does not.
var (
	answers     = []deed{approve, retryRollout}
	initiatives = []deed{
		changeInstanceType, changeInstanceType, changeVolume, pauseOrResume, pauseOrResume, undo,
		command(rolloutcontrol.Cancel), command(rolloutcontrol.Unpin),
	}
)

// undo goes back to the configuration that was launched before.
var undo = command(func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) { return rolloutcontrol.Undo(s, 0) })

// attention is the probability that a user who controls roll-outs looks at the pool and acts on it, rather
// than do anything. Approvals and retries are possible for a short time only, so a user who drew them at
// random would hardly ever make one.
const attention = 0.5

// attend has the user do what the pool asks for, or else take an initiative.
func attend(ctx context.Context, w *World, o *observer) (string, error) {
	deeds := slices.Clone(o.kind.answers)
	w.chance.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })
	for _, answer := range deeds {
		if what, err := answer(ctx, w, o); what != "" || err != nil {
			return what, err
		}
	}
	return pick(w.chance, initiatives...)(ctx, w, o)
}

// switchApproval has later edits wait for approval, or no longer.
func switchApproval(ctx context.Context, _ *World, o *observer) (string, error) {
	var now infrav1.LaunchConfigRollout
	err := o.edit(ctx, func(pool client.Object) {
		control := controlOf(pool)
		if control.Rollout != infrav1.LaunchConfigRolloutManual {
			now = infrav1.LaunchConfigRolloutManual
		}
		control.Rollout = now
	})
	return fmt.Sprintf("the user sets rollout %q", now), err
}

// command returns the deed of a user who runs a command that controls roll-outs. The deed is empty if the
// command refuses.
func command(decide func(subject rolloutcontrol.Subject) (rolloutcontrol.Change, error)) deed {
	return func(ctx context.Context, _ *World, o *observer) (string, error) {
		if err := o.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, o.kind.empty()); err != nil {
			return "", err
		}
		subject, err := rolloutcontrol.Read(ctx, o.user, namespace, o.kind.name+"/"+o.name)
		var deleting *rolloutcontrol.DeletingError
		if errors.As(err, &deleting) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("reading what a command is about: %w", err)
		}
		change, err := decide(subject)
		if err != nil {
			return "", nil //nolint:nilerr // the command refuses, and changes nothing
		}
		for _, patch := range change.Patches {
			if err := o.user.Patch(ctx, patch.Object, client.RawPatch(types.MergePatchType, patch.Body)); err != nil {
				return "", fmt.Errorf("patching %s: %w", patch.Object.GetName(), err)
			}
		}
		return "the user has Slipway " + change.Reason, nil
	}
}

// approve approves the version that waits.
func approve(ctx context.Context, w *World, o *observer) (string, error) {
	return command(func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
		return rolloutcontrol.Approve(s, 0, "alice")
	})(ctx, w, o)
}

// pauseOrResume pauses roll-outs, or resumes them if they are paused.
func pauseOrResume(ctx context.Context, w *World, o *observer) (string, error) {
	if o.facts.steering.paused {
		return command(rolloutcontrol.Resume)(ctx, w, o)
	}
	return command(rolloutcontrol.Pause)(ctx, w, o)
}

// retryRollout retries a roll-out that failed. The user waits for what comes of it before they retry again:
// retries that no refresh has used yet may be used later, so that many of them allow for anything.
func retryRollout(ctx context.Context, w *World, o *observer) (string, error) {
	if asked := o.facts.steering.asked; !asked.IsZero() && w.clock.Since(asked) < autoscalinggroup.RetryAfter {
		return "", nil
	}
	what, err := command(func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
		return rolloutcontrol.Retry(s, w.clock.Now().String())
	})(ctx, w, o)
	if what != "" {
		o.facts.steering.retries++
		o.facts.steering.asked = w.clock.Now()
	}
	return what, err
}

// cancelRefresh has an operator cancel the instance refresh of the pool's group.
func cancelRefresh(ctx context.Context, w *World, o *observer) (string, error) {
	o.facts.steering.rolling = false
	owned := o.aws.ownedGroups()
	if len(owned) == 0 {
		return "", nil
	}
	_, err := w.person.groups.CancelInstanceRefresh(ctx, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: owned[0].AutoScalingGroupName})
	var none *asgtypes.ActiveInstanceRefreshNotFoundFault
	if errors.As(err, &none) {
		return "", nil
	}
	if err == nil {
		o.facts.steering.stopped, o.facts.steering.brought = w.clock.Now(), o.facts.launches
	}
	return "an operator cancels the instance refresh", err
}

// perhapsCancelRefresh has an operator cancel every second instance refresh that comes to notice.
func perhapsCancelRefresh(ctx context.Context, w *World, o *observer) (string, error) {
	if w.chance.happens(0.5) {
		return "", nil
	}
	return cancelRefresh(ctx, w, o)
}

// disputes returns what an operator who cancels refreshes, and a user who retries, can do now.
func disputes(w *World, o *observer) []move {
	steering := &o.facts.steering
	if !o.disputed || !w.verdict.faultless.IsZero() || o.facts.deleting {
		return nil
	}
	does := func(one deed) func(context.Context) error {
		return func(ctx context.Context) error {
			what, err := one(ctx, w, o)
			w.trace.detail("%s", cmp.Or(what, "nothing"))
			return err
		}
	}
	switch {
	case steering.rolling:
		return []move{{"the operator looks for an instance refresh", does(cancelRefresh)}}
	case !steering.stopped.IsZero() && steering.asked.IsZero():
		return []move{{"the user looks for a roll-out to retry", does(retryRollout)}}
	}
	return nil
}

// letGo implements scene. The user resumes roll-outs, removes pins, and approves versions from now on.
func (p *pools) letGo(ctx context.Context) (bool, error) {
	any := false
	for _, o := range p.observers {
		steering := &o.facts.steering
		if o.facts.deleting || !steering.manual && !steering.paused && steering.pinned == nil {
			continue
		}
		any, steering.letGo = true, true
		err := o.edit(ctx, func(pool client.Object) {
			controlOf(pool).PinnedVersion = nil
			annotations := pool.GetAnnotations()
			delete(annotations, infrav1.RolloutPausedAnnotation)
			pool.SetAnnotations(annotations)
		})
		if err != nil {
			return false, fmt.Errorf("resuming roll-outs: %w", err)
		}
	}
	return any, nil
}

// moves implements scene. Changes of nodes and pods happen by themselves. A user who lets roll-outs
// go approves each version that waits.
func (p *pools) moves(ctx context.Context) ([]move, error) {
	var moves []move
	for _, o := range p.observers {
		moves = append(moves, disputes(p.world, o)...)
		if !o.facts.steering.letGo || !o.facts.steering.manual || o.facts.deleting {
			continue
		}
		subject, err := rolloutcontrol.Read(ctx, o.user, namespace, o.kind.name+"/"+o.name)
		if err != nil {
			return nil, fmt.Errorf("reading what waits for approval: %w", err)
		}
		if config := subject.Config; config == nil || config.Status.PendingVersion == 0 ||
			subject.Pool.GetAnnotations()[infrav1.ApprovedVersionAnnotation] == strconv.FormatInt(config.Status.PendingVersion, 10) {
			continue
		}
		if _, err := rolloutcontrol.Approve(subject, 0, "alice"); err == nil {
			moves = append(moves, move{"the user approves what waits", func(ctx context.Context) error {
				_, err := approve(ctx, p.world, o)
				return err
			}})
		}
	}
	return moves, nil
}

// controlOf returns the fields of a pool that choose the version to launch.
func controlOf(pool client.Object) *infrav1.LaunchConfigControl {
	if managed, is := pool.(*infrav1.AWSManagedMachinePool); is {
		return &managed.Spec.LaunchConfigControl
	}
	return &pool.(*infrav1.AWSMachinePool).Spec.LaunchConfigControl
}
