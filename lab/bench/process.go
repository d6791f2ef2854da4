package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// grace is the time that a controller may take to stop.
const grace = 15 * time.Second

// clockTicks is the number of ticks of /proc/PID/stat in a second (proc(5): sysconf(_SC_CLK_TCK),
// 100 on all of Linux's architectures).
const clockTicks = 100

// process is the controller.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	err     error // valid once it has exited
	// metrics is the address of its metrics, profiler the address of its profiles; empty if it
	// serves none.
	metrics, profiler string
}

// start starts the controller.
func (b *bench) start(ctx context.Context) error {
	args, metrics, profiler := b.Command, "", ""
	if b.Own {
		var err error
		if metrics, err = freeAddress(ctx); err != nil {
			return err
		}
		args = append(args[:len(args):len(args)], "--health-addr=", "--insecure-diagnostics", "--diagnostics-address="+metrics)
		if b.Unbounded {
			args = append(args, "--aws-request-rates=0")
		}
		if b.Profiles != "" {
			var err error
			if profiler, err = freeAddress(ctx); err != nil {
				return err
			}
			args = append(args, "--profiler-address="+profiler)
		}
	}
	command := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...) // #nosec G204 -- running the user's command is the purpose
	command.Env = append(os.Environ(), b.lab.Environment()...)
	command.Stdout, command.Stderr = b.Log, b.Log
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", args[0], err)
	}
	p := &process{command: command, ended: make(chan struct{}), metrics: metrics, profiler: profiler}
	go func() {
		defer close(p.ended)
		p.err = command.Wait()
	}()
	b.process = p
	return nil
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// stop stops the controller in good order. One that has exited before is an error, once.
func (p *process) stop() error {
	if p == nil || p.command == nil {
		return nil
	}
	command := p.command
	select {
	case <-p.ended:
		p.command = nil
		return fmt.Errorf("the controller ended by itself: %w", errors.Join(p.err, errors.New("see its log")))
	default:
	}
	p.command = nil
	_ = command.Process.Signal(syscall.SIGTERM) // it may exit at this moment
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
		return errors.Join(errors.New("the controller did not end in time"), command.Process.Kill())
	}
}

func (p *process) read(file string) string {
	if p == nil || p.command == nil {
		return ""
	}
	return readProcess(strconv.Itoa(p.command.Process.Pid), file)
}

func readProcess(process, file string) string {
	content, err := os.ReadFile(filepath.Join("/proc", process, file)) // #nosec G304 -- the kernel's own, of a process of ours
	if err != nil {
		return "" // not Linux, or it has exited: nothing is known
	}
	return string(content)
}

// cpu returns the time that the process has used so far, zero if that is not known.
func (p *process) cpu() time.Duration { return cpuOf(p.read("stat")) }

// ownCPU returns the time that this process, the laboratory, has used so far.
func ownCPU() time.Duration { return cpuOf(readProcess("self", "stat")) }

func cpuOf(stat string) time.Duration {
	_, fields, found := strings.Cut(stat, ") ")
	parts := strings.Fields(fields)
	if !found || len(parts) < 13 {
		return 0
	}
	// utime and stime are fields 14 and 15; the first two fields are cut off.
	user, _ := strconv.ParseInt(parts[11], 10, 64)
	system, _ := strconv.ParseInt(parts[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks
}

// memory returns the resident set, zero if that is not known; anonymous returns the part of it that
// is not the program's own file, which the kernel can drop and read again.
func (p *process) memory() int64    { return p.size("VmRSS:") }
func (p *process) anonymous() int64 { return p.size("RssAnon:") }

func (p *process) size(name string) int64 {
	for line := range strings.Lines(p.read("status")) {
		if size, found := strings.CutPrefix(line, name); found {
			kilobytes, _ := strconv.ParseInt(strings.Fields(size)[0], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// reconciles returns how long the process's passes took, nil if it does not report that.
func (p *process) reconciles(ctx context.Context) *Histogram {
	return p.histogram(ctx, "controller_runtime_reconcile_time_seconds")
}

// histogram reads one of the process's metrics, nil if it serves none of that name.
func (p *process) histogram(ctx context.Context, name string) *Histogram {
	if p == nil || p.metrics == "" {
		return nil
	}
	text, err := get(ctx, "http://"+p.metrics+"/metrics")
	if err != nil {
		return nil
	}
	return readHistogram(string(text), name)
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", url, err)
	}
	return content, nil
}
