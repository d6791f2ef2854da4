package apiserver

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Into replaces what object holds with a stored object.
func Into(stored *Object, object runtime.Object) error {
	if target, is := object.(*unstructured.Unstructured); is {
		target.Object = runtime.DeepCopyJSON(stored.Object)
		return nil
	}
	value := reflect.ValueOf(object).Elem()
	value.Set(reflect.Zero(value.Type()))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, object); err != nil {
		return fmt.Errorf("decoding %s: %w", stored.GetKind(), err)
	}
	return nil
}

// typed returns an object as an item of list.
func typed(scheme *runtime.Scheme, list client.ObjectList, gvk schema.GroupVersionKind, stored *Object) (runtime.Object, error) {
	var item runtime.Object
	switch list.(type) {
	case *unstructured.UnstructuredList:
		return stored.DeepCopy(), nil
	case *metav1.PartialObjectMetadataList:
		item = &metav1.PartialObjectMetadata{}
	default:
		made, err := scheme.New(gvk)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", gvk.Kind, err)
		}
		item = made
	}
	return item, Into(stored, item)
}

func labelsOf(object *Object) labels.Set { return labels.Set(object.GetLabels()) }
