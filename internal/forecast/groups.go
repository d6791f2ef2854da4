package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

var groupWrites = map[string]writer{
	"autoscaling:CreateAutoScalingGroup": writing(groupsOf, (*groups).create),
	"autoscaling:StartInstanceRefresh":   writing(groupsOf, (*groups).startRefresh),
	"autoscaling:UpdateAutoScalingGroup": onGroup[autoscaling.UpdateAutoScalingGroupInput, autoscaling.UpdateAutoScalingGroupOutput](
		func(input *autoscaling.UpdateAutoScalingGroupInput) (*string, change) {
			return input.AutoScalingGroupName, updated(input)
		}),
	"autoscaling:SuspendProcesses": onGroup[autoscaling.SuspendProcessesInput, autoscaling.SuspendProcessesOutput](
		func(input *autoscaling.SuspendProcessesInput) (*string, change) {
			return input.AutoScalingGroupName, processes(input.ScalingProcesses, true)
		}),
	"autoscaling:ResumeProcesses": onGroup[autoscaling.ResumeProcessesInput, autoscaling.ResumeProcessesOutput](
		func(input *autoscaling.ResumeProcessesInput) (*string, change) {
			return input.AutoScalingGroupName, processes(input.ScalingProcesses, false)
		}),
	"autoscaling:PutWarmPool": onGroup[autoscaling.PutWarmPoolInput, autoscaling.PutWarmPoolOutput](
		func(input *autoscaling.PutWarmPoolInput) (*string, change) {
			return input.AutoScalingGroupName, warmPool(input)
		}),
	"autoscaling:DeleteWarmPool": onGroup[autoscaling.DeleteWarmPoolInput, autoscaling.DeleteWarmPoolOutput](
		func(input *autoscaling.DeleteWarmPoolInput) (*string, change) {
			return input.AutoScalingGroupName, endedWarmPool
		}),
	"autoscaling:SetInstanceProtection": onGroup[autoscaling.SetInstanceProtectionInput, autoscaling.SetInstanceProtectionOutput](
		func(input *autoscaling.SetInstanceProtectionInput) (*string, change) {
			return input.AutoScalingGroupName, protection(input.InstanceIds, input.ProtectedFromScaleIn)
		}),
	"autoscaling:CreateOrUpdateTags": changing(groupsOf, &autoscaling.CreateOrUpdateTagsOutput{},
		func(g *groups, input *autoscaling.CreateOrUpdateTagsInput) { g.tag(input.Tags, false) }),
	"autoscaling:DeleteTags": changing(groupsOf, &autoscaling.DeleteTagsOutput{},
		func(g *groups, input *autoscaling.DeleteTagsInput) { g.tag(input.Tags, true) }),
}

var groupReads = map[string]reader{
	"autoscaling:DescribeAutoScalingGroups": reading(groupsOf, nil, (*groups).show),
}

// change changes the description of a group. It replaces lists, which may be shared, as a whole.
type change func(described *asgtypes.AutoScalingGroup)

// groups are the Auto Scaling groups of a forecast.
type groups struct {
	clock  clock.PassiveClock
	byName map[string]*group
}

func groupsOf(a *AWS) *groups { return &a.groups }

// group holds what a forecast knows about an Auto Scaling group.
type group struct {
	// created is the group if it exists in the forecast only.
	created *asgtypes.AutoScalingGroup
	changes []change
	hooks   []hookChange
	// shown is the group as it was described last.
	shown asgtypes.AutoScalingGroup
	// started are refreshes, the newest first.
	started []asgtypes.InstanceRefresh
	// canceled is the time at which the refresh under way was canceled, zero if it was not, and before
	// the number of refreshes started until then. Start times cannot be compared: AWS has another clock.
	canceled time.Time
	before   int
}

// of returns the entry of a group by its name. It adds an empty one if there is none.
func (g *groups) of(name string) *group {
	if g.byName[name] == nil {
		g.byName[name] = &group{}
	}
	return g.byName[name]
}

