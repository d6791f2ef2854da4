package crashsweep

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// World is all that exists in the test's account and namespace, without the ids and times that
// differ between runs.
type World struct {
	// Templates are launch templates: name, default version and tag keys.
	Templates []string
	// Versions are the launch template versions, with what each has of its neighbours: "2 same config".
	Versions []string
	// Groups are Auto Scaling groups: name, sizes, version, how many instances are protected, hooks
	// and tag keys.
	Groups []string
	// Nodegroups are EKS node groups: name, status, version, how many labels and tags, size. Roles
	// counts the IAM roles of their nodes.
	Nodegroups []string
	Roles      int
	// Refreshes are instance refreshes, the newest first, by status.
	Refreshes []string
	// Instances are the instances that have not terminated.
	Instances []Instance
	// Launched counts the instances that there ever were.
	Launched int
	// Nodes counts the nodes of the workload cluster, Cordoned the nodes that take no pods, and
	// Pods the pods.
	Nodes, Cordoned, Pods int
	// Volumes counts the volumes.
	Volumes int
	// Parameters and Objects count what holds bootstrap data.
	Parameters, Objects int
	// Machines counts the Machines of instances, and Twins our objects behind them.
	Machines, Twins int
	// Configs are AWSLaunchConfigs: name, version, conditions, finalizers.
	Configs []string
	// Pools are AWSMachinePools: name, counts, conditions, finalizers, keys of annotations.
	Pools []string
}

// Instance is one instance.
type Instance struct{ Type, Version, State string }

func (h *harness) world() World {
	h.Helper()
	world := World{}
	h.addTemplates(&world)
	h.addGroups(&world)
	h.addInstances(&world)
	h.addObjects(&world)
	h.addNodes(&world)
	h.addManaged(&world)
	world.Parameters = len(h.env.State()["ssm"].(map[string]any)["parameters"].(map[string]any))
	world.Objects = len(h.env.State()["s3"].(map[string]any)["objects"].(map[string]any))
	world.Machines, world.Twins = len(h.machines()), len(h.infraMachines())
	return world
}

func (h *harness) addTemplates(world *World) {
	h.Helper()
	api := ec2.NewFromConfig(h.env.AWSConfig())
	templates, err := api.DescribeLaunchTemplates(h.env.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		h.Fatal(err)
	}
	for _, template := range templates.LaunchTemplates {
		if strings.HasPrefix(*template.LaunchTemplateName, "eks-") {
			continue // EKS's own, which comes and goes with the node group
		}
		keys := map[string]bool{}
		for _, tag := range template.Tags {
			keys[*tag.Key] = true
		}
		text := strings.Join(append([]string{
			*template.LaunchTemplateName, strconv.FormatInt(*template.DefaultVersionNumber, 10),
		}, slices.Sorted(maps.Keys(keys))...), " ")
		world.Templates = append(world.Templates, strings.ReplaceAll(text, h.env.Namespace, "ns"))
		versions, err := api.DescribeLaunchTemplateVersions(h.env.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: template.LaunchTemplateId})
		if err != nil {
			h.Fatal(err)
		}
		world.Versions = append(world.Versions, versionTexts(versions.LaunchTemplateVersions)...)
	}
}

// versionTexts describes for each version, oldest first, what it has in common with the one before:
// fingerprints differ between runs.
func versionTexts(versions []ec2types.LaunchTemplateVersion) []string {
	slices.SortFunc(versions, func(a, b ec2types.LaunchTemplateVersion) int { return int(*a.VersionNumber - *b.VersionNumber) })
	var texts []string
	var before []string
	for _, version := range versions {
		fields := strings.Fields(awssdk.ToString(version.VersionDescription))
		text := strconv.FormatInt(*version.VersionNumber, 10)
		for i, field := range fields {
			if i < len(before) && before[i] == field {
				name, _, _ := strings.Cut(field, "=")
				text += " same " + name
			}
		}
		texts, before = append(texts, text), fields
	}
	return texts
}

