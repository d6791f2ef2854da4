package launchtemplate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func templateOf(template *ec2types.LaunchTemplate) Template {
	return Template{
		ID: awssdk.ToString(template.LaunchTemplateId), Name: awssdk.ToString(template.LaunchTemplateName),
		DefaultVersion: awssdk.ToInt64(template.DefaultVersionNumber), LatestVersion: awssdk.ToInt64(template.LatestVersionNumber),
		Tags: tagMap(template.Tags), Created: awssdk.ToTime(template.CreateTime),
	}
}

// onDemand is the market of instances without market options.
const onDemand = "on-demand"

// marketOf returns how instances with market options are bought.
func marketOf(market ec2types.MarketType, spot bool) string {
	if market == "" && spot {
		return string(ec2types.MarketTypeSpot)
	}
	return cmp.Or(string(market), onDemand)
}

// requestedMarket returns how instances are bought that are launched with the data of a request.
func requestedMarket(data *ec2types.RequestLaunchTemplateData) string {
	options := data.InstanceMarketOptions
	if options == nil {
		return onDemand
	}
	return marketOf(options.MarketType, options.SpotOptions != nil)
}

// versionOf reads a version. A version whose description carries no fingerprints gets them from its
// data: Slipway did not create it.
func versionOf(version *ec2types.LaunchTemplateVersion) (Version, error) {
	number := awssdk.ToInt64(version.VersionNumber)
	fingerprints, ours := ParseDescription(awssdk.ToString(version.VersionDescription))
	imageID, market := "", ""
	if data := version.LaunchTemplateData; data != nil {
		imageID, market = awssdk.ToString(data.ImageId), onDemand
		if options := data.InstanceMarketOptions; options != nil {
			market = marketOf(options.MarketType, options.SpotOptions != nil)
		}
	}
	seen := Version{
		Number: number, Fingerprints: fingerprints, Default: awssdk.ToBool(version.DefaultVersion),
		ImageID: imageID, Market: market, Created: awssdk.ToTime(version.CreateTime), Foreign: !ours,
	}
	if ours || version.LaunchTemplateData == nil {
		return seen, nil
	}
	var err error
	encoded := awssdk.ToString(version.LaunchTemplateData.UserData)
	if seen.Fingerprints, err = fingerprintsOf(version.LaunchTemplateData, encoded); err != nil {
		return Version{}, fmt.Errorf("taking the fingerprints of version %d: %w", number, err)
	}
	if seen.Settings, err = settingsOf(version.LaunchTemplateData, encoded); err != nil {
		return Version{}, fmt.Errorf("reading version %d: %w", number, err)
	}
	seen.MadeByCAPA = madeByCAPA(version.LaunchTemplateData)
	return seen, nil
}

// warningText returns the warnings about data that EC2 accepted. EC2 does not fully validate a
// template (AWS: launch-template-restrictions).
func warningText(warning *ec2types.ValidationWarning) string {
	if warning == nil {
		return ""
	}
	var lines []string
	for _, issue := range warning.Errors {
		lines = append(lines, awssdk.ToString(issue.Code)+": "+awssdk.ToString(issue.Message))
	}
	return strings.Join(lines, "; ")
}

func tagMap(tags []ec2types.Tag) map[string]string {
	set := make(map[string]string, len(tags))
	for _, tag := range tags {
		set[awssdk.ToString(tag.Key)] = awssdk.ToString(tag.Value)
	}
	return set
}

// tagList returns tags sorted by key, so that the same tags result in the same request: a client
// token admits no other request.
func tagList(tags map[string]string) []ec2types.Tag {
	list := make([]ec2types.Tag, 0, len(tags))
	for key, value := range tags {
		list = append(list, ec2types.Tag{Key: awssdk.String(key), Value: awssdk.String(value)})
	}
	slices.SortFunc(list, func(a, b ec2types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return list
}

// tagText returns tags as one text, for client tokens.
func tagText(tags map[string]string) string {
	lines := make([]string, 0, 2*len(tags))
	for _, tag := range tagList(tags) {
		lines = append(lines, *tag.Key, *tag.Value)
	}
	return hash(64, lines...)
}
