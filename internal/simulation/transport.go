package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws/action"
)

var (
	errUnsent = errors.New("connection refused")
	errLost   = errors.New("connection reset by peer")
	errDead   = errors.New("the process has ended")
)

// transport carries requests to the simulated AWS. It is the HTTP client of the SDK.
type transport struct {
	sim *awssim.Simulator
	// gate decides the fate of each call. It is nil for the clients of the simulation itself:
	// nothing goes wrong for them, and they see AWS as it is, however far its reads lag.
	gate *gate
	// seen is notified of each call that AWS has answered.
	seen func(call awssim.Call)
}

// Do implements aws.HTTPClient.
func (t *transport) Do(request *http.Request) (*http.Response, error) {
	name := middleware.GetOperationName(request.Context())
	if t.gate == nil {
		if lagging := t.sim.Behavior(); lagging.ReadLag > 0 && !action.Changes(name) {
			current := lagging
			current.ReadLag = 0
			t.sim.SetBehavior(current)
			defer t.sim.SetBehavior(lagging)
		}
		return t.serve(request)
	}
	flaw := t.gate.world.flaw
	request, err := flaw.request(name, request)
	if err != nil {
		return nil, err
	}
	completed, err := completedFor(name, request)
	if err != nil {
		return nil, err
	}
	var response *http.Response
	err = t.gate.call(name, action.Changes(name), func() error {
		var err error
		response, err = flaw.remembered(t.gate.process.answers, name, request, t.serve) //nolint:bodyclose // the SDK closes it
		if calls := t.sim.Calls(); err == nil && len(calls) > 0 {
			last := calls[len(calls)-1]
			t.sim.ClearCalls()
			if completed != "" && last.Status < 300 {
				t.gate.world.scene.released(completed)
			}
			t.seen(last)
		}
		return err
	}, func() error {
		// AWS itself refuses it, so that the error has the form of the service's protocol.
		id, err := t.sim.AddFault(awssim.Fault{Code: throttlingCode(name, request), Status: http.StatusServiceUnavailable, Message: "Request limit exceeded."})
		if err != nil {
			return err
		}
		defer t.sim.RemoveFault(id)
		response, err = t.serve(request) //nolint:bodyclose // the SDK closes it
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// completedFor returns the instance whose lifecycle hook a request completes, and "" for any other
// request. The request can be sent afterwards.
func completedFor(action string, request *http.Request) (string, error) {
	if action != "CompleteLifecycleAction" {
		return "", nil
	}
	form, err := formOf(request)
	return form.Get("InstanceId"), err
}

// formOf returns the members of a request, which can be sent afterwards.
func formOf(request *http.Request) (url.Values, error) {
	body, err := bodyOf(request)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("reading a request: %w", err)
	}
	return form, nil
}

// bodyOf returns the body of a request, which can be sent afterwards.
func bodyOf(request *http.Request) ([]byte, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading a request: %w", err)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// serve has the simulated AWS answer a request.
func (t *transport) serve(request *http.Request) (*http.Response, error) {
	response, err := t.sim.RoundTrip(request)
	if err != nil {
		return nil, errLost
	}
	return response, nil
}

func throttlingCode(action string, request *http.Request) string {
	service, _, _ := strings.Cut(request.URL.Host, ".")
	switch {
	case service == "eks":
		return "ThrottlingException"
	case service == "autoscaling", service == "iam", strings.Contains(action, "AutoScaling"):
		return "Throttling"
	}
	return "RequestLimitExceeded"
}

// gate is passed by every call of a process.
type gate struct {
	world   *World
	process *process
}

// call runs a call with the fate that the schedule has for it. Refuse has the server refuse it.
func (g *gate) call(name string, changes bool, do, refuse func() error) error {
	w := g.world
	if g.process.dead {
		return errDead
	}
	if w.chance.happens(w.faults.Interlude) {
		w.interlude()
	}
	ends := w.faults.draw(w.chance)
	if changes && (ends == answered || ends == lost || ends == crashAfter) {
		w.lastWrite = w.clock.Now()
		w.writes++
	}
	switch ends {
	case refused:
		w.trace.detail("%s is refused", name)
		return refuse()
	case unsent:
		w.trace.detail("%s cannot be sent", name)
		return errUnsent
	case lost:
		err := do()
		w.trace.detail("%s loses its answer", name)
		return errors.Join(errLost, silent(err))
	case crashBefore:
		g.process.dead = true
		w.trace.detail("crash before %s", name)
		return errDead
	case crashAfter:
		err := do()
		g.process.dead = true
		w.trace.detail("crash after %s", name)
		return errors.Join(errDead, silent(err))
	default:
		return do()
	}
}

// silent drops an error that does not reach the caller.
func silent(error) error { return nil }
