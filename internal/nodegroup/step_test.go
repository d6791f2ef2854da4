package nodegroup

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// wanted is a template of whose versions the given ones are as wanted.
func wanted(version int64, accepted ...int64) *Template {
	return &Template{
		ID: "lt-1", Version: version, Config: "config",
		Accepts: func(id string, number int64) bool {
			return id == "lt-1" && (number == version || slices.Contains(accepted, number))
		},
	}
}

func seen(change func(*Nodegroup)) Nodegroup {
	group := Nodegroup{
		Cluster: "cluster", Name: "group", ARN: "arn:group", Status: StatusActive,
		LaunchTemplateID: "lt-1", Version: 3, KubernetesVersion: "1.31", ReleaseVersion: "1.31.4-20250116", AMIType: "AL2023_x86_64_STANDARD",
		Sizes: Sizes{Min: 1, Max: 5, Desired: 2}, Settings: DefaultSettings(),
	}
	if change != nil {
		change(&group)
	}
	return group
}

func desired(change func(*Desired)) Desired {
	want := Desired{
		Cluster: "cluster", Owner: "ns/c/p", Template: wanted(3), KubernetesVersion: "v1.31.4", ClusterVersion: "1.33",
		Bounds: Bounds{Min: ptr.To[int32](1), Max: ptr.To[int32](5)}, Capacity: ptr.To[int32](2), Settings: DefaultSettings(),
	}
	if change != nil {
		change(&want)
	}
	return want
}

