package scheduling

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// filters are the filters of kube-scheduler's default profile. A test puts Nodes and pods on the
// shelf; namespaces, claims, and volumes come from a real API server.
type filters struct {
	profile framework.Framework
	shelf   *shelf
}

// shelf is a scheduler's view of Nodes: a snapshot that is exchanged while the scheduler's plugins
// keep hold of the shelf.
type shelf struct {
	*internalcache.Snapshot
	attaching map[string]*storagev1.CSINode
}

// CSINodes implements fwk.CSIManager.
func (s *shelf) CSINodes() fwk.CSINodeLister { return s }

// Get implements fwk.CSINodeLister.
func (s *shelf) Get(name string) (*storagev1.CSINode, error) {
	if node := s.attaching[name]; node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(storagev1.Resource("csinodes"), name)
}

// List implements fwk.CSINodeLister.
func (s *shelf) List() ([]*storagev1.CSINode, error) {
	var all []*storagev1.CSINode
	for _, node := range s.attaching {
		all = append(all, node)
	}
	return all, nil
}

// newFilters builds the default profile as kube-scheduler does (scheduler.New), except for claims
// of devices: there are none.
func newFilters(ctx context.Context, cluster *rest.Config) (*filters, error) {
	clients, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	defaults, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("reading the scheduler's defaults: %w", err)
	}
	profile := defaults.Profiles[0]
	profile.Plugins.MultiPoint.Disabled = append(profile.Plugins.MultiPoint.Disabled, config.Plugin{Name: names.DynamicResources})
	enabled := profile.Plugins.MultiPoint.Enabled[:0]
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		if plugin.Name != names.DynamicResources {
			enabled = append(enabled, plugin)
		}
	}
	profile.Plugins.MultiPoint.Enabled = enabled
	metrics.Register()
	f := &filters{shelf: &shelf{Snapshot: internalcache.NewEmptySnapshot()}}
	shared := informers.NewSharedInformerFactory(clients, 0)
	f.profile, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		runtime.WithClientSet(clients), runtime.WithKubeConfig(cluster), runtime.WithInformerFactory(shared), runtime.WithSnapshotSharedLister(f.shelf),
		runtime.WithSharedCSIManager(f.shelf), runtime.WithParallelism(1),
		runtime.WithWaitingPods(runtime.NewWaitingPodsMap()), runtime.WithPodsInPreBind(runtime.NewPodsInPreBindMap()))
	if err != nil {
		return nil, fmt.Errorf("making the scheduler's default profile: %w", err)
	}
	shared.Start(ctx.Done())
	for kind, synced := range shared.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("watching %s: %w", kind, context.Cause(ctx))
		}
	}
	return f, nil
}

// see puts Nodes and the pods that are bound to them on the shelf. The volumes that they can attach
// are among the resources of foreseen Nodes; the scheduler has them from CSINodes.
func (f *filters) see(nodes []*corev1.Node, bound []*corev1.Pod) {
	f.shelf.Snapshot = internalcache.NewSnapshot(bound, nodes)
	f.shelf.attaching = map[string]*storagev1.CSINode{}
	for _, node := range nodes {
		if volumes, bounded := node.Status.Allocatable[packing.AttachableVolumes(packtest.Driver)]; bounded {
			driver := storagev1.CSINodeDriver{Name: packtest.Driver, NodeID: node.Name, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(int32(volumes.Value()))}}
			f.shelf.attaching[node.Name] = &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}}}
		}
	}
}

// refuse says why the scheduler would not put a pod on a Node; empty if it would.
func (f *filters) refuse(ctx context.Context, pod *corev1.Pod, node string) string {
	state := framework.NewCycleState()
	result, status, _ := f.profile.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return status.String()
	}
	if !result.AllNodes() && !result.NodeNames.Has(node) {
		return "the pod is for other nodes alone"
	}
	info, err := f.shelf.NodeInfos().Get(node)
	if err != nil {
		return err.Error()
	}
	status = f.profile.RunFilterPlugins(ctx, state, pod, info)
	if status.IsSuccess() {
		return ""
	}
	return status.String()
}
