package clusteridentity

import "crypto/sha256"

// state is an identity, its Secret included, or the labels of a Namespace, as it was observed.
type state struct {
	exists bool
	digest [sha256.Size]byte
}

// audience is who is woken by a change.
type audience int

const (
	nobody audience = iota
	// waiting are the objects that cannot go on for want of an identity.
	waiting
	// namespace are the objects of the Namespace.
	namespace
	everybody
)

// decide returns who is woken when an identity, or a Namespace, was one thing before and is another
// now. Identities are few and change seldom; which objects one of them concerns would be a walk
// along chains that may themselves have just changed. An identity that was not known before wakes
// only objects that wait for one, and a Namespace nobody: a manager that starts checks all objects
// anyway.
func decide(kind string, before, now state) audience {
	switch {
	case before == now, kind == namespaceKind && !before.exists:
		return nobody
	case kind == namespaceKind:
		return namespace
	case !before.exists:
		return waiting
	}
	return everybody
}
