package ec2

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestWildcardsAreLikeARegularExpression holds the matcher against Go's regular expressions.
func TestWildcardsAreLikeARegularExpression(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?\\]{0,8}`).Draw(t, "pattern")
		value := rapid.StringMatching(`[ab*?\\]{0,8}`).Draw(t, "value")
		var expression strings.Builder
		for i := 0; i < len(pattern); i++ {
			switch pattern[i] {
			case '*':
				expression.WriteString(".*")
			case '?':
				expression.WriteString(".?")
			case '\\':
				if i+1 < len(pattern) {
					i++
				}
				expression.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			default:
				expression.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			}
		}
		want := regexp.MustCompile(`^(?:` + expression.String() + `)$`).MatchString(value)
		if got := wildcardMatch(pattern, value); got != want {
			t.Fatalf("%q matches %q: %t, want %t", pattern, value, got, want)
		}
	})
}

// TestPagesAreTheWhole: pages joined are the list, and what is deleted or added between two pages
// moves no other item.
func TestPagesAreTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 0, 40, rapid.ID[string]).Draw(t, "items")
		size := int32(rapid.IntRange(1, 10).Draw(t, "size"))
		remaining := slices.Clone(items)
		var seen []string
		var token *string
		for {
			got, next, err := page(remaining, &size, token, pageLimits{min: 1, max: 10}, func(s string) string { return s })
			if err != nil {
				t.Fatalf("page: %v", err)
			}
			seen = append(seen, got...)
			if next == nil {
				break
			}
			token = next
			if len(seen) > 1 && rapid.Bool().Draw(t, "delete") {
				remaining = slices.DeleteFunc(remaining, func(s string) bool { return s == seen[0] })
			}
		}
		if diff := cmp.Diff(items, seen, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Fatalf("pages joined (-want +got):\n%s", diff)
		}
	})
}

// TestMergedTags: over wins, nothing is lost, and the tags are sorted by key.
func TestMergedTags(t *testing.T) {
	t.Parallel()
	tags := rapid.Custom(func(t *rapid.T) []types.Tag {
		return tagList(rapid.MapOfN(rapid.StringMatching(`[a-e]`), rapid.StringMatching(`[x-z]?`), 0, 5).Draw(t, "tags"))
	})
	rapid.Check(t, func(t *rapid.T) {
		base, over := tags.Draw(t, "base"), tags.Draw(t, "over")
		merged := mergeTags(base, over)
		want := map[string]string{}
		for _, tag := range append(slices.Clone(base), over...) {
			want[*tag.Key] = *tag.Value
		}
		got := map[string]string{}
		for _, tag := range merged {
			got[*tag.Key] = *tag.Value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("merged (-want +got):\n%s", diff)
		}
		if !slices.IsSorted(tagKeys(merged)) {
			t.Fatalf("not in the order of keys: %v", tagKeys(merged))
		}
	})
}

func TestMetadataTagKeys(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason, key string
		ok          bool
	}{
		{"letters, digits and the marks that are allowed", "Az09-_+=,.@:", true},
		{"no slash", "kubernetes.io/cluster/x", false},
		{"no space", "Patch Group", false},
		{"not the name of the index", "_index", false},
		{"not a path", "..", false},
		{"AWS's own do not count", "aws:ec2launchtemplate:id", true},
	}
	for _, row := range rows {
		err := checkMetadataTagKeys([]types.Tag{{Key: ptr(row.key)}})
		if (err == nil) != row.ok {
			t.Errorf("%s: %q gives %v", row.reason, row.key, err)
		}
	}
}

func TestResourceIDs(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason, id string
		ok         bool
	}{
		{"17 digits", "i-0123456789abcdef0", true},
		{"8 digits, as old ones have", "i-01234567", true},
		{"another prefix", "ami-01234567", false},
		{"too short", "i-0123", false},
		{"capitals", "i-0123456789ABCDEF0", false},
		{"nothing", "", false},
	}
	for _, row := range rows {
		if err := instanceID.check(row.id); (err == nil) != row.ok {
			t.Errorf("%s: %q gives %v", row.reason, row.id, err)
		}
	}
}

func TestVolumeRules(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		kind   types.VolumeType
		ebs    types.EbsBlockDevice
		want   string
	}{
		{"a gp3 volume at its limits", types.VolumeTypeGp3, types.EbsBlockDevice{VolumeSize: ptr(int32(65536)), Iops: ptr(int32(80000)), Throughput: ptr(int32(2000))}, ""},
		{"a small gp3 volume has 3,000 IOPS too", types.VolumeTypeGp3, types.EbsBlockDevice{VolumeSize: ptr(int32(1)), Iops: ptr(int32(3000))}, ""},
		{"a gp3 volume over its limit", types.VolumeTypeGp3, types.EbsBlockDevice{VolumeSize: ptr(int32(65537))}, "InvalidParameterValue"},
		{"a gp2 volume over its limit", types.VolumeTypeGp2, types.EbsBlockDevice{VolumeSize: ptr(int32(16385))}, "InvalidParameterValue"},
		{"an st1 volume under its limit", types.VolumeTypeSt1, types.EbsBlockDevice{VolumeSize: ptr(int32(100))}, "InvalidParameterValue"},
		{"io1 with more than 50 IOPS a GiB", types.VolumeTypeIo1, types.EbsBlockDevice{VolumeSize: ptr(int32(10)), Iops: ptr(int32(501))}, "InvalidParameterValue"},
		{"io1 with 50 IOPS a GiB", types.VolumeTypeIo1, types.EbsBlockDevice{VolumeSize: ptr(int32(10)), Iops: ptr(int32(500))}, ""},
		{"too few IOPS", types.VolumeTypeGp3, types.EbsBlockDevice{Iops: ptr(int32(100))}, "InvalidParameterValue"},
		{"throughput is for gp3", types.VolumeTypeIo2, types.EbsBlockDevice{Iops: ptr(int32(100)), Throughput: ptr(int32(125))}, "InvalidParameterCombination"},
		{"a slow initialization", types.VolumeTypeGp3, types.EbsBlockDevice{VolumeInitializationRate: ptr(int32(99))}, "InvalidParameterValue"},
	}
	for _, row := range rows {
		got := ""
		if err := checkVolume(row.kind, row.ebs); err != nil {
			got, _, _ = strings.Cut(err.Error(), ":")
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}

func TestTooManyFilters(t *testing.T) {
	t.Parallel()
	values := make([]string, 201)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	table := filterTable[string]{"name": func(s string) []string { return []string{s} }}
	if _, err := table.apply([]types.Filter{{Name: ptr("name"), Values: values}}, nil, nil); err == nil {
		t.Error("201 values of a filter must be refused")
	}
	got, err := table.apply([]types.Filter{{Name: ptr("name"), Values: values[:200]}}, []string{"7", "x"}, nil)
	if err != nil || !slices.Equal(got, []string{"7"}) {
		t.Errorf("200 values: %v, %v", got, err)
	}
}
