package templates

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// anyKnown draws a launch template that nodes can be launched from.
func anyKnown(t *rapid.T) Known {
	names := func(label string, pattern string) []string {
		return rapid.SliceOfN(rapid.StringMatching(pattern), 1, 3).Draw(t, label)
	}
	known := Known{
		ID: rapid.StringMatching(`lt-[0-9a-f]{17}`).Draw(t, "id"), ImageID: rapid.StringMatching(`ami-[0-9a-f]{8}`).Draw(t, "image"), FixesSubnet: rapid.Bool().Draw(t, "fixes its subnet"),
		Template: constraints.Template{
			Name: rapid.StringMatching(`[a-z/]{3,12}`).Draw(t, "name"), Version: rapid.Int64Range(1, 99).Draw(t, "version"),
			Architecture:     rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "architecture"),
			InstanceProfile:  rapid.SampledFrom([]string{"", "nodes"}).Draw(t, "profile"),
			EphemeralStorage: rapid.Int64Range(0, 500).Draw(t, "GiB") << 30,
		},
	}
	if rapid.Bool().Draw(t, "names types") {
		known.InstanceTypes = names("types", `m[5-9]\.large`)
	}
	if rapid.Bool().Draw(t, "fixes zones") {
		known.Zones = names("zones", `us-east-1[a-f]`)
	}
	if rapid.Bool().Draw(t, "is for Spot") {
		known.CapacityType = provisioningv1.CapacityTypeSpot
	}
	return known
}

// TestRecall holds that what a status records is what nodes are launched by after a restart: all
// that decides about them, by whatever reference.
func TestRecall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		known := anyKnown(t)
		version := rapid.SampledFrom([]string{"latest", "default", "7"}).Draw(t, "asked")
		reference := rapid.SampledFrom([]constraints.Reference{
			{Name: known.Name, Version: version}, {ID: known.ID, Version: version}, {Config: "team/web", Version: version},
		}).Draw(t, "reference")
		var reader Reader
		reader.Recall([]provisioningv1.ResolvedLaunchTemplate{known.Record(reference)})
		got, _ := reader.remembered(reference)
		if diff := cmp.Diff(known, got); diff != "" {
			t.Errorf("recalled (-recorded +got):\n%s", diff)
		}
		if _, other := reader.remembered(constraints.Reference{Name: known.Name, Version: "1"}); other {
			t.Error("another version is taken for known")
		}
	})
}

// TestRecallOfProblems holds that nothing is launched from what had a problem, and that what was
// read since the start is not forgotten for what was recorded before.
func TestRecallOfProblems(t *testing.T) {
	t.Parallel()
	web := constraints.Reference{Name: "web", Version: "latest"}
	old := Known{ID: "lt-1", Template: constraints.Template{Name: "web", Version: 1, Problem: "it names no image"}}
	var reader Reader
	reader.Recall([]provisioningv1.ResolvedLaunchTemplate{old.Record(web)})
	if known, is := reader.remembered(web); is {
		t.Errorf("recalled %+v", known)
	}
	read := Known{ID: "lt-1", Template: constraints.Template{Name: "web", Version: 2}}
	reader.remember(web, read)
	old.Problem = ""
	reader.Recall([]provisioningv1.ResolvedLaunchTemplate{old.Record(web)})
	got, _ := reader.remembered(web)
	if diff := cmp.Diff(read, got); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

// TestMemoryIsBounded holds that pods which name ever other launch templates have the reader forget
// none that is in use.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	web := constraints.Reference{Name: "web", Version: "latest"}
	var reader Reader
	reader.remember(web, Known{ID: "lt-1"})
	for i := range 3 * mostKnown {
		reader.remember(constraints.Reference{Name: fmt.Sprint("other-", i), Version: "latest"}, Known{ID: "lt-2"})
		if known, is := reader.remembered(web); !is || known.ID != "lt-1" {
			t.Fatalf("after %d others: %+v, %v", i+1, known, is)
		}
	}
	if got := reader.known.Len(); got > mostKnown {
		t.Errorf("%d are remembered", got)
	}
}