// TestNext holds the single next step of a node group that is not busy.
func TestNext(t *testing.T) {
	t.Parallel()
	labels := func(d *Desired) { d.Settings.Labels = map[string]string{"a": "b"} }
	issue := func(code string) func(*Nodegroup) {
		return func(n *Nodegroup) { n.Issues = []Issue{{Code: code}} }
	}
	block := func(size int32) func(*Nodegroup) {
		return func(n *Nodegroup) { n.CapacityType, n.Sizes.Min, n.Sizes.Desired = "CAPACITY_BLOCK", 0, size }
	}
	for _, row := range []struct {
		reason  string
		desired func(*Desired)
		seen    func(*Nodegroup)
		last    func(Step) Attempt
		// refused is the step back that EKS refused.
		refused func(Step) Attempt
		// config and version describe the changes; obstacle is what is in the way.
		config, version string
		obstacle        Obstacle
		after           time.Duration
		due             bool
		check           func(*testing.T, Step)
	}{
		{reason: "nothing differs"},
		{reason: "another config", desired: func(d *Desired) { d.Template = wanted(4) }, version: "launch template version 3 → 4", due: true,
			check: func(t *testing.T, step Step) {
				if step.Version.KubernetesVersion != "1.31" || step.Version.ReleaseVersion != "1.31.4-20250116" {
					t.Errorf("what stays is not told again: %+v", step.Version)
				}
			}},
		{reason: "a rotated token alone", desired: func(d *Desired) { d.Template = wanted(4, 3) }},
		{reason: "a rotated token, and nodes that do not join", desired: func(d *Desired) { d.Template = wanted(4, 3) }, seen: issue("NodeCreationFailure"),
			version: "instances cannot join with version 3, because its bootstrap data is older than the " +
				"bootstrap data of version 4", due: true},
		{reason: "nodes that do not join with the newest data", seen: issue("NodeCreationFailure")},
		{reason: "a template that is not the group's", desired: func(d *Desired) { d.Template.ID = "lt-2" }, obstacle: TemplateGone},
		{reason: "a template that is not the group's, and labels", desired: func(d *Desired) { d.Template.ID = "lt-2"; labels(d) }, obstacle: TemplateGone,
			config: "label a=b added"},
		{reason: "a template for a group that was made without one", desired: func(d *Desired) { d.Template = wanted(4) },
			seen: func(n *Nodegroup) { n.LaunchTemplateID, n.Version = "", 0 }, obstacle: Fixed},
		{reason: "an image of the template's for a group of EKS's, and labels", desired: func(d *Desired) { d.Template, d.OwnImage = wanted(4), true; labels(d) },
			obstacle: Fixed, config: "label a=b added"},
		{reason: "something else that is fixed keeps no roll-out back", desired: func(d *Desired) { d.Template, d.CapacityType = wanted(4), "ON_DEMAND" },
			seen: func(n *Nodegroup) { n.CapacityType = "SPOT" }, obstacle: Fixed, version: "launch template version 3 → 4", due: true},
		{reason: "config before version", desired: func(d *Desired) { d.Template = wanted(4); labels(d) }, config: "label a=b added", due: true},
		{reason: "sizes while edits settle", desired: func(d *Desired) {
			d.Template, d.Held, d.Capacity = wanted(4), true, ptr.To[int32](3)
			labels(d)
		}, config: "desired size 2 → 3", due: true},
		{reason: "nothing but sizes while edits settle", desired: func(d *Desired) { d.Template, d.Held = wanted(4), true; labels(d) }, due: true},
		{reason: "the next minor version", desired: func(d *Desired) { d.KubernetesVersion = "v1.33.1" }, version: "Kubernetes 1.31 → 1.32", due: true,
			check: func(t *testing.T, step Step) {
				if step.Version.ReleaseVersion != "" || step.Version.TemplateVersion != 3 {
					t.Errorf("the change is %+v", step.Version)
				}
			}},
		{reason: "template and version together", desired: func(d *Desired) { d.Template, d.KubernetesVersion = wanted(4), "v1.32.0" },
			version: "launch template version 3 → 4; Kubernetes 1.31 → 1.32", due: true},
		{reason: "the previous version", desired: func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = "v1.30.1", "1.31" }, version: "Kubernetes 1.31 → 1.30", due: true,
			check: func(t *testing.T, step Step) {
				if step.Version.KubernetesVersion != "1.30" || step.Version.ReleaseVersion != "" || step.Version.TemplateVersion != 3 {
					t.Errorf("the change is %+v", step.Version)
				}
			}},
		{reason: "the previous version, with a release of it", desired: func(d *Desired) {
			d.KubernetesVersion, d.ClusterVersion, d.ReleaseVersion = "v1.30.1", "1.31", "1.30.0-20260201"
		}, version: "Kubernetes 1.31 → 1.30; image release 1.31.4-20250116 → 1.30.0-20260201", due: true},
		{reason: "the previous version, with a release of this one", desired: func(d *Desired) {
			d.KubernetesVersion, d.ClusterVersion, d.ReleaseVersion = "v1.30.1", "1.31", "1.31.5-20250301"
		}, version: "Kubernetes 1.31 → 1.30", due: true},
		{reason: "the previous version, of a group that is behind its cluster", desired: func(d *Desired) { d.KubernetesVersion = "v1.30.1" }, obstacle: Downgrade},
		{reason: "two versions back", desired: func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = "v1.29.1", "1.31" }, obstacle: Downgrade},
		{reason: "two versions back, and another config", desired: func(d *Desired) { d.KubernetesVersion, d.ClusterVersion, d.Template = "v1.29.1", "1.31", wanted(4) },
			obstacle: Downgrade, version: "launch template version 3 → 4", due: true},
		{reason: "the previous version, which EKS refused a moment ago, and another config", desired: func(d *Desired) {
			d.KubernetesVersion, d.ClusterVersion, d.Template = "v1.30.1", "1.31", wanted(4)
		}, obstacle: Downgrade, version: "launch template version 3 → 4", due: true, after: 9 * time.Minute,
			refused: func(step Step) Attempt {
				return Attempt{}.Refused(step.Version.Rollback, "it is too late", now.Add(-time.Hour)).Refused(step.Version.Rollback, "it is too late.", now.Add(-time.Minute))
			},
			check: func(t *testing.T, step Step) {
				if step.Version.KubernetesVersion != "1.31" || !strings.Contains(step.Hardest().Message, "from Kubernetes 1.31 to 1.30: it is too late. EKS rolls back") {
					t.Errorf("the change is %+v, and it says %q", step.Version, step.Hardest().Message)
				}
			}},
		{reason: "the previous version, which EKS refused long ago", desired: func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = "v1.30.1", "1.31" },
			version: "Kubernetes 1.31 → 1.30", due: true,
			refused: func(step Step) Attempt {
				return Attempt{}.Refused(step.Version.Rollback, "it is too late", now.Add(-time.Hour))
			}},
		{reason: "an older release", desired: func(d *Desired) { d.ReleaseVersion = "1.31.3-20250101" },
			version: "image release 1.31.4-20250116 → 1.31.3-20250101", due: true},
		{reason: "a version that the control plane has not", desired: func(d *Desired) { d.KubernetesVersion, d.ClusterVersion = "v1.32.1", "1.31" },
			obstacle: AheadOfControlPlane},
		{reason: "an image of the template's has no version", desired: func(d *Desired) { d.KubernetesVersion, d.OwnImage = "v1.33.1", true },
			seen: func(n *Nodegroup) { n.AMIType = "CUSTOM" }},
		{reason: "an image of the template's, another config", desired: func(d *Desired) { d.Template, d.OwnImage = wanted(4), true },
			seen: func(n *Nodegroup) { n.AMIType = "CUSTOM" }, version: "launch template version 3 → 4", due: true,
			check: func(t *testing.T, step Step) {
				if step.Version.KubernetesVersion+step.Version.ReleaseVersion != "" {
					t.Errorf("EKS refuses versions with an image of the template's: %+v", step.Version)
				}
			}},
		{reason: "a release", desired: func(d *Desired) { d.ReleaseVersion = "1.31.5-20250301" },
			version: "image release 1.31.4-20250116 → 1.31.5-20250301", due: true},
		{reason: "a release on the way to its version", desired: func(d *Desired) { d.KubernetesVersion, d.ReleaseVersion = "v1.33.0", "1.33.0-20260301" },
			version: "Kubernetes 1.31 → 1.32", due: true},
		{reason: "a release with its version", desired: func(d *Desired) { d.KubernetesVersion, d.ReleaseVersion = "v1.32.0", "1.32.0-20260301" },
			version: "Kubernetes 1.31 → 1.32; image release 1.31.4-20250116 → 1.32.0-20260301", due: true},
		{reason: "a group without a template", desired: func(d *Desired) { d.Template, d.ReleaseVersion = nil, "1.31.5-20250301" },
			seen:    func(n *Nodegroup) { n.LaunchTemplateID, n.Version = "", 0 },
			version: "image release 1.31.4-20250116 → 1.31.5-20250301", due: true},
		{reason: "an autoscaler's size stays", desired: func(d *Desired) { d.Capacity = nil }, seen: func(n *Nodegroup) { n.Sizes.Desired = 4 }},
		{reason: "bounds above an autoscaler's size", desired: func(d *Desired) { d.Capacity, d.Bounds.Min = nil, ptr.To[int32](3) },
			config: "min size 1 → 3; desired size 2 → 3"},
		{reason: "bounds below an autoscaler's size", desired: func(d *Desired) { d.Capacity, d.Bounds.Max = nil, ptr.To[int32](3) },
			seen: func(n *Nodegroup) { n.Sizes.Desired = 5 }, config: "max size 5 → 3; desired size 5 → 3"},
		{reason: "replicas outside of the bounds, and labels", desired: func(d *Desired) { d.Capacity = ptr.To[int32](9); labels(d) },
			config: "label a=b added", obstacle: SizesOutOfBounds},
		{reason: "another config for the nodes of a Capacity Block, and more of them", desired: func(d *Desired) { d.Template, d.Capacity = wanted(4), ptr.To[int32](3) },
			seen: block(2), config: "min size 0 → 1; desired size 2 → 3", obstacle: BlockInUse, due: true},
		{reason: "another config for a node group of a Capacity Block without nodes", desired: func(d *Desired) { d.Template = wanted(4) },
			seen: block(0), version: "launch template version 3 → 4", due: true},
		{reason: "another config for an empty node group of a Capacity Block, while edits settle", desired: func(d *Desired) { d.Template, d.Held = wanted(4), true },
			seen: block(0), due: true},
		{reason: "a Capacity Block that is filled", seen: block(0), config: "min size 0 → 1; desired size 0 → 2",
			check: func(t *testing.T, step Step) {
				if !step.Grows(seen(block(0))) || step.Grows(seen(nil)) {
					t.Errorf("the change is %+v", step.Config)
				}
			}},
		{reason: "an update that failed a moment ago", desired: func(d *Desired) { d.Template = wanted(4) }, due: true, after: 4 * time.Minute,
			last: func(step Step) Attempt {
				return Attempt{For: step.Version.For, Failed: true, Attempts: 1, Ended: now.Add(-time.Minute)}
			}},
		{reason: "an update that failed three times", desired: func(d *Desired) { d.Template = wanted(4) }, due: true, after: 19 * time.Minute,
			last: func(step Step) Attempt {
				return Attempt{For: step.Version.For, Failed: true, Attempts: 3, Ended: now.Add(-time.Minute)}
			}},
		{reason: "something else failed a moment ago", desired: func(d *Desired) { d.Template = wanted(4) }, due: true, version: "launch template version 3 → 4",
			last: func(Step) Attempt { return Attempt{For: "other", Failed: true, Attempts: 3, Ended: now} }},
		{reason: "labels that failed keep no roll-out back", desired: func(d *Desired) { d.Template = wanted(4); labels(d) }, due: true, after: 5 * time.Minute,
			version: "launch template version 3 → 4",
			last:    func(step Step) Attempt { return Attempt{For: step.Config.For, Failed: true, Attempts: 1, Ended: now} }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			want, group := desired(row.desired), seen(row.seen)
			step := Next(want, group, nil, now)
			if row.last != nil {
				attempt := row.last(step)
				step = Next(want, group, Attempts{VersionUpdate: attempt, AttemptType(ConfigUpdate, attempt.For): attempt}, now)
			}
			if row.refused != nil {
				step = Next(want, group, Attempts{Rollback: row.refused(step)}, now)
			}
			var config, version string
			if step.Config != nil {
				config = strings.Join(step.Config.Reasons, "; ")
			}
			if step.Version != nil {
				version = strings.Join(step.Version.Reasons, "; ")
			}
			if config != row.config || version != row.version || step.Hardest().Obstacle != row.obstacle || step.After != row.after || (len(step.Due) > 0) != row.due {
				t.Errorf("config %q, version %q, due %q, after %v, obstacle %s (%s)", config, version, step.Due, step.After, step.Hardest().Obstacle, step.Hardest().Message)
			}
			if row.check != nil && !t.Failed() {
				row.check(t, step)
			}
		})
	}
}

