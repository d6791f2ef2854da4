package wire

import (
	"encoding/base64"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// node is a parameter, or the common beginning of several: the parts of a name are separated by dots.
type node struct {
	name     string // in full
	value    *string
	children map[string]*node
	used     bool
}

// ignored reports whether a parameter belongs to the protocol and not to an action.
func ignored(key string) bool {
	return key == "Action" || key == "Version" || strings.HasPrefix(key, "X-Amz-") ||
		key == "AWSAccessKeyId" || strings.HasPrefix(key, "Signature") || key == "Timestamp"
}

func parseTree(form url.Values) *node {
	root := &node{children: map[string]*node{}}
	for key, values := range form {
		if ignored(key) || len(values) == 0 {
			continue
		}
		n := root
		for part := range strings.SplitSeq(key, ".") {
			child := n.children[part]
			if child == nil {
				child = &node{name: strings.TrimPrefix(n.name+"."+part, "."), children: map[string]*node{}}
				n.children[part] = child
			}
			n = child
		}
		n.value = &values[0]
	}
	return root
}

// unused returns the first parameter, by name, that nothing has read.
func (n *node) unused() string {
	if n.value != nil && !n.used {
		return n.name
	}
	for _, part := range slices.Sorted(maps.Keys(n.children)) {
		if name := n.children[part].unused(); name != "" {
			return name
		}
	}
	return ""
}

func (req *Request) decodeQuery(v reflect.Value) error {
	root := parseTree(req.form)
	d := queryDecoder{req.service}
	if err := d.structure(root, v); err != nil {
		return err
	}
	if name := root.unused(); name != "" {
		return req.service.unknownParameter(name)
	}
	return nil
}

type queryDecoder struct{ service *service }

func (d queryDecoder) structure(n *node, v reflect.Value) error {
	for _, f := range d.service.model.inputs[v.Type().Name()] {
		child := n.children[f.wire]
		if child == nil {
			continue
		}
		if err := d.member(child, v.FieldByName(f.goName), f.item); err != nil {
			return err
		}
	}
	return nil
}

func (d queryDecoder) member(n *node, v reflect.Value, item string) error {
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		return d.list(n, v, item)
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct && v.Type().Elem() != timeType:
		v.Set(reflect.New(v.Type().Elem()))
		return d.structure(n, v.Elem())
	case v.Kind() == reflect.Struct && v.Type() != timeType:
		return d.structure(n, v)
	case n.value == nil:
		return nil // it has children, which remain unread
	default:
		n.used = true
		return d.scalar(n, v)
	}
}

// list reads X.1, X.2, … or X.member.1, …. An empty list is written as "X=".
func (d queryDecoder) list(n *node, v reflect.Value, item string) error {
	if n.value != nil && *n.value == "" {
		n.used = true
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	if item != "" {
		if n = n.children[item]; n == nil {
			return nil
		}
	}
	indexes := make([]int, 0, len(n.children))
	for part := range n.children {
		i, err := strconv.Atoi(part)
		if err != nil || i < 1 {
			return d.service.unknownParameter(n.children[part].name)
		}
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	list := reflect.MakeSlice(v.Type(), len(indexes), len(indexes))
	for at, i := range indexes {
		if err := d.member(n.children[strconv.Itoa(i)], list.Index(at), ""); err != nil {
			return err
		}
	}
	if len(indexes) > 0 {
		v.Set(list)
	}
	return nil
}

var timeType = reflect.TypeFor[time.Time]()

func (d queryDecoder) scalar(n *node, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	text := *n.value
	bad := func(want string) error { return d.service.malformed(n.name, text, want) }
	if v.Type() == timeType {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return bad("a timestamp such as 2026-01-02T15:04:05Z")
		}
		v.Set(reflect.ValueOf(t.UTC()))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true":
			v.SetBool(true)
		case "false":
			v.SetBool(false)
		default:
			return bad("true or false")
		}
	case reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			return bad("an integer")
		}
		v.SetInt(i)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(text, v.Type().Bits())
		if err != nil {
			return bad("a number")
		}
		v.SetFloat(f)
	case reflect.Slice:
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return bad("base64")
		}
		v.SetBytes(b)
	default:
		panic("wire: no scalar is a " + v.Type().String())
	}
	return nil
}
