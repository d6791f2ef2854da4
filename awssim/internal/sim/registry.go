package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Call is one request being served. It is good only while its handler runs.
type Call struct {
	Kernel    *Kernel
	Account   *Account
	Region    *Region
	Principal string // ARN of the caller
	AccessKey string
	RequestID string
	Service   string
	Action    string
	Now       time.Time
	Began     time.Time // before Now for a request that has waited, see NotYetError

	permissions Permissions // of the caller
	faults      []Fault
}

// UpdateFault returns the fault that fails the update which the call begins, nil if none does.
func (c *Call) UpdateFault() *Fault {
	for i := range c.faults {
		if c.faults[i].Place == InUpdate {
			return &c.faults[i]
		}
	}
	return nil
}

// Handler serves one action.
type Handler struct {
	Service, Action string
	Input, Output   reflect.Type // the SDK's structs, not pointers to them
	invoke          func(*Call, any) (any, error)
	questions       func(*Call, any) []Question // nil if it is not known what permissions a call needs
}

// Registry holds the handlers of all services and the functions that dump their state. Services are
// named as they sign: "ec2", "autoscaling", "events", "sqs" and so on.
type Registry struct {
	handlers map[string]map[string]*Handler
	dumpers  map[string]func(*Region) any
	refusals map[string]func(message string) *Error
	ofRoles  func(*Account, string) (Permissions, error)
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{handlers: map[string]map[string]*Handler{}, dumpers: map[string]func(*Region) any{}, refusals: map[string]func(string) *Error{}}
}

// Handle registers the handler of one action; input and output are the SDK's own types. It panics
// if the action has one already, which is a programming error.
func Handle[I, O any](reg *Registry, service, action string, h func(*Call, *I) (*O, error)) {
	actions := reg.handlers[service]
	if actions == nil {
		actions = map[string]*Handler{}
		reg.handlers[service] = actions
	}
	if actions[action] != nil {
		panic(fmt.Sprintf("sim: two handlers for %s %s", service, action))
	}
	actions[action] = &Handler{
		Service: service, Action: action,
		Input: reflect.TypeFor[I](), Output: reflect.TypeFor[O](),
		invoke: func(c *Call, in any) (any, error) {
			out, err := h(c, in.(*I))
			if err != nil {
				return nil, err
			}
			return out, nil
		},
	}
}

// Handler returns the handler of an action, or nil.
func (reg *Registry) Handler(service, action string) *Handler { return reg.handlers[service][action] }

// Services returns the names of the services that have handlers, sorted.
func (reg *Registry) Services() []string { return slices.Sorted(maps.Keys(reg.handlers)) }

// Actions returns the actions of a service, sorted.
func (reg *Registry) Actions(service string) []string {
	return slices.Sorted(maps.Keys(reg.handlers[service]))
}

// State registers the function that dumps what a service holds in a region: a value that
// encoding/json writes as {kind: {id: …}} and that does not depend on map order or addresses. A
// global service dumps what the region's account holds.
func (reg *Registry) State(service string, dump func(*Region) any) {
	if reg.dumpers[service] != nil {
		panic("sim: two state dumpers for " + service)
	}
	reg.dumpers[service] = dump
}

// Dump returns the state of every service in a region, by service.
func (reg *Registry) Dump(r *Region) map[string]any {
	state := make(map[string]any, len(reg.dumpers))
	for service, dump := range reg.dumpers {
		state[service] = dump(r)
	}
	return state
}
