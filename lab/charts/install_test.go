package charts_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/clusterctl"
	"github.com/slipway-project/slipway/lab/controlplane"
)

const (
	releaseName      = "nodes"
	releaseNamespace = "slipway-system"
)

// cluster is an API server that has nothing of Slipway, with Helm for it.
type cluster struct {
	*testing.T
	client.Client
	helm *action.Configuration
}

// newCluster starts an API server with cert-manager's kinds, as a management cluster has them.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	controlplane.LogTo(nil)
	plane, err := controlplane.Start(t.Context(), controlplane.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(plane.RESTConfig(), client.Options{Scheme: lab.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := clusterctl.InstallCertManager(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	content, err := plane.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	flags := genericclioptions.NewConfigFlags(true)
	namespace := releaseNamespace
	flags.KubeConfig, flags.Namespace = &path, &namespace
	helm := action.NewConfiguration()
	if err := helm.Init(flags, releaseNamespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return &cluster{T: t, Client: c, helm: helm}
}

func (c *cluster) install(chart *chartv2.Chart) {
	c.Helper()
	install := action.NewInstall(c.helm)
	install.ReleaseName, install.Namespace, install.CreateNamespace = releaseName, releaseNamespace, true
	install.WaitStrategy = kube.HookOnlyStrategy
	if _, err := install.RunWithContext(c.Context(), chart, nil); err != nil {
		c.Fatalf("helm install: %v", err)
	}
}

func (c *cluster) upgrade(chart *chartv2.Chart, values string) error {
	c.Helper()
	parsed := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &parsed); err != nil {
		c.Fatal(err)
	}
	upgrade := action.NewUpgrade(c.helm)
	upgrade.Namespace, upgrade.WaitStrategy = releaseNamespace, kube.HookOnlyStrategy
	_, err := upgrade.RunWithContext(c.Context(), releaseName, chart, parsed)
	return err
}

func (c *cluster) uninstall() {
	c.Helper()
	uninstall := action.NewUninstall(c.helm)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run(releaseName); err != nil {
		c.Fatalf("helm uninstall: %v", err)
	}
}

// present returns which of the objects that a chart renders to exist.
func (c *cluster) present(ctx context.Context, chart string) []string {
	c.Helper()
	var found []string
	rendered := objects(c.T, chart, "")
	for _, key := range slices.Sorted(maps.Keys(rendered)) {
		object := rendered[key]
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		if client.IgnoreNotFound(err) != nil {
			c.Fatal(err)
		}
		if !apierrors.IsNotFound(err) && object.GetDeletionTimestamp() == nil {
			found = append(found, key)
		}
	}
	return found
}

// previous returns the chart as a release before it could have been: one definition lacks its
// columns, and there is one replica.
func previous(t *testing.T, name, definition string) *chartv2.Chart {
	t.Helper()
	chart := load(t, name)
	chart.Values["replicas"] = 1
	changed := false
	for _, file := range chart.Files {
		if !strings.HasSuffix(file.Name, definition+".yaml") {
			continue
		}
		parsed := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(file.Data, parsed); err != nil {
			t.Fatal(err)
		}
		for i := range parsed.Spec.Versions {
			changed = changed || len(parsed.Spec.Versions[i].AdditionalPrinterColumns) > 0
			parsed.Spec.Versions[i].AdditionalPrinterColumns = nil
		}
		content, err := yaml.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		file.Data = content
	}
	if !changed {
		t.Fatalf("definition %s has no columns that an earlier one can lack", definition)
	}
	return chart
}

// columns returns how many columns kubectl shows of a kind, by the definition.
func (c *cluster) columns(definition string) (count int) {
	c.Helper()
	stored := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(c.Context(), client.ObjectKey{Name: definition}, stored); err != nil {
		c.Fatal(err)
	}
	for i := range stored.Spec.Versions {
		count += len(stored.Spec.Versions[i].AdditionalPrinterColumns)
	}
	return count
}

// TestReleases installs each chart, upgrades it with its definitions, refuses an upgrade whose
// values are wrong, and uninstalls it. The definitions stay, and with them the objects of users.
func TestReleases(t *testing.T) {
	c := newCluster(t)
	for _, row := range []struct{ chart, deployment, file, definition string }{
		{"slipway", "slipway-manager", "infrastructure.cluster.x-k8s.io_awsmachinepools", "awsmachinepools.infrastructure.cluster.x-k8s.io"},
		{"slipway-provisioner", "slipway-provisioner", "provisioning.karpenter.sh_provisioners", "provisioners.provisioning.karpenter.sh"},
	} {
		c.install(previous(t, row.chart, row.file))
		want := slices.Sorted(maps.Keys(objects(t, row.chart, "")))
		if diff := cmp.Diff(want, c.present(t.Context(), row.chart)); diff != "" {
			t.Errorf("%s: after helm install (-want +got):\n%s", row.chart, diff)
		}
		if columns := c.columns(row.definition); columns != 0 {
			t.Errorf("%s: the earlier definition has %d columns, want none", row.chart, columns)
		}
		if err := c.upgrade(load(t, row.chart), "replica: 3"); err == nil || !strings.Contains(err.Error(), "replica") {
			t.Errorf("%s: an upgrade with an unknown value: error %v", row.chart, err)
		}
		if err := c.upgrade(load(t, row.chart), "replicas: 3"); err != nil {
			t.Fatalf("%s: helm upgrade: %v", row.chart, err)
		}
		deployment := &appsv1.Deployment{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: releaseNamespace, Name: row.deployment}, deployment); err != nil || *deployment.Spec.Replicas != 3 {
			t.Errorf("%s: after helm upgrade %v replicas are wanted, want 3 (error %v)", row.chart, deployment.Spec.Replicas, err)
		}
		if columns := c.columns(row.definition); columns == 0 {
			t.Errorf("%s: helm upgrade did not upgrade the definition", row.chart)
		}
		c.uninstall()
		var definitions []string
		for _, key := range want {
			if strings.HasPrefix(key, "CustomResourceDefinition ") {
				definitions = append(definitions, key)
			}
		}
		if diff := cmp.Diff(definitions, c.present(t.Context(), row.chart)); diff != "" {
			t.Errorf("%s: after helm uninstall (-want +got):\n%s", row.chart, diff)
		}
	}
}
