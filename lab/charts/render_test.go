// Package charts_test holds the Helm charts by Helm's own libraries: what they render, what values
// they refuse, and that they install, upgrade and uninstall on a real API server.
package charts_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// charts are the names of the charts.
var charts = []string{"slipway", "slipway-provisioner"}

func directory(chart string) string { return filepath.Join("..", "..", "charts", chart) }

func load(t *testing.T, name string) *chartv2.Chart {
	t.Helper()
	chart, err := loader.LoadDir(directory(name))
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

// render returns the manifests that a chart renders to, by the path of their template.
func render(t *testing.T, name, values string) (map[string]string, error) {
	t.Helper()
	parsed := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &parsed); err != nil {
		t.Fatal(err)
	}
	chart := load(t, name)
	options := common.ReleaseOptions{Name: "nodes", Namespace: "slipway-system", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, parsed, options, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// objects returns the rendered objects by kind and name.
func objects(t *testing.T, name, values string) map[string]*unstructured.Unstructured {
	t.Helper()
	manifests, err := render(t, name, values)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for path, manifest := range manifests {
		if !strings.HasSuffix(path, ".yaml") {
			continue
		}
		maps.Copy(found, parsed(t, path, manifest))
	}
	return found
}

// parsed returns the objects of a manifest by kind and name. From says where the manifest is from.
func parsed(t *testing.T, from, manifest string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%s: %v\n%s", from, err, document)
		}
		if len(object.Object) > 0 {
			found[object.GetKind()+" "+object.GetName()] = object
		}
	}
	return found
}

// everything has values that turn on what is off by default.
const everything = `
image: {repository: registry.example.com/slipway, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
imagePullSecrets: [{name: pull}]
aws: {roleARN: "arn:aws:iam::123456789012:role/slipway", region: eu-west-1, credentialsSecret: ""}
extraArgs: [--concurrency=10]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy.example.com:3128"}]
logLevel: 1
metrics:
  serviceMonitor: {enabled: true, labels: {release: prometheus}}
  prometheusRule: {enabled: true}
  dashboard: {enabled: true}
  kubeStateMetrics: {enabled: true, namespace: monitoring, serviceAccount: prometheus-kube-state-metrics}
networkPolicy: {metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
nodeSelector: {role: system}
podAnnotations: {example.com/a: b}
podLabels: {team: platform}
`

// managersOwn has values that only the manager's chart has.
const managersOwn = `
watchNamespace: team
watchFilter: blue
dashboard: {enabled: true}
webhook: {certificate: provided, secretName: certificate, caBundle: Q0E=}
rolloutApproval: {enabled: true}
`

// TestGolden holds what the charts render to, but for definitions, roles and the data of ConfigMaps,
// which are files of config/.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ chart, file, values string }{
		{"slipway", "slipway-default.yaml", ""},
		{"slipway", "slipway-everything.yaml", everything + managersOwn},
		{"slipway", "slipway-self-managed.yaml", "webhook: {certificate: self-managed}"},
		{"slipway-provisioner", "slipway-provisioner-default.yaml", ""},
		{"slipway-provisioner", "slipway-provisioner-everything.yaml", everything},
	} {
		found := objects(t, row.chart, row.values)
		var text strings.Builder
		for _, key := range slices.Sorted(maps.Keys(found)) {
			object := found[key]
			switch object.GetKind() {
			case "CustomResourceDefinition":
				continue
			case "ConfigMap":
				object.Object["data"] = "a file of config"
			case "ClusterRole":
				if object.GetName() == "slipway-manager" || object.GetName() == "slipway-provisioner" {
					object.Object["rules"] = "those of config"
				}
			}
			content, err := yaml.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString("---\n" + string(content))
		}
		path := filepath.Join("testdata", row.file)
		if *update {
			if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(golden), text.String()); diff != "" {
			t.Errorf("%s, which -update writes (-want +got):\n%s", row.file, diff)
		}
	}
}

