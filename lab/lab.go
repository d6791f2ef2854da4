// Package lab is the laboratory: everything that Slipway runs against, in one process and without a
// container runtime. It starts a real etcd and kube-apiserver, Cluster API core with the kubeadm
// bootstrap provider and their webhooks, the simulated AWS, and the Nodes of its instances; it
// creates ready clusters, and runs the product's manager if it is given one.
//
// Program lab (cmd/lab) wraps it as a command, and package labtest serves go test.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/config/crd"
	provisionercrd "github.com/slipway-project/slipway/config/provisioner/crd"

	"github.com/slipway-project/slipway/lab/clusterapi"
	"github.com/slipway-project/slipway/lab/controlplane"
	"github.com/slipway-project/slipway/lab/crds"
	"github.com/slipway-project/slipway/lab/nodes"
)

// Options says what a laboratory contains. The zero value is one API server, the default world in
// real time, Slipway's definitions, and no manager.
type Options struct {
	// SeparateWorkload gives workload clusters an API server of their own, apart from the
	// management cluster's.
	SeparateWorkload bool
	// Cloud is the simulated AWS to start with; WithoutCloud starts with none, for callers that
	// start their own.
	Cloud        CloudOptions
	WithoutCloud bool
	// WithoutSlipway leaves Slipway's definitions out, so that another controller and its own can
	// take their place.
	WithoutSlipway bool
	// CRDDirs are directories of further definitions.
	CRDDirs []string
	// Manager is run until the laboratory closes; nil for none.
	Manager Manager
	// BootstrapTokenTTL is how long kubeadm join tokens are valid, in real time. Default 15 minutes.
	BootstrapTokenTTL time.Duration
	// WithoutPools leaves out Cluster API's controllers of MachinePools and KubeadmConfigs; package
	// fleet stands in for them.
	WithoutPools bool
	// WithoutClusterTopology leaves out Cluster API's controllers of ClusterClasses and of the
	// Clusters that are created from them.
	WithoutClusterTopology bool
	// Scheduler runs kube-scheduler and the controller of DaemonSets in the control plane that
	// Nodes join, and does what kubelets do to pods: bound pods run, and deleted pods go.
	Scheduler bool
	// Log receives the log of all servers. Default: a file in the laboratory's directory.
	Log io.Writer
}

// Manager runs a product's controllers until the context is done.
type Manager func(ctx context.Context, env ManagerEnv) error

// Lab is a running laboratory.
type Lab struct {
	// Management is the control plane with Cluster API; Workload the one that Nodes join. They may
	// be the same.
	Management, Workload *controlplane.ControlPlane
	// Cloud is the laboratory's own simulated AWS; nil without one.
	Cloud *Cloud

	dir        string
	client     client.Client
	workload   client.Client
	clusterAPI *clusterapi.Running
	// clusterAPIOptions are what Cluster API was started with.
	clusterAPIOptions clusterapi.Options
	log               io.Writer
	logFile           *os.File
	manager           *RunningManager
	pods              *nodes.Pods
}

