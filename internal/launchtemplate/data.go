package launchtemplate

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

// Data contains the data of a version, as EC2 returns it. It never changes.
type Data struct {
	template string
	version  Version
	data     *ec2types.ResponseLaunchTemplateData
}

// TemplateID returns the ID of the template.
func (d Data) TemplateID() string { return d.template }

// Number returns the number of the version.
func (d Data) Number() int64 { return d.version.Number }

func (d Data) withoutUserData() *ec2types.ResponseLaunchTemplateData { return withoutUserData(d.data) }

func withoutUserData(data *ec2types.ResponseLaunchTemplateData) *ec2types.ResponseLaunchTemplateData {
	clone := *data
	clone.UserData = nil
	return &clone
}

func (i Input) withoutUserData() *ec2types.RequestLaunchTemplateData {
	clone := *i.data
	clone.UserData = nil
	return &clone
}

// Data reads one version. It is for questions that fingerprints do not answer, such as how to
// restore an old config.
func (t *Templates) Data(ctx context.Context, id string, number int64) (Data, error) {
	data, err := t.data(ctx, id, number)
	if err != nil {
		return Data{}, err
	}
	return data[0], nil
}

// Changes describes what a node from one version has that one from an earlier version does not
// have. It reads both versions in one call.
func (t *Templates) Changes(ctx context.Context, id string, from, to int64) ([]string, error) {
	data, err := t.data(ctx, id, from, to)
	if err != nil {
		return nil, err
	}
	return ChangesBetween(data[0], data[1]), nil
}

// data reads versions, and returns them in the given order.
func (t *Templates) data(ctx context.Context, id string, numbers ...int64) ([]Data, error) {
	names := make([]string, len(numbers))
	for i, number := range numbers {
		names[i] = strconv.FormatInt(number, 10)
	}
	output, err := t.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: names})
	if err != nil {
		return nil, fmt.Errorf("describing version %s of launch template %q: %w", strings.Join(names, " and "), id, err)
	}
	all := make([]Data, len(numbers))
	for i, number := range numbers {
		at := slices.IndexFunc(output.LaunchTemplateVersions, func(version ec2types.LaunchTemplateVersion) bool {
			return awssdk.ToInt64(version.VersionNumber) == number && version.LaunchTemplateData != nil
		})
		if at < 0 {
			return nil, fmt.Errorf("describing version %d of launch template %q: EC2 answered without it", number, id)
		}
		version, err := versionOf(&output.LaunchTemplateVersions[at])
		if err != nil {
			return nil, fmt.Errorf("reading launch template %q: %w", id, err)
		}
		all[i] = Data{template: id, version: version, data: output.LaunchTemplateVersions[at].LaunchTemplateData}
	}
	return all, nil
}

// DataOf returns the data of a version that was created from an input, as EC2 answers it.
func DataOf(templateID string, version Version, input Input) Data {
	answer := &ec2types.ResponseLaunchTemplateData{}
	sdkcopy.Members(answer, input.sent)
	return Data{template: templateID, version: version, data: answer}
}

// WithBootstrap returns the input for the same data with the user data that was resolved: an old
// config with the bootstrap data of today.
func (d Data) WithBootstrap(resolved Resolved) (Input, error) {
	resolved.ImageKey = d.version.Fingerprints.Image
	var plain *Input
	for _, data := range d.asked() {
		input, err := d.askAgain(data, resolved)
		if err != nil {
			return Input{}, err
		}
		if input.Fingerprints.Config == d.version.Fingerprints.Config {
			return input, nil
		}
		if plain == nil {
			plain = &input
		}
	}
	return *plain, nil
}

// askAgain returns the input for the data of an answer, with the user data that was resolved.
func (d Data) askAgain(data *ec2types.ResponseLaunchTemplateData, resolved Resolved) (Input, error) {
	request := &ec2types.RequestLaunchTemplateData{}
	sdkcopy.Members(request, withoutUserData(data))
	asked, err := canonical(request)
	if err != nil {
		return Input{}, err
	}
	if answered, err := canonical(withoutUserData(data)); err != nil || asked != answered {
		return Input{}, fmt.Errorf("asking again for version %d: EC2 takes no request for all that it holds", d.version.Number)
	}
	if len(resolved.UserData) > 0 {
		request.UserData = awssdk.String(base64.StdEncoding.EncodeToString(resolved.UserData))
	}
	return newInput(request, resolved)
}
