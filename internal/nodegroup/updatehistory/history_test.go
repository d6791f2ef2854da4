package updatehistory

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"
)

// at returns a time in minutes after a beginning.
func at(minutes int) time.Time {
	return time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// update returns an update that began at a minute.
func update(minute int, kind ekstypes.UpdateType, status ekstypes.UpdateStatus, params ...ekstypes.UpdateParamType) ekstypes.Update {
	made := ekstypes.Update{CreatedAt: awssdk.Time(at(minute)), Type: kind, Status: status}
	for _, param := range params {
		made.Params = append(made.Params, ekstypes.UpdateParam{Type: param, Value: awssdk.String("1")})
	}
	return made
}

// termination returns the termination of an instance, which takes a minute.
func termination(minute int, cause string) asgtypes.Activity {
	return asgtypes.Activity{
		StartTime: awssdk.Time(at(minute)), EndTime: awssdk.Time(at(minute + 1)), StatusCode: asgtypes.ScalingActivityStatusCodeSuccessful,
		Description: awssdk.String("Terminating EC2 instance: i-0a11000000000000a"), Cause: awssdk.String(cause),
	}
}

// The causes of terminations, as Auto Scaling describes them.
const (
	byRequest = "At 2026-11-26T10:00:00Z instance i-0a11000000000000a was taken out of service in response to a user request."
	bySize    = "At 2026-11-26T10:00:00Z an instance was taken out of service in response to a difference between desired and actual capacity, shrinking the capacity from 5 to 4."
)

// history is an EKS that knows updates.
type history []ekstypes.Update

// ListUpdates implements EKS.
func (h history) ListUpdates(context.Context, *eks.ListUpdatesInput, ...func(*eks.Options)) (*eks.ListUpdatesOutput, error) {
	output := &eks.ListUpdatesOutput{}
	for i := range h {
		output.UpdateIds = append(output.UpdateIds, fmt.Sprint(i))
	}
	return output, nil
}

// DescribeUpdate implements EKS.
func (h history) DescribeUpdate(_ context.Context, input *eks.DescribeUpdateInput, _ ...func(*eks.Options)) (*eks.DescribeUpdateOutput, error) {
	var index int
	if _, err := fmt.Sscan(*input.UpdateId, &index); err != nil || index >= len(h) {
		return nil, errors.Join(err, errors.New("no such update"))
	}
	return &eks.DescribeUpdateOutput{Update: &h[index]}, nil
}

func TestReplacing(t *testing.T) {
	t.Parallel()
	const replacing, configuring = ekstypes.UpdateTypeVersionUpdate, ekstypes.UpdateTypeConfigUpdate
	const done = ekstypes.UpdateStatusSuccessful
	for name, tc := range map[string]struct {
		reason     string
		updates    history
		activities []asgtypes.Activity
		known      time.Time
		want       []Update
	}{
		"None": {reason: "A new node group has no history."},
		"Two": {
			reason:     "A termination belongs to the update that was the last to begin, and the newest update comes first.",
			updates:    history{update(0, replacing, done), update(100, replacing, done)},
			activities: []asgtypes.Activity{termination(125, bySize), termination(120, byRequest), termination(110, byRequest), termination(5, byRequest)},
			want:       []Update{{Took: 26 * time.Minute, Replaced: 2}, {Took: 6 * time.Minute, Replaced: 1}},
		},
		"Later": {
			reason:     "A termination long after the last one is not the update's.",
			updates:    history{update(0, replacing, done)},
			activities: []asgtypes.Activity{termination(60, byRequest), termination(25, bySize), termination(5, byRequest)},
			want:       []Update{{Took: 6 * time.Minute, Replaced: 1}},
		},
		"Failed": {
			reason:  "An update that failed replaced some nodes only.",
			updates: history{update(0, replacing, ekstypes.UpdateStatusFailed)}, activities: []asgtypes.Activity{termination(5, byRequest)},
		},
		"Configured": {
			reason:  "A change of labels replaces no node, and the update before it is measured until then.",
			updates: history{update(0, replacing, done), update(10, configuring, done, ekstypes.UpdateParamTypeLabelsToAdd)}, activities: []asgtypes.Activity{termination(15, byRequest), termination(5, byRequest)},
			want: []Update{{Took: 6 * time.Minute, Replaced: 1}},
		},
		"OtherPace": {
			reason:     "Updates at another pace say nothing.",
			updates:    history{update(0, replacing, done), update(50, configuring, done, ekstypes.UpdateParamTypeMaxUnavailable), update(100, replacing, done)},
			activities: []asgtypes.Activity{termination(110, byRequest), termination(5, byRequest)},
			want:       []Update{{Took: 11 * time.Minute, Replaced: 1}},
		},
		"Forgotten": {
			reason:  "An update whose terminations are not all listed is left out.",
			updates: history{update(0, replacing, done), update(100, replacing, done)}, activities: []asgtypes.Activity{termination(110, byRequest), termination(5, byRequest)}, known: at(4),
			want: []Update{{Took: 11 * time.Minute, Replaced: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := New(tc.updates, func(context.Context, string, time.Time) ([]asgtypes.Activity, time.Time, error) {
				return tc.activities, tc.known, nil
			})
			got, err := reader.Replacing(t.Context(), "blue", "system", "eks-system")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s Replacing: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
