// Package autoscaling is the simulated Amazon EC2 Auto Scaling: groups, the instances that belong
// to them, lifecycle hooks, suspended processes, warm pools, scaling activities and instance
// refreshes. It owns every rule that Auto Scaling itself enforces, with the source of each rule
// next to it, and speaks the input and output types of the AWS SDK.
//
// Everything that happens to a group (a call, an instance that changes state, a timer) triggers the
// same reconciliation (reconcile.go), which compares the current state with the desired one and
// starts whatever is missing: launches, terminations, lifecycle actions, the next step of a
// refresh. It then asks to be woken at the next time at which something changes without an event.
//
// The service consists of parts that know only the parts before them (service.go):
//
//   - groups (groups.go, views.go) holds the groups, wakes them, and shows them to Describe actions.
//     activityLog (activities.go) records scaling activities.
//   - compute asks EC2. sources finds launch templates and launch configurations, and compares
//     instances with them (updated.go).
//   - lifecycle moves one instance from launch to termination, through hooks, the warm pool and the
//     replacement of its root volume.
//   - launchPlanner (options.go, reservations.go) returns the ways to launch the next instance of a
//     group, best first, and launcher launches it, or starts one of the warm pool.
//   - scaler brings a group to its desired capacity, warmPools its warm pool to its size, and
//     refreshes takes the next step of an instance refresh.
//   - reconciler calls them in order.
//   - requests turns what callers ask for into settings. The types that are named …Actions serve the
//     calls, and permissions knows what permissions calls need. register.go lists all actions.
//
// StartInstanceRefresh, for example, is refreshActions.start, which checks the request
// (refreshchecks.go) and wakes the group. The reconciler then has refreshes.step ask refreshplan what
// to do next, and scaler.carryOut do it through lifecycle and launcher.
//
// Decisions are packages of their own, which take values and return values: refreshplan (what a
// refresh does next), scalein (which instance leaves), allocation (where and what to launch).
//
// Behavior that AWS does not document is approximated: how soon it reacts (reaction), how failed
// launches are retried (group.backOff), which Spot pools have capacity (allocation.OrderSpot).
// Zonal shifts, capacity rebalancing and load balancers of a group are checked, stored and shown,
// and do nothing else. Scaling policies that measure something are stored.
//
// State is per account and Region and is changed only under the kernel's lock. Describe actions
// read snapshots from tables whose reads may lag; everything else sees the present.
//
// Sources named in comments: "UG x" is the page x of the Amazon EC2 Auto Scaling User Guide, "API
// x" the page API_x of its API reference, "SDK" the doc comment in aws-sdk-go-v2's autoscaling
// module; "(inference)" marks what no source states.
package autoscaling
