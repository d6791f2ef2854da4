package v1beta2_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestBoundsOfLabelsAndTaints holds EKS's bounds: a key has at most 63 characters, its prefix
// included, other than in Kubernetes (AWS: API_CreateNodegroup, labels; API_Taint). Values that EKS
// would refuse are refused at once.
func TestBoundsOfLabelsAndTaints(t *testing.T) {
	t.Parallel()
	key := func(length int) string { return strings.Repeat("p", length-10) + "/" + strings.Repeat("k", 9) }
	taint := func(key, value string) string {
		return fmt.Sprintf(`{taints: [{key: %q, value: %q, effect: no-schedule}]}`, key, value)
	}
	for _, row := range []struct {
		reason, spec, refused string
	}{
		{"a taint key of 63 characters", taint(key(63), strings.Repeat("v", 63)), ""},
		{"a taint key of 64 characters", taint(key(64), ""), "taints[0].key"},
		{"an empty taint key", taint("", ""), "taints[0].key"},
		{"an empty taint value", taint("k", ""), ""},
		{"a taint value of 64 characters", taint("k", strings.Repeat("v", 64)), "taints[0].value"},
		{"a label key of 63 characters", fmt.Sprintf(`{labels: {%q: v}}`, key(63)), ""},
		{"a label key of 64 characters", fmt.Sprintf(`{labels: {%q: v}}`, key(64)), "labels"},
		{"a label value of 64 characters", fmt.Sprintf(`{labels: {k: %q}}`, strings.Repeat("v", 64)), "labels"},
		{"an empty label value", `{labels: {k: ""}}`, "labels"},
	} {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			base := strings.Replace(managedPoolBase, "v1beta2", version, 1)
			_, err := resource(t, "AWSManagedMachinePool", version).Create(t.Context(), object(t, base, "spec: {scaling: null}", "spec: "+row.spec))
			if (err == nil) != (row.refused == "") || err != nil && !strings.Contains(err.Error(), row.refused) {
				t.Errorf("%s, %s: %v, want a refusal of %q", row.reason, version, err, row.refused)
			}
		}
	}
}
