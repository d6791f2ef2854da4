// Package pool holds what the controllers of pools and of their launch configs share, as values and
// functions from values to values: where an object's resources are in AWS and whether AWS can be
// called for it, whose they are by name and tag, how a failure of AWS becomes a condition, what a
// pool asks of its launch config, and what was observed of that.
package pool
