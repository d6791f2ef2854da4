package sdkcopy

import "reflect"

// Deep returns a copy of a value of the AWS SDK that shares no member with it. Members that are not exported,
// and interfaces, are shared.
func Deep(value any) any {
	return deep(reflect.ValueOf(value)).Interface()
}

// deep returns a deep copy of a value.
func deep(value reflect.Value) reflect.Value {
	copied := reflect.New(value.Type()).Elem()
	deepInto(copied, value)
	return copied
}

func deepInto(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			deepInto(to.Elem(), from.Elem())
		}
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		if flat(from.Type().Elem()) {
			reflect.Copy(to, from)
			return
		}
		for i := range from.Len() {
			deepInto(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
		for entry := from.MapRange(); entry.Next(); {
			to.SetMapIndex(entry.Key(), deep(entry.Value()))
		}
	case reflect.Struct:
		to.Set(from)
		for i := range from.NumField() {
			if member := to.Field(i); member.CanSet() && !flat(member.Type()) {
				deepInto(member, from.Field(i))
			}
		}
	default:
		to.Set(from)
	}
}

// flat reports whether values of a type hold no reference that a copy must not share.
func flat(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
		return false
	default:
		return true
	}
}
