package autoscalinggroup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// check compares one thing; it returns "" if the group has it as desired, else a description of the
// change.
type check func(desired Desired, group Group) string

// sizeChecks and launchChecks compare how many instances there are, and what they are launched
// from. UpdateAutoScalingGroup also changes the subnets and the plain settings.
var (
	sizeChecks   = []check{minSizeDiffers, maxSizeDiffers, capacityDiffers}
	launchChecks = []check{templateDiffers, policyDiffers, overridesDiffer, distributionDiffers}
)

// updateReasons says what would change, an entry for each thing that differs; none means that the
// group is as desired.
func updateReasons(desired Desired, group Group) []string {
	reasons := slices.Concat(differences(sizeChecks, desired, group), differences([]check{subnetsDiffer}, desired, group))
	if desired.launches() {
		reasons = append(reasons, differences(launchChecks, desired, group)...)
	}
	return append(reasons, settingsDiffer(desired.Settings, group.Settings)...)
}

// differences returns what some of the checks find.
func differences(checks []check, desired Desired, group Group) []string {
	var reasons []string
	for _, differs := range checks {
		if reason := differs(desired, group); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

func minSizeDiffers(desired Desired, group Group) string {
	return number("min size", group.MinSize, desired.MinSize)
}

func maxSizeDiffers(desired Desired, group Group) string {
	return number("max size", group.MaxSize, desired.MaxSize)
}

func capacityDiffers(desired Desired, group Group) string {
	if desired.Capacity == nil {
		return ""
	}
	return number("desired capacity", group.Capacity, *desired.Capacity)
}

func templateDiffers(desired Desired, group Group) string {
	if desired.LaunchTemplateID != group.LaunchTemplateID {
		return fmt.Sprintf("launch template %s → %s", orNone(group.LaunchTemplateID), desired.LaunchTemplateID)
	}
	if wanted := strconv.FormatInt(desired.Version, 10); wanted != group.Version {
		return fmt.Sprintf("launch template version %s → %s", orNone(group.Version), wanted)
	}
	return ""
}

func policyDiffers(desired Desired, group Group) string {
	switch wanted := desired.MixedInstancesPolicy != nil; {
	case wanted && !group.Mixed:
		return "mixed instances policy none → set"
	case !wanted && group.Mixed:
		return "mixed instances policy set → none"
	}
	return ""
}

func overridesDiffer(desired Desired, group Group) string {
	var wanted []string
	if desired.MixedInstancesPolicy != nil {
		wanted = overrideTexts(overrides(desired.MixedInstancesPolicy.Overrides))
	}
	seen := overrideTexts(group.Overrides)
	// The order is a priority (AWS: API_LaunchTemplate, Overrides), so it counts.
	if slices.Equal(wanted, seen) {
		return ""
	}
	return fmt.Sprintf("instance type overrides [%s] → [%s]", strings.Join(seen, ", "), strings.Join(wanted, ", "))
}

func distributionDiffers(desired Desired, group Group) string {
	if desired.MixedInstancesPolicy == nil || group.InstancesDistribution == nil {
		return "" // a policy that comes or goes is policyDiffers' to say
	}
	seen, wanted := group.InstancesDistribution, distribution(desired.MixedInstancesPolicy)
	return strings.Join(slices.DeleteFunc([]string{
		pointer("on-demand allocation strategy", seen.OnDemandAllocationStrategy, wanted.OnDemandAllocationStrategy),
		pointer("spot allocation strategy", seen.SpotAllocationStrategy, wanted.SpotAllocationStrategy),
		pointer("on-demand base capacity", seen.OnDemandBaseCapacity, wanted.OnDemandBaseCapacity),
		pointer("on-demand percentage above base", seen.OnDemandPercentageAboveBaseCapacity, wanted.OnDemandPercentageAboveBaseCapacity),
		pointer("spot instance pools", seen.SpotInstancePools, wanted.SpotInstancePools),
		segmentsDiffer(seen.DistributionSegments, wanted.DistributionSegments),
		priceDiffers(awssdk.ToString(seen.SpotMaxPrice), awssdk.ToString(wanted.SpotMaxPrice)),
	}, func(reason string) bool { return reason == "" }), ", ")
}

func segmentsDiffer(seen, wanted []asgtypes.DistributionSegment) string {
	from, to := segmentsText(seen), segmentsText(wanted)
	if from == to {
		return ""
	}
	return fmt.Sprintf("distribution segments %s → %s", orNone(from), orNone(to))
}

func segmentsText(segments []asgtypes.DistributionSegment) string {
	var texts []string
	for _, segment := range segments {
		var kinds []string
		for _, kind := range segment.TargetCapacityTypes {
			kinds = append(kinds, string(kind))
		}
		texts = append(texts, strings.Join(kinds, " > "))
	}
	return strings.Join(texts, "; ")
}

// priceDiffers compares prices as numbers: AWS may write one in another way than it was given.
func priceDiffers(seen, wanted string) string {
	from, seenErr := strconv.ParseFloat(seen, 64)
	to, wantedErr := strconv.ParseFloat(wanted, 64)
	if seen == wanted || seenErr == nil && wantedErr == nil && from == to {
		return ""
	}
	return fmt.Sprintf("spot max price %s → %s", orNone(seen), orNone(wanted))
}

func subnetsDiffer(desired Desired, group Group) string {
	if slices.Equal(desired.SubnetIDs, group.SubnetIDs) {
		return ""
	}
	return fmt.Sprintf("subnets [%s] → [%s]", strings.Join(group.SubnetIDs, " "), strings.Join(desired.SubnetIDs, " "))
}

func number(what string, seen, wanted int32) string {
	if seen == wanted {
		return ""
	}
	return fmt.Sprintf("%s %d → %d", what, seen, wanted)
}

func pointer[T comparable](what string, seen, wanted *T) string {
	if wanted == nil || (seen != nil && *seen == *wanted) {
		return ""
	}
	if seen == nil {
		return fmt.Sprintf("%s unset → %v", what, *wanted)
	}
	return fmt.Sprintf("%s %v → %v", what, *seen, *wanted)
}

// orNone returns a value for users. It distinguishes a value that is itself "none" from one that is
// not set.
func orNone(text string) string {
	switch text {
	case "":
		return none
	case none:
		return strconv.Quote(none)
	}
	return text
}

// none is shown for a value that is not set.
const none = "none"
