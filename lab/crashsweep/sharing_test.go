package crashsweep

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// sharingScenarios are about what comes to a pool from elsewhere: the template that it refers to,
// and a move from another management cluster.
var sharingScenarios = []scenario{
	{
		name:    "template edit",
		prepare: haveSharingPool,
		act: func(h *harness) {
			template := &infrav1.AWSLaunchConfigTemplate{}
			template.Namespace, template.Name = h.env.Namespace, poolName
			if err := h.env.Client.Get(h.env.Context(), client.ObjectKeyFromObject(template), template); err != nil {
				h.Fatal(err)
			}
			before := template.DeepCopy()
			template.Spec.Template.Spec.InstanceType = "m6i.large"
			if err := h.env.Client.Patch(h.env.Context(), template, client.MergeFrom(before)); err != nil {
				h.Fatal(err)
			}
		},
		done: func(h *harness) error { return errors.Join(h.runs("m6i.large"), h.ready(2)) },
	},
	{
		name:    "move",
		prepare: haveMovedPool,
		act:     func(h *harness) { h.pause(false) },
		done: func(h *harness) error {
			if writes := h.writes(); len(writes) > 0 {
				return fmt.Errorf("AWS was written to: %q", writes)
			}
			return h.ready(2)
		},
	},
}

// haveSharingPool has a pool at rest that refers to a template whose versions are verified by a dry
// run before they are launched.
func haveSharingPool(h *harness) {
	template := &infrav1.AWSLaunchConfigTemplate{}
	template.Namespace, template.Name = h.env.Namespace, poolName
	template.Spec.Template.Spec.InstanceType, template.Spec.Template.Spec.Verify = "t3.large", infrav1.VerifyDryRun
	if err := h.env.Client.Create(h.env.Context(), template); err != nil {
		h.Fatal(err)
	}
	h.putBootstrapData(0)
	h.env.ApplyFile("testdata/pool.yaml", "  awsLaunchTemplate:\n    instanceType: \"t3.large\"\n    sshKeyName: \"default\"\n", "  launchConfigTemplateRef: {name: "+poolName+"}\n")
	h.env.Eventually("the pool is ready", func() error { return h.ready(2) })
}

// haveMovedPool has a pool whose objects are as clusterctl leaves them in the target: recreated
// without status, while the Cluster is paused.
func haveMovedPool(h *harness) {
	havePool(h)
	h.pause(true)
	pool, config := &infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}
	h.env.Eventually("pool and launch config know that they are paused", func() error {
		for _, object := range []reconciling.Conditioned{pool, config} {
			if err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: poolName}, object); err != nil {
				return err
			}
			if !meta.IsStatusConditionTrue(object.GetConditions(), infrav1.PausedCondition) {
				return fmt.Errorf("%T is not", object)
			}
		}
		return nil
	})
	pool.Status, config.Status = infrav1.AWSMachinePoolStatus{}, infrav1.AWSLaunchConfigStatus{}
	h.leave(config)
	h.leave(pool)
	h.arrive(pool)
	config.OwnerReferences = nil
	if err := controllerutil.SetControllerReference(pool, config, h.env.Client.Scheme()); err != nil {
		h.Fatal(err)
	}
	h.arrive(config)
}

// leave takes an object away as clusterctl does: without anything being done for it.
func (h *harness) leave(object client.Object) {
	h.Helper()
	h.env.Eventually("the object is gone", func() error {
		leaving := object.DeepCopyObject().(client.Object)
		if err := h.env.Client.Get(h.env.Context(), client.ObjectKeyFromObject(object), leaving); apierrors.IsNotFound(err) {
			return nil
		}
		before := leaving.DeepCopyObject().(client.Object)
		leaving.SetFinalizers(nil)
		return errors.Join(
			h.env.Client.Patch(h.env.Context(), leaving, client.MergeFrom(before)), client.IgnoreNotFound(h.env.Client.Delete(h.env.Context(), leaving)),
			errors.New("it was there a moment ago"),
		)
	})
}

// arrive recreates an object.
func (h *harness) arrive(object client.Object) {
	h.Helper()
	object.SetResourceVersion("")
	object.SetUID("")
	if err := h.env.Client.Create(h.env.Context(), object); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) pause(paused bool) {
	h.Helper()
	cluster := &clusterv1.Cluster{}
	if err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: "capa"}, cluster); err != nil {
		h.Fatal(err)
	}
	before := cluster.DeepCopy()
	cluster.Spec.Paused = ptr.To(paused)
	if err := h.env.Client.Patch(h.env.Context(), cluster, client.MergeFrom(before)); err != nil {
		h.Fatal(err)
	}
}
