package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/slipway-project/slipway/lab"
)

// up runs a laboratory until the context is done, or the manager stops.
func up(ctx context.Context, flags *labFlags, out io.Writer) error {
	begin := time.Now()
	l, closer, err := flags.start(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(describe(out, l, time.Since(begin)), wait(ctx, l))
	return errors.Join(err, closer())
}

// describe prints how to reach everything, as lines that a shell understands.
func describe(out io.Writer, l *lab.Lab, took time.Duration) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# The laboratory is ready after %v. It runs until interrupted. In another terminal:\n", took.Round(time.Millisecond))
	for _, variable := range l.Environment() {
		fmt.Fprintf(&text, "export %s\n", variable)
	}
	if !l.HasManager() {
		fmt.Fprintln(&text, "# No manager runs.")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func wait(ctx context.Context, l *lab.Lab) error {
	select {
	case <-ctx.Done():
		return nil
	case <-l.ManagerDone():
		return errors.New("the manager has ended")
	}
}
