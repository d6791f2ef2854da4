package plan

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
)

// TestPlanOfShared holds that the edit of an object that several pools launch from is planned for
// each of them, whatever their namespace.
func TestPlanOfShared(t *testing.T) {
	template := func() *infrav1.AWSLaunchConfigTemplate {
		object := &infrav1.AWSLaunchConfigTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shared", Name: "nodes"}}
		object.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{NamespaceList: []string{key.Namespace}}
		object.Spec.Template.Spec.InstanceType = "m5.large"
		return object
	}
	config := func() *infrav1.AWSLaunchConfig {
		object := &infrav1.AWSLaunchConfig{ObjectMeta: owners.Named("nodes")}
		object.Spec.ClusterName, object.Spec.InstanceType, object.Spec.KubernetesVersion = "prod", "m5.large", "v1.36.3"
		object.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap"}
		return object
	}
	for name, tc := range map[string]struct {
		shared client.Object
		refer  func(*infrav1.AWSMachinePool)
		edit   func(*rig) client.Object
	}{
		"Template": {
			shared: template(),
			refer: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.LaunchConfigTemplateRef = &infrav1.LaunchConfigTemplateReference{Namespace: "shared", Name: "nodes"}
			},
			edit: func(r *rig) client.Object {
				stored := &infrav1.AWSLaunchConfigTemplate{}
				r.do(r.cluster.Get(r.Context(), client.ObjectKey{Namespace: "shared", Name: "nodes"}, stored))
				stored.Spec.Template.Spec.InstanceType = "m5.xlarge"
				return stored
			},
		},
		"Config": {
			shared: config(),
			refer: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "nodes"}
			},
			edit: func(r *rig) client.Object {
				stored := &infrav1.AWSLaunchConfig{}
				r.do(r.cluster.Get(r.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "nodes"}, stored))
				stored.Spec.InstanceType = "m5.xlarge"
				return stored
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.do(r.cluster.Create(t.Context(), tc.shared))
			object := pool()
			object.Spec.AWSLaunchTemplate = nil
			tc.refer(object)
			r.run(object)
			made := r.plan(tc.edit(r))
			if len(made.Pools) != 1 || len(made.Pools[0].Replaced()) != 3 || made.Failed() {
				t.Errorf("Plan: got %+v, want one pool whose three instances are replaced", made)
			}
			if len(made.Changes) != 1 || made.Changes[0].Effect != Replaces {
				t.Errorf("changes: got %+v, want one that replaces nodes", made.Changes)
			}
		})
	}
}

// TestPlanSaysSharedOnce holds that what is done for a launch config that several pools share is listed for the first of
// them, and that the others say whose it is.
func TestPlanSaysSharedOnce(t *testing.T) {
	r := newRig(t)
	made := r.plan(r.editedConfig(3))
	text := &strings.Builder{}
	r.do(Print(text, made))
	for part, want := range map[string]int{
		"create a version of launch template": 1,
		"1. use the launch template version of AWSLaunchConfig/nodes that is created for AWSMachinePool blue/pool-0": 2,
		"  2. ": 3,
	} {
		if got := strings.Count(text.String(), part); got != want {
			t.Errorf("the plan has %q %d times, want %d times:\n%s", part, got, want, text)
		}
	}
	encoded, err := json.Marshal(made)
	r.do(err)
	if got := strings.Count(string(encoded), `"sharedWith":"AWSMachinePool blue/pool-0"`); got < 2 {
		t.Errorf("the plan in JSON has %d shared steps, want those of two pools:\n%s", got, encoded)
	}
}

// TestPlanOfSharedWithoutDeleted holds that a pool that is being deleted is left out of the plan of an edit of its launch
// config, so that the plan of the other pools succeeds.
func TestPlanOfSharedWithoutDeleted(t *testing.T) {
	r := newRig(t)
	edited := r.editedConfig(2)
	leaving := &infrav1.AWSMachinePool{}
	r.do(r.cluster.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "pool-1"}, leaving))
	r.do(r.cluster.Delete(t.Context(), leaving))
	r.do(r.cluster.Get(t.Context(), client.ObjectKeyFromObject(leaving), leaving)) // its finalizer holds it
	made := r.plan(edited)
	if len(made.Pools) != 1 || made.Pools[0].Name != "pool-0" || made.Failed() {
		t.Errorf("Plan: got %+v, want one of pool-0 that succeeds", made.Pools)
	}
	if len(made.Changes) != 1 || made.Changes[0].Effect != Replaces {
		t.Errorf("changes: got %+v, want one that replaces nodes", made.Changes)
	}
}
