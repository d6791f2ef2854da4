package autoscaling

import (
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Lifecycle transitions and results (API PutLifecycleHook).
const (
	transitionLaunch    = "autoscaling:EC2_INSTANCE_LAUNCHING"
	transitionTerminate = "autoscaling:EC2_INSTANCE_TERMINATING"
	resultContinue      = "CONTINUE"
	resultAbandon       = "ABANDON"

	defaultHeartbeat = 3600
	minHeartbeat     = 30
	maxHeartbeat     = 7200
	maxHookWait      = 48 * time.Hour // or a hundred heartbeats, whichever is smaller (UG lifecycle-hooks)
	maxHookMetadata  = 4000
)

var hookName = regexp.MustCompile(`^[A-Za-z0-9\-_/]{1,255}$`)

// hook is a lifecycle hook of a group.
type hook struct {
	name, transition, result string
	heartbeat                int32
	metadata, target, role   string
}

// globalTimeout is the longest that an instance may wait for the hook, in seconds.
func (h hook) globalTimeout() int32 {
	return min(int32(maxHookWait/time.Second), 100*h.heartbeat)
}

// lifecycleAction is one hook holding one instance.
type lifecycleAction struct {
	hook     string
	token    string
	deadline time.Time // by which a heartbeat or the result must come
	end      time.Time // beyond which no heartbeat helps
	wait     time.Duration
	fallback string
	result   string
}

// mergeHook returns the hook with the members of the specification in place.
func mergeHook(h hook, spec types.LifecycleHookSpecification) (hook, error) {
	h.name = val(spec.LifecycleHookName)
	set(&h.transition, spec.LifecycleTransition)
	set(&h.result, spec.DefaultResult)
	set(&h.heartbeat, spec.HeartbeatTimeout)
	set(&h.metadata, spec.NotificationMetadata)
	set(&h.target, spec.NotificationTargetARN)
	set(&h.role, spec.RoleARN)
	if err := checkMetadata(spec.NotificationMetadata); err != nil {
		return h, err
	}
	switch {
	case !hookName.MatchString(h.name):
		return h, constraint(h.name, "lifecycleHookName", `Member must satisfy regular expression pattern: [A-Za-z0-9\-_\/]+`)
	case h.transition == "":
		return h, invalid("LifecycleTransition is required for new lifecycle hooks.")
	case h.transition != transitionLaunch && h.transition != transitionTerminate:
		return h, invalid("Invalid lifecycle transition: %s. Valid values are: %s, %s", h.transition, transitionLaunch, transitionTerminate)
	case h.result != resultContinue && h.result != resultAbandon:
		return h, invalid("Invalid default result: %s. Valid values are: CONTINUE, ABANDON", h.result)
	case h.heartbeat < minHeartbeat || h.heartbeat > maxHeartbeat:
		return h, invalid("Heartbeat timeout must be between %d and %d seconds.", minHeartbeat, maxHeartbeat)
	case h.target != "" && h.role == "":
		return h, invalid("RoleARN is required when NotificationTargetARN is specified.")
	case h.target == "" && h.role != "" && spec.RoleARN != nil:
		return h, invalid("RoleARN is valid only if the notification target is an Amazon SNS topic or an Amazon SQS queue.")
	}
	return h, nil
}

// checkMetadata: up to 4,000 characters, and at least one (API model,
// AnyPrintableAsciiStringMaxLen4000), so that none can be taken away.
func checkMetadata(metadata *string) error {
	switch {
	case metadata == nil:
	case *metadata == "":
		return constraint("", "notificationMetadata", `Member must satisfy regular expression pattern: [\u0009\u000A\u000D\u0020-\u007e]+`)
	case len(*metadata) > maxHookMetadata:
		return constraint("notificationMetadata", "notificationMetadata", "Member must have length less than or equal to 4000")
	}
	return nil
}

// newHooks checks the hooks of a new group: if they notify, then all the same target with the same
// role (UG lifecycle-hooks).
func newHooks(specs []types.LifecycleHookSpecification) ([]hook, error) {
	if len(specs) > maxHooks {
		return nil, sim.Errorf(codeLimitExceeded, "You can specify a maximum of %d lifecycle hooks.", maxHooks)
	}
	var hooks []hook
	for _, spec := range specs {
		h, err := mergeHook(hook{result: resultAbandon, heartbeat: defaultHeartbeat}, spec)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(hooks, func(o hook) bool { return o.name == h.name }) {
			return nil, invalid("Duplicate lifecycle hook name: %s", h.name)
		}
		if len(hooks) > 0 && (h.target != hooks[0].target || h.role != hooks[0].role) {
			return nil, invalid("All lifecycle hooks must have the same notification target and IAM role.")
		}
		hooks = append(hooks, h)
	}
	return hooks, nil
}
