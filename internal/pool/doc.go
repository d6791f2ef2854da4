// Package pool holds what the controllers of pools and of their launch configs share: the
// MachinePool and Cluster of an object, whether it is paused, where its resources are in AWS and
// whether AWS can be called for it, how a failure of AWS becomes a condition, what a pool asks of its
// launch config, and what was observed of that.
package pool
