package provisionerstatus_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestNamedTemplateDeletedInEC2 holds that a launch template, or a version of one, that is deleted
// in EC2 is forgotten with the first launch that finds it gone: there is no second launch from it,
// the Provisioner is not Ready, and what takes its place is launched from.
func TestNamedTemplateDeletedInEC2(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, version string
		lose, mend      func(*provisioningtest.World, string)
	}{
		{
			"the launch template", "latest", deleteTemplate,
			func(w *provisioningtest.World, _ string) {
				w.Template("web", "nodes.cluster-api-provider-aws.sigs.k8s.io")
			},
		},
		{
			"the version", "2",
			func(w *provisioningtest.World, id string) {
				if _, err := w.EC2.DeleteLaunchTemplateVersions(w.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"2"}}); err != nil {
					w.Fatal(err)
				}
			},
			func(w *provisioningtest.World, _ string) {
				provisioner := w.Provisioner("default")
				w.Update(provisioner, func() { provisioner.Spec.LaunchTemplateRef.Version = "1" })
			},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			id := w.Template("web", "nodes.cluster-api-provider-aws.sigs.k8s.io")
			_, err := w.EC2.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
				LaunchTemplateId: &id, SourceVersion: ptr.To("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{EbsOptimized: ptr.To(true)},
			})
			if err != nil {
				t.Fatal(err)
			}
			w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
				spec.LaunchTemplateRef = &provisioningv1.LaunchTemplateReference{Name: "web", Version: row.version}
			})
			w.Pod("one")
			w.Launch()
			row.lose(w, id)
			w.Pod("two")
			w.Settle()
			calls := w.Calls("CreateFleet")
			w.Advance(20 * time.Second)
			if got := w.Calls("CreateFleet"); got > calls {
				t.Errorf("%d launches are tried after the first that found it gone", got-calls)
			}
			if condition := ready(w, "default"); condition.Status != metav1.ConditionFalse || condition.Reason != provisioningv1.TemplateUnusableReason {
				t.Errorf("Ready is %+v", condition)
			}
			row.mend(w, id)
			w.Advance(2 * time.Minute)
			if condition := ready(w, "default"); condition.Status != metav1.ConditionTrue || len(w.Instances()) != 2 {
				t.Errorf("%d instances run, and Ready is %+v; events are %q", len(w.Instances()), condition, w.Events())
			}
		})
	}
}
