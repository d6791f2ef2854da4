package inspection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/userdata"
)

// Consumer is a kind that launches from a template.
type Consumer string

// The consumers.
const (
	AWSMachinePool        Consumer = "AWSMachinePool"
	AWSManagedMachinePool Consumer = "AWSManagedMachinePool"
	Provisioner           Consumer = "Provisioner"
)

// Consumers are all of them.
var Consumers = []Consumer{AWSMachinePool, AWSManagedMachinePool, Provisioner}

// Gap describes something that a version lacks for a consumer, or has that the consumer cannot
// launch from.
type Gap struct {
	Lack
	Consumer Consumer
	// Blocking says that nothing can be launched, unless the consumer itself gives what Message
	// says. Another gap is a warning.
	Blocking bool
}

// Blocking returns the first gap for which a consumer can launch nothing, "" if there is none. It
// ignores the given members, which the consumer sets itself.
func Blocking(gaps []Gap, consumer Consumer, given ...string) string {
	for _, gap := range gaps {
		if gap.Consumer == consumer && gap.Blocking && !slices.Contains(given, gap.Member) {
			return gap.Message
		}
	}
	return ""
}

// UnusableByAll returns the first gap that prevents every consumer from launching anything,
// whatever the consumer sets itself: something that the version names does not exist, or its
// settings conflict. Both results are empty if there is no such gap.
func UnusableByAll(gaps []Gap) (member, message string) {
	for _, gap := range gaps {
		blocksAll := !slices.ContainsFunc(Consumers, func(consumer Consumer) bool {
			return !slices.Contains(gaps, Gap{Consumer: consumer, Blocking: true, Lack: gap.Lack})
		})
		if blocksAll {
			return gap.Member, gap.Message
		}
	}
	return "", ""
}

// rule is one reason for a gap: if it holds, the consumers have it.
type rule struct {
	holds     bool
	member    string
	message   string
	consumers []Consumer
	warning   bool
}

// gaps returns the gaps by consumer, and for each in the order of the rules.
func gaps(contents *launchtemplate.Contents, facts *Facts) []Gap {
	var rules []rule
	for _, lack := range facts.NotFound {
		rules = append(rules, rule{holds: true, member: lack.Member, message: lack.Message, consumers: Consumers})
	}
	rules = append(rules, instanceRules(contents, facts)...)
	rules = append(rules, marketRules(contents)...)
	rules = append(rules, placeRules(contents)...)
	rules = append(rules, nodegroupRules(contents)...)
	var found []Gap
	for _, consumer := range Consumers {
		for _, r := range rules {
			if r.holds && slices.Contains(r.consumers, consumer) {
				found = append(found, Gap{Consumer: consumer, Blocking: !r.warning, Lack: Lack{Member: r.member, Message: r.message}})
			}
		}
	}
	return found
}

func only(consumers ...Consumer) []Consumer { return consumers }

// instanceRules returns the rules about image, type, and user data.
func instanceRules(c *launchtemplate.Contents, facts *Facts) []rule {
	image, instanceType := facts.Image, facts.InstanceType
	mismatch := image != nil && instanceType != nil && !slices.Contains(instanceType.Architectures, image.Architecture)
	message := ""
	if mismatch {
		message = fmt.Sprintf("image %s is for %s, and instance type %s runs %s", image.ID, image.Architecture, instanceType.Name, strings.Join(instanceType.Architectures, ", "))
	}
	noType := c.InstanceType == "" && c.Requirements == ""
	return []rule{
		{mismatch, "InstanceType", message, Consumers, false},
		// AWS: create-launch-template (Auto Scaling), "must include the AMI".
		{c.ImageID == "", "ImageId", "it has no image: set one in the template, or set imageID in every item of " +
			"mixedInstancesPolicy.overrides", only(AWSMachinePool), false},
		{c.ImageID == "", "ImageId", "it has no image, and a Provisioner cannot provide one", only(Provisioner), false},
		{noType, "InstanceType", "it has no instance type: set mixedInstancesPolicy.overrides in the pool", only(AWSMachinePool), false},
		// AWS: API_CreateNodegroup, instanceTypes.
		{noType, "InstanceType", "it has no instance type: EKS uses t3.medium unless the pool has instanceTypes", only(AWSManagedMachinePool), true},
		{c.Requirements != "", "InstanceRequirements", "it has instance requirements, but a Provisioner chooses " +
			"instance types itself: set one type in the template, or none", only(Provisioner), false},
		{len(c.UserData) == 0, "UserData", "it has no user data, so nodes join the cluster only if the image " +
			"makes them join", only(AWSMachinePool, Provisioner), true},
		// AWS: launch-templates (EKS), "Using a custom AMI": EKS merges no user data.
		{c.ImageID != "" && len(c.UserData) == 0, "UserData", "it has an image but no user data, and EKS adds " +
			"none for such images: nodes join the cluster only if the image makes them join",
			only(AWSManagedMachinePool), true},
	}
}

