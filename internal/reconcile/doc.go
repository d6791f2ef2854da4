// Package reconcile is the frame of Slipway's controllers: observe, decide, act.
//
// A kind provides its type, Observe, Decide and Act. Observe asks Kubernetes and AWS what there is.
// Decide is a pure function from the object, what was observed, and the time to a Plan: the status,
// the actions with their reasons, and when to reconcile again. Act does one action. A pass observes
// once, and then decides and acts until a plan has no action left:
//
//	observe → decide → act → decide → act → … → decide → write the status
//
// Every decision begins from the stored object. So the status that is written follows from what is
// stored, what was observed and what was done in this pass, and from nothing that an earlier
// decision left behind.
//
// The frame owns what is the same for all kinds: reading the object and dropping what is remembered
// of one that is gone, paused objects, waiting until the cache shows our last write, the finalizer,
// deletion, the one status write, summaries such as the Ready condition, and events, log lines and
// spans.
package reconcile
