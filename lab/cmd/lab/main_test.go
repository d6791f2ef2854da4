package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

// The tests run this test binary as the command, and as the command's child.
const (
	asLab   = "SLIPWAY_TEST_RUN_AS_LAB"
	asChild = "SLIPWAY_TEST_RUN_AS_CHILD"
)

// kubectl is the name by which the test binary is run as kubectl.
const kubectl = "kubectl"

func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == kubectl:
		os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
	case os.Getenv(asChild) != "":
		os.Exit(child())
	case os.Getenv(asLab) != "":
		main()
		return
	}
	os.Exit(m.Run())
}

// child is a program that uses the laboratory it is run in. Its status is its first argument.
func child() int {
	if err := useLaboratory(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	fmt.Println("temporary directory:", filepath.Dir(os.Getenv("KUBECONFIG")))
	fmt.Println("endpoint:", os.Getenv("AWS_ENDPOINT_URL"))
	status := 0
	if _, err := fmt.Sscan(os.Args[1], &status); err != nil {
		return 99
	}
	return status
}

func useLaboratory() error {
	for _, variable := range []string{"KUBECONFIG", "WORKLOAD_KUBECONFIG"} {
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(variable))
		if err != nil {
			return err
		}
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(config.Host, "https://"), time.Second)
		if err != nil {
			return fmt.Errorf("%s: %w", variable, err)
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
	for _, variable := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if os.Getenv(variable) == "" {
			return fmt.Errorf("%s is not set", variable)
		}
	}
	response, err := http.Get(os.Getenv("AWS_ENDPOINT_URL") + "/_sim/state")
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the simulated AWS answers %s", response.Status)
	}
	return response.Body.Close()
}

// laboratory prepares a run of the command.
func laboratory(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), asLab+"=1")
	return command
}

func TestRunExitsWithTheCommandsStatus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		args   []string
		want   int
	}{
		{"success is passed on", []string{"run", "--", "env", asChild + "=1", os.Args[0], "0"}, 0},
		{
			"so is failure, with two API servers and without the manager too",
			[]string{"run", "--separate-workload", "--no-manager", "--", "env", asChild + "=1", os.Args[0], "7"}, 7,
		},
		{"a command that is not there is the laboratory's failure", []string{"run", "--", "/nonexistent"}, statusLaboratoryFailed},
		{"and so is an unknown world", []string{"run", "--world", "/nonexistent.yaml", "--", "true"}, statusLaboratoryFailed},
		{"and so are definitions that are none", []string{"run", "--crds", t.TempDir(), "--", "true"}, statusLaboratoryFailed},
	} {
		var output bytes.Buffer
		command := laboratory(t, row.args...)
		command.Stdout, command.Stderr = &output, &output
		err := command.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := command.ProcessState.ExitCode(); got != row.want {
			t.Errorf("%s: the status is %d, want %d; output:\n%s", row.reason, got, row.want, &output)
		}
		for line := range strings.Lines(output.String()) {
			if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "temporary directory: "); ok {
				if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: directory %s was left: %v", row.reason, dir, err)
				}
			}
		}
	}
}

func TestUpRunsUntilInterrupted(t *testing.T) {
	t.Parallel()
	command := laboratory(t, "up", "--no-manager", "--cluster", "mine")
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	scanner := bufio.NewScanner(output)
	for variables["AWS_EC2_METADATA_DISABLED"] == "" && scanner.Scan() {
		if pair, ok := strings.CutPrefix(scanner.Text(), "export "); ok {
			key, value, _ := strings.Cut(pair, "=")
			variables[key] = value
		}
	}
	config, err := os.ReadFile(variables["KUBECONFIG"])
	if err != nil || !bytes.Contains(config, []byte("management")) {
		t.Errorf("there is no kubeconfig: %v", err)
	}
	endpoint, err := url.Parse(variables["AWS_ENDPOINT_URL"])
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, output); err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("an interrupted laboratory ends with %v", err)
	}
	if conn, err := net.DialTimeout("tcp", endpoint.Host, time.Second); err == nil {
		t.Errorf("something still listens on %s", endpoint.Host)
		_ = conn.Close()
	}
	if _, err := os.Stat(filepath.Dir(variables["KUBECONFIG"])); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory was left: %v", err)
	}
}
