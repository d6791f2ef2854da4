package charts_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	theDeployment     = "Deployment slipway-manager"
	theBlueDeployment = "Deployment blue"
	template          = "{.spec.template.spec"
)

// practiced has values that users set in practice, and what must follow from them: a path of an object,
// and its value. The value of an object that must not exist is "absent".
var practiced = []struct{ reason, chart, values, object, path, want string }{
	{"secrets to pull the image with", "slipway", "imagePullSecrets: [{name: pull}]", theDeployment, template + ".imagePullSecrets[*].name}", "pull"},
	{"an image of a registry with a port", "slipway", "image: {repository: 'registry.local:5000/team/slipway', tag: v0.1.0-rc.1}", theDeployment, template + ".containers[0].image}", "registry.local:5000/team/slipway:v0.1.0-rc.1"},
	{"a node selector", "slipway", "nodeSelector: {kubernetes.io/arch: arm64}", theDeployment, template + ".nodeSelector}", `{"kubernetes.io/arch":"arm64"}`},
	{"no tolerations", "slipway", "tolerations: []", theDeployment, template + ".tolerations}", ""},
	{"affinity", "slipway", "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname}}]}}",
		theDeployment, template + ".affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[*].podAffinityTerm.topologyKey}", "kubernetes.io/hostname"},
	{"an argument without a value", "slipway", "extraArgs: [--machine-pool-machines, --kube-api-qps=50]", theDeployment, template + ".containers[0].args[-2:]}", "--machine-pool-machines --kube-api-qps=50"},
	{"a variable that the chart sets too", "slipway", "{aws: {region: eu-west-1}, extraEnv: [{name: AWS_REGION, value: us-west-2}, {name: GOMEMLIMIT, value: 1GiB}]}",
		theDeployment, template + ".containers[0].env[*]['name','value']}", "AWS_REGION GOMEMLIMIT us-west-2 1GiB"},
	{"a region of the European Sovereign Cloud", "slipway", "aws: {region: eusc-de-east-1}", theDeployment, template + ".containers[0].env[1].value}", "eusc-de-east-1"},
	{"no limit of Go's memory", "slipway", "goMemoryLimit: ''", theDeployment, template + ".containers[0].env[0].value}", "off"},
	{"the certificates of a proxy, beside the webhook's", "slipway", "{extraVolumes: [{name: proxy, configMap: {name: proxy}}], extraVolumeMounts: [{name: proxy, mountPath: /etc/proxy, readOnly: true}]}",
		theDeployment, template + ".containers[0].volumeMounts[*].mountPath}", "/etc/slipway/webhook-certificate /etc/proxy"},
	{"a volume without a webhook", "slipway", "{webhook: {enabled: false}, extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /a}]}",
		theDeployment, template + ".volumes[*].name}", "a"},
	{"a volume of the provisioner", "slipway-provisioner", "{extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /a}]}",
		"Deployment slipway-provisioner", template + ".containers[0].volumeMounts[*].mountPath}", "/a"},
	{"an annotation that the chart sets too", "slipway", "podAnnotations: {kubectl.kubernetes.io/default-container: proxy, a: b}",
		theDeployment, "{.spec.template.metadata.annotations}", `{"a":"b","kubectl.kubernetes.io/default-container":"proxy"}`},
	{"a label that the chart sets too", "slipway", "podLabels: {app.kubernetes.io/part-of: platform}", theDeployment, `{.spec.template.metadata.labels.app\.kubernetes\.io/part-of}`, "platform"},
	{"a label of the ServiceMonitor that the chart sets too", "slipway", "metrics: {serviceMonitor: {enabled: true, labels: {app.kubernetes.io/part-of: platform}}}",
		"ServiceMonitor slipway-manager", `{.metadata.labels.app\.kubernetes\.io/part-of}`, "platform"},
	{"labels of metrics that the Prometheus Operator sets too", "slipway", "metrics: {serviceMonitor: {enabled: true}}", "ServiceMonitor slipway-manager", "{.spec.endpoints[*].honorLabels}", "true"},
	{"metrics without TLS", "slipway", "{extraArgs: [--insecure-diagnostics], metrics: {serviceMonitor: {enabled: true}}}", "ServiceMonitor slipway-manager", "{.spec.endpoints[*]['scheme','bearerTokenFile','tlsConfig']}", "http"},
	{"metrics with TLS, said explicitly", "slipway-provisioner", "{extraArgs: [--insecure-diagnostics=false], metrics: {serviceMonitor: {enabled: true}}}", "ServiceMonitor slipway-provisioner", "{.spec.endpoints[*].scheme}", "https"},
	{"replicas that all fail, whose nodes can be drained", "slipway", "", "PodDisruptionBudget slipway-manager", "{.spec.unhealthyPodEvictionPolicy}", "AlwaysAllow"},
	{"a spread with a selector of its own", "slipway", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]",
		theDeployment, template + ".topologySpreadConstraints[0].labelSelector}", `{"matchLabels":{"a":"b"}}`},
	{"an existing ServiceAccount", "slipway", "serviceAccount: {create: false, name: mine}", theDeployment, template + ".serviceAccountName}", "mine"},
	{"its permissions", "slipway", "serviceAccount: {create: false, name: mine}", "ClusterRoleBinding slipway-manager", "{.subjects[*].name}", "mine"},
	{"and no other", "slipway", "serviceAccount: {create: false, name: mine}", "ServiceAccount mine", "", "absent"},
	{"one replica, whose node can be drained", "slipway", "replicas: 1", "PodDisruptionBudget slipway-manager", "{.spec.maxUnavailable}", "1"},
	{"a budget in percent", "slipway", "podDisruptionBudget: {maxUnavailable: 50%}", "PodDisruptionBudget slipway-manager", "{.spec.maxUnavailable}", "50%"},
	{"no budget", "slipway", "podDisruptionBudget: {enabled: false}", "PodDisruptionBudget slipway-manager", "", "absent"},
	{"metrics for a network", "slipway", "{metrics: {port: 10443}, networkPolicy: {metricsFrom: [{ipBlock: {cidr: 'fd00::/8', except: ['fd00:1::/32']}}]}}",
		"NetworkPolicy slipway-manager", "{.spec.ingress[1].from[*].ipBlock.cidr}", "fd00::/8"},
	{"their port", "slipway", "metrics: {port: 10443}", "Service slipway-manager-metrics", "{.spec.ports[*].port}", "10443"},
	{"metrics off", "slipway", "metrics: {enabled: false}", theDeployment, template + ".containers[0].args[3]}", "--diagnostics-address="},
	{"metrics off: no Service", "slipway", "metrics: {enabled: false}", "Service slipway-manager-metrics", "", "absent"},
	{"metrics off: no right to review tokens", "slipway", "metrics: {enabled: false}", "ClusterRole slipway-manager-metrics-auth", "", "absent"},
	{"metrics off: nobody connects", "slipway-provisioner", "metrics: {enabled: false}", "NetworkPolicy slipway-provisioner", "{.spec.ingress[*].ports[*].port}", "healthz"},
	{"metrics off: the dashboard has its users reviewed", "slipway", "{metrics: {enabled: false}, dashboard: {enabled: true}}", "ClusterRoleBinding slipway-manager-metrics-auth", "{.roleRef.name}", "slipway-manager-metrics-auth"},
	{"values that are deleted", "slipway", "{affinity: null, tolerations: null, resources: null, podAnnotations: null, podLabels: null, nodeSelector: null, extraArgs: null, extraEnv: null, imagePullSecrets: null, priorityClassName: null, topologySpreadConstraints: null, goMemoryLimit: null}",
		theDeployment, template + ".containers[0].env[*].value}", "off"},
	{"values within others that are deleted", "slipway", "{image: {tag: null, digest: null, pullPolicy: null}, serviceAccount: {annotations: null, name: null}, aws: {region: null, roleARN: null, credentialsSecret: null}, metrics: {serviceMonitor: null, prometheusRule: null, dashboard: null, kubeStateMetrics: null}}",
		"ServiceAccount slipway-manager", "{.metadata.annotations}", ""},
	{"no name", "slipway", "fullnameOverride: null", "Deployment slipway", "{.metadata.namespace}", "slipway-system"},
	{"a name of the greatest length", "slipway", "{fullnameOverride: a234567890-234567890-234567890-234567890-234567890-23, dashboard: {enabled: true}}",
		"Service a234567890-234567890-234567890-234567890-234567890-23-dashboard", "{.spec.ports[0].targetPort}", "dashboard"},
	{"warnings for one namespace", "slipway", "watchNamespace: team-a", "ValidatingWebhookConfiguration slipway-manager", `{.webhooks[*].namespaceSelector.matchLabels.kubernetes\.io/metadata\.name}`,
		"team-a team-a team-a team-a team-a"},
	{"a second release, beside one with the definitions", "slipway", "{fullnameOverride: blue, watchNamespace: blue, crds: {install: false}, webhook: {certificate: self-managed}}",
		"ClusterRole blue-webhook-certificate", "{.rules[*].resourceNames[*]}", "blue"},
	{"a second release: its lease", "slipway", "fullnameOverride: blue", theBlueDeployment, template + ".containers[0].args[2]}", "--leader-election-id=slipway-leader-election-blue"},
	{"a second release: the permission for its lease alone", "slipway", "fullnameOverride: blue", "Role blue-leader-election", "{.rules[*].resourceNames[*]}", "slipway-leader-election-blue"},
	{"a second release of the provisioner", "slipway-provisioner", "fullnameOverride: blue", "Role blue-leader-election", "{.rules[*].resourceNames[*]}", "slipway-provisioner-leader-election-blue"},
	{"a lease", "slipway-provisioner", "leaderElection: {id: green.example.com}", "Deployment slipway-provisioner", template + ".containers[0].args[2]}", "--leader-election-id=green.example.com"},
	{"the permission for it", "slipway-provisioner", "leaderElection: {id: green.example.com}", "Role slipway-provisioner-leader-election", "{.rules[*].resourceNames[*]}", "green.example.com"},
	{"no values about the lease", "slipway", "leaderElection: null", "Role slipway-manager-leader-election", "{.rules[*].resourceNames[*]}", "slipway-leader-election"},
	{"a value for the chart that depends on this one", "slipway", "{enabled: true, global: {imageRegistry: registry.example.com}}", theDeployment, "{.spec.replicas}", "2"},
	{"the same of the provisioner", "slipway-provisioner", "{enabled: true, global: {imageRegistry: registry.example.com}}", "Deployment slipway-provisioner", "{.spec.replicas}", "2"},
}

