package v1beta2

// LaunchConfigReference names an AWSLaunchConfig in the same namespace.
type LaunchConfigReference struct {
	// Name of the AWSLaunchConfig.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// LaunchConfigTemplateReference names an AWSLaunchConfigTemplate.
type LaunchConfigTemplateReference struct {
	// Name of the AWSLaunchConfigTemplate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the AWSLaunchConfigTemplate, which must allow the pool's namespace in
	// spec.allowedNamespaces. Default: the namespace of the pool.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}
