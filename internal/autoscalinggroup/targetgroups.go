package autoscalinggroup

// targetGroupBatch is how many target groups or traffic sources one call attaches or detaches (AWS:
// API_AttachLoadBalancerTargetGroups).
const targetGroupBatch = 10
