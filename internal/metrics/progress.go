// Package metrics owns the metrics of Slipway's own work: milestones, versions, roll-outs, how long
// an edit takes, and in what state objects are. Calls to AWS are counted by package aws, passes and
// queues by controller-runtime. docs/reference/observability.md says what each one means.
package metrics

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// rollouts are the milestones that are about a roll-out, and what happens to it then.
var rollouts = map[string]string{
	"InstanceRefreshStarted":    "started",
	"InstanceRefreshSucceeded":  "succeeded",
	"InstanceRefreshEnded":      "failed",
	"InstanceRefreshSuperseded": "superseded",
	"RolledBack":                "rolled_back",
	"NodegroupUpdateStarted":    "started",
	"NodegroupUpdated":          "succeeded",
	"NodegroupUpdateFailed":     "failed",
}

// Progress counts milestones. It is a prometheus.Collector, for whichever registry the process
// serves. A nil Progress counts nothing.
type Progress struct {
	milestones    *prometheus.CounterVec
	versions      *prometheus.CounterVec
	rollouts      *prometheus.CounterVec
	editToVersion prometheus.Histogram
	conditions    conditions
	nodes         *nodes
	choices       *choices

	mu    sync.Mutex
	edits map[subject]edit
	// said records what was last reported about a pool's roll-outs.
	said map[subject]string
	// failures are what was last warned about, by the type of the condition.
	failures map[subject]map[string]metav1.Condition
}

// subject is an object. Its kind is part of it: a pool and its launch config have the same name.
type subject struct {
	kind string
	name types.NamespacedName
}

func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

func subjectOf(object client.Object) subject {
	return subject{kindOf(object), client.ObjectKeyFromObject(object)}
}

// edit is an edit that has no version yet.
type edit struct {
	generation int64
	seen       time.Time
}

// NewProgress returns the metrics, registered nowhere.
func NewProgress() *Progress {
	progress := &Progress{
		milestones: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_milestones_total",
			Help: "Number of events by kind of object and reason.",
		}, []string{"kind", "reason"}),
		versions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_launch_template_versions_created_total",
			Help: "Number of launch template versions created, by cause: first, config, token, delivery, lost, " +
				"adopted.",
		}, []string{"reason"}),
		rollouts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_rollouts_total",
			Help: "Number of roll-outs by outcome: started, succeeded, failed, superseded, rolled_back.",
		}, []string{"outcome"}),
		editToVersion: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "slipway_edit_to_version_seconds",
			Help: "Time from when this manager first observed an edited AWSLaunchConfig until its new launch " +
				"template version exists.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800},
		}),
		nodes: newNodes(), choices: newChoices(),
		edits: map[subject]edit{}, said: map[subject]string{}, failures: map[subject]map[string]metav1.Condition{},
	}
	// An alert compares the counter with an earlier value, so that the first failure must not be the
	// first value.
	for _, outcome := range rollouts {
		progress.rollouts.WithLabelValues(outcome)
	}
	return progress
}

// Read lets conditions be counted. Before it none are.
func (p *Progress) Read(reader client.Reader) {
	if p != nil {
		p.conditions.read(reader)
	}
}

// Milestone counts an event on an object. A milestone of a roll-out that is reported twice with the
// same note, because a pass read an object from before the other's status was written, counts once:
// the note names the refresh.
func (p *Progress) Milestone(object client.Object, reason, note string) {
	if p == nil {
		return
	}
	outcome, isRollout := rollouts[reason]
	if isRollout && !p.news(subjectOf(object), note) {
		return
	}
	p.milestones.WithLabelValues(kindOf(object), reason).Inc()
	if isRollout {
		p.rollouts.WithLabelValues(outcome).Inc()
	}
}

// news reports whether a note differs from the last one about an object's roll-outs.
func (p *Progress) news(object subject, note string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said[object] == note {
		return false
	}
	p.said[object] = note
	return true
}

// VersionCreated counts a launch template version, by one word for why.
func (p *Progress) VersionCreated(reason string) {
	if p != nil {
		p.versions.WithLabelValues(reason).Inc()
	}
}

// Seen starts the clock for an edit when it is first seen: the API server keeps no time of edits
// that could be trusted, and what lies before, the way through the watch, is milliseconds. Observed
// is the generation that was acted on last.
func (p *Progress) Seen(object client.Object, observed int64, now time.Time) {
	generation := object.GetGeneration()
	if p == nil || generation == observed {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if edited := subjectOf(object); p.edits[edited].generation != generation {
		p.edits[edited] = edit{generation: generation, seen: now}
	}
}

// Versioned stops the clock. An edit that needed no version is not counted.
func (p *Progress) Versioned(object client.Object, created bool, now time.Time) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	edited := subjectOf(object)
	if edit, waits := p.edits[edited]; waits && edit.generation == object.GetGeneration() && created {
		p.editToVersion.Observe(now.Sub(edit.seen).Seconds())
	}
	delete(p.edits, edited)
}

// Failed returns the failure that was last warned about under a type of condition since that was
// True, and remembers this one. After an edit the condition is briefly Unknown, and no status holds
// what it was before.
func (p *Progress) Failed(object client.Object, condition metav1.Condition) (metav1.Condition, bool) {
	if p == nil {
		return metav1.Condition{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	failing := subjectOf(object)
	if p.failures[failing] == nil {
		p.failures[failing] = map[string]metav1.Condition{}
	}
	earlier, warned := p.failures[failing][condition.Type]
	p.failures[failing][condition.Type] = condition
	return earlier, warned
}

// Recovered forgets a failure: the next one is news.
func (p *Progress) Recovered(object client.Object, conditionType string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failures[subjectOf(object)], conditionType)
}

// Forget drops what is remembered of an object of a kind that is gone.
func (p *Progress) Forget(kind client.Object, name types.NamespacedName) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := subject{kindOf(kind), name}
	delete(p.edits, gone)
	delete(p.said, gone)
	delete(p.failures, gone)
	if _, is := kind.(*provisioningv1.Provisioner); is {
		p.nodes.forget(name.Name)
	}
}

// Describe implements prometheus.Collector.
func (p *Progress) Describe(ch chan<- *prometheus.Desc) {
	p.milestones.Describe(ch)
	p.versions.Describe(ch)
	p.rollouts.Describe(ch)
	p.editToVersion.Describe(ch)
	p.conditions.Describe(ch)
	for _, collector := range slices.Concat(p.nodes.collectors(), p.choices.collectors()) {
		collector.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (p *Progress) Collect(ch chan<- prometheus.Metric) {
	p.milestones.Collect(ch)
	p.versions.Collect(ch)
	p.rollouts.Collect(ch)
	p.editToVersion.Collect(ch)
	p.conditions.Collect(ch)
	for _, collector := range slices.Concat(p.nodes.collectors(), p.choices.collectors()) {
		collector.Collect(ch)
	}
}
