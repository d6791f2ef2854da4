package webhooks

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// indexed builds a client with the indexes of the manager's cache.
func indexed(scheme *runtime.Scheme) *fake.ClientBuilder {
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, index := range Indexes() {
		builder = builder.WithIndex(index.Object, index.Name, index.Values)
	}
	return builder
}

// readerOf returns a reader of objects. Every read fails if fails is not nil.
func readerOf(t *testing.T, fails error, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := reconciletest.Scheme(t, infrav1.AddToScheme, clusterv1.AddToScheme)
	builder := indexed(scheme).WithObjects(objects...)
	if fails != nil {
		builder = builder.WithInterceptorFuncs(interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return fails
			},
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return fails },
		})
	}
	return builder.Build()
}

// idleHops is a launch template that is warned of: it bounds the hops to a service that is off.
var idleHops = infrav1.AWSLaunchTemplate{
	InstanceType:            "m5.large",
	InstanceMetadataOptions: &infrav1.InstanceMetadataOptions{HTTPEndpoint: infrav1.InstanceMetadataDisabled, HTTPPutResponseHopLimit: 2},
}

// validators are the answers of each kind to the creation of an object that is warned of, to an
// update that changes what a user writes, and to updates that do not.
func validators(t *testing.T, reader client.Reader) map[string]func(change string) (admission.Warnings, error) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: "blue", Name: "workers"}
	edited := func(change string, object client.Object) {
		object.SetLabels(map[string]string{"edited": "yes"})
		if change == "deleting" {
			object.SetDeletionTimestamp(ptr.To(metav1.Unix(0, 0)))
		}
	}
	return map[string]func(change string) (admission.Warnings, error){
		"AWSMachinePool": func(change string) (admission.Warnings, error) {
			before := &infrav1.AWSMachinePool{ObjectMeta: meta}
			before.Spec.MaxSize, before.Spec.MixedInstancesPolicy = 1, &infrav1.MixedInstancesPolicy{}
			before.Spec.AWSLaunchTemplate = idleHops.DeepCopy()
			after := before.DeepCopy()
			edited(change, after)
			switch change {
			case "created":
				return (&machinePools{reader}).ValidateCreate(t.Context(), after)
			case "deleted":
				return (&machinePools{reader}).ValidateDelete(t.Context(), after)
			case "edited", "deleting":
				after.Spec.MaxSize = 2
			default:
				after.Spec.ProviderID, after.Spec.ProviderIDList = "arn", []string{"aws:///a/i-1"}
			}
			return (&machinePools{reader}).ValidateUpdate(t.Context(), before, after)
		},
		"AWSManagedMachinePool": func(change string) (admission.Warnings, error) {
			before := &infrav1.AWSManagedMachinePool{ObjectMeta: meta}
			before.Spec.AWSLaunchTemplate = idleHops.DeepCopy()
			after := before.DeepCopy()
			edited(change, after)
			switch change {
			case "created":
				return (&managedPools{reader}).ValidateCreate(t.Context(), after)
			case "deleted":
				return (&managedPools{reader}).ValidateDelete(t.Context(), after)
			case "edited", "deleting":
				after.Spec.DiskSize = ptr.To[int32](20)
			default:
				after.Spec.ProviderIDList = []string{"aws:///a/i-1"}
			}
			return (&managedPools{reader}).ValidateUpdate(t.Context(), before, after)
		},
		"AWSLaunchConfig": func(change string) (admission.Warnings, error) {
			before := &infrav1.AWSLaunchConfig{ObjectMeta: meta}
			before.Spec.AWSLaunchTemplate = idleHops
			after := before.DeepCopy()
			edited(change, after)
			switch change {
			case "created":
				return launchConfigs{reader}.ValidateCreate(t.Context(), after)
			case "deleted":
				return launchConfigs{reader}.ValidateDelete(t.Context(), after)
			case "edited", "deleting":
				after.Spec.InstanceType = "m6i.large"
			}
			return launchConfigs{reader}.ValidateUpdate(t.Context(), before, after)
		},
		"AWSLaunchConfigTemplate": func(change string) (admission.Warnings, error) {
			before := &infrav1.AWSLaunchConfigTemplate{ObjectMeta: meta}
			before.Spec.Template.Spec.AWSLaunchTemplate = idleHops
			after := before.DeepCopy()
			edited(change, after)
			switch change {
			case "created":
				return launchConfigTemplates{reader}.ValidateCreate(t.Context(), after)
			case "deleted":
				return launchConfigTemplates{reader}.ValidateDelete(t.Context(), after)
			case "edited", "deleting":
				after.Spec.Template.Spec.InstanceType = "m6i.large"
			}
			return launchConfigTemplates{reader}.ValidateUpdate(t.Context(), before, after)
		},
	}
}

