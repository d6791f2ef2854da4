// Package inspection says what a version of a launch template is, whoever made it: which image and
// of which architecture, which instance type, how it is bought, where it is launched, how much
// storage pods have, and what it lacks for each kind of consumer. Inspect is a function from values
// to values: what the version says (launchtemplate.Contents) and what is known of the things that
// it names (Facts). Reader asks AWS for both, through package discovery, which keeps the answers:
// to read a version that was read lately costs nothing. Nothing here writes to AWS.
package inspection
