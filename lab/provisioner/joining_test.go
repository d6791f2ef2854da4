package provisioner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/internal/manager"
)

// TestNodeThatNeverJoins holds that an instance which does not become a Node in time is terminated
// and replaced, and that its pod gets a node as soon as one joins.
func TestNodeThatNeverJoins(t *testing.T) {
	w := newWorldWith(t, options{change: func(options *manager.ProvisionerOptions) { options.RegistrationTimeout = 10 * time.Minute }})
	image := w.image("x86_64")
	id := w.template("web", image, func(data *ec2types.RequestLaunchTemplateData) { data.UserData = nil })
	w.provision("default", "labels: {node.k8s.aws/launch-template-name: web}")
	pod := w.pod("one")
	w.told("was not initialized within 10m")
	known, err := w.statusOf("default", "web")
	if err != nil || known.Message == "" {
		t.Errorf("the status says nothing of user data that is missing: %+v, %v", known, err)
	}
	w.newVersion(id, image)
	w.bound(pod)
	w.Eventually("what never joined has ended", func() error {
		if launched := w.launchedFrom(); !slices.Equal(launched, []string{id + ":2 x86_64"}) || w.count("TerminateInstances") == 0 {
			return fmt.Errorf("instances are launched from %q", launched)
		}
		return nil
	})
	w.readyNodes(1)
}
