package autoscalinggroup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/tagdiff"
)

// reader has the calls of Auto Scaling that describe groups.
type reader interface {
	autoscaling.DescribeAutoScalingGroupsAPIClient
	autoscaling.DescribeInstanceRefreshesAPIClient
	autoscaling.DescribeScalingActivitiesAPIClient
	autoscaling.DescribeWarmPoolAPIClient
}

// writer has the calls of Auto Scaling that create, update, and delete groups.
type writer interface {
	CreateAutoScalingGroup(context.Context, *autoscaling.CreateAutoScalingGroupInput, ...func(*autoscaling.Options)) (*autoscaling.CreateAutoScalingGroupOutput, error)
	UpdateAutoScalingGroup(context.Context, *autoscaling.UpdateAutoScalingGroupInput, ...func(*autoscaling.Options)) (*autoscaling.UpdateAutoScalingGroupOutput, error)
	DeleteAutoScalingGroup(context.Context, *autoscaling.DeleteAutoScalingGroupInput, ...func(*autoscaling.Options)) (*autoscaling.DeleteAutoScalingGroupOutput, error)
	CreateOrUpdateTags(context.Context, *autoscaling.CreateOrUpdateTagsInput, ...func(*autoscaling.Options)) (*autoscaling.CreateOrUpdateTagsOutput, error)
	DeleteTags(context.Context, *autoscaling.DeleteTagsInput, ...func(*autoscaling.Options)) (*autoscaling.DeleteTagsOutput, error)
}

// attacher has the calls of Auto Scaling for parts of a group that have calls of their own.
type attacher interface {
	SuspendProcesses(context.Context, *autoscaling.SuspendProcessesInput, ...func(*autoscaling.Options)) (*autoscaling.SuspendProcessesOutput, error)
	ResumeProcesses(context.Context, *autoscaling.ResumeProcessesInput, ...func(*autoscaling.Options)) (*autoscaling.ResumeProcessesOutput, error)
	PutWarmPool(context.Context, *autoscaling.PutWarmPoolInput, ...func(*autoscaling.Options)) (*autoscaling.PutWarmPoolOutput, error)
	DeleteWarmPool(context.Context, *autoscaling.DeleteWarmPoolInput, ...func(*autoscaling.Options)) (*autoscaling.DeleteWarmPoolOutput, error)
	AttachLoadBalancerTargetGroups(context.Context, *autoscaling.AttachLoadBalancerTargetGroupsInput, ...func(*autoscaling.Options)) (*autoscaling.AttachLoadBalancerTargetGroupsOutput, error)
	AttachTrafficSources(context.Context, *autoscaling.AttachTrafficSourcesInput, ...func(*autoscaling.Options)) (*autoscaling.AttachTrafficSourcesOutput, error)
	DetachTrafficSources(context.Context, *autoscaling.DetachTrafficSourcesInput, ...func(*autoscaling.Options)) (*autoscaling.DetachTrafficSourcesOutput, error)
	DetachLoadBalancerTargetGroups(context.Context, *autoscaling.DetachLoadBalancerTargetGroupsInput, ...func(*autoscaling.Options)) (*autoscaling.DetachLoadBalancerTargetGroupsOutput, error)
}

// AutoScaling is all of Auto Scaling that this package calls.
type AutoScaling interface {
	reader
	writer
	attacher
	lifecycleActions
	refresher
	lifecyclehook.API
}

// Groups keeps Auto Scaling groups in one account and region.
type Groups struct {
	// Hooks keeps their lifecycle hooks.
	Hooks *lifecyclehook.Client

	api AutoScaling
}

// NewGroups returns the groups that a client reaches.
func NewGroups(api AutoScaling) *Groups { return &Groups{api: api, Hooks: lifecyclehook.New(api)} }

// DescribeBatch is the number of groups that one call describes by name (AWS:
// API_DescribeAutoScalingGroups, MaxRecords).
const DescribeBatch = 100

// Describe returns the groups of the given names that exist, by name. At most DescribeBatch names.
func (g *Groups) Describe(ctx context.Context, names []string) (map[string]Group, error) {
	if len(names) == 0 {
		return map[string]Group{}, nil // AWS would describe all groups
	}
	found, err := g.matching(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: names, MaxRecords: awssdk.Int32(DescribeBatch)})
	if err != nil {
		return nil, fmt.Errorf("describing Auto Scaling groups %q: %w", names, err)
	}
	return found, nil
}

