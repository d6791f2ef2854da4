package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
)

// profile begins to profile this process, if profiles are asked for. The returned function stops
// that, and takes a profile of the controller's heap.
func (b *bench) profile(ctx context.Context, phase string) (func() error, error) {
	if b.Profiles == "" {
		return func() error { return nil }, nil
	}
	base := filepath.Join(b.Profiles, strings.ReplaceAll(b.subject+" "+phase, " ", "-"))
	file, err := os.Create(base + ".cpu") // #nosec G304 -- in the directory that the user names
	if err != nil {
		return nil, fmt.Errorf("writing a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a profile: %w", err), file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil || b.process == nil || b.process.profiler == "" || b.process.command == nil {
			return err
		}
		heap, err := get(ctx, "http://"+b.process.profiler+"/debug/pprof/heap")
		if err != nil {
			return err
		}
		if err := os.WriteFile(base+".heap", heap, 0o600); err != nil {
			return fmt.Errorf("writing a profile: %w", err)
		}
		return nil
	}, nil
}
