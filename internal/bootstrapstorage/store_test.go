package bootstrapstorage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
)

const (
	account = "123456789012"
	region  = "us-east-1"
	bucket  = "cluster-api-provider-aws-bootstrap"
	owner   = "default/blue/pool"
)

type world struct {
	*testing.T
	sim     *awssim.Simulator
	config  awssdk.Config
	clients *aws.Clients
	store   *bootstrapstorage.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), awssim.Options{})
	config := awssimtest.Config(url, region, account)
	clients, err := aws.NewSessions(config, aws.WithClock(clock), aws.WithLimits(nil)).For(t.Context(), aws.Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, sim: sim, config: config, clients: clients, store: bootstrapstorage.New(clients.SSM, clients.S3)}
}

func item(place bootstrapstorage.Place, data, content string) bootstrapstorage.Item {
	return bootstrapstorage.Item{
		Location: bootstrapstorage.Location{Place: place, Hash: bootstrapstorage.Hash([]byte(data))}, Owner: owner, Content: []byte(content),
		Tags: map[string]string{"kubernetes.io/cluster/blue": "owned"},
	}
}

// read returns what an instance would read.
func (w *world) read(item bootstrapstorage.Item) string {
	w.Helper()
	name := item.Location.Name(item.Owner)
	content, err := w.sim.Region(account, region).Object(item.Location.Bucket, name)
	if item.Location.Bucket == "" {
		content, err = w.sim.Region(account, region).Parameter(name)
	}
	if err != nil {
		return err.Error()
	}
	return content
}

func (w *world) put(item bootstrapstorage.Item, known bool) bool {
	w.Helper()
	written, err := w.store.Put(w.Context(), item, known)
	if err != nil {
		w.Fatal(err)
	}
	return written
}

func (w *world) actions() []string {
	var actions []string
	for _, call := range w.sim.Calls() {
		actions = append(actions, call.Action)
	}
	w.sim.ClearCalls()
	return actions
}

func (w *world) calls(reason string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.actions()); diff != "" {
		w.Errorf("%s: calls (-want +got)\n%s", reason, diff)
	}
}

var places = map[string]bootstrapstorage.Place{"ssm": {}, "s3": {Bucket: bucket}}

func TestPut(t *testing.T) {
	t.Parallel()
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			look, write := "DescribeParameters", "PutParameter"
			if place.Bucket != "" {
				look, write = "HeadObject", "PutObject"
			}
			first, rotated := item(place, "config", "token one"), item(place, "config", "token two")
			if !w.put(first, false) || w.read(first) != "token one" {
				t.Errorf("an instance reads %q", w.read(first))
			}
			w.calls("what is new is looked for, then written", look, write)
			if w.put(first, false) {
				t.Error("what is there is written again")
			}
			w.calls("a restart costs a look", look)
			if !w.put(rotated, true) || w.read(first) != "token two" {
				t.Errorf("after a rotation an instance reads %q where it read before", w.read(first))
			}
			w.calls("a rotation is one write", write)
			w.put(first, false)
			w.calls("a rotation after a restart is a look and a write", look, write)
			if got := w.read(rotated); got != "token one" {
				t.Errorf("an instance reads %q", got)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			kept, old := item(place, "new", "new"), item(place, "old", "old")
			neighbour, longer := item(place, "old", "neighbour"), item(place, "old", "longer")
			neighbour.Owner, longer.Owner = "default/blue/other", "default/blue/pool2"
			for _, each := range []bootstrapstorage.Item{kept, old, neighbour, longer} {
				w.put(each, false)
			}
			w.foreign(place, "/default/blue/pool/"+strings.Repeat("a", 32))
			deleted, err := w.store.Sweep(t.Context(), place, owner, []bootstrapstorage.Location{kept.Location}, nil)
			if err != nil || deleted != 1 {
				t.Fatalf("deleted %d, %v", deleted, err)
			}
			if w.read(kept) != "new" || w.read(old) == "old" || w.read(neighbour) != "neighbour" || w.read(longer) != "longer" {
				t.Errorf("left are %q, %q, %q, %q", w.read(kept), w.read(old), w.read(neighbour), w.read(longer))
			}
			deleted, err = w.store.Sweep(t.Context(), place, owner, nil, []bootstrapstorage.Location{old.Location})
			if err != nil || deleted != 2 || w.read(kept) == "new" {
				t.Errorf("in the end %d were deleted, one of them gone before: %v", deleted, err)
			}
			w.actions()
			if deleted, err := w.store.Sweep(t.Context(), place, owner, nil, nil); err != nil || deleted != 0 {
				t.Errorf("with nothing left %d were deleted, %v", deleted, err)
			}
		})
	}
}

