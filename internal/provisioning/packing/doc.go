// Package packing owns the choice of nodes for pending pods: which instances are launched, from
// what, and which pods each is for. It is a function of values, Pack, with the scheduler's
// predicates: whatever is put on a node, the scheduler can bind there.
//
// Pods that are equal for every predicate form a class, and all work is done once a class. Classes
// are placed in order of size, after the classes that keep nodes to themselves. A class goes where
// it costs least: into what the instance types chosen so far have left over, then on a node whose
// instance type can be exchanged for a larger one, or on a new node, whichever costs less per pod.
// A node has no instance type before the end, only the set of types that suit all its pods; it
// costs as much as the cheapest of them. Nodes of different launch groups (constraints.Ask.Group)
// are apart from the start, so that the number of launch templates costs nothing.
//
// EC2 has more than a thousand types, so two things are not considered twice: a type for which
// another one does as well (choices), and a node that was refused a larger type for a pod of the
// same size (refusals). Neither changes the outcome.
//
// The outcome does not depend on the order of anything in the input. Everything is bounded: zones
// by 64, pods of one call by Problem.MaxPods.
package packing
