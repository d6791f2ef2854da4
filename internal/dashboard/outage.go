package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const (
	// outageKey is the key of the row that exists while the API server does not answer.
	outageKey = "outage"
	// probeInterval is the interval at which the API server is probed while a page is open, and probeTimeout bounds
	// one probe.
	probeInterval = 10 * time.Second
	probeTimeout  = 5 * time.Second
)

// outage is the row of an API server that does not answer: all other rows are as they were before.
type outage struct {
	// Since is when the API server last answered, as far as that is known.
	Since *time.Time `json:"since"`
}

// ProbeOf returns a function that asks the API server for its version, and returns an error if the API server does
// not answer. Every user may ask, and a refusal is an answer as well.
func ProbeOf(config *rest.Config) (func(ctx context.Context) error, error) {
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return func(ctx context.Context) error {
		err := api.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return nil
		}
		return err
	}, nil
}

// probe adds the row of an outage while the API server does not answer, until the context is done. It asks only
// while a page is open.
func (d *Dashboard) probe(ctx context.Context) {
	answered := d.options.Clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.options.Clock.After(probeInterval):
		}
		var row json.RawMessage // none while the API server answers, and while no page asks
		if asked := d.options.Clock.Now(); !d.feed.watched() || d.answers(ctx) {
			answered = asked
		} else {
			var err error
			if row, err = json.Marshal(outage{Since: dateOf(answered)}); err != nil {
				d.options.Log.Error(err, "Encoding an outage of the API server")
				continue
			}
		}
		d.feed.set(map[string]json.RawMessage{outageKey: row})
	}
}

// answers reports whether the API server answers a probe.
func (d *Dashboard) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := d.options.Probe(ctx)
	if err != nil {
		d.options.Log.V(1).Info("The API server does not answer", "error", err.Error())
	}
	return err == nil
}