// List returns all groups that belong to pools, by name.
func (g *Groups) List(ctx context.Context) (map[string]Group, error) {
	return g.tagged(ctx, infrav1.TagMachinePool)
}

// tagNodegroup is the key of the tag by which EKS marks the groups that it creates for node groups
// (AWS: EKS user guide, managed-node-groups).
const tagNodegroup = "eks:nodegroup-name"

// ListManaged returns all groups that EKS created for node groups, by name.
func (g *Groups) ListManaged(ctx context.Context) (map[string]Group, error) {
	return g.tagged(ctx, tagNodegroup)
}

func (g *Groups) tagged(ctx context.Context, key string) (map[string]Group, error) {
	found, err := g.matching(ctx, &autoscaling.DescribeAutoScalingGroupsInput{
		Filters:    []asgtypes.Filter{{Name: awssdk.String("tag-key"), Values: []string{key}}},
		MaxRecords: awssdk.Int32(DescribeBatch),
	})
	if err != nil {
		return nil, fmt.Errorf("describing the Auto Scaling groups with tag %q: %w", key, err)
	}
	return found, nil
}

// matching returns the groups that match a request, by name.
func (g *Groups) matching(ctx context.Context, input *autoscaling.DescribeAutoScalingGroupsInput) (map[string]Group, error) {
	pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(g.api, input)
	found := map[string]Group{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.AutoScalingGroups {
			group := groupOf(&page.AutoScalingGroups[i])
			found[group.Name] = group
		}
	}
	return found, nil
}

// NamesTakenError reports that groups of other owners have all names that the owner's group may
// have.
type NamesTakenError struct{ Names []string }

// Error implements error.
func (e *NamesTakenError) Error() string {
	if len(e.Names) == 1 {
		return fmt.Sprintf("Auto Scaling group %q exists, but this object does not own it. Slipway does not change "+
			"it or create another one. Rename this object, or delete the group", e.Names[0])
	}
	return fmt.Sprintf("Auto Scaling groups %s exist, but this object does not own them. Slipway does not change "+
		"them or create another one. Rename this object, or delete one of the groups", strings.Join(e.Names, " and "))
}

// WaitsForUser reports that only a user can free a name.
func (*NamesTakenError) WaitsForUser() bool { return true }

// Choose picks the owner's group out of the groups that have its names, or the name that a new one
// takes.
func Choose(owner string, names []string, found map[string]Group) (group *Group, free string, err error) {
	for _, name := range names {
		candidate, exists := found[name]
		switch {
		case exists && candidate.OwnedBy(owner):
			return &candidate, "", nil
		case !exists && free == "":
			free = name
		}
	}
	if free == "" {
		return nil, "", &NamesTakenError{Names: names}
	}
	return nil, free, nil
}

// Create creates the group. If it exists already, the error is AWS's AlreadyExists: it was created
// meanwhile, or reads lag.
func (g *Groups) Create(ctx context.Context, desired Desired, name string) error {
	if _, err := g.api.CreateAutoScalingGroup(ctx, createInput(desired, name)); err != nil {
		return fmt.Errorf("creating Auto Scaling group %q: %w", name, err)
	}
	return nil
}

// Update brings a group with updateReasons to the desired state. If AWS refuses the request as it
// is, and it changes sizes among other things, only the sizes are changed: a launch template or a
// setting that AWS does not accept must not keep a pool from growing or shrinking.
func (g *Groups) Update(ctx context.Context, desired Desired, group Group) error {
	_, err := g.api.UpdateAutoScalingGroup(ctx, updateInput(desired, group))
	if err == nil {
		return nil
	}
	err = fmt.Errorf("updating Auto Scaling group %q: %w", group.Name, err)
	sizes := differences(sizeChecks, desired, group)
	refused := aws.FateOf(err).Kind == aws.WaitForUser || aws.IsLaunchTemplateNotFound(err)
	if !refused || len(sizes) == 0 || len(sizes) == len(updateReasons(desired, group)) {
		return err
	}
	if _, failed := g.api.UpdateAutoScalingGroup(ctx, sizesInput(desired, group)); failed != nil {
		return errors.Join(err, fmt.Errorf("updating the sizes of Auto Scaling group %q alone: %w", group.Name, failed))
	}
	return err
}