// TestPurpose holds which updates, whose answers were lost, count as attempts at what is due.
func TestPurpose(t *testing.T) {
	t.Parallel()
	template := func(d *Desired) { d.Template = wanted(4) }
	kubernetes := func(d *Desired) { template(d); d.KubernetesVersion = "v1.32.0" }
	withoutTemplate := func(n *Nodegroup) { n.LaunchTemplateID, n.Version = "", 0 }
	for _, row := range []struct {
		reason  string
		desired func(*Desired)
		seen    func(*Nodegroup)
		update  Update
		want    bool
	}{
		{"the wanted version", template, nil, Update{Type: VersionUpdate, Version: "4"}, true},
		{"the wanted version, while edits settle", func(d *Desired) { template(d); d.Held = true }, nil, Update{Type: VersionUpdate, Version: "4"}, true},
		{"the wanted version, with the image that there is", template, nil, Update{Type: VersionUpdate, Version: "4", KubernetesVersion: "1.31", ReleaseVersion: "1.31.4-20250116"}, true},
		{"a version that was wanted before", template, nil, Update{Type: VersionUpdate, Version: "2"}, false},
		{"another user's, of the image", template, nil, Update{Type: VersionUpdate, ReleaseVersion: "1.31.4-20250116"}, false},
		{"the wanted Kubernetes version, with any release", kubernetes, nil, Update{Type: VersionUpdate, Version: "4", KubernetesVersion: "1.32", ReleaseVersion: "1.32.9-20260101"}, true},
		{"another Kubernetes version", kubernetes, nil, Update{Type: VersionUpdate, Version: "4", KubernetesVersion: "1.31"}, false},
		{"another release", template, nil, Update{Type: VersionUpdate, Version: "4", KubernetesVersion: "1.31", ReleaseVersion: "1.31.9-20260101"}, false},
		{"a release, of a group without a template", func(d *Desired) { d.Template, d.ReleaseVersion = nil, "1.31.5-20250301" }, withoutTemplate,
			Update{Type: VersionUpdate, KubernetesVersion: "1.31", ReleaseVersion: "1.31.5-20250301"}, true},
		{"an image of the template's", func(d *Desired) { template(d); d.OwnImage = true }, func(n *Nodegroup) { n.AMIType = "CUSTOM" },
			Update{Type: VersionUpdate, Version: "4", KubernetesVersion: "1.31", ReleaseVersion: "ami-1"}, true},
		{"a change of the configuration", template, nil, Update{Type: ConfigUpdate}, false},
		{"nothing is due", nil, nil, Update{Type: VersionUpdate, Version: "3"}, false},
	} {
		step, purpose := Next(desired(row.desired), seen(row.seen), nil, now), ""
		if row.want {
			purpose = step.due.For
		}
		if got := step.Purpose(row.update); got != purpose {
			t.Errorf("%s: the purpose is %q, want %q", row.reason, got, purpose)
		}
	}
}

