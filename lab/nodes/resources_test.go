package nodes

import (
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// worldOnly is a cloud that has instance types alone.
type worldOnly struct{ Cloud }

func (worldOnly) World() *world.World { return world.Default() }

func instanceOf(kind string) ec2types.Instance {
	return ec2types.Instance{InstanceType: ec2types.InstanceType(kind)}
}

func TestResources(t *testing.T) {
	t.Parallel()
	n := &Nodes{cloud: worldOnly{}}
	for _, row := range []struct {
		reason, kind string
		data         userData
		capacity     map[corev1.ResourceName]string
		allocatable  map[corev1.ResourceName]string
	}{
		{
			"kubeadm leaves the kubelet its defaults", "m5.large", userData{},
			map[corev1.ResourceName]string{"cpu": "2", "memory": "7885291Ki", "pods": "110"},
			map[corev1.ResourceName]string{"cpu": "2", "memory": "7782891Ki", "pods": "110"},
		},
		{
			"EKS counts addresses and keeps something back", "m5.large", userData{eks: true},
			map[corev1.ResourceName]string{"cpu": "2", "memory": "7885291Ki", "pods": "29"},
			map[corev1.ResourceName]string{"cpu": "1930m", "memory": "7195115Ki", "pods": "29"},
		},
		{
			"what it keeps back follows the addresses, not the bound", "m5.4xlarge", userData{eks: true, maxPods: 50},
			map[corev1.ResourceName]string{"cpu": "16", "memory": "63082332Ki", "pods": "50"},
			map[corev1.ResourceName]string{"cpu": "15890m", "memory": "60083036Ki", "pods": "50"},
		},
	} {
		capacity, allocatable := n.resources(machine{}, awssim.Instance{Instance: instanceOf(row.kind)}, row.data)
		for name, want := range map[string]map[corev1.ResourceName]string{"capacity": row.capacity, "allocatable": row.allocatable} {
			got := map[corev1.ResourceName]string{}
			for resource, quantity := range map[string]corev1.ResourceList{"capacity": capacity, "allocatable": allocatable}[name] {
				if resource == corev1.ResourceMemory {
					quantity.Set(quantity.Value() >> 10 << 10)
				}
				got[resource] = quantity.String()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s\n%s", row.reason, name, diff)
			}
		}
	}
}
