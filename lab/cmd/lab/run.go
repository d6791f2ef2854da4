package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// childGrace is the time that a command may take to exit after it was asked to.
const childGrace = 10 * time.Second

// run starts a laboratory, runs the command in its environment, and returns its exit status as an error.
func run(ctx context.Context, flags *labFlags, args []string) error {
	if _, err := exec.LookPath(args[0]); err != nil {
		return err // before half a minute is spent on a laboratory
	}
	l, closer, err := flags.start(ctx)
	if err != nil {
		return err
	}
	status, err := runChild(ctx, args, l.Environment())
	if err := errors.Join(err, closer()); err != nil {
		return err
	}
	if status != 0 {
		return statusError(status)
	}
	return nil
}

// runChild runs a command until it exits. When the context is done, the command is asked to exit
// too, and killed after a while.
func runChild(ctx context.Context, args, environment []string) (status int, err error) {
	// #nosec G204 -- running the user's command is the purpose
	child := exec.CommandContext(ctx, args[0], args[1:]...)
	child.Env = append(os.Environ(), environment...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = childGrace
	err = child.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if wait, ok := exit.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
			return 128 + int(wait.Signal()), nil // as shells report it
		}
		return exit.ExitCode(), nil
	}
	if err != nil && ctx.Err() == nil {
		return 0, fmt.Errorf("running %s: %w", args[0], err)
	}
	return 0, nil
}
