package aws

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws/action"
)

var errNotLeading = errors.New("the lease is too old")

// TestWritesNeedALease holds that no call that could change something reaches AWS from a process
// that may not write, not even the second attempt of one, and that reading goes on.
func TestWritesNeedALease(t *testing.T) {
	t.Parallel()
	clock := simclock.New(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), 0)
	t.Cleanup(clock.Close)
	sim := awssim.New(awssim.Options{Clock: clock})
	var failing, lost atomic.Bool
	handler := sim.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if failing.Load() {
			lost.Store(true) // the process is stopped while AWS answers
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	clients, err := NewSessions(awssdk.Config{
		BaseEndpoint: awssdk.String(server.URL), Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKID123456789012", "secret", ""),
	}, WithClock(clock), WithBackoff(time.Millisecond), WithMayWrite(func() error {
		if lost.Load() {
			return errNotLeading
		}
		return nil
	})).For(t.Context(), Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	create := func(reason string, want int) {
		t.Helper()
		_, err := clients.EC2.CreateLaunchTemplate(t.Context(), template(reason))
		var held *NotSentError
		if lost.Load() && (!errors.As(err, &held) || !errors.Is(err, errNotLeading) || FateOf(err).Kind != RetrySoon || IsUncertain(err)) || !lost.Load() && err != nil {
			t.Errorf("%s: error %v, fate %v", reason, err, FateOf(err))
		}
		created := 0
		for _, call := range sim.Calls() {
			if call.Action == "CreateLaunchTemplate" {
				created++
			}
		}
		if created != want {
			t.Errorf("%s: %d calls reached AWS, want %d", reason, created, want)
		}
	}
	create("leads", 1)
	lost.Store(true)
	create("lost-its-lease", 1)
	if _, err := clients.EC2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{}); err != nil {
		t.Errorf("reading: %v", err)
	}
	lost.Store(false)
	create("leads-again", 2)
	failing.Store(true)
	create("loses-it-between-two-attempts", 2)
}

// TestActionsThatChangeNothing holds that every action that Slipway calls is classified by its
// verb, and actions of unknown verbs as writes.
func TestActionsThatChangeNothing(t *testing.T) {
	t.Parallel()
	verbs := []string{
		"Add", "Associate", "Attach", "Cancel", "Complete", "Create", "Delete", "Detach", "Disable", "Enable", "Modify", "Put", "Receive", "Record", "Remove",
		"Resume", "Rollback", "Run", "Send", "Set", "Start", "Suspend", "Tag", "Terminate", "Untag", "Update",
	}
	counted := map[bool]int{}
	for service := range reflect.TypeFor[Clients]().NumField() {
		field := reflect.TypeFor[Clients]().Field(service)
		kind := field.Type
		if !field.IsExported() || kind.Kind() != reflect.Pointer {
			continue
		}
		for i := range kind.NumMethod() {
			name := kind.Method(i).Name
			known := false
			for _, verb := range verbs {
				known = known || strings.HasPrefix(name, verb)
			}
			if action.Changes(name) != known {
				t.Errorf("%s is classed as a write: %t", name, action.Changes(name))
			}
			counted[action.Changes(name)]++
		}
	}
	if counted[true] < 20 || counted[false] < 20 {
		t.Errorf("actions that write and that read: %v", counted)
	}
	if !action.Changes("Frobnicate") {
		t.Error("an action of an unknown verb is classed as one that changes nothing")
	}
}
