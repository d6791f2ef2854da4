package provisionerstatus

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
)

func TestBudget(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		most   intstr.IntOrString
		nodes  int
		want   int
	}{
		{"a number", intstr.FromInt32(2), 10, 2},
		{"a percentage", intstr.FromString("20%"), 10, 2},
		{"is rounded up", intstr.FromString("11%"), 10, 2},
		{"and is never nothing", intstr.FromString("10%"), 0, 1},
	} {
		if got := budget(row.most, row.nodes); got != row.want {
			t.Errorf("%s: %d, want %d", row.reason, got, row.want)
		}
	}
}

// TestChoose holds which nodes are next to be replaced, and that never more are than the budget lets.
func TestChoose(t *testing.T) {
	t.Parallel()
	node := func(name, state string) provisioningv1.ProvisionedNode {
		made := provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: name}}
		made.Status.ReadyTime = &metav1.Time{}
		switch state {
		case "marked":
			made.Annotations = map[string]string{provisioningv1.ReplaceAnnotation: provisioningv1.DriftedReason + ": x"}
		case "asked":
			made.Annotations = map[string]string{provisioningv1.ReplaceAnnotation: "x"}
		case "ending":
			made.DeletionTimestamp = &metav1.Time{}
		case "coming":
			made.Status.ReadyTime = nil
		}
		return made
	}
	for _, row := range []struct {
		reason, nodes string // name=state, all drifted
		budget        int
		want          string
	}{
		{"the first", "a= b=", 1, "a"},
		{"as many as may be", "a= b= c=", 2, "a b"},
		{"one is being replaced", "a=marked b=", 1, ""},
		{"one more may be", "a=marked b= c=", 2, "b"},
		{"those that end already, and that do not take pods yet, are passed by", "a=ending b=coming c=", 1, "c"},
		{"what a user asked for takes no part of the budget", "a=asked b=", 1, "a"},
	} {
		var nodes []provisioningv1.ProvisionedNode
		for _, text := range strings.Fields(row.nodes) {
			name, state, _ := strings.Cut(text, "=")
			nodes = append(nodes, node(name, state))
		}
		var found []drifted
		for i := range nodes {
			found = append(found, drifted{&nodes[i], "x"})
		}
		_, next := choose(nodes, found, row.budget)
		var names []string
		for _, one := range next {
			names = append(names, one.node.Name)
		}
		if !slices.Equal(names, strings.Fields(row.want)) {
			t.Errorf("%s: next are %q, want %q", row.reason, names, row.want)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	node := &provisioningv1.ProvisionedNode{}
	node.Spec.LaunchTemplate = provisioningv1.LaunchTemplateVersion{ID: "lt-1", Version: 2}
	node.Status.ImageID = "ami-1"
	for _, row := range []struct {
		reason string
		now    launchable
		says   string
	}{
		{"all is the same", launchable{id: "lt-1", version: 2, image: "ami-1"}, ""},
		{"the image is not known", launchable{id: "lt-1", version: 2}, ""},
		{"another template", launchable{id: "lt-2", version: 2, image: "ami-1"}, "launch template lt-1, but would now be launched from lt-2"},
		{"another version, an older one too", launchable{id: "lt-1", version: 1, image: "ami-1"}, "version 2 of launch template lt-1, but would now be launched from version 1"},
		{"another image", launchable{id: "lt-1", version: 2, image: "ami-2"}, "image ami-1, but would now be launched with ami-2"},
	} {
		if got := differs(node, row.now); got != row.says && (row.says == "" || !strings.Contains(got, row.says)) {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}

func TestReplacedType(t *testing.T) {
	t.Parallel()
	of := func(types ...string) *templates.Known {
		return &templates.Known{Template: constraints.Template{InstanceTypes: types}}
	}
	for _, row := range []struct {
		reason string
		types  []string
		known  *templates.Known
		warns  bool
	}{
		{"the provisioner names none", nil, of("m5.large"), false},
		{"the template names none", []string{"m5.large"}, of(), false},
		{"both do", []string{"m5.large", "c5.large"}, of("m5.large"), false},
		{"they differ", []string{"c5.large"}, of("m5.large"), true},
	} {
		if got := replacedType(row.types, row.known); (got != "") != row.warns {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}
