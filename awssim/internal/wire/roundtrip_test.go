package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/awssim/internal/wire"
)

// clients returns the SDK's clients by service. Their answers come from serve, and what the SDK adds
// to a request on its own account is left out, so that a request holds what the test put into it.
func clients(serve func(*http.Request, []byte) (*wire.Response, error)) map[string]any {
	config := aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKIATEST222233334444", "secret", ""),
		BaseEndpoint: aws.String("http://awssim.invalid"),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
		HTTPClient:   transport(serve),
		APIOptions: []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
			for _, id := range []string{"OperationInputValidation", "OperationIdempotencyTokenAutoFill", "PresignForCopyImage"} {
				// It is there for some operations only.
				_, _ = stack.Initialize.Remove(id)
			}
			return nil
		}},
	}
	return map[string]any{
		"autoscaling": autoscaling.NewFromConfig(config),
		"ec2":         ec2.NewFromConfig(config),
		"eks":         eks.NewFromConfig(config),
		"events":      eventbridge.NewFromConfig(config),
		"iam":         iam.NewFromConfig(config),
		"pricing":     pricing.NewFromConfig(config),
		// Random data has no checksum.
		"sqs": sqs.NewFromConfig(config, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true }),
		"ssm": ssm.NewFromConfig(config),
		"sts": sts.NewFromConfig(config),
	}
}

type transport func(*http.Request, []byte) (*wire.Response, error)

func (t transport) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	response, err := t(r, body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: response.Status, Header: response.Header, Request: r,
		Body: io.NopCloser(bytes.NewReader(response.Body)),
	}, nil
}

// call calls an action of a client and returns its output.
func call(client any, action string, input reflect.Value) (any, error) {
	results := reflect.ValueOf(client).MethodByName(action).
		Call([]reflect.Value{reflect.ValueOf(context.Background()), input})
	if err, ok := results[1].Interface().(error); ok {
		return nil, err
	}
	return results[0].Interface(), nil
}

// types returns the input and output types of an action.
func types(client any, action string) (input, output reflect.Type) {
	method := reflect.ValueOf(client).MethodByName(action).Type()
	return method.In(1).Elem(), method.Out(0).Elem()
}

var errStop = errors.New("the request has been seen")

func TestInputsSurviveTheWire(t *testing.T) {
	t.Parallel()
	for _, service := range wire.Services() {
		for _, action := range wire.Actions(service) {
			t.Run(service+"/"+action, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { checkInput(t, service, action) })
			})
		}
	}
}

func checkInput(t *rapid.T, service, action string) {
	var decoded any
	client := clients(func(r *http.Request, body []byte) (*wire.Response, error) {
		request, err := wire.Parse(r, body)
		if err != nil {
			t.Fatalf("parsing: %v", err)
		}
		caller := "AKIATEST222233334444"
		if request.Anonymous { // the SDK does not sign it, and it has no caller
			caller = ""
		}
		if request.Service != service || request.Action != action || request.AccessKeyID != caller || request.Anonymous != (action == "AssumeRoleWithWebIdentity") {
			t.Fatalf("parsed %s %s by %s", request.Service, request.Action, request.AccessKeyID)
		}
		input, _ := types(clients(nil)[service], action)
		if decoded, err = request.Decode(input); err != nil {
			t.Fatalf("decoding: %v\n%s", err, body)
		}
		return nil, errStop
	})[service]
	inputType, _ := types(client, action)
	input := reflect.New(inputType)
	generator{t, false}.fill(input.Elem())
	if service == "eks" {
		address(input.Elem())
	}
	if in, ok := input.Interface().(*eventbridge.PutEventsInput); ok {
		in.EndpointId = nil // the SDK derives a host name from it
	}
	if _, err := call(client, action, input); !errors.Is(err, errStop) {
		t.Fatalf("calling: %v", err)
	}
	compare(t, input.Interface(), decoded)
}

// address gives members that stand in a path the value that the SDK insists on, and leaves one
// element of lists that stand in a query: the SDK puts those into another order when it signs.
func address(input reflect.Value) {
	for i := range input.NumField() {
		name, member := input.Type().Field(i).Name, input.Field(i)
		switch {
		case slices.Contains([]string{"AddonName", "ClusterName", "Name", "NodegroupName", "PolicyArn", "PrincipalArn", "ResourceArn", "UpdateId"}, name) && member.IsNil():
			member.Set(reflect.ValueOf(aws.String("arn:aws:eks:us-east-1:111122223333:cluster/a b")))
		case slices.Contains([]string{"ClusterVersions", "Include", "Owners", "Publishers", "TagKeys", "Types"}, name):
			member.Set(member.Slice(0, min(1, member.Len())))
		}
	}
}

