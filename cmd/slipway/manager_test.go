package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/internal/buildinfo"
	"github.com/slipway-project/slipway/internal/manager"
)

// execute runs a command line and returns what it prints.
func execute(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command, output := newCommand(), &bytes.Buffer{}
	command.SetArgs(arguments)
	command.SetOut(output)
	command.SetErr(output)
	err := command.ExecuteContext(t.Context())
	return output.String(), err
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, arguments, output, err string
	}{
		{"the version as a command", "version", "slipway " + buildinfo.Version(), ""},
		{"the version as a flag", "--version", "slipway version " + buildinfo.Version(), ""},
		{"help names the manager", "", "manager", ""},
		{"and the provisioner", "", "provisioner", ""},
		{"a provisioner without a cluster", "provisioner --kubeconfig=/nowhere", "", "finding the cluster"},
		{"an unknown command", "nonsense", "", "unknown command \"nonsense\""},
		{"an unknown flag", "manager --nonsense", "", "unknown flag: --nonsense"},
		{"an argument that the manager does not take", "manager nonsense", "", "takes none"},
		{"a value that is no duration", "manager --sync-period=soon", "", "must be a duration"},
		{"a negative rate of requests to the API server", "manager --kube-api-qps=-1", "", "--kube-api-qps is -1, and must be a number that is not negative"},
		{"a rate that is no number", "provisioner --kube-api-qps=NaN", "", "--kube-api-qps is NaN"},
		{"no burst", "manager --kube-api-qps=10 --kube-api-burst=0", "", "--kube-api-burst is 0, and must be positive"},
		{"a negative log level", "manager -v=-1", "", "--v is -1, and must not be negative"},
		{"a kubeconfig that is a directory", "manager --kubeconfig=.", "", "finding the cluster"},
		{"a kubeconfig that is none", "manager --kubeconfig=manager_test.go", "", "finding the cluster"},
		{"a kubeconfig that is not there", "manager --kubeconfig=/nowhere", "", "finding the cluster"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			output, err := execute(t, strings.Fields(row.arguments)...)
			if !strings.Contains(output, row.output) {
				t.Errorf("it prints %q, want %q", output, row.output)
			}
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("the error is %v, want %q", err, row.err)
			}
		})
	}
}

// parseDeployment parses what the manifest of a command passes, into the flags that are bound.
func parseDeployment(t *testing.T, command string, bind func(*pflag.FlagSet)) {
	t.Helper()
	content, err := os.ReadFile("../../config/" + command + "/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(content, &deployment); err != nil {
		t.Fatal(err)
	}
	arguments := deployment.Spec.Template.Spec.Containers[0].Args
	if len(arguments) == 0 || arguments[0] != command {
		t.Fatalf("arguments are %q", arguments)
	}
	set := pflag.NewFlagSet(command, pflag.ContinueOnError)
	bind(set)
	if err := set.Parse(arguments[1:]); err != nil {
		t.Fatal(err)
	}
}

// TestFlagsOfTheDeployment holds what the manifest passes against what the command takes.
func TestFlagsOfTheDeployment(t *testing.T) {
	t.Parallel()
	flags := managerFlags{}
	parseDeployment(t, "manager", flags.bind)
	if !flags.options.LeaderElection.Enabled || flags.options.HealthAddress != ":9440" || flags.options.MetricsAddress != ":8443" || flags.options.InsecureMetrics {
		t.Errorf("options are %+v", flags.options)
	}
	if want := (manager.Webhooks{Port: manager.DefaultWebhookPort, CertificateDirectory: "/etc/slipway/webhook-certificate", Configuration: manager.DefaultWebhookConfiguration}); flags.options.Webhooks != want {
		t.Errorf("webhooks are %+v, want %+v", flags.options.Webhooks, want)
	}
	want := manager.DefaultLeaderElection
	want.Enabled, want.ID = true, manager.LeaderElectionID
	if difference := cmp.Diff(want, flags.options.LeaderElection); difference != "" {
		t.Errorf("leader election (-want +got):\n%s", difference)
	}
}

// TestFlagsOfTheProvisioner holds what its manifest passes against what the command takes.
func TestFlagsOfTheProvisioner(t *testing.T) {
	t.Parallel()
	flags := provisionerFlags{}
	parseDeployment(t, "provisioner", flags.bind)
	if !flags.options.LeaderElection.Enabled || flags.options.LeaderElection.ID != manager.ProvisionerLeaderElectionID || flags.options.LaunchesPerMinute != manager.DefaultLaunchesPerMinute || flags.options.InstanceProfile != manager.DefaultInstanceProfile {
		t.Errorf("options are %+v", flags.options)
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	output := &bytes.Buffer{}
	log := newLog(output, 1).WithName("part").WithValues("key", "value")
	log.Info("told")
	log.Info("Starting EventSource") // a detail of controller-runtime
	log.V(1).Info("detail")
	log.V(2).Info("too much")
	log.Error(errors.New("broken"), "failed")
	type line struct{ Level, Msg, Logger, Key, Err string }
	var got []line
	for _, text := range strings.Split(strings.TrimSpace(output.String()), "\n") {
		var parsed line
		if err := json.Unmarshal([]byte(text), &parsed); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got = append(got, parsed)
	}
	want := []line{
		{"INFO", "told", "part", "value", ""}, {"DEBUG", "Starting EventSource", "part", "value", ""}, {"DEBUG", "detail", "part", "value", ""}, {"ERROR", "failed", "part", "value", "broken"},
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("lines (-want +got):\n%s", difference)
	}
}
