package v1beta2

// NodegroupUpdateStrategy defines how EKS replaces nodes (AWS: API_NodegroupUpdateConfig,
// updateStrategy).
// +kubebuilder:validation:Enum=Default;Minimal
type NodegroupUpdateStrategy string

// The strategies.
const (
	// NodegroupUpdateStrategyDefault launches new nodes before it terminates old ones.
	NodegroupUpdateStrategyDefault NodegroupUpdateStrategy = "Default"
	// NodegroupUpdateStrategyMinimal terminates old nodes before it launches new ones, for capacity that is scarce.
	NodegroupUpdateStrategyMinimal NodegroupUpdateStrategy = "Minimal"
)

// UpdateConfig says how nodes are replaced.
//
// +slipway:rule=EK25
// +kubebuilder:validation:XValidation:rule=`has(self.maxUnavailable) != has(self.maxUnavailablePercentage)`,message="exactly one of maxUnavailable and maxUnavailablePercentage must be set"
type UpdateConfig struct {
	// MaxUnavailable is how many nodes are replaced at a time.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`

	// MaxUnavailablePercentage is the share of nodes that are replaced at a time, in percent; 100
	// nodes at most.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxUnavailablePercentage *int32 `json:"maxUnavailablePercentage,omitempty"`

	// UpdateStrategy is how nodes are replaced: Default launches new ones first, Minimal terminates old ones first.
	// Default: Default.
	// +optional
	UpdateStrategy NodegroupUpdateStrategy `json:"updateStrategy,omitempty"`

	// Force terminates nodes whose pods cannot be evicted within 15 minutes, as a pod disruption budget
	// may cause. Without it such an update fails, and EKS goes back.
	// +optional
	Force bool `json:"force,omitempty"`
}

// NodeRepairConfig has EKS repair nodes that are not healthy (AWS: API_NodeRepairConfig).
//
// +slipway:rule=EK30
// +kubebuilder:validation:XValidation:rule=`!has(self.maxParallelNodesRepairedCount) || !has(self.maxParallelNodesRepairedPercentage)`,message="at most one of maxParallelNodesRepairedCount and maxParallelNodesRepairedPercentage may be set",fieldPath=".maxParallelNodesRepairedCount"
// +slipway:rule=EK30
// +kubebuilder:validation:XValidation:rule=`!has(self.maxUnhealthyNodeThresholdCount) || !has(self.maxUnhealthyNodeThresholdPercentage)`,message="at most one of maxUnhealthyNodeThresholdCount and maxUnhealthyNodeThresholdPercentage may be set",fieldPath=".maxUnhealthyNodeThresholdCount"
type NodeRepairConfig struct {
	// Enabled switches node auto repair on.
	// +optional
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`

	// MaxParallelNodesRepairedCount is how many nodes are repaired at a time, at most.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxParallelNodesRepairedCount *int32 `json:"maxParallelNodesRepairedCount,omitempty"`

	// MaxParallelNodesRepairedPercentage is the same as a share of the unhealthy nodes, in percent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxParallelNodesRepairedPercentage *int32 `json:"maxParallelNodesRepairedPercentage,omitempty"`

	// MaxUnhealthyNodeThresholdCount is the number of unhealthy nodes above which nothing is repaired.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxUnhealthyNodeThresholdCount *int32 `json:"maxUnhealthyNodeThresholdCount,omitempty"`

	// MaxUnhealthyNodeThresholdPercentage is the same as a share of all nodes, in percent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxUnhealthyNodeThresholdPercentage *int32 `json:"maxUnhealthyNodeThresholdPercentage,omitempty"`

	// NodeRepairConfigOverrides choose another action, or another wait, for some conditions of a node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	NodeRepairConfigOverrides []NodeRepairConfigOverride `json:"nodeRepairConfigOverrides,omitempty"`
}

// NodeRepairAction defines what EKS does with an unhealthy node.
// +kubebuilder:validation:Enum=Replace;Reboot;NoAction
type NodeRepairAction string

// The actions.
const (
	NodeRepairReplace  NodeRepairAction = "Replace"
	NodeRepairReboot   NodeRepairAction = "Reboot"
	NodeRepairNoAction NodeRepairAction = "NoAction"
)

// NodeRepairConfigOverride chooses what is done about one condition of a node. AWS asks for all of
// its fields.
type NodeRepairConfigOverride struct {
	// NodeMonitoringCondition is the condition that the node monitoring agent reports, such as
	// NetworkingReady.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	NodeMonitoringCondition string `json:"nodeMonitoringCondition"`

	// NodeUnhealthyReason is the reason that it reports, such as InterfaceNotUp.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	NodeUnhealthyReason string `json:"nodeUnhealthyReason"`

	// MinRepairWaitTimeMins is how many minutes the node has to be in that condition.
	// +required
	// +kubebuilder:validation:Minimum=1
	MinRepairWaitTimeMins int32 `json:"minRepairWaitTimeMins"`

	// RepairAction is what is done.
	// +required
	RepairAction NodeRepairAction `json:"repairAction"`
}
