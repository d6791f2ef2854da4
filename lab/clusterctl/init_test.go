package clusterctl

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	capafeature "sigs.k8s.io/cluster-api-provider-aws/v2/feature"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	clusterctlclient "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/controlplane"
	"github.com/slipway-project/slipway/lab/crds/bundle"
)

// TestInit initializes a management cluster from nothing, as a user does: Cluster API, Cluster API
// Provider AWS without its pools, and Slipway; and removes Slipway again. The order of the two does
// not matter: TestBesideClusterAPIProviderAWS holds that they share no object. It runs before the
// other tests, because there is one log of API servers in a process, which belongs to the
// laboratory afterwards.
func TestInit(t *testing.T) {
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
	if err := InstallCertManager(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	kubeconfig := clusterctlclient.Kubeconfig{Path: kubeconfigFile(t, plane)}
	initialize := func(provider string) {
		t.Helper()
		certManagerTested(t, c)
		options := clusterctlclient.InitOptions{Kubeconfig: kubeconfig, InfrastructureProviders: []string{provider}}
		if _, err := clusterctl(t).Init(t.Context(), options); err != nil {
			t.Fatalf("clusterctl init --infrastructure %s: %v", provider, err)
		}
	}
	initialize("aws")
	initialize(slipway)
	installed(t, c, "slipway-system", componentsOf(t, slipway))
	installed(t, c, "capa-system", componentsOf(t, "aws"))
	inventory(t, c)
	initialize(slipway) // again, which changes nothing

	if err := clusterctl(t).Delete(t.Context(), clusterctlclient.DeleteOptions{Kubeconfig: kubeconfig, InfrastructureProviders: []string{slipway}}); err != nil {
		t.Fatalf("clusterctl delete --infrastructure slipway: %v", err)
	}
	stayed(t, c)
	initialize(slipway)
	installed(t, c, "slipway-system", componentsOf(t, slipway))
}

// certManagerTested waits until the objects that clusterctl created to try cert-manager are gone.
// clusterctl does not wait for that, and would wait ten minutes for them on the next call.
func certManagerTested(t *testing.T, c client.Client) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := c.Get(t.Context(), client.ObjectKey{Name: "cert-manager-test"}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the namespace that clusterctl made to try cert-manager is still there: %v", err)
		}
	}
}

// keptByDelete are the kinds that clusterctl delete leaves of every provider: definitions, which
// may have objects of users, the namespace, and the roles of the whole cluster, whose names it
// takes for another's if they do not begin with the namespace's.
var keptByDelete = sets.New("CustomResourceDefinition", "Namespace", "ClusterRole", "ClusterRoleBinding")

// stayed holds that clusterctl delete takes Slipway, but for what it leaves of every provider, and
// nothing of Cluster API Provider AWS.
func stayed(t *testing.T, c client.Client) {
	t.Helper()
	for _, object := range componentsOf(t, slipway) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(&object), object.DeepCopy())
		if kept := keptByDelete.Has(object.GetKind()); kept && err != nil || !kept && !apierrors.IsNotFound(err) {
			t.Errorf("after clusterctl delete, reading %s ends with %v; it is to stay: %t", describe(&object), err, kept)
		}
	}
	installed(t, c, "capa-system", componentsOf(t, "aws"))
}

// TestVersions holds that the releases are called what go.mod has.
func TestVersions(t *testing.T) {
	t.Parallel()
	for module, version := range map[string]string{bundle.ClusterAPI: ClusterAPIVersion, bundle.ClusterAPIProviderAWS: ClusterAPIProviderVersion} {
		directory, err := bundle.ModuleDir(module)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(directory, "@"+version) {
			t.Errorf("go.mod has %s, not %s", directory, version)
		}
	}
}

// componentsOf returns the objects that clusterctl derives from a provider's components.
func componentsOf(t *testing.T, provider string) []unstructured.Unstructured {
	t.Helper()
	components, err := clusterctl(t).GetProviderComponents(t.Context(), provider, clusterctlv1.InfrastructureProviderType, clusterctlclient.ComponentsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return components.Objs()
}

// installed holds that a management cluster has each of the objects, and that they are marked as a
// provider's.
func installed(t *testing.T, c client.Client, namespace string, objects []unstructured.Unstructured) {
	t.Helper()
	for i := range objects {
		object := objects[i].DeepCopy()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Errorf("%s is not there: %v", describe(&objects[i]), err)
			continue
		}
		if at := object.GetNamespace(); at != "" && at != namespace {
			t.Errorf("%s is in namespace %q", describe(object), at)
		}
		if _, marked := object.GetLabels()[clusterctlv1.ClusterctlLabel]; !marked {
			t.Errorf("%s is not clusterctl's: %v", describe(object), object.GetLabels())
		}
	}
}

