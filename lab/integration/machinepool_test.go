package integration

import (
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestMachinePoolStory walks the main job: the example's manifest leads to nodes, an edit rolls
// them, deletion leaves nothing.
func TestMachinePoolStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.applyExample()
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })

	first := w.running()
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.Eventually("the edit has replaced both nodes", func() error { return w.replaced(first, 2) })
	if versions := w.count("CreateLaunchTemplateVersion"); versions != 1 {
		t.Errorf("the edit made %d versions, want 1", versions)
	}
	if refreshes := w.count("StartInstanceRefresh"); refreshes != 1 {
		t.Errorf("the edit started %d refreshes, want 1", refreshes)
	}
}
