package awssim_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/slipway-project/slipway/awssim"
)

func putParameter(t testing.TB, e *endpoint) error {
	t.Helper()
	_, err := ssm.NewFromConfig(e.config(key)).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String("/test/name"), Value: aws.String("value"), Type: ssmtypes.ParameterTypeString,
	})
	return err
}

// exists reports whether the effect of putParameter is there, without a call.
func exists(t testing.TB, e *endpoint) bool {
	t.Helper()
	state := must[map[string]any](t)(e.Region(account, region).State())
	parameters := state["ssm"].(map[string]any)["parameters"].(map[string]any)
	_, ok := parameters["/test/name"]
	return ok
}

func TestFaultsAtEveryPlace(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		fault  awssim.Fault
		code   string // what the caller gets; ? is a broken connection
		effect bool
		status int // in the call log
	}{
		{"an error before the effect", awssim.Fault{Place: awssim.Before, Code: "InternalError", Status: 500}, "InternalError", false, 500},
		{"an error after the effect", awssim.Fault{Place: awssim.AfterEffect, Code: "InternalError", Status: 503}, "InternalError", true, 503},
		{"an error's status is 400 if it is not said", awssim.Fault{Code: "Denied"}, "Denied", false, 400},
		{"a connection dropped before the effect", awssim.Fault{Place: awssim.Before, Drop: true}, "?", false, 0},
		{"a connection dropped after the effect", awssim.Fault{Place: awssim.AfterEffect, Drop: true}, "?", true, 0},
		{"a connection dropped after the answer", awssim.Fault{Place: awssim.AfterAnswer, Drop: true}, "", true, 200},
		{"a fault for another service", awssim.Fault{Service: "ec2", Code: "InternalError"}, "", true, 200},
		{"a fault for another action", awssim.Fault{Action: "GetParameter", Code: "InternalError"}, "", true, 200},
		{"a fault for another caller", awssim.Fault{Principal: "AKIAOTHER", Code: "InternalError"}, "", true, 200},
		{"a fault for this caller", awssim.Fault{Principal: key, Code: "InternalError"}, "InternalError", false, 400},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			e := serve(t, awssim.Options{Faults: []awssim.Fault{row.fault}})
			err := putParameter(t, e)
			if got := code(err); got != row.code {
				t.Errorf("the caller got %v", err)
			}
			if got := exists(t, e); got != row.effect {
				t.Errorf("the effect is there: %v, want %v", got, row.effect)
			}
			calls := e.Calls()
			if len(calls) != 1 || calls[0].Status != row.status {
				t.Errorf("the log has %+v, want one line with status %d", calls, row.status)
			}
		})
	}
}

