// Package ec2 is the simulated Amazon EC2: launch templates and their versions, images, instance
// types, the network that instances live in, key pairs, instances with their volumes, and tags. It
// owns every rule that EC2 itself enforces on them, with the source of each rule next to it, and
// speaks the input and output types of the AWS SDK.
//
// Its state is per account and Region. Reads that a client makes (Describe*) see the state as it
// was one read lag ago; what the service decides with (Create*, Run*, Delete*) is always the
// present state, as in EC2, whose control plane is eventually consistent for readers only (EC2
// Developer Guide, "Eventual consistency in the Amazon EC2 API").
//
// Each kind of resource is a type that holds its table and the rules for its entries: templates,
// vpcs, subnets, securityGroups, networkInterfaces, instances, capacity and so on. It knows only
// the types that newState (state.go) creates before it. The functions that serve actions are in
// separate files and take what they need from the state; register.go lists them. A launch
// (launch.go) finds everything that one request needs, holds the rules of launchrules.go and
// launchnetwork.go against it, and starts instances (launchstart.go).
//
// Auto Scaling uses the exported functions (ResolveLaunchTemplate, LaunchInstances,
// TerminateInstances and the related look-ups), which must be called under the kernel's lock: from
// a handler or from a function given to Kernel.After.
//
// Sources named in comments: "API reference", "error codes" and "User Guide" are AWS's pages
// API_<Action>, errors-overview and the page that follows; "SDK" is the doc comment of the type in
// aws-sdk-go-v2's ec2 module; "(inference)" marks what no source states.
package ec2
