package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Strategies of instance refreshes.
const (
	// RefreshStrategyRolling replaces instances a few at a time.
	RefreshStrategyRolling = "Rolling"
	// RefreshStrategyReplaceRootVolume replaces the root volumes of instances, which stay.
	RefreshStrategyReplaceRootVolume = "ReplaceRootVolume"
)

// RefreshPreferences say how an instance refresh replaces instances. AWS's defaults apply to members that are left out.
//
// +slipway:rule=RF1
// +kubebuilder:validation:XValidation:rule=`!has(self.maxHealthyPercentage) || has(self.minHealthyPercentage)`,message="maxHealthyPercentage requires minHealthyPercentage: set both",fieldPath=".maxHealthyPercentage"
// +slipway:rule=RF1
// +kubebuilder:validation:XValidation:rule=`!has(self.maxHealthyPercentage) || !has(self.minHealthyPercentage) || self.maxHealthyPercentage - self.minHealthyPercentage <= 100`,message="maxHealthyPercentage must not exceed minHealthyPercentage by more than 100",fieldPath=".maxHealthyPercentage"
// +slipway:rule=RF3
// +kubebuilder:validation:XValidation:rule=`!has(self.checkpointDelay) || (has(self.checkpointPercentages) && size(self.checkpointPercentages) > 0)`,message="checkpointDelay has no effect without checkpoints: set checkpointPercentages, or remove checkpointDelay",fieldPath=".checkpointDelay"
type RefreshPreferences struct {
	// Disable leaves the replacement of instances to the user: new instances get the new launch
	// template version, running ones stay as they are.
	// +optional
	Disable bool `json:"disable,omitempty"`

	// Strategy of the refresh. Rolling, the default, replaces instances. ReplaceRootVolume gives
	// them root volumes of new images, and keeps the instances with their addresses and instance
	// stores. It does so where the images of overrides change and nothing else, in pools whose
	// nodes join by their IAM role (bootstrap from an EKSConfig or a NodeadmConfig): everywhere
	// else instances are replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=RF8
	// +kubebuilder:validation:XValidation:rule=`self in ['Rolling', 'ReplaceRootVolume']`,message="strategy must be Rolling or ReplaceRootVolume"
	Strategy *string `json:"strategy,omitempty"`

	// InstanceWarmup is how long, in seconds, a new instance is given before the next is replaced.
	// Default: the pool's defaultInstanceWarmup, which is 300s where it is not set.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	InstanceWarmup *int64 `json:"instanceWarmup,omitempty"`

	// MinHealthyPercentage is the share of the desired capacity that stays healthy during the
	// refresh, in percent. Default: 90. With 100, a new instance is launched before an
	// old one is terminated.
	// +optional
	// +slipway:rule=RF1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinHealthyPercentage *int64 `json:"minHealthyPercentage,omitempty"`

	// MaxHealthyPercentage is how far the group may grow during the refresh, in percent of the
	// desired capacity. It needs minHealthyPercentage, and is at most 100 above it.
	// +optional
	// +slipway:rule=RF1
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=200
	MaxHealthyPercentage *int64 `json:"maxHealthyPercentage,omitempty"`

	// CheckpointPercentages are the shares of replaced instances, in percent and ascending, at
	// which the refresh waits for checkpointDelay.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +slipway:rule=RF2
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=100
	// +slipway:rule=RF2
	// +kubebuilder:validation:XValidation:rule=`self.isSorted() && self.all(p, self.exists_one(q, q == p))`,message="checkpointPercentages must be unique and in ascending order, such as 20, 50, 100"
	CheckpointPercentages []int32 `json:"checkpointPercentages,omitempty"`

	// CheckpointDelay is how long the refresh waits at each checkpoint, up to 48h. Default: 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=RF3
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('48h')`,message="checkpointDelay must be between 0s and 48h, in whole seconds, such as 30m"
	CheckpointDelay *metav1.Duration `json:"checkpointDelay,omitempty"`

	// BakeTime is how long the refresh waits after the last replacement before it counts as
	// successful, with the alarms watched. Default: 0.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('48h')`,message="bakeTime must be between 0s and 48h, in whole seconds, such as 10m"
	BakeTime *metav1.Duration `json:"bakeTime,omitempty"`

	// Alarms are names of CloudWatch alarms: the refresh fails when one of them goes off.
	// +optional
	// +listType=set
	// +slipway:rule=RF7
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	Alarms []string `json:"alarms,omitempty"`

	// Rollback goes back, when a refresh fails, to the last configuration that all instances ran,
	// with the bootstrap data of today: the group is pointed there, and instances that were
	// replaced are replaced again. An edit of the pool cancels it.
	// +optional
	Rollback bool `json:"rollback,omitempty"`

	// ScaleInProtectedInstances says what becomes of instances that are protected from scale-in:
	// Refresh replaces them too, Ignore leaves them, Wait waits up to an hour and then fails.
	// Default: Wait.
	// +optional
	// +kubebuilder:validation:Enum=Refresh;Ignore;Wait
	ScaleInProtectedInstances string `json:"scaleInProtectedInstances,omitempty"`

	// StandbyInstances says what becomes of instances in standby: Terminate terminates them, Ignore
	// leaves them, Wait waits up to an hour and then fails. Default: Wait.
	// +optional
	// +kubebuilder:validation:Enum=Terminate;Ignore;Wait
	StandbyInstances string `json:"standbyInstances,omitempty"`

	// SkipMatching leaves instances alone that run the wanted configuration already. Default: true.
	// Where AWS cannot detect this, because overrides have instanceRequirements or versions differ
	// by their join token alone, such instances are protected from scale-in while the refresh runs.
	// +optional
	SkipMatching *bool `json:"skipMatching,omitempty"`
}
