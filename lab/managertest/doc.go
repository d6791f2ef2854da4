// Package managertest tries the manager as operators run it: with the rights of its role alone,
// beside another that waits for the lease, limited to a namespace or a label, with metrics and
// traces, and as a process that is told to stop.
package managertest
