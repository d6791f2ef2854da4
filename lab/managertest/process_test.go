package managertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
)

// stopTime bounds how long the process may take to exit after the signal: half of a pod's default.
const stopTime = 15 * time.Second

// TestProcess tries the program itself, built as a release is.
func TestProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "slipway")
	if err := labtest.BuildSlipway(t.Context(), "../..", path); err != nil {
		t.Fatal(err)
	}
	t.Run("has no more of the AWS SDK than it calls", func(t *testing.T) { tryUncalled(t, path) })
	t.Run("has the role of its service account", func(t *testing.T) { // alone: one more process at a time is more than two processors take
		tryWebIdentity(t, path)
	})
	t.Run("starts, works and stops", func(t *testing.T) {
		t.Parallel()
		tryLife(t, path)
	})
	t.Run("writes nothing after it was stopped past its lease", func(t *testing.T) {
		t.Parallel()
		tryStopped(t, path)
	})
	t.Run("fits into the memory of its manifest", func(t *testing.T) {
		t.Parallel()
		tryMemory(t, path)
	})
	t.Run("says what is missing", func(t *testing.T) {
		t.Parallel()
		tryWithout(t, path)
	})
}

// tryUncalled holds that the linker left out operations of EC2 that nothing calls. It keeps all 700 of
// them if any package calls methods by names that it computes, as templates do, or loads plugins.
func tryUncalled(t *testing.T, path string) {
	t.Helper()
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for operation, want := range map[string]bool{"CreateLaunchTemplateVersion": true, "CreateVpnGateway": false} {
		if got := bytes.Contains(program, []byte("service/ec2.(*Client)."+operation)); got != want {
			t.Errorf("the program has EC2's operation %s: %t, want %t", operation, got, want)
		}
	}
}

// command is `slipway manager` with nothing of the test's own environment in it.
func command(t *testing.T, path string, environment []string, arguments ...string) (*exec.Cmd, *buffer) {
	t.Helper()
	process := exec.Command(path, append([]string{"manager"}, arguments...)...)
	process.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "AWS_EC2_METADATA_DISABLED=true"}, environment...)
	output := &buffer{}
	process.Stderr = output
	return process, output
}

// start starts a process, and returns a channel with the error that it exits with. It is killed
// when the test finishes.
func start(t *testing.T, process *exec.Cmd) chan error {
	t.Helper()
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() { _ = process.Process.Kill() }) // it has exited if all went well
	return ended
}

// tryLife runs the program until a pool has its nodes, and stops it.
func tryLife(t *testing.T, path string) {
	t.Helper()
	w := newWorld(t)
	health, metrics := w.freeAddress(), w.freeAddress()
	process, output := command(t, path, []string{
		"KUBECONFIG=" + w.Lab.Kubeconfig(), "AWS_ENDPOINT_URL=" + w.Cloud.Endpoint, "AWS_REGION=" + w.Cloud.Region(),
		"AWS_ACCESS_KEY_ID=" + lab.AccessKeyID(w.Account), "AWS_SECRET_ACCESS_KEY=" + lab.SecretAccessKey,
	}, "--namespace", w.Namespace, "--leader-elect", "--leader-elect-namespace", w.Namespace, "--health-addr", health,
		"--diagnostics-address", metrics, "--insecure-diagnostics", "--observe-interval-in-motion", "500ms", "-v", "1")
	ended := start(t, process)

	w.Eventually("it is ready", func() error {
		status, body, err := get(t, "http://"+health+"/readyz", "")
		if err == nil && status != http.StatusOK {
			err = errors.New(body)
		}
		return errors.Join(err, running(ended, output))
	})
	if status, body, err := get(t, "http://"+health+"/healthz", ""); err != nil || status != http.StatusOK {
		t.Errorf("/healthz says %d %s %v", status, body, err)
	}
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return errors.Join(w.settled(poolName), running(ended, output)) })
	_, body, err := get(t, "http://"+metrics+"/metrics", "")
	const made = `slipway_aws_calls_total{action="CreateAutoScalingGroup",code="OK",service="autoscaling"} 1`
	if err != nil || !strings.Contains(body, made) {
		t.Errorf("metrics lack %s: %v", made, err)
	}

	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v, want status 0", err)
		}
	case <-time.After(stopTime):
		t.Errorf("it runs %v after SIGTERM", stopTime)
	}
	if holder := w.holder(); holder != "" {
		t.Errorf("it left the lease to %s", holder)
	}
	checkLog(t, output.String())
}

// running returns an error if the process has exited.
func running(ended chan error, output *buffer) error {
	select {
	case err := <-ended:
		ended <- err
		return fmt.Errorf("the process ended (%w): %s", err, output)
	default:
		return nil
	}
}

// checkLog holds each line to be JSON with what a log store looks for.
func checkLog(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 2 {
		t.Errorf("the log is %q", text)
	}
	for _, text := range lines {
		var line struct {
			Time            time.Time
			Level, Msg, Err string
		}
		err := json.Unmarshal([]byte(text), &line)
		if err != nil || line.Time.IsZero() || line.Msg == "" || !slices.Contains([]string{"DEBUG", "INFO", "WARN", "ERROR"}, line.Level) {
			t.Errorf("log line %q: %v", text, err)
		}
		// Giving the lease back in good order is an error too to controller-runtime, in one line on
		// the way out, and so is a renewal that is cut off.
		said := line.Msg + ": " + line.Err
		if line.Level == "ERROR" && said != "error received after stop sequence was engaged: leader election lost" && said != "Error retrieving lease lock: context canceled" {
			t.Errorf("something failed: %s", text)
		}
	}
}

// tryWithout tries surroundings in which a manager cannot work.
func tryWithout(t *testing.T, path string) {
	t.Helper()
	w := newWorld(t)
	kubeconfig, err := os.ReadFile(w.Lab.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	unreachable := filepath.Join(t.TempDir(), "kubeconfig")
	config := strings.ReplaceAll(string(kubeconfig), strings.TrimPrefix(w.Lab.RESTConfig().Host, "https://"), w.freeAddress())
	if err := os.WriteFile(unreachable, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	credentials := []string{"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + lab.AccessKeyID(w.Account), "AWS_SECRET_ACCESS_KEY=" + lab.SecretAccessKey}
	for _, row := range []struct {
		reason      string
		environment []string
		arguments   []string
		want        string
	}{
		{"no management cluster", credentials, []string{"--kubeconfig", "/nowhere"}, "finding the cluster"},
		{"an API server that does not answer", append(credentials, "KUBECONFIG="+unreachable), nil, "The API server at 127.0.0.1"},
		{"no AWS credentials", []string{"KUBECONFIG=" + w.Lab.Kubeconfig()}, nil, "no AWS credentials: set AWS_ACCESS_KEY_ID"},
		{"no namespace for the lease", append(credentials, "KUBECONFIG="+w.Lab.Kubeconfig()), []string{"--leader-elect"}, "leader election namespace"},
		{"an unknown flag", nil, []string{"--no-such-flag=1"}, "unknown flag: --no-such-flag"},
		{"times that do not fit", append(credentials, "KUBECONFIG="+w.Lab.Kubeconfig()), []string{"--leader-elect-lease-duration=5s"}, "--leader-elect-lease-duration is 5s"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			process, output := command(t, path, row.environment, append(row.arguments, "--health-addr=", "--diagnostics-address=")...)
			timer := time.AfterFunc(time.Minute, func() { _ = process.Process.Kill() })
			defer timer.Stop()
			err := process.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(output.String(), row.want) {
				t.Errorf("it ended with %v and %q, want status 1 and %q", err, output, row.want)
			}
		})
	}
}
