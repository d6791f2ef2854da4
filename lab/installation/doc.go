// Package installation holds journeys of an installation: from the files of a release, in each way that
// the documentation describes, to a pool with nodes and to an uninstallation that leaves nothing; and
// from one release to another and back.
//
// There are no pods in the laboratory. A process stands in for the pod of the manager: with the
// arguments, environment, files, and ServiceAccount of the installed Deployment.
package installation
