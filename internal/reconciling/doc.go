// Package reconciling has what every controller needs of conditions, status patches, finalizers and
// traces. It knows Kubernetes objects and conditions, and nothing of AWS or of any kind.
package reconciling
