// Package autoscalinggroup keeps one Auto Scaling group as a pool wants it: desired state →
// requests (pure), human-readable reasons for a change, and roll-outs by instance refresh that are
// decided from what the instances run. It knows the AWS side of a group, and nothing of the
// Kubernetes objects that ask for it.
//
// A refresh replaces root volumes only where the images of overrides change and nothing else, and
// only for nodes that join by their IAM role: a rebooted node joins with the user data of its
// launch, and a join token in it has expired by then.
package autoscalinggroup

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
)

// Desired is the group that a pool asks for.
type Desired struct {
	// Owner is the value of the ownership tag.
	Owner string
	// Names are the possible names, the best first.
	Names []string

	MinSize, MaxSize int32
	// Capacity is the desired capacity; nil leaves it to an external autoscaler.
	Capacity *int32
	// LaunchTemplateID and Version are what new instances launch from; always a number, never
	// $Latest. An empty id leaves the group to what it launches now, mixed instances policy
	// included.
	LaunchTemplateID string
	Version          int64
	// MixedInstancesPolicy is nil for a group with the template's instance type alone.
	MixedInstancesPolicy *infrav1.MixedInstancesPolicy
	// SubnetIDs are sorted.
	SubnetIDs []string
	Settings  Settings
	// Hooks are sorted by name. They come from the pool's list, and from whatever of ours holds
	// instances (draining).
	Hooks []lifecyclehook.Hook
	// TargetGroupARNs and Suspended processes are sorted.
	TargetGroupARNs, Suspended []string
	// TrafficSources are sorted by identifier.
	TrafficSources []TrafficSource `json:",omitempty"`
	// WarmPool is nil for none.
	WarmPool *WarmPool
	// Tags are the group's own; they do not propagate to instances, which get theirs from the template.
	Tags map[string]string
	// RetiredTags are keys that the pool set earlier and no longer asks for.
	RetiredTags []string
}

// Shrinks reports whether the group has to lose instances to be as desired.
func (d Desired) Shrinks(group Group) bool {
	return d.Capacity != nil && *d.Capacity < group.Capacity || d.MaxSize < group.Capacity
}

// Resizes reports whether a size of the group changes for it to be as desired.
func (d Desired) Resizes(group Group) bool {
	return d.Capacity != nil && *d.Capacity != group.Capacity || d.MinSize != group.MinSize || d.MaxSize != group.MaxSize
}

// launches says whether it is known what the group is to launch.
func (d Desired) launches() bool { return d.LaunchTemplateID != "" }

// Group is an Auto Scaling group as it was seen. Two sightings are the same if they are deeply equal.
type Group struct {
	Name, ARN                  string
	MinSize, MaxSize, Capacity int32
	LaunchTemplateID, Version  string
	// Mixed is true for a group with a mixed instances policy; the two after it are the policy's.
	Mixed                 bool
	InstancesDistribution *asgtypes.InstancesDistribution
	Overrides             []asgtypes.LaunchTemplateOverrides
	SubnetIDs             []string
	Settings              Settings
	// TargetGroupARNs and Suspended processes are sorted. They include what others attached or
	// suspended.
	TargetGroupARNs, Suspended []string
	// TrafficSources are target groups, or others, that were attached by AWS's newer call. They are
	// sorted by identifier and include what others attached.
	TrafficSources   []TrafficSource
	WarmPool         *WarmPool
	WarmPoolDeleting bool
	// WarmPoolSize is how many instances the warm pool has, those on their way out included
	// (inference: AWS says "the current size").
	WarmPoolSize int32
	Tags         map[string]string
	Deleting     bool
	Created      time.Time
	Instances    []Instance
}

// InstanceIDs returns the IDs of the group's instances.
func (g Group) InstanceIDs() []string {
	ids := make([]string, 0, len(g.Instances))
	for _, instance := range g.Instances {
		ids = append(ids, instance.ID)
	}
	return ids
}

// Instance is a member of a group.
type Instance struct {
	ID, AvailabilityZone, InstanceType string
	LifecycleState, HealthStatus       string
	LaunchTemplateID                   string
	// Version is the number that the instance was launched from, 0 if AWS does not say.
	Version int64
	// ImageID is the image that an override named in place of the template's, empty if none did
	// (AWS: API_Instance).
	ImageID   string
	Protected bool
	// Weight is how many units of the group's capacity the instance counts for.
	Weight int32
}

// Leaving reports whether an instance is on its way out: what it runs no longer matters.
func (i Instance) Leaving() bool {
	// Warmed:Terminating is one too (AWS: ec2-auto-scaling-lifecycle).
	return strings.Contains(i.LifecycleState, "Terminat") || strings.HasPrefix(i.LifecycleState, "Detach")
}

// Ended returns the instance as it is once EC2 has terminated it, whether or not Auto Scaling has
// found out.
func (i Instance) Ended() Instance {
	i.HealthStatus = "Unhealthy"
	if !i.Leaving() {
		i.LifecycleState = string(asgtypes.LifecycleStateTerminating)
	}
	return i
}

// InService reports whether the group counts an instance as working.
func (i Instance) InService() bool {
	return i.LifecycleState == string(asgtypes.LifecycleStateInService)
}

// Counts reports whether an instance is part of the group's capacity: it is there, or on its way
// in.
func (i Instance) Counts() bool {
	return !i.Leaving() && i.LifecycleState != "Standby" && i.LifecycleState != "EnteringStandby"
}

// Units returns how much of its desired capacity the group has.
func (g Group) Units() int32 {
	units := int32(0)
	for _, instance := range g.Instances {
		if instance.Counts() {
			units += instance.Weight
		}
	}
	return units
}

