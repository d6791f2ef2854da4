package autoscalinggroup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/optional"
)

// AWS's defaults of a group's settings (AWS: API_CreateAutoScalingGroup).
const (
	defaultCooldown        = 300
	noWarmup               = -1
	noPercentage           = -1
	policyDefault          = "Default"
	balancedBestEffort     = string(asgtypes.CapacityDistributionStrategyBalancedBestEffort)
	reservationsAsTemplate = string(asgtypes.CapacityReservationPreferenceDefault)
	healthCheckEC2         = "EC2"
	// Unprotected is the level of deletion protection of a group that may be deleted. OnlyEmpty
	// lets it be deleted once it has no instances.
	Unprotected = string(asgtypes.DeletionProtectionNone)
	OnlyEmpty   = string(asgtypes.DeletionProtectionPreventForceDeletion)

	neverEnds int32 = 0
)

// defaultWarmup is the default instance warmup, in seconds, of a pool that sets none. CAPA's webhook
// writes the same into the spec. AWS's default is none: a refresh then terminates the next instance as
// soon as the new one runs, before its node has joined.
const defaultWarmup = 300

// Settings holds the plain settings of a group, without its sizes and what it launches. Defaults
// stand for fields that a pool leaves out: AWS's, and for the warmup CAPA's. So two groups have the
// same settings if these are the same, and a field that is removed from a spec goes back to the default.
type Settings struct {
	// Cooldown, Warmup, GracePeriod and MaxLifetime are in seconds. A Warmup of -1 and a
	// MaxLifetime of 0 are none.
	Cooldown, Warmup, GracePeriod, MaxLifetime int32
	CapacityRebalance, ProtectNew              bool
	// HealthCheckTypes are sorted, and without EC2, which is always on.
	HealthCheckTypes    []string
	TerminationPolicies []string
	// MinHealthy and MaxHealthy are the instance maintenance policy, in percent; both -1 if there is none.
	MinHealthy, MaxHealthy int32
	Distribution           string
	// ImpairedZone is what happens to unhealthy instances of a zone that was shifted away from; ""
	// without zonal shift.
	ImpairedZone string
	// Reservation is the preference; ids and resource groups are sorted.
	Reservation                          string
	ReservationIDs, ReservationGroupARNs []string
	PlacementGroup                       string
	// DeletionProtection is AWS's level. A pool that names none leaves the group's as it is, and
	// has the digest that it had before this could be named.
	DeletionProtection string `json:",omitempty"`
	// Abandoned is what becomes of instances whose termination was abandoned, an
	// infrav1.RetentionAction. A pool that names none leaves the group's as it is.
	Abandoned string `json:",omitempty"`
	// CapacityType is AWS's unit of the sizes, "" for instances.
	CapacityType string `json:",omitempty"`
	// ServiceLinkedRole is an ARN. A pool that names none leaves the group's as it is: the role may
	// be one that keys are granted to.
	ServiceLinkedRole string `json:",omitempty"`
	// SkipZonalShiftValidation goes with requests that enable zonal shift. AWS does not keep it.
	SkipZonalShiftValidation bool `json:",omitempty"`
}

// defaultSettings returns the settings of a group whose pool sets none.
func defaultSettings() Settings {
	return Settings{
		Cooldown: defaultCooldown, Warmup: noWarmup, TerminationPolicies: []string{policyDefault},
		MinHealthy: noPercentage, MaxHealthy: noPercentage, Distribution: balancedBestEffort, Reservation: reservationsAsTemplate,
		DeletionProtection: Unprotected, Abandoned: infrav1.RetentionActionTerminate,
	}
}

