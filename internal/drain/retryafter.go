package drain

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// WithoutRetries returns a configuration whose clients return the refusal of an eviction at once.
// client-go sends a request that is answered with Retry-After up to ten times more, and sleeps in
// between: a PodDisruptionBudget would hold up the caller for minutes. Look asks again in its own
// time.
func WithoutRetries(config *rest.Config) *rest.Config {
	impatient := rest.CopyConfig(config)
	impatient.Wrap(func(next http.RoundTripper) http.RoundTripper { return &withoutRetries{next} })
	return impatient
}

// withoutRetries removes the header by which client-go decides to repeat an eviction. The status
// that callers read has the seconds too.
type withoutRetries struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *withoutRetries) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err == nil && strings.HasSuffix(request.URL.Path, "/eviction") {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (t *withoutRetries) WrappedRoundTripper() http.RoundTripper { return t.next }
