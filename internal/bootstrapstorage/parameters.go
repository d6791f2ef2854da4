package bootstrapstorage

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-project/slipway/internal/aws"
)

// SSM has the calls of Systems Manager that keep parameters.
type SSM interface {
	ssm.DescribeParametersAPIClient
	PutParameter(context.Context, *ssm.PutParameterInput, ...func(*ssm.Options)) (*ssm.PutParameterOutput, error)
	DeleteParameters(context.Context, *ssm.DeleteParametersInput, ...func(*ssm.Options)) (*ssm.DeleteParametersOutput, error)
}

// parameterStore keeps items in SecureString parameters. Whose a parameter is, and what it holds,
// is in its description: that is written in one call with the value, which tags are not (AWS:
// PutParameter, tags and overwrite exclude each other), and read without decrypting anything.
type parameterStore struct{ ssm SSM }

// marks is the form of a description.
var marks = regexp.MustCompile(`^Slipway: bootstrap data of AWSLaunchConfig (\S+), sha256 ([0-9a-f]{64})$`)

func mark(item Item) string {
	return fmt.Sprintf("Slipway: bootstrap data of AWSLaunchConfig %s, sha256 %s", item.Owner, item.Digest())
}

func readMark(description *string) (owner, digest string) {
	if parts := marks.FindStringSubmatch(awssdk.ToString(description)); parts != nil {
		return parts[1], parts[2]
	}
	return "", ""
}

func (s parameterStore) find(ctx context.Context, name string) (owner, digest string, exists bool, err error) {
	output, err := s.ssm.DescribeParameters(ctx, &ssm.DescribeParametersInput{
		ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: awssdk.String("Name"), Option: awssdk.String("Equals"), Values: []string{name}}},
	})
	if err != nil {
		return "", "", false, fmt.Errorf("describing parameter %q: %w", name, err)
	}
	if len(output.Parameters) == 0 {
		return "", "", false, nil
	}
	owner, digest = readMark(output.Parameters[0].Description)
	return owner, digest, true, nil
}

// input returns a request for a parameter that is encrypted with the account's default key for
// parameters, and becomes an advanced parameter only if it is above 4 KB (AWS: "Managing parameter
// tiers", Intelligent-Tiering).
func (s parameterStore) input(name string, item Item) *ssm.PutParameterInput {
	return &ssm.PutParameterInput{
		Name: &name, Value: awssdk.String(string(item.Content)), Description: awssdk.String(mark(item)),
		Type: ssmtypes.ParameterTypeSecureString, Tier: ssmtypes.ParameterTierIntelligentTiering,
	}
}

func (s parameterStore) create(ctx context.Context, name string, item Item) error {
	input := s.input(name, item)
	for _, key := range slices.Sorted(maps.Keys(item.Tags)) {
		input.Tags = append(input.Tags, ssmtypes.Tag{Key: awssdk.String(key), Value: awssdk.String(item.Tags[key])})
	}
	if _, err := s.ssm.PutParameter(ctx, input); err != nil {
		return fmt.Errorf("creating parameter %q: %w", name, err)
	}
	return nil
}

// replace recreates the parameter, without its tags, if it was deleted: its owner does not depend
// on them.
func (s parameterStore) replace(ctx context.Context, name string, item Item) error {
	input := s.input(name, item)
	input.Overwrite = awssdk.Bool(true)
	if _, err := s.ssm.PutParameter(ctx, input); err != nil {
		return fmt.Errorf("writing parameter %q: %w", name, err)
	}
	return nil
}

func (s parameterStore) list(ctx context.Context, prefix, owner string) ([]string, error) {
	pages := ssm.NewDescribeParametersPaginator(s.ssm, &ssm.DescribeParametersInput{
		ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: awssdk.String("Path"), Option: awssdk.String("OneLevel"), Values: []string{prefix[:len(prefix)-1]}}},
		MaxResults:       awssdk.Int32(50),
	})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing the parameters below %q: %w", prefix, err)
		}
		for i := range page.Parameters {
			if marked, _ := readMark(page.Parameters[i].Description); marked == owner {
				names = append(names, awssdk.ToString(page.Parameters[i].Name))
			}
		}
	}
	return names, nil
}

// deletionBatch is the number of parameters that one call deletes (AWS: DeleteParameters).
const deletionBatch = 10

// remove deletes parameters. Missing ones come back as invalid, which is no error.
func (s parameterStore) remove(ctx context.Context, names []string) error {
	for batch := range slices.Chunk(names, deletionBatch) {
		if _, err := s.ssm.DeleteParameters(ctx, &ssm.DeleteParametersInput{Names: batch}); err != nil && !aws.IsNotFound(err) {
			return fmt.Errorf("deleting parameters %q: %w", batch, err)
		}
	}
	return nil
}
