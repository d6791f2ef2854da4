package alerts

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const (
	root     = ".."
	runbooks = "https://github.com/slipway-project/slipway/blob/main/"
)

// all returns the alerts of both charts by name, as Prometheus reads them.
func all(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	found := map[string]rulefmt.Rule{}
	for _, chart := range []string{"slipway", "slipway-provisioner"} {
		groups, problems := rulefmt.ParseFile(filepath.Join(root, "charts", chart, "files", "alerts.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
		for _, problem := range problems {
			t.Errorf("%s: %v", chart, problem)
		}
		if groups == nil {
			t.FailNow()
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				if _, twice := found[rule.Alert]; twice || rule.Alert == "" {
					t.Errorf("%s: alert %q exists twice, or has no name", chart, rule.Alert)
				}
				found[rule.Alert] = rule
			}
		}
	}
	return found
}

// TestRunbooks holds that every alert has a severity, and a runbook that begins with its
// name, and that nothing else has one.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	pages := map[string]bool{}
	for name, rule := range all(t) {
		if severity := rule.Labels["severity"]; !slices.Contains([]string{"info", "warning", "critical"}, severity) {
			t.Errorf("%s has severity %q", name, severity)
		}
		path, is := strings.CutPrefix(rule.Annotations["runbook_url"], runbooks)
		content, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || !is {
			t.Errorf("%s has runbook_url %q: %v", name, rule.Annotations["runbook_url"], err)
			continue
		}
		pages[filepath.Join(root, path)] = true
		if !strings.HasPrefix(string(content), "# "+name+"\n") {
			t.Errorf("%s does not begin with the name of the alert", path)
		}
		for _, section := range []string{"\n## Meaning\n", "\n## Diagnosis\n", "\n## Remedy\n"} {
			if !strings.Contains(string(content), section) {
				t.Errorf("%s has no section %q", path, strings.TrimSpace(section))
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "how-to", "runbooks", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) != "README.md" && !pages[file] {
			t.Errorf("%s is the runbook of no alert", file)
		}
	}
}

// TestAlerts evaluates each alert every minute, as Prometheus does, over series that are given as for
// promtool: value, step and count.
func TestAlerts(t *testing.T) {
	t.Parallel()
	known, tried := all(t), map[string]bool{}
	for _, row := range []struct {
		reason, alert, series string
		after                 time.Duration
		// summaries lists the summaries of the alerts that fire.
		summaries []string
	}{
		{
			"pools and launch configs that are not ready for half an hour", "SlipwayPoolsNotReady",
			`slipway_conditions{kind="AWSMachinePool", condition="Ready", status="False", reason="ASGNotReady", namespace="a"} 1x120
			 slipway_conditions{kind="AWSMachinePool", condition="Ready", status="Unknown", reason="ASGNotReady", namespace="b"} 2x120
			 slipway_conditions{kind="AWSLaunchConfig", condition="Ready", status="False", reason="ImageNotFound"} 1x120`,
			31 * time.Minute, []string{"1 AWSLaunchConfig objects are not ready: ImageNotFound", "3 AWSMachinePool objects are not ready: ASGNotReady"},
		},
		{
			"not at once", "SlipwayPoolsNotReady",
			`slipway_conditions{kind="AWSMachinePool", condition="Ready", status="False", reason="ASGNotReady"} 1x120`, 29 * time.Minute, nil,
		},
		{
			"not for those that are ready, nor for another condition or kind", "SlipwayPoolsNotReady",
			`slipway_conditions{kind="AWSMachinePool", condition="Ready", status="True", reason="Ready"} 5x120
			 slipway_conditions{kind="AWSMachinePool", condition="RolledOut", status="False", reason="RollingOut"} 1x120
			 slipway_conditions{kind="Provisioner", condition="Ready", status="False", reason="NoSubnets"} 1x120`, time.Hour, nil,
		},
		{
			"a roll-out that takes ten minutes is none", "SlipwayPoolsNotReady",
			`slipway_conditions{kind="AWSMachinePool", condition="Ready", status="False", reason="ScalingUp"} 1x10 0x110`, 40 * time.Minute, nil,
		},
		{
			"an identity that does not work", "SlipwayCannotCallAWS",
			`slipway_conditions{kind="AWSMachinePool", condition="ClusterInfrastructureReady", status="False", reason="IdentityNotAllowed"} 2x60
			 slipway_conditions{kind="AWSMachinePool", condition="ClusterInfrastructureReady", status="False", reason="WaitingForNetwork"} 2x60`,
			16 * time.Minute, []string{"2 objects have no credentials for AWS: IdentityNotAllowed"},
		},
		{
			"credentials that AWS refuses", "SlipwayCannotCallAWS",
			`slipway_conditions{kind="AWSLaunchConfig", condition="ClusterInfrastructureReady", status="False", reason="CredentialsInvalid"} 1x60`,
			16 * time.Minute, []string{"1 objects have no credentials for AWS: CredentialsInvalid"},
		},
		{
			"a roll-out that failed", "SlipwayRolloutFailed",
			`slipway_rollouts_total{outcome="failed"} 0x10 1x110
			 slipway_rollouts_total{outcome="succeeded"} 0+1x120`, 20 * time.Minute, []string{"A roll-out stopped before all nodes were replaced"},
		},
		{
			"an hour later it is over", "SlipwayRolloutFailed", `slipway_rollouts_total{outcome="failed"} 0x10 1x180`, 90 * time.Minute, nil,
		},
		{
			"requests that wait for long", "SlipwayCallsHeldBack",
			`slipway_aws_calls_held_back_total{service="ec2", action="DescribeInstances"} 0+120x120
			 slipway_aws_calls_held_back_total{service="ec2", action="RunInstances"} 0+30x120`, time.Hour, []string{"DescribeInstances requests wait for the request rate of the AWS account"},
		},
		{
			"pods for which no node comes", "SlipwayPodsPending",
			`slipway_pods_pending{reason="no_capacity"} 4x60
			 slipway_pods_pending{reason="node_coming"} 50x60`, 16 * time.Minute, []string{"4 pods wait for a node that does not come: no_capacity"},
		},
		{
			"a Provisioner that launches nothing", "SlipwayProvisionerNotReady",
			`slipway_conditions{kind="Provisioner", condition="Ready", status="False", reason="NoSubnets"} 1x60`, 16 * time.Minute, []string{"1 Provisioners launch no nodes: NoSubnets"},
		},
		{
			"launches that EC2 refuses", "SlipwayLaunchesFail",
			`slipway_launch_failures_total{reason="Account", capacity_type="spot"} 0+1x60
			 slipway_launch_failures_total{reason="Offering", capacity_type="spot"} 0+10x60`, 20 * time.Minute, []string{"EC2 refuses launches: Account"},
		},
		{
			"a node that does not end", "SlipwayNodeTerminationStuck",
			`slipway_nodes_ending_oldest_seconds{provisioner="default"} 0+60x120
			 slipway_nodes_ending_oldest_seconds{provisioner="spot"} 300x120`, 62 * time.Minute, []string{"A node of Provisioner default has been terminating for more than an hour"},
		},
	} {
		tried[row.alert] = true
		if got := summaries(t, known[row.alert], row.series, row.after); !slices.Equal(got, row.summaries) {
			t.Errorf("%s: %s says %q, want %q", row.reason, row.alert, got, row.summaries)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !tried[name] {
			t.Errorf("%s is not tried", name)
		}
	}
}

// summaries returns the summaries of the alerts that a rule fires if it is evaluated every minute.
func summaries(t *testing.T, rule rulefmt.Rule, series string, after time.Duration) []string {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+series)
	t.Cleanup(func() { _ = storage.Close() })
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 10000, Timeout: time.Minute})
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
	if err != nil {
		t.Fatal(err)
	}
	alert := rules.NewAlertingRule(rule.Alert, expression, time.Duration(rule.For), time.Duration(rule.KeepFiringFor), labels.FromMap(rule.Labels),
		labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", false, promslog.NewNopLogger())
	for at := time.Duration(0); at <= after; at += time.Minute {
		if _, err := alert.Eval(t.Context(), 0, time.Unix(0, 0).Add(at).UTC(), rules.EngineQueryFunc(engine, storage), &url.URL{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for _, active := range alert.ActiveAlerts() {
		if active.State == rules.StateFiring {
			found = append(found, active.Annotations.Get("summary"))
		}
	}
	slices.Sort(found)
	return found
}
