package machinepool

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// TestEndOfRefreshIsReportedOnce holds that the end of a refresh is reported by the pass that
// writes it into status, and by no other.
func TestEndOfRefreshIsReportedOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason          string
		id, before, now string
		want            string
	}{
		{"it goes on", "one", "Pending", "InProgress", ""},
		{"it ends", "one", "InProgress", "Successful", "InstanceRefreshSucceeded"},
		{"its end is in status", "one", "Successful", "Successful", ""},
		{"another one fails", "two", "InProgress", "Failed", "InstanceRefreshEnded"},
		{"which is in status", "two", "Failed", "Failed", ""},
		{"the end of one that status does not know", "three", "", "Failed", ""},
	} {
		in := input{Object: &infrav1.AWSMachinePool{Status: infrav1.AWSMachinePoolStatus{Rollout: &infrav1.RolloutStatus{RefreshID: row.id, Status: row.before}}}}
		if row.before == "" {
			in.Object.Status.Rollout = nil
		}
		in.Seen.Refreshes = Refreshes{Read: true, List: []autoscalinggroup.Refresh{{ID: row.id, Status: row.now}}}
		var plan reconcile.Plan
		showHistory(in, &plan)
		got := ""
		for _, event := range plan.Events {
			got += event.Reason
		}
		if got != row.want {
			t.Errorf("%s: events %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestUnlistedRefresh holds that a refresh which was announced, and which AWS does not list yet, is
// known about, also if it is not known who started it. Only an announcement makes a refresh Slipway's.
func TestUnlistedRefresh(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, announced string
		listed            []string
		want              bool
	}{
		{reason: "nothing was announced", listed: []string{"r-1"}},
		{reason: "the first one was announced", announced: "config lt-1 -", want: true},
		{reason: "the first one is listed", announced: "config lt-1 -", listed: []string{"r-1"}},
		{reason: "another one was announced", announced: "config lt-1 r-1", listed: []string{"r-1"}, want: true},
		{reason: "it is listed", announced: "config lt-1 r-1", listed: []string{"r-2", "r-1"}},
		{reason: "a refresh of unknown origin is under way", announced: "r-1", listed: []string{"r-1"}, want: true},
		{reason: "the first refresh of unknown origin is under way", announced: "-", want: true},
		{reason: "it is listed", announced: "-", listed: []string{"r-1"}},
	} {
		object := &infrav1.AWSMachinePool{Status: infrav1.AWSMachinePoolStatus{Rollout: &infrav1.RolloutStatus{}}}
		object.Annotations = map[string]string{refreshAnnotation: row.announced}
		var listed []autoscalinggroup.Refresh
		for _, id := range row.listed {
			listed = append(listed, autoscalinggroup.Refresh{ID: id})
		}
		if got := unlisted(object, listed); got != row.want {
			t.Errorf("%s: %t, want %t", row.reason, got, row.want)
		}
		disclaimRefresh(object)(object)
		if got := unlisted(object, listed); got != row.want {
			t.Errorf("%s, and disclaimed: %t, want %t", row.reason, got, row.want)
		}
		if adoptRefresh(object, listed); object.Status.Rollout.StartedID != "" {
			t.Errorf("%s: refresh %s is taken for Slipway's", row.reason, object.Status.Rollout.StartedID)
		}
	}
}

// TestRefreshOfSuspendedProcesses holds that a refresh that AWS cannot continue, because a process of
// the group is suspended, says so, and says so no longer once the process is resumed.
func TestRefreshOfSuspendedProcesses(t *testing.T) {
	t.Parallel()
	for _, process := range []string{"Launch", "Terminate", "InstanceRefresh"} {
		t.Run(process, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			r.settled(1)
			group := &autoscaling.SuspendProcessesInput{AutoScalingGroupName: ptr.To("pool"), ScalingProcesses: []string{process, "AZRebalance"}}
			if _, err := r.asg.SuspendProcesses(t.Context(), group); err != nil {
				t.Fatal(err)
			}
			r.want("m5.xlarge", "")
			says := func() bool {
				return strings.Contains(r.condition(infrav1.RolledOutCondition).Message, "processes of the group are suspended: "+process+". Resume them")
			}
			r.until("the condition names the process", says)
			resumed := &autoscaling.ResumeProcessesInput{AutoScalingGroupName: group.AutoScalingGroupName, ScalingProcesses: group.ScalingProcesses}
			if _, err := r.asg.ResumeProcesses(t.Context(), resumed); err != nil {
				t.Fatal(err)
			}
			r.settled(2)
			if says() {
				t.Error("the condition still names the process")
			}
		})
	}
}
