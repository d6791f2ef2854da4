package launchconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersionsAreReadOnce holds that an edit costs one description of the template's versions, also
// after a restart: it has the data that the reason of the new version is computed from. A pool that
// rolls the version out needs none.
func TestVersionsAreReadOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.client.Create(t.Context(), launchConfig(nil)); err != nil {
		t.Fatal(err)
	}
	config := r.reconcile()
	r.restart()
	r.sim.ClearCalls()
	setType("m5.xlarge")(r)
	edited := r.reconcile()
	if edited.Status.Version != 2 {
		t.Fatalf("version %d is launched, want 2", edited.Status.Version)
	}
	changes, err := r.cloud().Discovery.TemplateChanges(t.Context(), config.Status.LaunchTemplateID, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"instance type m5.large → m5.xlarge"}, changes); diff != "" {
		t.Errorf("what differs (-want +got):\n%s", diff)
	}
	reads := 0
	for _, call := range r.sim.Calls() {
		if call.Action == "DescribeLaunchTemplateVersions" {
			reads++
		}
	}
	if reads != 1 {
		t.Errorf("versions were described %d times, want once", reads)
	}
}
