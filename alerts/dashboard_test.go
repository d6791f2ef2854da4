package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// values has values of labels that queries select by. All other labels have one value. internal/metrics
// checks that metrics have the values in the queries.
var values = map[string][]string{
	"kind":      {"AWSMachinePool", "AWSManagedMachinePool", "AWSLaunchConfig", "Provisioner"},
	"condition": {"Ready", "RolledOut"},
	"status":    {"True", "False"},
	"code":      {"OK", "UnauthorizedOperation"},
}

// placeholder matches a label in the legend of a panel.
var placeholder = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)

// query is a query of the dashboard.
type query struct{ Panel, Expr, LegendFormat string }

// queries returns the queries of the dashboard.
func queries(t *testing.T) (all []query) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "config", "grafana", "slipway.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []query
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, one := range panel.Targets {
			one.Panel = panel.Title
			all = append(all, one)
		}
	}
	return all
}

// combined returns the sets of labels of a metric.
func combined(names []string) []string {
	sets := []string{`job="slipway-manager-metrics", instance="10.0.0.1:8443", pod="slipway-manager-0"`}
	for _, name := range names {
		var more []string
		choices := values[name]
		if choices == nil {
			choices = []string{"some"}
		}
		for _, set := range sets {
			for _, value := range choices {
				more = append(more, fmt.Sprintf("%s, %s=%q", set, name, value))
			}
		}
		sets = more
	}
	return sets
}

// served returns series of all metrics that Slipway serves, for an hour, and on demand series of the metrics that
// another program with controllers serves, too.
func served(t *testing.T, all []query, other bool) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var series strings.Builder
	load := func(name, set string, times int) {
		fmt.Fprintf(&series, "%s{%s} 0+%dx60\n", name, set, times)
		if other && !strings.HasPrefix(name, "slipway_") {
			fmt.Fprintf(&series, "%s{%s} 0+%dx60\n", name, strings.ReplaceAll(set, "slipway-manager", "capi"), 3*times)
		}
	}
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		for _, set := range combined(words[1:]) {
			if words[0] == "slipway_offering_available" { // the dashboard shows the offerings that are not
				load(words[0], set, 0)
				continue
			}
			load(words[0], set, 1)
			if slices.ContainsFunc(all, func(one query) bool { return strings.Contains(one.Expr, words[0]+"_bucket") }) {
				load(words[0]+"_bucket", set+`, le="1"`, 1)
				load(words[0]+"_bucket", set+`, le="+Inf"`, 2)
			}
		}
	}
	return series.String()
}

// evaluate returns what the queries find after an hour.
func evaluate(t *testing.T, all []query, series string) (found []promql.Vector) {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+series)
	t.Cleanup(func() { _ = storage.Close() })
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	for _, one := range all {
		expression := strings.ReplaceAll(one.Expr, "$__rate_interval", "5m")
		evaluated, err := engine.NewInstantQuery(t.Context(), storage, nil, expression, time.Unix(0, 0).Add(time.Hour))
		if err != nil {
			t.Fatalf("%s: %s: %v", one.Panel, one.Expr, err)
		}
		result := evaluated.Exec(t.Context())
		vector, err := result.Vector()
		if err != nil || len(result.Warnings) > 0 {
			t.Errorf("%s: %s: error %v, warnings %v", one.Panel, one.Expr, err, result.Warnings)
		}
		vector = slices.Clone(vector)
		slices.SortFunc(vector, func(a, b promql.Sample) int { return labels.Compare(a.Metric, b.Metric) })
		found = append(found, vector)
	}
	return found
}

// TestDashboard runs the queries of the dashboard in Prometheus's query engine over all metrics that are served.
// Each must find series, with the labels in its legend, and the same ones whatever other programs serve.
func TestDashboard(t *testing.T) {
	t.Parallel()
	all := queries(t)
	if len(all) < 40 {
		t.Fatalf("the dashboard has %d queries", len(all))
	}
	alone, beside := evaluate(t, all, served(t, all, false)), evaluate(t, all, served(t, all, true))
	for i, one := range all {
		if len(alone[i]) == 0 {
			t.Errorf("%s: %s finds nothing", one.Panel, one.Expr)
		}
		if alone[i].String() != beside[i].String() {
			t.Errorf("%s: %s finds\n%s\nand beside another program\n%s", one.Panel, one.Expr, alone[i], beside[i])
		}
		for _, sample := range alone[i] {
			for _, label := range placeholder.FindAllStringSubmatch(one.LegendFormat, -1) {
				if sample.Metric.Get(label[1]) == "" {
					t.Errorf("%s: %s has no label %s, which its legend names", one.Panel, one.Expr, label[1])
				}
			}
		}
	}
}
