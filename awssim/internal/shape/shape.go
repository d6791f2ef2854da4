// Package shape moves values between the SDK's parallel families of types: structures that say the
// same in several places of an API (a request and its response, a launch template and a launch,
// EC2's instance requirements and Auto Scaling's) and differ in nothing but the names of their
// types. It owns the conversion by member name and what follows from it: deep copies, and laying
// one value over another.
package shape

import (
	"reflect"
)

// The SDK has three parallel families of types for what describes an instance: the launch
// template's request (RequestLaunchTemplateData), its response (ResponseLaunchTemplateData) and
// RunInstancesInput. Members of the same meaning have the same name in all three, except for those
// in memberAliases, and differ only in the names of their types. So one conversion by member name
// serves every direction, and a new member in a newer SDK is carried without a change here.

// memberAliases names, per member, the spelling in a sibling family.
var memberAliases = map[string]string{
	"RamDiskId":                "RamdiskId",
	"RamdiskId":                "RamDiskId",
	"ElasticGpuSpecifications": "ElasticGpuSpecification",
	"ElasticGpuSpecification":  "ElasticGpuSpecifications",
}

// Convert returns a deep copy of from in the parallel type To. Members that To does not have are left out.
func Convert[To, From any](from From) To {
	var to To
	copyValue(reflect.ValueOf(&to).Elem(), reflect.ValueOf(from))
	return to
}

// Clone returns a deep copy that shares nothing with v.
func Clone[T any](v T) T { return Convert[T](v) }

// copyValue copies src into dst, which must be settable and of a parallel type.
func copyValue(dst, src reflect.Value) {
	switch {
	case dst.Kind() == reflect.Pointer && src.Kind() == reflect.Pointer:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.New(dst.Type().Elem()))
		copyValue(dst.Elem(), src.Elem())
	case src.Kind() == reflect.Slice && dst.Kind() == reflect.Slice:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(dst.Type(), src.Len(), src.Len()))
		for i := range src.Len() {
			copyValue(dst.Index(i), src.Index(i))
		}
	case src.Kind() == reflect.Struct && dst.Kind() == reflect.Struct:
		copyMembers(dst, src)
	case src.Type().AssignableTo(dst.Type()):
		dst.Set(src)
	default: // two enumerations with the same values
		dst.Set(src.Convert(dst.Type()))
	}
}

func copyMembers(dst, src reflect.Value) {
	if src.Type() == dst.Type() {
		dst.Set(src) // covers time.Time, whose members are not exported
	}
	for i := range src.NumField() {
		field := src.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if target := member(dst, field.Name); target.IsValid() {
			copyValue(target, src.Field(i))
		}
	}
}

// member finds the member of a struct by its name or by the name it has in a sibling family.
func member(v reflect.Value, name string) reflect.Value {
	if f := v.FieldByName(name); f.IsValid() {
		return f
	}
	if alias, ok := memberAliases[name]; ok {
		return v.FieldByName(alias)
	}
	return reflect.Value{}
}

// Overlay puts every top-level member that is set in over on top of base. The unit of overriding is
// the whole member: what a request says about NetworkInterfaces replaces all that the launch
// template says about them (API reference, RunInstances, LaunchTemplate: "any additional parameters
// that you specify for the new instance overwrite the corresponding parameters included in the
// launch template").
func Overlay[T any](base *T, over T) {
	dst, src := reflect.ValueOf(base).Elem(), reflect.ValueOf(over)
	for i := range src.NumField() {
		if src.Type().Field(i).IsExported() && !src.Field(i).IsZero() {
			dst.Field(i).SetZero()
			copyValue(dst.Field(i), src.Field(i))
		}
	}
}

// IsEmpty reports whether no exported member of the struct is set. A structure that is there but
// has nothing set counts as unset, as it does on the wire of the query protocol, where it leaves no
// trace.
func IsEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || (v.Elem().Kind() == reflect.Struct && IsEmpty(v.Elem()))
	case reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !IsEmpty(v.Field(i)) {
				return false
			}
		}
		return true
	default:
		return v.IsZero()
	}
}
