package provisionerstatus_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/api/meta"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestPruneDefaultVersions holds that versions of a default launch template are deleted once there
// are too many, except the newest ones and the version that a node was launched from.
func TestPruneDefaultVersions(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	one := w.Provision("default")
	pod := w.Pod("one")
	w.Launch()
	w.Bind(pod, w.Members()[0].Name)
	for _, endpoint := range []string{"https://a.example.com", "https://b.example.com", "https://c.example.com", "https://d.example.com", "https://e.example.com"} {
		w.Update(one, func() {
			one.Spec.Cluster.Endpoint = endpoint
			one.Generation++
		})
		w.Advance(time.Minute)
	}
	id := theTemplate(w)
	described, err := w.EC2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[int64]bool{}
	for _, version := range described.LaunchTemplateVersions {
		kept[*version.VersionNumber] = true
	}
	if !kept[1] || !kept[6] || kept[2] || len(kept) > 4 {
		t.Errorf("versions %v are kept", kept)
	}
	if shown := meta.FindStatusCondition(w.Provisioner("default").Status.Conditions, provisioningv1.VersionsPrunedCondition); shown != nil {
		t.Errorf("the condition is %+v", shown)
	}
}
