package plan

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/once"
)

// snapshot reads each object of a management cluster once, however many worlds of a plan ask for it. So all
// of them see the same cluster.
type snapshot struct {
	client.Reader
	objects once.Answers[found]
	lists   once.Answers[client.ObjectList]
}

// found is an object, or the error that says that it does not exist.
type found struct {
	client.Object
	missing error
}

// newSnapshot returns a snapshot of which nothing has been read.
func newSnapshot(base client.Reader) *snapshot { return &snapshot{Reader: base} }

// Get implements client.Reader.
func (s *snapshot) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if !keepable(object) || len(options) > 0 {
		return s.Reader.Get(ctx, name, object, options...)
	}
	known, err := s.objects.Get(question(object, name), func() (found, error) {
		read := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		read.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		err := s.Reader.Get(ctx, name, read)
		if apierrors.IsNotFound(err) {
			return found{missing: err}, nil
		}
		return found{Object: read}, err
	})
	switch {
	case err != nil:
		return err
	case known.missing != nil:
		return known.missing
	}
	copyInto(object, known.DeepCopyObject())
	return nil
}

// List implements client.Reader. The objects of a list need not be read again.
func (s *snapshot) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	if !keepable(list) || wanted.Limit > 0 || wanted.Continue != "" {
		return s.Reader.List(ctx, list, options...)
	}
	what := fmt.Sprint(wanted.Namespace, " ", wanted.LabelSelector, " ", wanted.FieldSelector)
	known, err := s.lists.Get(question(list, what), func() (client.ObjectList, error) {
		read := reflect.New(reflect.TypeOf(list).Elem()).Interface().(client.ObjectList)
		read.GetObjectKind().SetGroupVersionKind(list.GetObjectKind().GroupVersionKind())
		if err := s.Reader.List(ctx, read, options...); err != nil {
			return nil, err
		}
		return read, meta.EachListItem(read, func(item runtime.Object) error {
			if object := item.(client.Object); typed(object) {
				s.objects.Put(question(object, client.ObjectKeyFromObject(object)), found{Object: object})
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	copyInto(list, known.DeepCopyObject())
	return nil
}

// question returns the text by which a read is kept: what is read into, and what is asked for.
func question(into runtime.Object, what any) string {
	kind := ""
	if !typed(into) {
		kind = into.GetObjectKind().GroupVersionKind().String()
	}
	return fmt.Sprint(reflect.TypeOf(into), " ", kind, " ", what)
}

// typed reports whether an object is of a Go type of its kind.
func typed(object any) bool {
	switch object.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return false
	}
	return keepable(object)
}

// keepable reports whether a snapshot keeps an object. Nothing reads unstructured objects twice.
func keepable(object any) bool {
	_, unstructured := object.(interface{ UnstructuredContent() map[string]any })
	return !unstructured
}

// copyInto sets what a pointer points to, to what another pointer of the same type points to.
func copyInto(into, from any) { reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem()) }