func (h *harness) addGroups(world *World) {
	h.Helper()
	api := autoscaling.NewFromConfig(h.env.AWSConfig())
	groups, err := api.DescribeAutoScalingGroups(h.env.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil {
		h.Fatal(err)
	}
	for _, group := range groups.AutoScalingGroups {
		if strings.HasPrefix(*group.AutoScalingGroupName, "eks-") {
			continue // EKS's own
		}
		parts := []string{
			*group.AutoScalingGroupName, strconv.Itoa(int(*group.MinSize)), strconv.Itoa(int(*group.MaxSize)), strconv.Itoa(int(*group.DesiredCapacity)),
			"version " + awssdk.ToString(group.LaunchTemplate.Version), strconv.Itoa(protected(group)) + " protected",
		}
		hooks, err := api.DescribeLifecycleHooks(h.env.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: group.AutoScalingGroupName})
		if err != nil {
			h.Fatal(err)
		}
		for _, hook := range hooks.LifecycleHooks {
			parts = append(parts, "hook "+*hook.LifecycleHookName)
		}
		for _, tag := range group.Tags {
			parts = append(parts, *tag.Key)
		}
		world.Groups = append(world.Groups, strings.Join(parts, " "))
		refreshes, err := api.DescribeInstanceRefreshes(h.env.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: group.AutoScalingGroupName})
		if err != nil {
			h.Fatal(err)
		}
		for _, refresh := range refreshes.InstanceRefreshes {
			world.Refreshes = append(world.Refreshes, string(refresh.Status))
		}
	}
}

func protected(group asgtypes.AutoScalingGroup) int {
	count := 0
	for _, instance := range group.Instances {
		if awssdk.ToBool(instance.ProtectedFromScaleIn) {
			count++
		}
	}
	return count
}

func (h *harness) addNodes(world *World) {
	h.Helper()
	nodes := h.env.Nodes()
	world.Nodes, world.Pods = len(nodes), len(h.pods())
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			world.Cordoned++
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	world.Launched = len(h.launched)
}

func (h *harness) addInstances(world *World) {
	h.Helper()
	api := ec2.NewFromConfig(h.env.AWSConfig())
	for _, instance := range h.env.Cloud.AWS.Region(h.env.Account, h.env.Cloud.Region()).Instances() {
		if instance.State.Name == ec2types.InstanceStateNameTerminated {
			continue
		}
		version := ""
		for _, tag := range instance.Tags {
			if *tag.Key == "aws:ec2launchtemplate:version" {
				version = *tag.Value
			}
		}
		world.Instances = append(world.Instances, Instance{Type: string(instance.InstanceType), Version: version, State: string(instance.State.Name)})
	}
	volumes, err := api.DescribeVolumes(h.env.Context(), &ec2.DescribeVolumesInput{})
	if err != nil {
		h.Fatal(err)
	}
	world.Volumes = len(volumes.Volumes)
}

func (h *harness) addObjects(world *World) {
	h.Helper()
	configs := &infrav1.AWSLaunchConfigList{}
	pools := &infrav1.AWSMachinePoolList{}
	for _, list := range []client.ObjectList{configs, pools} {
		if err := h.env.Client.List(h.env.Context(), list, client.InNamespace(h.env.Namespace)); err != nil {
			h.Fatal(err)
		}
	}
	for i := range configs.Items {
		config := &configs.Items[i]
		parts := append([]string{config.Name, strconv.FormatInt(config.Status.Version, 10)}, config.Finalizers...)
		world.Configs = append(world.Configs, strings.Join(append(parts, conditionTexts(config)...), " "))
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		parts := append([]string{pool.Name, strconv.Itoa(int(pool.Status.Replicas)), awssdk.ToString(pool.Status.LaunchTemplateVersion)}, pool.Finalizers...)
		parts = append(parts, slices.Sorted(maps.Keys(pool.Annotations))...)
		world.Pools = append(world.Pools, strings.Join(append(parts, conditionTexts(pool)...), " "))
	}
}

func conditionTexts(object interface{ GetConditions() []metav1.Condition }) []string {
	var texts []string
	for _, condition := range object.GetConditions() {
		if condition.Type == infrav1.NodesDrainedCondition && condition.Status == metav1.ConditionTrue {
			// A pool whose drains were not observed has none, and a manager that was dead meanwhile
			// did not observe them.
			continue
		}
		texts = append(texts, condition.Type+"="+string(condition.Status)+"/"+condition.Reason)
	}
	slices.Sort(texts)
	return texts
}
