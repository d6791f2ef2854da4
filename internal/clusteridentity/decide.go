package clusteridentity

import "crypto/sha256"

// state is an identity, its Secret included, or the labels of a Namespace, as it was observed.
type state struct {
	exists bool
	digest [sha256.Size]byte
}

// audience identifies the objects that a change wakes.
type audience int

const (
	none audience = iota
	// waiting stands for the objects that wait for an identity.
	waiting
	// namespace stands for the objects in the Namespace.
	namespace
	all
)

// decide returns which objects a change of an identity or a Namespace wakes. Identities are few and
// rarely change, so decide does not determine which objects use one: that would require following
// chains of identities that may have changed at the same time. An identity that was not known
// before wakes only objects that wait for one. A Namespace that was not known before wakes none,
// because a manager that starts reconciles all objects anyway.
func decide(kind string, before, now state) audience {
	switch {
	case before == now, kind == namespaceKind && !before.exists:
		return none
	case kind == namespaceKind:
		return namespace
	case !before.exists:
		return waiting
	}
	return all
}
