package labtest

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Warnings records the API server's warnings to a client.
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

// Taken returns the warnings since the last call.
func (w *Warnings) Taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

// Listening returns a client that records warnings, as kubectl prints them.
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
