package v1beta2_test

import (
	"encoding/json"
	"sync"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/slipway-project/slipway/config/crd"
	"github.com/slipway-project/slipway/internal/apitest"
)

const (
	machinePoolBase = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePool
metadata: {name: pool, namespace: default}
spec:
  minSize: 1
  maxSize: 3
  awsLaunchTemplate: {instanceType: m5.large}
`
	launchConfigBase = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSLaunchConfig
metadata: {name: config, namespace: default}
spec:
  clusterName: one
  instanceType: m5.large
`
	machinePoolTemplateBase = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePoolTemplate
metadata: {name: template, namespace: default}
spec: {template: {spec: {minSize: 1, maxSize: 3, awsLaunchTemplate: {instanceType: m5.large}}}}
`
	managedPoolTemplateBase = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePoolTemplate
metadata: {name: template, namespace: default}
spec: {template: {spec: {amiType: AL2023_x86_64_STANDARD}}}
`
	machinePoolMachineBase = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePoolMachine
metadata: {name: machine, namespace: default}
spec: {instanceID: i-1, providerID: "aws:///us-east-1a/i-1"}
`
)

// loaded reads the definitions once: it takes most of a second.
var loaded = sync.OnceValues(func() (apitest.Definitions, error) { return apitest.Load(crd.FS, "bases") })

// definitions returns the definitions. Tests must not change them.
func definitions(t testing.TB) apitest.Definitions {
	t.Helper()
	all, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// compiled holds resources by kind and version: compiling their rules takes seconds.
var compiled = struct {
	sync.Mutex
	resources map[[2]string]*apitest.Resource
}{resources: map[[2]string]*apitest.Resource{}}

// resource returns a version of a kind.
func resource(t testing.TB, kind, version string) *apitest.Resource {
	t.Helper()
	compiled.Lock()
	defer compiled.Unlock()
	key := [2]string{kind, version}
	if compiled.resources[key] == nil {
		found, err := definitions(t).Resource(kind, version)
		if err != nil {
			t.Fatal(err)
		}
		compiled.resources[key] = found
	}
	return compiled.resources[key]
}

// object returns the object that the YAML says, with the JSON merge patches (YAML too) applied.
func object(t testing.TB, base string, patches ...string) map[string]any {
	t.Helper()
	patched, err := apitest.Object(base, patches...)
	if err != nil {
		t.Fatal(err)
	}
	return patched
}

// fromJSON decodes as the API server does: whole numbers become int64.
func fromJSON(t testing.TB, document []byte) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := utiljson.Unmarshal(document, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

func toGo(t testing.TB, from map[string]any, into any) {
	t.Helper()
	document, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(document, into); err != nil {
		t.Fatalf("decoding %s: %v", document, err)
	}
}

func fromGo(t testing.TB, from any) map[string]any {
	t.Helper()
	document, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	return fromJSON(t, document)
}
