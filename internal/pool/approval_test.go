package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// TestWithdrawnApproval holds that an approval that was copied from a pool to its launch config goes with
// the pool's, and that one that a user wrote on the launch config stays.
func TestWithdrawnApproval(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason                   string
		onPool, onConfig, copied string
		wantApproved, wantCopied string
	}{
		{reason: "nothing is approved"},
		{reason: "it is approved on the pool", onPool: "2", wantApproved: "2", wantCopied: "2"},
		{reason: "and was copied", onPool: "2", onConfig: "2", copied: "2", wantApproved: "2", wantCopied: "2"},
		{reason: "it is withdrawn", onConfig: "2", copied: "2"},
		{reason: "nothing is left of it", copied: "2"},
		{reason: "it is approved on the launch config", onConfig: "2", wantApproved: "2"},
		{reason: "another is approved there, after one on the pool was withdrawn", onConfig: "3", copied: "2", wantApproved: "3"},
		{reason: "another is approved on the pool, which the launch config does not have", onPool: "9", onConfig: "2", copied: "2", wantApproved: "2", wantCopied: "2"},
	} {
		pool, config := &infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}
		pool.Annotations = approval(infrav1.ApprovedVersionAnnotation, row.onPool, infrav1.ApprovedByAnnotation, "alice")
		config.Annotations = approval(infrav1.ApprovedVersionAnnotation, row.onConfig, infrav1.ApprovedByAnnotation, "alice", copiedApprovalAnnotation, row.copied)
		config.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 3}, {Number: 2}, {Number: 1}}
		got := ConfigRequest{Pool: pool}.Annotations(config, LaunchSource{Marks: map[string]string{}})
		want := approval(infrav1.ApprovedVersionAnnotation, row.wantApproved, infrav1.ApprovedByAnnotation, "alice", copiedApprovalAnnotation, row.wantCopied)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", row.reason, diff)
		}
	}
}

// approval returns annotations as keys and values, none if the first value is empty.
func approval(pairs ...string) map[string]string {
	annotations := map[string]string{}
	for i := 0; i < len(pairs) && pairs[1] != ""; i += 2 {
		if pairs[i+1] != "" {
			annotations[pairs[i]] = pairs[i+1]
		}
	}
	return annotations
}
