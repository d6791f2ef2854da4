// Package constraints owns what a pending pod and a provisioner together ask of a node that is yet
// to be launched. Requirements are sets of the values that a label may have, with the meaning that
// the scheduler gives a node selector. A pod's layer lies over its provisioner's, and that over the
// launch template's: what a pod names replaces what lies below, what it excludes narrows it. The
// outcome is one or more alternatives, the preferred one first, or the reason in words why no node
// could ever suit.
//
// Everything here is a function from values to values. What a launch template holds is handed in as
// a value too (Template): a template that was not found, or cannot be read, is one with a problem.
package constraints
