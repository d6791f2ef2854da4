// Package sdkmembers compares the members of the AWS SDK's request types with the members that
// Slipway's requests set. Tests use it, so that a member that a new release of the SDK adds fails
// them until it is decided about.
package sdkmembers

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Leaves returns the paths of all members of a type that have no members of their own, such as
// BlockDeviceMappings.Ebs.Iops, in the order of the type.
func Leaves(typ reflect.Type) []string { return leaves(typ, "") }

func leaves(typ reflect.Type, path string) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
		return []string{path}
	}
	var found []string
	for i := range typ.NumField() {
		if field := typ.Field(i); field.IsExported() {
			found = append(found, leaves(field.Type, strings.TrimPrefix(path+"."+field.Name, "."))...)
		}
	}
	return found
}

// Set returns the paths of the leaves that a request sets.
func Set(request any) []string { return set(reflect.ValueOf(request), "") }

func set(value reflect.Value, path string) []string {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		if value.Type().Elem().Kind() != reflect.Struct {
			return []string{path} // false and 0 are values too
		}
		return set(value.Elem(), path)
	case reflect.Slice:
		var found []string
		for i := range value.Len() {
			found = append(found, set(value.Index(i), path)...)
		}
		return found
	case reflect.Struct:
		if value.Type() == reflect.TypeFor[time.Time]() {
			return []string{path}
		}
		var found []string
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() {
				found = append(found, set(value.Field(i), strings.TrimPrefix(path+"."+field.Name, "."))...)
			}
		}
		return found
	default:
		if value.IsZero() || value.Kind() == reflect.Map && value.Len() == 0 {
			return nil
		}
		return []string{path}
	}
}

// Undecided returns the leaves of a request type that nothing is decided about: leaves that no
// request sets and that have no reason why not, reasons for leaves that a request sets, and reasons
// for none. A reason for a member holds for the leaves below it too.
func Undecided(reasons map[string]string, requests ...any) []string {
	isSet := map[string]bool{}
	for _, request := range requests {
		for _, path := range Set(request) {
			isSet[path] = true
		}
	}
	var complaints []string
	used := map[string]bool{}
	for _, leaf := range Leaves(reflect.TypeOf(requests[0])) {
		switch reason := reasonOf(reasons, leaf); {
		case reason == "" && !isSet[leaf]:
			complaints = append(complaints, leaf+" is neither set nor left out for a reason")
		case reason != "" && isSet[leaf]:
			complaints = append(complaints, fmt.Sprintf("%s is set, although it is to be left out: %s", leaf, reasons[reason]))
		case reason != "":
			used[reason] = true
		}
	}
	for path := range reasons {
		if !used[path] {
			complaints = append(complaints, fmt.Sprintf("there is no member %s that is left out", path))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// reasonOf returns the path whose reason holds for a leaf, "" if there is none.
func reasonOf(reasons map[string]string, leaf string) string {
	for path := leaf; ; {
		if _, has := reasons[path]; has {
			return path
		}
		end := strings.LastIndex(path, ".")
		if end < 0 {
			return ""
		}
		path = path[:end]
	}
}

// Filled returns a value all of whose members are set, to something: lists have one item, and
// pointers point to what is set.
func Filled[T any]() T {
	var value T
	fill(reflect.ValueOf(&value).Elem())
	return value
}

func fill(value reflect.Value) {
	switch known := value.Addr().Interface().(type) {
	case *metav1.Duration:
		known.Duration = time.Hour
		return
	case *resource.Quantity:
		*known = resource.MustParse("1")
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Map:
		key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		fill(key)
		fill(item)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, item)
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				fill(value.Field(i))
			}
		}
	case reflect.String:
		value.SetString("1")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(1)
	default:
		panic(fmt.Sprintf("filling a %s is not supported", value.Type()))
	}
}
