// Package launchtemplate is the heart of Slipway, and the only code that creates, versions,
// defaults, prunes or deletes an EC2 launch template. It takes what a config asks for and what was
// resolved for it, makes the request from them with one pure function, takes fingerprints of the
// request, and makes a version with these fingerprints exist:
//
//	spec ─▶ resolve ─▶ Input ─▶ Fingerprints ─▶ Plan ─▶ Do ─▶ Prune
//
// A version never changes, so equality is equality of fingerprints. It does not know pools, groups,
// or conditions.
package launchtemplate
