package pool

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ConfigDifferences returns how a launch config differs from what a pool wants of its spec, labels
// and annotations; "" if it does not.
func ConfigDifferences(config *infrav1.AWSLaunchConfig, wanted infrav1.AWSLaunchConfigSpec, labels, annotations map[string]string) string {
	var differing []string
	if !equality.Semantic.DeepEqual(config.Spec, wanted) {
		differing = differingMembers(config.Spec, wanted)
	}
	if !maps.Equal(config.Labels, labels) {
		differing = append(differing, "other labels")
	}
	if !maps.Equal(config.Annotations, annotations) {
		differing = append(differing, "other annotations")
	}
	return strings.Join(differing, ", ")
}

// differingMembers returns how the members of two specs differ, sorted by name: "instanceType
// m5.large → m6i.large". Specs that differ in no member that JSON has count as differing all the
// same.
func differingMembers(before, after infrav1.AWSLaunchConfigSpec) []string {
	members := [2]map[string]any{}
	for i, spec := range []infrav1.AWSLaunchConfigSpec{before, after} {
		text, err := json.Marshal(spec)
		if err == nil {
			err = json.Unmarshal(text, &members[i])
		}
		if err != nil {
			return []string{"another spec"}
		}
	}
	names := maps.Clone(members[0])
	maps.Copy(names, members[1])
	var differing []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if old, wanted := members[0][name], members[1][name]; !reflect.DeepEqual(old, wanted) {
			differing = append(differing, difference(name, old, wanted))
		}
	}
	if len(differing) == 0 {
		return []string{"another spec"}
	}
	return differing
}

// longestValue bounds the values that the reason for an update names, in bytes.
const longestValue = 64

// difference returns how a member of a spec changes, with its values if both are plain and short.
func difference(name string, old, wanted any) string {
	values := [2]string{}
	for i, value := range []any{old, wanted} {
		switch value.(type) {
		case nil:
			values[i] = "none"
		case string, bool, float64:
			values[i] = fmt.Sprint(value)
		}
		if values[i] == "" || len(values[i]) > longestValue {
			return "another " + name
		}
	}
	return fmt.Sprintf("%s %s → %s", name, values[0], values[1])
}
