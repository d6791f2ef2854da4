package clusterapi

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // the deprecated version is what is converted
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab/controlplane"
)

// TestStartsAndStopsTwice runs two rounds in one process: the remains of one must not keep the next
// from starting.
func TestStartsAndStopsTwice(t *testing.T) {
	controlplane.LogTo(nil)
	for round := range 2 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			plane, err := controlplane.Start(t.Context(), controlplane.Options{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := plane.Stop(); err != nil {
					t.Error(err)
				}
			})
			begin := time.Now()
			running, err := Start(t.Context(), Options{RESTConfig: plane.RESTConfig()})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("ready after %v", time.Since(begin).Round(time.Millisecond))
			tryWebhooks(t, plane)
			begin = time.Now()
			if err := running.Stop(); err != nil {
				t.Error(err)
			}
			t.Logf("stopped after %v", time.Since(begin).Round(time.Millisecond))
		})
	}
}

func tryWebhooks(t *testing.T, plane *controlplane.ControlPlane) {
	c, err := client.New(plane.RESTConfig(), client.Options{Scheme: NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	old := &clusterv1beta1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pool"},
		Spec: clusterv1beta1.MachinePoolSpec{
			ClusterName: "cluster",
			Template: clusterv1beta1.MachineTemplateSpec{Spec: clusterv1beta1.MachineSpec{
				ClusterName: "cluster",
				Bootstrap: clusterv1beta1.Bootstrap{ConfigRef: &corev1.ObjectReference{
					APIVersion: "bootstrap.cluster.x-k8s.io/v1beta1", Kind: "KubeadmConfig", Name: "pool",
				}},
				InfrastructureRef: corev1.ObjectReference{
					// A kind that is installed, so that the reference converts back.
					APIVersion: "controlplane.cluster.x-k8s.io/v1beta1", Kind: "KubeadmControlPlane", Name: "pool",
				},
			}},
		},
	}
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatalf("a v1beta1 MachinePool is refused: %v", err)
	}
	var stored clusterv1.MachinePool
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), &stored); err != nil {
		t.Fatal(err)
	}
	if got, want := stored.Spec.Template.Spec.Bootstrap.ConfigRef.APIGroup, "bootstrap.cluster.x-k8s.io"; got != want {
		t.Errorf("the conversion made apiGroup %q of the bootstrap reference, want %q", got, want)
	}
	if stored.Spec.Replicas == nil || *stored.Spec.Replicas != 1 {
		t.Errorf("the defaulting webhook did not set replicas: %v", stored.Spec.Replicas)
	}
	// Converting back looks the referenced kind's definition up.
	deadline := time.Now().Add(5 * time.Second)
	for {
		err := convertsBack(t, c, client.ObjectKeyFromObject(old))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Error(err)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	invalid := stored.DeepCopy()
	invalid.Spec.ClusterName = "another"
	if err := c.Update(t.Context(), invalid); !apierrors.IsInvalid(err) {
		t.Errorf("the validating webhook let the cluster's name be changed: %v", err)
	}
}

func convertsBack(t *testing.T, c client.Client, key client.ObjectKey) error {
	var back clusterv1beta1.MachinePool
	if err := c.Get(t.Context(), key, &back); err != nil {
		return err
	}
	if got, want := back.Spec.Template.Spec.Bootstrap.ConfigRef.APIVersion, "bootstrap.cluster.x-k8s.io/v1beta2"; got != want {
		return errors.New("the reference was converted to apiVersion " + got + ", want " + want)
	}
	return nil
}
