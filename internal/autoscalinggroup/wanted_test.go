package autoscalinggroup

import (
	"testing"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	plain := []infrav1.Overrides{{InstanceType: "m5.large"}, {InstanceType: "m6i.large"}}
	own := []infrav1.Overrides{
		{InstanceType: "m5.large"}, {InstanceType: "m6g.large", ImageID: "ami-arm"},
		{InstanceType: "c5.large", LaunchTemplate: &infrav1.LaunchTemplateReference{ID: "lt-own", Version: 7}},
		{InstanceType: "c6g.large", ImageID: "ami-arm", LaunchTemplate: &infrav1.LaunchTemplateReference{ID: "lt-own", Version: 7}},
	}
	byAttributes := []infrav1.Overrides{{InstanceRequirements: &infrav1.InstanceRequirements{}, ImageID: "ami-2"}}
	for _, row := range []struct {
		reason    string
		overrides []infrav1.Overrides
		instance  Instance
		want      bool
	}{
		{"the wanted version", nil, Instance{LaunchTemplateID: "lt-1", Version: 4}, true},
		{"an image that it does not have", nil, Instance{LaunchTemplateID: "lt-1", Version: 4, ImageID: "ami-2"}, false},
		{"its image by another way", nil, Instance{LaunchTemplateID: "lt-1", Version: 4, ImageID: "ami-1"}, true},
		{"a type of the list", plain, Instance{LaunchTemplateID: "lt-1", Version: 3, InstanceType: "m6i.large"}, true},
		{"a type that left the list rolls nothing", plain, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "t3.large"}, true},
		{"of an old version", plain, Instance{LaunchTemplateID: "lt-1", Version: 2, InstanceType: "m5.large"}, false},
		{"an override's image", own, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "m6g.large", ImageID: "ami-arm"}, true},
		{"an override's image of before", own, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "m6g.large", ImageID: "ami-old"}, false},
		{"not an override's image", own, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "m6g.large"}, false},
		{"the image of another override", own, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "m5.large", ImageID: "ami-arm"}, false},
		{"an override's template", own, Instance{LaunchTemplateID: "lt-own", Version: 7, InstanceType: "c5.large"}, true},
		{"an override's template of before", own, Instance{LaunchTemplateID: "lt-own", Version: 6, InstanceType: "c5.large"}, false},
		{"the pool's template in place of an override's", own, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "c5.large"}, false},
		{"an override's template with an image", own, Instance{LaunchTemplateID: "lt-own", Version: 7, InstanceType: "c6g.large", ImageID: "ami-arm"}, true},
		{"an override's template without its image", own, Instance{LaunchTemplateID: "lt-own", Version: 7, InstanceType: "c6g.large"}, false},
		{"requirements may lead to any type", byAttributes, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "x1.large", ImageID: "ami-2"}, true},
		{"and have an image too", byAttributes, Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "x1.large"}, false},
	} {
		want := wanted()
		want.Overrides = row.overrides
		if got := want.Runs(row.instance); got != row.want {
			t.Errorf("%s: %t, want %t", row.reason, got, row.want)
		}
	}
}

func TestKeyAndLaunches(t *testing.T) {
	t.Parallel()
	base := wanted()
	for _, row := range []struct {
		reason    string
		overrides []infrav1.Overrides
		group     Group
		sameKey   bool
		launches  bool
	}{
		{"the wanted version", nil, Group{LaunchTemplateID: "lt-1", Version: "4"}, true, true},
		{"one that differs by its token", nil, Group{LaunchTemplateID: "lt-1", Version: "3"}, true, true},
		{"an old version", nil, Group{LaunchTemplateID: "lt-1", Version: "2"}, true, false},
		{"no number", nil, Group{LaunchTemplateID: "lt-1", Version: "$Latest"}, true, false},
		{"another template", nil, Group{LaunchTemplateID: "lt-2", Version: "4"}, true, false},
		{"types alone are not what an instance is", []infrav1.Overrides{{InstanceType: "m5.large"}}, Group{LaunchTemplateID: "lt-1", Version: "4"}, true, true},
		{"an image is", []infrav1.Overrides{{InstanceType: "m5.large", ImageID: "ami-2"}}, Group{LaunchTemplateID: "lt-1", Version: "4"}, false, false},
		{"the group has it", []infrav1.Overrides{{InstanceType: "m5.large", ImageID: "ami-2"}}, Group{LaunchTemplateID: "lt-1", Version: "4",
			Overrides: []asgtypes.LaunchTemplateOverrides{{InstanceType: ptr.To("m5.large"), ImageId: ptr.To("ami-2")}}}, false, true},
		{"the group has another template there", []infrav1.Overrides{{InstanceType: "m5.large", LaunchTemplate: &infrav1.LaunchTemplateReference{ID: "lt-9", Version: 2}}},
			Group{LaunchTemplateID: "lt-1", Version: "4", Overrides: []asgtypes.LaunchTemplateOverrides{{InstanceType: ptr.To("m5.large"),
				LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: ptr.To("lt-9"), Version: ptr.To("1")}}}}, false, false},
	} {
		want := wanted()
		want.Overrides = row.overrides
		if got := want.Key() == base.Key(); got != row.sameKey || configOf(want.Key()) != "c" {
			t.Errorf("%s: the key is %q, that without overrides %q", row.reason, want.Key(), base.Key())
		}
		if got := want.Launches(row.group); got != row.launches {
			t.Errorf("%s: the group launches what is wanted %t, want %t", row.reason, got, row.launches)
		}
	}
}
