package crashsweep

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

var machineScenarios = []scenario{
	{
		name:    "delete a Machine",
		prepare: haveMachines,
		act: func(h *harness) {
			machine := h.machines()[0]
			if err := h.env.Client.Delete(h.env.Context(), &machine); err != nil {
				h.Fatal(err)
			}
		},
		done: func(h *harness) error {
			if launched := h.world().Launched; launched != 3 {
				return fmt.Errorf("%d instances were launched", launched)
			}
			return h.twins(2)
		},
		rate: unhurried,
	},
}

// haveMachines has a pool whose instances have Machines, and a Machine of the control plane,
// without which core does not count the cluster as one whose nodes are worth draining.
func haveMachines(h *harness) {
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.env.Namespace, Name: "control-plane",
			Labels:      map[string]string{clusterv1.ClusterNameLabel: "capa", clusterv1.MachineControlPlaneLabel: ""},
			Annotations: map[string]string{clusterv1.PausedAnnotation: ""},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: "capa", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachine", Name: "control-plane"},
		},
	}
	if err := h.env.Client.Create(h.env.Context(), machine); err != nil {
		h.Fatal(err)
	}
	h.putBootstrapData(0)
	h.env.ApplyFile("testdata/pool.yaml", "  maxSize: 10", "  maxSize: 10\n  machinePoolMachines: Enabled")
	h.env.Eventually("each instance has a Machine", func() error { return h.twins(2) })
}

// machines are the Machines of the pool.
func (h *harness) machines() []clusterv1.Machine {
	h.Helper()
	list := &clusterv1.MachineList{}
	if err := h.env.Client.List(h.env.Context(), list, client.InNamespace(h.env.Namespace),
		client.MatchingLabels{clusterv1.MachinePoolNameLabel: format.MustFormatValue(poolName)}); err != nil {
		h.Fatal(err)
	}
	return list.Items
}

// infraMachines are our objects behind them.
func (h *harness) infraMachines() []infrav1.AWSMachinePoolMachine {
	h.Helper()
	list := &infrav1.AWSMachinePoolMachineList{}
	if err := h.env.Client.List(h.env.Context(), list, client.InNamespace(h.env.Namespace)); err != nil {
		h.Fatal(err)
	}
	return list.Items
}

// twins is nil for a pool that is ready and has a Machine with a Node for each of so many
// instances, and none that is going.
func (h *harness) twins(replicas int) error {
	if err := h.ready(int32(replicas)); err != nil {
		return err
	}
	machines, infra := h.machines(), h.infraMachines()
	if len(machines) != replicas || len(infra) != replicas {
		return fmt.Errorf("there are %d Machines and %d objects of ours", len(machines), len(infra))
	}
	for i := range machines {
		if !machines[i].Status.NodeRef.IsDefined() || !machines[i].DeletionTimestamp.IsZero() || !infra[i].DeletionTimestamp.IsZero() {
			return fmt.Errorf("machine %s has node %+v", machines[i].Name, machines[i].Status.NodeRef)
		}
	}
	return nil
}
