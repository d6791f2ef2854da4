// Package simulation runs the real controllers of AWSMachinePool, AWSManagedMachinePool,
// AWSLaunchConfig and Provisioner through schedules of events that a seed chooses, and checks what must hold in all
// of them. Nothing runs by itself: there is one event loop, one virtual clock, and one source of
// chance, so that a seed always gives the same schedule, byte for byte.
//
// # Parts
//
//   - Package apiserver is the API server, and package informers the cache of a controller process.
//     The cache holds what the event loop has delivered, so it is as stale as the schedule makes
//     it. A process that starts may list from a server that lags behind what the last one saw.
//   - Package awssim is AWS. It is called by the unmodified SDK through a transport that stays in
//     this process. An answer that the SDK has read before is not read again (readings.go).
//   - A process is what `slipway manager` is to the controllers: their Register functions add the
//     same watches, predicates, and work queues to a manager that starts nothing (manager.go).
//     The event loop takes requests from the queues and calls Reconcile.
//   - A scene (scene.go) defines the subject of a schedule: pools (pools.go), or Provisioners
//     (provisioners.go). It says what exists at first, who acts, what a process runs, and what must
//     hold.
//   - A schedule of pools is about one pool, or about one of each kind. The differences between the
//     kinds are in a poolKind (kind.go): selfmanaged.go has AWSMachinePool, and managed.go
//     AWSManagedMachinePool. An observer holds each pool against the invariants.
//   - A schedule of Provisioners has pods and nodes in the API server of the process. Kubelets
//     (kubelets.go) act on the clock, and the other components of the cluster (clusterparts.go) when
//     the schedule chooses one of their moves. Nodes are drained through clusterapi.go.
//   - The workload cluster of an AWSMachinePool has a node for each instance that has booted, and
//     runs a Deployment with a PodDisruptionBudget. The controllers drain its nodes (workload.go).
//     The nodes of an AWSManagedMachinePool are drained by the simulated EKS. While there are faults,
//     they may keep their pods, or never join.
//   - A user edits specs, rotates the bootstrap token, and deletes the pool. Others terminate
//     instances, and delete groups, templates and launch configs behind the controllers' backs, and
//     an external autoscaler changes sizes (user.go, manageddeeds.go).
//
// # A schedule
//
// In the first phase, the seed chooses among the events that are possible: deliver a watch event,
// run one reconcile, let time pass, have the garbage collector or another component of the cluster
// act, restart the process, or have the user act. Each call that a process makes, to AWS or to the API server, may fail before or
// after its effect, be throttled, or be the last one before the process crashes; and the user may
// act, or a watch event arrive, in the middle of a pass (chance.go).
//
// In the second phase, faults no longer occur. In some schedules, the user first asks for nodes that do
// not become Ready for a while (brokennodes.go). Everything is delivered and reconciled until the
// process has written nothing for minutes. Then the pool must be as its spec says, and the process
// must not write again.
//
// # What must hold
//
// The invariants are in invariants.go, managedinvariants.go, provisionerinvariants.go and, for drains
// of pools, drains.go: some hold after each call, others at the end.
//
// That the invariants are strict enough is shown by mutants (mutants_test.go) and flaws
// (flaws_test.go), and for managed pools and Provisioners by those in managedmistakes_test.go and
// provisionermistakes_test.go: deliberate mistakes in the source of the product, or at the edges of
// the process. Some schedule must notice each of them.
//
// Run uses the real clock where the product does, to space descriptions and retries. It must
// therefore be called in a bubble of testing/synctest, in which waiting takes no time.
package simulation
