package simulation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// nodeStart is the time that a Node takes from its registration until it is ready.
const nodeStart = 5 * time.Second

// boots has the kubelet of an instance register its Node, some time after the instance has booted.
func (c *nodeCluster) boots(id string) {
	if c.world.chance.happens(c.mute) {
		c.world.trace.detail("the kubelet of instance %s never starts", id)
		c.silent[id] = true
		return
	}
	c.world.clock.AfterFunc(c.joinAfter, func() {
		if c.works(id) {
			c.afterwards("registering the Node of "+id, func(ctx context.Context) error { return c.register(ctx, id) })
		}
	})
}

// works reports whether the kubelet of an instance runs.
func (c *nodeCluster) works(id string) bool { return !c.facts.ended(id) && !c.silent[id] }

// register creates the Node of an instance as its kubelet does. The Node of an instance from a
// default launch template has a taint until its ProvisionedNode's labels are on it.
func (c *nodeCluster) register(ctx context.Context, id string) error {
	one := c.facts.instances[id]
	name := "ip-" + id
	c.world.trace.detail("Node %s joins", name)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelInstanceTypeStable: one.machine.name, corev1.LabelTopologyZone: one.zone, corev1.LabelTopologyRegion: region,
			corev1.LabelArchStable: "amd64", corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
		}},
		Spec: corev1.NodeSpec{
			ProviderID: fmt.Sprintf("aws:///%s/%s", one.zone, id),
			Taints:     []corev1.Taint{notReady, {Key: clusterstate.UnregisteredTaint, Effect: corev1.TaintEffectNoExecute}},
		},
	}
	if err := c.world.user.Create(ctx, node); err != nil {
		return err
	}
	node.Status = corev1.NodeStatus{
		Capacity: one.machine.free.DeepCopy(), Allocatable: one.machine.free.DeepCopy(),
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}},
	}
	c.world.clock.AfterFunc(nodeStart, func() {
		if c.works(id) {
			c.afterwards("starting Node "+name, func(ctx context.Context) error {
				return c.setReady(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, corev1.ConditionTrue)
			})
		}
	})
	return c.world.user.Status().Update(ctx, node)
}

// podChanged has kubelets start and stop pods, some time after the API server has them.
func (c *nodeCluster) podChanged(change apiserver.Change) {
	if change.After == nil || change.After.GetKind() != "Pod" {
		return
	}
	before, after := &corev1.Pod{}, &corev1.Pod{}
	if err := c.into(change, before, after); err != nil {
		c.world.verdict.violate(NoPanic, "reading a pod: %w", err)
		return
	}
	name, uid := client.ObjectKeyFromObject(after), after.UID
	if before.Spec.NodeName == "" && after.Spec.NodeName != "" {
		c.world.clock.AfterFunc(podStart, func() {
			c.afterwards("starting pod "+name.Name, func(ctx context.Context) error { return c.startPod(ctx, name, uid) })
		})
	}
	if before.DeletionTimestamp == nil && after.DeletionTimestamp != nil {
		c.world.clock.AfterFunc(podEnd, func() {
			c.afterwards("ending pod "+name.Name, func(ctx context.Context) error { return c.endPod(ctx, name, uid) })
		})
	}
}

// into reads both sides of a change. A side that does not exist stays empty.
func (c *nodeCluster) into(change apiserver.Change, before, after client.Object) error {
	if change.Before != nil {
		if err := c.world.server.Into(change.Before, before); err != nil {
			return err
		}
	}
	if change.After == nil {
		return nil
	}
	return c.world.server.Into(change.After, after)
}

// ofKubelet reads a pod whose kubelet works; nil for any other.
func (c *nodeCluster) ofKubelet(ctx context.Context, name types.NamespacedName, uid types.UID) (*corev1.Pod, error) {
	pod, node := &corev1.Pod{}, &corev1.Node{}
	if err := c.world.user.Get(ctx, name, pod); err != nil || pod.UID != uid {
		return nil, err
	}
	if err := c.world.user.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil || !c.works(clusterstate.InstanceOf(node.Spec.ProviderID)) {
		return nil, err
	}
	return pod, nil
}

func (c *nodeCluster) startPod(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	pod, err := c.ofKubelet(ctx, name, uid)
	if err != nil || pod == nil || pod.DeletionTimestamp != nil {
		return err
	}
	return c.updateStatus(ctx, pod, func() {
		pod.Status.Phase = corev1.PodRunning
		setCondition(&pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	})
}

func (c *nodeCluster) endPod(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	pod, err := c.ofKubelet(ctx, name, uid)
	if err != nil || pod == nil {
		return err
	}
	return c.update(ctx, pod, func() { controllerutil.RemoveFinalizer(pod, kubeletFinalizer) })
}