func describe(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// inventory holds that clusterctl knows all providers by their names, kinds and versions.
func inventory(t *testing.T, c client.Client) {
	t.Helper()
	var list unstructured.UnstructuredList
	list.SetAPIVersion(clusterctlv1.GroupVersion.String())
	list.SetKind("ProviderList")
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range list.Items {
		version, _, _ := unstructured.NestedString(item.Object, "version")
		got = append(got, item.GetNamespace()+"/"+item.GetName()+" "+version)
	}
	slices.Sort(got)
	want := []string{
		"capa-system/infrastructure-aws " + ClusterAPIProviderVersion, "capi-kubeadm-bootstrap-system/bootstrap-kubeadm " + ClusterAPIVersion,
		"capi-kubeadm-control-plane-system/control-plane-kubeadm " + ClusterAPIVersion, "capi-system/cluster-api " + ClusterAPIVersion,
		"slipway-system/infrastructure-slipway " + SlipwayVersion,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the inventory (-want +got):\n%s", diff)
	}
}

// TestBesideClusterAPIProviderAWS holds what the component takes from the released components, and
// that nothing is in both providers.
func TestBesideClusterAPIProviderAWS(t *testing.T) {
	t.Parallel()
	release := filepath.Join(filepath.Dir(repository(t).Config), "infrastructure-aws", ClusterAPIProviderVersion)
	released, kept := parse(t, filepath.Join(release, releasedFile)), parse(t, filepath.Join(release, "infrastructure-components.yaml"))
	pools := []string{"awsmachinepools.infrastructure.cluster.x-k8s.io", "awsmanagedmachinepools.infrastructure.cluster.x-k8s.io"}
	for _, pool := range pools {
		delete(released, "CustomResourceDefinition "+pool)
	}
	webhooks := map[string]int{}
	for _, kind := range []string{"MutatingWebhookConfiguration capa-mutating-webhook-configuration", "ValidatingWebhookConfiguration capa-validating-webhook-configuration"} {
		before := withoutPools(t, released[kind])
		if diff := cmp.Diff(before, kept[kind].Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
		list, _, _ := unstructured.NestedSlice(kept[kind].Object, "webhooks")
		webhooks[kind] = len(list)
		delete(released, kind)
		delete(kept, kind)
	}
	for kind, left := range webhooks {
		if left == 0 {
			t.Errorf("%s has no webhook left", kind)
		}
	}
	const manager = "Deployment capa-controller-manager"
	noPools(t, kept[manager])
	arguments, _, err := unstructured.NestedSlice(released[manager].Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	container := arguments[0].(map[string]any)
	container["args"] = append(container["args"].([]any), "--feature-gates=MachinePool=false,MachinePoolMachines=false")
	if err := unstructured.SetNestedSlice(released[manager].Object, arguments, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(released, kept); diff != "" {
		t.Errorf("the component changes more than pools (-want +got):\n%s", diff)
	}

	own := sets.New[string]()
	for _, object := range componentsOf(t, slipway) {
		own.Insert(describe(&object))
	}
	for _, object := range componentsOf(t, "aws") {
		if own.Has(describe(&object)) {
			t.Errorf("%s is in both providers", describe(&object))
		}
	}
	for _, pool := range pools {
		if !own.Has("CustomResourceDefinition " + pool) {
			t.Errorf("Slipway does not bring %s", pool)
		}
	}
}

// parse reads the objects of a file, by kind and name.
func parse(t *testing.T, path string) map[string]*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		objects[describe(object)] = object
	}
}

// withoutPools is a webhook configuration without the webhooks of the two kinds.
func withoutPools(t *testing.T, configuration *unstructured.Unstructured) map[string]any {
	t.Helper()
	left := configuration.DeepCopy()
	webhooks, _, err := unstructured.NestedSlice(left.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	before := len(webhooks)
	webhooks = slices.DeleteFunc(webhooks, func(webhook any) bool {
		name := webhook.(map[string]any)["name"].(string)
		return strings.Contains(name, ".awsmachinepool.") || strings.Contains(name, ".awsmanagedmachinepool.")
	})
	if len(webhooks) != before-2 {
		t.Errorf("%s had %d webhooks of pools, want 2: Cluster API Provider AWS names them otherwise", describe(configuration), before-len(webhooks))
	}
	if err := unstructured.SetNestedSlice(left.Object, webhooks, "webhooks"); err != nil {
		t.Fatal(err)
	}
	return left.Object
}

// noPools holds that the manager of Cluster API Provider AWS, with the arguments that it is given,
// runs no controller of pools.
func noPools(t *testing.T, deployment *unstructured.Unstructured) {
	t.Helper()
	rendered := componentsOf(t, "aws")
	at := slices.IndexFunc(rendered, func(object unstructured.Unstructured) bool { return describe(&object) == describe(deployment) })
	var typed appsv1.Deployment
	content, err := rendered[at].MarshalJSON()
	if err == nil {
		err = yaml.Unmarshal(content, &typed)
	}
	if err != nil {
		t.Fatal(err)
	}
	gates := capafeature.MutableGates.DeepCopy()
	for _, argument := range typed.Spec.Template.Spec.Containers[0].Args {
		if value, found := strings.CutPrefix(argument, "--feature-gates="); found {
			if err := gates.Set(value); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(value, "EKS=") && !gates.Enabled(capafeature.MachinePool) {
				t.Error("EXP_MACHINE_POOL is set, and does nothing by itself: the test shows nothing")
			}
		}
	}
	if gates.Enabled(capafeature.MachinePool) || gates.Enabled(capafeature.MachinePoolMachines) {
		t.Errorf("pools are not off: arguments are %q", typed.Spec.Template.Spec.Containers[0].Args)
	}
}
