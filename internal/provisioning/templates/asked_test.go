package templates

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// TestAsked holds which provisioners report again when waiting pods come and go: those for which
// pods name other launch templates than before, and no others.
func TestAsked(t *testing.T) {
	t.Parallel()
	web, gpu := constraints.Reference{Name: "web", Version: "latest"}, constraints.Reference{Name: "gpu", Version: "7"}
	type named = map[string][]constraints.Reference
	var woken []string
	asked := Asked{Wake: func(provisioner string) { woken = append(woken, provisioner) }}
	for _, step := range []struct {
		reason string
		named  named
		wakes  string
	}{
		{"no pod names one", nil, ""},
		{"pods name one for a provisioner", named{"a": {web}}, "a"},
		{"they still wait", named{"a": {web}}, ""},
		{"others come, for another provisioner", named{"a": {web}, "b": {gpu}}, "b"},
		{"pods name one more", named{"a": {web, gpu}, "b": {gpu}}, "a"},
		{"pods name another version", named{"a": {web, gpu}, "b": {{Name: "gpu", Version: "8"}}}, "b"},
		{"the pods of one are gone", named{"a": {web, gpu}}, "b"},
		{"an empty list is none", named{"a": {web, gpu}, "b": {}}, ""},
		{"all are gone", nil, "a"},
	} {
		woken = nil
		asked.Set(step.named)
		slices.Sort(woken)
		if got := strings.Join(slices.Compact(woken), " "); got != step.wakes {
			t.Errorf("%s: %q wake, want %q", step.reason, got, step.wakes)
		}
		for provisioner, want := range step.named {
			if got := asked.Of(provisioner); !slices.Equal(got, want) {
				t.Errorf("%s: %s is asked for %v", step.reason, provisioner, got)
			}
		}
	}
	asked.Set(named{"a": {web}})
	returned := asked.Of("a")
	returned[0] = gpu // the caller's alone
	if got := asked.Of("a"); !slices.Equal(got, []constraints.Reference{web}) {
		t.Errorf("what was returned before is changed: %v", got)
	}
}
