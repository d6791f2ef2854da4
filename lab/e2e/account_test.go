//go:build e2e

package e2e

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubeconfig "sigs.k8s.io/controller-runtime/pkg/client/config"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestAccount walks the journeys on a real account. A variant whose cluster is not named fails: who
// asks for the tag wants both.
func TestAccount(t *testing.T) {
	for _, row := range []struct {
		kind, cluster string
		walk          func(*testing.T, Target)
	}{
		{"AWSMachinePool", "E2E_CLUSTER", MachinePool},
		{"AWSManagedMachinePool", "E2E_MANAGED_CLUSTER", ManagedMachinePool},
	} {
		t.Run(row.kind, func(t *testing.T) {
			t.Parallel()
			aws, err := config.LoadDefaultConfig(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			row.walk(t, Target{
				Management: management(t), AWS: aws,
				Namespace: cmp.Or(os.Getenv("E2E_NAMESPACE"), "default"), Cluster: required(t, row.cluster),
				KubernetesVersion: required(t, row.cluster+"_VERSION"),
				InstanceProfile:   cmp.Or(os.Getenv("E2E_INSTANCE_PROFILE"), "nodes.cluster-api-provider-aws.sigs.k8s.io"),
				Pool:              "e2e-" + strings.ToLower(row.kind), Patience: 40 * time.Minute, Poll: 10 * time.Second,
			})
		})
	}
}

// management reaches the management cluster that KUBECONFIG names.
func management(t *testing.T) client.Client {
	t.Helper()
	rest, err := kubeconfig.GetConfig()
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, bootstrapv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(rest, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func required(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Fatalf("set %s (docs/how-to/e2e.md)", variable)
	}
	return value
}
