package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AZSubnetType is a type of subnet.
// +kubebuilder:validation:Enum=public;private;all
type AZSubnetType string

// The types of subnets.
const (
	AZSubnetTypePublic  AZSubnetType = "public"
	AZSubnetTypePrivate AZSubnetType = "private"
	AZSubnetTypeAll     AZSubnetType = "all"
)

// SuspendProcessesTypes are the processes of a group that are stopped.
type SuspendProcessesTypes struct {
	// All stops every process.
	// +optional
	All bool `json:"all,omitempty"`

	// Processes says it for each process; what it says false to stays running under all.
	// +optional
	Processes *Processes `json:"processes,omitempty"`
}

// Processes are the processes of an Auto Scaling group (AWS: as-suspend-resume-processes).
type Processes struct {
	// Launch adds instances.
	// +optional
	Launch *bool `json:"launch,omitempty"`

	// Terminate removes instances.
	// +optional
	Terminate *bool `json:"terminate,omitempty"`

	// AddToLoadBalancer registers instances with target groups.
	// +optional
	AddToLoadBalancer *bool `json:"addToLoadBalancer,omitempty"`

	// AlarmNotification takes alarms for scaling policies.
	// +optional
	AlarmNotification *bool `json:"alarmNotification,omitempty"`

	// AZRebalance evens the zones out.
	// +optional
	AZRebalance *bool `json:"azRebalance,omitempty"`

	// HealthCheck finds unhealthy instances.
	// +optional
	HealthCheck *bool `json:"healthCheck,omitempty"`

	// InstanceRefresh replaces instances in a refresh.
	// +optional
	InstanceRefresh *bool `json:"instanceRefresh,omitempty"`

	// ReplaceUnhealthy replaces unhealthy instances.
	// +optional
	ReplaceUnhealthy *bool `json:"replaceUnhealthy,omitempty"`

	// ScheduledActions scales on a schedule.
	// +optional
	ScheduledActions *bool `json:"scheduledActions,omitempty"`
}

