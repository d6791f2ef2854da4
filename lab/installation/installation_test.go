package installation

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clusterctlclient "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab/clusterctl"
	"github.com/slipway-project/slipway/lab/kubectl"
	"github.com/slipway-project/slipway/lab/release"
)

// provider selects the objects of an installation that are not in its namespace.
const provider = "cluster.x-k8s.io/provider=infrastructure-slipway"

// way is a way to install a release, to change to another release and back, and to remove all of it.
type way struct {
	name                                   string
	install, upgrade, downgrade, uninstall func(*world) error
}

// ways are the ways that the documentation describes. Each removes the definitions too, once there are
// no pools.
var ways = []way{
	{"clusterctl", (*world).initialize, (*world).applyUpgrade, (*world).reinitialize, (*world).uninitialize},
	{"Helm", (*world).helmInstall, (*world).helmUpgrade, (*world).helmRollback, (*world).helmUninstall},
	{
		"kubectl",
		func(w *world) error { return w.kubectlApply(files.folder) }, func(w *world) error { return w.kubectlApply(files.next) },
		func(w *world) error { return w.kubectlApply(files.folder) }, (*world).kubectlDelete,
	},
}

// TestInstallation installs a release from nothing but its files, in each way in turns. The manager runs
// as its Deployment says, and a pool comes up. A wrong approval is refused by the webhook. The release is
// upgraded to the next one and downgraded again, and the pool keeps its nodes. Then the pool is deleted
// and Slipway is uninstalled, and nothing is left.
func TestInstallation(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			w := newWorld(t)
			before, err := w.inventory()
			if err != nil {
				t.Fatal(err)
			}
			if err := way.install(w); err != nil {
				t.Fatal(err)
			}
			w.addCredentials()
			w.awaitCertificates()
			manager := w.startPod(t, files.program, loopback)
			w.ApplyFile(example)
			w.Eventually("the pool has its nodes", func() error { return errors.Join(w.settled(2), manager.running()) })
			w.log(t, "installed")
			if owned := w.owned(); len(owned) == 0 {
				t.Error("nothing in AWS has Slipway's name while there is a pool: that nothing is left would show nothing")
			}
			w.webhookAnswers()
			manager.stop()
			w.change(t, way.upgrade, nextImage, 3).stop()
			w.log(t, "upgraded")
			manager = w.change(t, way.downgrade, *releasedImage, 4)
			w.log(t, "downgraded")
			w.deletePools()
			manager.stop()
			if err := way.uninstall(w); err != nil {
				t.Fatal(err)
			}
			w.nothingLeft(before)
			t.Logf("uninstalled: the API server has the %d objects that it had before, and nothing in AWS is Slipway's", before.Len())
		})
	}
}

// change changes the installed release to the one with an image. It returns the manager once it has
// scaled the pool out to count nodes, including the previous nodes of the pool.
func (w *world) change(t *testing.T, change func(*world) error, image string, count int) *pod {
	t.Helper()
	nodes := w.running()
	if err := change(w); err != nil {
		t.Fatal(err)
	}
	if got := w.managerImage(); got != image {
		t.Errorf("the manager's image is %s, want %s", got, image)
	}
	w.awaitCertificates()
	manager := w.startPod(t, files.program, loopback)
	w.scale(count)
	w.Eventually(fmt.Sprintf("the pool has %d nodes", count), func() error { return errors.Join(w.settled(count), manager.running()) })
	for id := range nodes {
		if !w.running()[id] {
			t.Errorf("with image %s, instance %s is gone", image, id)
		}
	}
	w.webhookAnswers()
	return manager
}

// log writes what there is after a step to the output of the test.
func (w *world) log(t *testing.T, step string) {
	t.Helper()
	t.Logf("%s: image %s, instances %s, resources of Slipway's in AWS: %s", step, w.managerImage(),
		strings.Join(slices.Sorted(maps.Keys(w.running())), " "), strings.Join(slices.Sorted(slices.Values(w.owned())), ", "))
}

func (w *world) managerImage() string {
	w.Helper()
	deployment := &appsv1.Deployment{}
	w.get(deployment, namespace, "slipway-manager")
	return deployment.Spec.Template.Spec.Containers[0].Image
}

