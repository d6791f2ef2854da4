// Package scheduling holds what the laboratory's kube-scheduler and its simulated machines do
// together: pods wait for nodes, are bound to those that suit, run, and go with them.
package scheduling
