package autoscalinggroup

// targetGroupBatch is the number of target groups or traffic sources that one call attaches or
// detaches (AWS: API_AttachLoadBalancerTargetGroups).
const targetGroupBatch = 10
