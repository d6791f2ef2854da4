// Package updatehistory measures the updates that replaced the nodes of EKS managed node groups: how long each
// took, and how many nodes it replaced. EKS keeps when an update began, and Auto Scaling for six weeks when
// instances were terminated.
package updatehistory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

const (
	// updatesRead bounds how many updates are read. EKS does not document in which order it lists them.
	updatesRead = 20
	// longestStep is the longest time between two terminations of an update: EKS waits 15 minutes for a new
	// node, and as long for the pods of an old one (AWS: managed-node-update-behavior). longestShrink is the
	// longest time until EKS terminates a node that it had added. AWS documents none, so it is a guess.
	longestStep, longestShrink = 35 * time.Minute, 10 * time.Minute
)

// EKS has the calls of EKS that this package sends.
type EKS interface {
	eks.ListUpdatesAPIClient
	DescribeUpdate(context.Context, *eks.DescribeUpdateInput, ...func(*eks.Options)) (*eks.DescribeUpdateOutput, error)
}

// Activities reads the scaling activities of a group since a time, newest first, and from when on they are
// complete.
type Activities func(ctx context.Context, group string, since time.Time) ([]asgtypes.Activity, time.Time, error)

// Update is an update that replaced nodes, and succeeded.
type Update struct {
	// Took is the time from its start until the last node was terminated, and Replaced how many nodes it
	// replaced.
	Took     time.Duration
	Replaced int
}

// Reader reads the history of node groups.
type Reader struct {
	api        EKS
	activities Activities
}

// New returns a reader.
func New(api EKS, activities Activities) *Reader { return &Reader{api, activities} }

// Replacing returns the successful updates of a node group that replaced nodes as fast as an update does now,
// newest first. Group is the node group's Auto Scaling group.
func (r *Reader) Replacing(ctx context.Context, cluster, nodegroup, group string) ([]Update, error) {
	updates, err := r.updates(ctx, cluster, nodegroup)
	if err != nil {
		return nil, err
	}
	spans := spansOf(updates)
	if len(spans) == 0 {
		return nil, nil
	}
	activities, known, err := r.activities(ctx, group, spans[len(spans)-1].began)
	if err != nil {
		return nil, err
	}
	var measured []Update
	for _, span := range spans {
		if one := span.measure(activities); span.began.After(known) && one.Replaced > 0 {
			measured = append(measured, one)
		}
	}
	return measured, nil
}

// updates returns the updates of a node group, newest first.
func (r *Reader) updates(ctx context.Context, cluster, nodegroup string) ([]ekstypes.Update, error) {
	var found []ekstypes.Update
	pages := eks.NewListUpdatesPaginator(r.api, &eks.ListUpdatesInput{Name: &cluster, NodegroupName: &nodegroup})
	for pages.HasMorePages() && len(found) < updatesRead {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the updates of node group %q: %w", nodegroup, err)
		}
		for _, id := range page.UpdateIds[:min(len(page.UpdateIds), updatesRead-len(found))] {
			output, err := r.api.DescribeUpdate(ctx, &eks.DescribeUpdateInput{Name: &cluster, NodegroupName: &nodegroup, UpdateId: &id})
			if err != nil {
				return nil, fmt.Errorf("describing update %s of node group %q: %w", id, nodegroup, err)
			}
			if update := output.Update; update != nil && update.CreatedAt != nil {
				found = append(found, *update)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b ekstypes.Update) int { return b.CreatedAt.Compare(*a.CreatedAt) })
	return found, nil
}

// span bounds the time in which an update may have terminated nodes: EKS performs one update at a time.
type span struct {
	began time.Time
	// next is when the next update began, zero if there is none.
	next time.Time
}

// spansOf returns the spans of updates that replaced nodes, newest first. Updates from before the pace
// was changed are left out.
func spansOf(updates []ekstypes.Update) []span {
	var spans []span
	next := time.Time{}
	for i := range updates {
		update := &updates[i]
		if changesPace(update) {
			break
		}
		if update.Type == ekstypes.UpdateTypeVersionUpdate && update.Status == ekstypes.UpdateStatusSuccessful {
			spans = append(spans, span{*update.CreatedAt, next})
		}
		next = *update.CreatedAt
	}
	return spans
}

// pace are the parameters of updates that change how fast nodes are replaced.
var pace = []ekstypes.UpdateParamType{ekstypes.UpdateParamTypeMaxUnavailable, ekstypes.UpdateParamTypeMaxUnavailablePercentage, ekstypes.UpdateParamTypeUpdateStrategy}

// changesPace reports whether an update changes how fast later ones replace nodes.
func changesPace(update *ekstypes.Update) bool {
	return update.Type == ekstypes.UpdateTypeConfigUpdate && slices.ContainsFunc(update.Params, func(param ekstypes.UpdateParam) bool { return slices.Contains(pace, param.Type) })
}

// measure measures an update by the terminations that follow its start without a longer break than an update
// has. EKS terminates a node that it replaces through the Auto Scaling group, which keeps its size (AWS:
// TerminateInstanceInAutoScalingGroup, managed-node-update-behavior).
func (s span) measure(activities []asgtypes.Activity) Update {
	var ended []asgtypes.Activity
	for _, activity := range activities {
		at := awssdk.ToTime(activity.StartTime)
		if terminates(&activity) && !at.Before(s.began) && (s.next.IsZero() || at.Before(s.next)) {
			ended = append(ended, activity)
		}
	}
	slices.SortStableFunc(ended, func(a, b asgtypes.Activity) int { return cmp.Compare(a.StartTime.UnixNano(), b.StartTime.UnixNano()) })
	update, last := Update{}, s.began
	for i := range ended {
		limit := longestStep
		if shrinks(&ended[i]) {
			limit = longestShrink
		}
		if ended[i].StartTime.Sub(last) > limit {
			break
		}
		last = awssdk.ToTime(ended[i].EndTime)
		update.Took = last.Sub(s.began)
		if replaces(&ended[i]) {
			update.Replaced++
		}
	}
	return update
}

// terminates reports whether an activity is a termination that succeeded.
func terminates(activity *asgtypes.Activity) bool {
	return activity.StatusCode == asgtypes.ScalingActivityStatusCodeSuccessful && activity.StartTime != nil && activity.EndTime != nil &&
		strings.HasPrefix(awssdk.ToString(activity.Description), "Terminating")
}

// shrinks reports whether a termination made the group smaller.
func shrinks(activity *asgtypes.Activity) bool {
	return strings.Contains(awssdk.ToString(activity.Cause), "shrinking the capacity")
}

// replaces reports whether a termination was requested, and the group keeps its size.
func replaces(activity *asgtypes.Activity) bool {
	return strings.Contains(awssdk.ToString(activity.Cause), "taken out of service in response to a user request") && !shrinks(activity)
}
