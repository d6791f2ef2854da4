package release_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/clusterctl"
	"github.com/slipway-project/slipway/lab/controlplane"
	"github.com/slipway-project/slipway/lab/kubectl"
	"github.com/slipway-project/slipway/lab/release"
)

// emptyCluster is an API server with nothing in it.
type emptyCluster struct {
	*testing.T
	client.Client
	kubeconfig string
}

func newEmptyCluster(t *testing.T) *emptyCluster {
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
	content, err := plane.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return &emptyCluster{T: t, Client: c, kubeconfig: path}
}

// apply runs `kubectl apply -f` with a file, and returns what it prints.
func (c *emptyCluster) apply(path string, flags ...string) string {
	c.Helper()
	out, err := kubectl.Apply(c.Context(), c.kubeconfig, path, flags...)
	if err != nil {
		c.Fatal(err)
	}
	return out
}

// holds fails if an object of a file does not exist.
func (c *emptyCluster) holds(path string) {
	c.Helper()
	objects, err := utilyaml.ToUnstructured([]byte(contentOf(c.T, path)))
	if err != nil {
		c.Fatal(err)
	}
	for i := range objects {
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(objects[i].GroupVersionKind())
		if err := c.Get(c.Context(), client.ObjectKeyFromObject(&objects[i]), stored); err != nil {
			c.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// fillIn replaces a file by what clusterctl makes of its variables, and returns their names.
func fillIn(t *testing.T, path string, environment map[string]string) []string {
	t.Helper()
	processor := yamlprocessor.NewSimpleProcessor()
	content := []byte(contentOf(t, path))
	variables, err := processor.GetVariables(content)
	if err != nil {
		t.Fatal(err)
	}
	content, err = processor.Process(content, func(name string) (string, error) {
		if value, set := environment[name]; set {
			return value, nil
		}
		return "", fmt.Errorf("%s is not set", name)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return variables
}

// TestKubectlApply applies the files of a release to an API server with nothing in it, in one go,
// and again, client-side and server-side. The components for clusterctl come last: they need the
// kinds of cert-manager, which clusterctl brings.
func TestKubectlApply(t *testing.T) {
	directory := t.TempDir()
	if err := release.Write("../..", directory, "registry.example.com/slipway:v1.2.3"); err != nil {
		t.Fatal(err)
	}
	components := filepath.Join(directory, release.ComponentsFile)
	if variables := fillIn(t, components, nil); len(variables) != 3 {
		t.Errorf("clusterctl knows variables %q, want 3", variables)
	}
	for _, flags := range [][]string{{"--server-side"}, nil} {
		c := newEmptyCluster(t)
		for _, name := range []string{
			release.StandaloneFile, release.ProvisionerFile, release.KubeStateMetricsFile, release.ProvisionerKubeStateMetricsFile, release.ApprovalFile,
		} {
			path := filepath.Join(directory, name)
			c.apply(path, flags...)
			c.holds(path)
		}
		c.apply(filepath.Join(directory, release.ProvisionerFile), flags...)
		if err := clusterctl.InstallCertManager(t.Context(), c.Client); err != nil {
			t.Fatal(err)
		}
		c.apply(components, flags...)
		c.holds(components)
	}
}

// TestOrder holds that the Namespace and the definitions come first in each file, that the files for
// kubectl have no variables and do not need cert-manager, and that each has the image of the release.
func TestOrder(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := release.Write("../..", directory, "registry.example.com/slipway:v1.2.3"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{release.ComponentsFile, release.StandaloneFile, release.ProvisionerFile} {
		content := contentOf(t, filepath.Join(directory, name))
		if name != release.ComponentsFile && (strings.Contains(content, "${") || strings.Contains(content, "cert-manager.io")) {
			t.Errorf("%s has variables or needs cert-manager", name)
		}
		if !strings.Contains(content, "image: registry.example.com/slipway:v1.2.3") {
			t.Errorf("%s does not have the image of the release", name)
		}
		objects, err := utilyaml.ToUnstructured([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		first := true
		for i := range objects {
			definition := objects[i].GetKind() == "CustomResourceDefinition" || objects[i].GetKind() == "Namespace"
			if definition && !first {
				t.Errorf("%s: %s %s comes after what may need it", name, objects[i].GetKind(), objects[i].GetName())
			}
			first = definition
		}
	}
}

// TestVariables holds that what a user sets for clusterctl reaches the objects.
func TestVariables(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := release.Write("../..", directory, "registry.example.com/slipway:v1.2.3"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, release.ComponentsFile)
	role := "arn:aws:iam::123456789012:role/slipway-manager"
	fillIn(t, path, map[string]string{
		"SLIPWAY_AWS_ROLE_ARN": role, "SLIPWAY_LOG_LEVEL": "4", "SLIPWAY_MACHINE_POOL_MACHINES": "true",
	})
	objects, err := utilyaml.ToUnstructured([]byte(contentOf(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	var found corev1.ServiceAccount
	for i := range objects {
		if objects[i].GetKind() == "ServiceAccount" {
			found.Annotations = objects[i].GetAnnotations()
		}
	}
	if got := found.Annotations["eks.amazonaws.com/role-arn"]; got != role {
		t.Errorf("the service account has role %q", got)
	}
	for _, argument := range []string{"--v=4", "--machine-pool-machines=true"} {
		if !strings.Contains(contentOf(t, path), "- "+argument+"\n") {
			t.Errorf("the manager has no argument %s", argument)
		}
	}
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
