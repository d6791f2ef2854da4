// Package autoscaling is the simulated Amazon EC2 Auto Scaling: groups, the instances that belong
// to them, lifecycle hooks, suspended processes, warm pools, scaling activities and instance
// refreshes. It owns every rule that Auto Scaling itself enforces, with the source of each rule
// beside it, and speaks the input and output types of the AWS SDK.
//
// A group is a living thing. Whatever happens to it (a call, an instance that changes state, a
// timer) ends in one reconciliation (reconcile.go), which looks at what is there now and starts
// what is missing: launches, terminations, lifecycle actions, the next step of a refresh. It then
// asks to be woken at the next moment at which time alone changes something. Decisions are pure
// functions in files of their own: scale.go (zones, scale-in), allocation.go (mixed instances),
// refresh_plan.go (what a refresh does next), preferences.go.
//
// What AWS keeps to itself is approximated: how soon it reacts (reaction), how failed launches are
// retried (launch.go), which Spot pools have capacity (allocation.go). Zonal shifts, capacity
// rebalancing and load balancers of a group are checked, stored and shown, and do nothing else.
// Scaling policies that measure something are stored.
//
// State is per account and Region and is changed only under the kernel's lock. Describe actions
// read snapshots from tables whose reads may lag; everything else sees the present.
//
// Sources named in comments: "UG x" is the page x of the Amazon EC2 Auto Scaling User Guide, "API
// x" the page API_x of its API reference, "SDK" the doc comment in aws-sdk-go-v2's autoscaling
// module; "(inference)" marks what no source states.
package autoscaling
