// Package launchtemplate is the core of Slipway, and the only code that creates, versions,
// defaults, prunes or deletes an EC2 launch template. It takes what a config asks for and what was
// resolved for it, builds the request from them with one pure function, takes fingerprints of the
// request, and ensures that a version with these fingerprints exists:
//
//	spec ─▶ resolve ─▶ Input ─▶ Fingerprints ─▶ Plan ─▶ Do ─▶ Prune
//
// A version never changes, so equality is equality of fingerprints. It does not know pools, groups,
// or conditions.
package launchtemplate
