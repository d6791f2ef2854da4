package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
)

// The images that are looked up where neither the pool nor its cluster says otherwise; the values
// are CAPA's (its ami.go).
const (
	defaultImageFormat = "capa-ami-{{.BaseOS}}-?{{.K8sVersion}}-*"
	// defaultImageOrg is the Cloud Native Computing Foundation's account for published images.
	defaultImageOrg    = "819546954734"
	defaultImageBaseOS = "ubuntu-24.04"
)

// resolvePrefix begins an image id that is a Systems Manager parameter (AWS:
// using-systems-manager-parameters).
const resolvePrefix = "resolve:ssm:"

// ImageQuery says what image a node needs.
type ImageQuery struct {
	// KubernetesVersion, with or without a v.
	KubernetesVersion string
	// Architecture as EC2 writes it, x86_64 or arm64.
	Architecture string
	// Lookup by name. If the cluster is EKS and all of it is empty, the image is one of Amazon's,
	// optimized for EKS, as it is where EKSLookupType is set.
	Lookup cluster.ImageLookup
	EKS    bool
	// EKSLookupType chooses among the EKS optimized images. If it is empty the choice is Amazon
	// Linux 2 where CAPA chose that and it exists (up to Kubernetes 1.32), Amazon Linux 2023 from
	// 1.33 on.
	EKSLookupType infrav1.EKSAMILookupType
}

// ofEKS reports whether the image is one of Amazon's, optimized for EKS. A pool that names a family
// of them gets one, whatever its cluster looks images up by.
func (q ImageQuery) ofEKS() bool {
	return q.EKSLookupType != "" || q.EKS && q.Lookup == (cluster.ImageLookup{})
}

// Image is a machine image.
type Image struct {
	ID   string
	Name string
	// Architecture as EC2 writes it.
	Architecture string
	// RootDeviceName is the device that a root volume must be mapped to, such as /dev/sda1.
	RootDeviceName string
	// RootSnapshotSizeGiB is the least size of a root volume. Zero if the root device is not an EBS volume.
	RootSnapshotSizeGiB int32
	// RootEncrypted says that the snapshot is encrypted, and so every volume created from it.
	RootEncrypted bool
	// VolumeSizesGiB holds the sizes of the image's EBS volumes by device, including the root
	// device.
	VolumeSizesGiB map[string]int32
	// EBSBacked says that the root device is an EBS volume.
	EBSBacked bool
	// OwnerID is the account that the image belongs to.
	OwnerID string
	// CreationDate is RFC 3339 with milliseconds, in UTC: dates compare as text.
	CreationDate string
	// State is available in all images that can be used.
	State string
	// Windows says that the image's platform is Windows.
	Windows bool
}

// Image finds the newest image that fits. The error is a *NotFoundError or an *InvalidQueryError if
// the query is at fault.
func (d *Discovery) Image(ctx context.Context, query ImageQuery) (Image, error) {
	if query.KubernetesVersion == "" {
		return Image{}, &InvalidQueryError{
			Message: "an image cannot be looked up without a Kubernetes version: set spec.template.spec.version " +
				"of the MachinePool, or spec.kubernetesVersion of an AWSLaunchConfig that pools share, or name an image by ami.id",
		}
	}
	if query.ofEKS() {
		parameter, err := eksParameter(query)
		if err != nil {
			return Image{}, err
		}
		id, err := d.parameter(ctx, parameter, "EKS has no such image for this Kubernetes version in this region")
		if err != nil {
			return Image{}, err
		}
		return d.ImageByID(ctx, id)
	}
	search, err := nameSearch(query)
	if err != nil {
		return Image{}, err
	}
	id, err := d.lookups.get(ctx, key(search), func(ctx context.Context) (string, error) { return d.newest(ctx, search) })
	if err != nil {
		return Image{}, err
	}
	return d.ImageByID(ctx, id)
}

// ImageByID finds an image that is named: by id, or by a Systems Manager parameter
// (resolve:ssm:NAME, with :VERSION or :LABEL, or the parameter's ARN), in which case the result has
// the id that the parameter holds now.
func (d *Discovery) ImageByID(ctx context.Context, id string) (Image, error) {
	if parameter, isParameter := strings.CutPrefix(id, resolvePrefix); isParameter {
		var err error
		if id, err = d.parameter(ctx, parameter, "the parameter does not exist in this region"); err != nil {
			return Image{}, err
		}
	}
	return d.images.get(ctx, id, func(ctx context.Context) (Image, error) { return d.describeImage(ctx, id) })
}

