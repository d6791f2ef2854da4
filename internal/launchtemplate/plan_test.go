package launchtemplate

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// anyVersions draws the versions of a template, of few configs, in any order, one of them the default.
var anyVersions = rapid.Custom(func(t *rapid.T) []Version {
	numbers := rapid.SliceOfNDistinct(rapid.Int64Range(1, 60), 1, 30, rapid.ID[int64]).Draw(t, "numbers")
	versions := make([]Version, len(numbers))
	for i, number := range numbers {
		versions[i] = Version{Number: number, Fingerprints: Fingerprints{
			Config: rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "config"), Bootstrap: fmt.Sprint(number),
		}}
	}
	versions[rapid.IntRange(0, len(versions)-1).Draw(t, "default")].Default = true
	return versions
})

func configsOf(versions []Version) []string {
	var configs []string
	for _, version := range newestFirst(versions) {
		if !slices.Contains(configs, version.Fingerprints.Config) {
			configs = append(configs, version.Fingerprints.Config)
		}
	}
	return configs
}

func TestPrunePlanLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		versions := anyVersions.Draw(t, "versions")
		keep := rapid.IntRange(1, 6).Draw(t, "keep")
		wanted := rapid.SampledFrom(versions).Draw(t, "wanted").Number
		inUse := map[int64]bool{}
		for _, version := range versions {
			if rapid.IntRange(0, 3).Draw(t, "used") == 0 {
				inUse[version.Number] = true
			}
		}
		plan := PrunePlan(versions, keep, wanted, inUse)
		left := Observation{Versions: versions}.without(plan).Versions
		if len(left)+len(plan) != len(versions) {
			t.Fatalf("%v are not all among the versions, or twice", plan)
		}
		if !slices.IsSortedFunc(plan, func(a, b int64) int { return int(b - a) }) {
			t.Errorf("%v is not newest first", plan)
		}
		newest := configsOf(versions)[:min(keep, len(configsOf(versions)))]
		perConfig := map[string]int{}
		for _, version := range newestFirst(left) {
			perConfig[version.Fingerprints.Config]++
			needed := version.Number == wanted || version.Default || inUse[version.Number]
			if !needed && !slices.Contains(newest, version.Fingerprints.Config) {
				t.Errorf("version %d is kept, although it is not needed and its config is beyond the newest %d", version.Number, keep)
			}
			if !needed && perConfig[version.Fingerprints.Config] > 1 {
				t.Errorf("version %d is kept, although it is not needed and differs from a newer one only by its token", version.Number)
			}
		}
		for _, number := range plan {
			version := versions[slices.IndexFunc(versions, func(v Version) bool { return v.Number == number })]
			if version.Number == wanted || version.Default || inUse[version.Number] {
				t.Errorf("version %d is needed and would be deleted", number)
			}
		}
		for _, config := range newest {
			if !slices.Contains(configsOf(left), config) {
				t.Errorf("config %s is among the newest %d and would be lost", config, keep)
			}
		}
		if highest := newestFirst(versions)[0].Number; slices.Contains(plan, highest) {
			t.Errorf("version %d is the newest: client tokens would repeat", highest)
		}
		if again := PrunePlan(left, keep, wanted, inUse); len(again) > 0 {
			t.Errorf("after deleting %v another plan is %v", plan, again)
		}
		if len(plan) == 0 {
			return
		}
		if configs := len(configsOf(versions)); configs > keep && !PruneDue(versions, keep, wanted) {
			t.Errorf("%d configs, %d to keep, %v to delete, and pruning is not due", configs, keep, plan)
		}
	})
}

