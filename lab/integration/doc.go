// Package integration holds the journeys of users, end to end: real etcd, real kube-apiserver, real
// Cluster API controllers, Slipway's manager, and the simulated AWS behind the real AWS SDK.
package integration
