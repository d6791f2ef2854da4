package autoscalinggroup

import (
	"testing"

	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
)

// TestDigests holds which edits change the digests of a group, and which do not.
func TestDigests(t *testing.T) {
	t.Parallel()
	base := func() Desired {
		return Desired{
			Owner: "a/b/c", MinSize: 1, MaxSize: 3, SubnetIDs: []string{"subnet-1"}, Tags: map[string]string{"a": "b", "c": "d"},
			Settings: defaultSettings(), LaunchTemplateID: "lt-1", Version: 2, Names: []string{"c"},
		}
	}
	settings, launches := base().Digests()
	for _, row := range []struct {
		reason                     string
		edit                       func(*Desired)
		otherSettings, otherLaunch bool
	}{
		{reason: "nothing", edit: func(*Desired) {}},
		{reason: "what the group may be called", edit: func(d *Desired) { d.Names = nil }},
		{reason: "hooks, which have a digest of their own", edit: func(d *Desired) { d.Hooks = []lifecyclehook.Hook{{Name: "x"}} }},
		{reason: "retired tags, which are gone in the end", edit: func(d *Desired) { d.RetiredTags = []string{"x"} }},
		{reason: "a bound", edit: func(d *Desired) { d.MaxSize = 4 }, otherSettings: true},
		{reason: "a tag", edit: func(d *Desired) { d.Tags["a"] = "c" }, otherSettings: true},
		{reason: "a setting", edit: func(d *Desired) { d.Settings.Cooldown = 1 }, otherSettings: true},
		{reason: "a warm pool", edit: func(d *Desired) { d.WarmPool = &WarmPool{} }, otherSettings: true},
		{reason: "the version", edit: func(d *Desired) { d.Version = 3 }, otherLaunch: true},
	} {
		edited := base()
		row.edit(&edited)
		s, l := edited.Digests()
		if s != settings != row.otherSettings || l != launches != row.otherLaunch {
			t.Errorf("%s: other settings %t, other launch %t", row.reason, s != settings, l != launches)
		}
	}
	unknown := base()
	unknown.LaunchTemplateID = ""
	if s, l := unknown.Digests(); s != settings || l != "" {
		t.Errorf("without a version: %q, %q", s, l)
	}
}
