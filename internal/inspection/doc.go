// Package inspection describes a version of a launch template, whatever created it: its image and
// architecture, its instance type, how it is bought, where it is launched, how much storage pods
// have, and what it lacks for each kind of consumer. Inspect is a function from values to values:
// the content of the version (launchtemplate.Contents) and the properties of the things that it
// names (Facts). Reader asks AWS for both, through package discovery, which keeps the answers:
// reading a version that was read recently costs nothing. Nothing here writes to AWS.
package inspection
