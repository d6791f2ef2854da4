// Package scheduling holds what the laboratory's kube-scheduler and its simulated machines do
// together: pods wait for nodes, are bound to suitable ones, run, and go with them.
package scheduling
