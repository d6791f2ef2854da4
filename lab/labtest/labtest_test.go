package labtest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab"
)

func TestMain(m *testing.M) { Main(m) }

// documented is the manifest of the documentation of machine pools, its variables filled for the
// default world.
const documented = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata:
  name: capa-mp-0
spec:
  clusterName: capa
  replicas: 2
  template:
    spec:
      bootstrap:
        configRef:
          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
          kind: KubeadmConfig
          name: capa-mp-0
      clusterName: capa
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: AWSMachinePool
        name: capa-mp-0
      version: v1.25.0
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AWSMachinePool
metadata:
  name: capa-mp-0
spec:
  minSize: 1
  maxSize: 10
  availabilityZones:
    - us-east-1a
  awsLaunchTemplate:
    instanceType: m5.large
    sshKeyName: default
  subnets:
    - id: subnet-0b1000000000000aa
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata:
  name: capa-mp-0
  namespace: default
spec:
  joinConfiguration:
    nodeRegistration:
      name: '{{ ds.meta_data.local_hostname }}'
      kubeletExtraArgs:
        cloud-provider: aws
`

func TestDocumentedManifestConvertsAndGetsJoinData(t *testing.T) {
	t.Parallel()
	env := New(t)
	env.Cluster(lab.ClusterOptions{})
	env.Apply(documented)

	key := client.ObjectKey{Namespace: env.Namespace, Name: "capa-mp-0"}
	var config bootstrapv1.KubeadmConfig
	env.Eventually("the KubeadmConfig is ready", func() error {
		if err := env.Client.Get(t.Context(), key, &config); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(config.Status.Conditions, bootstrapv1.KubeadmConfigReadyCondition) {
			return fmt.Errorf("its conditions are %+v", config.Status.Conditions)
		}
		return nil
	})
	args := config.Spec.JoinConfiguration.NodeRegistration.KubeletExtraArgs
	if len(args) != 1 || args[0].Name != "cloud-provider" || args[0].Value == nil || *args[0].Value != "aws" {
		t.Errorf("the conversion made %+v of the v1beta1 kubelet arguments", args)
	}
	var pool clusterv1.MachinePool
	env.Eventually("the MachinePool knows its bootstrap data", func() error {
		if err := env.Client.Get(t.Context(), key, &pool); err != nil {
			return err
		}
		if pool.Spec.Template.Spec.Bootstrap.DataSecretName == nil {
			return errors.New("it has no dataSecretName")
		}
		return nil
	})
	token := ""
	// its status is written before its spec
	env.Eventually("the KubeadmConfig names its token", func() error {
		if err := env.Client.Get(t.Context(), key, &config); err != nil {
			return err
		}
		if token = config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token; token == "" {
			return errors.New("it does not yet")
		}
		return nil
	})
	data := env.BootstrapData("capa-mp-0")
	if token == "" || !bytes.Contains(data, []byte(token)) {
		t.Errorf("the bootstrap data does not carry token %q:\n%s", token, data)
	}
	env.RotateBootstrapToken("capa-mp-0")
	if bytes.Equal(data, env.BootstrapData("capa-mp-0")) {
		t.Error("the bootstrap data is the same after its token was rotated")
	}
}

func TestClusters(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		managed bool
	}{
		{"a self-managed cluster gets ready by Cluster API's own doing", false},
		{"so does one with an EKS control plane", true},
	} {
		t.Run(fmt.Sprintf("managed=%v", row.managed), func(t *testing.T) {
			t.Parallel()
			env := New(t)
			cluster := env.Cluster(lab.ClusterOptions{Managed: row.managed, KubernetesVersion: "v1.33.0"})
			if cluster.Status.Phase != string(clusterv1.ClusterPhaseProvisioned) {
				t.Errorf("%s: its phase is %q", row.reason, cluster.Status.Phase)
			}
			if got, want := len(cluster.Status.FailureDomains), 3; got != want {
				t.Errorf("%s: it has %d failure domains, want %d", row.reason, got, want)
			}
			host, port := env.Lab.Workload.Address()
			if endpoint := cluster.Spec.ControlPlaneEndpoint; endpoint.Host != host || endpoint.Port != port {
				t.Errorf("%s: its endpoint is %v, want %s:%d", row.reason, endpoint, host, port)
			}
		})
	}
}