// onGroup returns a writer for requests that change the description of the group that they name.
func onGroup[I, O any](effect func(*I) (*string, change)) writer {
	return changing(groupsOf, new(O), func(g *groups, input *I) {
		name, change := effect(input)
		changed := g.of(awssdk.ToString(name))
		changed.changes = append(changed.changes, change)
	})
}

func (g *groups) create(input *autoscaling.CreateAutoScalingGroupInput) (*autoscaling.CreateAutoScalingGroupOutput, error) {
	name := awssdk.ToString(input.AutoScalingGroupName)
	created := &asgtypes.AutoScalingGroup{
		AutoScalingGroupARN: awssdk.String("arn:aws:autoscaling:::autoScalingGroup::autoScalingGroupName/" + name),
		CreatedTime:         awssdk.Time(g.clock.Now()),
	}
	sdkcopy.Members(created, input)
	created.Tags = nil
	for _, tag := range input.Tags {
		created.Tags = append(created.Tags, described(tag))
	}
	own := g.of(name)
	own.created = created
	for i := range input.LifecycleHookSpecificationList {
		own.hooks = append(own.hooks, hookChange{put: hookOf(&input.LifecycleHookSpecificationList[i])})
	}
	return &autoscaling.CreateAutoScalingGroupOutput{}, nil
}

// described returns a tag as AWS describes it.
func described(tag asgtypes.Tag) asgtypes.TagDescription {
	return asgtypes.TagDescription{
		Key: tag.Key, Value: tag.Value, PropagateAtLaunch: tag.PropagateAtLaunch, ResourceId: tag.ResourceId, ResourceType: tag.ResourceType,
	}
}

// show changes a description of groups.
func (g *groups) show(input *autoscaling.DescribeAutoScalingGroupsInput, output *autoscaling.DescribeAutoScalingGroupsOutput) {
	if output.NextToken == nil {
		for name, own := range g.byName {
			if own.created != nil && (slices.Contains(input.AutoScalingGroupNames, name) || selectsGroup(input.Filters, own.created)) {
				output.AutoScalingGroups = append(output.AutoScalingGroups, *own.created)
			}
		}
	}
	for i := range output.AutoScalingGroups {
		described := &output.AutoScalingGroups[i]
		known := g.of(awssdk.ToString(described.AutoScalingGroupName))
		for _, change := range known.changes {
			change(described)
		}
		known.shown = *described
	}
}

// Refresh returns the instance refresh that was started last, and the group as it was described last,
// with all writes since. It returns nil if none was started.
func (a *AWS) Refresh() (*asgtypes.InstanceRefresh, asgtypes.AutoScalingGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, known := range a.groups.byName {
		if len(known.started) > 0 {
			refresh, group := known.started[0], known.shown
			for _, change := range known.changes { // each leaves a group alone that has it already
				change(&group)
			}
			return &refresh, group
		}
	}
	return nil, asgtypes.AutoScalingGroup{}
}

// selectsGroup reports whether the filters by which Slipway finds groups select one.
func selectsGroup(filters []asgtypes.Filter, group *asgtypes.AutoScalingGroup) bool {
	for _, filter := range filters {
		name := awssdk.ToString(filter.Name)
		if !slices.ContainsFunc(group.Tags, func(tag asgtypes.TagDescription) bool {
			return name == "tag-key" && slices.Contains(filter.Values, *tag.Key) || name == "tag:"+*tag.Key && slices.Contains(filter.Values, awssdk.ToString(tag.Value))
		}) {
			return false
		}
	}
	return len(filters) > 0
}

