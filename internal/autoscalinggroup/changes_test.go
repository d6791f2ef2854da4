package autoscalinggroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestChanges holds which calls bring a group to the desired state, in which order, and that what
// others gave the group stays.
func TestChanges(t *testing.T) {
	t.Parallel()
	warm := WarmPoolOf(&infrav1.WarmPool{MinSize: 1})
	base := func() (Desired, Group) {
		desired := Desired{MinSize: 1, MaxSize: 3, Capacity: ptr.To[int32](2), LaunchTemplateID: "lt-1", Version: 1, Settings: defaultSettings()}
		group := Group{Name: "web", ARN: "arn:web", Capacity: 2, Settings: defaultSettings()}
		Apply(desired, &group)
		return desired, group
	}
	for _, row := range []struct {
		reason string
		change func(desired *Desired, given *Given, group *Group)
		want   []string
	}{
		{"it is as desired", func(*Desired, *Given, *Group) {}, nil},
		{"sizes and version differ", func(d *Desired, _ *Given, _ *Group) { d.MinSize, d.Version = 2, 7 }, []string{"UpdateAutoScalingGroup: min size 1 → 2", "UpdateAutoScalingGroup: launch template version 1 → 7"}},
		{"a pool that sets no warmup has CAPA's, also in a group that has none", func(d *Desired, _ *Given, _ *Group) {
			d.Settings = SettingsOf(&infrav1.AWSMachinePoolSpec{DeletionProtection: infrav1.DeletionProtectionNone})
			d.Settings.Abandoned = infrav1.RetentionActionTerminate
		}, []string{"UpdateAutoScalingGroup: default instance warmup none → 300s"}},
		{"a process of others stays suspended", func(_ *Desired, _ *Given, g *Group) { g.Suspended = []string{"Launch"} }, nil},
		{"a process of ours is resumed", func(_ *Desired, given *Given, g *Group) {
			g.Suspended, given.Processes = []string{"Launch"}, []string{"Launch"}
		}, []string{"ResumeProcesses: resumed Launch"}},
		{"processes are suspended before anything changes", func(d *Desired, _ *Given, _ *Group) { d.Suspended, d.MaxSize = []string{"Launch"}, 4 },
			[]string{"SuspendProcesses: suspended Launch", "UpdateAutoScalingGroup: max size 3 → 4"}},
		{"a warm pool is deleted before the update, and set after it", func(d *Desired, _ *Given, g *Group) { g.WarmPool, d.MaxSize = warm, 4 },
			[]string{"DeleteWarmPool: warm pool is deleted", "UpdateAutoScalingGroup: max size 3 → 4"}},
		{"a warm pool comes", func(d *Desired, _ *Given, _ *Group) { d.WarmPool, d.MaxSize = warm, 4 }, []string{"UpdateAutoScalingGroup: max size 3 → 4", "PutWarmPool: warm pool is set"}},
		{"a warm pool comes once the one before is gone", func(d *Desired, _ *Given, g *Group) { d.WarmPool, g.WarmPool, g.WarmPoolDeleting = warm, warm, true }, nil},
		{"a target group becomes a traffic source: nothing is attached twice", func(d *Desired, given *Given, g *Group) {
			d.TrafficSources = []TrafficSource{{Identifier: "tg", Type: "elbv2"}}
			g.TargetGroupARNs, given.TargetGroups = []string{"tg"}, []string{"tg"}
		}, []string{"DetachLoadBalancerTargetGroups: detached tg", "AttachTrafficSources: attached tg"}},
		{"what was given is taken, though it is not seen", func(_ *Desired, given *Given, _ *Group) {
			given.Processes, given.TargetGroups = []string{"Launch"}, []string{"arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1", "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/b/2"}
			given.TrafficSources = []string{"arn:aws:vpc-lattice:us-east-1:1:targetgroup/tg-1", "classic"}
		}, []string{
			"ResumeProcesses: resumed Launch", "DetachLoadBalancerTargetGroups: detached arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1",
			"DetachLoadBalancerTargetGroups: detached arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/b/2",
			"DetachTrafficSources: detached arn:aws:vpc-lattice:us-east-1:1:targetgroup/tg-1", "DetachTrafficSources: detached classic",
		}},
		{"what others attached stays", func(_ *Desired, _ *Given, g *Group) {
			g.TargetGroupARNs, g.TrafficSources = []string{"theirs"}, []TrafficSource{{Identifier: "lattice", Type: "vpc-lattice"}}
		}, nil},
	} {
		desired, group := base()
		var given Given
		row.change(&desired, &given, &group)
		before := group
		var got []string
		for _, change := range Changes(desired, given, group) {
			for _, effect := range change.Effects {
				got = append(got, string(change.Operation)+": "+effect)
			}
		}
		if difference := cmp.Diff(row.want, got); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
		if difference := cmp.Diff(before, group); difference != "" {
			t.Errorf("%s: the group that was seen changed:\n%s", row.reason, difference)
		}
	}
}

// TestTagChanges holds which tags are set and removed.
func TestTagChanges(t *testing.T) {
	t.Parallel()
	desired := Desired{Tags: map[string]string{"team": "blue", "same": "x"}, RetiredTags: []string{"old", "never"}}
	got := TagChanges(desired, Group{Tags: map[string]string{"team": "red", "same": "x", "old": "1", "theirs": "y"}})
	if difference := cmp.Diff([]string{"never", "old", "team"}, got); difference != "" {
		t.Errorf("tags (-want +got):\n%s", difference)
	}
}