// SettingsOf returns the settings that a pool asks for.
func SettingsOf(spec *infrav1.AWSMachinePoolSpec) Settings {
	settings := defaultSettings()
	settings.Warmup = defaultWarmup
	setSeconds(&settings.Cooldown, spec.DefaultCoolDown)
	setSeconds(&settings.Warmup, spec.DefaultInstanceWarmup)
	setSeconds(&settings.MaxLifetime, spec.MaxInstanceLifetime)
	settings.CapacityRebalance, settings.ProtectNew = spec.CapacityRebalance, spec.NewInstancesProtectedFromScaleIn
	settings.PlacementGroup = spec.PlacementGroup
	settings.DeletionProtection = string(spec.DeletionProtection)
	settings.CapacityType, settings.ServiceLinkedRole = capacityType(string(spec.DesiredCapacityType)), spec.ServiceLinkedRoleARN
	settings.Abandoned = ""
	if policy := spec.InstanceLifecyclePolicy; policy != nil {
		settings.Abandoned = policy.RetentionTriggers.TerminateHookAbandon
	}
	if check := spec.HealthCheck; check != nil {
		setSeconds(&settings.GracePeriod, check.GracePeriod)
		settings.HealthCheckTypes = healthChecks(check.Types)
	}
	if len(spec.TerminationPolicies) > 0 {
		settings.TerminationPolicies = slices.Clone(spec.TerminationPolicies)
	}
	if policy := spec.InstanceMaintenancePolicy; policy != nil {
		settings.MinHealthy, settings.MaxHealthy = policy.MinHealthyPercentage, policy.MaxHealthyPercentage
	}
	if spec.AvailabilityZoneDistribution != "" {
		settings.Distribution = string(spec.AvailabilityZoneDistribution)
	}
	if policy := spec.AvailabilityZoneImpairmentPolicy; policy != nil && policy.ZonalShiftEnabled {
		settings.ImpairedZone, settings.SkipZonalShiftValidation = policy.ImpairedZoneHealthCheckBehavior, policy.SkipZonalShiftValidation
	}
	if reservation := spec.CapacityReservation; reservation != nil {
		settings.Reservation = reservation.Preference
		settings.ReservationIDs, settings.ReservationGroupARNs = sorted(reservation.IDs), sorted(reservation.ResourceGroupARNs)
	}
	return settings
}

// settingsOf reads the settings of a group that was seen. A setting that AWS does not report has
// its default.
func settingsOf(group *asgtypes.AutoScalingGroup) Settings {
	settings := defaultSettings()
	set(&settings.Cooldown, group.DefaultCooldown)
	set(&settings.Warmup, group.DefaultInstanceWarmup)
	set(&settings.GracePeriod, group.HealthCheckGracePeriod)
	set(&settings.MaxLifetime, group.MaxInstanceLifetime)
	set(&settings.CapacityRebalance, group.CapacityRebalance)
	set(&settings.ProtectNew, group.NewInstancesProtectedFromScaleIn)
	set(&settings.PlacementGroup, group.PlacementGroup)
	set(&settings.ServiceLinkedRole, group.ServiceLinkedRoleARN)
	settings.CapacityType = capacityType(awssdk.ToString(group.DesiredCapacityType))
	if group.DeletionProtection != "" {
		settings.DeletionProtection = string(group.DeletionProtection)
	}
	if policy := group.InstanceLifecyclePolicy; policy != nil && policy.RetentionTriggers != nil {
		settings.Abandoned = cmp.Or(string(policy.RetentionTriggers.TerminateHookAbandon), settings.Abandoned)
	}
	settings.HealthCheckTypes = healthChecks(strings.Split(awssdk.ToString(group.HealthCheckType), ","))
	if len(group.TerminationPolicies) > 0 {
		settings.TerminationPolicies = slices.Clone(group.TerminationPolicies)
	}
	if policy := group.InstanceMaintenancePolicy; policy != nil {
		set(&settings.MinHealthy, policy.MinHealthyPercentage)
		set(&settings.MaxHealthy, policy.MaxHealthyPercentage)
	}
	if distribution := group.AvailabilityZoneDistribution; distribution != nil && distribution.CapacityDistributionStrategy != "" {
		settings.Distribution = string(distribution.CapacityDistributionStrategy)
	}
	if policy := group.AvailabilityZoneImpairmentPolicy; policy != nil && awssdk.ToBool(policy.ZonalShiftEnabled) {
		settings.ImpairedZone = string(policy.ImpairedZoneHealthCheckBehavior)
	}
	if reservation := group.CapacityReservationSpecification; reservation != nil {
		if reservation.CapacityReservationPreference != "" {
			settings.Reservation = string(reservation.CapacityReservationPreference)
		}
		if target := reservation.CapacityReservationTarget; target != nil {
			settings.ReservationIDs, settings.ReservationGroupARNs = sorted(target.CapacityReservationIds), sorted(target.CapacityReservationResourceGroupArns)
		}
	}
	return settings
}