// InstanceTypes lists the types of instances, the most frequent first. Instances on their way out
// do not count.
func InstanceTypes(instances []Instance) string {
	counts := map[string]int{}
	for _, instance := range instances {
		if !instance.Leaving() {
			counts[instance.InstanceType]++
		}
	}
	types := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return strings.Join(types, ", ")
}

// ProviderID returns the instance as Node.spec.providerID names it.
func (i Instance) ProviderID() string { return "aws:///" + i.AvailabilityZone + "/" + i.ID }

// OwnedBy reports whether the tags of a group mark it as this pool's.
func (g Group) OwnedBy(owner string) bool { return g.Tags[infrav1.TagMachinePool] == owner }

// Apply updates a group that was seen after an update to it, so that it need not be described
// again.
func Apply(desired Desired, group *Group) {
	group.MinSize, group.MaxSize = desired.MinSize, desired.MaxSize
	// Without a desired capacity the group's moves into the new bounds (AWS:
	// API_UpdateAutoScalingGroup, MinSize, MaxSize).
	group.Capacity = min(max(group.Capacity, desired.MinSize), desired.MaxSize)
	if desired.Capacity != nil {
		group.Capacity = *desired.Capacity
	}
	group.SubnetIDs, group.Settings = slices.Clone(desired.SubnetIDs), desired.Settings.beside(group.Settings)
	group.Settings.SkipZonalShiftValidation = false // which AWS does not keep
	if !desired.launches() {
		return
	}
	group.LaunchTemplateID, group.Version = desired.LaunchTemplateID, strconv.FormatInt(desired.Version, 10)
	group.Mixed, group.Overrides, group.InstancesDistribution = desired.MixedInstancesPolicy != nil, nil, nil
	if policy := desired.MixedInstancesPolicy; policy != nil {
		group.Overrides, group.InstancesDistribution = overrides(policy.Overrides), distribution(policy)
	}
}

// groupOf converts AWS's description of a group.
func groupOf(group *asgtypes.AutoScalingGroup) Group {
	seen := Group{
		Name: awssdk.ToString(group.AutoScalingGroupName), ARN: awssdk.ToString(group.AutoScalingGroupARN),
		MinSize: awssdk.ToInt32(group.MinSize), MaxSize: awssdk.ToInt32(group.MaxSize), Capacity: awssdk.ToInt32(group.DesiredCapacity),
		SubnetIDs: splitSorted(awssdk.ToString(group.VPCZoneIdentifier)),
		Tags:      make(map[string]string, len(group.Tags)),
		// The status is set while the group is being deleted, and at no other time (AWS:
		// API_AutoScalingGroup).
		Deleting: awssdk.ToString(group.Status) != "",
		Created:  awssdk.ToTime(group.CreatedTime),
		Settings: settingsOf(group), TargetGroupARNs: sorted(group.TargetGroupARNs),
	}
	seen.WarmPool, seen.WarmPoolDeleting = warmPoolOf(group.WarmPoolConfiguration)
	seen.WarmPoolSize = awssdk.ToInt32(group.WarmPoolSize)
	for _, source := range group.TrafficSources {
		seen.TrafficSources = append(seen.TrafficSources, TrafficSource{Identifier: awssdk.ToString(source.Identifier), Type: awssdk.ToString(source.Type)})
	}
	sortSources(seen.TrafficSources)
	for _, process := range group.SuspendedProcesses {
		seen.Suspended = append(seen.Suspended, awssdk.ToString(process.ProcessName))
	}
	slices.Sort(seen.Suspended)
	if group.LaunchTemplate != nil {
		seen.LaunchTemplateID, seen.Version = awssdk.ToString(group.LaunchTemplate.LaunchTemplateId), awssdk.ToString(group.LaunchTemplate.Version)
	}
	if policy := group.MixedInstancesPolicy; policy != nil {
		seen.Mixed = true
		seen.InstancesDistribution = policy.InstancesDistribution
		if template := policy.LaunchTemplate; template != nil {
			seen.Overrides = template.Overrides
			if specification := template.LaunchTemplateSpecification; specification != nil {
				seen.LaunchTemplateID, seen.Version = awssdk.ToString(specification.LaunchTemplateId), awssdk.ToString(specification.Version)
			}
		}
	}
	for _, tag := range group.Tags {
		seen.Tags[awssdk.ToString(tag.Key)] = awssdk.ToString(tag.Value)
	}
	for i := range group.Instances {
		seen.Instances = append(seen.Instances, instanceOf(&group.Instances[i]))
	}
	slices.SortFunc(seen.Instances, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) })
	return seen
}

func instanceOf(instance *asgtypes.Instance) Instance {
	seen := Instance{
		ID: awssdk.ToString(instance.InstanceId), AvailabilityZone: awssdk.ToString(instance.AvailabilityZone),
		InstanceType: awssdk.ToString(instance.InstanceType), LifecycleState: string(instance.LifecycleState),
		ImageID:      awssdk.ToString(instance.ImageId),
		HealthStatus: awssdk.ToString(instance.HealthStatus), Protected: awssdk.ToBool(instance.ProtectedFromScaleIn),
		Weight: 1,
	}
	if weight, err := strconv.ParseInt(awssdk.ToString(instance.WeightedCapacity), 10, 32); err == nil {
		seen.Weight = int32(weight)
	}
	if template := instance.LaunchTemplate; template != nil {
		seen.LaunchTemplateID = awssdk.ToString(template.LaunchTemplateId)
		if number, err := strconv.ParseInt(awssdk.ToString(template.Version), 10, 64); err == nil {
			seen.Version = number
		}
	}
	return seen
}

func splitSorted(list string) []string {
	if list == "" {
		return nil
	}
	parts := strings.Split(list, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	slices.Sort(parts)
	return parts
}
