package labtest

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Warnings are what a client was told by the API server.
type Warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *Warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// Taken are the warnings since the last call.
func (w *Warnings) Taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

// Listening is a client that hears warnings, as kubectl does.
func (e *Env) Listening() (client.Client, *Warnings) {
	e.Helper()
	heard := &Warnings{}
	config := rest.CopyConfig(e.Lab.RESTConfig())
	config.WarningHandlerWithContext = heard
	person, err := client.New(config, client.Options{Scheme: e.Client.Scheme()})
	if err != nil {
		e.Fatal(err)
	}
	return person, heard
}
