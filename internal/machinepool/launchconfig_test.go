package machinepool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/config/crd"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/pool"
)

// TestLaunchConfigOfAPoolStays holds what a pool, with the defaults that the API server gives it,
// is mapped to. These files must never change: another mapping, or another default, would change
// fingerprints, and roll the nodes of every pool at an upgrade.
func TestLaunchConfigOfAPoolStays(t *testing.T) {
	t.Parallel()
	definitions, err := apitest.Load(crd.FS, "bases")
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := filepath.Glob("testdata/launchconfig/*.pool.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no pools to map: %v", err)
	}
	for _, file := range inputs {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			resource, err := definitions.Resource("AWSMachinePool", "v1beta2")
			if err != nil {
				t.Fatal(err)
			}
			stored := read[map[string]any](t, file)
			defaulted := resource.Default(stored)
			object := &infrav1.AWSMachinePool{}
			convert(t, defaulted, object)

			machinePool := &clusterv1.MachinePool{}
			secret := "capa-mp-0-data"
			machinePool.Spec.ClusterName = "capa"
			machinePool.Spec.Template.Spec.Version = "v1.33.1"
			machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = &secret

			source := pool.PoolSource(object.Spec.AWSLaunchTemplate, object.Spec.VersionsToKeep, object.Spec.AdditionalTags)
			golden := strings.TrimSuffix(file, ".pool.yaml") + ".golden"
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(wantedConfig(input{Object: object, Seen: Observed{MachinePool: machinePool}}, source, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the launch config of a stored pool changed (-want +got):\n%s", diff)
			}
		})
	}
}

func read[T any](t *testing.T, path string) T {
	t.Helper()
	var value T
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func convert(t *testing.T, from, to any) {
	t.Helper()
	content, err := yaml.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, to); err != nil {
		t.Fatal(err)
	}
}
