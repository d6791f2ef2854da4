package launchconfig

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/identity"
)

// The instance profiles that an identity allows hold for a launch template that a config follows.
func TestProfileOfAnExistingTemplate(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]string{
		"nodes.cluster-api-provider-aws.sigs.k8s.io": "", "control-plane.cluster-api-provider-aws.sigs.k8s.io": infrav1.InstanceProfileNotAllowedReason,
	} {
		config := launchConfig(func(config *infrav1.AWSLaunchConfig) {
			config.Spec = infrav1.AWSLaunchConfigSpec{ClusterName: clusterName, Existing: &infrav1.ExistingLaunchTemplate{Name: "theirs", Version: "1"}}
		})
		own := &capav1.AWSClusterControllerIdentity{}
		own.Name, own.Annotations = capav1.AWSClusterControllerIdentityName, map[string]string{identity.InstanceProfilesAnnotation: "nodes*"}
		own.Spec.AllowedNamespaces = &capav1.AllowedNamespaces{}
		r := newRig(t, config, own)
		resolver := &identity.Resolver{Reader: r.client, Secrets: r.client}
		r.subject.options.Clouds = clouds.NewRegistry(aws.NewSessions(r.config, aws.WithClock(r.clock)), resolver, r.clock, observe.DefaultIntervals)
		_, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: awssdk.String("theirs"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
				InstanceType: "m5.large", IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &profile},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := r.subject.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(config)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
			t.Fatal(err)
		}
		reason := ""
		if condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.ResolvedCondition); condition != nil && condition.Reason == infrav1.InstanceProfileNotAllowedReason {
			reason = condition.Reason
		}
		if followed := config.Status.Version != 0; reason != want || followed != (want == "") {
			t.Errorf("profile %s: reason %q, want %q, followed %t; conditions %+v", profile, reason, want, followed, config.Status.Conditions)
		}
	}
}
