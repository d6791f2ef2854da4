package v1beta2

// Annotations with which users control how a pool is adopted from CAPA and released to it.
const (
	// AdoptAnnotation of an AWSMachinePool names, by ARN, the Auto Scaling group of CAPA's that is
	// this pool's. It is needed only where spec.providerID does not name it already, such as for a
	// pool whose manifest was applied anew.
	AdoptAnnotation = TagSlipwayPrefix + "adopt"

	// RollAdoptedAnnotation with the value "true" on an AWSMachinePool has the instances replaced
	// that were taken over and run something else than the spec asks for, without waiting for the
	// next edit.
	RollAdoptedAnnotation = TagSlipwayPrefix + "roll-adopted"

	// ReleaseAnnotation with the value "true" on a pool makes its group and launch template such
	// that CAPA runs them without replacing an instance, and leaves them alone from then on. Taken
	// away again, the pool is adopted again.
	ReleaseAnnotation = TagSlipwayPrefix + "release"

	// AdoptTemplateAnnotation of an AWSLaunchConfig names, by id, a launch template of CAPA that
	// should be taken over. The controller of pools sets it.
	AdoptTemplateAnnotation = TagSlipwayPrefix + "adopt-template"

	// BeforeMigrationAnnotation holds as JSON what `slipway migrate capa` changed in an object of
	// Cluster API or CAPA, as it was before the change. The command removes it when it restores that.
	BeforeMigrationAnnotation = TagSlipwayPrefix + "before-migration"
)

// Labels and annotations of an AWSLaunchConfig that was made from an AWSLaunchConfigTemplate. The
// controller of pools sets them.
const (
	// LaunchConfigTemplateLabel holds the name of the template, cut and with a hash where it is
	// longer than a label may be.
	LaunchConfigTemplateLabel = TagSlipwayPrefix + "launch-config-template"

	// LaunchConfigTemplateNamespaceLabel holds the namespace of the template.
	LaunchConfigTemplateNamespaceLabel = TagSlipwayPrefix + "launch-config-template-namespace"

	// LaunchConfigTemplateAnnotation holds <namespace>/<name> of the template.
	LaunchConfigTemplateAnnotation = TagSlipwayPrefix + "launch-config-template"

	// LaunchConfigTemplateGenerationAnnotation holds the generation of the template that the
	// AWSLaunchConfig follows.
	LaunchConfigTemplateGenerationAnnotation = TagSlipwayPrefix + "launch-config-template-generation"
)
