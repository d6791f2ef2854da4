package nodegroup

import (
	"strings"
	"testing"
)

// TestRefusedVersion holds which versions EKS takes, and that a refusal says what it takes.
func TestRefusedVersion(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, wanted, cluster, present, says string }{
		{"the cluster's, of any patch", "v1.34.7", "1.34", "", ""},
		{"nothing is asked for", "", "1.34", "", ""},
		{"the cluster's is not known", "v1.30.0", "", "", ""},
		{"a new node group behind the cluster", "v1.33.2", "1.34", "", "Set the version to 1.34"},
		{"a new node group ahead of the cluster", "v1.35.0", "1.34", "", "No node group is created, and no node " +
			"is launched. Upgrade the control plane, or set the version to 1.34"},
		{"a node group stays behind its cluster", "v1.33.2", "1.34", "1.33", ""},
		{"a node group goes on to the cluster's", "v1.34.0", "1.34", "1.33", ""},
		{"a node group ahead of its cluster", "v1.35.0", "1.34", "1.34", "Nodes stay at 1.34 until then."},
		{"a node group back by one", "v1.33.2", "1.34", "1.34", ""},
		{"a node group back, after its cluster", "v1.33.2", "1.33", "1.34", ""},
		{"a node group back by one, of a cluster that is not known", "v1.33.2", "", "1.34", ""},
		{"a node group back by two", "v1.32.2", "1.34", "1.34", "only by one minor version"},
		{"a node group back by two, of a cluster that is not known", "v1.32.2", "", "1.34", "Set the version to 1.34,"},
		{"a node group back that is behind its cluster", "v1.33.2", "1.35", "1.34", "only from the version of its cluster. Its nodes stay as they are. Set the version to 1.34 or 1.35"},
	} {
		said := RefusedVersion(row.wanted, row.cluster, row.present)
		if (said == "") != (row.says == "") || !strings.Contains(said, row.says) {
			t.Errorf("%s: it says %q", row.reason, said)
		}
	}
}
