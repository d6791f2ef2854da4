package discovery

import (
	"context"
	"fmt"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// TemplateVersion is what is to know of a version of somebody else's launch template before instances are launched from it.
type TemplateVersion struct {
	// ImageID and InstanceType are "" for a version that leaves them to whoever launches from it. An image may be a Systems Manager parameter.
	ImageID, InstanceType string
}

// TemplateVersion describes a version of a launch template. It is only read. If it does not exist the error is a *NotFoundError.
func (d *Discovery) TemplateVersion(ctx context.Context, id string, version int64) (TemplateVersion, error) {
	number := strconv.FormatInt(version, 10)
	what := fmt.Sprintf("%s, version %s", id, number)
	const advice = "it does not exist in this region, or was deleted"
	return d.templateVersions.get(ctx, id+":"+number, func(ctx context.Context) (TemplateVersion, error) {
		output, err := d.clients.EC2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{
			LaunchTemplateId: &id, Versions: []string{number},
		})
		if err != nil {
			return TemplateVersion{}, missing(err, "launch template", what, advice)
		}
		if len(output.LaunchTemplateVersions) == 0 || output.LaunchTemplateVersions[0].LaunchTemplateData == nil {
			return TemplateVersion{}, &NotFoundError{Kind: "launch template", What: what, Advice: advice}
		}
		data := output.LaunchTemplateVersions[0].LaunchTemplateData
		return TemplateVersion{ImageID: awssdk.ToString(data.ImageId), InstanceType: string(data.InstanceType)}, nil
	})
}
