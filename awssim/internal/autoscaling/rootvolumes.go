package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
)

// This file has a refresh replace root volumes in place of instances (UG replace-root-volume; UG
// lifecycle-hooks-overview, "Lifecycle state transitions for instances undergoing root volume
// replacement"; UG instance-refresh-overview).

// replaceRoot takes an instance out of service so that its root volume is replaced by one of
// another image. AWS documents neither description nor cause of the activity.
func (l *lifecycle) replaceRoot(g *group, m *member, image string) {
	now := l.kernel.Now()
	m.nextImage, m.rootOf, m.rootTask = image, g.refresh.id, ""
	m.actions, m.outcome = nil, ""
	m.state, m.settle = types.LifecycleStateReplacingRootVolume, now.Add(reaction)
	m.run = l.activities.begin(g, m, "Replacing root volume of EC2 instance: "+m.id, causeOutOfService(now, reasonRefresh))
}

// stepReplacing moves an instance on whose root volume is being replaced. One that no longer runs,
// or whose task fails, is terminated and replaced.
func (l *lifecycle) stepReplacing(g *group, m *member) {
	if l.compute.state(m.id) != ec2types.InstanceStateNameRunning {
		l.rootFailed(g, m)
		return
	}
	switch m.state {
	case types.LifecycleStateReplacingRootVolume:
		switch {
		case !l.due(m):
		case l.beginActions(g, m, transitionTerminate):
			m.state = types.LifecycleStateReplacingRootVolumeWait
			m.run = l.activities.note(m.run, types.ScalingActivityStatusCodeMidLifecycleAction, 60, "")
		default:
			m.state, m.settle = types.LifecycleStateReplacingRootVolumeProceed, l.kernel.Now().Add(reaction)
		}
	case types.LifecycleStateReplacingRootVolumeWait:
		// Either result lets the replacement go on, as it does with terminations (inference).
		if m.settleActions(l.kernel.Now()); m.outcome != "" {
			m.state, m.settle = types.LifecycleStateReplacingRootVolumeProceed, l.kernel.Now().Add(reaction)
			m.actions, m.outcome = nil, ""
		}
	case types.LifecycleStateReplacingRootVolumeProceed:
		l.stepRootTask(g, m)
	default:
		if l.due(m) {
			m.state, m.rootReplaced = types.LifecycleStatePending, true // launch hooks get it again
		}
	}
}

// stepRootTask has EC2 replace the root volume, once the instance has been in the state long enough
// to be seen, and waits for it.
func (l *lifecycle) stepRootTask(g *group, m *member) {
	if m.rootTask == "" {
		if !l.due(m) {
			return
		}
		task, err := ec2.ReplaceRootVolume(l.region, m.id, m.nextImage)
		if err != nil {
			l.rootFailed(g, m)
			return
		}
		m.rootTask = task
	}
	switch ec2.RootVolumeTaskState(l.region, m.rootTask) {
	case ec2types.ReplaceRootVolumeTaskStateSucceeded:
		m.imageID, m.nextImage, m.rootTask = m.nextImage, "", ""
		m.state, m.settle = types.LifecycleStateRootVolumeReplaced, l.kernel.Now().Add(reaction)
	case ec2types.ReplaceRootVolumeTaskStateFailed, ec2types.ReplaceRootVolumeTaskStateFailedDetached:
		l.rootFailed(g, m)
	default:
		// EC2 notifies the group when the task finishes.
	}
}

// rootFailed marks an instance for termination whose root volume could not be replaced. A new
// instance takes its place.
func (l *lifecycle) rootFailed(g *group, m *member) {
	m.nextImage, m.rootTask = "", ""
	g.replacing++
	l.startTermination(g, m, causeOutOfService(l.kernel.Now(), "a root volume replacement that failed"))
}