// TestKeyIgnoresSizes holds that sizes, which are changed at once, neither start a window anew nor
// count as another wish.
func TestKeyIgnoresSizes(t *testing.T) {
	t.Parallel()
	key := desired(nil).Key()
	for reason, change := range map[string]func(*Desired){
		"capacity": func(d *Desired) { d.Capacity = nil }, "bounds": func(d *Desired) { d.Bounds.Max = ptr.To[int32](50) },
		"a rotated token": func(d *Desired) { d.Template = wanted(9) },
	} {
		if desired(change).Key() != key {
			t.Errorf("%s changes the key", reason)
		}
	}
	for reason, change := range map[string]func(*Desired){
		"force": func(d *Desired) { d.Force = true }, "config": func(d *Desired) { d.Template.Config = "other" },
		"labels": func(d *Desired) { d.Settings.Labels = map[string]string{"a": "b"} }, "version": func(d *Desired) { d.KubernetesVersion = "v1.32.0" },
	} {
		if desired(change).Key() == key {
			t.Errorf("%s does not change the key", reason)
		}
	}
}

// TestTokens holds that a request that is repeated has the same token, and that one for something
// else, or at another time, has another.
func TestTokens(t *testing.T) {
	t.Parallel()
	change := VersionChange{TemplateID: "lt-1", TemplateVersion: 4}
	token := func(change VersionChange, group Nodegroup) string {
		return *versionInput(change, group).ClientRequestToken
	}
	first := token(change, seen(nil))
	if again := token(change, seen(nil)); again != first {
		t.Errorf("the same request has tokens %s and %s", first, again)
	}
	if later := token(change, seen(func(n *Nodegroup) { n.Modified = now })); later == first {
		t.Error("a request after another update has the token of the one before")
	}
	if other := token(VersionChange{TemplateID: "lt-1", TemplateVersion: 5}, seen(nil)); other == first {
		t.Error("another version has the same token")
	}
	create := func(object, lost string) string {
		return *createInput(desired(func(d *Desired) { d.UID = object }), "group", lost).ClientRequestToken
	}
	if create("one", "") == create("one", "arn:group") {
		t.Error("a group that is made again has the token of the one before")
	}
	if create("one", "") == create("two", "") {
		t.Error("an object that was created again has the token of the one before")
	}
	// An update that failed may leave the time of the last change as it was.
	labels := func(object string) func(*Desired) {
		return func(d *Desired) { d.UID, d.Settings.Labels = object, map[string]string{"a": "b"} }
	}
	update := func(object string, last Attempts) string {
		later := now.Add(24 * time.Hour)
		return *configInput(*Next(desired(labels(object)), seen(nil), last, later).Config, seen(nil)).ClientRequestToken
	}
	purpose := Next(desired(labels("one")), seen(nil), nil, now).Config.For
	if update("one", nil) == update("one", Attempts{AttemptType(ConfigUpdate, purpose): {For: purpose, Failed: true, Attempts: 1, Ended: now}}) {
		t.Error("an update that is tried again has the token of the one that failed")
	}
	if update("one", nil) == update("two", nil) {
		t.Error("an object that was created again updates with the token of the one before")
	}
}

