package rehearsal

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// release is a build of EKS's images for a minor version of Kubernetes, the newest if build is empty. A
// build for Amazon Linux is named 1.34.1-20251120.
type release struct{ minor, build string }

// cluster notes an EKS cluster, and its Kubernetes version if that is known.
func (f *facts) cluster(name, version string) {
	if name != "" {
		f.clusters[name] = cmp.Or(nodegroup.Minor(version), f.clusters[name])
	}
}

// ofNodegroups notes what a request for node groups or roles, and its answer, say.
func (f *facts) ofNodegroups(request, answer any) {
	switch request := request.(type) {
	case *eks.CreateNodegroupInput:
		f.nodegroup(request.ClusterName, request.Version, request.ReleaseVersion, request.Subnets, request.RemoteAccess)
	case *eks.UpdateNodegroupVersionInput:
		f.nodegroup(request.ClusterName, request.Version, request.ReleaseVersion, nil, nil)
	case *iam.ListAttachedRolePoliciesInput:
		if attached, is := answer.(*iam.ListAttachedRolePoliciesOutput); is {
			f.policies(awssdk.ToString(request.RoleName), attached)
		}
	}
	switch answer := answer.(type) {
	case *eks.DescribeNodegroupOutput:
		if group := answer.Nodegroup; group != nil {
			f.nodegroup(group.ClusterName, group.Version, group.ReleaseVersion, group.Subnets, group.RemoteAccess)
		}
	case *iam.GetRoleOutput:
		f.role(answer)
	}
}

// nodegroup notes what a node group is made of.
func (f *facts) nodegroup(cluster, version, build *string, subnets []string, access *ekstypes.RemoteAccessConfig) {
	f.cluster(awssdk.ToString(cluster), "")
	if version != nil {
		f.releases[release{nodegroup.Minor(*version), awssdk.ToString(build)}] = true
	}
	for _, id := range subnets {
		f.subnet(world.Subnet{ID: id})
	}
	if access != nil {
		f.keys[awssdk.ToString(access.Ec2SshKey)] = true
		for _, id := range access.SourceSecurityGroups {
			f.group(id, "")
		}
	}
}

// role notes a role that is not Slipway's. The copy creates its own.
func (f *facts) role(answer *iam.GetRoleOutput) {
	if answer.Role == nil {
		return
	}
	role := world.Role{
		Name: awssdk.ToString(answer.Role.RoleName), Path: awssdk.ToString(answer.Role.Path), TrustedPrincipals: []string{"ec2.amazonaws.com"}, Tags: map[string]string{},
	}
	for _, tag := range answer.Role.Tags {
		role.Tags[awssdk.ToString(tag.Key)] = awssdk.ToString(tag.Value)
	}
	if role.Tags[infrav1.TagManagedMachinePool] == "" {
		role.Policies = f.roles[role.Name].Policies
		f.roles[role.Name] = role
	}
}

// policies notes the policies of AWS's that are attached to a role. Other policies mean nothing to EKS.
func (f *facts) policies(name string, attached *iam.ListAttachedRolePoliciesOutput) {
	role, known := f.roles[name]
	if !known {
		return
	}
	for _, policy := range attached.AttachedPolicies {
		arn := awssdk.ToString(policy.PolicyArn)
		if strings.Contains(arn, ":iam::aws:policy/") && !slices.Contains(role.Policies, arn) {
			role.Policies = append(role.Policies, arn)
		}
	}
	f.roles[name] = role
}

// addRoles adds the roles to a world.
func (f *facts) addRoles(made *world.World) {
	for _, name := range slices.Sorted(maps.Keys(f.roles)) {
		made.Roles = slices.DeleteFunc(made.Roles, func(known world.Role) bool { return known.Name == name })
		made.Roles = append(made.Roles, f.roles[name])
	}
}

// versionOf returns the Kubernetes version of an EKS cluster: the newest one of a node group if it is not
// known otherwise.
func (f *facts) versionOf(cluster string) string {
	version := f.clusters[cluster]
	if version != "" {
		return version
	}
	for one := range f.releases {
		if version == "" || nodegroup.AheadOf(one.minor, version) {
			version = one.minor
		}
	}
	return cmp.Or(version, anyVersion)
}

// anyVersion is the Kubernetes version of an EKS cluster whose version is not known.
const anyVersion = "1.34"

var (
	minorOfImage = regexp.MustCompile(`^(?:amazon-eks-.*?|bottlerocket-aws-k8s|Windows_Server-.*EKS_Optimized)-(1\.\d+)-`)
	buildOfLinux = regexp.MustCompile(`^(\d+\.\d+\.\d+)-(\d{8})$`)
	dayOfImage   = regexp.MustCompile(`\d{8}$`)
	patchOfImage = regexp.MustCompile(`k8s: [0-9.]+`)
)

// addEKSImages adds EKS's images to a region, with the versions of the clusters and the builds of their
// node groups: EKS finds them itself, so that Slipway never describes them. Images for versions that a standard
// world lacks are like its newest.
func (f *facts) addEKSImages(region *world.Region, standard *world.World) {
	if len(f.clusters) == 0 {
		return
	}
	wanted := maps.Clone(f.releases)
	for name := range f.clusters {
		wanted[release{minor: f.versionOf(name)}] = true
	}
	known := map[string]bool{}
	for _, image := range region.Images {
		known[image.ID], known[image.Name] = true, true
	}
	add := func(image world.Image) {
		if !known[image.ID] && !known[image.Name] {
			known[image.ID], known[image.Name] = true, true
			region.Images = append(region.Images, image)
		}
	}
	templates := newestOfLines(standard.Regions[0].Complete().Images, add)
	for _, one := range slices.SortedFunc(maps.Keys(wanted), func(a, b release) int {
		return cmp.Or(strings.Compare(a.minor, b.minor), strings.Compare(a.build, b.build))
	}) {
		for _, image := range templates {
			if like, fits := imageLike(image, one); fits {
				add(like)
			}
		}
	}
}

// newestOfLines calls add with each of EKS's images, and returns the images of the newest Kubernetes version.
func newestOfLines(images []world.Image, add func(world.Image)) []world.Image {
	newest, found := "", map[string][]world.Image{}
	for _, image := range images {
		match := minorOfImage.FindStringSubmatch(image.Name)
		if match == nil {
			continue
		}
		add(image)
		found[match[1]] = append(found[match[1]], image)
		if newest == "" || nodegroup.AheadOf(match[1], newest) {
			newest = match[1]
		}
	}
	return found[newest]
}

// imageLike returns an image like another of EKS's, of a release. It reports false if images of this operating
// system have no such builds.
func imageLike(image world.Image, wanted release) (world.Image, bool) {
	minor := minorOfImage.FindStringSubmatch(image.Name)[1]
	image.Name = strings.Replace(image.Name, "-"+minor+"-", "-"+wanted.minor+"-", 1)
	image.Description = strings.ReplaceAll(image.Description, "k8s: "+minor, "k8s: "+wanted.minor)
	if wanted.build != "" {
		build := buildOfLinux.FindStringSubmatch(wanted.build)
		if build == nil || !strings.HasPrefix(image.Name, "amazon-eks-") {
			return image, false
		}
		image.Name = dayOfImage.ReplaceAllString(image.Name, build[2])
		image.Description = patchOfImage.ReplaceAllString(image.Description, "k8s: "+build[1])
	}
	image.ID = world.HashID("ami-", image.Name)
	return image, true
}
