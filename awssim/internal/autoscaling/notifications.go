package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Notifications and metrics are stored and shown. There is no SNS and no CloudWatch that would get them.

// maxTopics limits the topics that a group can notify (UG ec2-auto-scaling-quotas).
const maxTopics = 10

// notificationTypes (API DescribeAutoScalingNotificationTypes).
var notificationTypes = []string{
	"autoscaling:EC2_INSTANCE_LAUNCH", "autoscaling:EC2_INSTANCE_LAUNCH_ERROR", "autoscaling:EC2_INSTANCE_TERMINATE", "autoscaling:EC2_INSTANCE_TERMINATE_ERROR", "autoscaling:TEST_NOTIFICATION",
}

// collectedMetrics (SDK EnableMetricsCollectionInput.Metrics).
var collectedMetrics = []string{
	"GroupMinSize", "GroupMaxSize", "GroupDesiredCapacity", "GroupInServiceInstances", "GroupPendingInstances", "GroupStandbyInstances", "GroupTerminatingInstances", "GroupTotalInstances",
	"GroupInServiceCapacity", "GroupPendingCapacity", "GroupStandbyCapacity", "GroupTerminatingCapacity", "GroupTotalCapacity",
	"WarmPoolDesiredCapacity", "WarmPoolWarmedCapacity", "WarmPoolPendingCapacity", "WarmPoolTerminatingCapacity", "WarmPoolTotalCapacity", "GroupAndWarmPoolDesiredCapacity",
	"GroupAndWarmPoolTotalCapacity",
}

const granularity = "1Minute" // the only one (SDK EnableMetricsCollectionInput.Granularity)

// notificationActions serves the actions on notifications and metrics.
type notificationActions struct {
	groups *groups
}

// put notifies a topic of some events of a group: of those alone, if it
// was notified before (SDK PutNotificationConfiguration: "overwrites an existing configuration").
func (api *notificationActions) put(c *sim.Call,
	in *autoscaling.PutNotificationConfigurationInput) (*autoscaling.PutNotificationConfigurationOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	topic := val(in.TopicARN)
	if !strings.HasPrefix(topic, "arn:aws:sns:") || strings.Count(topic, ":") != 5 {
		return nil, invalid("Invalid Topic ARN: %s", topic) // inference for the words
	}
	if len(in.NotificationTypes) == 0 {
		return nil, required("notificationTypes")
	}
	for _, kind := range in.NotificationTypes {
		if !slices.Contains(notificationTypes, kind) {
			return nil, invalid("%q is not a valid Notification Type", kind) // inference for the words
		}
	}
	others := list.Filter(g.notifications, func(n types.NotificationConfiguration) bool { return *n.TopicARN != topic })
	topics := map[string]bool{}
	for _, n := range others {
		topics[*n.TopicARN] = true
	}
	if len(topics) >= maxTopics {
		return nil, sim.Errorf(codeLimitExceeded, "You have already reached the limit of %d SNS topics for the Auto Scaling group.", maxTopics)
	}
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(in.NotificationTypes))) {
		others = append(others, types.NotificationConfiguration{AutoScalingGroupName: ptr(g.name), NotificationType: ptr(kind), TopicARN: ptr(topic)})
	}
	g.notifications = others
	api.groups.publish(g)
	return &autoscaling.PutNotificationConfigurationOutput{}, nil
}

// delete: that there was none is an error, which is an inference.
func (api *notificationActions) delete(c *sim.Call,
	in *autoscaling.DeleteNotificationConfigurationInput) (*autoscaling.DeleteNotificationConfigurationOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	left := list.Filter(g.notifications, func(n types.NotificationConfiguration) bool { return *n.TopicARN != val(in.TopicARN) })
	if len(left) == len(g.notifications) {
		return nil, invalid("Notification Topic '%s' doesn't exist for '%s'", val(in.TopicARN), g.arn)
	}
	g.notifications = left
	api.groups.publish(g)
	return &autoscaling.DeleteNotificationConfigurationOutput{}, nil
}

