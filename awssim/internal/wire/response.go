package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Response is an HTTP answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

const timeFormat = "2006-01-02T15:04:05.000Z"

func (req *Request) respond(status int, requestID, contentType string, body []byte) *Response {
	h := http.Header{}
	h.Set("Content-Type", contentType)
	h.Set("X-Amzn-Requestid", requestID)
	return &Response{Status: status, Header: h, Body: body}
}

// jsonType returns the content type of JSON answers.
func (req *Request) jsonType() string {
	switch {
	case req.service != nil && req.service.protocol == awsJSON10:
		return "application/x-amz-json-1.0"
	case req.service != nil && req.service.protocol == restJSON1:
		return "application/json"
	default:
		return "application/x-amz-json-1.1"
	}
}

// Encode returns the answer for an output: a pointer, possibly nil, to the SDK's output type.
func (req *Request) Encode(requestID string, output any) (*Response, error) {
	if req.rest != nil {
		return req.encodeREST(requestID, output)
	}
	v := reflect.ValueOf(output)
	if v.IsNil() {
		v = reflect.New(v.Type().Elem())
	}
	v = v.Elem()
	if req.service.speaksJSON() {
		body, err := json.Marshal(encodeJSON(req.service.model, v))
		if err != nil {
			return nil, fmt.Errorf("encoding the answer to %s %s: %w", req.Service, req.Action, err)
		}
		return req.respond(http.StatusOK, requestID, req.jsonType(), body), nil
	}
	e := &xmlEncoder{model: req.service.model, emptyLists: emptyLists[req.Service]}
	e.raw(xml.Header)
	e.raw("<" + req.Action + `Response xmlns="` + req.service.namespace + `">`)
	if req.service.protocol == ec2Query {
		e.element("requestId", func() { e.text(requestID) })
		e.members(v, true)
	} else {
		e.element(req.Action+"Result", func() { e.members(v, true) })
		e.element("ResponseMetadata", func() { e.element("RequestId", func() { e.text(requestID) }) })
	}
	e.raw("</" + req.Action + "Response>")
	return req.respond(http.StatusOK, requestID, "text/xml;charset=UTF-8", e.b.Bytes()), nil
}

// EncodeError returns the answer for an error in the protocol of the request's service.
func (req *Request) EncodeError(requestID string, err *sim.Error) *Response {
	if req.rest != nil {
		return req.encodeRESTError(requestID, err)
	}
	if req.service != nil && req.service.protocol == restJSON1 {
		return req.encodeRESTJSONError(requestID, err)
	}
	if req.json {
		kind := err.Code
		if req.Service == "sqs" {
			kind = "com.amazonaws.sqs#" + kind
		}
		body, marshalErr := json.Marshal(map[string]string{"__type": kind, "message": err.Message})
		if marshalErr != nil {
			panic("wire: two strings do not marshal: " + marshalErr.Error())
		}
		answer := req.respond(err.HTTPStatus(), requestID, req.jsonType(), body)
		if req.Service == "sqs" {
			answer.Header.Set("X-Amzn-Query-Error", queryError(err))
		}
		return answer
	}
	e := &xmlEncoder{}
	e.raw(xml.Header)
	code := func() {
		e.element("Code", func() { e.text(err.Code) })
		e.element("Message", func() { e.text(err.Message) })
	}
	if req.Service == "ec2" {
		e.element("Response", func() {
			e.element("Errors", func() { e.element("Error", code) })
			e.element("RequestID", func() { e.text(requestID) })
		})
		return req.respond(err.HTTPStatus(), requestID, "text/xml;charset=UTF-8", e.b.Bytes())
	}
	fault := "Sender"
	if err.HTTPStatus() >= 500 {
		fault = "Receiver"
	}
	e.element("ErrorResponse", func() {
		e.element("Error", func() {
			e.element("Type", func() { e.text(fault) })
			code()
		})
		e.element("RequestId", func() { e.text(requestID) })
	})
	return req.respond(err.HTTPStatus(), requestID, "text/xml;charset=UTF-8", e.b.Bytes())
}

