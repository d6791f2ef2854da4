package scale

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/lab/fleet"
)

// conditioned is an object with conditions.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

// sound is nil for an object that is ready for its current generation, and none of whose conditions
// says that something is wrong.
func sound(object conditioned) error {
	ready := meta.FindStatusCondition(object.GetConditions(), infrav1.ReadyCondition)
	if ready == nil || ready.ObservedGeneration != object.GetGeneration() {
		return fmt.Errorf("Ready is %+v of generation %d", ready, object.GetGeneration())
	}
	for _, condition := range object.GetConditions() {
		if condition.Type == infrav1.PausedCondition {
			continue
		}
		if condition.Status != metav1.ConditionTrue {
			return fmt.Errorf("%s is %s, %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	return nil
}

// asWanted is nil for a pool that says it has what it asks for.
func (c *chaos) asWanted(pool *infrav1.AWSMachinePool) error {
	if err := sound(pool); err != nil {
		return err
	}
	status := pool.Status
	if status.ObservedGeneration != pool.Generation {
		return fmt.Errorf("generation %d is observed of %d", status.ObservedGeneration, pool.Generation)
	}
	replicas := c.wantedReplicas(pool)
	if status.Replicas != replicas || ptr.Deref(status.ReadyReplicas, -1) != replicas || ptr.Deref(status.UpToDateReplicas, -1) != replicas {
		return fmt.Errorf("of %d instances %d are there, %d ready and %d up to date", replicas, status.Replicas,
			ptr.Deref(status.ReadyReplicas, -1), ptr.Deref(status.UpToDateReplicas, -1))
	}
	return nil
}

// once fails the test if AWS holds anything twice: a template or a group of the same owner.
func (c *chaos) once() {
	c.Helper()
	c.count()
	for kind, owners := range map[string]map[string][]string{"launch template": c.templateOwners(), "group": c.groupOwners()} {
		for owner, names := range owners {
			if len(names) > 1 {
				c.Fatalf("%s has %ss %q", owner, kind, names)
			}
		}
	}
	c.count() // the looks were the test's own
}

func (c *chaos) templateOwners() map[string][]string {
	c.Helper()
	owners := map[string][]string{}
	for _, template := range c.templates() {
		owner := tag(template.Tags, infrav1.TagLaunchConfig)
		owners[owner] = append(owners[owner], *template.LaunchTemplateName)
	}
	return owners
}

func (c *chaos) groupOwners() map[string][]string {
	c.Helper()
	owners := map[string][]string{}
	for _, group := range c.groups() {
		owner := groupTags(group)[infrav1.TagMachinePool]
		owners[owner] = append(owners[owner], *group.AutoScalingGroupName)
	}
	return owners
}

func (c *chaos) templates() (all []ec2types.LaunchTemplate) {
	c.Helper()
	pages := ec2.NewDescribeLaunchTemplatesPaginator(c.ec2(), &ec2.DescribeLaunchTemplatesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.Context())
		c.must(err)
		all = append(all, page.LaunchTemplates...)
	}
	return all
}

func (c *chaos) versions(template string) (all []ec2types.LaunchTemplateVersion) {
	c.Helper()
	pages := ec2.NewDescribeLaunchTemplateVersionsPaginator(c.ec2(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &template})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.Context())
		c.must(err)
		all = append(all, page.LaunchTemplateVersions...)
	}
	return all
}

func (c *chaos) groups() (all []asgtypes.AutoScalingGroup) {
	c.Helper()
	pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(c.asg(), &autoscaling.DescribeAutoScalingGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.Context())
		c.must(err)
		all = append(all, page.AutoScalingGroups...)
	}
	return all
}

func tag(tags []ec2types.Tag, key string) string {
	for _, tag := range tags {
		if *tag.Key == key {
			return aws.ToString(tag.Value)
		}
	}
	return ""
}

