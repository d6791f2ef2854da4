// Package awssimtest starts a simulated AWS for a test, as package httptest starts a server.
package awssimtest

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
)

// Start starts a simulated AWS that ends with the test. Its clock begins at the given time,
// whatever the options say, and only the test moves it. Start returns the simulator, the clock, and
// the URL at which the simulator answers.
func Start(t testing.TB, now time.Time, options awssim.Options) (simulator *awssim.Simulator, clock *simclock.Clock, url string) {
	t.Helper()
	clock = simclock.New(now, 0)
	t.Cleanup(clock.Close)
	options.Clock = clock
	simulator = awssim.New(options)
	server := httptest.NewServer(simulator.Handler())
	t.Cleanup(server.Close)
	return simulator, clock, server.URL
}

// Config returns the configuration of clients of the simulated AWS at a URL, in a region, by an
// access key of an account.
func Config(url, region, account string) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("AKIATEST"+account, "secret", ""),
	}
}
