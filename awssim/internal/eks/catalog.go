package eks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// catalog lists the Kubernetes versions and the builds of images that EKS offers in a Region.
type catalog struct {
	region *sim.Region
	kernel *sim.Kernel
}

// releases returns the builds of an AMI type for a Kubernetes version in the Region, oldest first.
func (c *catalog) releases(amiType types.AMITypes, version string) []release {
	prefix := strings.ReplaceAll(imageLines[amiType].name, "{minor}", version)
	if prefix == "" {
		return nil
	}
	var found []release
	for _, image := range c.region.World().Images {
		if image.Private || !strings.HasPrefix(image.Name, prefix) || image.State != "available" {
			continue
		}
		found = append(found, release{version: releaseName(image, version), image: image.ID, built: image.CreationDate})
	}
	slices.SortStableFunc(found, func(a, b release) int { return a.built.Compare(b.built) })
	return found
}

// lastOfAmazonLinux2 is the last minor version of Kubernetes with EKS images of Amazon Linux 2 (UG
// eks-linux-ami-versions).
const lastOfAmazonLinux2 = 32

// findRelease returns the requested build, or the newest if the request names none. It fails if EKS
// has not published such a build. The wording about Amazon Linux 2 is from Azure/telescope#1134 and
// reports of users. The other wordings are inferences.
func (c *catalog) findRelease(amiType types.AMITypes, version, wanted string) (release, error) {
	all := c.releases(amiType, version)
	if imageLines[amiType].family == amazonLinux2 && minor(version) > lastOfAmazonLinux2 {
		return release{}, invalid("AMI Type %s is only supported for kubernetes versions 1.%d or earlier", amiType, lastOfAmazonLinux2)
	}
	if len(all) == 0 {
		return release{}, invalid("Requested Nodegroup AMI type %s is not supported for Kubernetes version %s", amiType, version)
	}
	if wanted == "" {
		return all[len(all)-1], nil
	}
	for _, r := range all {
		if r.version == wanted {
			return r, nil
		}
	}
	return release{}, invalid("Requested release version %s is not valid for kubernetes version %s.", wanted, version)
}

var minorOfImage = regexp.MustCompile(`^amazon-eks-node-(?:al2023-x86_64-standard-)?1\.(\d+)-v`)

// offered returns the minor versions that EKS offers, oldest first. A world decides which they are:
// EKS offers the versions that the world has EKS images for.
func (c *catalog) offered() []int {
	seen := map[int]bool{}
	for _, image := range c.region.World().Images {
		if m := minorOfImage.FindStringSubmatch(image.Name); m != nil {
			seen[int(number(m[1]))] = true
		}
	}
	var minors []int
	for n := range seen {
		minors = append(minors, n)
	}
	slices.Sort(minors)
	return minors
}

// defaultMinor returns the newest minor version, and -1 if there is none. In AWS the default is
// sometimes the version before the newest (SDK CreateClusterInput.Version).
func (c *catalog) defaultMinor() int {
	if minors := c.offered(); len(minors) > 0 {
		return minors[len(minors)-1]
	}
	return -1
}

// checkOffered refuses a version that EKS never offered or no longer supports. The wording is from
// terraform-provider-aws#21410.
func (c *catalog) checkOffered(version string) error {
	n := minor(version)
	if !slices.Contains(c.offered(), n) || version != fmt.Sprintf("1.%d", n) || statusOf(n, c.kernel.Now()) == types.VersionStatusUnsupported {
		return invalid("unsupported Kubernetes version")
	}
	return nil
}

// clusterVersion returns the requested version of a new cluster, or the default version.
func (c *catalog) clusterVersion(wanted *string) (string, error) {
	version := val(wanted)
	if version == "" {
		version = fmt.Sprintf("1.%d", c.defaultMinor())
	}
	return version, c.checkOffered(version)
}
