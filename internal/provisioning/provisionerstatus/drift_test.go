package provisionerstatus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestDriftHonorsAnnotationsAndBudgets holds that a drifted node which a pod keeps is not marked,
// takes no part of the budget, and loses its mark when a pod begins to keep it; and that a
// disruption budget bounds drift in addition to spec.drift.
func TestDriftHonorsAnnotationsAndBudgets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		keep    int // this many pods are annotated before the nodes drift
		budgets []provisioningv1.DisruptionBudget
		marked  int
		says    string
	}{
		{reason: "both at a time", marked: 2, says: "2 are being replaced"},
		{reason: "one is kept", keep: 1, marked: 1, says: "1 are not replaced: pod default/pod-a has the annotation karpenter.sh/do-not-disrupt"},
		{reason: "both are kept", keep: 2, marked: 0, says: "2 are not replaced"},
		{reason: "a budget lets one", budgets: []provisioningv1.DisruptionBudget{{Nodes: intstr.FromInt32(1)}}, marked: 1, says: "1 are being replaced"},
		{reason: "a budget lets none", budgets: []provisioningv1.DisruptionBudget{{Nodes: intstr.FromInt32(0), Reasons: []provisioningv1.DisruptionReason{"Drifted"}}}, marked: 0, says: "0 are being replaced"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			id := w.Template("web", "")
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				spec.Labels = provisioningv1.Labels{provisioningv1.LabelLaunchTemplateName: "web"}
				spec.Drift = &provisioningv1.Drift{MaxReplacing: intstr.FromInt32(2)}
				if row.budgets != nil {
					spec.Disruption = &provisioningv1.Disruption{Budgets: row.budgets}
				}
			})
			pods := []*corev1.Pod{w.Pod("pod-a"), w.Pod("pod-b")}
			w.Launch()
			for i, pod := range pods {
				w.Bind(pod, w.Members()[i].Name)
			}
			for i := range row.keep {
				w.Update(pods[i], func() { pods[i].Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
			}
			newVersion(t, w, id)
			w.Advance(11 * time.Minute)
			if got := marked(w); got != row.marked {
				t.Errorf("%d nodes are marked, want %d", got, row.marked)
			}
			message := meta.FindStatusCondition(w.Provisioner("default").Status.Conditions, provisioningv1.NodesCurrentCondition).Message
			if !strings.HasPrefix(message, "2 of ") || !strings.Contains(message, row.says) {
				t.Errorf("the Provisioner says %q", message)
			}
			if row.marked == 2 {
				w.Update(pods[0], func() { pods[0].Annotations = map[string]string{provisioningv1.DoNotEvictAnnotation: "true"} })
				w.Advance(2 * time.Minute)
				if got := marked(w); got != 1 {
					t.Errorf("%d nodes are marked though a pod keeps one of two", got)
				}
			}
		})
	}
}

func marked(w *provisioningtest.World) int {
	count := 0
	for _, node := range w.Provisioned() {
		if disruption.MarkedDrifted(&node) {
			count++
		}
	}
	return count
}

// newVersion creates a version of a launch template that differs by a tag.
func newVersion(t *testing.T, w *provisioningtest.World, id string) {
	t.Helper()
	source, name := "1", "newer"
	_, err := w.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &id, SourceVersion: &source, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{TagSpecifications: []ec2types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: ec2types.ResourceTypeInstance, Tags: []ec2types.Tag{{Key: &name, Value: &name}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}