// search is a lookup by name with all defaults filled in.
type search struct{ Name, Org, Architecture string }

func nameSearch(query ImageQuery) (search, error) {
	lookup := query.Lookup.Or(cluster.ImageLookup{Format: defaultImageFormat, Org: defaultImageOrg, BaseOS: defaultImageBaseOS})
	name, err := imageName(lookup.Format, lookup.BaseOS, strings.TrimPrefix(query.KubernetesVersion, "v"))
	if err != nil {
		return search{}, &InvalidQueryError{
			Message: fmt.Sprintf("imageLookupFormat %s is invalid: %v. No image is looked up, and nodes keep "+
				"the launch template version that they have. It must be plain text with the wildcards * and "+
				"?, except for {{.BaseOS}} and {{.K8sVersion}}", quotedShort(lookup.Format), err),
		}
	}
	if len(lookup.Org) > longestOwner {
		return search{}, &InvalidQueryError{Message: fmt.Sprintf("imageLookupOrg %s is invalid. No image is "+
			"looked up, and nodes keep the launch template version that they have. Use an AWS account ID, "+
			"self, or amazon", quotedShort(lookup.Org))}
	}
	return search{Name: name, Org: lookup.Org, Architecture: query.Architecture}, nil
}

// quotedShort quotes what a tenant wrote, cut to what a message has room for.
func quotedShort(text string) string {
	const most = 100
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most || len(text) > 4*most {
		text = string(runes[:min(len(runes), most)]) + "…"
	}
	return strconv.Quote(text)
}

// longestImageName bounds the pattern of an image's name. Names have at most 128 characters (AWS:
// API_CreateImage); a pattern with wildcards may be longer than the name, but not by much.
const longestImageName = 255

// longestOwner bounds the owner of an image: account ids have 12 digits, and EC2's aliases are
// shorter than this.
const longestOwner = 64

// imageName replaces {{.BaseOS}} and {{.K8sVersion}} in a format literally. CAPA executes the
// format as a Go template; here nothing is executed, because tenants write formats, and a template
// can loop and allocate without bound. White space within the braces is allowed, as CAPA allows it,
// and any other brace is an error: no image has one in its name.
func imageName(format, baseOS, version string) (string, error) {
	values := map[string]string{".BaseOS": baseOS, ".K8sVersion": version}
	var name strings.Builder
	for rest := format; rest != ""; {
		literal, after, found := strings.Cut(rest, "{{")
		if strings.ContainsAny(literal, "{}") {
			return "", errors.New("braces do not match")
		}
		value := ""
		if found {
			field, tail, closed := strings.Cut(after, "}}")
			known := false
			if value, known = values[strings.Trim(field, " \t\r\n")]; !closed || !known {
				return "", errors.New("it has an unsupported expression")
			}
			after = tail
		}
		if name.Len()+len(literal)+len(value) > longestImageName {
			return "", fmt.Errorf("the name would be longer than %d characters", longestImageName)
		}
		name.WriteString(literal)
		name.WriteString(value)
		rest = after
	}
	return name.String(), nil
}

// Suits says whether an image could have been what a query led to: the newest one of its time. A
// property that the image does not show counts as suitable.
func Suits(query ImageQuery, image Image) bool {
	if query.Architecture != "" && image.Architecture != query.Architecture {
		return false
	}
	version := strings.TrimPrefix(query.KubernetesVersion, "v")
	if query.ofEKS() {
		// All of Amazon's EKS images have the minor version between dashes in their names (AWS:
		// eks-optimized-ami).
		parts := strings.SplitN(version, ".", 3)
		return len(parts) < 2 || strings.Contains(image.Name, "-"+parts[0]+"."+parts[1]+"-")
	}
	search, err := nameSearch(query)
	if err != nil {
		return false
	}
	return matchesFilter(search.Name, image.Name)
}

