package reconciling_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/reconciling"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	var memory reconciling.Memory[string]
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	if value, known := memory.Get(one); known || value != "" {
		t.Errorf("nothing was remembered, and %q is", value)
	}
	memory.Put(one, "a")
	if first, second := memory.GetOrPut(one, "b"), memory.GetOrPut(two, "c"); first != "a" || second != "c" {
		t.Errorf("%q and %q are remembered", first, second)
	}
	memory.Put(one, "d")
	memory.Forget(two)
	if value, known := memory.Get(one); !known || value != "d" {
		t.Errorf("%q is remembered of the one", value)
	}
	if _, known := memory.Get(two); known {
		t.Error("the other is not forgotten")
	}
}
