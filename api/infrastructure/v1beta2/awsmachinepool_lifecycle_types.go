package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSLifecycleHook stops instances on their way in or out.
//
// +slipway:rule=HK1
// +kubebuilder:validation:XValidation:rule=`self.name.matches('^[A-Za-z0-9_/-]+$')`,message="a lifecycle hook name must contain only letters, digits, and - _ /",fieldPath=".name"
// +slipway:rule=HK1
// +kubebuilder:validation:XValidation:rule=`!self.name.startsWith('slipway-')`,message="lifecycle hook names that begin with slipway- are reserved for Slipway: choose another name",fieldPath=".name"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!(has(self.notificationTargetARN) && self.notificationTargetARN != "") || (has(self.roleARN) && self.roleARN != "")`,message="notificationTargetARN requires roleARN: set it to a role that lets Auto Scaling publish to the target",fieldPath=".roleARN"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!(has(self.roleARN) && self.roleARN != "") || (has(self.notificationTargetARN) && self.notificationTargetARN != "")`,message="roleARN has no effect without notificationTargetARN: set notificationTargetARN, or remove roleARN",fieldPath=".roleARN"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!has(self.notificationTargetARN) || self.notificationTargetARN == "" || self.notificationTargetARN.matches('^arn:[a-z-]+:(sqs|sns):[a-z0-9-]+:[0-9]{12}:[a-zA-Z0-9_.-]+$')`,message="must be the ARN of an SQS queue or an SNS topic (arn:aws:sqs:<region>:<account>:<queue>)",fieldPath=".notificationTargetARN"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!has(self.roleARN) || self.roleARN == "" || self.roleARN.matches('^arn:[a-z-]+:iam::[0-9]{12}:role/[!-~]+$')`,message="must be the ARN of an IAM role (arn:aws:iam::<account>:role/<name>)",fieldPath=".roleARN"
type AWSLifecycleHook struct {
	// Name of the hook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// NotificationTargetARN is the SQS queue or SNS topic that is notified.
	// +optional
	// +kubebuilder:validation:MaxLength=1600
	NotificationTargetARN *string `json:"notificationTargetARN,omitempty"`

	// RoleARN is the IAM role that may notify the target.
	// +optional
	// +kubebuilder:validation:MaxLength=1600
	RoleARN *string `json:"roleARN,omitempty"`

	// LifecycleTransition is the way that instances are stopped on.
	// +required
	LifecycleTransition LifecycleTransition `json:"lifecycleTransition"`

	// HeartbeatTimeout is how long an instance is held without a heartbeat, 30s to 2h. Default: 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=HK2
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('30s') && duration(self) <= duration('2h')`,message="heartbeatTimeout must be between 30s and 2h, in whole seconds; a program that holds instances longer must send heartbeats"
	HeartbeatTimeout *metav1.Duration `json:"heartbeatTimeout,omitempty"`

	// DefaultResult is what happens at the timeout. Default: ABANDON.
	// +optional
	DefaultResult *LifecycleHookDefaultResult `json:"defaultResult,omitempty"`

	// NotificationMetadata is sent along to the target.
	// +optional
	// +slipway:rule=HK3
	// +kubebuilder:validation:MaxLength=4000
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[\t\n\r -~]*$')`,message="notificationMetadata must contain only printable ASCII characters, tabs, and line breaks"
	NotificationMetadata *string `json:"notificationMetadata,omitempty"`
}

// LifecycleTransition is a way of an instance into or out of a group.
// +kubebuilder:validation:Enum="autoscaling:EC2_INSTANCE_LAUNCHING";"autoscaling:EC2_INSTANCE_TERMINATING"
type LifecycleTransition string

// The ways.
const (
	LifecycleTransitionInstanceLaunching   LifecycleTransition = "autoscaling:EC2_INSTANCE_LAUNCHING"
	LifecycleTransitionInstanceTerminating LifecycleTransition = "autoscaling:EC2_INSTANCE_TERMINATING"
)

// LifecycleHookDefaultResult defines what happens to an instance whose lifecycle action is not
// completed in time.
// +kubebuilder:validation:Enum=CONTINUE;ABANDON
type LifecycleHookDefaultResult string

// The results.
const (
	LifecycleHookDefaultResultContinue LifecycleHookDefaultResult = "CONTINUE"
	LifecycleHookDefaultResultAbandon  LifecycleHookDefaultResult = "ABANDON"
)

// InstanceLifecyclePolicy says when a group retains instances instead of terminating them.
type InstanceLifecyclePolicy struct {
	// RetentionTriggers list the events after which the group retains an instance.
	// +required
	RetentionTriggers RetentionTriggers `json:"retentionTriggers"`
}

// RetentionTriggers list the events after which a group retains an instance.
type RetentionTriggers struct {
	// TerminateHookAbandon says what happens to an instance whose termination hook was abandoned.
	// With retain it keeps running, the group launches a replacement, and EC2 goes on charging for
	// it: an instance whose node was not drained within nodeDrain.timeout is retained, drained
	// further, and terminated once its node is empty. One that another hook abandoned, or whose
	// hook timed out while no manager ran, is retained until you terminate it.
	// +required
	// +slipway:rule=SL79
	// +kubebuilder:validation:Enum=retain;terminate
	TerminateHookAbandon string `json:"terminateHookAbandon"`
}

// What Auto Scaling does with an instance whose termination was abandoned.
const (
	RetentionActionRetain    = "retain"
	RetentionActionTerminate = "terminate"
)

// WarmPool keeps initialized instances in reserve.
type WarmPool struct {
	// MinSize is how many instances the warm pool has at least. Default: 0.
	// +optional
	// +slipway:rule=WP3
	// +kubebuilder:validation:Minimum=0
	MinSize int32 `json:"minSize,omitempty"`

	// MaxGroupPreparedCapacity is how many instances the group and its warm pool have together.
	// Default: maxSize.
	// +optional
	// +slipway:rule=WP3
	// +kubebuilder:validation:Minimum=0
	MaxGroupPreparedCapacity *int32 `json:"maxGroupPreparedCapacity,omitempty"`

	// State that instances wait in. Hibernated ones keep their memory, and need hibernationOptions
	// in the AWSLaunchConfig. Default: Stopped.
	// +optional
	// +kubebuilder:validation:Enum=Stopped;Running;Hibernated
	State string `json:"state,omitempty"`

	// ReuseOnScaleIn returns instances to the warm pool when the group shrinks, instead of ending them.
	// +optional
	ReuseOnScaleIn bool `json:"reuseOnScaleIn,omitempty"`
}

// DefaultNodeDrainTimeout limits the drain of a node where spec.nodeDrain.timeout is not set.
const DefaultNodeDrainTimeout = 15 * time.Minute

// NodeDrain says how a node is emptied before its instance is terminated.
type NodeDrain struct {
	// Disable lets instances terminate at once, without emptying their nodes.
	// +optional
	Disable bool `json:"disable,omitempty"`

	// Timeout is how long a node may take to empty before its instance is terminated anyway, 1m to 48h. Default: 15m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('1m') && duration(self) <= duration('48h')`,message="timeout must be between 1m and 48h, in whole seconds, such as 15m: Auto Scaling holds an instance for at most 48 hours"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// MachinePoolMachines says whether instances have Machines.
// +kubebuilder:validation:Enum=Enabled;Disabled
type MachinePoolMachines string

// The choices.
const (
	MachinePoolMachinesEnabled  MachinePoolMachines = "Enabled"
	MachinePoolMachinesDisabled MachinePoolMachines = "Disabled"
)
