package provisioner

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	simworld "github.com/slipway-project/slipway/awssim/world"
)

// TestWholeRegion holds that pods get what they ask for among all the instance types of a region, and what it costs to know them: each page once, before any pod waits.
func TestWholeRegion(t *testing.T) {
	types := simworld.Catalogue()
	w := newWorldWith(t, options{types: types})
	w.provision("default")
	pages := map[string]int{
		"DescribeInstanceTypes":         (len(types) + 99) / 100,
		"DescribeInstanceTypeOfferings": (3*len(types) + 999) / 1000, // of three zones
	}
	asked := func() error {
		for action, want := range pages {
			if got := w.count(action); got != want {
				return fmt.Errorf("%s was called %d times, want %d", action, got, want)
			}
		}
		if w.count("DescribeSpotPriceHistory") == 0 {
			return fmt.Errorf("the prices of Spot are not known")
		}
		return nil
	}
	w.Eventually("the region is known though no pod waits", asked)
	before := w.count("DescribeSpotPriceHistory")
	w.pod("small")
	w.pod("large", asking("4", "1200Gi"), selecting(corev1.LabelArchStable, "arm64"))
	for _, node := range w.readyNodes(2) {
		architecture, memory := node.Labels[corev1.LabelArchStable], node.Status.Allocatable.Memory().Value()>>30
		if architecture == "arm64" && memory < 1200 || architecture == "amd64" && memory > 16 {
			t.Errorf("the node for %s is a %s", architecture, node.Labels[corev1.LabelInstanceTypeStable])
		}
	}
	if err := asked(); err != nil {
		t.Error(err)
	}
	if now := w.count("DescribeSpotPriceHistory"); now != before {
		t.Errorf("the prices of Spot were read again: %d calls", now-before)
	}
}
