package plan

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/once"
)

// snapshot reads each object of a management cluster once, however many worlds of a plan ask for it. So all
// of them see the same cluster.
type snapshot struct {
	client.Reader
	// edited are objects that the snapshot has in addition, or instead of objects with their names.
	edited []client.Object

	objects once.Answers[found]
	lists   once.Answers[client.ObjectList]
	indexes once.Answers[map[string][]client.Object]
}

// found is an object, or the error that says that it does not exist.
type found struct {
	client.Object
	missing error
}

// newSnapshot returns a snapshot that has read nothing yet, with objects as an edit leaves them.
func newSnapshot(base client.Reader, edited ...client.Object) *snapshot {
	s := &snapshot{Reader: base, edited: edited}
	for _, object := range edited {
		s.objects.Put(question(object, client.ObjectKeyFromObject(object)), found{Object: object})
	}
	return s
}

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
	known, err := s.list(ctx, list, wanted)
	if err != nil {
		return err
	}
	copyInto(list, known.DeepCopyObject())
	return nil
}

// list returns a list of the type of another. It must not be changed.
func (s *snapshot) list(ctx context.Context, like client.ObjectList, wanted client.ListOptions) (client.ObjectList, error) {
	what := fmt.Sprint(wanted.Namespace, " ", wanted.LabelSelector, " ", wanted.FieldSelector)
	return s.lists.Get(question(like, what), func() (client.ObjectList, error) {
		read := reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.ObjectList)
		read.GetObjectKind().SetGroupVersionKind(like.GetObjectKind().GroupVersionKind())
		if err := s.Reader.List(ctx, read, &wanted); err != nil {
			return nil, err
		}
		if err := s.edit(read, wanted); err != nil {
			return nil, err
		}
		return read, meta.EachListItem(read, func(item runtime.Object) error {
			object := item.(client.Object)
			if partial, is := object.(*metav1.PartialObjectMetadata); is {
				partial.SetGroupVersionKind(elementKind(read))
			}
			if keepable(object) {
				s.objects.Put(question(object, client.ObjectKeyFromObject(object)), found{Object: object})
			}
			return nil
		})
	})
}

// edit brings a list to what an edit leaves.
func (s *snapshot) edit(list client.ObjectList, wanted client.ListOptions) error {
	element := elementType(list)
	edited, names := []runtime.Object{}, map[client.ObjectKey]bool{}
	for _, object := range s.edited {
		if reflect.TypeOf(object).Elem() != element {
			continue
		}
		names[client.ObjectKeyFromObject(object)] = true
		inNamespace := wanted.Namespace == "" || wanted.Namespace == object.GetNamespace()
		if inNamespace && (wanted.LabelSelector == nil || wanted.LabelSelector.Matches(labels.Set(object.GetLabels()))) {
			edited = append(edited, object.DeepCopyObject())
		}
	}
	if len(names) == 0 || wanted.FieldSelector != nil {
		return nil // no caller selects edited objects by fields
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("adding the edit to a list: %w", err)
	}
	items = slices.DeleteFunc(items, func(item runtime.Object) bool { return names[client.ObjectKeyFromObject(item.(client.Object))] })
	items = append(items, edited...)
	slices.SortFunc(items, func(a, b runtime.Object) int { return byName(a.(client.Object), b.(client.Object)) })
	return meta.SetList(list, items)
}

// elementType returns the type of the items of a list, nil for a list without items.
func elementType(list client.ObjectList) reflect.Type {
	items, has := reflect.TypeOf(list).Elem().FieldByName("Items")
	if !has || items.Type.Kind() != reflect.Slice {
		return nil
	}
	return items.Type.Elem()
}

// elementKind returns the kind of the items of a list of metadata.
func elementKind(list client.ObjectList) schema.GroupVersionKind {
	kind := list.GetObjectKind().GroupVersionKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return kind
}

func byName(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// index is a way to find objects of a kind.
type index struct {
	name   string
	values client.IndexerFunc
}

// indexed returns the objects of a namespace that have a value in an index, by name. They must not be changed.
// The list is read for the first value that is asked for.
func (s *snapshot) indexed(ctx context.Context, like client.ObjectList, namespace string, by index, value string) ([]client.Object, error) {
	known, err := s.indexes.Get(question(like, namespace+" "+by.name), func() (map[string][]client.Object, error) {
		list, err := s.list(ctx, like, client.ListOptions{Namespace: namespace})
		if err != nil {
			return nil, err
		}
		byValue := map[string][]client.Object{}
		return byValue, meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			for _, value := range by.values(object) {
				byValue[value] = append(byValue[value], object)
			}
			return nil
		})
	})
	return known[value], err
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