// NewScheme returns a scheme with every kind that the laboratory knows: Kubernetes', Cluster API's,
// CAPA's and Slipway's.
func NewScheme() *runtime.Scheme {
	scheme := clusterapi.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{capav1.AddToScheme, eksv1.AddToScheme, infrav1.AddToScheme, provisioningv1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// Start starts a laboratory and returns when it is ready for use. The context bounds the start
// only; the laboratory runs until Close.
//
// The log of all servers is one per process: with two laboratories in it, the later one has it.
func Start(ctx context.Context, opts Options) (_ *Lab, err error) {
	// A third of the start would go to collecting garbage of a heap that only grows.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	dir, err := os.MkdirTemp("", "slipway-lab-")
	if err != nil {
		return nil, fmt.Errorf("making the laboratory's directory: %w", err)
	}
	l := &Lab{dir: dir, log: opts.Log}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.log == nil {
		// #nosec G304 -- in a directory of its own
		if l.logFile, err = os.Create(filepath.Join(dir, "lab.log")); err != nil {
			return nil, fmt.Errorf("making the laboratory's log: %w", err)
		}
		l.log = l.logFile
	}
	controlplane.LogTo(l.log)
	if err = l.startControlPlanes(ctx, opts); err != nil {
		return nil, err
	}
	if err = l.startControllers(ctx, opts); err != nil {
		return nil, err
	}
	if opts.Scheduler {
		if l.pods, err = nodes.StartPods(ctx, l.Workload.RESTConfig()); err != nil {
			return nil, err
		}
	}
	if err = l.writeKubeconfigs(); err != nil {
		return nil, err
	}
	if opts.WithoutCloud {
		return l, nil
	}
	if l.Cloud, err = l.StartCloud(ctx, opts.Cloud); err != nil {
		return nil, err
	}
	if opts.Manager != nil {
		if l.manager, err = l.StartManager(ctx, l.ManagerEnv(l.Cloud), opts.Manager); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// startControlPlanes starts one or two control planes at the same time.
func (l *Lab) startControlPlanes(ctx context.Context, opts Options) error {
	if !opts.SeparateWorkload {
		plane, err := controlplane.Start(ctx, controlplane.Options{Name: "management", Dir: l.dir, Log: l.log, Scheduler: opts.Scheduler})
		l.Management, l.Workload = plane, plane
		return err
	}
	var failures [2]error
	var wg sync.WaitGroup
	wg.Go(func() {
		l.Management, failures[0] = controlplane.Start(ctx, controlplane.Options{Name: "management", Dir: l.dir, Log: l.log})
	})
	wg.Go(func() {
		l.Workload, failures[1] = controlplane.Start(ctx, controlplane.Options{Name: "workload", Dir: l.dir, Log: l.log, Scheduler: opts.Scheduler})
	})
	wg.Wait()
	return errors.Join(failures[:]...)
}

func (l *Lab) startControllers(ctx context.Context, opts Options) error {
	var err error
	if l.client, err = client.New(l.Management.RESTConfig(), client.Options{Scheme: NewScheme()}); err != nil {
		return fmt.Errorf("making the management client: %w", err)
	}
	if l.workload, err = client.New(l.Workload.RESTConfig(), client.Options{Scheme: NewScheme()}); err != nil {
		return fmt.Errorf("making the workload client: %w", err)
	}
	sets, err := definitions(opts)
	if err != nil {
		return err
	}
	l.clusterAPIOptions = clusterapi.Options{
		RESTConfig: l.Management.RESTConfig(), Definitions: sets,
		BootstrapTokenTTL: opts.BootstrapTokenTTL, WithoutPools: opts.WithoutPools, WithoutClusterTopology: opts.WithoutClusterTopology,
	}
	if l.clusterAPI, err = clusterapi.Start(ctx, l.clusterAPIOptions); err != nil {
		return err
	}
	return l.createControllerIdentity(ctx)
}

// RestartClusterAPI stops the controllers and webhooks of Cluster API and starts them again. They then
// remember nothing of definitions that were deleted: a watch of such a kind is tried again ever more
// rarely, and takes up to a minute to see objects once the kind is back.
func (l *Lab) RestartClusterAPI(ctx context.Context) error {
	running := l.clusterAPI
	l.clusterAPI = nil
	if err := running.Stop(); err != nil {
		return err
	}
	options := l.clusterAPIOptions
	options.Definitions = nil // they are installed
	started, err := clusterapi.Start(ctx, options)
	if err != nil {
		return err
	}
	l.clusterAPI = started
	return nil
}

// definitions reads the definitions in addition to Cluster API's own, in the order in which later
// ones replace earlier ones.
func definitions(opts Options) ([]*crds.Set, error) {
	provider, err := crds.ClusterAPIProviderAWS()
	if err != nil {
		return nil, err
	}
	sets := []*crds.Set{provider}
	add := func(name string, files fs.FS) error {
		set, err := crds.FromFiles(files)
		if err != nil {
			return fmt.Errorf("reading the definitions of %s: %w", name, err)
		}
		sets = append(sets, set)
		return nil
	}
	if !opts.WithoutSlipway {
		if err := add("Slipway", crd.FS); err != nil {
			return nil, err
		}
		if err := add("Slipway's provisioner", provisionercrd.FS); err != nil {
			return nil, err
		}
	}
	for _, dir := range opts.CRDDirs {
		if err := add(dir, os.DirFS(dir)); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// Close stops everything and removes the laboratory's files. It returns within seconds; an error
// says what did not stop.
func (l *Lab) Close() error {
	var errs []error
	if l.manager != nil {
		errs = append(errs, l.manager.Stop())
	}
	if l.clusterAPI != nil {
		errs = append(errs, l.clusterAPI.Stop())
	}
	if l.Cloud != nil {
		errs = append(errs, l.Cloud.Close())
	}
	if l.pods != nil {
		l.pods.Stop()
	}
	errs = append(errs, l.stopControlPlanes())
	if l.logFile != nil {
		controlplane.LogTo(nil)
		errs = append(errs, l.logFile.Close())
	}
	errs = append(errs, os.RemoveAll(l.dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the laboratory: %w", err)
	}
	return nil
}

func (l *Lab) stopControlPlanes() error {
	planes := map[*controlplane.ControlPlane]struct{}{l.Management: {}, l.Workload: {}}
	delete(planes, nil)
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for plane := range planes {
		wg.Go(func() {
			err := plane.Stop()
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// HasManager reports whether the laboratory was started with a manager.
func (l *Lab) HasManager() bool { return l.manager != nil }

// ManagerDone returns a channel that is closed when that manager has stopped; nil if there is none.
func (l *Lab) ManagerDone() <-chan struct{} {
	if l.manager == nil {
		return nil
	}
	return l.manager.Done()
}

// Dir returns the laboratory's directory; Close removes it.
func (l *Lab) Dir() string { return l.dir }

// Client reads and writes the management cluster, without a cache.
func (l *Lab) Client() client.Client { return l.client }

// WorkloadClient reads and writes the workload cluster, without a cache.
func (l *Lab) WorkloadClient() client.Client { return l.workload }

// RESTConfig reaches the management cluster as an administrator.
func (l *Lab) RESTConfig() *rest.Config { return l.Management.RESTConfig() }

// Kubeconfig returns the path of the management cluster's kubeconfig file.
func (l *Lab) Kubeconfig() string { return filepath.Join(l.dir, "kubeconfig") }

// WorkloadKubeconfig returns the path of the workload cluster's kubeconfig file.
func (l *Lab) WorkloadKubeconfig() string { return filepath.Join(l.dir, "workload.kubeconfig") }

func (l *Lab) writeKubeconfigs() error {
	for path, plane := range map[string]*controlplane.ControlPlane{l.Kubeconfig(): l.Management, l.WorkloadKubeconfig(): l.Workload} {
		content, err := plane.Kubeconfig()
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("writing a kubeconfig: %w", err)
		}
	}
	return nil
}
