package provisionerstatus_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestDefaultTemplateThatIsNotShown holds that a Provisioner that is being deleted stays until EC2 shows
// the default launch template that was created last, so that none is left, and no longer than a minute
// if EC2 never shows it.
func TestDefaultTemplateThatIsNotShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		lag      time.Duration
		deleted  bool // by a user
		restarts bool
	}{
		{reason: "it is shown late", lag: 40 * time.Second},
		{reason: "it is shown late, to a process that did not create it", lag: 40 * time.Second, restarts: true},
		{reason: "it is gone", deleted: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{Behavior: awssim.Behavior{ReadLag: row.lag}})
			w.Faulty = true // EC2 does not show what was created
			provisioner := w.Provision("default")
			w.Pod("one")
			w.Settle()
			if row.deleted {
				deleteTemplate(w, theTemplate(w))
			}
			if row.restarts {
				w.Restart()
			}
			w.Delete(provisioner)
			w.Settle()
			there := func() bool {
				return w.Client.Get(t.Context(), client.ObjectKeyFromObject(provisioner), &provisioningv1.Provisioner{}) == nil
			}
			for range 5 {
				w.Advance(5 * time.Second)
			}
			if !there() {
				t.Fatal("the Provisioner is gone, and EC2 may show its launch template yet")
			}
			for range 30 {
				w.Advance(5 * time.Second)
			}
			if there() || len(templates(w)) != 0 || len(w.Instances()) != 0 {
				t.Errorf("the Provisioner is there: %t, %d launch templates, %d instances", there(), len(templates(w)), len(w.Instances()))
			}
		})
	}
}
