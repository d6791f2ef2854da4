package autoscaling

import (
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// activityLog records the scaling activities of all groups of a Region.
type activityLog struct {
	region *sim.Region
	kernel *sim.Kernel
	table  *sim.Table[*types.Activity]
	ids    []string // by start
}

// keptFor limits the time that activities and refreshes are kept: six weeks (API
// DescribeScalingActivities).
const keptFor = 6 * 7 * 24 * time.Hour

// begin records the start of an activity. Recorded activities are replaced, never changed.
func (log *activityLog) begin(g *group, m *member, description, cause string) *types.Activity {
	now := log.kernel.Now()
	a := &types.Activity{
		ActivityId: ptr(log.kernel.NewUUID()), AutoScalingGroupName: ptr(g.name), AutoScalingGroupARN: ptr(g.arn),
		Description: ptr(description), Cause: ptr(cause), StartTime: ptr(now), StatusCode: types.ScalingActivityStatusCodeInProgress,
		Progress: ptr(int32(0)), Details: ptr(details(m)),
	}
	log.ids = append(log.ids, *a.ActivityId)
	log.forgetOld(now)
	log.table.Put(*a.ActivityId, a)
	return a
}

// details is the JSON text that an activity carries.
func details(m *member) string {
	d := struct {
		Subnet string `json:"Subnet ID,omitempty"`
		Zone   string `json:"Availability Zone,omitempty"`
	}{}
	if m != nil {
		d.Subnet, d.Zone = m.subnet, m.zone
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("autoscaling: two strings can not be written as JSON: " + err.Error())
	}
	return string(text)
}

// note replaces what an activity says about its progress.
func (log *activityLog) note(a *types.Activity, status types.ScalingActivityStatusCode, progress int32, message string) *types.Activity {
	if a == nil {
		return nil
	}
	n := *a
	n.StatusCode, n.Progress = status, ptr(progress)
	if message != "" {
		n.StatusMessage = ptr(message)
		n.Description = ptr(*a.Description + ".  Status Reason: " + message)
	}
	if progress == 100 {
		n.EndTime = ptr(log.kernel.Now())
		publishActivity(log.region, &n)
	}
	log.table.Put(*n.ActivityId, &n)
	return &n
}

// finish records the result of the activity of a member.
func (log *activityLog) finish(m *member, status types.ScalingActivityStatusCode, message string) {
	log.note(m.run, status, 100, message)
	m.run = nil
}

func (log *activityLog) forgetOld(now time.Time) {
	for len(log.ids) > 0 {
		a, ok := log.table.Get(log.ids[0])
		if ok && (a.EndTime == nil || now.Sub(*a.EndTime) < keptFor) {
			return
		}
		log.table.Delete(log.ids[0])
		log.ids = log.ids[1:]
	}
}