func groupTags(group asgtypes.AutoScalingGroup) map[string]string {
	tags := map[string]string{}
	for _, tag := range group.Tags {
		tags[*tag.Key] = aws.ToString(tag.Value)
	}
	return tags
}

// audit compares what AWS holds with what the pools that exist ask for.
func (c *chaos) audit() {
	c.Helper()
	behavior := c.Cloud.AWS.Behavior()
	behavior.ReadLag = 0
	c.Cloud.AWS.SetBehavior(behavior)
	templates, groups := map[string]ec2types.LaunchTemplate{}, map[string]asgtypes.AutoScalingGroup{}
	for _, template := range c.templates() {
		templates[*template.LaunchTemplateName] = template
	}
	for _, group := range c.groups() {
		groups[*group.AutoScalingGroupName] = group
	}
	stored := c.stored()
	instances := c.instances()
	for i, token := range c.tokens {
		name := fleet.Name(i)
		if err := c.auditPool(i, token, templates[name], groups[name], instances[name], stored); err != nil {
			c.Errorf("%s: %v", name, err)
		}
		delete(templates, name)
		delete(groups, name)
		delete(instances, name)
	}
	for kind, names := range map[string][]string{
		"launch templates": slices.Sorted(maps.Keys(templates)), "groups": slices.Sorted(maps.Keys(groups)),
		"instances of": slices.Sorted(maps.Keys(instances)), "bootstrap data": slices.Sorted(maps.Keys(stored)),
	} {
		if len(names) > 0 {
			c.Errorf("left are %s %q", kind, names)
		}
	}
}

// instances returns the instances that have not terminated, by group.
func (c *chaos) instances() map[string][]awssim.Instance {
	all := map[string][]awssim.Instance{}
	for _, instance := range c.Cloud.AWS.Region(c.Account, c.Cloud.Region()).Instances() {
		if instance.State.Name != ec2types.InstanceStateNameTerminated {
			group := tag(instance.Tags, "aws:autoscaling:groupName")
			all[group] = append(all[group], instance)
		}
	}
	return all
}

// stored returns the bootstrap data that is kept outside of launch templates, by where it is. The
// caller removes the entries that belong to a pool.
func (c *chaos) stored() map[string]string {
	c.Helper()
	all := map[string]string{}
	state := c.State()
	for name := range state["ssm"].(map[string]any)["parameters"].(map[string]any) {
		if strings.HasPrefix(name, "/slipway/") {
			value, err := c.Cloud.AWS.Region(c.Account, c.Cloud.Region()).Parameter(name)
			c.must(err)
			all["ssm"+name], err = unpacked(value)
			c.must(err)
		}
	}
	for name := range state["s3"].(map[string]any)["objects"].(map[string]any) {
		key := strings.TrimPrefix(name, bucket+"/")
		if strings.Contains(key, "slipway/") {
			value, err := c.Cloud.AWS.Region(c.Account, c.Cloud.Region()).Object(bucket, key)
			c.must(err)
			all["s3/"+key] = value
		}
	}
	return all
}

// unpacked returns the bootstrap data that an instance reads from a parameter.
func unpacked(value string) (string, error) {
	inflated, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(value)))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(inflated, 1<<20))
	return string(text), err
}

// auditPool compares what AWS holds of one pool with its spec.
func (c *chaos) auditPool(i int, token string, template ec2types.LaunchTemplate, group asgtypes.AutoScalingGroup, instances []awssim.Instance, stored map[string]string) error {
	pool := &infrav1.AWSMachinePool{}
	if err := c.Client.Get(c.Context(), c.Key(i), pool); err != nil {
		return err
	}
	if template.LaunchTemplateId == nil || group.AutoScalingGroupName == nil {
		return fmt.Errorf("its template is %v, its group %v", aws.ToString(template.LaunchTemplateName), aws.ToString(group.AutoScalingGroupName))
	}
	versions := c.versions(*template.LaunchTemplateId)
	current := slices.IndexFunc(versions, func(version ec2types.LaunchTemplateVersion) bool { return aws.ToBool(version.DefaultVersion) })
	if current < 0 {
		return errors.New("its template has no default version")
	}
	wanted := versions[current]
	return errors.Join(
		auditVersions(pool, versions, instances),
		auditData(pool, wanted),
		c.auditGroup(pool, group, wanted),
		auditInstances(group, instances, versions, wanted),
		c.auditBootstrap(pool, token, wanted, stored),
		c.auditHooks(group),
	)
}