// webhookAnswers holds that the API server asks the manager's webhook, which refuses the approval of a
// version that does not exist.
func (w *world) webhookAnswers() {
	w.Helper()
	pool := &infrav1.AWSMachinePool{}
	w.get(pool, w.Namespace, poolName)
	approval := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"7"}}}`, infrav1.ApprovedVersionAnnotation))
	w.Eventually("the webhook refuses the approval of a version that does not exist", func() error {
		err := w.Client.Patch(w.Context(), pool, approval, client.DryRunAll)
		if (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "no version with this number") {
			return nil
		}
		return fmt.Errorf("the API server says %w", errors.Join(errors.New("no refusal"), err))
	})
}

func (w *world) clusterctl() (clusterctlclient.Client, clusterctlclient.Kubeconfig, error) {
	c, err := files.repository.Client(w.Context())
	return c, clusterctlclient.Kubeconfig{Path: w.Lab.Kubeconfig()}, err
}

// initialize runs `clusterctl init --infrastructure slipway`.
func (w *world) initialize() error {
	c, kubeconfig, err := w.clusterctl()
	if err != nil {
		return err
	}
	_, err = c.Init(w.Context(), clusterctlclient.InitOptions{Kubeconfig: kubeconfig, InfrastructureProviders: []string{"slipway"}})
	return err
}

// applyUpgrade runs `clusterctl upgrade apply --infrastructure slipway:VERSION`.
func (w *world) applyUpgrade() error {
	c, kubeconfig, err := w.clusterctl()
	if err != nil {
		return err
	}
	return c.ApplyUpgrade(w.Context(), clusterctlclient.ApplyUpgradeOptions{Kubeconfig: kubeconfig, InfrastructureProviders: []string{"slipway:" + nextVersion}})
}

// reinitialize runs `clusterctl delete --infrastructure slipway`, which keeps definitions and pools, and
// `clusterctl init --infrastructure slipway:VERSION`, because clusterctl upgrades to later versions only.
func (w *world) reinitialize() error {
	c, kubeconfig, err := w.clusterctl()
	if err != nil {
		return err
	}
	if err := c.Delete(w.Context(), clusterctlclient.DeleteOptions{Kubeconfig: kubeconfig, InfrastructureProviders: []string{"slipway"}}); err != nil {
		return err
	}
	_, err = c.Init(w.Context(), clusterctlclient.InitOptions{Kubeconfig: kubeconfig, InfrastructureProviders: []string{"slipway:" + clusterctl.SlipwayVersion}})
	return err
}

// uninitialize runs `clusterctl delete`, with the definitions and the namespace, and deletes the roles of
// the whole cluster, which clusterctl leaves.
func (w *world) uninitialize() error {
	c, kubeconfig, err := w.clusterctl()
	if err != nil {
		return err
	}
	if err := c.Delete(w.Context(), clusterctlclient.DeleteOptions{
		Kubeconfig: kubeconfig, InfrastructureProviders: []string{"slipway"}, IncludeCRDs: true, IncludeNamespace: true,
	}); err != nil {
		return err
	}
	_, err = kubectl.Delete(w.Context(), w.Lab.Kubeconfig(), "clusterrole,clusterrolebinding", "-l", provider)
	return err
}

func (w *world) helm() (*action.Configuration, error) {
	flags, kubeconfig, of := genericclioptions.NewConfigFlags(true), w.Lab.Kubeconfig(), namespace
	flags.KubeConfig, flags.Namespace = &kubeconfig, &of
	helm := action.NewConfiguration()
	return helm, helm.Init(flags, namespace, "secret")
}

// helmInstall runs `helm install` with the chart of the release and no values.
func (w *world) helmInstall() error { return w.helmInstallOf("slipway") }

// helmInstallOf installs a chart of the release under the chart's name.
func (w *world) helmInstallOf(name string) error {
	helm, err := w.helm()
	if err != nil {
		return err
	}
	chart, err := loader.LoadFile(filepath.Join(files.folder, release.ChartFile(name)))
	if err != nil {
		return err
	}
	install := action.NewInstall(helm)
	install.ReleaseName, install.Namespace, install.CreateNamespace, install.WaitStrategy = name, namespace, true, kube.HookOnlyStrategy
	_, err = install.RunWithContext(w.Context(), chart, nil)
	return err
}

// helmUpgrade runs `helm upgrade` with the chart of the next release.
func (w *world) helmUpgrade() error {
	helm, err := w.helm()
	if err != nil {
		return err
	}
	chart, err := loader.LoadFile(filepath.Join(files.next, release.ChartFile("slipway")))
	if err != nil {
		return err
	}
	upgrade := action.NewUpgrade(helm)
	upgrade.Namespace, upgrade.WaitStrategy = namespace, kube.HookOnlyStrategy
	_, err = upgrade.RunWithContext(w.Context(), "slipway", chart, nil)
	return err
}

// helmRollback runs `helm rollback slipway 1`.
func (w *world) helmRollback() error {
	helm, err := w.helm()
	if err != nil {
		return err
	}
	rollback := action.NewRollback(helm)
	rollback.Version, rollback.WaitStrategy = 1, kube.HookOnlyStrategy
	return rollback.Run("slipway")
}

// helmUninstall runs `helm uninstall`, and deletes what it keeps: definitions and the namespace.
func (w *world) helmUninstall() error { return w.helmUninstallOf("slipway", provider) }

// helmUninstallOf uninstalls a chart, and deletes the definitions with a label and the namespace.
func (w *world) helmUninstallOf(name, label string) error {
	helm, err := w.helm()
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(helm)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run(name); err != nil {
		return err
	}
	if _, err := kubectl.Delete(w.Context(), w.Lab.Kubeconfig(), "customresourcedefinition", "-l", label); err != nil {
		return err
	}
	_, err = kubectl.Delete(w.Context(), w.Lab.Kubeconfig(), "namespace", namespace)
	return err
}

func (w *world) kubectlApply(folder string) error {
	_, err := kubectl.Apply(w.Context(), w.Lab.Kubeconfig(), filepath.Join(folder, release.StandaloneFile), "--server-side", "--force-conflicts")
	return err
}

func (w *world) kubectlDelete() error {
	_, err := kubectl.Delete(w.Context(), w.Lab.Kubeconfig(), "-f", filepath.Join(files.next, release.StandaloneFile))
	return err
}