// foreign creates a foreign item at the place of Slipway's.
func (w *world) foreign(place bootstrapstorage.Place, name string) {
	w.Helper()
	var err error
	if place.Bucket == "" {
		_, err = w.clients.SSM.PutParameter(w.Context(), &ssm.PutParameterInput{
			Name: awssdk.String("/slipway" + name), Value: awssdk.String("theirs"), Type: ssmtypes.ParameterTypeString,
		})
	} else {
		_, err = w.clients.S3.PutObject(w.Context(), &s3.PutObjectInput{
			Bucket: &place.Bucket, Key: awssdk.String("node/slipway" + name), Body: strings.NewReader("theirs"),
		})
	}
	if err != nil {
		w.Fatal(err)
	}
}

func TestTakenName(t *testing.T) {
	t.Parallel()
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			mine := item(place, "config", "mine")
			w.foreign(place, "/"+owner+"/"+mine.Location.Hash)
			_, err := w.store.Put(t.Context(), mine, false)
			var taken *bootstrapstorage.TakenError
			if !errors.As(err, &taken) || w.read(mine) != "theirs" {
				t.Errorf("got %v, and an instance reads %q", err, w.read(mine))
			}
			if fate := aws.FateOf(err); fate.Kind != aws.WaitForUser {
				t.Errorf("fate is %v", fate)
			}
		})
	}
}

func TestWhatAWSRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.store.Put(t.Context(), item(bootstrapstorage.Place{Bucket: "not-there"}, "a", "a"), false)
	if aws.Code(err) != "NoSuchBucket" || aws.FateOf(err).Kind != aws.WaitForUser {
		t.Errorf("a bucket that is not there: %v, %v", err, aws.FateOf(err))
	}
	if deleted, err := w.store.Sweep(t.Context(), bootstrapstorage.Place{Bucket: "not-there"}, owner, nil, []bootstrapstorage.Location{
		item(bootstrapstorage.Place{Bucket: "not-there"}, "a", "a").Location,
	}); err != nil {
		t.Errorf("a bucket that was deleted with its cluster blocks the deletion: %d, %v", deleted, err)
	}
	for action, place := range map[string]bootstrapstorage.Place{"HeadObject": {Bucket: bucket}, "DescribeParameters": {}} {
		if _, err := w.sim.AddFault(awssim.Fault{Action: action, Code: "AccessDenied", Status: 403}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Put(t.Context(), item(place, "a", "a"), false); !aws.IsAccessDenied(err) || !strings.Contains(aws.UserMessage(err), action) {
			t.Errorf("%s that is not allowed: %v", action, err)
		}
	}
}

// TestParametersAreSecret holds that a parameter's value is secret, also from callers that may
// describe it.
func TestParametersAreSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := item(bootstrapstorage.Place{}, "config", "abcdef.0123456789abcdef")
	w.put(secret, false)
	found, err := w.clients.SSM.GetParameter(t.Context(), &ssm.GetParameterInput{Name: awssdk.String(secret.Location.Name(owner))})
	if err != nil || found.Parameter.Type != ssmtypes.ParameterTypeSecureString || strings.Contains(*found.Parameter.Value, "abcdef.") {
		t.Errorf("without decryption: %+v, %v", found, err)
	}
	tags, err := ssm.NewFromConfig(w.config).ListTagsForResource(t.Context(), &ssm.ListTagsForResourceInput{
		ResourceType: ssmtypes.ResourceTypeForTaggingParameter, ResourceId: found.Parameter.Name,
	})
	if err != nil || len(tags.TagList) != 1 {
		t.Errorf("tags are %+v, %v", tags, err)
	}
}

func TestLocations(t *testing.T) {
	t.Parallel()
	hash := bootstrapstorage.Hash([]byte("x"))
	for _, location := range []bootstrapstorage.Location{{Hash: hash}, {Place: bootstrapstorage.Place{Bucket: "a.b-c"}, Hash: hash}} {
		if got, ok := bootstrapstorage.ParseLocation(location.String()); !ok || got != location {
			t.Errorf("%s is read as %+v, %v", location, got, ok)
		}
		if len(location.String()) > 100 {
			t.Errorf("%s is too long for a description", location)
		}
	}
	for _, text := range []string{"", "ssm", "ssm/", "ssm/xyz", "s3/" + hash, "s3/UPPER/" + hash, "gs/b/" + hash} {
		if got, ok := bootstrapstorage.ParseLocation(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
