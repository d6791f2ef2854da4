package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	_ "sigs.k8s.io/controller-runtime/pkg/controller" // registers its metrics
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

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
			names := metricName.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s: no metric in %s", panel.Title, target.Expr)
			}
			labels := append([]string{}, labelsOfTargets...)
			for _, name := range names {
				of, is := known[name]
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if base, cut := strings.CutSuffix(name, suffix); cut && !is {
						of, is = known[base]
					}
				}
				if !is {
					t.Errorf("%s: there is no metric %s", panel.Title, name)
				}
				labels = append(labels, of...)
			}
			var used []string
			for _, group := range grouping.FindAllStringSubmatch(target.Expr, -1) {
				used = append(used, strings.FieldsFunc(group[1], func(r rune) bool { return r == ',' || r == ' ' })...)
			}
			for _, match := range matcher.FindAllStringSubmatch(target.Expr, -1) {
				used = append(used, match[1])
			}
			for _, label := range used {
				if !strings.Contains(" "+strings.Join(labels, " ")+" ", " "+label+" ") {
					t.Errorf("%s: no metric in %s has a label %s", panel.Title, target.Expr, label)
				}
			}
		}
	}
	if queries < 15 {
		t.Errorf("the dashboard has %d queries", queries)
	}
	for name := range known {
		if strings.HasPrefix(name, "slipway_") && !strings.Contains(string(content), name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}