// TestValues tries values on an API server.
func TestValues(t *testing.T) {
	c := newCluster(t)
	t.Run("set in practice", func(t *testing.T) { tryPracticed(t, c) })
	t.Run("leases of several releases in a namespace", func(t *testing.T) { tryLeases(t, c) })
	t.Run("the source of the webhook's certificate", func(t *testing.T) { tryCertificates(t, c) })
}

// tryPracticed holds what follows from values that users set in practice, and that the API server accepts
// all objects but definitions, which do not depend on values. None of them names an address of IPv4,
// which a cluster with IPv6 does not have.
func tryPracticed(t *testing.T, c *cluster) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: releaseNamespace}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	strict := client.WithFieldValidation(c.Client, metav1.FieldValidationStrict)
	for _, row := range practiced {
		t.Run(row.reason, func(t *testing.T) {
			found := objects(t, row.chart, withoutDefinitions(t, row.values))
			if got := lookUp(t, found[row.object], row.path); got != row.want {
				t.Errorf("%s of %s is %q, want %q", row.path, row.object, got, row.want)
			}
			for _, key := range slices.Sorted(maps.Keys(found)) {
				content, err := yaml.Marshal(found[key])
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(content), "0.0.0.0") || strings.Contains(string(content), "127.0.0.1") {
					t.Errorf("%s names an address of IPv4", key)
				}
				if found[key].GetKind() == "ServiceMonitor" {
					continue // the API server does not know it
				}
				applied := client.ApplyConfigurationFromUnstructured(found[key].DeepCopy())
				if err := strict.Apply(t.Context(), applied, client.FieldOwner("test"), client.DryRunAll); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
}

// withoutDefinitions adds the value that leaves definitions out.
func withoutDefinitions(t *testing.T, values string) string {
	t.Helper()
	parsed := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &parsed); err != nil {
		t.Fatal(err)
	}
	parsed["crds"] = map[string]any{"install": false}
	content, err := yaml.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// lookUp returns what a path of JSON leads to in an object.
func lookUp(t *testing.T, object *unstructured.Unstructured, path string) string {
	t.Helper()
	if object == nil {
		return "absent"
	}
	query := jsonpath.New("").AllowMissingKeys(true)
	if err := query.Parse(path); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := query.Execute(&text, object.Object); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestDependency holds that the charts render the same as dependencies of another chart, whatever alias
// they have there, and that a condition removes them.
func TestDependency(t *testing.T) {
	t.Parallel()
	platform := &chartv2.Chart{Metadata: &chartv2.Metadata{APIVersion: chartv2.APIVersionV2, Name: "platform", Version: "1.0.0"}}
	for _, name := range charts {
		platform.AddDependency(load(t, name))
		platform.Metadata.Dependencies = append(platform.Metadata.Dependencies, &chartv2.Dependency{
			Name: name, Version: ">= 0", Alias: "my-" + name, Condition: "my-" + name + ".enabled",
		})
	}
	values := map[string]any{"my-slipway": map[string]any{"enabled": true}, "my-slipway-provisioner": map[string]any{"enabled": true}}
	if err := chartutil.ProcessDependencies(platform, values); err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(platform, values, common.ReleaseOptions{Name: "platform", Namespace: releaseNamespace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(platform, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ chart, command string }{{"slipway", "manager"}, {"slipway-provisioner", "provisioner"}} {
		deployment := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(rendered["platform/charts/my-"+row.chart+"/templates/deployment.yaml"]), &deployment.Object); err != nil {
			t.Fatal(err)
		}
		if got := lookUp(t, deployment, template+".containers[0].args[0]}"); got != row.command {
			t.Errorf("%s runs the command %q, want %q", row.chart, got, row.command)
		}
		if got := lookUp(t, deployment, `{.spec.selector.matchLabels.app\.kubernetes\.io/name}`); got != "my-"+row.chart {
			t.Errorf("%s selects pods by the name %q, want its alias", row.chart, got)
		}
	}
}

// tryCertificates upgrades a release from one source of the webhook's certificate to another and back.
// The authority that cert-manager wrote stays until the manager has written its own, and upgrades do not
// change the manager's Secret.
func tryCertificates(t *testing.T, c *cluster) {
	configuration := func() *admissionv1.ValidatingWebhookConfiguration {
		stored := &admissionv1.ValidatingWebhookConfiguration{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: "slipway-manager"}, stored); err != nil {
			t.Fatal(err)
		}
		return stored
	}
	authority := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: releaseNamespace, Name: "slipway-manager-webhook-authority"}}
	certificate := &unstructured.Unstructured{}
	certificate.SetAPIVersion("cert-manager.io/v1")
	certificate.SetKind("Certificate")
	certificate.SetNamespace(releaseNamespace)
	certificate.SetName("slipway-manager-webhook")
	exists := func(object client.Object) bool {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return !apierrors.IsNotFound(err)
	}

	c.install(load(t, "slipway"))
	injected := configuration()
	for i := range injected.Webhooks {
		injected.Webhooks[i].ClientConfig.CABundle = []byte("cert-manager")
	}
	if err := c.Update(t.Context(), injected, client.FieldOwner("cert-manager-cainjector")); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second upgrade changes nothing
		if err := c.upgrade(load(t, "slipway"), "webhook: {certificate: self-managed}"); err != nil {
			t.Fatal(err)
		}
		stored := configuration()
		if _, annotated := stored.Annotations["cert-manager.io/inject-ca-from"]; annotated || string(stored.Webhooks[0].ClientConfig.CABundle) != "cert-manager" {
			t.Errorf("self-managed: annotations %v, authority %q", stored.Annotations, stored.Webhooks[0].ClientConfig.CABundle)
		}
		if !exists(authority) || exists(certificate) {
			t.Errorf("self-managed: the manager's Secret must exist, and the Certificate must not")
		}
		if authority.Data == nil {
			authority.Data = map[string][]byte{"ca.crt": []byte("the manager's")}
			if err := c.Update(t.Context(), authority, client.FieldOwner("slipway")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !exists(authority) || string(authority.Data["ca.crt"]) != "the manager's" {
		t.Errorf("an upgrade changed the manager's Secret: %v", authority.Data)
	}

	if err := c.upgrade(load(t, "slipway"), "webhook: {certificate: cert-manager}"); err != nil {
		t.Fatal(err)
	}
	if configuration().Annotations["cert-manager.io/inject-ca-from"] != releaseNamespace+"/slipway-manager-webhook" || exists(authority) || !exists(certificate) {
		t.Errorf("cert-manager: annotations %v; the Certificate must exist, and the manager's Secret must not", configuration().Annotations)
	}
}
