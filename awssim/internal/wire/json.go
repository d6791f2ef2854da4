package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"time"
)

// decodeJSON fills v from a body of JSON 1.1. The types of the tables' JSON services consist of
// structures, lists, dictionaries, strings, numbers, booleans, bytes, and times; times are seconds
// since the epoch.
func (req *Request) decodeJSON(v reflect.Value) error {
	d := jsonDecoder{req.service}
	if len(bytes.TrimSpace(req.body)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(req.body))
	decoder.UseNumber()
	var body any
	if err := decoder.Decode(&body); err != nil {
		return req.service.malformed("(body)", string(req.body), "JSON")
	}
	return d.structure("", body, v)
}

type jsonDecoder struct{ service *service }

func (d jsonDecoder) structure(name string, body any, v reflect.Value) error {
	object, ok := body.(map[string]any)
	if !ok {
		return d.service.malformed(name, "", "an object")
	}
	known := map[string]string{}
	for _, f := range d.service.model.inputs[v.Type().Name()] {
		known[f.wire] = f.goName
	}
	for key, value := range object {
		goName, ok := known[key]
		if !ok {
			return d.service.unknownParameter(join(name, key))
		}
		if value == nil {
			continue
		}
		if err := d.member(join(name, key), value, v.FieldByName(goName)); err != nil {
			return err
		}
	}
	return nil
}

func join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

func (d jsonDecoder) member(name string, value any, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case v.Type() == timeType:
		return d.time(name, value, v)
	case v.Kind() == reflect.Struct:
		return d.structure(name, value, v)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		return d.list(name, value, v)
	case v.Kind() == reflect.Map:
		return d.dictionary(name, value, v)
	default:
		return d.scalar(name, value, v)
	}
}

func (d jsonDecoder) list(name string, value any, v reflect.Value) error {
	elements, ok := value.([]any)
	if !ok {
		return d.service.malformed(name, "", "a list")
	}
	list := reflect.MakeSlice(v.Type(), len(elements), len(elements))
	for i, e := range elements {
		if err := d.member(name+"["+strconv.Itoa(i)+"]", e, list.Index(i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (d jsonDecoder) dictionary(name string, value any, v reflect.Value) error {
	object, ok := value.(map[string]any)
	if !ok {
		return d.service.malformed(name, "", "an object")
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, e := range object {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.member(join(name, key), e, element); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
	}
	return nil
}

func (d jsonDecoder) time(name string, value any, v reflect.Value) error {
	number, ok := value.(json.Number)
	if !ok {
		return d.service.malformed(name, "", "seconds since the epoch")
	}
	seconds, err := number.Float64()
	if err != nil {
		return d.service.malformed(name, number.String(), "seconds since the epoch")
	}
	v.Set(reflect.ValueOf(time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()))
	return nil
}

func (d jsonDecoder) scalar(name string, value any, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if s, ok := value.(string); ok {
			v.SetString(s)
			return nil
		}
		return d.service.malformed(name, "", "a string")
	case reflect.Bool:
		if b, ok := value.(bool); ok {
			v.SetBool(b)
			return nil
		}
		return d.service.malformed(name, "", "true or false")
	case reflect.Int32, reflect.Int64:
		if n, ok := value.(json.Number); ok {
			if i, err := strconv.ParseInt(n.String(), 10, v.Type().Bits()); err == nil {
				v.SetInt(i)
				return nil
			}
		}
		return d.service.malformed(name, "", "an integer")
	case reflect.Slice:
		if s, ok := value.(string); ok {
			if b, err := base64.StdEncoding.DecodeString(s); err == nil {
				v.SetBytes(b)
				return nil
			}
		}
		return d.service.malformed(name, "", "base64")
	default:
		panic("wire: no scalar is a " + v.Type().String())
	}
}

// encodeJSON returns the JSON value of v, or nil if it is unset.
func encodeJSON(m *model, v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch {
	case v.Type() == timeType:
		t := v.Interface().(time.Time)
		return json.Number(strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64))
	case v.Kind() == reflect.Struct:
		object := map[string]any{}
		for _, f := range m.outputs[v.Type().Name()] {
			if value := encodeJSON(m, v.FieldByName(f.goName)); value != nil {
				object[f.wire] = value
			}
		}
		return object
	case v.Kind() == reflect.Slice && v.IsNil(), v.Kind() == reflect.Map && v.IsNil(), v.Kind() == reflect.String && isEnum(v) && v.Len() == 0:
		return nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = encodeJSON(m, v.Index(i))
		}
		return list
	default:
		return v.Interface()
	}
}

// isEnum reports whether v is of one of the SDK's enumerations, whose zero value means unset.
func isEnum(v reflect.Value) bool { return v.Type().PkgPath() != "" }
