package metrics_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	_ "sigs.k8s.io/controller-runtime/pkg/controller" // registers its metrics
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/metrics"
)

// description matches a metric as client_golang prints it: there is no other way to get its name
// and labels.
var description = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// served are the metrics that the manager serves, with their labels.
func served(t *testing.T) map[string][]string {
	t.Helper()
	own, is := ctrlmetrics.Registry.(prometheus.Collector)
	if !is {
		t.Fatal("controller-runtime's registry does not describe itself")
	}
	found := map[string][]string{}
	for _, collector := range []prometheus.Collector{own, aws.NewMetrics(), events.NewMetrics(), metrics.NewProgress(), metrics.NewBuildInfo("v0", "none")} {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			defer close(descriptions)
			collector.Describe(descriptions)
		}()
		for desc := range descriptions {
			if parts := description.FindStringSubmatch(desc.String()); parts != nil {
				found[parts[1]] = strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' || r == ' ' })
			}
		}
	}
	return found
}

var update = flag.Bool("update", false, "write the names of metrics for the module alerts")

// TestMetricsForQueries holds that the module alerts, which runs the queries of the dashboard in Prometheus's own
// engine, knows the metrics that are served. It cannot ask for them, because it does not link Slipway.
func TestMetricsForQueries(t *testing.T) {
	t.Parallel()
	const path = "../../alerts/testdata/metrics.txt"
	var lines strings.Builder
	known := served(t)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !strings.HasPrefix(name, "go_") { // they depend on the version of Go
			fmt.Fprintln(&lines, name, strings.Join(known[name], " "))
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), lines.String()); diff != "" {
		t.Errorf("%s, which -update writes (-want +got):\n%s", path, diff)
	}
}

var (
	// Prefixes of metrics: whatever begins like this in a query is one, and not a function or a label.
	metricName = regexp.MustCompile(`\b(?:slipway|controller_runtime|workqueue|process|rest_client|go)_[a-z_]+\b`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
	matcher    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|=|!~)"`)
)

// labelsOfTargets are added by whatever scrapes, and le by every histogram.
var labelsOfTargets = []string{"le", "job", "pod", "namespace", "instance"}

