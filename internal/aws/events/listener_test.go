package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/world"
)

const (
	account  = "123456789012"
	region   = "us-east-1"
	patience = 10 * time.Second
)

// rig is a listener to a queue of a simulated AWS, on a clock that stands still until it is stepped.
type rig struct {
	*testing.T
	sim      *awssim.Simulator
	sqs      *sqs.Client
	listener *Listener
	url      string
	// heard and listening receive the reports of the listener.
	heard chan Happened
	// refusals are the errors that the receiver returns, one per call.
	refusals  chan error
	listening chan string
}

func newRig(t *testing.T, name string) *rig {
	t.Helper()
	w := *world.Default()
	w.Regions = slices.Clone(w.Regions)
	w.Regions[0].Queues = []world.Queue{{Name: "slipway"}}
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{World: &w})
	client := sqs.NewFromConfig(awssdk.Config{
		Region: region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("AKIATEST"+account, "secret", ""),
		Retryer: func() awssdk.Retryer { return awssdk.NopRetryer{} },
	})
	r := &rig{
		T: t, sim: sim, sqs: client, url: "https://sqs.us-east-1.amazonaws.com/" + account + "/slipway",
		heard: make(chan Happened, 100), listening: make(chan string, 100), refusals: make(chan error, 1),
	}
	r.listener = &Listener{
		SQS: client, Name: name, Identity: "controller", Region: region, Clock: clock, Metrics: NewMetrics(),
		Heard: func(_ context.Context, url string, happened Happened) error {
			if url != r.url {
				t.Errorf("heard of %s, want %s", url, r.url)
			}
			r.heard <- happened
			select {
			case err := <-r.refusals:
				return err
			default:
				return nil
			}
		},
		Listening: func(url string) { r.listening <- url },
	}
	return r
}

// listen runs the listener until the test finishes.
func (r *rig) listen() {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.listener.Run(ctx) }()
	r.Cleanup(func() { cancel(); <-done })
}

func next[T any](r *rig, what string, told <-chan T) T {
	r.Helper()
	select {
	case value := <-told:
		return value
	case <-time.After(patience):
		r.Fatalf("%s was not told in time", what)
		panic("unreachable")
	}
}

func (r *rig) send(bodies ...string) {
	r.Helper()
	for _, body := range bodies {
		if _, err := r.sqs.SendMessage(r.Context(), &sqs.SendMessageInput{QueueUrl: &r.url, MessageBody: &body}); err != nil {
			r.Fatal(err)
		}
	}
}

// eventually waits for a condition of the world.
func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("in time, not: %s", what)
		}
	}
}

// left returns the number of messages in the queue, including hidden ones.
func (r *rig) left() string {
	out, err := r.sqs.GetQueueAttributes(r.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &r.url, AttributeNames: []sqstypes.QueueAttributeName{"All"}})
	if err != nil {
		r.Fatal(err)
	}
	return out.Attributes["ApproximateNumberOfMessages"] + "+" + out.Attributes["ApproximateNumberOfMessagesNotVisible"]
}

// metric is the value of the series that has the label value; -1 if there is none.
func (r *rig) metric(name, label string) float64 {
	r.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(r.listener.Metrics)
	families, err := registry.Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, pair := range series.GetLabel() {
				if family.GetName() == name && pair.GetValue() == label {
					return series.GetCounter().GetValue() + series.GetGauge().GetValue()
				}
			}
		}
	}
	return -1
}

func stateChange(account, region, id, state string) string {
	return fmt.Sprintf(`{"version":"0","source":"aws.ec2","detail-type":"EC2 Instance State-change Notification","account":%q,"region":%q,"detail":{"instance-id":%q,"state":%q}}`,
		account, region, id, state)
}

func ofSpot(kind, id string) string {
	return fmt.Sprintf(`{"version":"0","source":"aws.ec2","detail-type":%q,"account":%q,"region":%q,"detail":{"instance-id":%q,"instance-action":"terminate"}}`,
		kind, account, region, id)
}

func ofGroup(name string) string {
	return fmt.Sprintf(`{"source":"aws.autoscaling","detail-type":"EC2 Instance Terminate Successful","account":%q,"region":%q,"detail":{"AutoScalingGroupName":%q}}`,
		account, region, name)
}

// TestHeard holds that messages that wait in the queue are delivered in one batch, and all of them
// are deleted.
func TestHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t, "slipway")
	r.send(
		stateChange(account, region, "i-2", "terminated"), stateChange(account, region, "i-1", "running"), stateChange(account, region, "i-2", "shutting-down"),
		ofGroup("pool"), ofGroup("pool"),
		ofSpot("EC2 Instance Rebalance Recommendation", "i-6"), ofSpot("EC2 Spot Instance Interruption Warning", "i-5"),
		"not JSON", `{"detail":{}}`, `{"source":"aws.s3","account":"123456789012","region":"us-east-1"}`,
		stateChange("444455556666", region, "i-3", "running"), stateChange(account, "eu-west-1", "i-4", "running"),
	)
	r.listen()
	if url := next(r, "that it listens", r.listening); url != r.url {
		t.Errorf("it listens to %q, want %q", url, r.url)
	}
	want := Happened{
		Instances: []string{"i-1", "i-2", "i-5", "i-6"}, Ended: []string{"i-2"}, Interrupted: []string{"i-5"}, AtRisk: []string{"i-6"}, Groups: []string{"pool"},
	}
	if diff := cmp.Diff(want, next(r, "what happened", r.heard)); diff != "" {
		t.Error(diff)
	}
	r.eventually("the queue is empty", func() bool { return r.left() == "0+0" })
	for fate, want := range map[string]float64{heard: 7, foreign: 3, unreadable: 2} {
		if got := r.metric("slipway_event_messages_total", fate); got != want {
			t.Errorf("%v messages were %s, want %v", got, fate, want)
		}
	}
	// Messages that arrive while it waits are delivered without advancing the clock.
	r.send(stateChange(account, region, "i-5", "stopped"))
	if diff := cmp.Diff(Happened{Instances: []string{"i-5"}}, next(r, "what happened next", r.heard)); diff != "" {
		t.Error(diff)
	}
}

