package launchconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// world holds what Decide decides from, and what its actions change: no API server, no AWS, and no
// clock.
type world struct {
	*testing.T
	config *infrav1.AWSLaunchConfig
	seen   Observed
	now    time.Time
	// inputs are what versions were made of, by number.
	inputs map[int64]launchtemplate.Input
	// fails holds the errors of failing actions, by the beginning of the action's text, and answers
	// observes needs that a world cannot answer by itself.
	fails   map[string]error
	answers map[reconcile.Need]func(*Observed)
	// warns is the warning that EC2 returns for each version that it creates.
	warns string
	// last is the final plan of the last pass.
	last reconcile.Plan
}

const templateID = "lt-0a1b2c3d"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, config: launchConfig(nil), now: time.Date(2026, time.November, 23, 10, 0, 0, 0, time.UTC), inputs: map[int64]launchtemplate.Input{},
		fails: map[string]error{}, answers: map[reconcile.Need]func(*Observed){},
	}
	w.seen = Observed{
		Access: pool.Access{
			Cluster: clusterName, Exists: true, Location: ownership.Location{Region: "us-east-1", Cluster: clusterName},
			Facts: &cluster.Facts{Namespace: namespace, Name: clusterName, KubernetesName: clusterName, Region: "us-east-1", VPCID: "vpc-1", NodeSecurityGroupIDs: []string{"sg-1"}},
		},
		Interval: 8 * time.Minute, Template: seenTemplate{Looked: true}, Bootstrap: &seenBootstrap{},
		Lookups: &lookups{},
		Image:   &foundImage{Image: discovery.Image{ID: "ami-1", Architecture: "x86_64", RootDeviceName: "/dev/xvda"}, Key: "key"},
	}
	return w
}

// ready is a world with a config at rest.
func readyWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.pass()
	w.now = w.now.Add(time.Hour)
	return w
}

// pass decides and acts until nothing is left to do, as the frame does, and returns the actions
// that were tried and the reasons of the events.
func (w *world) pass() (log []string) {
	w.Helper()
	w.seen.Lookups.Type.Value = discovery.InstanceType{Name: w.config.Spec.InstanceType, Architectures: []string{"x86_64"}}
	w.seen.Warnings, w.seen.Verified, w.seen.Refused, w.seen.Use, w.seen.Data, w.seen.Facts = nil, nil, nil, nil, nil, nil
	var done []reconcile.Done
	for range 50 {
		in := Input{Object: w.config.DeepCopy(), Seen: w.seen, Done: slices.Clone(done), Now: w.now}
		object, plan := in.Object, reconcile.Plan{}
		if len(done) == 0 {
			object, plan = reconciletest.Decide(w.T, Decide, in)
		} else {
			plan = Decide(in)
		}
		if len(plan.Needs) > 0 {
			for _, need := range plan.Needs {
				w.observe(need)
			}
			continue
		}
		for key, value := range plan.Annotations {
			metav1.SetMetaDataAnnotation(&w.config.ObjectMeta, key, value)
		}
		if len(plan.Actions) == 0 || slices.ContainsFunc(done, func(d reconcile.Done) bool {
			return d.Err != nil && cmp.Equal(d.Action.String(), plan.Actions[0].Action.String())
		}) {
			for _, event := range plan.Events {
				log = append(log, event.Reason)
			}
			w.last = plan
			object.Annotations = w.config.Annotations
			w.config = object
			return log
		}
		step := plan.Actions[0]
		line := step.Action.String() + ": " + step.Reason
		err := w.act(step.Action)
		if err != nil {
			line += " (fails)"
		}
		log = append(log, strings.ReplaceAll(line, templateID, "T"))
		done = append(done, reconcile.Done{Step: step, Err: err})
	}
	w.Fatalf("no end: %q", log)
	return nil
}

