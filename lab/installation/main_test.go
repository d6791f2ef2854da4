package installation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/clusterctl"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/release"
)

const (
	root      = "../.."
	namespace = "slipway-system"
	example   = "../../examples/machinepool.yaml"
	poolName  = "capa-mp-0"
	// rate lets simulated minutes pass in fractions of a second.
	rate = 300
	// image is the image of a release that is written from the sources. Nothing pulls it.
	image = "registry.example.com/slipway:" + clusterctl.SlipwayVersion
	// nextVersion is the version of a release after it, of the same sources, and nextImage its image.
	nextVersion = "v0.1.1"
	nextImage   = "registry.example.com/slipway:" + nextVersion
)

// released is a directory that `make release` wrote.
var released = flag.String("release", "", "directory of a release with the version "+clusterctl.SlipwayVersion+
	" to install, with its program for linux/amd64; if empty, one is written from the sources, and the program is built")

// releasedImage is the image that this release names.
var releasedImage = flag.String("image", image, "image of the release of -release")

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "slipway-installation-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	files.directory = directory
	code := labtest.RunWith(m, lab.Options{WithoutSlipway: true, WithoutClusterTopology: true, Scheduler: true})
	if err := os.RemoveAll(directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// files are a release and its program, which all tests share.
var files struct {
	sync.Once
	directory  string
	repository *clusterctl.Repository
	// folder has the files of the release, and next the files of the release after it.
	folder, next string
	program      string
	// certManager is the program that runs cert-manager's controllers.
	certManager string
	err         error
}

// prepare writes the release when the first test needs it, to where clusterctl finds it.
func prepare(t *testing.T) {
	t.Helper()
	files.Do(func() {
		files.folder, files.program = filepath.Join(files.directory, "infrastructure-slipway", clusterctl.SlipwayVersion), filepath.Join(files.directory, "slipway")
		files.certManager = filepath.Join(files.directory, "certmanager")
		if files.err = labtest.Build(context.Background(), filepath.Join(root, "certmanager"), ".", files.certManager); files.err != nil {
			return
		}
		if files.repository, files.err = clusterctl.NewRepository(files.directory, root, map[string]string{"AWS_B64ENCODED_CREDENTIALS": "bm9uZQ=="}); files.err != nil {
			return
		}
		files.next = filepath.Join(filepath.Dir(files.folder), nextVersion)
		if files.err = release.WriteInstallation(root, files.next, nextImage, nextVersion); files.err != nil {
			return
		}
		if *released == "" {
			files.err = errors.Join(release.WriteInstallation(root, files.folder, image, clusterctl.SlipwayVersion),
				labtest.BuildSlipway(context.Background(), root, files.program))
			return
		}
		files.program = filepath.Join(files.folder, "slipway-linux-amd64")
		files.err = errors.Join(os.RemoveAll(files.folder), os.CopyFS(files.folder, os.DirFS(*released)), os.Chmod(files.program, 0o700)) // #nosec G302 -- a program
	})
	if files.err != nil {
		t.Fatal(files.err)
	}
}

// world is a test's part of the laboratory, with a ready cluster and without Slipway.
type world struct {
	*labtest.Env
	// pools are the names of the pools, by their kind.
	pools map[string]string
	// certManager issues the certificates of webhooks.
	certManager *pod
}

// registered reports whether clusterctl knows the laboratory, which the first test registers with
// it.
var registered bool

// newWorld returns a laboratory in which nothing remembers the installation of the test before: Cluster
// API starts anew.
func newWorld(t *testing.T) *world {
	t.Helper()
	prepare(t)
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	w := &world{pools: map[string]string{"AWSMachinePool": poolName}, Env: labtest.NewWith(t, labtest.Options{AWS: awssim.Options{
		Clock: clock,
		Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{
			Pending: 10 * time.Second, Boot: 20 * time.Second, ShuttingDown: 10 * time.Second,
		}},
	}})}
	if registered {
		if err := w.Lab.RestartClusterAPI(t.Context()); err != nil {
			t.Fatal(err)
		}
	} else if err := files.repository.Register(t.Context(), w.Lab.Kubeconfig(), w.Client); err != nil {
		t.Fatal(err)
	}
	registered = true
	w.certManager = start(t, exec.Command(files.certManager, "--kubeconfig", w.Lab.Kubeconfig())) // #nosec G204 -- the program of the test
	w.Cluster(lab.ClusterOptions{})
	before := w.webhooks()
	t.Cleanup(func() { w.removeWebhooks(t, before) })
	return w
}

