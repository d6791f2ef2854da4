package region

import (
	"strings"
	"testing"

	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

func TestUnsuitable(t *testing.T) {
	t.Parallel()
	types := []discovery.InstanceType{{Name: "m5.large", Architectures: []string{"i386", "x86_64"}}, {Name: "m6g.large", Architectures: []string{"arm64"}}}
	for _, row := range []struct {
		reason, named, generation, architecture, want string
	}{
		{"one suits", "m5.large m6g.large", "", "arm64", ""},
		{"any architecture will do", "m6g.large", "", "", ""},
		{"one is known, though the other is a slip of the pen", "m5.large m5.lrage", "", "amd64", ""},
		{"none is for it", "m6g.large", "", "amd64", "none of spec.instanceTypes can run images for amd64"},
		{"none is there", "m5.lrage", "", "", "this region offers none of spec.instanceTypes"},
		{"one satisfies the requirements", "", "6", "arm64", ""},
		{"none satisfies them", "", "9", "", "no instance type of this region satisfies spec.requirements"},
		{"none of the list does", "m5.large", "6", "", "none of spec.instanceTypes satisfies spec.requirements"},
		{"none that does is for the architecture", "", "6", "amd64", "none of the instance types that satisfy " +
			"spec.requirements can run images for amd64"},
	} {
		provisioner := constraints.Provisioner{InstanceTypes: strings.Fields(row.named)}
		if row.generation != "" {
			provisioner.Requirements = constraints.Requirements{
				"karpenter.k8s.aws/instance-generation": constraints.In(row.generation),
				"topology.kubernetes.io/zone":           constraints.In("r-1a"), "node.k8s.aws/capacity-type": constraints.In("spot"),
			}
		}
		if got := unsuitable("r", types, &provisioner, row.architecture); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
