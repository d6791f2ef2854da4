package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program builds the command once it is needed and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "awssim")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

var firstLine = regexp.MustCompile(`^listening on (http://127\.0\.0\.1:\d+)\n$`)

// TestProcess holds that the process says where it listens, goes on without standard input, and
// exits at once and successfully when it is asked to.
func TestProcess(t *testing.T) {
	t.Parallel()
	path := program(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), path, "--listen", "127.0.0.1:0")
			cmd.Stderr = os.Stderr
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(stdout)
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			match := firstLine.FindStringSubmatch(line)
			if match == nil {
				t.Fatalf("the first line is %q", line)
			}
			if err := stdin.Close(); err != nil {
				t.Fatal(err)
			}
			if status := get(t, match[1]+"/_sim/clock"); status != http.StatusOK {
				t.Errorf("after standard input was closed it answered %d", status)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(lines)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || len(rest) > 0 {
				t.Errorf("it ended with %v and wrote %q", err, rest)
			}
		})
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// start runs the command in this process until the test finishes and returns its URL.
func start(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	c := command(writer)
	c.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, args...))
	done := make(chan error, 1)
	go func() {
		err := c.ExecuteContext(ctx)
		done <- err
		writer.CloseWithError(fmt.Errorf("the command has ended: %w", err))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
}

func body(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), "")
}

func TestFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	faults := filepath.Join(dir, "faults.json")
	if err := os.WriteFile(faults, []byte(`[{"id":"f","action":"RunInstances","nth":2,"code":"Oops","status":500}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	world := filepath.Join(dir, "world.yaml")
	if err := os.WriteFile(world, []byte("extends: default\nregions:\n- name: moon-1\n  zones: [{name: moon-1a, id: m1-az1}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := start(t, "--clock-start", "2030-01-01T00:00:00Z", "--clock-rate", "0", "--seed", "7",
		"--instance-pending", "10s", "--instance-boot", "20s", "--instance-shutting-down", "30s", "--read-lag", "1s", "--throttling",
		"--capacity", `[{"instanceType":"m5.large","available":1}]`, "--faults", "@"+faults, "--world", world)
	for path, want := range map[string]string{
		"clock":  `{"now":"2030-01-01T00:00:00Z","rate":0}`,
		"faults": `[{"id":"f","action":"RunInstances","nth":2,"place":"before","code":"Oops","status":500}]`,
		"behavior": `{"instanceTimes":{"pending":"10s","boot":"20s","shuttingDown":"30s"},"clusterTimes":{"creating":"0s","updating":"0s","deleting":"0s","addon":"0s"},` +
			`"readLag":"1s","throttling":true,"forgetTokens":false,` +
			`"capacity":[{"instanceType":"m5.large","available":1}],"spotPrices":[],"nodes":[],"nodesReport":false}`,
		"state?region=moon-1": `"roles":{`,
	} {
		if got := body(t, url+"/_sim/"+path); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		want string
		args []string
	}{
		{"--clock-start", []string{"--clock-start", "yesterday"}},
		{"--clock-rate", []string{"--clock-rate", "-1"}},
		{"--world", []string{"--world", "/does/not/exist"}},
		{"--faults", []string{"--faults", `{"service":"ec2"}`}},
		{"--faults", []string{"--faults", "@/does/not/exist"}},
		{"--capacity", []string{"--capacity", `[{"available":-1}]`}},
		{"negative", []string{"--read-lag", "-1s"}},
		{"unknown command", []string{"surplus"}},
		{"address", []string{"--listen", "nowhere:at:all"}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		c := command(io.Discard)
		c.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, row.args...))
		c.SetErr(io.Discard)
		if err := c.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: got %v, want an error about %s", row.args, err, row.want)
		}
		cancel()
	}
}

// TestEveryInstanceTypeIsOffered holds that clients of a simulator of their own get whatever type
// AWS has, in each Region that AWS opens by default.
func TestEveryInstanceTypeIsOffered(t *testing.T) {
	t.Parallel()
	o, err := (&flags{}).options()
	if err != nil {
		t.Fatal(err)
	}
	defer o.Clock.Close()
	for _, name := range []string{"t3.nano", "c4.large", "m9g.large", "u7i-12tb.224xlarge", "mac2.metal"} {
		if o.World.InstanceType(name) == nil {
			t.Errorf("there is no %s", name)
		}
	}
	for _, name := range []string{"us-east-1", "us-west-2", "eu-west-1", "ap-southeast-2", "sa-east-1"} {
		if o.World.Region(name) == nil {
			t.Errorf("there is no Region %s", name)
		}
	}
}
