package integration

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// TestVersionsAreTried holds that EC2 is asked once whether it would launch a version, that a config whose version it would not launch is not ready and says
// why, and that it is asked again until it would.
func TestVersionsAreTried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: poolName},
		Spec: infrav1.AWSLaunchConfigSpec{
			ClusterName: "capa", KubernetesVersion: "v1.25.0", Verify: infrav1.VerifyDryRun,
			AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large", AMI: infrav1.AMIReference{ID: ptr.To(w.publicImage())}},
		},
	})
	w.awaitConfigCondition(infrav1.VerifiedCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	tried := slices.DeleteFunc(w.calls(), func(call awssim.Call) bool { return call.Action != "RunInstances" })
	if len(tried) != 1 || tried[0].Code != "DryRunOperation" {
		t.Errorf("EC2 was asked %+v", tried)
	}

	const group = "not-yet"
	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) {
		config.Spec.Placement = &infrav1.Placement{GroupName: group}
	})
	w.awaitConfigCondition(infrav1.VerifiedCondition, metav1.ConditionFalse, infrav1.DryRunFailedReason)
	w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.DryRunFailedReason)
	if instances := w.running(); len(instances) != 0 {
		t.Errorf("a dry run launched %q", instances)
	}

	_, err := w.ec2().CreatePlacementGroup(w.Context(), &ec2.CreatePlacementGroupInput{GroupName: aws.String(group), Strategy: ec2types.PlacementStrategySpread})
	if err != nil {
		t.Fatal(err)
	}
	w.awaitConfigCondition(infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)

	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { config.Spec.Verify = "" })
	w.Eventually("nothing is said of a version that nobody tries", func() error {
		for _, condition := range w.mustConfig().Status.Conditions {
			if condition.Type == infrav1.VerifiedCondition {
				return fmt.Errorf("there is %+v", condition)
			}
		}
		return nil
	})
}
