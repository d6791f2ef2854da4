package shape

import (
	"reflect"
	"slices"
)

// CheckEnums compares every value of an enumeration in v with the SDK's list, and returns the error
// of refuse for the first that is not there. The empty value means "not given". Enumerations in
// open may have values that the SDK does not know.
func CheckEnums(v any, path string, refuse func(path, value string, known []string) error, open ...reflect.Type) error {
	return checkEnums(reflect.ValueOf(v), path, func(path string, v reflect.Value) error {
		if v.Type() == reflect.TypeFor[string]() || slices.Contains(open, v.Type()) || v.Len() == 0 {
			return nil
		}
		list := v.MethodByName("Values").Call(nil)[0]
		known := make([]string, list.Len())
		for i := range known {
			known[i] = list.Index(i).String()
		}
		if slices.Contains(known, v.String()) {
			return nil
		}
		return refuse(path, v.String(), known)
	})
}

// checkEnums calls check with every text in v, which is an SDK type.
func checkEnums(v reflect.Value, path string, check func(string, reflect.Value) error) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return checkEnums(v.Elem(), path, check)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkEnums(v.Index(i), path, check); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			if err := checkEnums(v.Field(i), path+"."+field.Name, check); err != nil {
				return err
			}
		}
	case reflect.String:
		return check(path, v)
	default: // numbers and booleans have no fixed set of values
	}
	return nil
}
