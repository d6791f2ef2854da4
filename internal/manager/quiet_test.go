package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// logLine is a line of a log.
type logLine struct {
	Level, Msg, Controller, Err string
}

// logged is a log in memory.
type logged struct {
	mu      sync.Mutex
	content bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.content.Write(text)
}

// lines returns the lines so far.
func (l *logged) lines(t *testing.T) []logLine {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []logLine
	for decoder := json.NewDecoder(bytes.NewReader(l.content.Bytes())); ; {
		var line logLine
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}

// quietOptions has a program use everything that logs when it starts.
func quietOptions(t *testing.T, options *Options, log logr.Logger) {
	t.Helper()
	directory := t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": key, "tls.crt": certificate} {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", ":0") //nolint:noctx // it only finds a port
	if err != nil {
		t.Fatal(err)
	}
	options.Webhooks = Webhooks{Port: listener.Addr().(*net.TCPAddr).Port, CertificateDirectory: directory}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	options.Log, options.LeaderElection = log, LeaderElection{Enabled: true, Namespace: "slipway-system"}
	options.HealthAddress, options.MetricsAddress, options.DashboardAddress = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
}

// TestStartUpIsQuiet holds that a program that starts, works and stops logs at most one line for each
// controller, a few lines of servers and of the lease, and no warnings and errors.
func TestStartUpIsQuiet(t *testing.T) { //nolint:paralleltest // controller-runtime and client-go have one logger in a process
	out := &logged{}
	log := logr.FromSlogHandler(QuietHandler(slog.NewJSONHandler(out, nil)))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	t.Cleanup(klog.ClearLogger)
	for _, row := range []struct {
		program     string
		controllers []string
		run         func(*testing.T) func(context.Context) error
	}{
		{"manager", []string{"awsclusteridentity", "awslaunchconfig", "awslaunchconfigtemplate", "awsmachinepool", "awsmanagedmachinepool"}, func(t *testing.T) func(context.Context) error {
			t.Helper()
			options := optionsFor(serve(t, managed()...))
			quietOptions(t, &options, log)
			return func(ctx context.Context) error { return Run(ctx, options) }
		}},
		{"provisioner", []string{"node-scheduler", "provisionednode", "provisioner"}, func(t *testing.T) func(context.Context) error {
			t.Helper()
			options, _ := provisionerFor(t, serve(t, append(provisioned(), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))...))
			quietOptions(t, &options.Options, log)
			return func(ctx context.Context) error { return RunProvisioner(ctx, options) }
		}},
	} {
		t.Run(row.program, func(t *testing.T) {
			before := len(out.lines(t))
			stop := running(t, row.run(t))
			var lines []logLine
			controllers := func() (found []string) {
				for _, line := range lines {
					if line.Controller != "" {
						found = append(found, line.Controller)
					}
				}
				slices.Sort(found)
				return found
			}
			eventually(t, "all controllers work", func() bool {
				lines = out.lines(t)[before:]
				return len(slices.Compact(controllers())) == len(row.controllers)
			})
			stop()
			lines = out.lines(t)[before:]
			if diff := cmp.Diff(row.controllers, controllers()); diff != "" {
				t.Errorf("lines of controllers (-want +got):\n%s", diff)
			}
			const most = 8 // servers, the lease, kinds that are not installed, and the end
			if others := len(lines) - len(row.controllers); others > most {
				t.Errorf("there are %d other lines, want at most %d", others, most)
			}
			for _, line := range lines {
				if line.Level != "INFO" || strings.Contains(strings.ToLower(line.Msg), "warn") {
					t.Errorf("the log has %+v", line)
				}
			}
			if t.Failed() {
				t.Logf("%+v", lines)
			}
		})
	}
}

// TestQuietHandler holds that details are shown at the level of details, and that other records stay as
// they are.
func TestQuietHandler(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		verbosity int
		want      []logLine
	}{
		{"changes only", 0, []logLine{{"INFO", "Starting workers", "a", ""}, {"ERROR", "error received after stop sequence was engaged", "a", "broken"}}},
		{"details too", 1, []logLine{
			{"DEBUG+3", "Starting EventSource", "a", ""}, {"INFO", "Starting workers", "a", ""}, {"DEBUG+3", "Stopping and waiting for caches", "a", ""},
			{"DEBUG+3", "error received after stop sequence was engaged", "a", "leader election lost"}, {"ERROR", "error received after stop sequence was engaged", "a", "broken"},
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			out := &logged{}
			log := logr.FromSlogHandler(QuietHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.Level(-row.verbosity)}))).WithName("part").WithValues("controller", "a")
			log.Info("Starting EventSource")
			log.Info("Starting workers")
			log.Info("Stopping and waiting for caches")
			log.Error(errors.New("leader election lost"), "error received after stop sequence was engaged")
			log.Error(errors.New("broken"), "error received after stop sequence was engaged")
			if diff := cmp.Diff(row.want, out.lines(t)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
