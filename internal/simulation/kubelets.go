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
func (s *provisioning) boots(id string) {
	if s.chance.happens(s.mute) {
		s.trace.detail("the kubelet of instance %s never starts", id)
		s.silent[id] = true
		return
	}
	s.clock.AfterFunc(s.joinAfter, func() {
		if s.works(id) {
			s.afterwards("registering the Node of "+id, func(ctx context.Context) error { return s.register(ctx, id) })
		}
	})
}

// works reports whether the kubelet of an instance runs.
func (s *provisioning) works(id string) bool { return !s.facts.ended(id) && !s.silent[id] }

// register creates the Node of an instance as its kubelet does. That of an instance from a default
// launch template has a taint until its ProvisionedNode's labels are on it.
func (s *provisioning) register(ctx context.Context, id string) error {
	one := s.facts.instances[id]
	name := "ip-" + id
	s.trace.detail("Node %s joins", name)
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
	if err := s.user.Create(ctx, node); err != nil {
		return err
	}
	node.Status = corev1.NodeStatus{
		Capacity: one.machine.free.DeepCopy(), Allocatable: one.machine.free.DeepCopy(),
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}},
	}
	s.clock.AfterFunc(nodeStart, func() {
		if s.works(id) {
			s.afterwards("starting Node "+name, func(ctx context.Context) error {
				return s.setReady(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, corev1.ConditionTrue)
			})
		}
	})
	return s.user.Status().Update(ctx, node)
}

// changed implements scene. It has kubelets start and stop pods, some time after the API server has
// them.
func (s *provisioning) changed(change apiserver.Change) {
	s.facts.objectChanged(s, change)
	if change.After == nil || change.After.GetKind() != "Pod" {
		return
	}
	before, after := &corev1.Pod{}, &corev1.Pod{}
	if err := s.into(change, before, after); err != nil {
		s.verdict.violate(NoPanic, "reading a pod: %w", err)
		return
	}
	name, uid := client.ObjectKeyFromObject(after), after.UID
	if before.Spec.NodeName == "" && after.Spec.NodeName != "" {
		s.clock.AfterFunc(podStart, func() {
			s.afterwards("starting pod "+name.Name, func(ctx context.Context) error { return s.startPod(ctx, name, uid) })
		})
	}
	if before.DeletionTimestamp == nil && after.DeletionTimestamp != nil {
		s.clock.AfterFunc(podEnd, func() {
			s.afterwards("ending pod "+name.Name, func(ctx context.Context) error { return s.endPod(ctx, name, uid) })
		})
	}
}

// into reads both sides of a change. What was not there stays empty.
func (s *provisioning) into(change apiserver.Change, before, after client.Object) error {
	if change.Before != nil {
		if err := s.server.Into(change.Before, before); err != nil {
			return err
		}
	}
	if change.After == nil {
		return nil
	}
	return s.server.Into(change.After, after)
}

// ofKubelet reads a pod whose kubelet works; nil for any other.
func (s *provisioning) ofKubelet(ctx context.Context, name types.NamespacedName, uid types.UID) (*corev1.Pod, error) {
	pod, node := &corev1.Pod{}, &corev1.Node{}
	if err := s.user.Get(ctx, name, pod); err != nil || pod.UID != uid {
		return nil, err
	}
	if err := s.user.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil || !s.works(clusterstate.InstanceOf(node.Spec.ProviderID)) {
		return nil, err
	}
	return pod, nil
}

func (s *provisioning) startPod(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	pod, err := s.ofKubelet(ctx, name, uid)
	if err != nil || pod == nil || pod.DeletionTimestamp != nil {
		return err
	}
	return s.updateStatus(ctx, pod, func() {
		pod.Status.Phase = corev1.PodRunning
		setCondition(&pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	})
}

func (s *provisioning) endPod(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	pod, err := s.ofKubelet(ctx, name, uid)
	if err != nil || pod == nil {
		return err
	}
	return s.update(ctx, pod, func() { controllerutil.RemoveFinalizer(pod, kubeletFinalizer) })
}