func TestFaultDelayIsOnTheSimulatedClock(t *testing.T) {
	t.Parallel()
	for _, place := range []awssim.Place{awssim.Before, awssim.AfterEffect} {
		e := serve(t, awssim.Options{Faults: []awssim.Fault{{Place: place, Delay: time.Hour}}})
		done := make(chan error, 1)
		go func() { done <- putParameter(t, e) }()
		for { // until the call waits; it takes no time on the simulated clock
			if next, ok := e.Clock().Next(); ok {
				if want := start.Add(time.Hour); !next.Equal(want) {
					t.Errorf("the call waits until %v, want %v", next, want)
				}
				break
			}
			time.Sleep(time.Millisecond)
		}
		if got, want := exists(t, e), place == awssim.AfterEffect; got != want {
			t.Errorf("%s: while the call waits the effect is there: %v, want %v", place, got, want)
		}
		select {
		case err := <-done:
			t.Fatalf("the call did not wait: %v", err)
		default:
		}
		e.Clock().Step(time.Hour)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestFaultCallbacksSeeTheCallAndMayCallAndDrop(t *testing.T) {
	t.Parallel()
	var e *endpoint
	var seen []awssim.FaultContext
	answered := make(chan awssim.FaultContext, 1)
	note := func(place awssim.Place, f func(*awssim.FaultContext)) awssim.Fault {
		return awssim.Fault{Action: "PutParameter", Place: place, Callback: f}
	}
	e = serve(t, awssim.Options{Faults: []awssim.Fault{
		note(awssim.Before, func(c *awssim.FaultContext) {
			if seen = append(seen, *c); len(seen) == 1 && exists(t, e) {
				t.Error("the effect came before")
			}
			// A callback may call AWS.
			if _, err := iam.NewFromConfig(e.config(key)).ListRoles(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}),
		note(awssim.AfterEffect, func(c *awssim.FaultContext) {
			seen = append(seen, *c)
			if !exists(t, e) {
				t.Error("the effect is not there after it")
			}
			c.Drop = true
		}),
		note(awssim.AfterAnswer, func(c *awssim.FaultContext) { answered <- *c }),
	}})
	if got := code(putParameter(t, e)); got != "?" {
		t.Errorf("the caller got %q, want a broken connection", got)
	}
	if len(seen) != 2 {
		t.Fatalf("%d callbacks ran, want two", len(seen))
	}
	input, ok := seen[0].Input.(*ssm.PutParameterInput)
	if !ok || *input.Name != "/test/name" || seen[0].Output != nil {
		t.Errorf("before: the callback saw input %+v and output %v", seen[0].Input, seen[0].Output)
	}
	if output, ok := seen[1].Output.(*ssm.PutParameterOutput); !ok || output.Version != 1 {
		t.Errorf("after the effect: the callback saw output %+v", seen[1].Output)
	}
	if seen[0].Account != account || seen[0].Region != region || seen[0].Service != "ssm" || seen[0].RequestID == "" ||
		seen[0].Principal != "arn:aws:iam::"+account+":user/"+key {
		t.Errorf("the callback saw %+v", seen[0])
	}
	select {
	case c := <-answered:
		t.Errorf("a call that was dropped was answered: %+v", c)
	default:
	}

	for _, f := range e.Faults() {
		if f.Place == awssim.AfterEffect {
			e.RemoveFault(f.ID)
		}
	}
	// The second write fails; a callback after the answer sees the handler's error.
	if got := code(putParameter(t, e)); got != "ParameterAlreadyExists" {
		t.Errorf("the second write got %q", got)
	}
	if c := <-answered; c.Err == nil {
		t.Error("the callback after the answer did not see the error")
	}
}

func TestErrorsCarryTheRequestID(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	err := func() error {
		_, err := iam.NewFromConfig(e.config(key)).GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("none")})
		return err
	}()
	var response *awshttp.ResponseError
	if !errors.As(err, &response) {
		t.Fatalf("got %v", err)
	}
	calls := e.Calls()
	if response.RequestID == "" || response.RequestID != calls[len(calls)-1].RequestID {
		t.Errorf("the error has request id %q, the log %+v", response.RequestID, calls)
	}
	if response.HTTPStatusCode() != http.StatusNotFound {
		t.Errorf("status %d, want 404", response.HTTPStatusCode())
	}
}

// TestCallsAreLoggedWithTheirEffect holds that a client that sees the effect of a call finds the
// call in the log, though it is not answered yet.
func TestCallsAreLoggedWithTheirEffect(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	logged := make(chan bool, 1)
	t.Cleanup(e.OnChange(func(event awssim.Event) {
		if event.Kind == "instance" {
			select {
			case logged <- slices.ContainsFunc(e.Calls(), func(call awssim.Call) bool { return call.Action == "RunInstances" && call.Status == http.StatusOK }):
			default:
			}
		}
	}))
	image := e.World().Region(region).Images[0].ID
	_, err := ec2.NewFromConfig(e.config(key)).RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: &image, InstanceType: ec2types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: &e.World().Region(region).Subnets[0].ID,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !<-logged {
		t.Error("the instance was there before the call that launched it")
	}
	if calls := e.Calls(); len(calls) != 1 {
		t.Errorf("one call is logged as %+v", calls)
	}
}
