package webhooks

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// +kubebuilder:webhook:path=/validate-cluster-x-k8s-io-v1beta2-machinepool,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=cluster.x-k8s.io,resources=machinepools,verbs=create;update,versions=v1beta2,name=warning.machinepool.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=slipway-webhook,serviceNamespace=slipway-system

// versionIsTaken warns of a Kubernetes version that EKS does not take: the controller says so in a
// condition, later.
//
// +slipway:warning=SL32
func versionIsTaken(s managedSubject) string {
	if s.machinePool == nil || s.pool.Spec.OwnImage() {
		return ""
	}
	present := ""
	if group := s.pool.Status.Nodegroup; group != nil {
		present = group.KubernetesVersion
	}
	return nodegroup.RefusedVersion(s.machinePool.Spec.Template.Spec.Version, s.controlPlaneVersion, present)
}

// controlPlaneVersionOf returns the Kubernetes version of the EKS cluster that a MachinePool
// belongs to. It is empty where it is not known: a failed read is no reason to hold a user up.
func controlPlaneVersionOf(ctx context.Context, reader client.Reader, machinePool *clusterv1.MachinePool) string {
	if machinePool == nil {
		return ""
	}
	_, facts, err := cluster.LoadNamed(ctx, reader, machinePool.Namespace, machinePool.Spec.ClusterName)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Warning without the version of the control plane", "reason", err.Error())
		return ""
	}
	return facts.ControlPlaneVersion
}

// coreMachinePools answers for the MachinePools of managed pools, which say the version.
type coreMachinePools struct{ reader client.Reader }

// ValidateCreate implements admission.Validator.
func (m *coreMachinePools) ValidateCreate(ctx context.Context, machinePool *clusterv1.MachinePool) (admission.Warnings, error) {
	reference := machinePool.Spec.Template.Spec.InfrastructureRef
	if reference.APIGroup != infrav1.GroupVersion.Group || reference.Kind != "AWSManagedMachinePool" {
		return nil, nil
	}
	pool := &infrav1.AWSManagedMachinePool{}
	if err := m.reader.Get(ctx, client.ObjectKey{Namespace: machinePool.Namespace, Name: reference.Name}, pool); err != nil {
		return nil, nil //nolint:nilerr // the pool may be applied after its MachinePool, and is warned of then
	}
	said := versionIsTaken(managedSubject{
		pool: pool, wanted: wanted{machinePool}, controlPlaneVersion: controlPlaneVersionOf(ctx, m.reader, machinePool),
	})
	if said == "" {
		return nil, nil
	}
	return admission.Warnings{said}, nil
}

// ValidateUpdate implements admission.Validator. An update that changes nothing that a version
// depends on is not warned of.
func (m *coreMachinePools) ValidateUpdate(ctx context.Context, before, machinePool *clusterv1.MachinePool) (admission.Warnings, error) {
	if !machinePool.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec.Template, machinePool.Spec.Template) {
		return nil, nil
	}
	others, err := m.ValidateCreate(ctx, machinePool)
	return append(Replacements(ctx, m.reader, before, machinePool), others...), err
}

// ValidateDelete implements admission.Validator.
func (*coreMachinePools) ValidateDelete(context.Context, *clusterv1.MachinePool) (admission.Warnings, error) {
	return nil, nil
}

var _ admission.Validator[*clusterv1.MachinePool] = (*coreMachinePools)(nil)