// queryErrorCodes are the ends of the codes that SQS's errors have in its older protocol (SDK for
// Go, sqs, schemas: the trait AWSQueryError of each error).
var queryErrorCodes = map[string]string{
	"QueueDoesNotExist": "NonExistentQueue", "BatchEntryIdsNotDistinct": "BatchEntryIdsNotDistinct", "BatchRequestTooLong": "BatchRequestTooLong",
	"EmptyBatchRequest": "EmptyBatchRequest", "InvalidBatchEntryId": "InvalidBatchEntryId", "MessageNotInflight": "MessageNotInflight",
	"PurgeQueueInProgress": "PurgeQueueInProgress", "QueueDeletedRecently": "QueueDeletedRecently",
	"TooManyEntriesInBatchRequest": "TooManyEntriesInBatchRequest", "UnsupportedOperation": "UnsupportedOperation",
}

// queryError returns the header by which clients that were written for the older protocol get the
// code of an error that they know (Smithy: awsQueryCompatible). botocore and the SDK for Go show
// that code in the place of the error's name.
func queryError(err *sim.Error) string {
	code, fault := err.Code, "Sender"
	if known, ok := queryErrorCodes[code]; ok {
		code = "AWS.SimpleQueueService." + known
	} else if code == "QueueNameExists" { // the one whose code has another name without that prefix
		code = "QueueAlreadyExists"
	}
	if err.HTTPStatus() >= http.StatusInternalServerError {
		fault = "Receiver"
	}
	return code + ";" + fault
}

type xmlEncoder struct {
	model      *model
	emptyLists map[string]bool
	b          bytes.Buffer
}

func (e *xmlEncoder) raw(s string) { e.b.WriteString(s) }

func (e *xmlEncoder) text(s string) {
	if isPlain(s) {
		e.raw(s)
		return
	}
	// A bytes.Buffer does not fail.
	_ = xml.EscapeText(&e.b, []byte(s))
}

// isPlain reports whether a text is written as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '<' || c == '>' || c == '&' || c == '"' || c == '\'' {
			return false
		}
	}
	return true
}

func (e *xmlEncoder) element(name string, content func()) {
	e.tag("<", name)
	content()
	e.tag("</", name)
}

func (e *xmlEncoder) tag(start, name string) {
	e.raw(start)
	e.raw(name)
	e.raw(">")
}

// members writes a structure's members. AWS writes lists at the top, and the lists of the table
// emptyLists, even if they are empty (boto3's users rely on it), other unset members not at all.
func (e *xmlEncoder) members(v reflect.Value, top bool) {
	fields := e.model.outputs[v.Type().Name()]
	for i, place := range places(v.Type(), fields) {
		f, member := fields[i], v.Field(place)
		if f.item != "" {
			if top || !member.IsNil() || e.emptyLists[v.Type().Name()+"."+f.goName] {
				e.element(f.wire, func() { e.list(member, f.item) })
			}
			continue
		}
		if isSet(member) {
			e.element(f.wire, func() { e.value(member) })
		}
	}
}

func (e *xmlEncoder) list(v reflect.Value, item string) {
	for i := range v.Len() {
		e.element(item, func() { e.value(v.Index(i)) })
	}
}

func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice:
		return !v.IsNil()
	case reflect.String:
		return v.Len() > 0
	default:
		return true
	}
}

func (e *xmlEncoder) value(v reflect.Value) {
	v = reflect.Indirect(v)
	if v.Type() == timeType {
		e.raw(v.Interface().(time.Time).UTC().Format(timeFormat))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		e.members(v, false)
	case reflect.String:
		e.text(v.String())
	case reflect.Bool:
		e.raw(strconv.FormatBool(v.Bool()))
	case reflect.Int32, reflect.Int64:
		e.raw(strconv.FormatInt(v.Int(), 10))
	case reflect.Float32, reflect.Float64:
		e.raw(strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits()))
	case reflect.Slice:
		e.raw(base64.StdEncoding.EncodeToString(v.Bytes()))
	default:
		panic("wire: no member is a " + v.Type().String())
	}
}