// TestDashboardQueriesWhatIsServed holds each query of the dashboard against the metrics that there
// are, by name and by label.
func TestDashboardQueriesWhatIsServed(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../config/grafana/slipway.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	known, queries := served(t), 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			checkQuery(t, known, panel.Title, target.Expr)
			checkValues(t, panel.Title, target.Expr)
			checkProcesses(t, panel.Title, target.Expr)
		}
	}
	checkKinds(t, string(content))
	if queries < 15 {
		t.Errorf("the dashboard has %d queries", queries)
	}
	for name := range known {
		if strings.HasPrefix(name, "slipway_") && !strings.Contains(string(content), name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// checkQuery fails for a metric or a label in a query that there is not.
func checkQuery(t *testing.T, known map[string][]string, title, query string) {
	t.Helper()
	names := metricName.FindAllString(query, -1)
	if len(names) == 0 {
		t.Errorf("%s: no metric in %s", title, query)
	}
	labels := slices.Clone(labelsOfTargets)
	for _, name := range names {
		of, is := known[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, cut := strings.CutSuffix(name, suffix); cut && !is {
				of, is = known[base]
			}
		}
		if !is {
			t.Errorf("%s: there is no metric %s", title, name)
		}
		labels = append(labels, of...)
	}
	var used []string
	for _, group := range grouping.FindAllStringSubmatch(query, -1) {
		used = append(used, strings.FieldsFunc(group[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, match := range matcher.FindAllStringSubmatch(query, -1) {
		used = append(used, match[1])
	}
	for _, label := range used {
		if !slices.Contains(labels, label) {
			t.Errorf("%s: no metric in %s has a label %s", title, query, label)
		}
	}
}

// shared matches the metrics that other programs with controllers serve too.
var shared = regexp.MustCompile(`\b(?:controller_runtime|workqueue|process|rest_client|go)_[a-z_]+`)

// checkProcesses fails for a query that other programs' metrics count in. The names of jobs depend on how
// metrics are collected, and the names of Services on values of the charts.
func checkProcesses(t *testing.T, title, query string) {
	t.Helper()
	if shared.MatchString(query) && !strings.Contains(query, " and on (job, instance) slipway_build_info") {
		t.Errorf("%s: %s selects the processes of other programs too", title, query)
	}
}

// checkKinds fails if the dashboard leaves out whether the objects of a kind are ready.
func checkKinds(t *testing.T, dashboard string) {
	t.Helper()
	ready := regexp.MustCompile(`slipway_conditions\{kind=~\\"([A-Za-z|]+)\\",condition=\\"Ready\\",status=`).FindStringSubmatch(dashboard)
	if ready == nil {
		t.Fatal("the dashboard does not show how many objects of which kinds are ready")
	}
	for _, kind := range []string{"AWSMachinePool", "AWSManagedMachinePool", "AWSLaunchConfig", "Provisioner"} {
		if !slices.Contains(strings.Split(ready[1], "|"), kind) {
			t.Errorf("the dashboard does not show how many objects of kind %s are ready", kind)
		}
	}
}

var (
	// compared matches the comparison of a label with a value or a regular expression, after the name of the metric.
	compared = regexp.MustCompile(`\b(slipway_[a-z_]+)\{([^}]*)\}`)
	equals   = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	// quoted matches a word of the reference, and kindsLine a line of it that lists kinds.
	quoted    = regexp.MustCompile("`([A-Za-z_]+)`")
	heading   = regexp.MustCompile(`(?m)^### ([A-Za-z]+)$`)
	kindsLine = regexp.MustCompile(`(?m)^Kinds: (.*)\.$`)
)

// documented returns the values of a label of a metric that the reference lists. ok is false for a label whose
// values are not listed.
func documented(t *testing.T, metric, label string) (values []string, ok bool) {
	t.Helper()
	read := func(page string) string {
		content, err := os.ReadFile("../../docs/reference/" + page)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	firsts := func(found [][]string) (all []string) {
		for _, match := range found {
			all = append(all, match[1])
		}
		return all
	}
	if label == "kind" {
		for _, line := range firsts(kindsLine.FindAllStringSubmatch(read("conditions.md"), -1)) {
			values = append(values, strings.Split(line, ", ")...)
		}
		return values, true
	}
	switch {
	case metric == "slipway_conditions" && label == "status":
		return []string{"True", "False", "Unknown"}, true
	case metric == "slipway_conditions" && label == "condition":
		return firsts(heading.FindAllStringSubmatch(read("conditions.md"), -1)), true
	case metric == "slipway_conditions" && label == "reason":
		return firsts(quoted.FindAllStringSubmatch(read("conditions.md"), -1)), true
	case label == "reason" || label == "outcome":
		for line := range strings.SplitSeq(read("observability.md"), "\n") {
			if strings.HasPrefix(line, "| `"+metric+"{") {
				return firsts(quoted.FindAllStringSubmatch(line, -1)), true
			}
		}
		t.Errorf("the reference does not document %s", metric)
	}
	return nil, false
}

// checkValues fails for a value in a query that no metric has: the query would select nothing, and an alert would
// never fire.
func checkValues(t *testing.T, title, query string) (checked int) {
	t.Helper()
	for _, selector := range compared.FindAllStringSubmatch(query, -1) {
		for _, matched := range equals.FindAllStringSubmatch(selector[2], -1) {
			values, listed := documented(t, selector[1], matched[1])
			if !listed {
				continue
			}
			for alternative := range strings.SplitSeq(matched[2], "|") {
				checked++
				expression := regexp.MustCompile("^(?:" + alternative + ")$")
				if !slices.ContainsFunc(values, expression.MatchString) {
					t.Errorf("%s: no %s has the %s %s", title, selector[1], matched[1], alternative)
				}
			}
		}
	}
	return checked
}

// placeholder matches a label in the text of an alert.
var placeholder = regexp.MustCompile(`\$labels\.([a-z_]+)`)

// TestAlertsAskForWhatIsServed holds each alert of the charts against the metrics that there are, by
// name and by label, and its texts against the labels that its expression keeps.
func TestAlertsAskForWhatIsServed(t *testing.T) {
	t.Parallel()
	known, alerts, values := served(t), 0, 0
	for _, chart := range []string{"slipway", "slipway-provisioner"} {
		content, err := os.ReadFile("../../charts/" + chart + "/files/alerts.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var rules struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr string
					Annotations map[string]string
				}
			}
		}
		if err := yaml.Unmarshal(content, &rules); err != nil {
			t.Fatal(err)
		}
		for _, group := range rules.Groups {
			for _, rule := range group.Rules {
				alerts++
				checkQuery(t, known, rule.Alert, rule.Expr)
				values += checkValues(t, rule.Alert, rule.Expr)
				for _, text := range rule.Annotations {
					for _, label := range placeholder.FindAllStringSubmatch(text, -1) {
						if kept := grouping.FindStringSubmatch(rule.Expr); kept == nil || !strings.Contains(kept[1], label[1]) {
							t.Errorf("%s: %s is not kept by %s", rule.Alert, label[1], rule.Expr)
						}
					}
				}
			}
		}
	}
	if alerts < 8 || values < 12 {
		t.Errorf("there are %d alerts, and %d values in their expressions", alerts, values)
	}
}
