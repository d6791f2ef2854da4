package managedmachinepool

import (
	"testing"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// halfUpdated has an update to version 2 fail after it replaced one of the two instances. EKS then shows
// the node group at the version before, and points its Auto Scaling group back there.
func halfUpdated(in *input) {
	wantVersion(in, 2)
	in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{
		ID: "update-1", Type: nodegroup.VersionUpdate, Status: nodegroup.UpdateFailed, LaunchTemplateVersion: "2",
	}
	in.Seen.Members.Instances[1] = member("i-2", 2)
	in.Object.Status.Instances = []infrav1.AWSMachinePoolInstanceStatus{
		{InstanceID: "i-1", LaunchTemplateVersion: "1"}, {InstanceID: "i-2", LaunchTemplateVersion: "2"},
	}
}

// TestUpToDateReplicas holds that, while EKS rolls out nothing, those instances count as up to date whose
// launch template version is known and wanted, whatever version the node group has.
func TestUpToDateReplicas(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		given  edit
		want   int32
	}{
		{"everything is as asked for", func(*input) {}, 2},
		{"another version is wanted, and no update has begun", func(in *input) { wantVersion(in, 2) }, 0},
		{"an update failed after it replaced an instance", halfUpdated, 1},
		{"an update failed, and versions are unknown", func(in *input) { halfUpdated(in); in.Object.Status.Instances = nil }, 0},
		{"an update failed, and a version with the same configuration is wanted", func(in *input) {
			halfUpdated(in)
			config := in.Seen.LaunchConfig.Object.DeepCopy()
			config.Status.Version, config.Status.CurrentVersions = 3, []int64{2, 3}
			in.Seen.LaunchConfig.Object = config
		}, 1},
		{"an update failed, and another version is wanted", func(in *input) { halfUpdated(in); wantVersion(in, 3) }, 0},
		{"an update failed, and the earlier version is wanted again", func(in *input) { halfUpdated(in); wantVersion(in, 1) }, 1},
		{"an update failed, and another Kubernetes version is wanted, too", func(in *input) {
			halfUpdated(in)
			in.Seen.MachinePool.Spec.Template.Spec.Version, in.Seen.Access.Facts.ControlPlaneVersion = "v1.35.0", "v1.35"
		}, 0},
		{"an update failed, and instances cannot join with the earlier version", func(in *input) {
			halfUpdated(in)
			group(in, func(g *nodegroup.Nodegroup) { g.Issues = []nodegroup.Issue{{Code: "NodeCreationFailure"}} })
		}, 1},
		{"an update failed, and the instance that it launched is terminated", func(in *input) {
			halfUpdated(in)
			in.Seen.Members.Instances[1].LifecycleState = "Terminating:Wait"
		}, 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest(t)
			row.given(in)
			countInstances(*in)
			if got := ptr.Deref(in.Object.Status.UpToDateReplicas, -1); got != row.want {
				t.Errorf("%d instances are up to date, want %d", got, row.want)
			}
		})
	}
}
