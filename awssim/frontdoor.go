package awssim

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slipway-project/slipway/awssim/internal/constraints"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/wire"
)

// maxBody bounds a request. Real ones are far below; user data is limited to 16 KB.
const maxBody = 8 << 20

// frontDoor serves AWS's endpoints: it decodes a request, lets faults happen at their places, has
// the kernel serve it, logs and answers it.
type frontDoor struct{ kernel *sim.Kernel }

// ActionOf names the AWS action that a signed request asks for, such as DescribeNodegroup, as the
// simulated AWS finds it: by the action in the body or a header or, where the protocol has none, by
// method and path. The body is read and put back. The name is empty if there is none, or if it
// cannot be read.
func ActionOf(r *http.Request) string {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil {
			return ""
		}
	}
	request, err := wire.Parse(r, body)
	if err != nil {
		return ""
	}
	return request.Action
}

// visit is one request on its way through the front door.
type visit struct {
	kernel *sim.Kernel
	http   *http.Request
	wire   *wire.Request
	sim    sim.Request
	at     time.Time
	faults []sim.Fault
	output any
	err    error // of the handler
	// logged is true if the kernel writes a success down together with its effect.
	logged bool
}

func (d *frontDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	v := &visit{kernel: d.kernel, http: r}
	v.sim.RequestID, v.at = d.kernel.Begin()
	v.sim.Began = v.at
	response := v.serve(body)
	v.answer(w, response)
	// The client is gone, so an error cannot be reported, and Fault.Check allows none at this
	// place.
	_ = v.strike(sim.AfterAnswer)
}

// serve returns the answer. It does not return if a fault drops the connection.
func (v *visit) serve(body []byte) *wire.Response {
	if err := v.admit(body); err != nil {
		return v.refuse(err)
	}
	if err := v.strike(sim.Before); err != nil {
		return v.refuse(err)
	}
	v.logWithEffect()
	v.do()
	if err := v.strike(sim.AfterEffect); err != nil {
		return v.refuse(err)
	}
	if v.err != nil {
		return v.refuse(v.err)
	}
	response, err := v.wire.Encode(v.sim.RequestID, v.output)
	if err != nil {
		return v.refuse(err)
	}
	if !v.logged {
		v.log(response.Status, "")
	}
	return response
}

// logWithEffect has the kernel record a success in the moment of its effect, so that a client that
// sees the effect finds the line; unless a fault may come in between.
func (v *visit) logWithEffect() {
	if v.logged = !slices.ContainsFunc(v.faults, func(f sim.Fault) bool { return f.Place == sim.AfterEffect }); v.logged {
		record := v.record(v.wire.SuccessStatus(), "")
		v.sim.Record = &record
	}
}

// do has the kernel serve the request, as often as it takes to get an answer. It does not return if
// the client gave up waiting for one.
func (v *visit) do() {
	for {
		v.output, v.err = v.kernel.Do(v.sim)
		var wait *sim.NotYetError
		if !errors.As(v.err, &wait) {
			return
		}
		timer := v.kernel.Clock().NewTimer(wait.Until.Sub(v.kernel.Clock().Now()))
		select {
		case <-timer.C():
		case <-wait.Wake:
		case <-v.http.Context().Done():
			timer.Stop()
			v.drop(sim.Before)
		}
		timer.Stop()
		v.sim.Resumed = true
	}
}

// admit finds out what is asked for and by whom, and which faults strike.
func (v *visit) admit(body []byte) error {
	var err error
	v.wire, err = wire.Parse(v.http, body)
	v.sim.Service, v.sim.Action, v.sim.Region = v.wire.Service, v.wire.Action, v.wire.Region
	v.sim.AccessKey = v.wire.AccessKeyID
	if err != nil {
		return err
	}
	if v.wire.Anonymous {
		v.sim.Account, v.sim.Principal = sim.DefaultAccount, sim.Anonymous
	} else if v.sim.Account, v.sim.Principal, err = v.kernel.Caller(v.sim.AccessKey); err != nil {
		return err
	}
	handler := v.kernel.Registry().Handler(v.sim.Service, v.sim.Action)
	if handler == nil {
		return v.wire.UnknownAction()
	}
	if v.sim.Input, err = v.wire.Decode(handler.Input); err != nil {
		return err
	}
	if err := constraints.Check(v.sim.Service, v.sim.Action, v.sim.Input); err != nil {
		return err
	}
	if account := wire.AccountOfRole(v.sim.Input); v.wire.Anonymous && account != "" {
		v.sim.Account = account
	}
	v.faults = v.kernel.Faults.Strikes(v.sim.Service, v.sim.Action, v.sim.Principal)
	v.sim.Faults = v.faults
	return nil
}

func (v *visit) refuse(err error) *wire.Response {
	e := sim.AsError(err)
	v.log(e.HTTPStatus(), e.Code)
	return v.wire.EncodeError(v.sim.RequestID, e)
}

// log records the call before it is answered, so that a client that has the answer finds the line.
func (v *visit) log(status int, code string) { v.kernel.Log.Record(v.record(status, code)) }

func (v *visit) record(status int, code string) sim.CallRecord {
	token := ""
	if v.sim.Input != nil {
		token = wire.ClientToken(v.sim.Input)
	}
	return sim.CallRecord{
		Time: v.at, Service: v.sim.Service, Action: v.sim.Action, Principal: v.sim.Principal,
		RequestID: v.sim.RequestID, ClientToken: token, UserAgent: recordedUserAgent(v.http.UserAgent()), Status: status, Code: code,
		Account: v.sim.Account, Region: v.sim.Region,
	}
}

// recordedUserAgent returns a user agent as CloudTrail records it, which is cut off after 1 KB.
// https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html
func recordedUserAgent(sent string) string { return sent[:min(len(sent), 1024)] }

func (v *visit) answer(w http.ResponseWriter, response *wire.Response) {
	for key, values := range response.Header {
		w.Header()[key] = values
	}
	// the answer to HEAD has the length of the body that it leaves out
	if response.Header.Get("Content-Length") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(response.Body)))
	}
	w.WriteHeader(response.Status)
	if _, err := w.Write(response.Body); err != nil {
		return // the client has gone; the effect stays, as with AWS
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// strike lets the faults of a place happen and returns the first error that one asks for.
func (v *visit) strike(place sim.Place) error {
	for _, f := range v.faults {
		if f.Place != place {
			continue
		}
		if err := v.suffer(f); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) suffer(f sim.Fault) error {
	if f.Delay > 0 {
		timer := v.kernel.Clock().NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-v.http.Context().Done(): // the client gave up waiting
			v.drop(f.Place)
		}
	}
	if f.Callback != nil {
		c := &sim.FaultContext{
			Fault: f, Service: v.sim.Service, Action: v.sim.Action,
			Account: v.sim.Account, Region: v.sim.Region, Principal: v.sim.Principal,
			RequestID: v.sim.RequestID, Input: v.sim.Input, Output: v.output, Err: v.err,
		}
		f.Callback(c)
		if c.Drop {
			v.drop(f.Place)
		}
	}
	if f.Drop {
		v.drop(f.Place)
	}
	if f.Code != "" {
		return &sim.Error{Code: f.Code, Message: f.Message, Status: f.Status}
	}
	return nil
}

// drop closes the connection. It does not return.
func (v *visit) drop(place sim.Place) {
	if place != sim.AfterAnswer {
		v.log(0, "")
	}
	panic(http.ErrAbortHandler)
}
