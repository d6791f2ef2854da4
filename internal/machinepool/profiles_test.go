package machinepool

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/identity"
	pools "github.com/slipway-project/slipway/internal/pool"
)

// The instance profiles that an identity allows hold for launch templates that overrides name.
func TestProfileOfAnOverridesTemplate(t *testing.T) {
	t.Parallel()
	own := &capav1.AWSClusterControllerIdentity{}
	own.Name, own.Annotations = capav1.AWSClusterControllerIdentityName, map[string]string{identity.InstanceProfilesAnnotation: "nodes*"}
	own.Spec.AllowedNamespaces = &capav1.AllowedNamespaces{}
	r := newRig(t, own)
	cloud, err := r.pools.kind.Clouds.For(t.Context(), aws.Identity{}, attacker, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	config := &infrav1.AWSLaunchConfig{Status: infrav1.AWSLaunchConfigStatus{Resolved: &infrav1.ResolvedLaunchConfig{ImageID: "ami-1", InstanceType: "m5.large"}}}
	config.Status.Conditions = []metav1.Condition{{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason}}
	pool := &infrav1.AWSMachinePool{Spec: infrav1.AWSMachinePoolSpec{LaunchConfigRef: &infrav1.LaunchConfigReference{Name: "config"}}}
	config.Spec.InstanceType = "m5.large"
	seen := &Observed{MachinePool: &clusterv1.MachinePool{}, LaunchConfig: pools.LaunchConfig{Object: config}, Access: pools.Access{Facts: &cluster.Facts{}}}
	seen.MachinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("data")
	o := observer{Kind: r.pools.kind, pass: pass{Object: pool, Seen: seen, Memory: &Memory{cloud: cloud}}}
	for profile, want := range map[string]string{
		"nodes.cluster-api-provider-aws.sigs.k8s.io": "", "control-plane.cluster-api-provider-aws.sigs.k8s.io": infrav1.InstanceProfileNotAllowedReason,
	} {
		id := r.template("with-"+profile[:5], nil, nil)
		_, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: &id, SourceVersion: awssdk.String("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
				IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &profile},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		override := &infrav1.Overrides{InstanceType: "m5.large", LaunchTemplate: &infrav1.LaunchTemplateReference{ID: id, Version: 2}}
		if found := o.lookUpOverride(t.Context(), override); found.Reason != want || (found.err() != nil) != (want != "") {
			t.Errorf("profile %s: reason %q, want %q; %v", profile, found.Reason, want, found.err())
		}
	}
}