// updated sets what an update sets. A group launches from a template or by a policy.
func updated(input *autoscaling.UpdateAutoScalingGroupInput) change {
	return func(described *asgtypes.AutoScalingGroup) {
		sdkcopy.Members(described, input)
		switch {
		case input.LaunchTemplate != nil:
			described.MixedInstancesPolicy, described.LaunchConfigurationName = nil, nil
		case input.MixedInstancesPolicy != nil:
			described.LaunchTemplate, described.LaunchConfigurationName = nil, nil
		}
		// Without a desired capacity the group's moves into the new bounds (AWS:
		// API_UpdateAutoScalingGroup, MinSize, MaxSize).
		capacity := awssdk.ToInt32(described.DesiredCapacity)
		described.DesiredCapacity = awssdk.Int32(min(max(capacity, awssdk.ToInt32(described.MinSize)), awssdk.ToInt32(described.MaxSize)))
		if awssdk.ToInt32(input.DefaultInstanceWarmup) == -1 { // removes it (AWS: API_UpdateAutoScalingGroup)
			described.DefaultInstanceWarmup = nil
		}
	}
}

func processes(names []string, suspend bool) change {
	return func(described *asgtypes.AutoScalingGroup) {
		kept := slices.DeleteFunc(slices.Clone(described.SuspendedProcesses), func(process asgtypes.SuspendedProcess) bool {
			return slices.Contains(names, awssdk.ToString(process.ProcessName))
		})
		for _, name := range names {
			if suspend {
				kept = append(kept, asgtypes.SuspendedProcess{ProcessName: awssdk.String(name)})
			}
		}
		described.SuspendedProcesses = kept
	}
}

func warmPool(input *autoscaling.PutWarmPoolInput) change {
	return func(described *asgtypes.AutoScalingGroup) {
		described.WarmPoolConfiguration = &asgtypes.WarmPoolConfiguration{}
		sdkcopy.Members(described.WarmPoolConfiguration, input)
	}
}

func endedWarmPool(described *asgtypes.AutoScalingGroup) {
	if described.WarmPoolConfiguration != nil {
		ended := *described.WarmPoolConfiguration
		ended.Status = asgtypes.WarmPoolStatusPendingDelete
		described.WarmPoolConfiguration = &ended
	}
}

func protection(instances []string, protect *bool) change {
	return func(described *asgtypes.AutoScalingGroup) {
		described.Instances = slices.Clone(described.Instances)
		for i := range described.Instances {
			if slices.Contains(instances, awssdk.ToString(described.Instances[i].InstanceId)) {
				described.Instances[i].ProtectedFromScaleIn = protect
			}
		}
	}
}

func (g *groups) tag(tags []asgtypes.Tag, remove bool) {
	for _, tag := range tags {
		changed := g.of(awssdk.ToString(tag.ResourceId))
		changed.changes = append(changed.changes, func(group *asgtypes.AutoScalingGroup) {
			group.Tags = slices.DeleteFunc(slices.Clone(group.Tags), func(present asgtypes.TagDescription) bool { return *present.Key == *tag.Key })
			if !remove {
				group.Tags = append(group.Tags, described(tag))
			}
		})
	}
}

// startRefresh starts a refresh unless one is under way by what was described last.
func (g *groups) startRefresh(input *autoscaling.StartInstanceRefreshInput) (*autoscaling.StartInstanceRefreshOutput, error) {
	changed := g.of(awssdk.ToString(input.AutoScalingGroupName))
	if len(changed.started) > 0 {
		return nil, &asgtypes.InstanceRefreshInProgressFault{Message: awssdk.String("An Instance Refresh is already in progress and blocks the execution of this Instance Refresh.")}
	}
	refresh := asgtypes.InstanceRefresh{
		InstanceRefreshId: awssdk.String(strings.Repeat("0", 8) + fmt.Sprintf("-0000-0000-0000-%012d", 1)), AutoScalingGroupName: input.AutoScalingGroupName,
		Status: asgtypes.InstanceRefreshStatusPending, StartTime: awssdk.Time(g.clock.Now()), Strategy: input.Strategy, Preferences: input.Preferences,
		DesiredConfiguration: input.DesiredConfiguration,
	}
	changed.started = []asgtypes.InstanceRefresh{refresh}
	return &autoscaling.StartInstanceRefreshOutput{InstanceRefreshId: refresh.InstanceRefreshId}, nil
}
