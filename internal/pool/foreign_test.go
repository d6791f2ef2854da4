package pool_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/clouds/cloudstest"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// TestProveTemplate holds that no group is pointed at a template because a status says so.
func TestProveTemplate(t *testing.T) {
	t.Parallel()
	_, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{})
	base := awssimtest.Config(url, "us-east-1", "123456789012")
	cloud, err := clouds.NewRegistry(aws.NewSessions(base, aws.WithClock(clock)), cloudstest.AllowAll{}, clock, observe.DefaultIntervals).
		For(t.Context(), aws.Identity{}, "blue", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	made := func(name string, tags map[string]string) string {
		var list []ec2types.Tag
		for key, value := range tags {
			list = append(list, ec2types.Tag{Key: &key, Value: &value})
		}
		out, err := ec2.NewFromConfig(base).CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
			TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: list}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return *out.LaunchTemplate.LaunchTemplateId
	}
	own := made("own", map[string]string{infrav1.TagLaunchConfig: "blue/prod/workers"})
	neighbors := made("neighbors", map[string]string{infrav1.TagLaunchConfig: "blue/prod/other"})
	victims := made("victims", map[string]string{infrav1.TagLaunchConfig: "red/prod/workers"})
	untagged := made("untagged", map[string]string{"team": "blue"})
	for _, row := range []struct {
		reason, named string
		existing      bool
		present       string
		refused       bool
	}{
		{reason: "its own", named: own},
		{reason: "another namespace's", named: victims, refused: true},
		{reason: "another config's of the namespace", named: neighbors, refused: true},
		{reason: "one without a tag", named: untagged, refused: true},
		{reason: "what the group launches from already is not proven again", named: untagged, present: untagged},
		{reason: "an existing one without a tag", named: untagged, existing: true},
		{reason: "an existing one of the namespace", named: neighbors, existing: true},
		{reason: "an existing one of another namespace", named: victims, existing: true, refused: true},
		{reason: "one that is gone", named: "lt-0123456789abcdef0"},
	} {
		object, plan := &infrav1.AWSMachinePool{}, reconcile.Plan{}
		config := &infrav1.AWSLaunchConfig{}
		config.Namespace, config.Name, config.Spec.ClusterName, config.Status.LaunchTemplateID = "blue", "workers", "prod", row.named
		if row.existing {
			config.Spec.Existing = &infrav1.ExistingLaunchTemplate{ID: row.named}
		}
		meta.SetStatusCondition(&config.Status.Conditions, metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason})
		seen := pool.LaunchConfig{Object: config}
		if seen.Prove(object, &plan, row.present); len(plan.Needs) > 0 {
			plan = reconcile.Plan{}
			seen.ReadTemplate(t.Context(), cloud)
			seen.Prove(object, &plan, row.present)
		}
		shown := meta.FindStatusCondition(object.Status.Conditions, infrav1.LaunchTemplateReadyCondition)
		if seen.Proven(row.present) == row.refused || (shown != nil && shown.Reason == infrav1.OwnerTagMissingReason) != row.refused || len(plan.Needs) > 0 {
			t.Errorf("%s: proven is %t, condition %+v, plan %+v", row.reason, seen.Proven(row.present), shown, plan)
		}
	}
}
