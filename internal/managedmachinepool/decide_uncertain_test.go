package managedmachinepool

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// answerOf is the error of a call that AWS answered with a status and a code.
func answerOf(status int, code string) error {
	response := &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: code, Message: "it failed"},
	}}
	return &smithy.OperationError{ServiceID: "EKS", OperationName: "UpdateNodegroupConfig", Err: response}
}

// TestUncertainAfter holds what each answer of AWS does to the record of uncertain attempts.
func TestUncertainAfter(t *testing.T) {
	t.Parallel()
	before := nodegroup.Attempt{For: "old", Failed: true, Attempts: 2, Ended: noon.Add(-time.Hour), Answer: "earlier"}
	again := nodegroup.Attempt{For: "new", Failed: true, Attempts: 3, Ended: noon.Add(-time.Hour), Answer: "x"}
	for _, row := range []struct {
		reason string
		last   nodegroup.Attempt
		err    error
		want   nodegroup.Attempt
	}{
		{"AWS fails for the first time", nodegroup.Attempt{}, answerOf(500, "ServerException"), nodegroup.Attempt{For: "new", Failed: true, Attempts: 1, Ended: noon}},
		{"AWS fails again", before, answerOf(503, "ServiceUnavailableException"), again},
		{"the connection breaks", before, &smithy.OperationError{ServiceID: "EKS", Err: context.DeadlineExceeded}, again},
		{"the count is limited", again, answerOf(500, "ServerException"), again},
		{"EKS begins the change", before, nil, nodegroup.Attempt{}},
		{"EKS refuses the change", before, answerOf(400, "InvalidParameterException"), nodegroup.Attempt{}},
		{"EKS is busy", before, answerOf(409, "ResourceInUseException"), nodegroup.Attempt{}},
		{"AWS throttles", before, answerOf(429, "TooManyRequestsException"), before},
		{"nothing was sent", before, &aws.NotSentError{}, before},
		{"the error is not of AWS", before, errors.New("no credentials"), before},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got := uncertainAfter(row.last, "new", row.err, noon)
			if row.want.For == "new" {
				if got.Answer == "" || got.Answer == "earlier" {
					t.Errorf("the answer is %q", got.Answer)
				}
				got.Answer = row.want.Answer
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConcludeUncertain holds when a version is rolled out although a change of the labels may have been begun, and that
// the list of updates is read before.
func TestConcludeUncertain(t *testing.T) {
	t.Parallel()
	type steps struct{ needs, version, config bool }
	idle := func(in *input) { in.Seen.Running = Update{Read: true} }
	running := func(in *input) {
		in.Seen.Running = Update{Read: true, Update: &nodegroup.Update{ID: "u-1", Type: nodegroup.ConfigUpdate, Status: nodegroup.UpdateInProgress}}
	}
	for _, row := range []struct {
		reason   string
		attempts int32
		since    time.Duration
		change   func(*input)
		want     steps
	}{
		{"it failed often and for long, and EKS does nothing", mostUncertain, uncertainFor, idle, steps{version: true}},
		{"it failed often and for long", mostUncertain, uncertainFor, func(*input) {}, steps{needs: true}},
		{"EKS has begun an update", mostUncertain, uncertainFor, running, steps{config: true}},
		{"the updates cannot be listed", mostUncertain, uncertainFor, func(in *input) { in.Seen.Running = Update{Err: errors.New("no")} }, steps{config: true}},
		{"it failed seldom", mostUncertain - 1, uncertainFor, idle, steps{config: true}},
		{"it failed for a short time", mostUncertain, uncertainFor - time.Second, idle, steps{config: true}},
		{"the clock was set back", mostUncertain, -time.Hour, idle, steps{config: true}},
		{"another change failed", mostUncertain, uncertainFor, func(in *input) { idle(in); in.Object.Spec.Labels["team"] = "b" }, steps{config: true}},
		{"nothing waits for it", mostUncertain, uncertainFor, func(in *input) { idle(in); versionsOf(in.Seen.LaunchConfig.Object, 1) }, steps{config: true}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest(t)
			in.Object.Spec.Labels = map[string]string{"team": "a"}
			config := in.Seen.LaunchConfig.Object.DeepCopy()
			versionsOf(config, 2)
			in.Seen.LaunchConfig.Object = config
			in.Seen.Differences = map[int64]string{1: "another instance type", 2: ""}
			fresh(in)
			in.Object.Status.WantedConfig = desiredNodegroup(*in).Key()
			in.Object.Status.FailedUpdates = []infrav1.FailedNodegroupUpdate{{
				Type: uncertainUpdate, StartedFor: nextStep(*in).Config.For, Attempts: row.attempts, EndTime: ptr.To(metav1.NewTime(noon.Add(-row.since))), Refusal: "it failed",
			}}
			row.change(in)
			in.Object.Status.WantedConfig = desiredNodegroup(*in).Key()
			plan := Decide(*in)
			var got steps
			for _, need := range plan.Needs {
				got.needs = got.needs || need == needRunning
			}
			for _, step := range plan.Actions {
				if update, is := step.Action.(updateNodegroup); is {
					got.version, got.config = got.version || update.Version != nil, got.config || update.Config != nil
				}
			}
			if got != row.want {
				t.Errorf("%+v, want %+v: needs %v, actions %v", got, row.want, plan.Needs, plan.Actions)
			}
		})
	}
}