// EnsureTags sets the tags that differ and removes the retired ones. It returns the keys of these
// tags.
func (g *Groups) EnsureTags(ctx context.Context, desired Desired, group Group) ([]string, error) {
	return g.ensureTags(ctx, desired.Tags, desired.RetiredTags, group, false)
}

// EnsureInheritedTags does the same as EnsureTags for tags that instances get from the group.
func (g *Groups) EnsureInheritedTags(ctx context.Context, tags map[string]string, retired []string, group Group) (bool, error) {
	changed, err := g.ensureTags(ctx, tags, retired, group, true)
	return len(changed) > 0, err
}

func (g *Groups) ensureTags(ctx context.Context, tags map[string]string, retiredKeys []string, group Group, inherited bool) ([]string, error) {
	stale, retired := tagdiff.Stale(tags, group.Tags), tagdiff.Retired(retiredKeys, tags)
	if len(stale) > 0 {
		wanted := groupTags(stale, group.Name)
		for i := range wanted {
			wanted[i].PropagateAtLaunch = &inherited
		}
		if _, err := g.api.CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: wanted}); err != nil {
			return nil, fmt.Errorf("tagging Auto Scaling group %q: %w", group.Name, err)
		}
	}
	if len(retired) > 0 {
		if _, err := g.api.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: tagsByKey(retired, group.Name)}); err != nil {
			return nil, fmt.Errorf("removing tags %q of Auto Scaling group %q: %w", retired, group.Name, err)
		}
	}
	return changedKeys(stale, retired), nil
}

// Unprotect sets the deletion protection of a group, which is too strict for what a pool asks for.
func (g *Groups) Unprotect(ctx context.Context, group Group, level string) error {
	_, err := g.api.UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: &group.Name, DeletionProtection: asgtypes.DeletionProtection(level),
	})
	if err != nil {
		return fmt.Errorf("setting the deletion protection of Auto Scaling group %q: %w", group.Name, err)
	}
	return nil
}

// Delete begins the deletion of the group and of its instances. It does not wait for the end. A
// group whose deletion protection allows only empty groups to be deleted must have no instances and
// no warm pool.
func (g *Groups) Delete(ctx context.Context, group Group) error {
	_, err := g.api.DeleteAutoScalingGroup(ctx, &autoscaling.DeleteAutoScalingGroupInput{
		AutoScalingGroupName: &group.Name, ForceDelete: awssdk.Bool(group.Settings.DeletionProtection != OnlyEmpty),
	})
	if err != nil {
		return fmt.Errorf("deleting Auto Scaling group %q: %w", group.Name, err)
	}
	return nil
}

// VersionsInUse returns the versions of a template that groups of a launch config are pointed at,
// or that their instances were launched from.
func (g *Groups) VersionsInUse(ctx context.Context, launchConfig, templateID string) (map[int64]bool, error) {
	pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(g.api, &autoscaling.DescribeAutoScalingGroupsInput{
		Filters:    []asgtypes.Filter{{Name: awssdk.String("tag:" + infrav1.TagLaunchConfig), Values: []string{launchConfig}}},
		MaxRecords: awssdk.Int32(DescribeBatch),
	})
	inUse := map[int64]bool{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing the Auto Scaling groups of launch config %q: %w", launchConfig, err)
		}
		for i := range page.AutoScalingGroups {
			addVersions(inUse, groupOf(&page.AutoScalingGroups[i]), templateID)
		}
	}
	return inUse, nil
}

func addVersions(inUse map[int64]bool, group Group, templateID string) {
	if number, err := strconv.ParseInt(group.Version, 10, 64); err == nil && group.LaunchTemplateID == templateID {
		inUse[number] = true
	}
	for _, override := range group.Overrides {
		specification := override.LaunchTemplateSpecification
		if specification == nil || awssdk.ToString(specification.LaunchTemplateId) != templateID {
			continue
		}
		if number, err := strconv.ParseInt(awssdk.ToString(specification.Version), 10, 64); err == nil {
			inUse[number] = true
		}
	}
	for _, instance := range group.Instances {
		if instance.LaunchTemplateID == templateID && instance.Version != 0 {
			inUse[instance.Version] = true
		}
	}
}
