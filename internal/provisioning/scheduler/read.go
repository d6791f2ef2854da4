package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// read lists what there is from the cache, and goes on only once the cache shows what earlier
// passes wrote: who launched without seeing that would launch twice, and beyond limits.
func (r *Reconciler) read(ctx context.Context, p *pass) reconciling.Outcome {
	var provisioners provisioningv1.ProvisionerList
	var provisioned provisioningv1.ProvisionedNodeList
	var nodes corev1.NodeList
	var sets appsv1.DaemonSetList
	var namespaces corev1.NamespaceList
	var claims corev1.PersistentVolumeClaimList
	var volumes corev1.PersistentVolumeList
	var classes storagev1.StorageClassList
	var attaching storagev1.CSINodeList
	var attachments storagev1.VolumeAttachmentList
	for _, list := range []client.ObjectList{&provisioned, &provisioners, &nodes, &sets, &namespaces, &claims, &volumes, &classes, &attaching, &attachments} {
		// The lists are read-only.
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return reconciling.Fail(fmt.Errorf("listing %T: %w", list, err))
		}
	}
	pods, err := r.Pods(ctx)
	if err != nil {
		return reconciling.Fail(fmt.Errorf("listing pods: %w", err))
	}
	unseen, err := r.created.unseen(ctx, r.Live, provisioned.Items)
	if err != nil {
		return reconciling.Fail(err)
	}
	if unseen {
		return reconciling.Stop("the cache does not show the nodes that were launched last")
	}
	slices.SortFunc(provisioned.Items, func(a, b provisioningv1.ProvisionedNode) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	p.cluster = &clusterstate.Cluster{
		Provisioners: provisioners.Items, Provisioned: provisioned.Items, Nodes: nodes.Items, Pods: pods, DaemonSets: sets.Items,
		Namespaces: namespaces.Items, Claims: claims.Items, Volumes: volumes.Items, Classes: classes.Items, CSINodes: attaching.Items, Attachments: attachments.Items,
	}
	r.keepPromises(p.cluster)
	return reconciling.Continue()
}

// bindingTime is the time that the scheduler may take to bind a pod to a node that is ready. After
// that the pod is packed anew.
const bindingTime = time.Minute

// keepPromises forgets promises to pods that no longer wait, promises of nodes that go, and
// promises that the scheduler did not keep: at once where it gave their room to other pods.
func (r *Reconciler) keepPromises(cluster *clusterstate.Cluster) {
	waiting := map[types.UID]*corev1.Pod{}
	for _, pod := range cluster.Waiting() {
		waiting[pod.UID] = pod
	}
	now := r.Clock.Now()
	r.nominations.recover(cluster, r.Promises)
	r.ready.note(cluster, now)
	r.Promises.Add(cluster.Renamed(r.Promises.All()))
	cluster.Promised = r.Promises.All()
	r.movers.note(cluster, waiting, now)
	for before, heir := range r.movers.heirs(cluster, waiting) {
		r.Promises.Pass(before, heir)
	}
	cluster.Promised = r.Promises.All()
	overfull := cluster.Overfull()
	r.Promises.Keep(func(uid types.UID, name string) bool {
		pod := waiting[uid]
		if _, kept := cluster.Promise(uid); !kept {
			return false
		}
		if pod == nil {
			return r.movers.keeps(uid, now)
		}
		if overfull[name] {
			return false // it is packed anew, onto the same node if there is room after all
		}
		// One that still runs elsewhere is bound when it has been evicted, and that may take its time.
		return pod.Spec.NodeName != "" || !r.ready.longerThan(name, bindingTime, now)
	})
	cluster.Promised = r.Promises.All()
}

// readySince holds when nodes were first seen ready, by name.
type readySince map[string]time.Time

func (s *readySince) note(cluster *clusterstate.Cluster, now time.Time) {
	before := *s
	*s = readySince{}
	for i := range cluster.Provisioned {
		node := &cluster.Provisioned[i]
		if !clusterstate.IsTrue(node, provisioningv1.ReadyCondition) {
			continue
		}
		(*s)[node.Name] = now
		if at, known := before[node.Name]; known {
			(*s)[node.Name] = at
		}
	}
}

func (s *readySince) known(name string) bool {
	_, ready := (*s)[name]
	return ready
}

func (s *readySince) longerThan(name string, duration time.Duration, now time.Time) bool {
	at, ready := (*s)[name]
	return ready && now.Sub(at) >= duration
}

// created holds ProvisionedNodes that were created and not seen in the cache since.
type created struct {
	mu    sync.Mutex
	names map[string]bool
}

func (c *created) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = map[string]bool{}
	}
	c.names[name] = true
}

// unseen reports whether there is one that exists and that the cache does not show. Its event
// brings the next pass.
func (c *created) unseen(ctx context.Context, live client.Reader, seen []provisioningv1.ProvisionedNode) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range seen {
		delete(c.names, seen[i].Name)
	}
	for name := range c.names {
		err := live.Get(ctx, client.ObjectKey{Name: name}, &provisioningv1.ProvisionedNode{})
		switch {
		case err == nil:
			return true, nil
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("reading ProvisionedNode %q: %w", name, err)
		}
		delete(c.names, name)
	}
	return false, nil
}
