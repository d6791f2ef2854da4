package awssim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// control calls an endpoint below /_sim/ and returns status and body.
func (e *endpoint) control(t testing.TB, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, e.url+"/_sim/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// ok calls an endpoint that must succeed and decodes the answer, if there is one.
func (e *endpoint) ok(t testing.TB, method, path, body string) (answer any) {
	t.Helper()
	status, text := e.control(t, method, path, body)
	if status != http.StatusOK && status != http.StatusNoContent {
		t.Fatalf("%s %s answered %d: %s", method, path, status, text)
	}
	if status == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return answer
}

type object = map[string]any

func TestControlCalls(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	if diff := cmp.Diff(any([]any{}), e.ok(t, "GET", "calls", "")); diff != "" {
		t.Errorf("before any call (-want +got)\n%s", diff)
	}
	if err := putParameter(t, e); err != nil {
		t.Fatal(err)
	}
	calls := e.ok(t, "GET", "calls", "").([]any)
	if sent := e.Calls()[0].UserAgent; !strings.HasPrefix(sent, "aws-sdk-go-v2/") {
		t.Errorf("the user agent is %q, want that of the SDK", sent)
	}
	want := object{
		"time": "2026-01-01T00:00:00Z", "service": "ssm", "action": "PutParameter",
		"principal": "arn:aws:iam::" + account + ":user/" + key, "requestId": e.Calls()[0].RequestID,
		"clientToken": "", "userAgent": e.Calls()[0].UserAgent, "status": 200.0, "code": "", "account": account, "region": region,
	}
	if diff := cmp.Diff([]any{want}, calls); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	e.ok(t, "DELETE", "calls", "")
	if len(e.Calls()) != 0 {
		t.Error("the log was not emptied")
	}
}

func TestControlClock(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	got := e.ok(t, "POST", "clock", `{"step": "1h30m"}`)
	if diff := cmp.Diff(any(object{"now": "2026-01-01T01:30:00Z", "rate": 0.0}), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	e.Clock().AfterFunc(time.Minute, func() {})
	got = e.ok(t, "GET", "clock", "")
	if diff := cmp.Diff(any(object{"now": "2026-01-01T01:30:00Z", "rate": 0.0, "next": "2026-01-01T01:31:00Z"}), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	e.ok(t, "POST", "clock", `{"rate": 100}`)
	if rate := e.Clock().Rate(); rate != 100 {
		t.Errorf("the rate is %v", rate)
	}
}

func TestControlBehavior(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{Behavior: awssim.Behavior{ReadLag: time.Second}})
	e.ok(t, "POST", "behavior", `{"instanceTimes": {"pending": "20s", "boot": "40s"}, "throttling": true, "forgetTokens": true,
		"capacity": [{"instanceType": "m5.large", "zone": "us-east-1a", "available": 2}]}`)
	want := awssim.Behavior{
		InstanceTimes: awssim.InstanceTimes{Pending: 20 * time.Second, Boot: 40 * time.Second},
		ReadLag:       time.Second, // was not named, hence stays
		Throttling:    true,
		ForgetTokens:  true,
		Capacity:      []awssim.CapacityRule{{InstanceType: "m5.large", Zone: "us-east-1a", Available: 2}},
	}
	if diff := cmp.Diff(want, e.Behavior()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	e.ok(t, "POST", "behavior", `{"capacity": [], "readLag": "0s"}`)
	want.Capacity, want.ReadLag = nil, 0
	if diff := cmp.Diff(want, e.Behavior()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestControlBehaviorListsAreReplaced holds that a rule that is sent has nothing of the rule that
// stood in its place before.
func TestControlBehaviorListsAreReplaced(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	e.ok(t, "POST", "behavior", `{"capacity": [{"instanceType": "m5.large", "zone": "us-east-1a", "market": "spot", "available": 2}],
		"spotPrices": [{"instanceType": "m5.large", "zone": "us-east-1a", "usd": 1}],
		"nodes": [{"cluster": "one", "nodegroup": "a", "neverReady": true, "neverDrained": true, "drainTime": "9s"}]}`)
	e.ok(t, "POST", "behavior", `{"capacity": [{"available": 1}], "spotPrices": [{"usd": 2}], "nodes": [{"imageID": "ami-1"}]}`)
	want := awssim.Behavior{
		Capacity: []awssim.CapacityRule{{Available: 1}}, SpotPrices: []awssim.SpotPriceRule{{USD: 2}}, Nodes: []awssim.NodeRule{{ImageID: "ami-1"}},
	}
	if diff := cmp.Diff(want, e.Behavior()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestControlFaults(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	got := e.ok(t, "POST", "faults", `[
		{"id": "mine", "service": "ssm", "action": "PutParameter", "nth": 2, "count": 3, "principal": "`+key+`",
		 "place": "after-effect", "code": "InternalError", "message": "oops", "status": 500, "delay": "2s"},
		{"drop": true}]`)
	if diff := cmp.Diff(any(object{"ids": []any{"mine", "fault-1"}}), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := []awssim.Fault{
		{
			ID: "mine", Service: "ssm", Action: "PutParameter", Nth: 2, Count: 3, Principal: key, Place: awssim.AfterEffect,
			Code: "InternalError", Message: "oops", Status: 500, Delay: 2 * time.Second,
		},
		{ID: "fault-1", Place: awssim.Before, Drop: true},
	}
	if diff := cmp.Diff(want, e.Faults()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	listed := e.ok(t, "GET", "faults", "").([]any)
	if len(listed) != 2 || listed[0].(object)["delay"] != "2s" {
		t.Errorf("listed %v", listed)
	}
	e.ok(t, "DELETE", "faults?id=mine", "")
	if status, _ := e.control(t, "DELETE", "faults?id=mine", ""); status != http.StatusNotFound {
		t.Errorf("removing a fault twice answered %d", status)
	}
	e.ok(t, "POST", "faults", `{"code": "One"}`)
	e.ok(t, "DELETE", "faults", "")
	if got := e.Faults(); len(got) != 0 {
		t.Errorf("%v are left", got)
	}
}

func TestControlStateAndReset(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	fresh := e.ok(t, "GET", "state?account="+account+"&region="+region, "")
	for _, service := range []string{"autoscaling", "ec2", "iam", "ssm"} {
		if fresh.(object)[service] == nil {
			t.Errorf("the state of %s is missing", service)
		}
	}
	if err := putParameter(t, e); err != nil {
		t.Fatal(err)
	}
	used := e.ok(t, "GET", "state?account="+account+"&region="+region, "")
	if cmp.Equal(fresh, used) {
		t.Error("the state does not tell a new parameter")
	}
	if other := e.ok(t, "GET", "state?account=999988887777", ""); cmp.Equal(used, other) {
		t.Error("accounts share their state")
	}
	e.ok(t, "POST", "reset", "")
	if diff := cmp.Diff(fresh, e.ok(t, "GET", "state?account="+account, "")); diff != "" {
		t.Errorf("after the reset (-fresh +got)\n%s", diff)
	}
	if len(e.Calls()) != 0 {
		t.Error("calls survived the reset")
	}
}

func TestControlRefusesNonsense(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	rows := []struct {
		reason, method, path, body string
		status                     int
	}{
		{"no JSON", "POST", "clock", "step", 400},
		{"a misspelt member", "POST", "clock", `{"steps": "1h"}`, 400},
		{"nothing to do", "POST", "clock", `{}`, 400},
		{"time does not go backward", "POST", "clock", `{"step": "-1h"}`, 400},
		{"a rate below 0", "POST", "clock", `{"rate": -1}`, 400},
		{"a duration without a unit", "POST", "clock", `{"step": 60}`, 400},
		{"two values", "POST", "clock", `{"step": "1h"}{"step": "1h"}`, 400},
		{"a misspelt behavior", "POST", "behavior", `{"lag": "1s"}`, 400},
		{"negative capacity", "POST", "behavior", `{"capacity": [{"available": -1}]}`, 400},
		{"a negative lag", "POST", "behavior", `{"readLag": "-1s"}`, 400},
		{"a fault that does nothing", "POST", "faults", `{"service": "ec2"}`, 400},
		{"a fault at no place", "POST", "faults", `{"place": "later", "drop": true}`, 400},
		{"a region the world lacks", "GET", "state?region=mars-north-1", "", 400},
		{"an alarm without a name", "POST", "alarms", `{"state": "OK"}`, 400},
		{"an alarm in no known state", "POST", "alarms", `{"name": "errors", "state": "RED"}`, 400},
		{"an alarm in a region the world lacks", "POST", "alarms", `{"region": "mars-north-1", "name": "errors", "state": "OK"}`, 400},
		{"alarms of a region the world lacks", "GET", "alarms?region=mars-north-1", "", 400},
		{"an endpoint that is not there", "GET", "weather", "", 404},
		{"the wrong method", "GET", "reset", "", 405},
	}
	for _, row := range rows {
		if status, body := e.control(t, row.method, row.path, row.body); status != row.status {
			t.Errorf("%s: answered %d, want %d: %s", row.reason, status, row.status, body)
		}
	}
	if got := e.Clock().Now(); !got.Equal(start) {
		t.Errorf("the clock moved by %v", got.Sub(start))
	}
	if got := e.Faults(); len(got) != 0 {
		t.Errorf("faults were set: %v", got)
	}
}

func TestControlAlarms(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	e.ok(t, "POST", "alarms", `{"account": "`+account+`", "name": "errors", "state": "OK"}`)
	e.ok(t, "POST", "alarms", `{"account": "`+account+`", "name": "errors", "state": "ALARM"}`)
	if diff := cmp.Diff(any(object{"errors": "ALARM"}), e.ok(t, "GET", "alarms?account="+account, "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(any(object{}), e.ok(t, "GET", "alarms", "")); diff != "" {
		t.Errorf("the default account has alarms (-want +got)\n%s", diff)
	}
	e.Reset()
	if got, err := e.Region(account, region).Alarms(); err != nil || len(got) != 0 {
		t.Errorf("after the reset there are %v, %v", got, err)
	}
}
