package installation

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/kubectl"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/release"
)

// firstRelease is the commit that recorded what release v0.1 writes (lab/integration/testdata/upgrade).
// It stands in for the previous release until there is a tag.
const firstRelease = "365367d08f27b5502d75d791020bca594957f12a"

const (
	managedExample = "../../examples/managedmachinepool.yaml"
	managedCluster = "eks"
)

var previous = flag.String("previous", firstRelease, "commit or tag of the previous release, for TestReleasesInTurns")

// side is a release that can be installed: its components and its program.
type side struct {
	name, components, program string
	arguments                 []string
}

// TestReleasesInTurns runs the previous release's manager, this one's, the previous one's again and this
// one's again over the same pools, one of each kind. Each has its own components, and runs as its own
// Deployment says. Each scales the pools out, which shows that it works. No node is replaced.
func TestReleasesInTurns(t *testing.T) {
	sources := previousSources(t)
	w := newWorld(t)
	w.Cluster(lab.ClusterOptions{Name: managedCluster, Managed: true, KubernetesVersion: "v1.34.0"})
	w.pools["AWSManagedMachinePool"] = "capa-mmp-0"
	before, err := w.inventory()
	if err != nil {
		t.Fatal(err)
	}
	sides := []side{
		w.newSide("the previous release", sources), // it does not refuse workload clusters on this machine
		w.newSide("this release", root, loopback),
	}
	nodes := map[string]bool{}
	for turn, count := range []int{2, 3, 4, 5} {
		side, last := sides[turn%len(sides)], turn == 3
		name := fmt.Sprintf("turn %d, of %s", turn+1, side.name)
		if turn == 2 { // back to the previous release
			w.deleteWebhooks()
		}
		w.install(side, turn == 0)
		w.Cloud.AWS.ClearCalls()
		manager := w.startPod(t, side.program, side.arguments...)
		if turn == 0 {
			w.ApplyFile(example)
			w.ApplyFile(managedExample, "clusterName: capa", "clusterName: "+managedCluster)
		}
		w.scale(count)
		w.Eventually(name+": the pools have their nodes", func() error { return errors.Join(w.settled(count), manager.running()) })
		running := w.running()
		for id := range nodes {
			if !running[id] {
				t.Errorf("%s: instance %s is gone", name, id)
			}
		}
		nodes = running
		if calls := w.replacements(); len(calls) > 0 {
			t.Errorf("%s: AWS was asked to replace instances: %q", name, calls)
		}
		if last {
			w.deletePools()
		}
		manager.stop()
	}
	for _, side := range sides { // an object that only one of them has would otherwise be left
		if _, err := kubectl.Delete(t.Context(), w.Lab.Kubeconfig(), "-f", side.components, "--ignore-not-found"); err != nil {
			t.Error(err)
		}
	}
	w.nothingLeft(before)
}

// newSide builds the components and the program of sources.
func (w *world) newSide(name, sources string, arguments ...string) side {
	w.Helper()
	directory := w.TempDir()
	s := side{name: name, components: filepath.Join(directory, "components.yaml"), program: filepath.Join(directory, "slipway"), arguments: arguments}
	components, err := release.Components(sources, "default", image)
	if err != nil {
		w.Fatal(err)
	}
	if sources == root {
		s.program, err = files.program, nil
	} else {
		err = labtest.Build(w.Context(), sources, "./cmd/slipway", s.program)
	}
	if err := errors.Join(err, os.WriteFile(s.components, components, 0o600)); err != nil {
		w.Fatal(err)
	}
	return s
}

// deleteWebhooks deletes the webhook configuration, as the upgrade guide says before an earlier release,
// which may have fewer webhooks, is installed.
func (w *world) deleteWebhooks() {
	w.Helper()
	webhooks := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "slipway-validating-webhook"}}
	if err := w.Client.Delete(w.Context(), webhooks); err != nil {
		w.Fatal(err)
	}
}

// install applies the components of a release over what is installed.
func (w *world) install(s side, first bool) {
	w.Helper()
	if _, err := kubectl.Apply(w.Context(), w.Lab.Kubeconfig(), s.components, "--server-side", "--force-conflicts"); err != nil {
		w.Fatal(err)
	}
	if first {
		w.addCredentials()
	}
	w.awaitCertificates()
}

// scale sets the number of nodes of each pool.
func (w *world) scale(count int) {
	w.Helper()
	for _, name := range w.pools {
		machinePool := &clusterv1.MachinePool{}
		w.get(machinePool, w.Namespace, name)
		before := machinePool.DeepCopy()
		machinePool.Spec.Replicas = ptr.To(int32(count)) // #nosec G115 -- a few
		if err := w.Client.Patch(w.Context(), machinePool, client.MergeFrom(before)); err != nil {
			w.Fatal(err)
		}
	}
}

// replacements returns the calls that end instances.
func (w *world) replacements() []string {
	var found []string
	for _, call := range w.Cloud.AWS.Calls() {
		if slices.Contains([]string{"StartInstanceRefresh", "TerminateInstances", "TerminateInstanceInAutoScalingGroup", "DetachInstances", "SetInstanceHealth"}, call.Action) {
			found = append(found, call.Action)
		}
	}
	return found
}

// previousSources returns a directory with the sources of the previous release, out of the repository's
// history.
func previousSources(t *testing.T) string {
	t.Helper()
	check := exec.Command("git", "cat-file", "-e", *previous+"^{commit}") // #nosec G204 -- a flag of the test
	check.Dir = root
	if output, err := check.CombinedOutput(); err != nil {
		missing := fmt.Sprintf("the repository does not have commit %s of the previous release (%v: %s): fetch the whole history with `git fetch --unshallow`", *previous, err, output)
		if os.Getenv("REQUIRE_PREVIOUS_RELEASE") != "" {
			t.Fatal(missing) // a job with a shallow clone would never run the test
		}
		t.Skip(missing)
	}
	directory := t.TempDir()
	archive := filepath.Join(directory, "sources.tar")
	for _, arguments := range [][]string{{"git", "archive", "--output", archive, *previous}, {"tar", "-x", "-f", archive, "-C", directory}} {
		command := exec.Command(arguments[0], arguments[1:]...) // #nosec G204 -- a flag of the test
		command.Dir = root
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", arguments, err, output)
		}
	}
	return directory
}