// marketRules returns the rules about how instances are bought.
func marketRules(c *launchtemplate.Contents) []rule {
	block := c.Market == "capacity-block"
	return []rule{
		// AWS: API_CreateFleet and Auto Scaling create one-time requests of their own.
		{c.LastingSpot, "InstanceMarketOptions", "its Spot request is persistent, has an end time, or does not " +
			"terminate interrupted instances: only one-time requests that terminate are supported",
			only(AWSMachinePool, Provisioner), false},
		{block, "InstanceMarketOptions", "it launches into a Capacity Block, which only pools support", only(Provisioner), false},
		// AWS: API_LaunchTemplateSpecification (EKS).
		{c.Market == "spot", "InstanceMarketOptions", "it requests Spot Instances: set capacityType of the pool " +
			"instead", only(AWSManagedMachinePool), false},
		// AWS: capacity-blocks-mng.
		{block && (c.CapacityReservation == "" || c.InstanceType == ""), "InstanceMarketOptions", "EKS supports Capacity Blocks only if " +
			"the template has a Capacity Reservation and an instance type",
			only(AWSManagedMachinePool), false},
	}
}

// placeRules returns the rules about where instances are launched.
func placeRules(c *launchtemplate.Contents) []rule {
	return []rule{
		// EC2: "The parameter groupName cannot be used with the parameter subnet".
		{len(c.SecurityGroupNames) > 0, "SecurityGroups", "it names security groups " + strings.Join(c.SecurityGroupNames, ", ") + " by name, which EC2 rejects for a " +
			"launch in a subnet, " +
			"so no node is launched: use their IDs", Consumers, false},
		{len(c.InterfaceIDs) > 0, "NetworkInterfaces", "it names network interface " + strings.Join(c.InterfaceIDs, ", ") + ", which only one instance at a time can " +
			"use", Consumers, false},
		// A node is never stopped, and EC2 refuses the launch of most types (AWS:
		// hibernating-prerequisites, UnsupportedHibernationConfiguration).
		{c.Hibernation, "HibernationOptions", "it enables hibernation, which most instance types of a " +
			"Provisioner do not support: remove the hibernation options", only(Provisioner), false},
		// AWS: create-launch-template (Auto Scaling), advanced settings: a host resource group stands in.
		{c.Host != "", "Placement", "it requests Dedicated Host " + c.Host + ", which Auto Scaling does not support: " +
			"use a host resource group", only(AWSMachinePool), false},
		{len(c.SubnetIDs) > 0, "NetworkInterfaces", "its network interfaces are in " + strings.Join(c.SubnetIDs, ", ") + ", but an Auto Scaling group has its own " +
			"subnets", only(AWSMachinePool), true},
	}
}

// nodegroupRules returns the rules about what EKS refuses in a template (AWS: launch-templates
// (EKS), API_LaunchTemplateSpecification).
func nodegroupRules(c *launchtemplate.Contents) []rule {
	nodegroup := only(AWSManagedMachinePool)
	return []rule{
		// AWS: launch-templates (EKS), "Amazon EC2 user data". Which family of images EKS chooses
		// is the pool's to say: TOML and PowerShell are for others.
		{c.ImageID == "" && len(c.UserData) > 0 && !userdata.MergedByEKS(c.UserData), "UserData", "EKS cannot merge its user data, which " +
			"is not a MIME multi-part message, TOML, or PowerShell that EKS reads, so node groups with " +
			"Amazon Linux fail: use a MIME multi-part message", nodegroup, true},
		{c.InstanceProfile != "", "IamInstanceProfile", "it has an instance profile, but EKS assigns the " +
			"instance profile of the node role", nodegroup, false},
		{len(c.SubnetIDs) > 0, "NetworkInterfaces", "its network interfaces are in " + strings.Join(c.SubnetIDs, ", ") + ", but a node group has its own subnets", nodegroup, false},
		{c.Requirements != "", "InstanceRequirements", "it has instance requirements, but EKS node groups must " +
			"list their instance types", nodegroup, false},
		{strings.HasPrefix(c.ImageID, ParameterPrefix), "ImageId", "its image is a Systems Manager parameter, " +
			"but EKS supports only image IDs", nodegroup, false},
		{c.ShutdownBehavior != "", "InstanceInitiatedShutdownBehavior", "it sets a shutdown behavior, which EKS " +
			"rejects", nodegroup, false},
		{c.Hibernation, "HibernationOptions", "it enables hibernation, which EKS rejects", nodegroup, false},
	}
}
