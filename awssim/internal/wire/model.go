// Package wire owns the AWS wire protocols: it turns HTTP requests into the SDK's input types and
// the SDK's output types, or errors, into HTTP answers that the SDKs and the AWS CLI read. EC2
// speaks its own query protocol, Auto Scaling, IAM and STS the common one (both answer XML), and
// EventBridge, Systems Manager and SQS JSON, and EKS JSON over REST. The names come from tables
// that wiregen reads off the SDK's own serializers. S3 speaks a REST of its own: its few actions
// are written out in rest.go. The package knows no action's meaning.
package wire

import (
	"reflect"
	"sync"
)

//go:generate go run ./wiregen

// model holds the tables of a service.
type model struct {
	version string // of the API; empty for JSON
	actions []string
	inputs  map[string][]field // by name of the Go struct
	outputs map[string][]field
	routes  map[string]route // by action; of REST services
}

// route is the address of an action of a REST service: method and path, in which {name} stands for
// the member of that name on the wire. queries are the members that are query parameters. All
// others are members of the JSON body.
type route struct {
	method, path string
	queries      []string
}

// field is one member of a structure: its name in Go, its name on the wire, and the name of the
// elements if it is a list that is not flat.
type field struct{ goName, wire, item string }

// places returns the places of the members of a structure in its Go type. They are remembered: to find a
// member by its name takes longer than to write it.
func places(t reflect.Type, fields []field) []int {
	if known, is := knownPlaces.Load(t); is {
		return known.([]int)
	}
	found := make([]int, len(fields))
	for i, f := range fields {
		member, is := t.FieldByName(f.goName)
		if !is || len(member.Index) != 1 {
			panic("wire: " + t.String() + " has no member " + f.goName)
		}
		found[i] = member.Index[0]
	}
	knownPlaces.Store(t, found)
	return found
}

var knownPlaces sync.Map // from reflect.Type to []int
