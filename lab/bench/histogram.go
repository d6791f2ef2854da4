package bench

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Histogram is a Prometheus histogram, all its labels taken together.
type Histogram struct {
	// Bounds are the upper bounds of the buckets in seconds, ascending, the last infinite; Counts are how many were at most that.
	Bounds []float64
	Counts []uint64
	Count  uint64
}

// readHistogram reads one from Prometheus's text format, nil if it is not there.
func readHistogram(text, name string) *Histogram {
	buckets := map[float64]uint64{}
	for line := range strings.Lines(text) {
		labels, value, found := strings.Cut(strings.TrimPrefix(line, name+"_bucket{"), "} ")
		if !found || !strings.HasPrefix(line, name+"_bucket{") {
			continue
		}
		_, bound, _ := strings.Cut(labels, `le="`)
		bound, _, _ = strings.Cut(bound, `"`)
		upper, err := strconv.ParseFloat(bound, 64)
		count, err2 := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if cmp.Or(err, err2) == nil {
			buckets[upper] += uint64(count)
		}
	}
	if len(buckets) == 0 {
		return nil
	}
	h := &Histogram{}
	for bound := range buckets {
		h.Bounds = append(h.Bounds, bound)
	}
	slices.Sort(h.Bounds)
	for _, bound := range h.Bounds {
		h.Counts = append(h.Counts, buckets[bound])
	}
	h.Count = h.Counts[len(h.Counts)-1]
	return h
}

// plus adds another histogram of the same buckets. Either may be nil.
func (h *Histogram) plus(other *Histogram) *Histogram {
	if h == nil || other == nil || !slices.Equal(h.Bounds, other.Bounds) {
		return cmp.Or(other, h)
	}
	sum := &Histogram{Bounds: h.Bounds, Count: h.Count + other.Count}
	for i := range h.Counts {
		sum.Counts = append(sum.Counts, h.Counts[i]+other.Counts[i])
	}
	return sum
}

// AtMost returns the smallest bucket bound that a share of all values does not exceed, in seconds.
func (h *Histogram) AtMost(share float64) float64 {
	for i, count := range h.Counts {
		if float64(count) >= share*float64(h.Count) {
			return h.Bounds[i]
		}
	}
	return math.Inf(1)
}