// HealthCheck says what makes an instance unhealthy.
type HealthCheck struct {
	// Types of checks in addition to EC2's own, which is always on: ELB, VPC_LATTICE, EBS.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=EC2;ELB;VPC_LATTICE;EBS
	Types []string `json:"types,omitempty"`

	// GracePeriod is how long a new instance is not checked. Default: none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('596523h')`,message="gracePeriod must be a non-negative duration in whole seconds, such as 300s or 5m"
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`
}

// InstanceMaintenancePolicy bounds how far a group may shrink and grow while it replaces instances.
//
// +slipway:rule=AS21
// +kubebuilder:validation:XValidation:rule=`self.maxHealthyPercentage - self.minHealthyPercentage <= 100`,message="maxHealthyPercentage must not exceed minHealthyPercentage by more than 100",fieldPath=".maxHealthyPercentage"
type InstanceMaintenancePolicy struct {
	// MinHealthyPercentage is the share of the desired capacity that stays healthy, in percent.
	// +required
	// +slipway:rule=AS21
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinHealthyPercentage int32 `json:"minHealthyPercentage"`

	// MaxHealthyPercentage is how far the group may grow, in percent of the desired capacity; at
	// most 100 above minHealthyPercentage.
	// +required
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=200
	MaxHealthyPercentage int32 `json:"maxHealthyPercentage"`
}

// AvailabilityZoneDistribution says how strictly instances are spread over zones:
// balanced-best-effort launches elsewhere when a zone has no capacity, and is AWS's default;
// balanced-only waits for the zone; reservations-then-balanced first launches into the Capacity
// Reservations of spec.capacityReservation, in whatever zones they are, and then spreads the rest.
//
// +slipway:rule=AS20
// +kubebuilder:validation:Enum=balanced-best-effort;balanced-only;reservations-then-balanced
type AvailabilityZoneDistribution string

// DesiredCapacityType is a unit of the sizes of a group, as AWS writes it.
//
// +slipway:rule=SL76
// +kubebuilder:validation:Enum=units;vcpu;memory-mib
type DesiredCapacityType string

// DesiredCapacityTypeUnits counts instances, or their weights.
const DesiredCapacityTypeUnits DesiredCapacityType = "units"

// DeletionProtection is a level of protection of a group from being deleted, as AWS writes it.
//
// +slipway:rule=SL75
// +kubebuilder:validation:Enum=none;prevent-force-deletion;prevent-all-deletion
type DeletionProtection string

// The levels.
const (
	DeletionProtectionNone                 DeletionProtection = "none"
	DeletionProtectionPreventForceDeletion DeletionProtection = "prevent-force-deletion"
	DeletionProtectionPreventAllDeletion   DeletionProtection = "prevent-all-deletion"
)

// AvailabilityZoneImpairmentPolicy says what a group does when AWS shifts traffic away from a zone.
//
// +slipway:rule=SL9
// +kubebuilder:validation:XValidation:rule=`!self.zonalShiftEnabled || has(self.impairedZoneHealthCheckBehavior)`,message="zonalShiftEnabled requires impairedZoneHealthCheckBehavior: set it to ReplaceUnhealthy or IgnoreUnhealthy",fieldPath=".impairedZoneHealthCheckBehavior"
// +slipway:rule=SL9
// +kubebuilder:validation:XValidation:rule=`self.zonalShiftEnabled || !has(self.impairedZoneHealthCheckBehavior)`,message="impairedZoneHealthCheckBehavior has no effect without a zonal shift: set zonalShiftEnabled to true, or remove impairedZoneHealthCheckBehavior",fieldPath=".impairedZoneHealthCheckBehavior"
// +slipway:rule=SL9
// +kubebuilder:validation:XValidation:rule=`self.zonalShiftEnabled || !has(self.skipZonalShiftValidation) || !self.skipZonalShiftValidation`,message="skipZonalShiftValidation has no effect without a zonal shift: set zonalShiftEnabled to true, or remove skipZonalShiftValidation",fieldPath=".skipZonalShiftValidation"
type AvailabilityZoneImpairmentPolicy struct {
	// ZonalShiftEnabled lets a zonal shift move the group out of the zone.
	// +required
	ZonalShiftEnabled bool `json:"zonalShiftEnabled"`

	// ImpairedZoneHealthCheckBehavior says whether unhealthy instances of the zone are replaced. It
	// is required while zonal shift is enabled.
	// +optional
	// +kubebuilder:validation:Enum=ReplaceUnhealthy;IgnoreUnhealthy
	ImpairedZoneHealthCheckBehavior string `json:"impairedZoneHealthCheckBehavior,omitempty"`

	// SkipZonalShiftValidation enables zonal shift although the group has load balancers without
	// cross-zone load balancing. AWS refuses that otherwise, because capacity may become unevenly
	// distributed behind them.
	// +optional
	SkipZonalShiftValidation bool `json:"skipZonalShiftValidation,omitempty"`
}

// TrafficSource identifies a target group or a load balancer that a group registers its instances with.
//
// +slipway:rule=SL78
// +kubebuilder:validation:XValidation:rule=`self.type != 'elbv2' || self.identifier.matches('^arn:[a-z-]+:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/[a-zA-Z0-9-]+/[0-9a-f]+$')`,message="type elbv2 requires the ARN of a target group (arn:aws:elasticloadbalancing:<region>:<account>:targetgroup/<name>/<id>)",fieldPath=".identifier"
// +slipway:rule=SL78
// +kubebuilder:validation:XValidation:rule=`self.type != 'vpc-lattice' || self.identifier.matches('^arn:[a-z-]+:vpc-lattice:[a-z0-9-]+:[0-9]{12}:targetgroup/tg-[0-9a-z]+$')`,message="type vpc-lattice requires the ARN of a VPC Lattice target group (arn:aws:vpc-lattice:<region>:<account>:targetgroup/tg-<id>)",fieldPath=".identifier"
// +slipway:rule=SL78
// +kubebuilder:validation:XValidation:rule=`self.type != 'elb' || self.identifier.matches('^[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$')`,message="type elb requires the name of a Classic Load Balancer: up to 32 letters, digits, and hyphens",fieldPath=".identifier"
type TrafficSource struct {
	// Identifier is the ARN of a target group, or the name of a Classic Load Balancer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=511
	Identifier string `json:"identifier"`

	// Type is elbv2 for a target group of a load balancer, vpc-lattice for one of VPC Lattice, and
	// elb for a Classic Load Balancer.
	// +required
	// +kubebuilder:validation:Enum=elb;elbv2;vpc-lattice
	Type string `json:"type"`
}

// GroupCapacityReservation says whether a group launches into Capacity Reservations.
//
// +slipway:rule=CR2
// +kubebuilder:validation:XValidation:rule=`!((has(self.ids) && size(self.ids) > 0) || (has(self.resourceGroupARNs) && size(self.resourceGroupARNs) > 0)) || self.preference in ['capacity-reservations-only', 'capacity-reservations-first']`,message="ids and resourceGroupARNs require a preference that uses reservations: set preference to capacity-reservations-only or capacity-reservations-first",fieldPath=".preference"
type GroupCapacityReservation struct {
	// Preference is AWS's: capacity-reservations-only, capacity-reservations-first, none, or
	// default, which leaves it to the launch template.
	// +required
	// +kubebuilder:validation:Enum=capacity-reservations-only;capacity-reservations-first;none;default
	Preference string `json:"preference"`

	// IDs are the Capacity Reservations. Default: any that is open and fits.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self.all(i, i.matches('^cr-[0-9a-f]{8,17}$'))`,message="must be IDs of Capacity Reservations (cr-...)"
	IDs []string `json:"ids,omitempty"`

	// ResourceGroupARNs are resource groups of Capacity Reservations.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=2048
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self.all(a, a.matches('^arn:[a-z-]+:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[!-~]+$'))`,message="must be ARNs of resource groups (arn:aws:resource-groups:<region>:<account>:group/<name>)"
	ResourceGroupARNs []string `json:"resourceGroupARNs,omitempty"`
}
