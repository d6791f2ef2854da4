package clustername_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
)

// account holds what AWS has under the name of a cluster.
type account struct {
	instances, templates    map[string]string // marks, by id or name
	noInstances, noTemplate error
	asked                   int
}

func marked(mark string) map[string]string {
	if mark == "" {
		return nil
	}
	return map[string]string{infrav1.TagClusterUID: mark}
}

func (a *account) OfCluster(context.Context, string) (map[string]fleet.Instance, error) {
	a.asked++
	found := map[string]fleet.Instance{}
	for id, mark := range a.instances {
		found[id] = fleet.Instance{ID: id, Tags: marked(mark)}
	}
	return found, a.noInstances
}

func (a *account) Tagged(context.Context, string, string) (map[string]launchtemplate.Template, error) {
	found := map[string]launchtemplate.Template{}
	for name, mark := range a.templates {
		found[name] = launchtemplate.Template{Name: name, Tags: marked(mark)}
	}
	return found, a.noTemplate
}

func TestTaken(t *testing.T) {
	t.Parallel()
	down := errors.New("AWS does not answer")
	for _, row := range []struct {
		reason  string
		account account
		want    string // part of the answer
		fails   bool
	}{
		{reason: "no cluster uses the name", account: account{}},
		{reason: "only this cluster does", account: account{instances: map[string]string{"i-1": "ours"}, templates: map[string]string{"t": "ours"}}},
		{reason: "an earlier release set no mark", account: account{instances: map[string]string{"i-1": ""}, templates: map[string]string{"t": ""}}},
		{reason: "another cluster has an instance", account: account{instances: map[string]string{"i-1": "ours", "i-2": "theirs"}}, want: "instance i-2 has its UID, theirs,"},
		{reason: "another cluster has a launch template", account: account{templates: map[string]string{"t": "theirs"}}, want: "launch template t has its UID, theirs,"},
		{reason: "two others have many", account: account{instances: map[string]string{"i-1": "a", "i-2": "b", "i-3": "a", "i-4": "a", "i-5": "a"}},
			want: "instance i-1, instance i-2, instance i-3, and 2 more have its UID, a, b,"},
		{reason: "without instances it is unknown", account: account{noInstances: down}, fails: true},
		{reason: "without templates the instances decide", account: account{noTemplate: down}},
		{reason: "without templates another's instance counts", account: account{noTemplate: down, instances: map[string]string{"i-1": "theirs"}}, want: "i-1"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			names := &clustername.Names{Instances: &row.account, Templates: &row.account, ClusterUID: "ours", Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
			why, err := names.Taken(t.Context(), "prod")
			if (err != nil) != row.fails {
				t.Fatalf("the error is %v", err)
			}
			if (why == "") != (row.want == "") || !strings.Contains(why, row.want) {
				t.Errorf("it is taken because %q, want %q", why, row.want)
			}
		})
	}
}

// TestTakenIsAskedSeldom holds how often AWS is asked, and that what was known holds while it does
// not answer.
func TestTakenIsAskedSeldom(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	aws := &account{templates: map[string]string{"t": "theirs"}}
	names := &clustername.Names{Instances: aws, Templates: aws, ClusterUID: "ours", Clock: clock}
	look := func(after time.Duration, asked int, taken bool) {
		t.Helper()
		clock.SetTime(clock.Now().Add(after))
		why, err := names.Taken(t.Context(), "prod")
		if err != nil || (why != "") != taken || aws.asked != asked {
			t.Errorf("after %v: taken because %q, asked %d times, want %d; %v", after, why, aws.asked, asked, err)
		}
	}
	look(0, 1, true)
	look(time.Minute, 1, true)
	aws.noTemplate = errors.New("AWS does not describe launch templates")
	aws.templates = nil
	look(5*time.Minute, 2, true)
	aws.noInstances = errors.New("AWS does not answer")
	look(6*time.Minute, 3, true)
	aws.noInstances, aws.noTemplate = nil, nil
	look(0, 4, false)
	look(time.Minute, 4, false)
}
