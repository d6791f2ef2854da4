package nodes

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim"
)

func newNode(m machine) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.nodeName()}}
}

func (n *Nodes) exists(ctx context.Context, m machine) (bool, error) {
	node := newNode(m)
	err := n.client.Get(ctx, client.ObjectKeyFromObject(node), node)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("reading Node %q: %w", node.Name, err)
	}
	return err == nil, nil
}

// register creates the Node of a machine that has joined, or sets it Ready again.
func (n *Nodes) register(ctx context.Context, m machine, instance awssim.Instance, data userData) error {
	node := newNode(m)
	node.Labels = n.labels(m, instance)
	maps.Copy(node.Labels, data.nodeLabels)
	zone := *instance.Placement.AvailabilityZone
	node.Spec.ProviderID = "aws:///" + zone + "/" + m.id
	node.Spec.Taints = data.taints
	if err := n.client.Create(ctx, node); apierrors.IsAlreadyExists(err) {
		if err := n.client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return fmt.Errorf("reading Node %q: %w", node.Name, err)
		}
	} else if err != nil {
		return fmt.Errorf("creating Node %q: %w", node.Name, err)
	}
	before := node.DeepCopy()
	node.Status = n.status(m, instance)
	node.Status.Capacity, node.Status.Allocatable = before.Status.Capacity, before.Status.Allocatable
	if len(before.Status.Capacity) == 0 { // it has just joined
		node.Status.Capacity, node.Status.Allocatable = n.resources(m, instance, data)
	}
	if err := n.client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("reporting the status of Node %q: %w", node.Name, err)
	}
	return n.removeNotReady(ctx, node)
}

// removeNotReady removes the taint that admission puts on a new Node. On a whole cluster the node
// lifecycle controller does that. Like it, removeNotReady writes the list of taints only as it read
// it: another controller may have added some meanwhile.
func (n *Nodes) removeNotReady(ctx context.Context, node *corev1.Node) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		before := node.DeepCopy()
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
		if len(node.Spec.Taints) == len(before.Spec.Taints) {
			return nil
		}
		err := n.client.Patch(ctx, node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			if failed := n.client.Get(ctx, client.ObjectKeyFromObject(node), node); failed != nil {
				return failed
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("removing the taint of Node %q: %w", node.Name, err)
	}
	return nil
}

// labels returns the labels that the kubelet and the AWS cloud provider set.
func (n *Nodes) labels(m machine, instance awssim.Instance) map[string]string {
	architecture := "amd64"
	if instance.Architecture == ec2types.ArchitectureValuesArm64 {
		architecture = "arm64"
	}
	labels := map[string]string{
		corev1.LabelHostname:           m.nodeName(),
		corev1.LabelArchStable:         architecture,
		corev1.LabelOSStable:           "linux",
		corev1.LabelInstanceTypeStable: string(instance.InstanceType),
		corev1.LabelTopologyRegion:     m.region,
		corev1.LabelTopologyZone:       *instance.Placement.AvailabilityZone,
	}
	if region := n.cloud.World().Region(m.region); region != nil {
		if zone := region.Zone(*instance.Placement.AvailabilityZone); zone != nil && zone.ID != "" {
			labels["topology.k8s.aws/zone-id"] = zone.ID
		}
	}
	return labels
}

func (n *Nodes) status(m machine, instance awssim.Instance) corev1.NodeStatus {
	now := metav1.NewTime(time.Now())
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	status := corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
			condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		},
		NodeInfo: corev1.NodeSystemInfo{
			SystemUUID: m.id, MachineID: strings.TrimPrefix(m.id, "i-"), OperatingSystem: "linux", Architecture: string(instance.Architecture),
		},
	}
	if instance.ImageId != nil {
		if image, ok := n.cloud.Region(m.account, m.region).Image(*instance.ImageId); ok && image.Name != nil {
			status.NodeInfo.OSImage = *image.Name
			status.NodeInfo.KubeletVersion = kubeletVersion(*image.Name)
		}
	}
	if instance.PrivateIpAddress != nil {
		status.Addresses = append(status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: *instance.PrivateIpAddress})
	}
	if instance.PrivateDnsName != nil && *instance.PrivateDnsName != "" {
		status.Addresses = append(status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: *instance.PrivateDnsName})
	}
	status.Addresses = append(status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: m.nodeName()})
	return status
}

// versionPattern finds the Kubernetes version in the names of CAPA's images
// (capa-ami-ubuntu-24.04-v1.33.1-…) and of EKS's
// (amazon-eks-node-al2023-x86_64-standard-1.33-v2026…).
var versionPattern = regexp.MustCompile(`(?:^|-)v?(1\.\d{2})(\.\d+)?(?:-|$)`)

// kubeletVersion guesses from the image's name; empty if it cannot.
func kubeletVersion(imageName string) string {
	match := versionPattern.FindStringSubmatch(imageName)
	if match == nil {
		return ""
	}
	if match[2] == "" {
		match[2] = ".0"
	}
	return "v" + match[1] + match[2]
}

// setNotReady updates the Node of a stopped instance; it is removed only when the instance
// terminates.
func (n *Nodes) setNotReady(ctx context.Context, m machine) error {
	node := newNode(m)
	if err := n.client.Get(ctx, client.ObjectKeyFromObject(node), node); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("reading Node %q: %w", node.Name, err)
	}
	before := node.DeepCopy()
	for i := range node.Status.Conditions {
		if condition := &node.Status.Conditions[i]; condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			condition.Status, condition.Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
			condition.LastTransitionTime = metav1.NewTime(time.Now())
		}
	}
	if err := n.client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("reporting the status of Node %q: %w", node.Name, err)
	}
	return nil
}