// configOf is the config fingerprint of a version.
func configOf(version ec2types.LaunchTemplateVersion) string {
	for field := range strings.FieldsSeq(aws.ToString(version.VersionDescription)) {
		if config, found := strings.CutPrefix(field, "config="); found {
			return config
		}
	}
	return ""
}

// auditVersions holds that at most ten configs are kept, ten that differ by a token alone, and what
// instances run.
func auditVersions(_ *infrav1.AWSMachinePool, versions []ec2types.LaunchTemplateVersion, instances []awssim.Instance) error {
	const kept, tolerated = 10, 10
	used := map[string]bool{}
	for _, instance := range instances {
		used[tag(instance.Tags, "aws:ec2launchtemplate:version")] = true
	}
	configs, duplicates := map[string]bool{}, 0
	seen := map[string]bool{}
	slices.SortFunc(versions, func(a, b ec2types.LaunchTemplateVersion) int { return int(*b.VersionNumber - *a.VersionNumber) })
	for _, version := range versions {
		config := configOf(version)
		if seen[aws.ToString(version.VersionDescription)] {
			return fmt.Errorf("version %d is there twice: %s", *version.VersionNumber, *version.VersionDescription)
		}
		seen[aws.ToString(version.VersionDescription)] = true
		if configs[config] && !used[fmt.Sprint(*version.VersionNumber)] {
			duplicates++
		}
		configs[config] = true
	}
	if len(configs) > kept || duplicates > tolerated {
		return fmt.Errorf("%d versions are kept, with %d configs and %d that differ by a token", len(versions), len(configs), duplicates)
	}
	return nil
}

// auditData holds that a version is what the spec asks for.
func auditData(pool *infrav1.AWSMachinePool, version ec2types.LaunchTemplateVersion) error {
	spec, data := pool.Spec.AWSLaunchTemplate, version.LaunchTemplateData
	if got := string(data.InstanceType); got != spec.InstanceType {
		return fmt.Errorf("the wanted version has type %s, the spec %s", got, spec.InstanceType)
	}
	if got := aws.ToString(data.ImageId); spec.AMI.ID != nil && got != *spec.AMI.ID {
		return fmt.Errorf("the wanted version has image %s, the spec %s", got, *spec.AMI.ID)
	}
	if spec.RootVolume != nil {
		for _, mapping := range data.BlockDeviceMappings {
			if got := int64(aws.ToInt32(mapping.Ebs.VolumeSize)); got != spec.RootVolume.Size {
				return fmt.Errorf("the wanted version has a volume of %d GiB, the spec one of %d", got, spec.RootVolume.Size)
			}
		}
	}
	return nil
}

