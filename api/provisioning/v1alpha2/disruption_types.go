package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Annotations that keep a node from being disrupted voluntarily. They count with the value "true":
// on a pod, on its Node, and on its ProvisionedNode.
const (
	// DoNotDisruptAnnotation is Karpenter's.
	DoNotDisruptAnnotation = "karpenter.sh/do-not-disrupt"

	// DoNotEvictAnnotation has the same meaning. Karpenter used this name before version 0.32.
	DoNotEvictAnnotation = "karpenter.sh/do-not-evict"
)

// DisruptionAllowedAnnotation on a ProvisionedNode lets it be disrupted for the reason that is its
// value, within the disruption budgets of its Provisioner. Slipway sets and removes it.
const DisruptionAllowedAnnotation = "provisioning.karpenter.sh/disruption-allowed"

// TerminationDeadlineAnnotation on a ProvisionedNode is when its instance is terminated although
// pods are left (RFC 3339), once the ProvisionedNode is deleted. If terminationGracePeriod
// expires sooner, that time applies. Slipway sets it on Spot Instances that EC2 takes back, and
// on failed nodes that it drains.
const TerminationDeadlineAnnotation = "provisioning.karpenter.sh/termination-deadline"

// PendingSinceAnnotation on a ProvisionedNode is when the first of the pods that it was launched
// for was seen pending (RFC 3339). Metrics measure from it.
const PendingSinceAnnotation = "provisioning.karpenter.sh/pending-since"

// Disruption bounds how many nodes of a Provisioner are disrupted voluntarily at a time.
type Disruption struct {
	// Budgets limit how many nodes are terminated or replaced at a time. Of several budgets that
	// apply, the smallest holds. Nodes that are leaving or not ready count against every budget.
	// Default: 10% for the reason Expired.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Budgets []DisruptionBudget `json:"budgets,omitempty"`
}

// DisruptionBudget limits how many nodes are disrupted at a time.
//
// +slipway:rule=SP30
// +kubebuilder:validation:XValidation:rule=`has(self.schedule) == has(self.duration)`,message="set schedule and duration together: the budget applies from each time of the schedule for the duration; without both it always applies"
type DisruptionBudget struct {
	// Nodes is the number of nodes of the Provisioner that may be disrupted at a time: a number, or
	// a percentage of its nodes that have been ready, rounded up. 0 allows none.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=6
	// +slipway:rule=SP30
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 && self <= 100000 : self.matches('^([0-9]{1,5}|([0-9]{1,2}|100)%)$')`,message="nodes must be a number such as 2, or a percentage such as 10%"
	Nodes intstr.IntOrString `json:"nodes"`

	// Schedule is when the budget begins to apply, in UTC: five fields of cron (minute, hour, day
	// of month, month, day of week), or @hourly, @daily, @midnight, @weekly, @monthly, @yearly, or
	// @annually. Default: the budget always applies.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SP31
	// +kubebuilder:validation:XValidation:rule=`self.startsWith('@') ? self.matches('^@(annually|yearly|monthly|weekly|daily|midnight|hourly)$') : self.matches('^[^ ]+( [^ ]+){4}$')`,message="a schedule must have five cron fields, such as 0 9 * * mon-fri, or be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, and @annually"
	// +slipway:rule=SP31
	// +kubebuilder:validation:XValidation:rule=`self.split(' ').size() != 5 || self.split(' ')[0].split(',').all(e, e.matches('^([*]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?$'))`,message="the first field must be the minute: 0 to 59; * for any, with - for ranges, / for steps, and , for lists"
	// +slipway:rule=SP31
	// +kubebuilder:validation:XValidation:rule=`self.split(' ').size() != 5 || self.split(' ')[1].split(',').all(e, e.matches('^([*]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?$'))`,message="the second field must be the hour: 0 to 23; * for any, with - for ranges, / for steps, and , for lists"
	// +slipway:rule=SP31
	// +kubebuilder:validation:XValidation:rule=`self.split(' ').size() != 5 || self.split(' ')[2].split(',').all(e, e.matches('^([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?$'))`,message="the third field must be the day of the month: 1 to 31; * for any, with - for ranges, / for steps, and , for lists"
	// +slipway:rule=SP31
	// +kubebuilder:validation:XValidation:rule=`self.split(' ').size() != 5 || self.split(' ')[3].split(',').all(e, e.matches('(?i)^([*]|(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(-(0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))?)(/[1-9][0-9]?)?$'))`,message="the fourth field must be the month: 1 to 12, or jan to dec; * for any, with - for ranges, / for steps, and , for lists"
	// +slipway:rule=SP31
	// +kubebuilder:validation:XValidation:rule=`self.split(' ').size() != 5 || self.split(' ')[4].split(',').all(e, e.matches('(?i)^([*?]|([0-6]|sun|mon|tue|wed|thu|fri|sat)(-([0-6]|sun|mon|tue|wed|thu|fri|sat))?)(/[1-9][0-9]?)?$'))`,message="the fifth field must be the day of the week: 0 (Sunday) to 6, or sun to sat; * for any, with - for ranges, / for steps, and , for lists"
	Schedule string `json:"schedule,omitempty"`

	// Duration is the time for which the budget applies, from each time of the schedule, such as 8h or 1h30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SP32
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]{1,4}h)?([0-9]{1,5}m)?(0s)?$') && self.matches('[1-9]')`,message="must be a duration in hours and minutes, such as 8h or 1h30m"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// Reasons that the budget limits. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Reasons []DisruptionReason `json:"reasons,omitempty"`
}

// DisruptionReason is a reason for the voluntary disruption of a node.
//
// +kubebuilder:validation:Enum=Empty;Expired;Drifted;Requested
type DisruptionReason string

// The reasons. They are also reasons of the condition Replacing.
const (
	// DisruptionEmpty terminates a node that has been empty for spec.ttlSeconds.
	DisruptionEmpty DisruptionReason = EmptyReason

	// DisruptionExpired replaces a node that is as old as spec.ttlSecondsUntilExpired.
	DisruptionExpired DisruptionReason = ExpiredReason

	// DisruptionDrifted replaces a node that would be launched differently now.
	DisruptionDrifted DisruptionReason = DriftedReason

	// DisruptionRequested replaces a node with the annotation provisioning.karpenter.sh/replace.
	DisruptionRequested DisruptionReason = RequestedReason
)
