package sdkcopy

import (
	"reflect"
	"slices"
	"sync"
)

// Deep returns a copy of a value of the AWS SDK that shares no member with it. Members that are not exported,
// and interfaces, are shared.
func Deep(value any) any { return deep(reflect.ValueOf(value)).Interface() }

// deep returns a deep copy of a value.
func deep(value reflect.Value) reflect.Value {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return value
		}
		target := reflect.New(value.Type().Elem())
		target.Elem().Set(value.Elem())
		copyInside(target.Elem())
		return target
	case reflect.Slice:
		if value.IsNil() {
			return value
		}
		target := reflect.MakeSlice(value.Type(), value.Len(), value.Len())
		reflect.Copy(target, value)
		for i := range target.Len() {
			if !copyInside(target.Index(i)) {
				break // items of this type hold no others
			}
		}
		return target
	case reflect.Map:
		if value.IsNil() {
			return value
		}
		target := reflect.MakeMapWithSize(value.Type(), value.Len())
		for entries := value.MapRange(); entries.Next(); {
			target.SetMapIndex(entries.Key(), deep(entries.Value()))
		}
		return target
	default:
		return value
	}
}

// copyInside replaces what a value refers to by copies, in place. It returns false for a value of a type
// that refers to nothing.
func copyInside(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		value.Set(deep(value))
		return true
	case reflect.Struct:
		for _, place := range referring(value.Type()) {
			copyInside(value.Field(place))
		}
		return true
	default:
		return false
	}
}

// references are the kinds of values that refer to others, or hold values that do.
var references = []reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct}

// referring returns the exported members of a structure that refer to other values.
func referring(structure reflect.Type) []int {
	if known, is := knownReferring.Load(structure); is {
		return known.([]int)
	}
	places := []int{}
	for i := range structure.NumField() {
		if field := structure.Field(i); field.IsExported() && slices.Contains(references, field.Type.Kind()) {
			places = append(places, i)
		}
	}
	knownReferring.Store(structure, places)
	return places
}

var knownReferring sync.Map // from reflect.Type to []int
