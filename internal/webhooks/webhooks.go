// Package webhooks answers at admission where the CRDs cannot: it warns about pools that AWS
// accepts and that do not do what they seem to, and about edits that replace nodes, and it refuses the approval of a launch template
// version that does not exist, which only another object's status shows. Every other hard rule is
// in the CRDs, which hold when no webhook answers. The API server may go on without the webhooks:
// the controllers ignore such an approval too.
//
// The rules are pure functions of an object and of the objects that it depends on; the webhooks
// read these objects and respond.
package webhooks

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/watches"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=slipway-validating-webhook
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-awsmachinepool,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepools,verbs=create;update,versions=v1beta2,name=warning.awsmachinepool.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=slipway-webhook,serviceNamespace=slipway-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-awslaunchconfig,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigs,verbs=create;update,versions=v1beta2,name=warning.awslaunchconfig.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=slipway-webhook,serviceNamespace=slipway-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-awslaunchconfigtemplate,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigtemplates,verbs=create;update,versions=v1beta2,name=warning.awslaunchconfigtemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=slipway-webhook,serviceNamespace=slipway-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-awsmanagedmachinepool,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=infrastructure.cluster.x-k8s.io,resources=awsmanagedmachinepools,verbs=create;update,versions=v1beta2,name=warning.awsmanagedmachinepool.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=slipway-webhook,serviceNamespace=slipway-system

// byInfrastructure is the index of the cache that finds the MachinePool of a pool.
const byInfrastructure = "spec.template.spec.infrastructureRef"

// Indexes returns the indexes of the cache that the webhooks need.
func Indexes() []watches.Index {
	return []watches.Index{{Object: &clusterv1.MachinePool{}, Name: byInfrastructure, Values: func(object client.Object) []string {
		machinePool, is := object.(*clusterv1.MachinePool)
		if !is {
			return nil
		}
		reference := machinePool.Spec.Template.Spec.InfrastructureRef
		if reference.APIGroup != infrav1.GroupVersion.Group {
			return nil
		}
		return []string{reference.Kind + "/" + reference.Name}
	}}}
}

