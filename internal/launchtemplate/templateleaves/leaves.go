// Package templateleaves lists what EC2's launch template data can hold, leaf by leaf, with how
// each is set and changed in the spec of an AWSLaunchConfig. Tests hold the list against the SDK's
// type, the mapping of package launchtemplate and, in the laboratory, against what AWS stores.
package templateleaves

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/internal/sdkmembers"
)

// Case sets one leaf and changes it.
type Case struct {
	// Leaf is the path in EC2's data: BlockDeviceMappings.Ebs.Iops.
	Leaf string
	// Spec is a JSON merge patch, in YAML, of the spec of an AWSLaunchConfig, with $ in the place
	// of the value.
	Spec string
	// Values are what the leaf is set to, and what it is changed to.
	Values [2]string
	// Stored are what EC2 holds then, where it is not the values themselves.
	Stored [2]string
	// Elsewhere is true for what the spec alone does not decide: an image, tags, bootstrap data.
	Elsewhere bool
}

// Patch returns the merge patch that sets the leaf, for 0, or changes it, for 1.
func (c Case) Patch(n int) string {
	return "{spec: " + strings.ReplaceAll(c.Spec, "$", c.Values[n]) + "}"
}

// Image and OtherImage stand in cases for images that the world of the test has.
const (
	Image      = "IMAGE"
	OtherImage = "OTHER-IMAGE"
)

// Unset is stored where the changed spec no longer sets the leaf.
const Unset = "unset"

// Wants returns the value that EC2 holds after that patch.
func (c Case) Wants(n int) string {
	if c.Stored != [2]string{} {
		return c.Stored[n]
	}
	return c.Values[n]
}

// Missing are the leaves that cannot be set, and why.
var Missing = map[string]string{
	"ElasticGpuSpecifications.Type":                          "AWS ended Elastic Graphics (rule DP1)",
	"ElasticInferenceAccelerators.Type":                      "AWS ended Elastic Inference (rule DP1)",
	"ElasticInferenceAccelerators.Count":                     "AWS ended Elastic Inference (rule DP1)",
	"InstanceMarketOptions.SpotOptions.BlockDurationMinutes": "AWS ended Spot Instances of a defined duration (rule MK5)",
	"Operator.Principal":                                     "it is for AWS services, and locks the template for all other callers (rule OP1)",
	"Placement.SpreadDomain":                                 "AWS reserves it for future use (rule PL5)",
	"SecurityGroups":                                         "names of security groups work in a default VPC alone: groups are given by id or by filters (rule SG2)",
}

// Request returns the leaves of the SDK's type, in its order.
func Request() []string {
	return sdkmembers.Leaves(reflect.TypeFor[ec2types.RequestLaunchTemplateData]())
}

// Values returns all values of a leaf in a request or in a response.
func Values(data any, leaf string) []string {
	return valuesAt(reflect.ValueOf(data), strings.Split(leaf, "."))
}

func valuesAt(value reflect.Value, path []string) []string {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		value = value.Elem()
	}
	if value.Kind() == reflect.Slice {
		var found []string
		for i := range value.Len() {
			found = append(found, valuesAt(value.Index(i), path)...)
		}
		return found
	}
	if len(path) > 0 {
		return valuesAt(value.FieldByName(path[0]), path[1:])
	}
	if moment, is := value.Interface().(time.Time); is {
		return []string{moment.UTC().Format(time.RFC3339)}
	}
	if value.Kind() == reflect.String && value.Type() != reflect.TypeFor[string]() && value.String() == "" {
		return nil // an enumeration without a value
	}
	return []string{fmt.Sprint(value.Interface())}
}
