package awssim_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"go.uber.org/goleak"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	slipwayaws "github.com/slipway-project/slipway/internal/aws"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Idle connections of the SDK's own HTTP clients, which it offers no way to close.
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
	)
}

// endpoint is a simulated AWS that serves, on a clock that stands still.
type endpoint struct {
	*awssim.Simulator
	url string
}

func serve(t testing.TB, o awssim.Options) *endpoint {
	t.Helper()
	if o.Clock == nil {
		o.Clock = simclock.New(start, 0)
		t.Cleanup(o.Clock.Close)
	}
	s := awssim.New(o)
	url, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &endpoint{s, url}
}

const (
	account = "111122223333"
	region  = "us-east-1"
	key     = "AKIATEST" + account
)

// config returns the SDK's configuration for an access key. Calls are tried once.
func (e *endpoint) config(accessKey string) aws.Config {
	return aws.Config{
		Region:       region,
		Credentials:  credentials.NewStaticCredentialsProvider(accessKey, "secret", ""),
		BaseEndpoint: aws.String(e.url),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
		APIOptions:   []func(*middleware.Stack) error{slipwayaws.SendBodies},
		HTTPClient:   &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// code returns the error code of an SDK call, "" if it succeeded, "?" if it failed without one.
func code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	default:
		return "?"
	}
}

func must[T any](t testing.TB) func(out T, err error) T {
	return func(out T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}