// TestKubeStateMetrics holds that a ConfigMap has the configuration in config/, and that the
// ServiceAccount of kube-state-metrics gets the permissions in config/.
func TestKubeStateMetrics(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ chart, name, directory string }{
		{"slipway", "slipway-manager", "kube-state-metrics"},
		{"slipway-provisioner", "slipway-provisioner", "provisioner/kube-state-metrics"},
	} {
		found := objects(t, row.chart, "metrics: {kubeStateMetrics: {enabled: true}}")
		want := map[string]any{"custom-resource-state.yaml": configFile(t, row.directory, "custom-resource-state.yaml")}
		configMap := found["ConfigMap "+row.name+"-custom-resource-state"]
		if configMap == nil {
			t.Fatalf("%s renders no ConfigMap", row.chart)
		}
		if diff := cmp.Diff(want, configMap.Object["data"]); diff != "" || configMap.GetNamespace() != "slipway-system" {
			t.Errorf("%s: the ConfigMap in namespace %q differs from config/ (-want +got):\n%s", row.chart, configMap.GetNamespace(), diff)
		}
		var role map[string]any
		if err := yaml.Unmarshal([]byte(configFile(t, row.directory, "role.yaml")), &role); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(role["rules"], found["ClusterRole "+row.name+"-kube-state-metrics"].Object["rules"]); diff != "" {
			t.Errorf("%s: the ClusterRole differs from config/ (-want +got):\n%s", row.chart, diff)
		}
	}
}

// configFile returns the content of a file of config/.
func configFile(t *testing.T, directory, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", directory, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestLint holds that Helm's linter has nothing to say, with the default values and with all.
func TestLint(t *testing.T) {
	t.Parallel()
	for _, name := range charts {
		for _, values := range []string{"", everything} {
			parsed := map[string]any{}
			if err := yaml.Unmarshal([]byte(values), &parsed); err != nil {
				t.Fatal(err)
			}
			for _, message := range lint.RunAll(directory(name), parsed, "slipway-system").Messages {
				if message.Severity > support.InfoSev {
					t.Errorf("%s: %v", name, message)
				}
			}
		}
	}
}

// TestNotes holds that the notes after an installation name what exists, whatever the values are.
func TestNotes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, values, has, hasNot string }{
		{"no credentials", "", "create Secret slipway-aws-credentials with", ""},
		{"neither credentials nor a Secret for them", "aws: {credentialsSecret: ''}", "set aws.roleARN", "Secret"},
		{"a role", "aws: {roleARN: 'arn:aws:iam::123456789012:role/slipway'}", "rollout status", "No IAM role"},
		{"another name", "fullnameOverride: blue", "deployment/blue", "slipway-manager"},
		{"definitions that are deleted", "crds: {keep: false}", "rollout status", "keeps the custom resource definitions"},
	} {
		manifests, err := render(t, "slipway", row.values)
		if err != nil {
			t.Fatal(err)
		}
		notes := manifests["slipway/templates/NOTES.txt"]
		if !strings.Contains(notes, row.has) || row.hasNot != "" && strings.Contains(notes, row.hasNot) {
			t.Errorf("%s: want the notes with %q and without %q:\n%s", row.reason, row.has, row.hasNot, notes)
		}
	}
}

