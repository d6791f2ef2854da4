package crds

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-project/slipway/lab/crds/bundle"
)

func TestBundlesAreTheModules(t *testing.T) {
	t.Parallel()
	want, err := bundle.Build(bundle.ModuleDir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for name, compressed := range map[string][]byte{
		"cluster-api": clusterAPI, "cluster-api-provider-aws": clusterAPIProviderAWS, "cert-manager": certManager,
	} {
		if got[name], err = bundle.Decompress(compressed); err != nil {
			t.Fatal(err)
		}
	}
	for name := range want {
		if string(got[name]) != string(want[name]) {
			t.Errorf("bundle %q is not what the modules in go.mod carry; run `go generate ./crds` in lab/", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d bundles are embedded, %d are built", len(got), len(want))
	}
}

func TestClusterAPI(t *testing.T) {
	t.Parallel()
	set, err := ClusterAPI()
	if err != nil {
		t.Fatal(err)
	}
	set.ServeWebhooksAt("https://127.0.0.1:1", []byte("ca"))
	names := map[string]bool{}
	for _, definition := range set.Definitions {
		names[definition.Name] = true
		if definition.Name == "machinepools.cluster.x-k8s.io" {
			if diff := cmp.Diff("https://127.0.0.1:1/convert", *definition.Spec.Conversion.Webhook.ClientConfig.URL); diff != "" {
				t.Errorf("machine pools are converted elsewhere:\n%s", diff)
			}
		}
		if definition.Name == "kubeadmconfigs.bootstrap.cluster.x-k8s.io" && definition.Labels["cluster.x-k8s.io/v1beta2"] != "v1beta2" {
			t.Errorf("the contract of KubeadmConfig cannot be told from its labels %v", definition.Labels)
		}
	}
	for _, name := range []string{"clusters.cluster.x-k8s.io", "machinepools.cluster.x-k8s.io", "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io"} {
		if !names[name] {
			t.Errorf("definition %s is missing", name)
		}
	}
	for _, configuration := range set.Validating {
		for _, webhook := range configuration.Webhooks {
			if webhook.ClientConfig.URL == nil || !strings.HasPrefix(*webhook.ClientConfig.URL, "https://127.0.0.1:1/validate-") {
				t.Errorf("webhook %s is served elsewhere: %+v", webhook.Name, webhook.ClientConfig)
			}
		}
	}
}

func TestFromFiles(t *testing.T) {
	t.Parallel()
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n"
	for _, row := range []struct {
		reason string
		files  fstest.MapFS
		want   int
		fails  string
	}{
		{
			"definitions are found in every YAML document, below directories too, and kustomizations are passed over",
			fstest.MapFS{
				"bases/a.yaml":         {Data: []byte("---\n" + definition + "---\n" + definition)},
				"b.yml":                {Data: []byte(definition)},
				"kustomization.yaml":   {Data: []byte("resources: []")},
				"kustomizeconfig.yaml": {Data: []byte("nameReference: []")},
				"OWNERS":               {Data: []byte("approvers: []")},
			}, 3, "",
		},
		{"a directory of something else is refused", fstest.MapFS{"pod.yaml": {Data: []byte("kind: Pod")}}, 0, `kind "Pod"`},
		{"an empty directory is refused", fstest.MapFS{}, 0, "no CustomResourceDefinition"},
	} {
		set, err := FromFiles(row.files)
		if row.fails != "" {
			if err == nil || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: got %v", row.reason, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		if len(set.Definitions) != row.want {
			t.Errorf("%s: got %d definitions, want %d", row.reason, len(set.Definitions), row.want)
		}
	}
}

func TestFromFilesLabelsProviders(t *testing.T) {
	t.Parallel()
	definition := func(group, label string) string {
		return "kind: CustomResourceDefinition\nmetadata:\n  name: things." + group + "\n  labels: {" + label + "}\n" +
			"spec:\n  group: " + group + "\n  versions: [{name: v1beta1}, {name: v1beta2}]\n"
	}
	for _, row := range []struct {
		reason, group, label string
		want                 map[string]string
	}{
		{
			"a provider's bare definition gets the contract that its kustomization would give it",
			"infrastructure.cluster.x-k8s.io", "", map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1_v1beta2"},
		},
		{
			"one that has a contract keeps it",
			"infrastructure.cluster.x-k8s.io", "cluster.x-k8s.io/v1beta2: v1beta2", map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2"},
		},
		{"others are left alone", "example.com", "", nil},
	} {
		set, err := FromFiles(fstest.MapFS{"a.yaml": {Data: []byte(definition(row.group, row.label))}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, set.Definitions[0].Labels, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
	}
}
