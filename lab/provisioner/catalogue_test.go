package provisioner

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	simworld "github.com/slipway-project/slipway/awssim/world"
)

// TestWholeRegion holds that pods get what they ask for among all the instance types of a region,
// and what it costs to know them: each page once, before any pod waits.
func TestWholeRegion(t *testing.T) {
	types := simworld.Catalogue()
	w := newWorldWith(t, options{types: types})
	w.provision("default")
	spot := 0
	for i := range types {
		if slices.Contains(types[i].UsageClasses, "spot") {
			spot++
		}
	}
	const zones = 3
	pages := map[string]int{
		"DescribeInstanceTypes":         (len(types) + 99) / 100,
		"DescribeInstanceTypeOfferings": (zones*len(types) + 999) / 1000,
		"DescribeSpotPriceHistory":      (zones*spot + 999) / 1000,
	}
	asked := func() error {
		for action, want := range pages {
			if got := w.count(action); got != want {
				return fmt.Errorf("%s was called %d times, want %d", action, got, want)
			}
		}
		return nil
	}
	w.Eventually("the region is known though no pod waits", asked)
	w.pod("small")
	w.pod("large", asking("4", "1200Gi"), selecting(corev1.LabelArchStable, "arm64"))
	for _, node := range w.readyNodes(2) {
		architecture, memory := node.Labels[corev1.LabelArchStable], node.Status.Allocatable.Memory().Value()>>30
		if architecture == "arm64" && memory < 1200 || architecture == "amd64" && memory > 16 {
			t.Errorf("the node for %s is a %s", architecture, node.Labels[corev1.LabelInstanceTypeStable])
		}
	}
	delete(pages, "DescribeSpotPriceHistory") // which are asked for again after half an hour
	if err := asked(); err != nil {
		t.Error(err)
	}
}
