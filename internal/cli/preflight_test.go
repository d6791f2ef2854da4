package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/internal/preflight"
)

// management is an API server in memory, with the objects that a preflight reads.
type management struct {
	version string
	objects []*unstructured.Unstructured
	// forbidden are the resources that the user may not read.
	forbidden []string
	// away counts the requests that are refused because the server is not ready.
	away atomic.Int32
	// slow is how long each answer takes.
	slow time.Duration
}

// resources are the kinds that a preflight or a migration reads.
var resources = map[string]string{
	"customresourcedefinitions": "CustomResourceDefinition", "deployments": "Deployment", "secrets": "Secret",
	"validatingwebhookconfigurations": "ValidatingWebhookConfiguration", "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
	"clusters": "Cluster", "machinepools": "MachinePool", "awsmachinepools": "AWSMachinePool", "awsmanagedmachinepools": "AWSManagedMachinePool",
	"awslaunchconfigs": "AWSLaunchConfig", "awsclusters": "AWSCluster", "awsclustercontrolleridentities": "AWSClusterControllerIdentity", "awsclusterstaticidentities": "AWSClusterStaticIdentity",
}

// ServeHTTP answers reads of one object, and of a list with a label selector, and patches.
func (m *management) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	select {
	case <-time.After(m.slow):
	case <-r.Context().Done():
		return
	}
	if m.away.Add(-1) >= 0 {
		refuse(w, apierrors.NewServiceUnavailable("not ready"))
		return
	}
	if r.URL.Path == "/version" {
		if slices.Contains(m.forbidden, "/version") {
			refuse(w, apierrors.NewForbidden(schema.GroupResource{}, "/version", io.EOF))
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"gitVersion": m.version})
		return
	}
	namespace, name, parts := "", "", strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts {
		if part == "namespaces" {
			namespace = parts[i+1]
		}
	}
	resource := parts[len(parts)-1]
	if resources[resource] == "" {
		resource, name = parts[len(parts)-2], parts[len(parts)-1]
	}
	if len(m.forbidden) > 0 && strings.Contains(strings.Join(m.forbidden, ","), resource) {
		refuse(w, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, name, io.EOF))
		return
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		refuse(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	items := []any{}
	for _, object := range m.objects {
		if object.GetKind() != resources[resource] || namespace != "" && object.GetNamespace() != namespace {
			continue
		}
		if name != "" && object.GetName() == name && r.Method == http.MethodPatch {
			m.patch(w, r, object)
			return
		}
		if name != "" && object.GetName() == name {
			_ = json.NewEncoder(w).Encode(object.Object)
			return
		}
		if selector.Matches(labels.Set(object.GetLabels())) {
			items = append(items, object.Object)
		}
	}
	if name != "" {
		refuse(w, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name))
		return
	}
	base, _, _ := strings.Cut(r.URL.Path, "/namespaces/")
	version := strings.TrimPrefix(strings.TrimSuffix(base, "/"+resource), "/apis/")
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": resources[resource] + "List", "apiVersion": version, "items": items})
}

func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

// add adds objects that are written as YAML.
func (m *management) add(t *testing.T, text string) {
	t.Helper()
	for decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if object.Object != nil {
			m.objects = append(m.objects, object)
		}
	}
}

// addFiles adds the objects in files of the repository.
func (m *management) addFiles(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %q, %v", pattern, files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m.add(t, string(content))
	}
}

