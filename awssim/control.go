package awssim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// control serves /_sim/: what the Go API can do, as JSON. Errors are {"error": "…"} with status 400
// or 404.
type control struct{ sim *Simulator }

// handler serves all paths below /_sim/.
func (c control) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := f(r)
			writeJSON(w, answer, err)
		})
	}
	handle("GET /_sim/calls", func(*http.Request) (any, error) {
		if calls := c.sim.Calls(); calls != nil {
			return calls, nil
		}
		return []Call{}, nil
	})
	handle("DELETE /_sim/calls", func(*http.Request) (any, error) { c.sim.ClearCalls(); return nil, nil })
	handle("GET /_sim/state", c.getState)
	handle("GET /_sim/faults", func(*http.Request) (any, error) { return faultsToJSON(c.sim.Faults()), nil })
	handle("POST /_sim/faults", c.postFaults)
	handle("DELETE /_sim/faults", c.deleteFaults)
	handle("GET /_sim/clock", func(*http.Request) (any, error) { return c.clockState(), nil })
	handle("POST /_sim/clock", c.postClock)
	handle("GET /_sim/behavior", func(*http.Request) (any, error) { return behaviorToJSON(c.sim.Behavior()), nil })
	handle("POST /_sim/behavior", c.postBehavior)
	handle("GET /_sim/alarms", c.getAlarms)
	handle("POST /_sim/alarms", c.postAlarms)
	handle("POST /_sim/clusters", c.postClusters)
	handle("POST /_sim/issuers", c.postIssuers)
	handle("POST /_sim/nodes", c.postNodes)
	handle("POST /_sim/interruptions", c.postInterruptions)
	handle("POST /_sim/statuschecks", c.postStatusChecks)
	handle("POST /_sim/reservations", c.postReservations)
	handle("POST /_sim/crosszone", c.postCrossZone)
	handle("POST /_sim/parameters", c.postParameters)
	handle("GET /_sim/authorizations", func(*http.Request) (any, error) { return c.sim.Authorizations(), nil })
	handle("POST /_sim/policies", c.postPolicies)
	handle("POST /_sim/reset", func(*http.Request) (any, error) { c.sim.Reset(); return nil, nil })
	return mux
}

var errNotFound = errors.New("not found")

func writeJSON(w http.ResponseWriter, answer any, err error) {
	status := http.StatusOK
	switch {
	case errors.Is(err, errNotFound):
		status = http.StatusNotFound
	case err != nil:
		status = http.StatusBadRequest
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err != nil {
		answer = map[string]string{"error": err.Error()}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		http.Error(w, "encoding the answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_, _ = w.Write(body.Bytes())
}

// readJSON decodes a body into a new value, and refuses members that the type does not have. A
// value that exists already is never decoded into: elements of its lists would keep what the body
// leaves out.
func readJSON[T any](r *http.Request) (T, error) {
	var value T
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return value, fmt.Errorf("reading the request: %w", err)
	}
	err = DecodeStrict(body, &value)
	return value, err
}

// DecodeStrict decodes one JSON value and refuses members that v does not have.
func DecodeStrict(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("decoding JSON: %w", err)
	}
	if decoder.More() {
		return errors.New("decoding JSON: more than one value")
	}
	return nil
}

func (c control) getState(r *http.Request) (any, error) {
	return c.region(r.URL.Query().Get("account"), r.URL.Query().Get("region")).State()
}

// region returns what a request concerns. A request that leaves out the account means the default
// one, and one that leaves out the region the world's first.
func (c control) region(account, region string) Region {
	return c.sim.Region(cmp.Or(account, DefaultAccount), cmp.Or(region, c.sim.World().Regions[0].Name))
}

func (c control) postFaults(r *http.Request) (any, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	faults, err := ParseFaults(body)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(faults))
	for i, f := range faults {
		if ids[i], err = c.sim.AddFault(f); err != nil {
			return nil, err
		}
	}
	return map[string][]string{"ids": ids}, nil
}

func (c control) deleteFaults(r *http.Request) (any, error) {
	id := r.URL.Query().Get("id")
	if !c.sim.RemoveFault(id) && id != "" {
		return nil, fmt.Errorf("fault %q: %w", id, errNotFound)
	}
	return nil, nil
}

type clockState struct {
	Now  time.Time  `json:"now"`
	Rate float64    `json:"rate"`
	Next *time.Time `json:"next,omitempty"` // when the earliest waiter is due
}

func (c control) clockState() clockState {
	state := clockState{Now: c.sim.clock.Now(), Rate: c.sim.clock.Rate()}
	if next, ok := c.sim.clock.Next(); ok {
		state.Next = &next
	}
	return state
}

func (c control) postClock(r *http.Request) (any, error) {
	type request struct {
		Step *duration `json:"step"`
		Rate *float64  `json:"rate"`
	}
	change, err := readJSON[request](r)
	if err != nil {
		return nil, err
	}
	if change.Step == nil && change.Rate == nil {
		return nil, errors.New(`neither "step" nor "rate" is given`)
	}
	if change.Step != nil && *change.Step < 0 || change.Rate != nil && *change.Rate < 0 {
		return nil, errors.New("time does not go backward")
	}
	if change.Rate != nil {
		c.sim.clock.SetRate(*change.Rate)
	}
	if change.Step != nil {
		c.sim.clock.Step(time.Duration(*change.Step))
	}
	return c.clockState(), nil
}

// postBehavior changes the members that are given and leaves the rest. A list that is given takes
// the place of the whole list.
func (c control) postBehavior(r *http.Request) (any, error) {
	change, err := readJSON[behaviorChange](r)
	if err != nil {
		return nil, err
	}
	b := behaviorToJSON(c.sim.Behavior())
	change.apply(&b)
	behavior := b.behavior()
	if err := behavior.Check(); err != nil {
		return nil, err
	}
	c.sim.SetBehavior(behavior)
	return behaviorToJSON(behavior), nil
}

// ParseFaults reads one fault or a list of faults as JSON, as POST /_sim/faults takes them, and
// checks them.
func ParseFaults(data []byte) ([]Fault, error) {
	var list []faultJSON
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		list = make([]faultJSON, 1)
		if err := DecodeStrict(data, &list[0]); err != nil {
			return nil, err
		}
	} else if err := DecodeStrict(data, &list); err != nil {
		return nil, err
	}
	faults := make([]Fault, len(list))
	for i, f := range list {
		faults[i] = f.fault()
		if err := faults[i].Check(); err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// ParseCapacity reads capacity rules as JSON, as POST /_sim/behavior takes them, and checks them.
func ParseCapacity(data []byte) ([]CapacityRule, error) {
	var list []capacityJSON
	if err := DecodeStrict(data, &list); err != nil {
		return nil, err
	}
	b := behaviorJSON{Capacity: list}.behavior()
	return b.Capacity, b.Check()
}
