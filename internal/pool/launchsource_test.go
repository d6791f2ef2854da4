package pool_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// TestTemplateLabels holds that any template's name makes a label, and that no two names make one.
func TestTemplateLabels(t *testing.T) {
	t.Parallel()
	names := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,80}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,80}[a-z0-9])?)?`)
	rapid.Check(t, func(t *rapid.T) {
		one, other := names.Draw(t, "one"), names.Draw(t, "other")
		if rapid.Bool().Draw(t, "alike") {
			other = strings.Repeat("a", 60) + one
			one = strings.Repeat("a", 60) + names.Draw(t, "tail")
		}
		label := func(name string) string {
			return pool.TemplateLabels(client.ObjectKey{Namespace: "ns", Name: name})[infrav1.LaunchConfigTemplateLabel]
		}
		if problems := validation.IsValidLabelValue(label(one)); len(problems) > 0 {
			t.Errorf("%q makes %q: %v", one, label(one), problems)
		}
		if (one == other) != (label(one) == label(other)) {
			t.Errorf("%q and %q make %q and %q", one, other, label(one), label(other))
		}
	})
}
