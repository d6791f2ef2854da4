package installation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterctlclient "sigs.k8s.io/cluster-api/cmd/clusterctl/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/kubectl"
)

// mostRuns limits how often a migration is begun again.
const mostRuns = 20

// migrator runs `slipway migrate capa` as a user does, who loses the connection again and again.
type migrator struct {
	*world
	t *testing.T
	// kubeconfig leads to a proxy of the API server.
	kubeconfig string

	mu sync.Mutex
	// running is the process, which is killed before it learns of its first write.
	running *exec.Cmd
	writes  int
}

// newMigrator returns a migrator.
func (w *world) newMigrator(t *testing.T) *migrator {
	t.Helper()
	m := &migrator{world: w, t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	admin := w.Lab.RESTConfig()
	target, err := url.Parse(admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(admin)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport:      transport,
		ModifyResponse: m.written,
		ErrorLog:       log.New(io.Discard, "", 0), // about the answers that are lost
	})
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	config.CurrentContext = "proxy"
	if err := clientcmd.WriteToFile(*config, m.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return m
}

// written kills the process once the API server has performed a write, so that its answer is lost.
func (m *migrator) written(response *http.Response) error {
	if response.Request.Method != http.MethodPatch || response.StatusCode != http.StatusOK {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	return errors.Join(m.running.Process.Kill(), errors.New("the connection is lost"))
}

// migrate runs the command until a run ends by itself, which is one that has nothing to write, and returns
// its exit code, its output, and the number of runs that were killed after their write.
func (m *migrator) migrate(arguments ...string) (exit int, output string, writes int) {
	m.t.Helper()
	for range mostRuns {
		var out bytes.Buffer
		process := exec.CommandContext(m.t.Context(), files.program, append([]string{"migrate", "capa", "--execute"}, arguments...)...) // #nosec G204 -- the program of the test
		process.Env = m.commandEnvironment(m.kubeconfig)
		process.Stdout, process.Stderr = &out, &out
		m.mu.Lock()
		m.running, m.writes = process, 0
		err := process.Start()
		m.mu.Unlock()
		if err != nil {
			m.t.Fatal(err)
		}
		_ = process.Wait() // the exit code counts
		m.mu.Lock()
		wrote := m.writes
		m.mu.Unlock()
		if wrote == 0 {
			return process.ProcessState.ExitCode(), out.String(), writes
		}
		writes += wrote
	}
	m.t.Fatalf("the migration is not complete after %d runs", mostRuns)
	return 0, "", 0
}

// stops migrates until the command stops at a step that is blocked.
func (m *migrator) stops(step string, writes int, arguments ...string) {
	m.t.Helper()
	exit, output, wrote := m.migrate(arguments...)
	blocked := regexp.MustCompile(`(?m)^` + step + ` .*: blocked$`)
	if exit != 1 || !blocked.MatchString(output) || wrote != writes {
		m.t.Fatalf("exit code %d after %d writes, want 1 after %d, at step %s:\n%s", exit, wrote, writes, step, output)
	}
}

// completes migrates until every step is done.
func (m *migrator) completes(writes int, arguments ...string) {
	m.t.Helper()
	if exit, output, wrote := m.migrate(arguments...); exit != 0 || wrote != writes {
		m.t.Fatalf("exit code %d after %d writes, want 0 after %d:\n%s", exit, wrote, writes, output)
	}
}

// commandEnvironment returns the environment of a program that calls the API server of a kubeconfig, and the
// AWS of the test.
func (w *world) commandEnvironment(kubeconfig string) []string {
	return append(os.Environ(), "KUBECONFIG="+kubeconfig, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL="+w.Cloud.Endpoint, "AWS_REGION="+w.Cloud.Region(),
		"AWS_ACCESS_KEY_ID="+lab.AccessKeyID(w.Account), "AWS_SECRET_ACCESS_KEY="+lab.SecretAccessKey,
	)
}

// runs waits until so many instances run with Nodes, and fails if one of the earlier ones is gone.
func (w *world) runs(count int, by string, earlier map[string]bool, more func() error) map[string]bool {
	w.Helper()
	var running map[string]bool
	w.Eventually(fmt.Sprintf("%d nodes, by %s", count, by), func() error {
		running = w.running()
		if nodes := w.Nodes(); len(running) != count || len(nodes) != count {
			return errors.Join(fmt.Errorf("%d instances run, and there are %d nodes", len(running), len(nodes)), more())
		}
		return nil
	})
	for id := range earlier {
		if !running[id] {
			w.Errorf("instance %s was replaced", id)
		}
	}
	return running
}

// TestMigration migrates a pool from CAPA to Slipway and back, with the program, which loses the
// connection after each of its writes. CAPA's own manager runs as its Deployment says. Each
// controller scales the pool out while it has it, and no node is replaced.
func TestMigration(t *testing.T) {
	w := newWorld(t)
	before, err := w.inventory()
	if err != nil {
		t.Fatal(err)
	}
	capas := w.installCAPA(t)
	w.Eventually("the API server serves pools", func() error {
		pools := &unstructured.UnstructuredList{}
		pools.SetAPIVersion(infrav1.GroupVersion.Group + "/v1beta2")
		pools.SetKind("AWSMachinePoolList")
		return w.Client.List(t.Context(), pools)
	})
	w.ApplyFile(example, "infrastructure.cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1beta2") // the version that CAPA serves
	problems := func() error { return errors.New(capas.output.String()) }
	nodes := w.runs(2, "CAPA", nil, problems)
	w.Eventually("CAPA has recorded the group of the pool", func() error {
		pool := &infrav1.AWSMachinePool{}
		w.get(pool, w.Namespace, poolName)
		if pool.Spec.ProviderID == "" {
			return errors.Join(errors.New("spec.providerID is empty"), problems())
		}
		return nil
	})
	m := w.newMigrator(t)

	m.stops("install-slipway", 4) // the cluster, two webhook configurations, and the Deployment
	if capas.runsPools() {
		t.Errorf("CAPA's manager runs with %q", capas.args())
	}
	if err := w.initialize(); err != nil {
		t.Fatal(err)
	}
	w.addCredentials()
	w.awaitCertificates()
	manager := w.startPod(t, files.program, loopback)
	m.completes(1) // the cluster
	w.Eventually("Slipway has the pool", func() error { return errors.Join(w.settled(2), manager.running()) })
	w.scale(3)
	nodes = w.runs(3, "Slipway", nodes, manager.running)
	w.Eventually("the pool is settled", func() error { return w.settled(3) })

	m.stops("uninstall-slipway", 3, "--back") // the image, the release, and the cluster
	manager.stop()
	c, kubeconfig, err := w.clusterctl()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), clusterctlclient.DeleteOptions{Kubeconfig: kubeconfig, InfrastructureProviders: []string{"slipway"}}); err != nil {
		t.Fatal(err)
	}
	m.stops("restore-capa-definitions", 0, "--back")
	w.applyDefinitions(t)
	m.completes(4, "--back") // the Deployment, two webhook configurations, and the cluster
	if !capas.runsPools() {
		t.Errorf("CAPA's manager runs with %q", capas.args())
	}
	w.scale(4)
	w.runs(4, "CAPA", nodes, problems)
	for _, call := range w.Cloud.AWS.Calls() {
		if call.Action == "StartInstanceRefresh" || call.Action == "TerminateInstances" {
			t.Errorf("AWS was called for %s", call.Action)
		}
	}
	w.deletePools()
	w.removeAll(t)
	w.nothingLeft(before)
}

// removeAll removes CAPA, and what is left of Slipway: its namespace, roles, and definitions.
func (w *world) removeAll(t *testing.T) {
	t.Helper()
	for _, arguments := range [][]string{
		{"validatingwebhookconfiguration,mutatingwebhookconfiguration", "-l", "cluster.x-k8s.io/provider=infrastructure-aws"},
		{"namespace", capaNamespace, namespace},
		{"clusterrole,clusterrolebinding,customresourcedefinition", "-l", provider},
		{"customresourcedefinition", "--ignore-not-found", "awsmachinepools." + infrav1.GroupVersion.Group, "awsmanagedmachinepools." + infrav1.GroupVersion.Group, "nodeadmconfigs.bootstrap.cluster.x-k8s.io"},
	} {
		if _, err := kubectl.Delete(t.Context(), w.Lab.Kubeconfig(), arguments...); err != nil {
			t.Error(err)
		}
	}
}