func TestOutputsSurviveTheWire(t *testing.T) {
	t.Parallel()
	for _, service := range wire.Services() {
		for _, action := range wire.Actions(service) {
			t.Run(service+"/"+action, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { checkOutput(t, service, action) })
			})
		}
	}
}

func checkOutput(t *rapid.T, service, action string) {
	_, outputType := types(clients(nil)[service], action)
	output := reflect.New(outputType)
	generator{t, !slices.Contains([]string{"eks", "events", "pricing", "sqs", "ssm"}, service)}.fill(output.Elem())
	client := clients(func(r *http.Request, body []byte) (*wire.Response, error) {
		request, err := wire.Parse(r, body)
		if err != nil {
			return nil, err
		}
		return request.Encode("11111111-2222-4333-a444-555555555555", output.Interface())
	})[service]
	inputType, _ := types(client, action)
	got, err := call(client, action, reflect.New(inputType))
	if err != nil {
		t.Fatalf("calling: %v", err)
	}
	metadata := reflect.ValueOf(got).Elem().FieldByName("ResultMetadata")
	metadata.SetZero()
	compare(t, output.Interface(), got)
}

// compare fails if two values differ in more than how they express emptiness: the query protocols
// do not distinguish an unset member from an empty list or structure.
func compare(t *rapid.T, want, got any) {
	prune(reflect.ValueOf(want).Elem())
	prune(reflect.ValueOf(got).Elem())
	if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Fatalf("(-sent +received)\n%s", diff)
	}
}

// prune sets empty members to nil, drops empty elements, and reports whether nothing is left.
func prune(v reflect.Value) (empty bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && prune(v.Elem()) && (v.Elem().Kind() == reflect.Struct || v.Elem().Kind() == reflect.String) {
			v.SetZero()
		}
		return v.IsNil()
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return false
		}
		empty = true
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !prune(v.Field(i)) {
				empty = false
			}
		}
		return empty
	case reflect.Slice:
		kept := reflect.Zero(v.Type())
		for i := range v.Len() {
			if !prune(v.Index(i)) {
				kept = reflect.Append(kept, v.Index(i))
			}
		}
		v.Set(kept)
		return v.Len() == 0
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			prune(value)
			v.SetMapIndex(key, value)
		}
		if v.Len() == 0 {
			v.SetZero()
		}
		return v.Len() == 0
	case reflect.String:
		return v.Len() == 0
	default:
		return false
	}
}

// generator fills the SDK's types with random values.
type generator struct {
	t   *rapid.T
	xml bool // text must be allowed in XML 1.0
}

func (g generator) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			// The SDK truncates what is left of milliseconds in a JSON number, so those are whole
			// seconds.
			unit := int64(1000)
			if g.xml {
				unit = 1
			}
			milliseconds := rapid.Int64Range(0, 4e12/unit).Draw(g.t, "time") * unit
			v.Set(reflect.ValueOf(time.UnixMilli(milliseconds).UTC()))
			return
		}
		for i := range v.NumField() {
			// The tables have neither unions nor maps of XML.
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains([]string{"ResultMetadata", "PolicyExclusionList", "EvalDecisionDetails"}, f.Name) {
				g.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		if rapid.Float64Range(0, 1).Draw(g.t, "set") < 0.6 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(g.t, "bytes"))
			return
		}
		n := rapid.IntRange(0, 3).Draw(g.t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			g.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 3).Draw(g.t, "entries") {
			value := reflect.New(v.Type().Elem()).Elem()
			g.fill(value)
			v.SetMapIndex(reflect.ValueOf(g.text()), value)
		}
	case reflect.String:
		v.SetString(g.text())
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(g.t, "bool"))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(g.t, "int32")))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(g.t, "int64"))
	case reflect.Float64, reflect.Float32:
		v.SetFloat(float64(rapid.Float32Range(-1e6, 1e6).Draw(g.t, "float")))
	default:
		g.t.Fatalf("no random %s", v.Type())
	}
}

func (g generator) text() string {
	text := rapid.StringN(1, 12, 40).Draw(g.t, "text")
	if !g.xml {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || unicode.Is(unicode.Cs, r) || r == '\uFFFE' || r == '\uFFFF' {
			return '.'
		}
		return r
	}, text)
}
