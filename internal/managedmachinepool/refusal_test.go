package managedmachinepool

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// refusedCalls counts the calls of an action that AWS refused.
func (w *world) refusedCalls(action string) int {
	return w.answeredWith(action, "InvalidParameterException")
}

// TestRefusedConfigKeepsNothingElseBack holds that a size, or a setting, that EKS refuses keeps
// neither the other one back nor the replacement of nodes, is shown for as long as it is wanted, and
// is not sent to EKS at every pass. All is well once the spec is corrected.
func TestRefusedConfigKeepsNothingElseBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason           string
		edit, correct    func(*infrav1.AWSManagedMachinePoolSpec)
		says             string
		applied, notDone func(*ekstypes.Nodegroup) bool
	}{
		{
			reason: "more nodes unavailable than there may be",
			edit: func(spec *infrav1.AWSManagedMachinePoolSpec) {
				spec.UpdateConfig, spec.Scaling.MaxSize = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](5)}, ptr.To[int32](3)
			},
			correct: func(spec *infrav1.AWSManagedMachinePoolSpec) { spec.UpdateConfig.MaxUnavailable = ptr.To[int32](3) },
			says:    "EKS did not change the settings of node group team_pool: ",
			applied: func(group *ekstypes.Nodegroup) bool { return *group.ScalingConfig.DesiredSize == 3 },
			notDone: func(group *ekstypes.Nodegroup) bool { return *group.UpdateConfig.MaxUnavailable == 1 },
		},
		{
			reason: "more nodes than the quota allows",
			edit: func(spec *infrav1.AWSManagedMachinePoolSpec) {
				spec.Scaling.MaxSize, spec.Labels = ptr.To[int32](1000), map[string]string{"team": "a"}
			},
			correct: func(spec *infrav1.AWSManagedMachinePoolSpec) { spec.Scaling.MaxSize = ptr.To[int32](10) },
			says:    "EKS did not change the sizes of node group team_pool: ",
			applied: func(group *ekstypes.Nodegroup) bool { return group.Labels["team"] == "a" },
			notDone: func(group *ekstypes.Nodegroup) bool { return *group.ScalingConfig.DesiredSize == 1 },
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			template := w.template("t3.large", "m5.large")
			w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
				pool.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](2)}
			})
			w.reconcile("pool")
			w.reconcile("pool")
			w.configured("pool", template, 1)
			w.active("pool")
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { row.edit(&pool.Spec) })
			w.setReplicas("pool", 3)
			w.configured("pool", template, 2)
			w.passes("pool", "everything else is done", func() bool {
				group := w.nodegroup("team_pool")
				return group.Status == "ACTIVE" && *group.LaunchTemplate.Version == "2" && row.applied(group)
			})
			w.passes("pool", "the refusal is shown", func() bool {
				ready := w.condition("pool", infrav1.NodegroupReadyCondition)
				return ready.Status == "False" && strings.Contains(ready.Message, row.says)
			})
			if group := w.nodegroup("team_pool"); !row.notDone(group) {
				t.Errorf("the node group has what EKS refuses: %+v", group)
			}
			for range 30 {
				w.reconcile("pool")
			}
			if count := w.refusedCalls("UpdateNodegroupConfig"); count > 5 {
				t.Errorf("EKS refused %d calls", count)
			}
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { row.correct(&pool.Spec) })
			w.passes("pool", "all is well", func() bool {
				group := w.nodegroup("team_pool")
				return group.Status == "ACTIVE" && row.applied(group) && !row.notDone(group) && *group.ScalingConfig.DesiredSize == 3 &&
					w.condition("pool", infrav1.ReadyCondition).Status == "True" && w.pool("pool").Status.FailedUpdates == nil
			})
		})
	}
}

// TestFailedConfigKeepsNothingElseBack has EKS accept a change of labels and sizes, and fail to create the version of its
// own launch template that the labels need. It holds that the pool shows the failure, that the sizes change without the
// labels, and that the labels are tried again after growing delays.
func TestFailedConfigKeepsNothingElseBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.threeNodes(oldType)
	w.deleteTemplateOfEKS()
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"team": "a"} })
	w.setReplicas("pool", 2)
	w.passes("pool", "the sizes are changed", func() bool { return *w.nodegroup("team_pool").ScalingConfig.DesiredSize == 2 })
	const says = "EKS did not change the settings of node group team_pool: AsgInstanceLaunchFailures: The specified launch template"
	w.passes("pool", "the failure is shown", func() bool {
		ready := w.condition("pool", infrav1.NodegroupReadyCondition)
		return ready.Status == "False" && strings.Contains(ready.Message, says)
	})
	begun := w.clock.Now()
	for w.clock.Since(begun) < time.Hour {
		w.reconcile("pool")
	}
	if labels := w.nodegroup("team_pool").Labels; len(labels) > 0 {
		t.Errorf("the node group has labels %v", labels)
	}
	// EKS is asked for both, then for the sizes, and for the labels at once, and after 5, 10, 20, and 40 minutes.
	if count := w.made("UpdateNodegroupConfig"); count < 5 || count > 7 {
		t.Errorf("EKS was called %d times", count)
	}
	failed := w.pool("pool").Status.FailedUpdates
	if len(failed) == 0 || failed[0].Refusal == "" {
		t.Errorf("the failed updates are %+v", failed)
	}
}

// deleteTemplateOfEKS deletes the launch template that EKS has created for a node group.
func (w *world) deleteTemplateOfEKS() {
	w.Helper()
	out, err := w.ec2.DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		w.Fatal(err)
	}
	for _, template := range out.LaunchTemplates {
		if strings.HasPrefix(*template.LaunchTemplateName, "eks-") {
			_, err := w.ec2.DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: template.LaunchTemplateId})
			w.must(err)
		}
	}
}

// TestLostTemplateAndReplicasOutOfBounds holds that a node group whose launch template was lost is
// replaced although the MachinePool requests more nodes than the bounds allow, and that until then no
// condition says that its nodes run what is wanted.
func TestLostTemplateAndReplicasOutOfBounds(t *testing.T) {
	t.Parallel()
	w := rolling(t)
	w.passes("pool", "EKS is done", func() bool { return w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](3)}
	})
	w.setReplicas("pool", 9)
	w.configured("pool", w.templateNamed("others", "m5.large"), 1)
	w.passes("pool", "the loss is shown", func() bool {
		rolledOut, ready := w.condition("pool", infrav1.RolledOutCondition), w.condition("pool", infrav1.NodegroupReadyCondition)
		return rolledOut.Reason == infrav1.TemplateLostReason && ready.Reason == infrav1.TemplateLostReason && strings.Contains(ready.Message, "9 replicas are requested")
	})
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.TemplateLossPolicy = infrav1.TemplateLossReplace })
	w.setReplicas("pool", 9)
	w.passes("pool", "a successor is chosen", func() bool { return w.pool("pool").Status.Retiring != nil })
}
