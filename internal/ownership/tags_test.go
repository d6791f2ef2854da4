package ownership_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/ownership"
)

func TestTagsAreNeverForgotten(t *testing.T) {
	t.Parallel()
	anyTags := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.SampledFrom([]string{"1", "2"}))
	rapid.Check(t, func(t *rapid.T) {
		object := pool(map[string]string{"other": "x"})
		there := map[string]string{"foreign": "y"} // in AWS
		for range rapid.IntRange(1, 5).Draw(t, "passes") {
			wanted := anyTags.Draw(t, "wanted")
			retired := ownership.RetiredTags(object, wanted)
			diesAfter := rapid.IntRange(0, 3).Draw(t, "dies after")
			if diesAfter == 0 {
				continue
			}
			ownership.AnnounceTags(object, wanted)
			if diesAfter == 1 {
				continue
			}
			maps.Copy(there, wanted)
			if diesAfter == 2 {
				continue
			}
			for _, key := range retired {
				delete(there, key)
			}
			ownership.ConfirmTags(object, wanted)
			want := maps.Clone(wanted)
			want["foreign"] = "y"
			if difference := cmp.Diff(want, there); difference != "" {
				t.Fatalf("tags after a whole pass (-want +got):\n%s", difference)
			}
		}
		if object.Annotations["other"] != "x" {
			t.Error("another client's annotation is gone")
		}
	})
}

func TestRetiredTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, annotation string
		want               []string
	}{
		{"nothing was ever applied", "", nil},
		{"what CAPA applied", `{"c":"3","a":"1","kept":"old value"}`, []string{"a", "c"}},
		{"CAPA's form of none", `null`, nil},
		{"what cannot be parsed", `{"a":`, nil},
		{"what are no tags", `{"a":{"b":"c"}}`, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := pool(map[string]string{ownership.LastAppliedTagsAnnotation: row.annotation})
			wanted := map[string]string{"kept": "x"}
			if got := ownership.RetiredTags(object, wanted); !slices.Equal(got, row.want) {
				t.Errorf("retired %q, want %q", got, row.want)
			}
			ownership.AnnounceTags(object, wanted)
			if got := ownership.RetiredTags(object, nil); !slices.Equal(got, append(slices.Clone(row.want), "kept")) {
				t.Errorf("after the announcement %q are ours", got)
			}
			ownership.ConfirmTags(object, wanted)
			var recorded map[string]string
			if err := json.Unmarshal([]byte(object.Annotations[ownership.LastAppliedTagsAnnotation]), &recorded); err != nil || !maps.Equal(recorded, wanted) {
				t.Errorf("recorded %v, error %v", recorded, err)
			}
			ownership.ConfirmTags(object, nil)
			if _, there := object.Annotations[ownership.LastAppliedTagsAnnotation]; there {
				t.Error("no tags leave an annotation")
			}
		})
	}
}

func TestRecordingTags(t *testing.T) {
	t.Parallel()
	object := pool(map[string]string{"other": "x"})
	stored := object.Annotations
	wanted := map[string]string{"b": "2", "a": "1"}
	ownership.ConfirmTags(object, wanted)
	if len(stored) != 1 {
		t.Errorf("the stored annotations changed: %v", stored)
	}
	if first := object.Annotations[ownership.LastAppliedTagsAnnotation]; first != `{"a":"1","b":"2"}` {
		t.Errorf("annotation %s", first)
	}
	before := object.DeepCopy()
	ownership.AnnounceTags(object, wanted)
	ownership.ConfirmTags(object, wanted)
	if difference := cmp.Diff(before, object); difference != "" {
		t.Errorf("the same tags once more are a change:\n%s", difference)
	}
}
