package aws

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	clocktesting "k8s.io/utils/clock/testing"
)

// answer is a response that the fake wire returns. The zero answer is a success without content.
type answer struct {
	status        int
	code, message string
	drop          bool
}

// wire is the other end of the SDK's connection: it speaks EC2's and STS's protocol, and returns
// the answers that a test queues. The services themselves are tested with the simulated AWS; here
// it is about what lies between.
type wire struct {
	url string

	mu      sync.Mutex
	answers []answer
	calls   []string
}

func newWire(t *testing.T, answers ...answer) *wire {
	t.Helper()
	w := &wire{answers: answers}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func (w *wire) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	action := request.FormValue("Action")
	w.mu.Lock()
	w.calls = append(w.calls, action)
	number := len(w.calls)
	var a answer
	if len(w.answers) > 0 {
		a, w.answers = w.answers[0], w.answers[1:]
	}
	w.mu.Unlock()

	id := fmt.Sprintf("00000000-0000-0000-0000-%012d", number)
	switch {
	case a.drop:
		panic(http.ErrAbortHandler)
	case a.code != "":
		out.WriteHeader(a.status)
		if action == "GetCallerIdentity" {
			_, _ = fmt.Fprintf(out, `<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>`, a.code, a.message, id)
			return
		}
		_, _ = fmt.Fprintf(out, `<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>`, a.code, a.message, id)
	case action == "GetCallerIdentity":
		_, _ = fmt.Fprintf(out, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></GetCallerIdentityResponse>`, id)
	default:
		_, _ = fmt.Fprintf(out, `<%sResponse><requestId>%s</requestId></%sResponse>`, action, id, action)
	}
}

func (w *wire) called() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls)
}

// config returns a configuration whose AWS is the wire.
func (w *wire) config() awssdk.Config {
	return awssdk.Config{
		BaseEndpoint: awssdk.String(w.url),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
	}
}

func (w *wire) clients(t *testing.T, opts ...Option) *Clients {
	t.Helper()
	clients, err := NewSessions(w.config(), append([]Option{WithBackoff(time.Millisecond)}, opts...)...).For(t.Context(), Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func stoppedClock() *clocktesting.FakePassiveClock {
	return clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}
