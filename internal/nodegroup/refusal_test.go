package nodegroup

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

// TestRefusedConfig holds that a change of the configuration that EKS refuses as a whole, or that fails as
// a whole, is requested in parts, that what EKS does not change of it delays neither the other part nor the
// replacement of nodes, and that all of it is retried after a while.
func TestRefusedConfig(t *testing.T) {
	t.Parallel()
	const sizes, settings, roll = "desired size 2 → 3", "label a=b added", "launch template version 3 → 4"
	for _, row := range []struct {
		reason string
		// refuses are texts in the reasons of changes that EKS refuses.
		refuses []string
		// started lists the updates that EKS starts, in order, and calls counts the requests that are sent.
		started  []string
		calls    int
		refusals []string
	}{
		{reason: "nothing is refused", started: []string{sizes + "; " + settings, roll}, calls: 2},
		{reason: "the settings", refuses: []string{settings}, started: []string{sizes, roll}, calls: 4, refusals: []string{settingsUpdate}},
		{reason: "the sizes", refuses: []string{sizes}, started: []string{settings, roll}, calls: 4, refusals: []string{sizesUpdate}},
		{reason: "both", refuses: []string{sizes, settings}, started: []string{roll}, calls: 4, refusals: []string{sizesUpdate, settingsUpdate, ConfigUpdate}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			want := desired(func(d *Desired) {
				d.Template, d.Capacity, d.Settings.Labels = wanted(4), ptr.To[int32](3), map[string]string{"a": "b"}
			})
			group, last := seen(nil), Attempts{}
			var started []string
			calls := 0
			step := Next(want, group, last, now)
			for ; step.Config != nil || step.Version != nil; step = Next(want, group, last, now) {
				if calls++; calls > 10 {
					t.Fatalf("there is no end to it; EKS started %q", started)
				}
				if step.Version != nil {
					started, group.Version = append(started, strings.Join(step.Version.Reasons, "; ")), step.Version.TemplateVersion
					continue
				}
				change := strings.Join(step.Config.Reasons, "; ")
				refused := false
				for _, refuses := range row.refuses {
					refused = refused || strings.Contains(change, refuses)
				}
				if refused {
					kind := AttemptType(ConfigUpdate, step.Config.For)
					last[kind] = last[kind].Refused(step.Config.For, "no", now)
					continue
				}
				started = append(started, change)
				if step.Config.Sizes != nil {
					group.Sizes.Desired = *step.Config.Sizes.Desired
				}
				if step.Config.Settings != nil {
					group.Settings = *step.Config.Settings
				}
			}
			if diff := cmp.Diff(row.started, started); diff != "" || calls != row.calls {
				t.Errorf("%d calls; EKS started (-want +got)\n%s", calls, diff)
			}
			var refusals []string
			for _, refusal := range step.Refusals {
				refusals = append(refusals, refusal.Type)
			}
			if diff := cmp.Diff(row.refusals, refusals); diff != "" {
				t.Errorf("refusals (-want +got)\n%s", diff)
			}
			if len(row.refuses) > 0 && (step.After != retryAfter || Next(want, group, last, now.Add(retryAfter)).Config == nil) {
				t.Errorf("it is retried after %s", step.After)
			}
		})
	}
}

// TestAttemptType holds that attempts at a change of the configuration count by what it changes, and all
// others by EKS's type, with whatever purpose status has them.
func TestAttemptType(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ update, purpose, want string }{
		{ConfigUpdate, "SizesUpdate/abc", sizesUpdate},
		{ConfigUpdate, "ConfigUpdate/abc", ConfigUpdate},
		{ConfigUpdate, "abc", ConfigUpdate},
		{ConfigUpdate, "", ConfigUpdate},
		{VersionUpdate, "abc", VersionUpdate},
	} {
		if got := AttemptType(row.update, row.purpose); got != row.want {
			t.Errorf("an attempt of type %s for %q has type %s, want %s", row.update, row.purpose, got, row.want)
		}
	}
}

// TestRefusesConfig holds which errors say that EKS does not make a change, however often it is asked.
func TestRefusesConfig(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"InvalidParameterException": true, "ResourceLimitExceededException": true, "InvalidRequestException": false, "ResourceInUseException": false,
		"ThrottlingException": false, "AccessDeniedException": false, "ServerException": false,
	} {
		if got := RefusesConfig(&smithy.GenericAPIError{Code: code}); got != want {
			t.Errorf("%s refuses: %v", code, got)
		}
	}
	if RefusesConfig(errors.New("connection reset")) || RefusesConfig(nil) {
		t.Error("an answer that did not come refuses")
	}
}

// TestObstaclesDoNotHideEachOther holds that all that is in the way is known at once, the hardest to
// overcome first, in whatever order it is found.
func TestObstaclesDoNotHideEachOther(t *testing.T) {
	t.Parallel()
	tooMany := func(d *Desired) { d.Capacity = ptr.To[int32](9) }
	for _, row := range []struct {
		reason  string
		desired func(*Desired)
		seen    func(*Nodegroup)
		want    []Obstacle
	}{
		{"a template that is not the group's", func(d *Desired) { d.Template.ID = "lt-2" }, nil, []Obstacle{TemplateGone, SizesOutOfBounds}},
		{"two versions back", func(d *Desired) { d.KubernetesVersion = "v1.29.1" }, nil, []Obstacle{Downgrade, SizesOutOfBounds}},
		{"a version that the control plane has not", func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = "v1.32.1", "1.31" }, nil,
			[]Obstacle{AheadOfControlPlane, SizesOutOfBounds}},
		{"another config for the nodes of a Capacity Block", func(d *Desired) { d.Template = wanted(4) },
			func(n *Nodegroup) { n.CapacityType = "CAPACITY_BLOCK" }, []Obstacle{BlockInUse, SizesOutOfBounds}},
		{"another capacity type, and another template", func(d *Desired) { d.Template.ID, d.CapacityType = "lt-2", "SPOT" },
			func(n *Nodegroup) { n.CapacityType = "ON_DEMAND" }, []Obstacle{TemplateGone, Fixed, SizesOutOfBounds}},
	} {
		step := Next(desired(func(d *Desired) { row.desired(d); tooMany(d) }), seen(row.seen), nil, now)
		var got []Obstacle
		for _, obstacle := range step.Obstacles {
			got = append(got, obstacle.Obstacle)
		}
		if diff := cmp.Diff(row.want, got); diff != "" || step.Hardest().Obstacle != row.want[0] || step.Hardest().Message != step.Obstacles[0].Message {
			t.Errorf("%s: the first is %s; all are (-want +got)\n%s", row.reason, step.Hardest().Obstacle, diff)
		}
	}
}
