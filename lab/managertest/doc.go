// Package managertest tries the manager as operators run it: with only the rights of its role,
// while another waits for the lease, limited to a namespace or a label, with metrics and traces,
// and as a process that is signaled to stop.
package managertest