// observe answers what is needed.
func (w *world) observe(need reconcile.Need) {
	w.Helper()
	number := func(prefix string) int64 {
		number, _ := strconv.ParseInt(strings.TrimPrefix(string(need), prefix), 10, 64)
		return number
	}
	switch {
	case w.answers[need] != nil:
		w.answers[need](&w.seen)
	case strings.HasPrefix(string(need), dataNeed):
		version, exists := w.seen.Template.Version(number(dataNeed))
		input, made := w.inputs[version.Number]
		found := answer[launchtemplate.Data]{Err: errors.New("EC2 does not answer")}
		if exists && made {
			found = answer[launchtemplate.Data]{Value: launchtemplate.DataOf(templateID, version, input)}
		}
		w.seen.Data = with(w.seen.Data, number(dataNeed), found)
	case strings.HasPrefix(string(need), factsNeed):
		w.seen.Facts = with(w.seen.Facts, number(factsNeed), answer[inspection.Facts]{})
	case need == needVersions:
		w.seen.Template.Recorded = false
	case need == needTemplate:
		w.seen.Template.Looked = true
	case need == needUse:
		w.seen.Use = &use{InUse: map[int64]bool{}}
	default:
		w.Fatalf("the world has no answer to %q", need)
	}
}

// act changes the world as AWS would be changed.
func (w *world) act(action reconcile.Action) error {
	w.Helper()
	for begins, err := range w.fails {
		if strings.HasPrefix(action.String(), begins) {
			return err
		}
	}
	seen := &w.seen.Template
	template := launchtemplate.Template{}
	if seen.Template != nil {
		template = *seen.Template
		template.Tags = maps.Clone(template.Tags)
	}
	addVersion := func(input launchtemplate.Input) {
		template.LatestVersion++
		number := template.LatestVersion
		w.inputs[number] = input
		seen.Versions = append(slices.Clone(seen.Versions), launchtemplate.Version{
			Number: number, Fingerprints: input.Fingerprints, Created: w.now, ImageID: "ami-1", Default: number == template.DefaultVersion,
		})
		seen.Template = &template
		if w.warns != "" {
			w.seen.Warnings = map[int64]string{number: w.warns}
		}
	}
	switch action := action.(type) {
	case createTemplate:
		template = launchtemplate.Template{ID: templateID, Name: action.Name, DefaultVersion: 1, Tags: maps.Clone(action.Tags)}
		addVersion(action.Input)
	case createVersion:
		addVersion(action.Input)
	case setDefault:
		template.DefaultVersion = action.Number
		seen.Versions = slices.Clone(seen.Versions)
		for i := range seen.Versions {
			seen.Versions[i].Default = seen.Versions[i].Number == action.Number
		}
		seen.Template = &template
	case setTags:
		maps.Copy(template.Tags, action.Tags)
		seen.Template = &template
	case removeTags:
		maps.DeleteFunc(template.Tags, func(key, _ string) bool { return slices.Contains(action.Keys, key) })
		seen.Template = &template
	case storeBootstrap:
		w.seen.Stored = storedItem{Location: action.Item.Location, Digest: action.Item.Digest(), Seen: w.now}
	case dryRun:
		w.seen.Verified = append(w.seen.Verified, action.Input.Fingerprints.Config)
	case prune:
		seen.Versions = slices.DeleteFunc(slices.Clone(seen.Versions), func(v launchtemplate.Version) bool { return slices.Contains(action.Numbers, v.Number) })
	case deleteTemplate, disownTemplate:
		seen.Template, seen.Ended = nil, true
	case sweepStorage:
	case releaseVersion:
		addVersion(action.Input)
		last := &seen.Versions[len(seen.Versions)-1]
		last.Foreign = true
	default:
		w.Fatalf("unknown action %T", action)
	}
	return nil
}

// shows are conditions as "Type Status Reason".
func (w *world) shows(condition string) string {
	shown := meta.FindStatusCondition(w.config.Status.Conditions, condition)
	if shown == nil {
		return ""
	}
	return fmt.Sprintf("%s %s", shown.Status, shown.Reason)
}

// expect compares what a pass did.
func (w *world) expect(reason string, want ...string) {
	w.Helper()
	if got := w.pass(); !slices.Equal(got, want) {
		w.Errorf("%s (-want +got):\n%s", reason, cmp.Diff(want, got))
	}
}

// says checks a condition's status and reason.
func (w *world) says(condition, want string) {
	w.Helper()
	if got := w.shows(condition); got != want {
		shown := meta.FindStatusCondition(w.config.Status.Conditions, condition)
		w.Errorf("condition %s is %q, want %q: %+v", condition, got, want, shown)
	}
}

// place is Systems Manager.
var place = bootstrapstorage.Place{}
