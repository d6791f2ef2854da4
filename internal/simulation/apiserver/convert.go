package apiserver

import (
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// decodings caches decoded objects, so that each stored object is decoded once for all readers:
// decoding takes several times as long as copying. A stored object never changes.
type decodings struct {
	mu    sync.Mutex
	known map[decoding]runtime.Object
}

// decoding names a stored object as a type of Go.
type decoding struct {
	stored *Object
	as     reflect.Type
}

// Into replaces what object holds with a stored object.
func (s *Server) Into(stored *Object, object runtime.Object) error {
	if target, is := object.(*unstructured.Unstructured); is {
		target.Object = runtime.DeepCopyJSON(stored.Object)
		return nil
	}
	decoded, err := s.decodings.decode(stored, reflect.TypeOf(object).Elem())
	if err != nil {
		return err
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(decoded.DeepCopyObject()).Elem())
	return nil
}

// decode returns a stored object as a type of Go. The caller must not change it.
func (d *decodings) decode(stored *Object, as reflect.Type) (runtime.Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := decoding{stored, as}
	if known := d.known[at]; known != nil {
		return known, nil
	}
	decoded := reflect.New(as).Interface().(runtime.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, decoded); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", stored.GetKind(), err)
	}
	if d.known == nil {
		d.known = map[decoding]runtime.Object{}
	}
	d.known[at] = decoded
	return decoded, nil
}

// typed returns an object as an item of list.
func (s *Server) typed(list client.ObjectList, gvk schema.GroupVersionKind, stored *Object) (runtime.Object, error) {
	var item runtime.Object
	switch list.(type) {
	case *unstructured.UnstructuredList:
		return stored.DeepCopy(), nil
	case *metav1.PartialObjectMetadataList:
		item = &metav1.PartialObjectMetadata{}
	default:
		made, err := s.kinds.scheme.New(gvk)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", gvk.Kind, err)
		}
		item = made
	}
	return item, s.Into(stored, item)
}

func labelsOf(object *Object) labels.Set { return labels.Set(object.GetLabels()) }
