package digest

import "testing"

// TestOf holds which values have the same digest. Digests are stored, so that one must not change.
func TestOf(t *testing.T) {
	t.Parallel()
	type value struct {
		Name string
		Tags map[string]string
	}
	one := value{"pool", map[string]string{"a": "b", "c": "d"}}
	for _, row := range []struct {
		reason string
		other  any
		same   bool
	}{
		{"an equal value", value{"pool", map[string]string{"c": "d", "a": "b"}}, true},
		{"another name", value{"Pool", one.Tags}, false},
		{"another tag", value{"pool", map[string]string{"a": "b", "c": "e"}}, false},
		{"no tags", value{Name: "pool"}, false},
		{"nothing", nil, false},
	} {
		if same := Of(row.other) == Of(one); same != row.same {
			t.Errorf("%s: the same digest: %t", row.reason, same)
		}
	}
	if got, want := Of("pool"), "3db423566d658b31"; got != want {
		t.Errorf("the digest of a text is %s, and was %s", got, want)
	}
}

// TestOfWhatIsNoJSON holds that a value that JSON cannot hold has no digest.
func TestOfWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a function has a digest")
		}
	}()
	Of(func() {})
}

// TestSuffixed holds what names look like that are distinguished by a suffix. AWS has resources with these
// names, so that one must not change.
func TestSuffixed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, text, of string
		digits, longest  int
		want             string
	}{
		{"it fits", "pool", "a", 8, 63, "pool-ca978112"},
		{"more digits", "pool", "a", 16, 63, "pool-ca978112ca1bbdca"},
		{"another text", "pool", "b", 8, 63, "pool-3e23e816"},
		{"it is cut", "pool-of-nodes", "a", 8, 13, "pool-ca978112"},
	} {
		if got := Suffixed(row.text, row.of, row.digits, row.longest); got != row.want {
			t.Errorf("%s: it is %q, want %q", row.reason, got, row.want)
		}
	}
}
