package clusterctl

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlclient "sigs.k8s.io/cluster-api/cmd/clusterctl/client"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
)

const root = "../.."

// variables are the variables of the templates, as a user sets them for the simulated AWS, and the
// variables that Cluster API Provider AWS cannot be installed without.
var variables = map[string]string{
	"AWS_REGION": "us-east-1", "AWS_SSH_KEY_NAME": "default", "AWS_CONTROL_PLANE_MACHINE_TYPE": "t3.large", "AWS_NODE_MACHINE_TYPE": "t3.large",
	"LAUNCH_CONFIG_TEMPLATE":     "nodes",
	"AWS_B64ENCODED_CREDENTIALS": "bm9uZQ==", "EXP_MACHINE_POOL": "true", "EXP_MACHINE_POOL_MACHINES": "true",
}

// shared is the repository of all tests: there is one configuration of clusterctl in a process.
var shared struct {
	sync.Once
	directory  string
	repository *Repository
	err        error
}

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "slipway-clusterctl-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared.directory = directory
	code := labtest.RunWith(m, lab.Options{})
	if err := os.RemoveAll(directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// world is a test's part of the laboratory, a management cluster that clusterctl knows, with ready
// clusters and no manager yet.
type world struct{ *labtest.Env }

// registered registers the laboratory with clusterctl once.
var registered sync.Once

func newWorld(t *testing.T, clusters ...lab.ClusterOptions) *world {
	t.Helper()
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	w := &world{Env: labtest.NewWith(t, labtest.Options{AWS: awssim.Options{
		Clock:    clock,
		Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: pending, Boot: boot, ShuttingDown: shuttingDown}},
	}})}
	registered.Do(func() { manage(t, w.Lab) })
	for _, cluster := range clusters {
		w.Cluster(cluster)
	}
	return w
}

// manage has clusterctl install Slipway in a laboratory, which becomes a management cluster.
func manage(t *testing.T, l *lab.Lab) {
	t.Helper()
	if err := repository(t).Register(t.Context(), l.Kubeconfig(), l.Client()); err != nil {
		t.Fatal(err)
	}
	options := clusterctlclient.InitOptions{
		Kubeconfig: clusterctlclient.Kubeconfig{Path: l.Kubeconfig()}, InfrastructureProviders: []string{slipway},
	}
	if _, err := clusterctl(t).Init(t.Context(), options); err != nil {
		t.Fatalf("clusterctl init --infrastructure slipway: %v", err)
	}
	// Its address leads nowhere here, and the API server would wait five seconds for it at every
	// write of a pool, before it writes all the same.
	webhooks := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "slipway-validating-webhook"}}
	if err := l.Client().Delete(t.Context(), webhooks); err != nil {
		t.Fatal(err)
	}
}

// repository creates the repository when the first test needs it.
func repository(t *testing.T) *Repository {
	t.Helper()
	shared.Do(func() { shared.repository, shared.err = NewRepository(shared.directory, root, variables) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.repository
}

// clusterctl is the real one.
func clusterctl(t *testing.T) clusterctlclient.Client {
	t.Helper()
	c, err := repository(t).Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kubeconfigFile writes the kubeconfig of a control plane to where clusterctl finds it.
func kubeconfigFile(t *testing.T, plane interface{ Kubeconfig() ([]byte, error) }) string {
	t.Helper()
	content, err := plane.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
