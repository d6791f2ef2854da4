package managedmachinepool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/ownership"
)

// TestSuccessorLosesItsTemplate holds that a node group which replaces another one is itself
// recreated if its launch template is deleted too, that the replaced node group is not deleted
// before the new one runs the template that exists, and that one node group is left.
func TestSuccessorLosesItsTemplate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		forgetful bool
		// policy is the TemplateLossPolicy that the user sets once the second template is lost.
		policy infrav1.TemplateLossPolicy
	}{
		{reason: "a manager that stays", policy: infrav1.TemplateLossReplace},
		{reason: "a manager that is restarted before each pass", policy: infrav1.TemplateLossReplace, forgetful: true},
		{reason: "the user no longer wants node groups replaced", policy: infrav1.TemplateLossReport},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := rolling(t)
			w.forgetful = row.forgetful
			w.passes("pool", "EKS is done", func() bool { return w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace })
			second := w.templateNamed("second", "m5.large")
			w.configured("pool", second, 1)
			w.passes("pool", "there is a successor", func() bool { return len(w.nodegroups()) == 2 })
			if _, err := w.ec2.DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &second}); err != nil {
				t.Fatal(err)
			}
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = row.policy })
			third := w.templateNamed("third", "m5.large")
			w.configured("pool", third, 1)
			w.told()
			w.passes("pool", "a successor runs the template that exists", func() bool {
				for _, name := range w.nodegroups() {
					if group := w.nodegroup(name); *group.LaunchTemplate.Id == third && group.Status == "ACTIVE" {
						return true
					}
				}
				if names := w.nodegroups(); !slices.Contains(names, "team_pool") || w.nodegroup("team_pool").Status == "DELETING" {
					t.Fatal("the replaced node group is deleted before a successor has taken over")
				}
				return false
			})
			w.passes("pool", "one node group is left", func() bool {
				return len(w.nodegroups()) == 1 && w.condition("pool", infrav1.RolledOutCondition).Status == "True" &&
					!strings.Contains(w.pool("pool").Annotations[ownership.NodegroupsAnnotation], ",")
			})
			if group := w.nodegroup(w.nodegroups()[0]); awssdk.ToString(group.LaunchTemplate.Id) != third {
				t.Errorf("the node group that is left runs launch template %s, want %s", awssdk.ToString(group.LaunchTemplate.Id), third)
			}
			notes := w.told()
			for _, event := range []string{infrav1.NodegroupDeletingEvent, infrav1.NodegroupCreatedEvent, infrav1.NodegroupRetiringEvent, infrav1.NodegroupReplacedEvent} {
				if !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, event) }) {
					t.Errorf("there is no event %s in %q", event, notes)
				}
			}
			if slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, infrav1.NodegroupLostEvent) }) {
				t.Errorf("an event says that another user deleted the node group: %q", notes)
			}
		})
	}
}

// TestReplacedNodegroupIsUpdated holds that a node group which EKS is updating when another one has replaced
// it is deleted after the update, and that no condition calls the wait a failure.
func TestReplacedNodegroupIsUpdated(t *testing.T) {
	t.Parallel()
	w := rolling(t)
	behavior := w.sim.Behavior()
	behavior.Nodes = []awssim.NodeRule{{Nodegroup: "team_pool", NeverDrained: true}}
	w.sim.SetBehavior(behavior)
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace })
	w.configured("pool", w.templateNamed("second", "m5.large"), 1)
	w.passes("pool", "the old node group waits for the end of its update", func() bool {
		if ready := w.condition("pool", infrav1.NodegroupReadyCondition); ready.Reason == infrav1.NodegroupDeleteFailedReason {
			t.Fatalf("EKSNodegroupReady is %+v", ready)
		}
		return strings.Contains(w.condition("pool", infrav1.RolledOutCondition).Message, "EKS deletes node group team_pool after the update")
	})
	w.drains(true)
	w.passes("pool", "one node group is left", func() bool {
		return len(w.nodegroups()) == 1 && w.condition("pool", infrav1.ReadyCondition).Status == "True" && w.condition("pool", infrav1.RolledOutCondition).Status == "True"
	})
}

// TestReplacementEndsAfterConflict holds that a pass that could not record the end of a replacement is
// followed by one that looks at EKS again soon, and not when the node group is due for its next look.
func TestReplacementEndsAfterConflict(t *testing.T) {
	t.Parallel()
	w := rolling(t)
	w.passes("pool", "EKS is done", func() bool { return w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace })
	w.configured("pool", w.templateNamed("second", "m5.large"), 1)
	w.passes("pool", "there is a successor", func() bool { return len(w.nodegroups()) == 2 })
	records := func(object client.Object) bool {
		return strings.Contains(object.GetAnnotations()[ownership.NodegroupsAnnotation], ",")
	}
	refused := false
	store, is := w.store.(client.WithWatch)
	if !is {
		t.Fatal("the store cannot be watched")
	}
	w.store = interceptor.NewClient(store, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if _, is := object.(*infrav1.AWSManagedMachinePool); is && !refused && !records(object) {
				refused = true
				return apierrors.NewConflict(schema.GroupResource{Resource: "awsmanagedmachinepools"}, object.GetName(), errors.New("it was modified"))
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	w.restart()
	pass := func() ctrl.Result {
		result, err := w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: named("pool")})
		if err != nil {
			t.Logf("a pass failed: %v", err)
		}
		return result
	}
	for range 240 {
		if pass(); refused {
			break
		}
		w.clock.Step(5 * time.Second)
	}
	if again := pass().RequeueAfter; !refused || records(w.pool("pool")) && again > lookBusy {
		t.Errorf("the end was refused: %t; the next pass is after %s", refused, again)
	}
}