// Register has the manager's webhook server answer for all kinds. MachinePools are read by the reader,
// and looked up by an index. Every manager caches them from its start, the leader or not, because any
// of them is asked.
func Register(ctx context.Context, manager ctrl.Manager, reader client.Reader) error {
	if err := watches.AddIndexes(ctx, manager.GetFieldIndexer(), Indexes()); err != nil {
		return err
	}
	if err := ctrl.NewWebhookManagedBy(manager, &infrav1.AWSMachinePool{}).WithValidator(&machinePools{reader: reader}).Complete(); err != nil {
		return fmt.Errorf("registering the webhook of AWSMachinePool: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(manager, &infrav1.AWSManagedMachinePool{}).WithValidator(&managedPools{reader: reader}).Complete(); err != nil {
		return fmt.Errorf("registering the webhook of AWSManagedMachinePool: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(manager, &clusterv1.MachinePool{}).WithValidator(&coreMachinePools{reader: reader}).Complete(); err != nil {
		return fmt.Errorf("registering the webhook of MachinePool: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(manager, &infrav1.AWSLaunchConfig{}).WithValidator(launchConfigs{reader}).Complete(); err != nil {
		return fmt.Errorf("registering the webhook of AWSLaunchConfig: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(manager, &infrav1.AWSLaunchConfigTemplate{}).WithValidator(launchConfigTemplates{reader}).Complete(); err != nil {
		return fmt.Errorf("registering the webhook of AWSLaunchConfigTemplate: %w", err)
	}
	return nil
}

// machinePools answers for AWSMachinePools.
type machinePools struct{ reader client.Reader }

// ValidateCreate implements admission.Validator.
func (m *machinePools) ValidateCreate(ctx context.Context, pool *infrav1.AWSMachinePool) (admission.Warnings, error) {
	return machinePoolWarnings(subject{pool: pool, wanted: wanted{machinePoolOf(ctx, m.reader, "AWSMachinePool", pool)}}), nil
}

// ValidateUpdate implements admission.Validator. It does not warn if no field that users write has
// changed: the controller writes provider IDs.
func (m *machinePools) ValidateUpdate(ctx context.Context, before, pool *infrav1.AWSMachinePool) (admission.Warnings, error) {
	if err := approvalOnPool(ctx, m.reader, before, pool, pool.Spec.LaunchConfigRef); err != nil {
		return nil, err
	}
	said := Replacements(ctx, m.reader, before, pool)
	if !pool.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(written(before), written(pool)) {
		return said, nil
	}
	others, err := m.ValidateCreate(ctx, pool)
	return append(said, others...), err
}

// ValidateDelete implements admission.Validator.
func (*machinePools) ValidateDelete(context.Context, *infrav1.AWSMachinePool) (admission.Warnings, error) {
	return nil, nil
}

// written returns the fields of the spec that users write.
func written(pool *infrav1.AWSMachinePool) *infrav1.AWSMachinePoolSpec {
	spec := pool.Spec.DeepCopy()
	spec.ProviderID, spec.ProviderIDList = "", nil
	return spec
}

// writtenManaged returns the same for a managed pool.
func writtenManaged(pool *infrav1.AWSManagedMachinePool) *infrav1.AWSManagedMachinePoolSpec {
	spec := pool.Spec.DeepCopy()
	spec.ProviderIDList = nil
	return spec
}

// machinePoolOf returns the MachinePool that refers to the pool. It returns nil if there is none,
// as while manifests are applied, and if the read fails: that must not delay a request.
func machinePoolOf(ctx context.Context, reader client.Reader, kind string, pool client.Object) *clusterv1.MachinePool {
	found := &clusterv1.MachinePoolList{}
	if err := reader.List(ctx, found, client.InNamespace(pool.GetNamespace()), client.MatchingFields{byInfrastructure: kind + "/" + pool.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Warning without the MachinePool", "reason", err.Error())
		return nil
	}
	if len(found.Items) == 0 {
		return nil
	}
	return &found.Items[0]
}

// managedPools answers for AWSManagedMachinePools.
type managedPools struct{ reader client.Reader }

// ValidateCreate implements admission.Validator.
func (m *managedPools) ValidateCreate(ctx context.Context, pool *infrav1.AWSManagedMachinePool) (admission.Warnings, error) {
	machinePool := machinePoolOf(ctx, m.reader, "AWSManagedMachinePool", pool)
	return managedPoolWarnings(managedSubject{
		pool: pool, wanted: wanted{machinePool}, controlPlaneVersion: controlPlaneVersionOf(ctx, m.reader, machinePool),
	}), nil
}

// ValidateUpdate implements admission.Validator. It does not warn if no field that users write has
// changed.
func (m *managedPools) ValidateUpdate(ctx context.Context, before, pool *infrav1.AWSManagedMachinePool) (admission.Warnings, error) {
	if err := approvalOnPool(ctx, m.reader, before, pool, pool.Spec.LaunchConfigRef); err != nil {
		return nil, err
	}
	said := Replacements(ctx, m.reader, before, pool)
	if !pool.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(writtenManaged(before), writtenManaged(pool)) {
		return said, nil
	}
	others, err := m.ValidateCreate(ctx, pool)
	return append(said, others...), err
}

// ValidateDelete implements admission.Validator.
func (*managedPools) ValidateDelete(context.Context, *infrav1.AWSManagedMachinePool) (admission.Warnings, error) {
	return nil, nil
}

// launchConfigs answers for AWSLaunchConfigs.
type launchConfigs struct{ reader client.Reader }

// ValidateCreate implements admission.Validator. It does not warn about a config that a pool's
// controller writes: the pool had the warning.
func (launchConfigs) ValidateCreate(_ context.Context, config *infrav1.AWSLaunchConfig) (admission.Warnings, error) {
	if metav1.GetControllerOf(config) != nil {
		return nil, nil
	}
	return append(launchTemplateWarnings("spec", &config.Spec.AWSLaunchTemplate), launchConfigWarnings(&config.Spec)...), nil
}

// ValidateUpdate implements admission.Validator.
func (l launchConfigs) ValidateUpdate(ctx context.Context, before, config *infrav1.AWSLaunchConfig) (admission.Warnings, error) {
	if err := approval(before, config, config); err != nil {
		return nil, err
	}
	said := Replacements(ctx, l.reader, before, config)
	if !config.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, config.Spec) {
		return said, nil
	}
	others, err := l.ValidateCreate(ctx, config)
	return append(said, others...), err
}

// ValidateDelete implements admission.Validator.
func (launchConfigs) ValidateDelete(context.Context, *infrav1.AWSLaunchConfig) (admission.Warnings, error) {
	return nil, nil
}

// launchConfigTemplates answers for AWSLaunchConfigTemplates.
type launchConfigTemplates struct{ reader client.Reader }

// ValidateCreate implements admission.Validator.
func (launchConfigTemplates) ValidateCreate(_ context.Context, template *infrav1.AWSLaunchConfigTemplate) (admission.Warnings, error) {
	return launchTemplateWarnings("spec.template.spec", &template.Spec.Template.Spec.AWSLaunchTemplate), nil
}

// ValidateUpdate implements admission.Validator.
func (l launchConfigTemplates) ValidateUpdate(ctx context.Context, before, template *infrav1.AWSLaunchConfigTemplate) (admission.Warnings, error) {
	if !template.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, template.Spec) {
		return nil, nil
	}
	said := Replacements(ctx, l.reader, before, template)
	others, err := l.ValidateCreate(ctx, template)
	return append(said, others...), err
}

// ValidateDelete implements admission.Validator.
func (launchConfigTemplates) ValidateDelete(context.Context, *infrav1.AWSLaunchConfigTemplate) (admission.Warnings, error) {
	return nil, nil
}

var (
	_ admission.Validator[*infrav1.AWSMachinePool]        = (*machinePools)(nil)
	_ admission.Validator[*infrav1.AWSManagedMachinePool] = (*managedPools)(nil)
	_ admission.Validator[*infrav1.AWSLaunchConfig]       = launchConfigs{}

	_ admission.Validator[*infrav1.AWSLaunchConfigTemplate] = launchConfigTemplates{}
)
