package plan

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// snapshot reads each object of a management cluster once, however many worlds of a plan ask for it. So all
// of them see the same cluster.
type snapshot struct {
	client.Reader
	mu      sync.Mutex
	objects map[readKey]client.Object
	missing map[readKey]error
	lists   map[readKey]client.ObjectList
}

// readKey identifies a read: what it was read into, and what was asked for.
type readKey struct {
	into reflect.Type
	what string
}

// newSnapshot returns a snapshot of which nothing has been read.
func newSnapshot(base client.Reader) *snapshot {
	return &snapshot{Reader: base, objects: map[readKey]client.Object{}, missing: map[readKey]error{}, lists: map[readKey]client.ObjectList{}}
}

// Get implements client.Reader.
func (s *snapshot) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if !typed(object) || len(options) > 0 {
		return s.Reader.Get(ctx, name, object, options...)
	}
	key := readKey{reflect.TypeOf(object), name.String()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.objects[key]; known != nil {
		copyInto(object, known.DeepCopyObject())
		return nil
	}
	if err := s.missing[key]; err != nil {
		return err
	}
	err := s.Reader.Get(ctx, name, object)
	switch {
	case err == nil:
		s.objects[key] = object.DeepCopyObject().(client.Object)
	case apierrors.IsNotFound(err):
		s.missing[key] = err
	}
	return err
}

// List implements client.Reader.
func (s *snapshot) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	if !typed(list) || wanted.Limit > 0 || wanted.Continue != "" {
		return s.Reader.List(ctx, list, options...)
	}
	key := readKey{reflect.TypeOf(list), fmt.Sprint(wanted.Namespace, " ", wanted.LabelSelector, " ", wanted.FieldSelector)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.lists[key]; known != nil {
		copyInto(list, known.DeepCopyObject())
		return nil
	}
	if err := s.Reader.List(ctx, list, options...); err != nil {
		return err
	}
	s.lists[key] = list.DeepCopyObject().(client.ObjectList)
	return nil
}

// typed reports whether an object is of a Go type of its kind.
func typed(object any) bool {
	switch object.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList, interface{ UnstructuredContent() map[string]any }:
		return false
	}
	return true
}

// copyInto sets what a pointer points to, to what another pointer of the same type points to.
func copyInto(into, from any) { reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem()) }