// setting is one of the settings: how it is said, which is also how it is compared, and how it is sent.
type setting struct {
	name string
	text func(Settings) string
	send func(Settings, *autoscaling.UpdateAutoScalingGroupInput)
}

// plainSettings are all of them. A member is sent with AWS's own way to say "none" or "default",
// because an update leaves alone what it leaves out (AWS: API_UpdateAutoScalingGroup, which also
// has these ways).
var plainSettings = []setting{
	{"default cooldown", func(s Settings) string { return seconds(s.Cooldown) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) { in.DefaultCooldown = &s.Cooldown }},
	{"default instance warmup", func(s Settings) string { return orText(s.Warmup != noWarmup, seconds(s.Warmup)) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) { in.DefaultInstanceWarmup = &s.Warmup }},
	{"capacity rebalance", func(s Settings) string { return strconv.FormatBool(s.CapacityRebalance) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.CapacityRebalance = &s.CapacityRebalance
		}},
	{"health checks", healthCheckType,
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.HealthCheckType = awssdk.String(healthCheckType(s))
		}},
	{"health check grace period", func(s Settings) string { return seconds(s.GracePeriod) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.HealthCheckGracePeriod = &s.GracePeriod
		}},
	{"termination policies", func(s Settings) string { return strings.Join(s.TerminationPolicies, " ") },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.TerminationPolicies = s.TerminationPolicies
		}},
	{"max instance lifetime", func(s Settings) string { return orText(s.MaxLifetime != neverEnds, seconds(s.MaxLifetime)) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) { in.MaxInstanceLifetime = &s.MaxLifetime }},
	{"instance maintenance policy", maintenanceText,
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.InstanceMaintenancePolicy = &asgtypes.InstanceMaintenancePolicy{MinHealthyPercentage: &s.MinHealthy, MaxHealthyPercentage: &s.MaxHealthy}
		}},
	{"availability zone distribution", func(s Settings) string { return s.Distribution },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.AvailabilityZoneDistribution = &asgtypes.AvailabilityZoneDistribution{
				CapacityDistributionStrategy: asgtypes.CapacityDistributionStrategy(s.Distribution),
			}
		}},
	{"zonal shift", func(s Settings) string { return orText(s.ImpairedZone != "", s.ImpairedZone) }, sendImpairment},
	{"capacity reservation", reservationText, sendReservation},
	{"placement group", func(s Settings) string { return orNone(s.PlacementGroup) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) { in.PlacementGroup = &s.PlacementGroup }},
	{"deletion protection", func(s Settings) string { return s.DeletionProtection },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.DeletionProtection = asgtypes.DeletionProtection(s.DeletionProtection)
		}},
	{"abandoned terminations", func(s Settings) string { return s.Abandoned },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.InstanceLifecyclePolicy = lifecyclePolicy(s.Abandoned)
		}},
	{"capacity type", func(s Settings) string { return cmp.Or(s.CapacityType, string(infrav1.DesiredCapacityTypeUnits)) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.DesiredCapacityType = awssdk.String(cmp.Or(s.CapacityType, string(infrav1.DesiredCapacityTypeUnits)))
		}},
	{"service-linked role", func(s Settings) string { return orNone(s.ServiceLinkedRole) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.ServiceLinkedRoleARN = optional.Text(s.ServiceLinkedRole)
		}},
	{"scale-in protection of new instances", func(s Settings) string { return strconv.FormatBool(s.ProtectNew) },
		func(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
			in.NewInstancesProtectedFromScaleIn = &s.ProtectNew
		}},
}

// sendImpairment skips AWS's check of the load balancers only if the pool says so: what AWS refuses
// is shown, and is for the user to weigh.
func sendImpairment(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
	behavior := asgtypes.ImpairedZoneHealthCheckBehavior(s.ImpairedZone)
	in.AvailabilityZoneImpairmentPolicy = &asgtypes.AvailabilityZoneImpairmentPolicy{
		ZonalShiftEnabled: awssdk.Bool(s.ImpairedZone != ""), ImpairedZoneHealthCheckBehavior: behavior,
	}
	if behavior == "" {
		in.AvailabilityZoneImpairmentPolicy.ImpairedZoneHealthCheckBehavior = asgtypes.ImpairedZoneHealthCheckBehaviorIgnoreUnhealthy
	}
	if s.SkipZonalShiftValidation {
		in.SkipZonalShiftValidation = &s.SkipZonalShiftValidation
	}
}