// TestDelays holds that the delay of an event is measured from the time in it, and that an event
// without a valid time is heard all the same.
func TestDelays(t *testing.T) {
	t.Parallel()
	happened := Happened{}
	body := func(at string) string {
		return fmt.Sprintf(`{"source":"aws.ec2","account":%q,"region":%q,%s"detail":{"instance-id":"i-1"}}`, account, region, at)
	}
	for _, row := range []struct {
		text string
		want time.Time
	}{
		{`"time":"2026-11-21T10:00:00Z",`, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)}, {"", time.Time{}}, {`"time":"yesterday",`, time.Time{}}, {`"time":{},`, time.Time{}},
	} {
		if fate, at := happened.read(body(row.text), account, region); fate != heard || !at.Equal(row.want) {
			t.Errorf("an event with %s is %s, of %v", row.text, fate, at)
		}
	}
	r := newRig(t, "slipway")
	r.send(body(`"time":"2026-11-21T09:59:57Z",`))
	r.listen()
	next(r, "what happened", r.heard)
	registry := prometheus.NewRegistry()
	registry.MustRegister(r.listener.Metrics)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if got := family.GetMetric()[0].GetHistogram(); family.GetName() == "slipway_event_delay_seconds" && (got.GetSampleCount() != 1 || got.GetSampleSum() != 3) {
			t.Errorf("%d events came %v s late, want 3", got.GetSampleCount(), got.GetSampleSum())
		}
	}
}

// TestHeardAgain holds that a message that could not be processed is delivered again as soon as the
// queue returns it, and is only deleted then.
func TestHeardAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "slipway")
	r.refusals <- errors.New("the API server does not respond")
	r.send(ofSpot("EC2 Spot Instance Interruption Warning", "i-1"))
	r.listen()
	want := Happened{Instances: []string{"i-1"}, Interrupted: []string{"i-1"}}
	if diff := cmp.Diff(want, next(r, "what happened", r.heard)); diff != "" {
		t.Error(diff)
	}
	r.eventually("the message is hidden, and not deleted", func() bool { return r.left() == "0+1" })
	var again Happened
	r.eventually("it comes again", func() bool {
		r.sim.Clock().Step(30 * time.Second)
		select {
		case again = <-r.heard:
			return true
		default:
			return false
		}
	})
	if diff := cmp.Diff(want, again); diff != "" {
		t.Error(diff)
	}
	r.eventually("the queue is empty", func() bool { return r.left() == "0+0" })
}

// TestSilence holds that a queue that does not exist, or cannot be read, is asked for again and
// again, ever more rarely.
func TestSilence(t *testing.T) {
	t.Parallel()
	r := newRig(t, "none")
	r.listen()
	for _, wait := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		if url := next(r, "that it cannot listen", r.listening); url != "" {
			t.Fatalf("it listens to %q", url)
		}
		r.awaitTimer(wait)
	}
	next(r, "that it cannot listen", r.listening)
	if calls := len(r.sim.Calls()); calls != 4 {
		t.Errorf("%d calls were made in four attempts", calls)
	}
}

// awaitTimer steps the clock, once a timer waits for it, by just enough for the listener to try
// again.
func (r *rig) awaitTimer(wait time.Duration) {
	r.Helper()
	calls := len(r.sim.Calls())
	// It may not have begun to wait yet: the next step makes up for this one then.
	r.eventually("another attempt", func() bool {
		r.sim.Clock().Step(wait)
		return len(r.sim.Calls()) > calls
	})
}

// TestRecovery holds that when reading fails it falls silent; when it works again it listens again,
// and nothing was lost.
func TestRecovery(t *testing.T) {
	t.Parallel()
	r := newRig(t, "slipway")
	if _, err := r.sim.AddFault(awssim.Fault{ID: "denied", Action: "DeleteMessageBatch", Code: "AccessDenied", Message: "no", Status: 403}); err != nil {
		t.Fatal(err)
	}
	r.listen()
	if url := next(r, "that it listens", r.listening); url == "" {
		t.Fatal("it does not listen")
	}
	r.send(ofGroup("pool"))
	next(r, "what happened", r.heard)
	if url := next(r, "that it cannot delete", r.listening); url != "" {
		t.Fatalf("it listens to %q", url)
	}
	if got := r.metric("slipway_event_queue_read", "controller"); got != 0 {
		t.Errorf("the metric says %v", got)
	}
	r.sim.RemoveFault("denied")
	r.awaitTimer(30 * time.Second) // and the message is visible again
	if url := next(r, "that it listens again", r.listening); url == "" {
		t.Fatal("it does not listen")
	}
	if diff := cmp.Diff(Happened{Groups: []string{"pool"}}, next(r, "the same once more", r.heard)); diff != "" {
		t.Error(diff)
	}
	r.eventually("the queue is empty", func() bool { return r.left() == "0+0" })
}