// matchesFilter reports whether EC2 would find a name by a filter: * stands for any characters, ?
// for one (AWS: Using_Filtering). It takes time proportional to the product of the lengths at most,
// whatever the pattern is.
func matchesFilter(pattern, name string) bool {
	wanted, present := []rune(pattern), []rune(name)
	at, star, resume := 0, -1, 0
	for i := 0; i < len(present); {
		switch {
		case at < len(wanted) && wanted[at] == '*':
			star, resume = at, i
			at++
		case at < len(wanted) && (wanted[at] == '?' || wanted[at] == present[i]):
			at++
			i++
		case star >= 0: // let the last * stand for one more character
			resume++
			at, i = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(string(wanted[at:]), "*") == ""
}

// newest finds the image that was created last; of two created at once, the one with the greater
// ID, so that the choice is always the same.
func (d *Discovery) newest(ctx context.Context, s search) (string, error) {
	pages := ec2.NewDescribeImagesPaginator(d.clients.EC2, &ec2.DescribeImagesInput{
		Owners: []string{s.Org},
		Filters: sdkFilters([]infrav1.Filter{
			{Name: "name", Values: []string{s.Name}},
			{Name: "architecture", Values: []string{s.Architecture}},
			{Name: "state", Values: []string{string(ec2types.ImageStateAvailable)}},
			{Name: "virtualization-type", Values: []string{string(ec2types.VirtualizationTypeHvm)}},
		}),
		MaxResults: awssdk.Int32(1000),
	})
	what := fmt.Sprintf("name %q, architecture %s, owner %s", s.Name, s.Architecture, s.Org)
	var newest Image
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", fmt.Errorf("describing images with %s: %w", what, err)
		}
		for i := range page.Images {
			candidate := toImage(&page.Images[i])
			if strings.Compare(candidate.CreationDate+candidate.ID, newest.CreationDate+newest.ID) > 0 {
				newest = candidate
			}
		}
	}
	if newest.ID == "" {
		return "", &NotFoundError{
			Kind: "image", What: what,
			Advice: "none matches for this Kubernetes version in this region; change imageLookupFormat, " +
				"imageLookupOrg, or imageLookupBaseOS, or set ami.id",
		}
	}
	// The images that were found are known completely, and need not be described again.
	d.images.put(ctx, newest.ID, newest)
	return newest.ID, nil
}

func (d *Discovery) describeImage(ctx context.Context, id string) (Image, error) {
	const advice = "it does not exist in this region, or is not shared with this account"
	output, err := d.clients.EC2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}})
	if err != nil {
		return Image{}, missing(err, "image", id, advice)
	}
	if len(output.Images) == 0 {
		return Image{}, &NotFoundError{Kind: "image", What: id, Advice: advice}
	}
	return toImage(&output.Images[0]), nil
}

func toImage(described *ec2types.Image) Image {
	image := Image{
		ID:             awssdk.ToString(described.ImageId),
		Name:           awssdk.ToString(described.Name),
		Architecture:   string(described.Architecture),
		RootDeviceName: awssdk.ToString(described.RootDeviceName),
		EBSBacked:      described.RootDeviceType == ec2types.DeviceTypeEbs,
		OwnerID:        awssdk.ToString(described.OwnerId),
		CreationDate:   awssdk.ToString(described.CreationDate),
		State:          string(described.State),
		VolumeSizesGiB: map[string]int32{},
		// EC2 answers windows, whatever the SDK's constant says (AWS: API_Image, platform).
		Windows: strings.EqualFold(string(described.Platform), string(ec2types.PlatformValuesWindows)),
	}
	for _, mapping := range described.BlockDeviceMappings {
		if mapping.Ebs != nil {
			image.VolumeSizesGiB[awssdk.ToString(mapping.DeviceName)] = awssdk.ToInt32(mapping.Ebs.VolumeSize)
		}
	}
	root := slices.IndexFunc(described.BlockDeviceMappings, func(m ec2types.BlockDeviceMapping) bool {
		return m.Ebs != nil && awssdk.ToString(m.DeviceName) == image.RootDeviceName
	})
	if root >= 0 {
		image.RootSnapshotSizeGiB = awssdk.ToInt32(described.BlockDeviceMappings[root].Ebs.VolumeSize)
		image.RootEncrypted = awssdk.ToBool(described.BlockDeviceMappings[root].Ebs.Encrypted)
	}
	return image
}

// parameter reads a Systems Manager parameter that holds an image id.
func (d *Discovery) parameter(ctx context.Context, name, advice string) (string, error) {
	return d.lookups.get(ctx, resolvePrefix+name, func(ctx context.Context) (string, error) {
		output, err := d.clients.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: awssdk.String(name)})
		if err != nil {
			return "", missing(err, "Systems Manager parameter", name, advice)
		}
		id := ""
		if output.Parameter != nil {
			id = strings.TrimSpace(awssdk.ToString(output.Parameter.Value))
		}
		if !strings.HasPrefix(id, "ami-") {
			return "", &InvalidQueryError{Message: fmt.Sprintf("Systems Manager parameter %s does not contain "+
				"an image ID", name)}
		}
		return id, nil
	})
}
