package aws

import "context"

//go:generate go run ../../hack/awscalls -in calls.yaml -out zz_generated.calls.go

// call is one action of a service, a method of the SDK's client for it. The types of services have
// these functions in place of clients, so that no interface can hold a client: the linker would
// keep all of its methods, which are hundreds, because something in the program looks methods up by
// name. With clients, two fifths of the program were calls that Slipway never sends.
type call[Input, Output, Options any] func(context.Context, *Input, ...func(*Options)) (*Output, error)
