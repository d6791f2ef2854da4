package installation

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/kubectl"
	"github.com/slipway-project/slipway/lab/release"
)

// provisionerChart is the name of the provisioner's chart, and of its Deployment.
const provisionerChart = "slipway-provisioner"

// provisionerLabel selects what the chart installs.
const provisionerLabel = "app.kubernetes.io/instance=" + provisionerChart

// provisionerWays are the ways to install the provisioner, and to remove all of it.
var provisionerWays = []struct {
	name               string
	install, uninstall func(*world) error
}{
	{
		"Helm", func(w *world) error { return w.helmInstallOf(provisionerChart) },
		func(w *world) error { return w.helmUninstallOf(provisionerChart, provisionerLabel) },
	},
	{
		"kubectl",
		func(w *world) error {
			_, err := kubectl.Apply(w.Context(), w.Lab.Kubeconfig(), filepath.Join(files.folder, release.ProvisionerFile), "--server-side")
			return err
		},
		func(w *world) error {
			_, err := kubectl.Delete(w.Context(), w.Lab.Kubeconfig(), "-f", filepath.Join(files.folder, release.ProvisionerFile))
			return err
		},
	},
}

// TestProvisionerInstallation installs the provisioner from nothing but the files of a release, with Helm
// and with kubectl. It runs as its Deployment says, and a pod that no node suits gets a node. Then the
// Provisioner is deleted and the release is uninstalled, and nothing is left.
func TestProvisionerInstallation(t *testing.T) {
	for _, way := range provisionerWays {
		t.Run(way.name, func(t *testing.T) {
			w := newWorld(t)
			before, err := w.inventory()
			if err != nil {
				t.Fatal(err)
			}
			if err := way.install(w); err != nil {
				t.Fatal(err)
			}
			w.addCredentials()
			if err := lab.TagNetwork(t.Context(), ec2.NewFromConfig(w.AWSConfig()), "capa"); err != nil {
				t.Fatal(err)
			}
			provisioner := w.startPodOf(t, provisionerChart, files.program)
			w.Apply(`
apiVersion: provisioning.karpenter.sh/v1alpha2
kind: Provisioner
metadata:
  name: default
spec:
  cluster:
    name: capa
    endpoint: https://api.example.com:6443
    caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t
  limits:
    nodes: 2
`)
			pod := w.createPod()
			w.Eventually("the pod has a node", func() error {
				if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
					return err
				}
				if pod.Spec.NodeName == "" {
					return errors.Join(fmt.Errorf("its conditions are %+v", pod.Status.Conditions), provisioner.running())
				}
				return nil
			})
			if running := w.running(); len(running) != 1 {
				t.Errorf("%d instances run for one pod", len(running))
			}
			w.deleteProvisioner(pod)
			provisioner.stop()
			if err := way.uninstall(w); err != nil {
				t.Fatal(err)
			}
			w.nothingLeft(before)
		})
	}
}

// createPod creates a pod that waits, because there is no node.
func (w *world) createPod() *corev1.Pod {
	w.Helper()
	pod := w.WaitingPod("web")
	w.Eventually("the namespace takes pods", func() error { return w.Client.Create(w.Context(), pod) })
	return pod
}

// deleteProvisioner deletes the pod and the Provisioner, and waits until they have left no instance.
func (w *world) deleteProvisioner(pod *corev1.Pod) {
	w.Helper()
	if err := errors.Join(
		w.Client.Delete(w.Context(), pod, client.GracePeriodSeconds(0)),
		w.Client.DeleteAllOf(w.Context(), &provisioningv1.Provisioner{}),
	); err != nil {
		w.Fatal(err)
	}
	w.Eventually("the Provisioner is gone, and its instances", func() error {
		var provisioners provisioningv1.ProvisionerList
		var nodes provisioningv1.ProvisionedNodeList
		if err := errors.Join(w.Client.List(w.Context(), &provisioners), w.Client.List(w.Context(), &nodes)); err != nil {
			return err
		}
		if left := len(provisioners.Items) + len(nodes.Items) + len(w.running()); left > 0 {
			return fmt.Errorf("there are %d Provisioners, %d ProvisionedNodes, and %d running instances", len(provisioners.Items), len(nodes.Items), len(w.running()))
		}
		return nil
	})
}
