package autoscaling

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/eventbridge"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file publishes what happens to groups to EventBridge (UG ec2-auto-scaling-event-reference;
// EventBridge events reference, "Amazon EC2 Auto Scaling events").

func instanceARN(region *sim.Region, id string) string {
	return "arn:aws:ec2:" + region.Name + ":" + region.Account.ID + ":instance/" + id
}

// publishActivity publishes that a launch or a termination has finished.
func publishActivity(region *sim.Region, a *types.Activity) {
	kind, origin, destination := "EC2 Instance Launch", "EC2", "AutoScalingGroup"
	switch {
	case strings.HasPrefix(*a.Description, "Launching a new EC2 instance"):
	case strings.HasPrefix(*a.Description, "Terminating EC2 instance"):
		kind, origin, destination = "EC2 Instance Terminate", "AutoScalingGroup", "EC2"
	default:
		return
	}
	outcome, code := " Successful", "InProgress" // as the examples of successful events have it
	if a.StatusCode != types.ScalingActivityStatusCodeSuccessful {
		outcome, code = " Unsuccessful", "Failed"
	}
	resources := []string{*a.AutoScalingGroupARN}
	what, _, _ := strings.Cut(*a.Description, ".  Status Reason:")
	_, id, launched := strings.Cut(what, ": ")
	if launched {
		resources = append(resources, instanceARN(region, id))
	}
	eventbridge.Put(region, eventbridge.Event{
		Source: "aws.autoscaling", DetailType: kind + outcome, Resources: resources,
		Detail: map[string]any{
			"StatusCode": code, "Description": what, "AutoScalingGroupName": *a.AutoScalingGroupName, "ActivityId": *a.ActivityId,
			"Details": json.RawMessage(*a.Details), "RequestId": *a.ActivityId, "StatusMessage": val(a.StatusMessage), "EndTime": stamp(*a.EndTime),
			"EC2InstanceId": id, "StartTime": stamp(*a.StartTime), "Cause": *a.Cause, "Origin": origin, "Destination": destination,
		},
	})
}

// publishAction publishes that an instance waits for a lifecycle hook.
func publishAction(region *sim.Region, g *group, m *member, h hook, token string) {
	kind, origin, destination := "EC2 Instance-launch Lifecycle Action", "EC2", "AutoScalingGroup"
	if h.transition == transitionTerminate {
		kind, origin, destination = "EC2 Instance-terminate Lifecycle Action", "AutoScalingGroup", "EC2"
	}
	// UG instance-refresh-eventbridge-events, "Instance refresh replace root volume lifecycle events".
	replacesRoot := m.replacing() || h.transition == transitionLaunch && m.rootReplaced
	if replacesRoot {
		origin, destination = "AutoScalingGroup", "AutoScalingGroup"
	}
	detail := map[string]string{
		"LifecycleActionToken": token, "AutoScalingGroupName": g.name, "LifecycleHookName": h.name, "EC2InstanceId": m.id,
		"LifecycleTransition": h.transition, "Origin": origin, "Destination": destination,
	}
	if replacesRoot {
		detail["Action"] = "ReplaceRootVolume"
	}
	if h.metadata != "" {
		detail["NotificationMetadata"] = h.metadata
	}
	eventbridge.Put(region, eventbridge.Event{Source: "aws.autoscaling", DetailType: kind, Resources: []string{g.arn}, Detail: detail})
}

// refreshEvents maps the final statuses of a refresh to the outcomes that the detail types of its
// events name.
var refreshEvents = map[types.InstanceRefreshStatus]string{
	types.InstanceRefreshStatusSuccessful:         "Succeeded",
	types.InstanceRefreshStatusFailed:             "Failed",
	types.InstanceRefreshStatusCancelled:          "Cancelled",
	types.InstanceRefreshStatusRollbackSuccessful: "Rollback Succeeded",
	types.InstanceRefreshStatusRollbackFailed:     "Rollback Failed",
}

// publishRefresh publishes that a refresh has finished.
func publishRefresh(region *sim.Region, g *group, r *refresh) {
	if word, told := refreshEvents[r.status]; told {
		putRefresh(region, g, word, map[string]string{"InstanceRefreshId": r.id, "AutoScalingGroupName": g.name})
	}
}

// publishCheckpoint publishes that a refresh pauses after the checkpoint that it has reached.
func publishCheckpoint(region *sim.Region, g *group, r *refresh) {
	putRefresh(region, g, "Checkpoint Reached", map[string]string{
		"InstanceRefreshId": r.id, "AutoScalingGroupName": g.name,
		"CheckpointPercentage": strconv.Itoa(r.prefs.checkpoints[r.checkpoint-1]), "CheckpointDelay": strconv.Itoa(r.prefs.checkpointDelay),
	})
}

func putRefresh(region *sim.Region, g *group, word string, detail map[string]string) {
	eventbridge.Put(region, eventbridge.Event{
		Source: "aws.autoscaling", DetailType: "EC2 Auto Scaling Instance Refresh " + word, Resources: []string{g.arn}, Detail: detail,
	})
}
