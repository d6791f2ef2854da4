package ec2

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// resourceARN names a resource of EC2 in this account and Region.
func resourceARN(region *sim.Region, resource string) string {
	return fmt.Sprintf("arn:%s:ec2:%s:%s:%s", partition(region.Name), region.Name, region.Account.ID, resource)
}

// partition is the AWS partition that a Region is in.
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	default:
		return "aws"
	}
}

// beginning is the creation time of the resources of a world that have no date of their own.
var beginning = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// tagList writes a map of tags in the order of its keys.
func tagList(tags map[string]string) []types.Tag {
	if len(tags) == 0 {
		return nil
	}
	list := make([]types.Tag, 0, len(tags))
	for key, value := range tags {
		list = append(list, types.Tag{Key: ptr(key), Value: ptr(value)})
	}
	sort.Slice(list, func(i, j int) bool { return *list[i].Key < *list[j].Key })
	return list
}

// freshID returns the idMaker for resources that a request creates.
func freshID(k *sim.Kernel) idMaker {
	return func(prefix string, _ ...string) string { return k.NewID(prefix, 17) }
}

// derivedID returns the identifier of something that comes with a resource of the world. It is the
// same in every run and in every account.
func derivedID(prefix string, parts ...string) string {
	const digits = 17
	sum := hash(strings.Join(parts, "/"))
	return prefix + hex.EncodeToString(sum[:])[:digits]
}

// idMaker returns the identifier of something that comes with a new resource.
type idMaker func(prefix string, parts ...string) string

func dependencyViolation(noun, id string) error {
	return sim.Errorf("DependencyViolation", "The %s '%s' has dependencies and cannot be deleted.", noun, id)
}

// unsupportedMember refuses a request that has a member which the simulation does not know what to do with.
func unsupportedMember(given bool, what string) error {
	if given {
		return sim.Errorf("Unsupported", "The simulation's networks have no %s.", what)
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
