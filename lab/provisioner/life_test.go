package provisioner

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// gone waits until nothing is left of any node.
func (w *world) gone() {
	w.Helper()
	w.Eventually("no node is left", func() error {
		if claims, nodes, instances := w.provisioned(), w.Nodes(), w.instances(); len(claims)+len(nodes)+len(instances) > 0 {
			return fmt.Errorf("there are %d ProvisionedNodes, %d Nodes and %d instances", len(claims), len(nodes), len(instances))
		}
		return nil
	})
}

// TestEmptyNodeEnds holds that a node goes once the last pod has left for ttlSeconds, and not while one runs.
func TestEmptyNodeEnds(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "ttlSeconds: 30")
	pod := w.pod("one")
	w.bound(pod)
	w.Eventually("the node is known to be in use", func() error {
		if claims := w.provisioned(); len(claims) != 1 || claims[0].Status.EmptySince != nil {
			return fmt.Errorf("%+v", claims)
		}
		return nil
	})
	w.sleep("2m")
	if claims := w.provisioned(); len(claims) != 1 || claims[0].DeletionTimestamp != nil {
		t.Fatalf("the node ends though a pod runs there: %+v", claims)
	}
	if err := w.Client.Delete(w.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.gone()
	if w.count("TerminateInstances") == 0 {
		t.Error("the instance has ended, and not by the provisioner")
	}
}

// TestDeletedProvisioner holds that a provisioner goes after its nodes and its default launch
// template, by its finalizer.
func TestDeletedProvisioner(t *testing.T) {
	w := newWorld(t)
	w.provision("default")
	w.pod("one")
	w.readyNodes(1)
	if err := w.Client.DeleteAllOf(w.Context(), &provisioningv1.Provisioner{}); err != nil {
		t.Fatal(err)
	}
	w.gone()
	w.Eventually("the provisioner and its launch template are gone", func() error {
		var provisioners provisioningv1.ProvisionerList
		if err := w.Client.List(w.Context(), &provisioners); err != nil {
			return err
		}
		if deleted := w.count("DeleteLaunchTemplate"); len(provisioners.Items) > 0 || deleted != 1 {
			return fmt.Errorf("%d provisioners, %d deleted templates", len(provisioners.Items), deleted)
		}
		return nil
	})
}

// TestLostInstance holds that an instance that was terminated outside Slipway takes its object
// along.
func TestLostInstance(t *testing.T) {
	w := newWorld(t)
	w.provision("default")
	pod := w.pod("one")
	w.bound(pod)
	w.terminate(w.provisioned()[0].Status.InstanceID)
	w.gone()
}
