package machinepool

import (
	"context"
)

// readRefreshes shows the group's refreshes as they were seen shortly before if one is under way,
// else as AWS lists them. Refreshes have no batched describe, so the more are under way, the more
// rarely each is described, however often its pool is woken.
func (o observer) readRefreshes(ctx context.Context) {
	o.forgetLostPoll()
	if latest(o.Memory.refreshes).Active() {
		if again := o.Memory.refreshesAt.Add(o.Memory.cloud.RefreshPace.Join(o.key())); o.Clock.Now().Before(again) {
			o.Seen.Refreshes = Refreshes{Read: true, List: o.Memory.refreshes, Again: again}
			return
		}
	}
	o.poll(ctx)
}

// poll asks AWS for the group's refreshes.
func (o observer) poll(ctx context.Context) {
	at := o.Clock.Now()
	history, err := o.Memory.cloud.Groups.Refreshes(ctx, o.Seen.Group.Name)
	o.Seen.Refreshes = Refreshes{Read: err == nil, Latest: err == nil, List: history, Err: err}
	if err != nil {
		return
	}
	o.forgetPoll()
	if at.Before(o.Memory.refusedUntil) && !latest(history).Active() {
		o.Seen.Refreshes.UnderWay, o.Seen.Refreshes.Again = true, o.Memory.refusedUntil
	}
	if latest(history).Active() {
		o.Memory.refreshes, o.Memory.refreshesAt, o.Memory.refreshesOf = history, at, o.Seen.Group.ARN
		o.Seen.Refreshes.Again = at.Add(o.Memory.cloud.RefreshPace.Join(o.key()))
	}
}

// forgetLostPoll forgets the refreshes of a group that is gone.
func (o observer) forgetLostPoll() {
	if group := o.Seen.Group; o.Memory.refreshes != nil && (group == nil || group.ARN != o.Memory.refreshesOf) {
		o.forgetPoll()
	}
}

// forgetPoll has AWS asked when refreshes are next of interest.
func (o observer) forgetPoll() {
	o.Memory.refreshes = nil
	o.Memory.cloud.RefreshPace.Leave(o.key())
}
