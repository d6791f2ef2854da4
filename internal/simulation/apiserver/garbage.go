package apiserver

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Garbage lists the objects that have lost at least one of their owners, by kind, namespace, and
// name. An object that is being deleted already is not listed.
func (s *Server) Garbage() []*Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.garbageAt != s.version {
		s.garbage, s.garbageAt = s.findGarbage(), s.version
	}
	return s.garbage
}

func (s *Server) findGarbage() []*Object {
	present := map[types.UID]bool{}
	for _, stored := range s.objects {
		present[stored.GetUID()] = true
	}
	var found []*Object
	for _, stored := range s.objects {
		if stored.GetDeletionTimestamp() == nil && slices.ContainsFunc(stored.GetOwnerReferences(), absentFrom(present)) {
			found = append(found, stored)
		}
	}
	slices.SortFunc(found, func(a, b *Object) int {
		if a.GetKind() != b.GetKind() {
			if a.GetKind() < b.GetKind() {
				return -1
			}
			return 1
		}
		return byName(a, b)
	})
	return found
}

// Collect does what the garbage collector does with an object that Garbage listed: it deletes the
// object if all of its owners are gone, and else removes the references to the missing ones.
func (s *Server) Collect(object *Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.objects[keyOf(object)]
	if stored == nil || stored.GetUID() != object.GetUID() {
		return nil
	}
	present := map[types.UID]bool{}
	for _, other := range s.objects {
		present[other.GetUID()] = true
	}
	absent := absentFrom(present)
	left := slices.DeleteFunc(slices.Clone(stored.GetOwnerReferences()), absent)
	switch {
	case len(left) == len(stored.GetOwnerReferences()):
		return nil
	case len(left) > 0:
		next := stored.DeepCopy()
		next.SetOwnerReferences(left)
		s.put(keyOf(next), stored, next)
		return nil
	}
	uid := stored.GetUID()
	err := s.deleteLocked(gvkOf(stored), types.NamespacedName{Namespace: stored.GetNamespace(), Name: stored.GetName()}, preconditions{uid: &uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("collecting %s %q: %w", stored.GetKind(), stored.GetName(), err)
	}
	return nil
}

func gvkOf(object *Object) schema.GroupVersionKind { return object.GroupVersionKind() }

func absentFrom(present map[types.UID]bool) func(metav1.OwnerReference) bool {
	return func(owner metav1.OwnerReference) bool { return !present[owner.UID] }
}
