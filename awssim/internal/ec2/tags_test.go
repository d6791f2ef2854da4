package ec2_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestTags(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.template("pool", typed("m5.large"))
	launched, err := r.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	resources := []string{id, *launched.Instances[0].InstanceId, *r.subnet("us-east-1a").SubnetId, r.group("node"), *r.image(types.ArchitectureValuesX8664).ImageId}
	create := func(ids []string, tags ...types.Tag) error {
		_, err := r.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: ids, Tags: tags})
		return err
	}
	if err := create(resources, tag("env", "test"), tag("n", "1")); err != nil {
		t.Fatal(err)
	}
	if err := create(resources[:1], tag("n", "2")); err != nil {
		t.Fatal(err)
	}
	out, err := r.ec2.DescribeTags(t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{filter("key", "env", "n")}})
	if err != nil || len(out.Tags) != 2*len(resources) {
		t.Fatalf("%d tags, want two on each of %d resources (%v)", len(out.Tags), len(resources), err)
	}
	out, err = r.ec2.DescribeTags(t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{filter("resource-type", "launch-template"), filter("value", "2")}})
	if err != nil || len(out.Tags) != 1 || *out.Tags[0].ResourceId != id {
		t.Errorf("the later value wins: %v, %v", out, err)
	}
	wantError(t, create([]string{id, "lt-00000000000000000"}, tag("half", "done")), "InvalidLaunchTemplateId.NotFound", "lt-0000")
	if got := tagMap(r.describe(id).Tags); got["half"] != "" {
		t.Error("a refused call has tagged one resource")
	}
	wantError(t, create([]string{"thing-1"}, tag("a", "b")), "InvalidID", "thing-1")
	wantError(t, create([]string{id}, tag("aws:x", "b")), "InvalidParameterValue", "reserved")
	many := make([]types.Tag, 49)
	for i := range many {
		many[i] = tag(fmt.Sprintf("k%02d", i), "")
	}
	wantError(t, create([]string{id}, many...), "TagLimitExceeded", "")
	if err := create([]string{id}, many[:48]...); err != nil {
		t.Errorf("50 tags are allowed: %v", err)
	}
	remove := func(tags ...types.Tag) {
		if _, err := r.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: tags}); err != nil {
			t.Fatal(err)
		}
	}
	remove(tag("env", "other"), types.Tag{Key: aws.String("n")})
	if got := tagMap(r.describe(id).Tags); got["env"] != "test" || got["n"] != "" {
		t.Errorf("with a value only the tag that has it goes, without one any: %v", got)
	}
	remove()
	if got := r.describe(id).Tags; len(got) > 0 {
		t.Errorf("without tags all go: %v", got)
	}
}