// TestRefusedValues holds that a mistake in values is an error before anything is installed.
func TestRefusedValues(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, chart, values, says string }{
		{"an unknown value", "slipway", "replica: 3", "replica"},
		{"an unknown value within another", "slipway", "metrics: {serviceMonitor: {enable: true}}", "enable"},
		{"a number of replicas that is text", "slipway", "replicas: many", "replicas"},
		{"a role that is no ARN", "slipway", "aws: {roleARN: admin}", "roleARN"},
		{"a namespace of kube-state-metrics that is none", "slipway", "metrics: {kubeStateMetrics: {enabled: true, namespace: Monitoring_1}}", "namespace"},
		{"an argument that is no flag", "slipway", "extraArgs: [concurrency]", "extraArgs"},
		{"a digest without its algorithm", "slipway-provisioner", "image: {digest: 0123}", "digest"},
		{"a namespace for the provisioner, which has all pods", "slipway-provisioner", "watchNamespace: team", "watchNamespace"},
		{"no certificate for the webhook", "slipway", "webhook: {certificate: provided, caBundle: Q0E=}", "webhook.secretName is required"},
		{"a name of the chart, which no name contains", "slipway", "nameOverride: pools", "nameOverride"},
		{"another namespace than the release's", "slipway", "namespaceOverride: pools", "namespaceOverride"},
		{"a name that leaves no room for those of Services", "slipway", "fullnameOverride: a234567890-234567890-234567890-234567890-234567890-234", "fullnameOverride"},
		{"a name that Services cannot have", "slipway", "fullnameOverride: 1slipway", "fullnameOverride"},
		{"a tag within the repository", "slipway", "image: {repository: 'registry.example.com/slipway:v1'}", "repository"},
		{"a tag that is a number", "slipway", "image: {tag: 1}", "tag"},
		{"an argument and its value in one", "slipway", "extraArgs: ['--concurrency 10']", "extraArgs"},
		{"an argument and its value in two", "slipway", "extraArgs: [--concurrency, '10']", "extraArgs"},
		{"an address that probes need", "slipway", "extraArgs: ['--health-addr=:80']", "extraArgs has --health-addr, which other objects of the chart depend on: it cannot be changed"},
		{"two leaders", "slipway-provisioner", "extraArgs: [--leader-elect=false]", "extraArgs has --leader-elect, which"},
		{"a lease by an argument", "slipway", "extraArgs: [--leader-election-id=blue]", "use the value leaderElection.id"},
		{"a lease that is a path", "slipway", "leaderElection: {id: slipway-system/blue}", "leaderElection"},
		{"a lease with capitals", "slipway-provisioner", "leaderElection: {id: Blue}", "leaderElection"},
		{"an address that Services lead to", "slipway-provisioner", "extraArgs: ['--diagnostics-address=:80']", "use the value metrics.port"},
		{"a namespace that webhooks do not know", "slipway", "extraArgs: [--namespace=team]", "use the value watchNamespace"},
		{"a namespace for the provisioner by an argument", "slipway-provisioner", "extraArgs: [--namespace=team]", "extraArgs has --namespace, which only the manager has: remove it"},
		{"a webhook of the provisioner", "slipway-provisioner", "extraArgs: [--webhook-port=9443]", "extraArgs has --webhook-port, which only the manager has: remove it"},
		{"several namespaces", "slipway", "watchNamespace: 'a,b'", "watchNamespace"},
		{"namespaces that are a list", "slipway", "watchNamespaces: [a, b]", "watchNamespaces"},
		{"an existing ServiceAccount without the role", "slipway", "{serviceAccount: {create: false, name: mine}, aws: {roleARN: 'arn:aws:iam::123456789012:role/slipway'}}", "set the annotation eks.amazonaws.com/role-arn of the existing ServiceAccount"},
		{"annotations of an existing ServiceAccount", "slipway", "serviceAccount: {create: false, name: mine, annotations: {a: b}}", "serviceAccount.annotations needs serviceAccount.create"},
		{"a label that selects pods", "slipway", "podLabels: {app.kubernetes.io/name: mine}", "podLabels has the label app.kubernetes.io/name, by which the chart selects its pods"},
		{"a label that is no text", "slipway", "podLabels: {istio-injection: true}", "istio-injection"},
		{"a volume without a name", "slipway", "extraVolumes: [{emptyDir: {}}]", "extraVolumes"},
		{"a mount without a path", "slipway", "extraVolumeMounts: [{name: a}]", "mountPath"},
		{"no eviction, ever", "slipway", "podDisruptionBudget: {maxUnavailable: 0}", "maxUnavailable"},
		{"no eviction, in percent", "slipway", "podDisruptionBudget: {maxUnavailable: 0%}", "maxUnavailable"},
		{"a network that is no peer", "slipway", "networkPolicy: {metricsFrom: [{cidr: 10.0.0.0/8}]}", "cidr"},
		{"a peer that is none", "slipway", "networkPolicy: {metricsFrom: [{}]}", "metricsFrom"},
		{"one port for two", "slipway", "{metrics: {port: 9443}}", "which is the port of metrics.port: choose another port"},
		{"the port of the health checks", "slipway-provisioner", "{metrics: {port: 9440}}", "metrics.port is 9440, which is the port of the health checks"},
		{"nothing to monitor", "slipway", "metrics: {enabled: false, serviceMonitor: {enabled: true}}", "metrics.serviceMonitor.enabled needs metrics.enabled"},
		{"nothing to alert on", "slipway-provisioner", "metrics: {enabled: false, prometheusRule: {enabled: true}}", "metrics.prometheusRule.enabled needs metrics.enabled"},
		{"no metrics at all", "slipway", "metrics: null", "metrics"},
		{"no port", "slipway", "metrics: {port: null}", "port"},
		{"no webhook at all", "slipway", "webhook: null", "webhook"},
		{"no decision about definitions", "slipway", "crds: {keep: null}", "keep"},
		{"an authority that is not encoded", "slipway", "webhook: {certificate: provided, secretName: a, caBundle: '-----BEGIN CERTIFICATE-----'}", "caBundle"},
		{"a region that is a zone", "slipway", "aws: {region: us-east-1a}", "region"},
		{"a certificate from nowhere", "slipway", "webhook: {certificate: none}", "certificate"},
		{"no authority of the webhook's certificate", "slipway", "webhook: {certificate: provided, secretName: certificate}", "webhook.caBundle is required"},
	} {
		if _, err := render(t, row.chart, row.values); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: the error is %v, want one with %q", row.reason, err, row.says)
		}
	}
}
