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
// The service consists of parts that know only the parts before them (service.go):
//
//   - updates, clusters, groups, nodes, accessEntries, and addons hold the state, with the snapshots
//     that Describe actions show. groups also wakes node groups, and nodes drains their nodes.
//   - catalog lists the Kubernetes versions and images that EKS offers. networks and roles check
//     subnets, security groups, addresses, and IAM roles.
//   - builder (resources.go, userdata.go, remote.go, warmpool.go) creates, changes, and deletes the
//     resources of node groups in other services.
//   - health checks node groups, and rollouts replaces their nodes, phase by phase.
//   - reconciler calls them for a node group.
//   - requests turns requests for node groups into settings, and tokens remembers the answers to
//     requests with a client request token. The types named …Actions serve the calls, and permissions
//     returns the permissions that calls need. register.go lists all actions.
//
// UpdateNodegroupVersion, for example, is groupActions.updateVersion. requests.updated checks the
// request, and groups.beginUpdate records the update and wakes the group. The reconciler then lets
// rollouts.step take the next step, through builder and nodes, until rollouts.finish or
// rollouts.rollBack completes the update.
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
