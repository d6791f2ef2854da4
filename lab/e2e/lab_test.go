//go:build !e2e

package e2e

import (
	"testing"
	"time"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/product"
)

// rate lets simulated minutes pass in fractions of a second.
const rate = 300

func TestMain(m *testing.M) { labtest.Main(m) }

// TestPools walks both journeys in the laboratory.
func TestPools(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		kind    string
		walk    func(*testing.T, Target)
		cluster lab.ClusterOptions
	}{
		{"AWSMachinePool", MachinePool, lab.ClusterOptions{KubernetesVersion: "v1.25.0"}},
		{"AWSManagedMachinePool", ManagedMachinePool, lab.ClusterOptions{KubernetesVersion: "v1.34.0", Managed: true}},
	} {
		t.Run(row.kind, func(t *testing.T) {
			t.Parallel()
			clock := simclock.New(time.Now(), rate)
			t.Cleanup(clock.Close)
			env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{Clock: clock}})
			cluster := env.Cluster(row.cluster)
			env.StartManager(product.Manager(product.Settings{}))
			row.walk(t, Target{
				Management: env.Client, AWS: env.AWSConfig(), Namespace: env.Namespace, Cluster: cluster.Name,
				KubernetesVersion: row.cluster.KubernetesVersion, InstanceProfile: "nodes.cluster-api-provider-aws.sigs.k8s.io",
				Pool: "e2e", Patience: 3 * time.Minute, Poll: 100 * time.Millisecond,
			})
		})
	}
}