func sendReservation(s Settings, in *autoscaling.UpdateAutoScalingGroupInput) {
	in.CapacityReservationSpecification = &asgtypes.CapacityReservationSpecification{
		CapacityReservationPreference: asgtypes.CapacityReservationPreference(s.Reservation),
	}
	if len(s.ReservationIDs)+len(s.ReservationGroupARNs) > 0 {
		in.CapacityReservationSpecification.CapacityReservationTarget = &asgtypes.CapacityReservationTarget{
			CapacityReservationIds: s.ReservationIDs, CapacityReservationResourceGroupArns: s.ReservationGroupARNs,
		}
	}
}

func maintenanceText(s Settings) string {
	return orText(s.MinHealthy != noPercentage, fmt.Sprintf("%d%% to %d%%", s.MinHealthy, s.MaxHealthy))
}

func reservationText(s Settings) string {
	return strings.Join(slices.Concat([]string{s.Reservation}, s.ReservationIDs, s.ReservationGroupARNs), " ")
}

func healthCheckType(s Settings) string {
	if len(s.HealthCheckTypes) == 0 {
		return healthCheckEC2
	}
	return strings.Join(s.HealthCheckTypes, ",")
}

func healthChecks(types []string) []string {
	var list []string
	for _, kind := range types {
		if kind = strings.TrimSpace(kind); kind != "" && kind != healthCheckEC2 {
			list = append(list, kind)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// beside returns the settings with the deletion protection, the retention of instances, and the
// service-linked role of the group where the pool names none: an operator set them to protect the
// group or an instance from accidental deletion, or because a key is granted to the role.
func (s Settings) beside(seen Settings) Settings {
	s.DeletionProtection = cmp.Or(s.DeletionProtection, seen.DeletionProtection)
	s.Abandoned = cmp.Or(s.Abandoned, seen.Abandoned)
	s.ServiceLinkedRole = cmp.Or(s.ServiceLinkedRole, seen.ServiceLinkedRole)
	return s
}

// sendSettings puts those settings into an update that differ from what was seen.
func sendSettings(wanted, seen Settings, input *autoscaling.UpdateAutoScalingGroupInput) {
	wanted = wanted.beside(seen)
	for _, setting := range plainSettings {
		if setting.text(wanted) != setting.text(seen) {
			setting.send(wanted, input)
		}
	}
}

// settingsDiffer says what would change of the settings.
func settingsDiffer(wanted, seen Settings) []string {
	var reasons []string
	wanted = wanted.beside(seen)
	for _, setting := range plainSettings {
		if from, to := setting.text(seen), setting.text(wanted); from != to {
			reasons = append(reasons, fmt.Sprintf("%s %s → %s", setting.name, from, to))
		}
	}
	return reasons
}

func lifecyclePolicy(abandoned string) *asgtypes.InstanceLifecyclePolicy {
	return &asgtypes.InstanceLifecyclePolicy{RetentionTriggers: &asgtypes.RetentionTriggers{TerminateHookAbandon: asgtypes.RetentionAction(abandoned)}}
}

// capacityType returns the unit of a group's sizes, with "" for AWS's default.
func capacityType(unit string) string {
	if unit == string(infrav1.DesiredCapacityTypeUnits) {
		return ""
	}
	return unit
}

func set[T any](target, value *T) {
	if value != nil {
		*target = *value
	}
}

// setSeconds leaves the default where no duration is given.
func setSeconds(target *int32, duration *metav1.Duration) {
	if duration != nil {
		*target = int32(min(max(duration.Seconds(), 0), math.MaxInt32))
	}
}

func seconds(value int32) string { return strconv.Itoa(int(value)) + "s" }

func orText(present bool, text string) string {
	if !present {
		return none
	}
	return text
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
