// Package eks is the simulated Amazon Elastic Kubernetes Service: clusters (of CreateCluster, of
// the world, or of Simulator.SetCluster), managed node groups, add-ons, access entries, their
// updates, their health and their tags. No cluster has an API server. The package owns
// every rule that EKS itself enforces, with the source of each rule next to it, and speaks the
// input and output types of the AWS SDK.
//
// A node group consists of other services' resources, and EKS creates them as AWS does, by calling
// those services in the account of its user (resources.go): a launch template of its own, which is
// a copy of the user's with what EKS adds; an instance profile for the node role; an Auto Scaling
// group on that copy. So instances are launched, replaced and terminated by the simulated Auto
// Scaling.
//
// Whatever happens to a group (a call, an instance, its Auto Scaling group, a timer) leads to one
// reconciliation (reconcile.go), which reads the current state, takes the steps that are due, and
// asks to be woken at the next moment at which time alone changes something.
//
// Whether a node is Ready and when it is drained is not for AWS to decide. By default a node is
// Ready when its instance has booted, and is drained at once; sim.NodeRule and SetNode change that
// (nodes.go).
//
// Undocumented behavior of AWS is approximated: how soon it reacts (reaction), how often it checks
// a group's health (healthInterval), when a creation gives up. Node auto repair is stored and
// shown, and does nothing; EKS's lifecycle hooks on the Auto Scaling group are left out, so scaling
// does not drain.
//
// Sources named in comments: "UG x" is the page x of the Amazon EKS User Guide, "API x" the page
// API_x of its API reference, "SDK" the doc comment in aws-sdk-go-v2's eks module, "seen in x" an
// error text that users report; "(inference)" marks what no source states.
package eks
