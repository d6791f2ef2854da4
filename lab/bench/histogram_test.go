package bench

import (
	"math"
	"slices"
	"testing"
)

const metrics = `# TYPE passes histogram
passes_bucket{controller="a",le="0.1"} 6
passes_bucket{controller="a",le="1"} 8
passes_bucket{controller="a",le="+Inf"} 8
passes_sum{controller="a"} 3
passes_count{controller="a"} 8
passes_bucket{controller="b",le="0.1"} 0
passes_bucket{controller="b",le="1"} 1
passes_bucket{controller="b",le="+Inf"} 2
passes_other_bucket{le="1"} 100
`

func TestHistogram(t *testing.T) {
	t.Parallel()
	h := readHistogram(metrics, "passes")
	if h == nil || h.Count != 10 || !slices.Equal(h.Counts, []uint64{6, 9, 10}) {
		t.Fatalf("read %+v", h)
	}
	for share, want := range map[float64]float64{0.5: 0.1, 0.6: 0.1, 0.9: 1, 0.99: math.Inf(1)} {
		if got := h.AtMost(share); got != want {
			t.Errorf("%v of all took at most %v s, want %v", share, got, want)
		}
	}
	if sum := h.plus(h); sum.Count != 20 || !slices.Equal(sum.Counts, []uint64{12, 18, 20}) {
		t.Errorf("twice is %+v", sum)
	}
	if h.plus(nil) != h || (*Histogram)(nil).plus(h) != h {
		t.Error("nothing adds something")
	}
	if readHistogram(metrics, "nothing") != nil {
		t.Error("there is none of that name")
	}
}
