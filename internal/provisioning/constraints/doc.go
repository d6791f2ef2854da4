// Package constraints owns what a pending pod and a provisioner together ask of a node that is yet
// to be launched. Requirements are sets of the values that a label may have, with the meaning that
// the scheduler gives a node selector. A pod's layer lies over the layer of its provisioner, and
// that one over the launch template's: values that a pod names replace those below, and values that
// it excludes narrow them. The outcome is one or more alternatives, the preferred one first, or a
// human-readable reason why no node could ever suit.
//
// Everything here is a function from values to values. The contents of a launch template are handed
// in as a value too (Template): a template that was not found, or cannot be read, is one with a
// problem.
package constraints