// kubeconfig serves the cluster, and returns the file of a kubeconfig with it as the context "here", and
// another context.
func (m *management) kubeconfig(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"elsewhere",
		"clusters":[{"name":"here","cluster":{"server":"` + server.URL + `"}},{"name":"elsewhere","cluster":{"server":"http://127.0.0.1:1"}}],
		"users":[{"name":"user","user":{}}],
		"contexts":[{"name":"here","context":{"cluster":"here","user":"user"}},{"name":"elsewhere","context":{"cluster":"elsewhere","user":"user"}}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// addClusterAPI adds Cluster API, and CAPA with a feature gate.
func (m *management) addClusterAPI(t *testing.T, machinePool string) {
	t.Helper()
	for _, name := range []string{"clusters", "machinepools", "machines"} {
		m.add(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: `+name+`.cluster.x-k8s.io},
			spec: {versions: [{name: v1beta1, served: true}, {name: v1beta2, served: true, storage: true}]}}`)
	}
	for _, provider := range []struct{ name, label, gates string }{
		{"capi", "cluster-api", "MachinePool=true"}, {"capa", "infrastructure-aws", "EKS=true,MachinePool=" + machinePool},
	} {
		m.add(t, `{apiVersion: apps/v1, kind: Deployment,
			metadata: {name: `+provider.name+`-controller-manager, namespace: `+provider.name+`-system, labels: {cluster.x-k8s.io/provider: `+provider.label+`}},
			spec: {template: {spec: {containers: [{name: manager, args: [--leader-elect, "--feature-gates=`+provider.gates+`"]}]}}}}`)
	}
}

// addSlipway adds what a release installs with cert-manager, and the certificate that expires at a time.
func (m *management) addSlipway(t *testing.T, expires time.Time) {
	t.Helper()
	m.addFiles(t, "config/crd/bases/*.yaml")
	m.addFiles(t, "config/manager/deployment.yaml")
	m.addFiles(t, "config/webhook/manifests.yaml")
	certificate := base64.StdEncoding.EncodeToString(selfSigned(t, "slipway-webhook.slipway-system.svc", expires))
	for _, object := range m.objects {
		webhooks, found, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, webhook := range webhooks {
			if err := unstructured.SetNestedField(webhook.(map[string]any), certificate, "clientConfig", "caBundle"); err != nil {
				t.Fatal(err)
			}
		}
		if found {
			if err := unstructured.SetNestedSlice(object.Object, webhooks, "webhooks"); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.add(t, `{apiVersion: v1, kind: Secret, metadata: {name: slipway-webhook-certificate, namespace: slipway-system}, data: {tls.crt: `+certificate+`}}`)
}

// removeField removes a field from the schema of each version of a definition.
func removeField(t *testing.T, definition *unstructured.Unstructured, path ...string) {
	t.Helper()
	versions, found, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if !found || err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		unstructured.RemoveNestedField(version.(map[string]any), append([]string{"schema", "openAPIV3Schema", "properties"}, path...)...)
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}

// addSecondSlipway adds another release, in the namespace "other".
func (m *management) addSecondSlipway(t *testing.T, expires time.Time) {
	t.Helper()
	certificate := base64.StdEncoding.EncodeToString(selfSigned(t, "blue-webhook.other.svc", expires))
	m.add(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: blue, namespace: other, labels: {cluster.x-k8s.io/provider: infrastructure-slipway}},
		spec: {template: {spec: {containers: [{name: manager, args: [manager, --webhook-cert-dir=/certificate], volumeMounts: [{name: certificate, mountPath: /certificate}]}],
			volumes: [{name: certificate, secret: {secretName: blue-webhook-certificate}}]}}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: blue-webhook-certificate, namespace: other}, data: {tls.crt: `+certificate+`}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: blue, labels: {cluster.x-k8s.io/provider: infrastructure-slipway}},
	webhooks: [{name: warning.awsmachinepool.infrastructure.cluster.x-k8s.io, failurePolicy: Ignore, clientConfig: {service: {name: blue-webhook, namespace: other}, caBundle: `+certificate+`}}]}`)
	for _, object := range m.objects { // clusterctl's label, as in a release
		if object.GetKind() == "ValidatingWebhookConfiguration" && object.GetName() == preflight.WebhookConfiguration {
			object.SetLabels(map[string]string{"cluster.x-k8s.io/provider": "infrastructure-slipway"})
		}
	}
}

// selfSigned returns a certificate as PEM.
func selfSigned(t *testing.T, host string, expires time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: expires.Add(-90 * 24 * time.Hour), NotAfter: expires, IsCA: true, BasicConstraintsValid: true,
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encoded})
}

const (
	preflightKey  = "AKIAPREFLIGHT0111122223333"
	preflightUser = "arn:aws:iam::111122223333:user/" + preflightKey
)

// account is a simulated AWS that the environment leads to.
func account(t *testing.T) *awssim.Simulator {
	t.Helper()
	simulator, _, url := awssimtest.Start(t, time.Now(), awssim.Options{})
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": preflightKey, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_REGION": "us-east-1",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"),
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return simulator
}

