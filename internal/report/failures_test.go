package report

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// step describes the condition that one pass finds, and whether the pass warns about it.
type step struct {
	reason, condition string
	status            metav1.ConditionStatus
	why, message      string
	// edited is true if the spec was edited before the pass, restarted if the process was.
	edited, restarted bool
	warns             bool
}

const badImage = "looking up image ami-1: DescribeImages: InvalidAMIID.NotFound: The image id '[ami-1]' does not exist"

// TestFailuresAreWarnedAboutOnce runs passes over an object, whose status an API server keeps, and
// listens for events.
func TestFailuresAreWarnedAboutOnce(t *testing.T) {
	t.Parallel()
	failed, ok, unknown := metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionUnknown
	resolved, ready := infrav1.ResolvedCondition, infrav1.ReadyCondition
	for _, row := range []struct {
		reason string
		steps  []step
	}{
		{"a failure is told once, again after it had ended", []step{
			{"found", resolved, failed, "ImageNotFound", badImage, false, false, true},
			{"still there", resolved, failed, "ImageNotFound", badImage, false, false, false},
			{"after a restart", resolved, failed, "ImageNotFound", badImage, false, true, false},
			{"another cause", resolved, failed, "AccessDenied", "DescribeImages: UnauthorizedOperation: no", false, false, true},
			{"mended", resolved, ok, "Ready", "", false, false, false},
			{"again", resolved, failed, "AccessDenied", "DescribeImages: UnauthorizedOperation: no", false, false, true},
		}},
		{"words that change are no news", []step{
			{"found", resolved, failed, "ResolveFailed", "CreateFleet: InvalidParameterValue: 3 of 12, request 1", false, false, true},
			{"another count", resolved, failed, "ResolveFailed", "CreateFleet: InvalidParameterValue: 4 of 12, request 2", false, false, false},
			{"and another, after a restart", resolved, failed, "ResolveFailed", "CreateFleet: InvalidParameterValue: 5 of 12", false, true, false},
			{"another code", resolved, failed, "ResolveFailed", "CreateFleet: InvalidSubnetID.NotFound: subnet", false, false, true},
		}},
		{"an edit", []step{
			{"found", resolved, failed, "ImageNotFound", badImage, false, false, true},
			{"not looked at yet", resolved, unknown, "Pending", "", true, false, false},
			{"the edit was of something else", resolved, failed, "ImageNotFound", badImage, false, false, false},
			{"another image that does not exist", resolved, failed, "ImageNotFound", strings.ReplaceAll(badImage, "ami-1", "ami-2"), true, false, true},
		}},
		{"what ends by itself", []step{
			{"waiting", infrav1.LaunchTemplateReadyCondition, failed, "WaitingForLaunchConfig", "", false, false, false},
			{"under way", infrav1.RolledOutCondition, failed, "RollingOut", "", false, false, false},
			{"AWS is busy", infrav1.ASGReadyCondition, failed, "ASGUpdateFailed", "UpdateAutoScalingGroup: ScalingActivityInProgress: wait", false, false, false},
			{"AWS is down", resolved, unknown, "AWSUnavailable", "", false, false, false},
			{"an event of its own tells", infrav1.ASGReadyCondition, failed, "ASGNotFound", "deleted outside Slipway", false, false, false},
			{"a summary", ready, failed, "ImageNotFound", badImage, false, false, false},
			{"it is being deleted", infrav1.DeletingCondition, ok, "ASGDeletionInProgress", "", false, false, false},
			{"its deletion fails", infrav1.DeletingCondition, ok, "AccessDenied", "DeleteAutoScalingGroup: AccessDenied: no", false, false, true},
			{"a tag is missing", infrav1.ASGReadyCondition, failed, "OwnerTagMissing", "", false, false, true},
		}},
	} {
		for _, object := range []reconciling.Conditioned{
			&infrav1.AWSMachinePool{}, &infrav1.AWSManagedMachinePool{}, &infrav1.AWSLaunchConfig{}, &provisioningv1.Provisioner{},
		} {
			w := newFailureWorld(t, object)
			for _, step := range row.steps {
				w.pass(row.reason, step)
			}
		}
	}
}

// failureWorld holds an object in an API server, and the recorder of its events.
type failureWorld struct {
	*testing.T
	client   client.Client
	object   reconciling.Conditioned
	recorder *events.FakeRecorder
	report   Reporter
}

func newFailureWorld(t *testing.T, empty reconciling.Conditioned) *failureWorld {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{infrav1.AddToScheme, provisioningv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	object := empty.DeepCopyObject().(reconciling.Conditioned)
	object.SetName("pool")
	object.SetNamespace("default")
	object.SetGeneration(1)
	recorder := events.NewFakeRecorder(10)
	return &failureWorld{
		T: t, client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).Build(), object: object,
		recorder: recorder, report: Reporter{Recorder: recorder, Progress: metrics.NewProgress()},
	}
}

func (w *failureWorld) pass(reason string, step step) {
	w.Helper()
	if step.restarted {
		w.report.Progress = metrics.NewProgress()
	}
	if err := w.client.Get(w.Context(), client.ObjectKeyFromObject(w.object), w.object); err != nil {
		w.Fatal(err)
	}
	if step.edited {
		w.object.SetGeneration(w.object.GetGeneration() + 1)
		if err := w.client.Update(w.Context(), w.object); err != nil {
			w.Fatal(err)
		}
	}
	before := w.object.DeepCopyObject().(reconciling.Conditioned)
	set := map[metav1.ConditionStatus]func(reconciling.Conditioned, string, string, string){
		metav1.ConditionTrue: reconciling.True, metav1.ConditionFalse: reconciling.False, metav1.ConditionUnknown: reconciling.Unknown,
	}[step.status]
	set(w.object, step.condition, step.why, step.message)
	if err := w.report.PatchStatus(w.Context(), w.client, w.object, before); err != nil {
		w.Fatal(err)
	}
	var heard []string
	for len(w.recorder.Events) > 0 {
		heard = append(heard, <-w.recorder.Events)
	}
	warned := len(heard) == 1 && strings.HasPrefix(heard[0], "Warning "+step.why+" ") && strings.Contains(heard[0], step.message)
	if step.warns != warned || !step.warns && len(heard) > 0 {
		w.Errorf("%T, %s, %s: events %q, want one: %t", w.object, reason, step.reason, heard, step.warns)
	}
}

// TestFailuresOfPoolsConfigs holds that a failure of a config is not reported for the config if the
// pool that controls it shows the failure, and that other failures are.
func TestFailuresOfPoolsConfigs(t *testing.T) {
	t.Parallel()
	config := &infrav1.AWSLaunchConfig{}
	config.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "AWSMachinePool", Name: "pool", UID: "1", Controller: ptr.To(true)}}
	before := config.DeepCopy()
	reconciling.False(config, infrav1.ResolvedCondition, infrav1.ImageNotFoundReason, badImage)
	reconciling.False(config, infrav1.ReadyCondition, infrav1.ImageNotFoundReason, "Resolved: "+badImage)
	reconciling.False(config, infrav1.VersionsPrunedCondition, infrav1.PruneFailedReason, "DeleteLaunchTemplateVersions: UnauthorizedOperation: no")
	found := Reporter{}.newFailures(config, before)
	if len(found) != 1 || found[0].Type != infrav1.VersionsPrunedCondition {
		t.Errorf("warned about %+v", found)
	}
}
