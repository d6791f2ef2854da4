// Package sdkcopy copies members between types of the AWS SDK. The SDK has types of their own for
// what a request sets and for what an answer shows, and names their members alike.
package sdkcopy

import "reflect"

// Members copies into the struct or list that to points at the members of the one that from points
// at which are set and which both have. Members that are not set in from keep their value in to.
// Lists and nested structs are replaced as a whole; structs of different types are copied member by
// member.
func Members(to, from any) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	if source.Kind() == reflect.Struct {
		each(target, source)
		return
	}
	members(target, source)
}

// each copies the members of a struct.
func each(to, from reflect.Value) {
	for i := range from.NumField() {
		name := from.Type().Field(i)
		if member := to.FieldByName(name.Name); name.IsExported() && member.IsValid() {
			members(member, from.Field(i))
		}
	}
}

func members(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if from.IsNil() {
			return
		}
		if from.Type() == to.Type() {
			to.Set(from)
			return
		}
		to.Set(reflect.New(to.Type().Elem()))
		members(to.Elem(), from.Elem())
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			members(to.Index(i), from.Index(i))
		}
	case reflect.Struct:
		if from.Type() == to.Type() {
			to.Set(from)
			return
		}
		each(to, from)
	case reflect.String:
		if from.IsZero() {
			return // the SDK leaves out an enum that is empty
		}
		fallthrough
	default:
		if from.Type().ConvertibleTo(to.Type()) {
			to.Set(from.Convert(to.Type()))
		}
	}
}