func TestPruneDue(t *testing.T) {
	t.Parallel()
	version := func(number int64, config string) Version {
		return Version{Number: number, Fingerprints: Fingerprints{Config: config}}
	}
	rotated := func(count int64) []Version {
		var versions []Version
		for number := range count {
			versions = append(versions, version(number+1, "a"))
		}
		return versions
	}
	for _, row := range []struct {
		reason   string
		versions []Version
		keep     int
		wanted   int64
		want     bool
	}{
		{"one version is none too many", rotated(1), 1, 1, false},
		{"as many configs as are kept", []Version{version(1, "a"), version(2, "b")}, 2, 2, false},
		{"a config too many", []Version{version(1, "a"), version(2, "b")}, 1, 2, true},
		{"the config too many is the wanted one", []Version{version(1, "a"), version(2, "b")}, 1, 1, false},
		{"tokens that rotated gather for a while", rotated(11), 1, 11, false},
		{"tokens that rotated for a while are too many", rotated(12), 1, 12, true},
	} {
		if got := PruneDue(row.versions, row.keep, row.wanted); got != row.want {
			t.Errorf("%s: due %t, want %t", row.reason, got, row.want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	names := []string{"pool", "pool-1a2b3c4d"}
	template := func(name, owner string) Template {
		return Template{ID: "lt-" + name, Name: name, Tags: map[string]string{infrav1.TagLaunchConfig: owner}}
	}
	for _, row := range []struct {
		reason string
		found  []Template
		want   string
		taken  []string
	}{
		{"nothing there", nil, "", nil},
		{"ours under the first name", []Template{template("pool", "a/pool")}, "lt-pool", nil},
		{"ours under the second, the first was taken", []Template{template("pool", "b/pool"), template("pool-1a2b3c4d", "a/pool")}, "lt-pool-1a2b3c4d", []string{"pool"}},
		{"both ours: the better name", []Template{template("pool-1a2b3c4d", "a/pool"), template("pool", "a/pool")}, "lt-pool", nil},
		{"both of other owners", []Template{template("pool", "b/pool"), template("pool-1a2b3c4d", "")}, "", names},
		{"a name that is not asked about", []Template{template("other", "a/pool")}, "", nil},
		{"one that CAPA created for a cluster has no owner until it is adopted", []Template{
			{ID: "lt-adopt", Name: "pool", Tags: map[string]string{infrav1.ClusterTagKey("c"): infrav1.TagValueOwned}},
		}, "", []string{"pool"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			found := map[string]Template{}
			for _, one := range row.found {
				found[one.Name] = one
			}
			chosen, taken := Choose("a/pool", names, found)
			id := ""
			if chosen != nil {
				id = chosen.ID
			}
			if id != row.want || !slices.Equal(taken, row.taken) {
				t.Errorf("chose %q, taken %q; want %q, %q", id, taken, row.want, row.taken)
			}
		})
	}
}

func TestAdoptable(t *testing.T) {
	t.Parallel()
	ofCluster := map[string]string{infrav1.ClusterTagKey("c"): infrav1.TagValueOwned}
	with := func(key, value string) map[string]string {
		tags := maps.Clone(ofCluster)
		tags[key] = value
		return tags
	}
	for _, row := range []struct {
		reason string
		tags   map[string]string
		want   bool
	}{
		{"CAPA's, of the cluster", ofCluster, true},
		{"CAPA's, of another cluster", map[string]string{infrav1.ClusterTagKey("other"): infrav1.TagValueOwned}, false},
		{"one that the cluster shares", map[string]string{infrav1.ClusterTagKey("c"): infrav1.TagValueShared}, false},
		{"one without a cluster", nil, false},
		{"one that a launch config owns", with(infrav1.TagLaunchConfig, "b/c/pool"), false},
		{"one with another tag of Slipway's", with(infrav1.TagMachinePool, "b/c/pool"), false},
	} {
		if got := (Template{Tags: row.tags}).Adoptable("c"); got != row.want {
			t.Errorf("%s: adoptable is %t, want %t", row.reason, got, row.want)
		}
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	seen := Observation{Versions: []Version{
		{Number: 2, Fingerprints: Fingerprints{Config: "a", Bootstrap: "x", Image: ""}},
		{Number: 5, Fingerprints: Fingerprints{Config: "b", Bootstrap: "x", Image: ""}},
		{Number: 3, Fingerprints: Fingerprints{Config: "a", Bootstrap: "x", Image: "other image key"}},
		{Number: 4, Fingerprints: Fingerprints{Config: "a", Bootstrap: "y", Image: ""}},
	}}
	for _, row := range []struct {
		reason string
		wanted Fingerprints
		want   int64
	}{
		{"the newest that is equal, however its image was found", Fingerprints{Config: "a", Bootstrap: "x", Image: ""}, 3},
		{"an older config with its bootstrap", Fingerprints{Config: "a", Bootstrap: "y", Image: ""}, 4},
		{"a config with another bootstrap is no version to launch from", Fingerprints{Config: "b", Bootstrap: "y", Image: ""}, 0},
		{"a bootstrap with another config is another node", Fingerprints{Config: "c", Bootstrap: "x", Image: ""}, 0},
	} {
		version, exists := seen.Newest(row.wanted)
		if version.Number != row.want || exists != (row.want != 0) {
			t.Errorf("%s: version %d (%t), want %d", row.reason, version.Number, exists, row.want)
		}
	}
}

func TestImageFor(t *testing.T) {
	t.Parallel()
	seen := Observation{Versions: []Version{
		{Number: 1, ImageID: "ami-1", Fingerprints: Fingerprints{Image: "k"}},
		{Number: 3, ImageID: "", Fingerprints: Fingerprints{Image: "k"}},
		{Number: 2, ImageID: "ami-2", Fingerprints: Fingerprints{Image: "k"}},
		{Number: 4, ImageID: "ami-4"},
	}}
	for _, row := range []struct{ reason, key, want string }{
		{"the newest image that was looked up for it", "k", "ami-2"},
		{"nothing was looked up for that", "other", ""},
		{"an image that was given by id was not looked up", "", ""},
	} {
		image, known := seen.ImageFor(row.key)
		if image != row.want || known != (row.want != "") {
			t.Errorf("%s: image %q (%t), want %q", row.reason, image, known, row.want)
		}
	}
}

// TestObservationsAreNotChanged holds that a call returns a new observation and leaves the one that
// it got, its versions, and its tags as they are, because observations are shared.
func TestObservationsAreNotChanged(t *testing.T) {
	t.Parallel()
	made := func() Observation {
		return Observation{
			Template: &Template{ID: "lt-1", Name: "pool", DefaultVersion: 1, LatestVersion: 2, Tags: map[string]string{"a": "1"}},
			Versions: []Version{{Number: 1, Default: true}, {Number: 2}}, Taken: []string{"x"},
		}
	}
	for reason, after := range map[string]func(Observation) Observation{
		"with":        func(o Observation) Observation { return o.with(*o.Template, Version{Number: 3}) },
		"withDefault": func(o Observation) Observation { return o.withDefault(2) },
		"without":     func(o Observation) Observation { return o.without([]int64{2}) },
		"withTags":    func(o Observation) Observation { return o.withTags(map[string]string{"b": "2"}) },
	} {
		before := made()
		changed := after(before)
		if difference := cmp.Diff(made(), before); difference != "" {
			t.Errorf("%s changed what it was made from:\n%s", reason, difference)
		}
		if cmp.Equal(before, changed) {
			t.Errorf("%s changed nothing", reason)
		}
	}
}

func TestIsOf(t *testing.T) {
	t.Parallel()
	template := Template{ID: "lt-1", LatestVersion: 3, DefaultVersion: 2, Tags: map[string]string{"a": "1"}}
	seen := Observation{Template: &template}
	for _, row := range []struct {
		reason string
		now    Template
		want   bool
	}{
		{"as it was", Template{ID: "lt-1", LatestVersion: 3, DefaultVersion: 2}, true},
		{"another client created a version", Template{ID: "lt-1", LatestVersion: 4, DefaultVersion: 2}, false},
		{"another client changed the default", Template{ID: "lt-1", LatestVersion: 3, DefaultVersion: 3}, false},
		{"another client recreated it", Template{ID: "lt-2", LatestVersion: 3, DefaultVersion: 2}, false},
		{"tags are looked at in any case", Template{ID: "lt-1", LatestVersion: 3, DefaultVersion: 2, Created: time.Unix(1, 0)}, true},
	} {
		if got := seen.IsOf(row.now); got != row.want {
			t.Errorf("%s: %t, want %t", row.reason, got, row.want)
		}
	}
	if (Observation{}).IsOf(Template{}) {
		t.Error("an observation of nothing is of a template")
	}
}
