package cli

import (
	"context"
	"strings"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/plan/plantest"
	"github.com/slipway-project/slipway/internal/poolread"
)

// TestManagedPool holds what the commands show of an AWSManagedMachinePool that the controllers run: while EKS
// replaces its nodes, and afterwards.
func TestManagedPool(t *testing.T) {
	t.Parallel()
	world := plantest.NewManaged(t, 3, nil)
	w := &readWorld{TB: t}
	expect := func(command string, wanted ...string) {
		t.Helper()
		w.source = &source{
			planCluster: planCluster{Client: world.Cluster, namespace: "blue"}, pools: poolread.Reader{Cluster: world.Cluster},
			aws: func(context.Context) (*poolread.AWS, error) {
				return poolread.NewAWS(world.Cluster, world.AWS, identity.DefaultSecretNamespace, "test"), nil
			},
			clock: clocktesting.NewFakeClock(world.Clock.Now()),
		}
		out, notes, err := w.run(t.Context(), strings.Fields(command)...)
		if err != nil || notes != "" {
			t.Errorf("slipway %s: got error %v and notes %q", command, err, notes)
		}
		for _, text := range wanted {
			if !strings.Contains(out, text) {
				t.Errorf("slipway %s: got\n%s\nwant %q", command, out, text)
			}
		}
	}
	edited := world.Managed()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	world.Edit(edited, 2)
	expect("status system", "RollingOut", "3 of 3 ready, 0 of 3 with the wanted configuration", "1: 3 instances (first version)", "0 of 3 instances")
	world.Edit(world.Managed(), 7)
	expect("status system", "RollingOut", "2: 2 instances, wanted", "1: 3 instances (first version)", "2 of 5 instances", "because: instance type m5.large → m5.xlarge", "at this pace")
	world.Edit(world.Managed(), 60)
	expect("status system", "Converged", "2: 3 instances, wanted")
	expect("history system", "First   0      Replaced", "Edited  3      Current   instance type m5.large → m5.xlarge")
	expect("events system", "was taken out of service in response to a user request", world.Managed().Status.Nodegroup.AutoScalingGroup)
	expect("tree prod", "EKS node group blue_system", "version 2  3 instances, wanted")
	expect("diff system 1 2", "instance type m5.large → m5.xlarge")
	expect("trace "+world.Managed().Status.Instances[0].InstanceID, "Nodegroup blue_system", "instance type m5.large → m5.xlarge")
}
