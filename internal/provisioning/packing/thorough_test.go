package packing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// TestNothingIsMissed holds that Pack would not have chosen the types and nodes that it skips.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		problem := packtest.Problems(rt)
		if diff := cmp.Diff(packing.PackThoroughly(problem), packing.Pack(problem), cmp.AllowUnexported(constraints.Set{})); diff != "" {
			rt.Fatalf("looking at all types and nodes changes the outcome (-all +some):\n%s", diff)
		}
	})
}