func (api *notificationActions) describe(_ *sim.Call,
	in *autoscaling.DescribeNotificationConfigurationsInput) (*autoscaling.DescribeNotificationConfigurationsOutput, error) {
	for _, name := range in.AutoScalingGroupNames {
		if _, there := api.groups.views.Visible(name); !there {
			return nil, groupNotFound(name)
		}
	}
	var found []types.NotificationConfiguration
	for _, v := range api.groups.views.VisibleAll() {
		if len(in.AutoScalingGroupNames) == 0 || slices.Contains(in.AutoScalingGroupNames, *v.group.AutoScalingGroupName) {
			found = append(found, v.notifications...)
		}
	}
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 100, func(n types.NotificationConfiguration) string {
		return *n.AutoScalingGroupName + " " + *n.TopicARN + " " + *n.NotificationType
	})
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeNotificationConfigurationsOutput{NotificationConfigurations: emptyIfNil(page), NextToken: next}, nil
}

func describeAutoScalingNotificationTypes(*sim.Call,
	*autoscaling.DescribeAutoScalingNotificationTypesInput) (*autoscaling.DescribeAutoScalingNotificationTypesOutput, error) {
	return &autoscaling.DescribeAutoScalingNotificationTypesOutput{AutoScalingNotificationTypes: notificationTypes}, nil
}

func checkMetrics(names []string) error {
	for _, name := range names {
		if !slices.Contains(collectedMetrics, name) {
			// inference for the words
			return invalid("Metric %s is not valid. Valid metrics are: %s", name, strings.Join(collectedMetrics, ", "))
		}
	}
	return nil
}

// enableMetricsCollection enables the collection of the named metrics, or of all if the request
// names none.
func (api *notificationActions) enableMetricsCollection(c *sim.Call, in *autoscaling.EnableMetricsCollectionInput) (*autoscaling.EnableMetricsCollectionOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Granularity == nil:
		return nil, required("granularity")
	case *in.Granularity != granularity:
		// inference for the words
		return nil, invalid("Invalid granularity: %s. Valid granularities are: [%s]", *in.Granularity, granularity)
	}
	if err := checkMetrics(in.Metrics); err != nil {
		return nil, err
	}
	enabled := emptyIfNil(slices.Clone(g.metrics))
	for _, name := range collectedMetrics {
		wanted := len(in.Metrics) == 0 || slices.Contains(in.Metrics, name)
		if wanted && !slices.ContainsFunc(enabled, func(m types.EnabledMetric) bool { return *m.Metric == name }) {
			enabled = append(enabled, types.EnabledMetric{Metric: ptr(name), Granularity: ptr(granularity)})
		}
	}
	g.metrics = enabled
	api.groups.publish(g)
	return &autoscaling.EnableMetricsCollectionOutput{}, nil
}

func (api *notificationActions) disableMetricsCollection(c *sim.Call, in *autoscaling.DisableMetricsCollectionInput) (*autoscaling.DisableMetricsCollectionOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if err := checkMetrics(in.Metrics); err != nil {
		return nil, err
	}
	g.metrics = list.Filter(g.metrics, func(m types.EnabledMetric) bool {
		return len(in.Metrics) > 0 && !slices.Contains(in.Metrics, *m.Metric)
	})
	api.groups.publish(g)
	return &autoscaling.DisableMetricsCollectionOutput{}, nil
}

func describeMetricCollectionTypes(*sim.Call, *autoscaling.DescribeMetricCollectionTypesInput) (*autoscaling.DescribeMetricCollectionTypesOutput, error) {
	out := &autoscaling.DescribeMetricCollectionTypesOutput{Granularities: []types.MetricGranularityType{{Granularity: ptr(granularity)}}}
	for _, name := range collectedMetrics {
		out.Metrics = append(out.Metrics, types.MetricCollectionType{Metric: ptr(name)})
	}
	return out, nil
}
