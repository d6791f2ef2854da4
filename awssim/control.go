package awssim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// controlHandler serves /_sim/: what the Go API can do, as JSON. Errors are {"error": "…"} with
// status 400 or 404.
func (s *Simulator) controlHandler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := f(r)
			writeJSON(w, answer, err)
		})
	}
	handle("GET /_sim/calls", func(*http.Request) (any, error) {
		if calls := s.Calls(); calls != nil {
			return calls, nil
		}
		return []Call{}, nil
	})
	handle("DELETE /_sim/calls", func(*http.Request) (any, error) { s.ClearCalls(); return nil, nil })
	handle("GET /_sim/state", s.getState)
	handle("GET /_sim/faults", func(*http.Request) (any, error) { return faultsToJSON(s.Faults()), nil })
	handle("POST /_sim/faults", s.postFaults)
	handle("DELETE /_sim/faults", s.deleteFaults)
	handle("GET /_sim/clock", func(*http.Request) (any, error) { return s.clockState(), nil })
	handle("POST /_sim/clock", s.postClock)
	handle("GET /_sim/behavior", func(*http.Request) (any, error) { return behaviorToJSON(s.Behavior()), nil })
	handle("POST /_sim/behavior", s.postBehavior)
	handle("GET /_sim/alarms", s.getAlarms)
	handle("POST /_sim/alarms", s.postAlarms)
	handle("POST /_sim/clusters", s.postClusters)
	handle("POST /_sim/issuers", s.postIssuers)
	handle("POST /_sim/nodes", s.postNodes)
	handle("POST /_sim/interruptions", s.postInterruptions)
	handle("POST /_sim/statuschecks", s.postStatusChecks)
	handle("POST /_sim/reservations", s.postReservations)
	handle("POST /_sim/crosszone", s.postCrossZone)
	handle("POST /_sim/parameters", s.postParameters)
	handle("GET /_sim/authorizations", func(*http.Request) (any, error) { return s.Authorizations(), nil })
	handle("POST /_sim/policies", s.postPolicies)
	handle("POST /_sim/reset", func(*http.Request) (any, error) { s.Reset(); return nil, nil })
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

func (s *Simulator) getState(r *http.Request) (any, error) {
	return s.State(s.place(r.URL.Query().Get("account"), r.URL.Query().Get("region")))
}

// place fills in the account and the region that a request leaves out: the default account, the
// world's first region.
func (s *Simulator) place(account, region string) (string, string) {
	if account == "" {
		account = DefaultAccount
	}
	if region == "" {
		region = s.World().Regions[0].Name
	}
	return account, region
}

func (s *Simulator) postFaults(r *http.Request) (any, error) {
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
		if ids[i], err = s.AddFault(f); err != nil {
			return nil, err
		}
	}
	return map[string][]string{"ids": ids}, nil
}

func (s *Simulator) deleteFaults(r *http.Request) (any, error) {
	id := r.URL.Query().Get("id")
	if !s.RemoveFault(id) && id != "" {
		return nil, fmt.Errorf("fault %q: %w", id, errNotFound)
	}
	return nil, nil
}

type clockState struct {
	Now  time.Time  `json:"now"`
	Rate float64    `json:"rate"`
	Next *time.Time `json:"next,omitempty"` // when the earliest waiter is due
}

func (s *Simulator) clockState() clockState {
	state := clockState{Now: s.clock.Now(), Rate: s.clock.Rate()}
	if next, ok := s.clock.Next(); ok {
		state.Next = &next
	}
	return state
}

func (s *Simulator) postClock(r *http.Request) (any, error) {
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
		s.clock.SetRate(*change.Rate)
	}
	if change.Step != nil {
		s.clock.Step(time.Duration(*change.Step))
	}
	return s.clockState(), nil
}

// postBehavior changes the members that are given and leaves the rest. A list that is given takes
// the place of the whole list.
func (s *Simulator) postBehavior(r *http.Request) (any, error) {
	change, err := readJSON[behaviorChange](r)
	if err != nil {
		return nil, err
	}
	b := behaviorToJSON(s.Behavior())
	change.apply(&b)
	behavior := b.behavior()
	if err := behavior.Check(); err != nil {
		return nil, err
	}
	s.SetBehavior(behavior)
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
