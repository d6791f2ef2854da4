package region

import (
	"strings"
	"testing"

	"github.com/slipway-project/slipway/internal/discovery"
)

func TestUnsuitable(t *testing.T) {
	t.Parallel()
	types := []discovery.InstanceType{{Name: "m5.large", Architectures: []string{"i386", "x86_64"}}, {Name: "m6g.large", Architectures: []string{"arm64"}}}
	for _, row := range []struct {
		reason, named, architecture, want string
	}{
		{"one suits", "m5.large m6g.large", "arm64", ""},
		{"any architecture will do", "m6g.large", "", ""},
		{"one is known, though the other is a slip of the pen", "m5.large m5.lrage", "amd64", ""},
		{"none is for it", "m6g.large", "amd64", "none of spec.instanceTypes runs images for amd64"},
		{"none is there", "m5.lrage", "", "this region has none of spec.instanceTypes"},
	} {
		if got := unsuitable(types, strings.Fields(row.named), row.architecture); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