// TestOnlyUsersAreWarned holds that each kind is warned of when a user creates or edits it, and not
// by the writes of controllers, while it is deleted, or when it is gone. That reads fail changes
// nothing.
func TestOnlyUsersAreWarned(t *testing.T) {
	t.Parallel()
	for _, fails := range []error{nil, errors.New("the API server does not respond")} {
		for kind, ask := range validators(t, readerOf(t, fails)) {
			created, err := ask("created")
			if err != nil || !strings.Contains(strings.Join(created, " "), "httpPutResponseHopLimit") {
				t.Errorf("%s: warnings %q, error %v", kind, created, err)
			}
			for change, warned := range map[string]bool{"edited": true, "relabeled": false, "deleting": false, "deleted": false} {
				said, err := ask(change)
				if err != nil || (len(said) > 0) != warned {
					t.Errorf("%s %s: warnings %q, error %v", kind, change, said, err)
				}
			}
		}
	}
}

// TestMachinePoolsThatAreNotWarnedOf holds that the MachinePools of other pools are none of this
// webhook's business, and that one whose pool is not there yet is admitted without a warning.
func TestMachinePoolsThatAreNotWarnedOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, group, kind string
		fails               error
	}{
		{reason: "a pool of another provider", group: "infrastructure.example.com", kind: "AWSManagedMachinePool"},
		{reason: "a pool with an Auto Scaling group", group: infrav1.GroupVersion.Group, kind: "AWSMachinePool"},
		{reason: "a pool that is applied after it", group: infrav1.GroupVersion.Group, kind: "AWSManagedMachinePool"},
		{reason: "a pool that cannot be read", group: infrav1.GroupVersion.Group, kind: "AWSManagedMachinePool", fails: errors.New("the API server does not respond")},
	} {
		machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "workers"}}
		machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: row.group, Kind: row.kind, Name: "workers"}
		machinePool.Spec.Template.Spec.Version = "v1.0.0"
		webhook := &coreMachinePools{readerOf(t, row.fails)}
		if said, err := webhook.ValidateCreate(t.Context(), machinePool); err != nil || len(said) > 0 {
			t.Errorf("%s: warnings %q, error %v", row.reason, said, err)
		}
		if said, err := webhook.ValidateDelete(t.Context(), machinePool); err != nil || len(said) > 0 {
			t.Errorf("%s, deleted: warnings %q, error %v", row.reason, said, err)
		}
	}
}

// TestApprovalThatCannotBeChecked holds that an approval is checked with the launch config that the
// pool refers to, and is admitted where that cannot be read: the controller ignores a wrong one
// too.
func TestApprovalThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	shared := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "shared"}}
	shared.Status.Versions = []infrav1.LaunchTemplateVersionStatus{{Number: 7}}
	for _, row := range []struct {
		reason, reference, approved string
		fails                       error
		says                        string
	}{
		{reason: "a version of the config that the pool refers to", reference: "shared", approved: "7"},
		{reason: "no version of that config", reference: "shared", approved: "8", says: "no version waits for approval"},
		{reason: "a version of a config that the pool does not refer to", approved: "7", says: "the launch template has no version yet"},
		{reason: "a config that cannot be read", reference: "shared", approved: "8", fails: errors.New("the API server does not respond")},
		{reason: "a number beyond 64 bits", reference: "shared", approved: "99999999999999999999", says: "no version with this number"},
		{reason: "a sign, which the controller reads as well", reference: "shared", approved: "+7"},
		{reason: "a line break", reference: "shared", approved: "7\n", says: "no version with this number"},
	} {
		before := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "workers"}}
		if row.reference != "" {
			before.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: row.reference}
		}
		after := before.DeepCopy()
		after.Annotations = map[string]string{infrav1.ApprovedVersionAnnotation: row.approved}
		_, err := (&machinePools{readerOf(t, row.fails, shared)}).ValidateUpdate(t.Context(), before, after)
		if (err != nil) != (row.says != "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: the error is %v, want %q", row.reason, err, row.says)
		}
	}
}
