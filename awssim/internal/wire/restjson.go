package wire

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// addressed is a request of a service that speaks JSON over REST: what its path and its query say,
// by the members' names on the wire.
type addressed struct {
	labels  map[string]string
	queries url.Values
}

// parseRESTJSON finds out by method and path which action is asked for.
func parseRESTJSON(r *http.Request, body []byte, signed *Request) (*Request, error) {
	req := signed
	req.service, req.body, req.json = services[signed.Service], body, true
	for _, action := range slices.Sorted(maps.Keys(req.service.model.routes)) {
		known := req.service.model.routes[action]
		labels, ok := matchPath(known.path, r.URL.EscapedPath())
		if !ok || known.method != r.Method {
			continue
		}
		req.Action = action
		req.addressed = &addressed{labels: labels, queries: r.URL.Query()}
		for name := range req.addressed.queries {
			if !slices.Contains(known.queries, name) && !slices.Contains(commonQueries, name) {
				return req, req.service.unknownParameter(name)
			}
		}
		return req, nil
	}
	return req, req.service.unknownAction(r.Method + " " + r.URL.Path)
}

// matchPath compares a path with a template such as /clusters/{name}/updates, part by part, and
// returns what stands for the names.
func matchPath(template, path string) (labels map[string]string, ok bool) {
	wanted, given := strings.Split(template, "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(wanted) != len(given) {
		return nil, false
	}
	labels = map[string]string{}
	for i, part := range wanted {
		value, err := url.PathUnescape(given[i])
		if err != nil {
			return nil, false
		}
		if name, isLabel := strings.CutPrefix(part, "{"); isLabel && value != "" {
			labels[strings.TrimSuffix(name, "}")] = value
		} else if part != value {
			return nil, false
		}
	}
	return labels, true
}

// decodeRESTJSON fills v from path, query and body. The body must not have what path and query say.
func (req *Request) decodeRESTJSON(v reflect.Value) error {
	known := req.service.model.routes[req.Action]
	if err := req.decodeJSON(v); err != nil {
		return err
	}
	for _, f := range req.service.model.inputs[v.Type().Name()] {
		member := v.FieldByName(f.goName)
		label, isLabel := req.addressed.labels[f.wire]
		isQuery := slices.Contains(known.queries, f.wire)
		if (isLabel || isQuery) && !member.IsZero() {
			return req.service.unknownParameter(f.wire)
		}
		switch {
		case isLabel:
			if err := req.service.setText(f.wire, []string{label}, member); err != nil {
				return err
			}
		case isQuery && req.addressed.queries.Has(f.wire):
			if err := req.service.setText(f.wire, req.addressed.queries[f.wire], member); err != nil {
				return err
			}
		}
	}
	return nil
}

// setText sets a member to what a path or a query has for it: strings, numbers, booleans and lists
// of strings.
func (s *service) setText(name string, values []string, v reflect.Value) error {
	if v.Kind() == reflect.Slice {
		v.Set(reflect.ValueOf(slices.Clone(values)).Convert(v.Type()))
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(values[0])
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(values[0], 10, v.Type().Bits())
		if err != nil {
			return s.malformed(name, values[0], "an integer")
		}
		v.SetInt(n)
	case reflect.Bool:
		switch values[0] {
		case "true":
			v.SetBool(true)
		case "false":
			v.SetBool(false)
		default:
			return s.malformed(name, values[0], "a boolean")
		}
	default:
		panic("wire: no member of a path or a query is a " + v.Type().String())
	}
	return nil
}

// encodeRESTJSONError writes an error as EKS does: the code in a header, the message in the body
// (AWS: Smithy, "AWS restJson1 protocol", operation error serialization).
func (req *Request) encodeRESTJSONError(requestID string, err *sim.Error) *Response {
	body, marshalErr := json.Marshal(map[string]string{"message": err.Message})
	if marshalErr != nil {
		panic("wire: a string does not marshal: " + marshalErr.Error())
	}
	response := req.respond(err.HTTPStatus(), requestID, req.jsonType(), body)
	response.Header.Set("X-Amzn-Errortype", err.Code)
	return response
}
