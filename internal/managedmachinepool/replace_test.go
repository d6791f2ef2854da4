package managedmachinepool

import (
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/ownership"
)

// TestSuccessorLosesItsTemplate holds that a node group which replaces another one is itself
// recreated if its launch template is deleted too, that the replaced node group is not deleted
// before the new one runs the template that exists, and that one node group is left.
func TestSuccessorLosesItsTemplate(t *testing.T) {
	t.Parallel()
	for reason, forgetful := range map[string]bool{"a manager that stays": false, "a manager that is restarted before each pass": true} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := rolling(t)
			w.forgetful = forgetful
			w.passes("pool", "EKS is done", func() bool { return w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace })
			second := w.templateNamed("second", "m5.large")
			w.configured("pool", second, 1)
			w.passes("pool", "there is a successor", func() bool { return len(w.nodegroups()) == 2 })
			if _, err := w.ec2.DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &second}); err != nil {
				t.Fatal(err)
			}
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
