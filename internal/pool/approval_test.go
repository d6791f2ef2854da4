package pool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// TestVoidApproval holds that an approval is void if it is of a version that the launch template has yet to get,
// and that the launch config of the API server is read first.
func TestVoidApproval(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, approved string
		given            func(config *LaunchConfig)
		void, needs      bool
	}{
		{reason: "the launch template has the version", approved: "1"},
		{reason: "it had the version, and deleted it", approved: "1", given: func(config *LaunchConfig) { config.Object.Status.Versions[0].Number = 2 }},
		{reason: "the version waits", approved: "2", given: func(config *LaunchConfig) { config.Object.Status.PendingVersion = 2 }},
		{reason: "the launch template has not had such a version", approved: "2", void: true},
		{reason: "the cache may show an earlier launch config", approved: "2", given: func(config *LaunchConfig) { config.Checked = false }, needs: true},
		{reason: "the cache shows an earlier launch config", approved: "2", given: func(config *LaunchConfig) { config.Behind = true }},
		{reason: "the versions are not known", approved: "2", given: func(config *LaunchConfig) { config.Object.Status.Versions = nil }},
		{reason: "the launch template is missing", approved: "2", given: func(config *LaunchConfig) {
			config.Object.Status.LaunchTemplateMissingSince = ptr.To(metav1.NewTime(time.Unix(0, 0)))
		}},
		{reason: "it is no number", approved: "two"},
		{reason: "nothing is approved"},
	} {
		pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.ApprovedVersionAnnotation: row.approved}}}
		config := &LaunchConfig{Object: &infrav1.AWSLaunchConfig{}, CacheCheck: CacheCheck{Checked: true}}
		config.Object.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 1}}
		if row.given != nil {
			row.given(config)
		}
		plan := &reconcile.Plan{}
		if void := config.VoidApproval(pool, plan); void != row.void || len(plan.Needs) > 0 != row.needs {
			t.Errorf("%s: the approval is void: %t, and needs %v", row.reason, void, plan.Needs)
		}
	}
}