// auditGroup holds that the group is as the spec says, at the wanted version.
func (c *chaos) auditGroup(pool *infrav1.AWSMachinePool, group asgtypes.AutoScalingGroup, wanted ec2types.LaunchTemplateVersion) error {
	replicas := c.wantedReplicas(pool)
	if *group.MinSize != pool.Spec.MinSize || *group.MaxSize != pool.Spec.MaxSize || *group.DesiredCapacity != replicas {
		return fmt.Errorf("the group has sizes %d, %d and %d, and should have %d, %d and %d",
			*group.MinSize, *group.DesiredCapacity, *group.MaxSize, pool.Spec.MinSize, replicas, pool.Spec.MaxSize)
	}
	if group.LaunchTemplate == nil || aws.ToString(group.LaunchTemplate.Version) != fmt.Sprint(*wanted.VersionNumber) {
		return fmt.Errorf("the group is at %+v, and version %d is wanted", group.LaunchTemplate, *wanted.VersionNumber)
	}
	tags := groupTags(group)
	for _, key := range []string{"team", "key-0", "key-1", "key-2"} {
		want, asked := pool.Spec.AdditionalTags[key]
		if got, present := tags[key]; got != want || present != asked {
			return fmt.Errorf("the group has tags %v, the spec %v", tags, pool.Spec.AdditionalTags)
		}
	}
	if len(group.SuspendedProcesses) > 0 {
		return fmt.Errorf("processes %v are suspended", group.SuspendedProcesses)
	}
	return nil
}

// auditInstances holds that the group's instances are all that there are, and run the wanted config.
func auditInstances(group asgtypes.AutoScalingGroup, instances []awssim.Instance, versions []ec2types.LaunchTemplateVersion, wanted ec2types.LaunchTemplateVersion) error {
	members := map[string]bool{}
	for _, member := range group.Instances {
		if aws.ToBool(member.ProtectedFromScaleIn) {
			return fmt.Errorf("instance %s is still protected", *member.InstanceId)
		}
		members[*member.InstanceId] = true
	}
	if len(instances) != int(*group.DesiredCapacity) || len(members) != len(instances) {
		return fmt.Errorf("%d instances run, and the group has %d of %d", len(instances), len(members), *group.DesiredCapacity)
	}
	for _, instance := range instances {
		number := tag(instance.Tags, "aws:ec2launchtemplate:version")
		runs := slices.IndexFunc(versions, func(version ec2types.LaunchTemplateVersion) bool { return fmt.Sprint(*version.VersionNumber) == number })
		if !members[*instance.InstanceId] || runs < 0 || configOf(versions[runs]) != configOf(wanted) {
			return fmt.Errorf("instance %s is none of the group's, or runs version %s, and version %d is wanted", *instance.InstanceId, number, *wanted.VersionNumber)
		}
	}
	return nil
}

// auditBootstrap holds that new nodes get the current token, and that it is in one place.
func (c *chaos) auditBootstrap(pool *infrav1.AWSMachinePool, token string, wanted ec2types.LaunchTemplateVersion, stored map[string]string) error {
	data, err := base64.StdEncoding.DecodeString(aws.ToString(wanted.LaunchTemplateData.UserData))
	if err != nil {
		return err
	}
	places := slices.DeleteFunc(slices.Sorted(maps.Keys(stored)), func(place string) bool {
		return !strings.Contains(place, "/"+c.Namespace+"/"+c.Cluster+"/"+pool.Name+"/")
	})
	content := string(data)
	expected := 0
	if pool.Spec.BootstrapStorage != "" {
		expected = 1
	}
	if len(places) != expected {
		return fmt.Errorf("its bootstrap data is in %q", places)
	}
	for _, place := range places {
		_, key, _ := strings.Cut(place, "/")
		if !bytes.Contains(data, []byte(key)) {
			return fmt.Errorf("the wanted version does not point to %s: %s", place, data)
		}
		content = stored[place]
		delete(stored, place)
	}
	if !strings.Contains(content, token) {
		return fmt.Errorf("token %s is not in %q", token, content)
	}
	return nil
}

// auditHooks holds that the group has the hook that has nodes drained, once.
func (c *chaos) auditHooks(group asgtypes.AutoScalingGroup) error {
	out, err := c.asg().DescribeLifecycleHooks(c.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: group.AutoScalingGroupName})
	if err != nil {
		return err
	}
	if len(out.LifecycleHooks) != 1 {
		return fmt.Errorf("the group has %d lifecycle hooks", len(out.LifecycleHooks))
	}
	return nil
}