// hold has the caller do no more than the policies of features allow.
func hold(t *testing.T, simulator *awssim.Simulator, features ...permissions.Feature) {
	t.Helper()
	policies, err := permissions.Policies(permissions.Scope{}, features...)
	if err != nil {
		t.Fatal(err)
	}
	documents := make([]string, len(policies))
	for i, policy := range policies {
		documents[i] = policy.String()
	}
	if err := simulator.SetPolicies(preflightKey, documents...); err != nil {
		t.Fatal(err)
	}
}

// runPreflight runs the command line, and returns what it prints and its exit code.
func runPreflight(t *testing.T, arguments ...string) (string, int) {
	t.Helper()
	command, output := New(), &bytes.Buffer{}
	command.SetArgs(append([]string{"preflight"}, arguments...))
	command.SetOut(output)
	command.SetErr(io.Discard)
	if err := command.ExecuteContext(t.Context()); err != nil {
		fmt.Fprintln(output, err)
		return output.String(), exitCode(err)
	}
	return output.String(), 0
}

// spaces matches what aligns columns.
var spaces = regexp.MustCompile(" {2,}")

// TestPreflight runs the command against an API server in memory and a simulated AWS.
func TestPreflight(t *testing.T) { //nolint:paralleltest // the environment leads to the simulated AWS
	defaults := permissions.Defaults(permissions.Scope{})
	for _, row := range []struct {
		reason    string
		cluster   func(*management)
		features  []permissions.Feature
		arguments []string
		exit      int
		prints    []string
	}{
		{
			reason: "before the installation", features: append(defaults, permissions.Preflight),
			cluster: func(m *management) { m.addClusterAPI(t, "false") },
			prints: []string{
				"kubernetes-version ok The management cluster runs Kubernetes 1.36.3.\n", "capa-controllers ok ", "slipway-crds skipped Slipway is not installed.\n",
				"webhook-certificate skipped", "AWS accepts the credentials of " + preflightUser + " in region us-east-1.", "iam-permissions ok The policies of " + preflightUser + " allow all",
				"0 of 500 Auto Scaling groups",
			},
		},
		{
			reason: "after the installation", features: append(defaults, permissions.Preflight),
			cluster: func(m *management) {
				m.addClusterAPI(t, "false")
				m.addSlipway(t, time.Now().Add(60*24*time.Hour))
			},
			prints: []string{"slipway-crds ok ", "webhook-certificate ok The webhook's certificate is valid until "},
		},
		{
			reason: "an installation with mistakes", features: []permissions.Feature{permissions.ImageParameters, permissions.Preflight}, exit: 1,
			cluster: func(m *management) {
				m.version = "v1.33.1"
				m.addClusterAPI(t, "true")
				m.addSlipway(t, time.Now().Add(-time.Hour))
				m.add(t, `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: capa-mutating-webhook-configuration},
					webhooks: [{name: default.awsmachinepool.infrastructure.cluster.x-k8s.io, rules: [{apiGroups: [infrastructure.cluster.x-k8s.io], resources: [awsmachinepools]}]}]}`)
			},
			prints: []string{
				"Slipway supports Kubernetes 1.34 to 1.36", "\ncapa-controllers: failed\n Nodes: Two controllers write the same pools.", "capa-mutating-webhook-configuration/default.awsmachinepool",
				"The webhook's certificate in Secret slipway-system/slipway-webhook-certificate expired at", "ec2:CreateLaunchTemplate (statement MakeTemplates; no policy allows it)",
				"Attach all policies that `slipway iam policy --feature machine-pools,image-parameters` prints", "5 of 9 checks failed\n",
			},
			arguments: []string{"--feature", "machine-pools,image-parameters"},
		},
		{
			reason: "a caller that may not simulate policies", features: defaults,
			cluster: func(m *management) { m.addClusterAPI(t, "false") },
			prints:  []string{"iam-permissions warning The policies of " + preflightUser + " could not be simulated", "`slipway iam policy --feature preflight`", "auto-scaling-quota warning"},
		},
		{
			reason: "a user of the cluster who may not read Secrets and Deployments", features: append(defaults, permissions.Preflight),
			cluster: func(m *management) {
				m.addClusterAPI(t, "false")
				m.addSlipway(t, time.Now().Add(60*24*time.Hour))
				m.forbidden = []string{"secrets", "deployments"}
			},
			prints: []string{"capa-controllers warning Deployments could not be read", "webhook-certificate warning Deployments could not be read"},
		},
		{
			reason: "a user of the cluster who may not read its version", features: append(defaults, permissions.Preflight),
			cluster: func(m *management) {
				m.addClusterAPI(t, "false")
				m.forbidden = []string{"/version"}
			},
			prints: []string{"kubernetes-version warning The version of the API server could not be read", "cluster-api ok", "capa-controllers ok"},
		},
		{
			reason: "two releases in two namespaces", features: append(defaults, permissions.Preflight),
			cluster: func(m *management) {
				m.addClusterAPI(t, "false")
				m.addSlipway(t, time.Now().Add(60*24*time.Hour))
				m.addSecondSlipway(t, time.Now().Add(60*24*time.Hour))
			},
			prints: []string{"webhook-certificate ok The webhook's certificate is valid until ", "Webhooks of Slipway in other namespaces were not checked"},
		},
		{
			reason: "a role that does not exist", features: append(defaults, permissions.Preflight), exit: 1,
			cluster:   func(m *management) { m.addClusterAPI(t, "false") },
			arguments: []string{"--role-arn", "arn:aws:iam::111122223333:role/slipway-manager"},
			prints:    []string{"IAM does not know arn:aws:iam::111122223333:role/slipway-manager"},
		},
		{
			reason: "definitions of an earlier release", features: append(defaults, permissions.Preflight),
			cluster: func(m *management) {
				m.addClusterAPI(t, "false")
				m.addSlipway(t, time.Now().Add(60*24*time.Hour))
				for _, object := range m.objects {
					if object.GetName() == "awsmachinepools.infrastructure.cluster.x-k8s.io" {
						removeField(t, object, "spec", "properties", "warmPool")
						removeField(t, object, "spec", "properties", "awsLaunchTemplate", "properties", "rootVolume", "properties", "throughput")
					}
				}
			},
			prints: []string{"slipway-crds warning ", "lack fields: spec.awsLaunchTemplate.rootVolume.throughput of awsmachinepools, spec.warmPool of awsmachinepools."},
		},
		{
			reason: "a role of another account", features: append(defaults, permissions.Preflight),
			cluster:   func(m *management) { m.addClusterAPI(t, "false") },
			arguments: []string{"--role-arn", "arn:aws:iam::444455556666:role/slipway-manager"},
			prints:    []string{"iam-permissions warning The policies of arn:aws:iam::444455556666:role/slipway-manager cannot be simulated: it is in account 444455556666"},
		},
		{
			reason: "the current context", exit: 1, arguments: []string{"--context", ""},
			prints: []string{"kubernetes-version failed The API server of the management cluster did not answer", "slipway-crds skipped Not checked because the API server did not answer."},
		},
		{
			reason: "answers that are garbage", exit: 1,
			cluster: func(m *management) {
				m.version = "\x1b]0;title\x07"
				m.add(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clusters.cluster.x-k8s.io}, spec: {versions: 7}}`)
			},
			prints: []string{"kubernetes-version warning", "cluster-api failed"},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			simulator := account(t)
			if row.features != nil {
				hold(t, simulator, row.features...)
			}
			m := &management{version: "v1.36.3"}
			if row.cluster != nil {
				row.cluster(m)
			}
			output, exit := runPreflight(t, append([]string{"--kubeconfig", m.kubeconfig(t), "--context", "here"}, row.arguments...)...)
			if exit != row.exit {
				t.Errorf("the exit code is %d, want %d", exit, row.exit)
			}
			for _, text := range row.prints { // the width of columns varies
				if !strings.Contains(spaces.ReplaceAllString(output, " "), text) {
					t.Errorf("it does not print %q", text)
				}
			}
			if strings.ContainsAny(output, "\x1b\x07") {
				t.Error("it prints characters that a terminal interprets")
			}
			if t.Failed() {
				t.Logf("it prints\n%s", output)
			}
		})
	}
}

// TestPreflightOfASlowServer holds that a slow API server takes no time from the checks of AWS.
func TestPreflightOfASlowServer(t *testing.T) { //nolint:paralleltest // the environment leads to the simulated AWS
	hold(t, account(t), permissions.Preflight)
	m := &management{version: "v1.36.3", slow: 100 * time.Millisecond}
	m.addClusterAPI(t, "false")
	command, output := preflightCommand(time.Second), &bytes.Buffer{}
	command.SetArgs([]string{"--kubeconfig", m.kubeconfig(t), "--context", "here", "--skip", "iam-permissions"})
	command.SetOut(output)
	command.SetErr(io.Discard)
	err := command.ExecuteContext(t.Context())
	printed := spaces.ReplaceAllString(output.String(), " ")
	if exitCode(err) != 1 {
		t.Errorf("the error is %v, want exit code 1", err)
	}
	for _, want := range []string{"kubernetes-version ok", "could not be read", "aws-credentials ok", "auto-scaling-quota ok"} {
		if !strings.Contains(printed, want) {
			t.Errorf("it does not print %q:\n%s", want, printed)
		}
	}
}

// TestPreflightWithoutCredentials holds that a lack of credentials is not taken for a fault of AWS.
func TestPreflightWithoutCredentials(t *testing.T) { //nolint:paralleltest // the environment leads to the simulated AWS
	account(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	m := &management{version: "v1.36.3"}
	m.addClusterAPI(t, "false")
	output, exit := runPreflight(t, "--kubeconfig", m.kubeconfig(t), "--context", "here")
	output = spaces.ReplaceAllString(output, " ")
	for _, want := range []string{"cluster-api ok", "aws-credentials failed No AWS credentials were found: ", "iam-permissions skipped Not checked because there are no AWS credentials."} {
		if exit != 1 || !strings.Contains(output, want) {
			t.Errorf("the exit code is %d, and it does not print %q:\n%s", exit, want, output)
		}
	}
}

// TestPreflightFormats holds what programs read.
func TestPreflightFormats(t *testing.T) { //nolint:paralleltest // the environment leads to the simulated AWS
	account(t)
	m := &management{version: "v1.37.0"}
	m.addClusterAPI(t, "false")
	kubeconfig := m.kubeconfig(t)
	for format, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) }} {
		output, exit := runPreflight(t, "--kubeconfig", kubeconfig, "--context", "here", "-o", format, "--skip", "iam-permissions,auto-scaling-quota", "--skip", "aws-credentials")
		var report preflight.Report
		if err := decode([]byte(output), &report); err != nil || exit != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s", format, exit, err, output)
		}
		want := map[string]preflight.Result{
			"kubernetes-version": "warning", "cluster-api": "ok", "capa-controllers": "ok", "capa-webhooks": "ok", "slipway-crds": "skipped", "webhook-certificate": "skipped",
			"aws-credentials": "skipped", "iam-permissions": "skipped", "auto-scaling-quota": "skipped",
		}
		got := map[string]preflight.Result{}
		for _, finding := range report.Findings {
			got[finding.Name] = finding.Result
		}
		if diff := cmp.Diff(want, got); diff != "" || report.Result != preflight.Warning {
			t.Errorf("%s: the result is %s, and findings are (-want +got):\n%s", format, report.Result, diff)
		}
	}
}

// TestPreflightOfARole simulates the policies of the manager's role, as its session and by its ARN.
func TestPreflightOfARole(t *testing.T) { //nolint:paralleltest // the environment leads to the simulated AWS
	simulator := account(t)
	m := &management{version: "v1.36.3"}
	m.addClusterAPI(t, "false")
	kubeconfig := m.kubeconfig(t)
	client := iam.NewFromConfig(awssimtest.Config(os.Getenv("AWS_ENDPOINT_URL"), "us-east-1", "111122223333"))
	role, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("slipway-manager"), Path: aws.String("/teams/"),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":"sts:AssumeRole"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	scope := permissions.Scope{EKSClusters: []string{"blue-eks"}}
	policies, err := permissions.Policies(scope, append(permissions.Defaults(scope), permissions.Preflight)...)
	if err != nil {
		t.Fatal(err)
	}
	for i, policy := range policies {
		created, err := client.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String(fmt.Sprint("slipway-", i)), PolicyDocument: aws.String(policy.String())})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: role.Role.RoleName, PolicyArn: created.Policy.Arn}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(reason string, exit int, prints string, arguments ...string) {
		output, got := runPreflight(t, append([]string{"--kubeconfig", kubeconfig, "--context", "here"}, arguments...)...)
		if got != exit || !strings.Contains(output, prints) {
			t.Errorf("%s: the exit code is %d, want %d, and %q, of\n%s", reason, got, exit, prints, output)
		}
	}
	hold(t, simulator, permissions.Preflight)
	check("by its ARN", 0, "The policies of "+*role.Role.Arn+" allow all", "--role-arn", *role.Role.Arn, "--eks-cluster", "blue-eks")
	check("another EKS cluster", 1, "eks:CreateNodegroup (statement MakeNodegroups; no policy allows it)", "--role-arn", *role.Role.Arn, "--eks-cluster", "red-eks")
	check("the command that prints its policies", 1, "`slipway iam policy --eks-cluster red-eks --node-role 'nodes-*'`", "--role-arn", *role.Role.Arn, "--eks-cluster", "red-eks", "--node-role", "nodes-*")
	check("the caller itself", 1, "The policies of "+preflightUser+" deny")

	session, err := sts.NewFromConfig(awssimtest.Config(os.Getenv("AWS_ENDPOINT_URL"), "us-east-1", "111122223333")).AssumeRole(t.Context(),
		&sts.AssumeRoleInput{RoleArn: role.Role.Arn, RoleSessionName: aws.String("operator")})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", *session.Credentials.AccessKeyId)
	t.Setenv("AWS_SECRET_ACCESS_KEY", *session.Credentials.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", *session.Credentials.SessionToken)
	check("a session, whose ARN lacks the path", 0, "The policies of "+*role.Role.Arn+" allow all", "--eks-cluster", "blue-eks")
}

// TestPreflightIsRefused holds which mistakes prevent the checks.
func TestPreflightIsRefused(t *testing.T) { //nolint:paralleltest // the environment leads to the simulated AWS
	account(t)
	t.Setenv("AWS_REGION", "")
	m := &management{version: "v1.36.3"}
	kubeconfig := m.kubeconfig(t)
	for _, row := range []struct {
		reason, arguments, prints string
	}{
		{"a check that does not exist", "--skip quotas", "the checks are kubernetes-version, cluster-api"},
		{"a format that does not exist", "-o xml", "--output is"},
		{"a flag that does not exist", "--nonsense", "unknown flag: --nonsense"},
		{"an argument", "everything", "takes none"},
		{"a session instead of a role", "--role-arn arn:aws:sts::111122223333:assumed-role/x/y", "--role-arn is"},
		{"a feature that does not exist", "--feature nonsense", "there are machine-pools"},
		{"a feature without what bounds it", "--feature events", "needs --queue"},
		{"a cluster by a pattern", "--cluster blue*", "without wildcards"},
		{"a kubeconfig that does not exist", "--kubeconfig /nowhere", "finding the management cluster"},
		{"a context that does not exist", "--context nowhere --kubeconfig " + kubeconfig, "finding the management cluster"},
		{"no region", "--context here --kubeconfig " + kubeconfig, "set --region or AWS_REGION"},
		{"a region that is none", "--region localhost/ --context here --kubeconfig " + kubeconfig, "the name of an AWS region"},
	} {
		output, exit := runPreflight(t, strings.Fields(row.arguments)...)
		if exit != 2 || !strings.Contains(output, row.prints) {
			t.Errorf("%s: the exit code is %d, and it prints %q, want %q", row.reason, exit, output, row.prints)
		}
	}
}

// TestWebhookConfigurationOfPreflight is the one that the manager keeps.
func TestWebhookConfigurationOfPreflight(t *testing.T) {
	t.Parallel()
	if preflight.WebhookConfiguration != manager.DefaultWebhookConfiguration {
		t.Errorf("preflight reads %s", preflight.WebhookConfiguration)
	}
}
