package managedmachinepool

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	awsworld "github.com/slipway-project/slipway/awssim/world"
)

// upgradeCluster gives the EKS cluster another version, as its control plane's controller would.
func (w *world) upgradeCluster(version string) {
	w.Helper()
	if err := w.sim.Region(testAccount, testRegion).SetCluster(awssim.Cluster{Name: testEKSCluster, Version: version, Subnets: []string{testSubnet}}); err != nil {
		w.Fatal(err)
	}
	controlPlane := &eksv1.AWSManagedControlPlane{}
	if err := w.store.Get(w.Context(), types.NamespacedName{Namespace: testNamespace, Name: testCluster}, controlPlane); err != nil {
		w.Fatal(err)
	}
	controlPlane.Spec.Version = ptr.To("v" + version)
	if err := w.store.Update(w.Context(), controlPlane); err != nil {
		w.Fatal(err)
	}
}

// runs makes passes until the node group is active with a Kubernetes version.
func (w *world) runs(name, version string) {
	w.Helper()
	w.passes(name, "the node group runs "+version, func() bool {
		group := w.pool(name).Status.Nodegroup
		return group != nil && group.Status == "ACTIVE" && group.KubernetesVersion == version
	})
}

// upgraded has a pool, with a launch template of the given versions, whose cluster and node group
// were upgraded from 1.33 to 1.34.
func upgraded(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.upgradeCluster("1.33")
	template := w.template("t3.large", "m5.large")
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
	})
	w.setVersion("pool", "v1.33.4")
	w.reconcile("pool")
	w.reconcile("pool")
	w.configured("pool", template, 1)
	w.runs("pool", "1.33")
	w.upgradeCluster("1.34")
	w.setVersion("pool", "v1.34.1")
	w.runs("pool", "1.34")
	return w
}

// templateOf returns the id of the launch template that nodes are launched from.
func (w *world) templateOf(name string) string {
	w.Helper()
	return *w.nodegroup(w.pool(name).Status.Nodegroup.Name).LaunchTemplate.Id
}

// TestKubernetesVersionGoesBack holds that a managed pool goes back to the previous Kubernetes
// version as to any other one, and that its control plane can follow.
func TestKubernetesVersionGoesBack(t *testing.T) {
	t.Parallel()
	w := upgraded(t)
	w.setVersion("pool", "v1.33.4")
	w.runs("pool", "1.33")
	if group := w.nodegroup(w.pool("pool").Status.Nodegroup.Name); *group.Version != "1.33" || !strings.HasPrefix(*group.ReleaseVersion, "1.33.") {
		t.Errorf("the node group is on %s, %s", *group.Version, *group.ReleaseVersion)
	}
	w.upgradeCluster("1.33")
	w.passes("pool", "all nodes run what is wanted", func() bool { return w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
	if ready := w.condition("pool", infrav1.NodegroupReadyCondition); ready.Status != "True" {
		t.Errorf("EKSNodegroupReady is %+v", ready)
	}
	if cause := w.pool("pool").Status.Update.Cause; cause != "Kubernetes 1.34 → 1.33" {
		t.Errorf("the cause of the last update is %q", cause)
	}
}

// TestReleaseGoesBack holds that amiVersion takes the nodes of a managed pool back to an older
// release of EKS's image, and forward again.
func TestReleaseGoesBack(t *testing.T) {
	t.Parallel()
	const older, image = "1.34.0-20250101", "amazon-eks-node-al2023-x86_64-standard-1.34-v"
	w := newWorld(t, func(options *awssim.Options) {
		account := *awsworld.Default()
		account.Regions = slices.Clone(account.Regions)
		region := &account.Regions[0]
		region.Images = slices.Clone(region.Images)
		i := slices.IndexFunc(region.Images, func(i awsworld.Image) bool { return strings.HasPrefix(i.Name, image) })
		old := region.Images[i]
		old.ID, old.Name, old.CreationDate = "ami-0123456789abcdef0", image+"20250101", time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
		region.Images, options.World = append(region.Images, old), &account
	})
	w.create("pool", nil)
	w.active("pool")
	newest := w.pool("pool").Status.Nodegroup.ReleaseVersion
	for _, release := range []string{older, newest} {
		if release == w.pool("pool").Status.Nodegroup.ReleaseVersion {
			t.Fatalf("the node group has release %s already", release)
		}
		w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AMIVersion = &release })
		w.passes("pool", "the node group runs release "+release, func() bool {
			group := w.pool("pool").Status.Nodegroup
			return group.Status == "ACTIVE" && group.ReleaseVersion == release && w.condition("pool", infrav1.RolledOutCondition).Status == "True"
		})
	}
}

// TestRollbackThatEKSRefuses holds that the conditions say why EKS does not take a node group back,
// that everything else goes on at the version that it has, that EKS is not asked again at every
// pass, and that asking for the version that nodes have resolves the failure.
func TestRollbackThatEKSRefuses(t *testing.T) {
	t.Parallel()
	w := upgraded(t)
	w.clock.Step(8 * 24 * time.Hour)
	before := len(w.sim.Calls())
	asked := func() int {
		count := 0
		for _, call := range w.sim.Calls()[before:] {
			if call.Action == "UpdateNodegroupVersion" && call.Code != "" {
				count++
			}
		}
		return count
	}
	w.setVersion("pool", "v1.33.4")
	w.passes("pool", "the pool says that EKS refuses", func() bool {
		return w.condition("pool", infrav1.NodegroupReadyCondition).Reason == infrav1.ImmutableFieldReason
	})
	for _, kind := range []string{infrav1.NodegroupReadyCondition, infrav1.RolledOutCondition} {
		condition := w.condition("pool", kind)
		for _, words := range []string{"more than 7 days have passed", "Nodes stay at 1.34", "Set spec.template.spec.version of the MachinePool to 1.34"} {
			if condition.Reason != infrav1.ImmutableFieldReason || !strings.Contains(condition.Message, words) {
				t.Errorf("%s does not say %q: %+v", kind, words, condition)
			}
		}
	}
	w.configured("pool", w.templateOf("pool"), 2)
	w.passes("pool", "nodes run the new launch template version", func() bool {
		group := w.nodegroup(w.pool("pool").Status.Nodegroup.Name)
		return group.Status == "ACTIVE" && *group.LaunchTemplate.Version == "2"
	})
	if group := w.nodegroup(w.pool("pool").Status.Nodegroup.Name); *group.Version != "1.34" {
		t.Errorf("the node group is on %s", *group.Version)
	}
	if count := asked(); count == 0 || count > 3 {
		t.Errorf("EKS refused %d times within minutes", count)
	}
	w.setVersion("pool", "v1.34.1")
	w.passes("pool", "all is well", func() bool {
		return w.condition("pool", infrav1.NodegroupReadyCondition).Status == "True" && w.condition("pool", infrav1.RolledOutCondition).Status == "True"
	})
}