// webhooks returns the webhook configurations by kind and name.
func (w *world) webhooks() map[string]client.Object {
	w.Helper()
	found := map[string]client.Object{}
	validating, mutating := &admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{}
	for _, list := range []client.ObjectList{validating, mutating} {
		if err := w.Client.List(context.WithoutCancel(w.Context()), list); err != nil {
			w.Fatal(err)
		}
	}
	for i := range validating.Items {
		found["validating/"+validating.Items[i].Name] = &validating.Items[i]
	}
	for i := range mutating.Items {
		found["mutating/"+mutating.Items[i].Name] = &mutating.Items[i]
	}
	return found
}

// removeWebhooks deletes the webhook configurations that the test added. A test that fails leaves them, and
// the API server would refuse the objects of the tests after it, because nothing serves the webhooks.
func (w *world) removeWebhooks(t *testing.T, before map[string]client.Object) {
	t.Helper()
	for name, configuration := range w.webhooks() {
		if before[name] != nil {
			continue
		}
		if err := w.Client.Delete(context.WithoutCancel(t.Context()), configuration); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting webhook configuration %s: %v", name, err)
		}
	}
}

// settled returns nil once every pool is rolled out as its spec says, and runs so many instances with
// Nodes.
func (w *world) settled(count int) error {
	for kind, name := range w.pools {
		if err := w.complete(kind, name); err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
	}
	count *= len(w.pools)
	if running := w.running(); len(running) != count {
		return fmt.Errorf("%d instances run, want %d", len(running), count)
	}
	if nodes := w.Nodes(); len(nodes) != count {
		return fmt.Errorf("there are %d nodes, want %d", len(nodes), count)
	}
	return nil
}

// complete returns nil if a pool is ready and rolled out for its current generation.
func (w *world) complete(kind, name string) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
		return err
	}
	var pool struct {
		Status struct {
			ObservedGeneration int64              `json:"observedGeneration"`
			Conditions         []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pool); err != nil {
		return err
	}
	if pool.Status.ObservedGeneration != object.GetGeneration() {
		return fmt.Errorf("generation %d is observed of %d", pool.Status.ObservedGeneration, object.GetGeneration())
	}
	for _, condition := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		if !meta.IsStatusConditionTrue(pool.Status.Conditions, condition) {
			return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
		}
	}
	return nil
}

// running returns the IDs of the running instances.
func (w *world) running() map[string]bool {
	found := map[string]bool{}
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		if instance.State.Name == ec2types.InstanceStateNameRunning {
			found[*instance.InstanceId] = true
		}
	}
	return found
}

// deletePools deletes the pools, and waits until they have left no instance.
func (w *world) deletePools() {
	w.Helper()
	for _, name := range w.pools {
		machinePool := &clusterv1.MachinePool{}
		machinePool.Namespace, machinePool.Name = w.Namespace, name
		if err := w.Client.Delete(w.Context(), machinePool); err != nil {
			w.Fatal(err)
		}
	}
	w.Eventually("the pools are gone, and their instances", func() error {
		var left clusterv1.MachinePoolList
		if err := w.Client.List(w.Context(), &left, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		if running := w.running(); len(left.Items) > 0 || len(running) > 0 {
			return fmt.Errorf("there are %d MachinePools, and %d instances run", len(left.Items), len(running))
		}
		return nil
	})
}