// TestUpdatesLeaveAloneWhatStays holds that an update names what changes alone.
func TestUpdatesLeaveAloneWhatStays(t *testing.T) {
	t.Parallel()
	group := seen(func(n *Nodegroup) {
		n.Settings.Labels = map[string]string{"keep": "1", "change": "1", "drop": "1"}
		n.Settings.Taints = []Taint{{"keep", "", "NO_SCHEDULE"}, {"change", "1", "NO_SCHEDULE"}, {"drop", "", "NO_EXECUTE"}}
	})
	want := desired(func(d *Desired) {
		d.Settings.Labels = map[string]string{"keep": "1", "change": "2", "add": "1"}
		d.Settings.Taints = []Taint{{"change", "2", "NO_SCHEDULE"}, {"keep", "", "NO_SCHEDULE"}}
	})
	input := configInput(*Next(want, group, nil, now).Config, group)
	if input.UpdateConfig != nil || input.NodeRepairConfig != nil || input.WarmPoolConfig != nil {
		t.Errorf("the request is %+v", input)
	}
	if diff := cmp.Diff(map[string]string{"change": "2", "add": "1"}, input.Labels.AddOrUpdateLabels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if !slices.Equal(input.Labels.RemoveLabels, []string{"drop"}) {
		t.Errorf("labels %q go", input.Labels.RemoveLabels)
	}
	if added := input.Taints.AddOrUpdateTaints; len(added) != 1 || *added[0].Key != "change" || *added[0].Value != "2" {
		t.Errorf("taints come: %+v", added)
	}
	if removed := input.Taints.RemoveTaints; len(removed) != 1 || *removed[0].Key != "drop" {
		t.Errorf("taints go: %+v", removed)
	}
}

// TestNewSizes holds the sizes of a new node group against bounds that are given in part.
func TestNewSizes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		min, max *int32
		capacity *int32
		want     Sizes
	}{
		{"no bounds", nil, nil, ptr.To[int32](3), Sizes{3, 3, 3}},
		{"an empty group", nil, nil, ptr.To[int32](0), Sizes{0, 1, 0}},
		{"a least size", ptr.To[int32](2), nil, ptr.To[int32](3), Sizes{2, 3, 3}},
		{"a greatest size", nil, ptr.To[int32](5), ptr.To[int32](3), Sizes{3, 5, 3}},
		{"an autoscaler", ptr.To[int32](2), ptr.To[int32](5), nil, Sizes{2, 5, 2}},
		{"an autoscaler without bounds", nil, nil, nil, Sizes{1, 1, 1}},
	} {
		got := newSizes(desired(func(d *Desired) { d.Bounds, d.Capacity = Bounds{row.min, row.max}, row.capacity }))
		if (Sizes{*got.MinSize, *got.MaxSize, *got.DesiredSize}) != row.want {
			t.Errorf("%s: %d to %d, %d", row.reason, *got.MinSize, *got.MaxSize, *got.DesiredSize)
		}
	}
	if got := newSizes(desired(func(d *Desired) {
		d.Bounds, d.Capacity, d.Settings.Update.MaxUnavailable = Bounds{}, ptr.To[int32](1), 2
	})); *got.MaxSize != 2 {
		t.Errorf("two nodes may be unavailable, and the group has %d at most, which EKS refuses", *got.MaxSize)
	}
}
