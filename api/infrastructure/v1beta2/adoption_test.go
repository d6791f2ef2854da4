package v1beta2_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// storedByCAPA is a pool as CAPA leaves it behind: conditions without reasons, a versionNumber that
// it ignored, and a volume that its webhook lets pass at update.
const storedByCAPA = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePool
metadata: {name: pool, namespace: default}
spec:
  minSize: 1
  maxSize: 3
  providerID: arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:x:autoScalingGroupName/pool
  providerIDList: ["aws:///us-east-1a/i-1"]
  awsLaunchTemplate:
    instanceType: m5.large
    versionNumber: 3
    rootVolume: {size: 8, type: gp2, throughput: 125}
status:
  ready: true
  replicas: 1
  launchTemplateID: lt-1
  launchTemplateVersion: "3"
  instances: [{instanceID: i-1}]
  conditions:
  - {type: Ready, status: "True", lastTransitionTime: "2025-01-01T00:00:00Z"}
  - {type: ASGReady, status: "True", lastTransitionTime: "2025-01-01T00:00:00Z"}
  - {type: PreLaunchTemplateUpdateCheckSuccess, status: "True", lastTransitionTime: "2025-01-01T00:00:00Z"}
`

// TestAdoptedPoolsCanBeWritten holds that a controller can write the spec and the status of a pool
// that CAPA stored, though parts of it would be refused today.
func TestAdoptedPoolsCanBeWritten(t *testing.T) {
	t.Parallel()
	served := resource(t, "AWSMachinePool", "v1beta2")
	stored := object(t, storedByCAPA)
	if _, err := served.Create(t.Context(), stored); err == nil {
		t.Fatal("the pool is accepted anew, so that this test shows nothing")
	}

	var pool infrav1.AWSMachinePool
	toGo(t, stored, &pool)
	pool.Spec.ProviderIDList = []string{"aws:///us-east-1a/i-1", "aws:///us-east-1a/i-2"}
	if _, err := served.Update(t.Context(), stored, fromGo(t, &pool)); err != nil {
		t.Errorf("writing the provider IDs: %v", err)
	}

	conditions := pool.GetConditions()
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ReadyReason,
	})
	pool.SetConditions(conditions)
	if _, err := served.UpdateStatus(t.Context(), stored, fromGo(t, &pool)); err != nil {
		t.Errorf("writing the conditions: %v", err)
	}
	var kept []string
	for _, condition := range pool.GetConditions() {
		kept = append(kept, condition.Type)
	}
	if diff := cmp.Diff([]string{infrav1.ReadyCondition}, kept); diff != "" {
		t.Errorf("conditions that are kept (-want +got):\n%s", diff)
	}

	pool.Spec.AWSLaunchTemplate.InstanceType = "c5.large"
	if _, err := served.Update(t.Context(), stored, fromGo(t, &pool)); err == nil {
		t.Error("an edit of the launch template passes without its mistakes being corrected")
	}
}
