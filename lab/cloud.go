package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"

	"github.com/slipway-project/slipway/lab/nodes"
)

// CloudOptions says what simulated AWS to run.
type CloudOptions struct {
	// AWS says what it starts as. A nil Clock is one in real time, owned by the Cloud.
	AWS awssim.Options
	// Listen is its address. Default "127.0.0.1:0", a free port.
	Listen string
	// WithoutNodes has instances join no cluster, for tests that do not need their Nodes and that
	// count what the API server does.
	WithoutNodes bool
}

// Cloud is a simulated AWS that serves, and the machines in it, which join the laboratory's
// workload cluster. Several can share a laboratory, each with its own clock, faults, and calls, so
// that tests are independent of each other; they need different seeds, since Nodes are named after
// instances.
type Cloud struct {
	// AWS is the simulated AWS itself, for tests to read and to disturb.
	AWS *awssim.Simulator
	// Endpoint is its URL.
	Endpoint string
	// Nodes are the machines; nil if there are none to be.
	Nodes *nodes.Nodes

	clock     *simclock.Clock
	ownsClock bool
	cancel    context.CancelFunc
}

// StartCloud runs a simulated AWS until its Close. The context bounds the start only.
func (l *Lab) StartCloud(ctx context.Context, opts CloudOptions) (_ *Cloud, err error) {
	c := &Cloud{clock: opts.AWS.Clock}
	if c.clock == nil {
		c.clock, c.ownsClock = simclock.New(time.Now(), 1), true
		opts.AWS.Clock = c.clock
	}
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1:0"
	}
	c.AWS = awssim.New(opts.AWS)
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.Endpoint, err = c.AWS.Start(ctx, opts.Listen); err != nil {
		return nil, err
	}
	if opts.WithoutNodes {
		return c, nil
	}
	if c.Nodes, err = nodes.Start(ctx, c.AWS, l.Workload.RESTConfig()); err != nil {
		return nil, fmt.Errorf("starting the simulated machines: %w", err)
	}
	return c, nil
}

// Close stops the machines and the simulated AWS. Nodes stay in the API server.
func (c *Cloud) Close() error {
	if c.Nodes != nil {
		c.Nodes.Stop()
	}
	err := c.AWS.Close()
	c.cancel()
	if c.ownsClock {
		c.clock.Close()
	}
	return err
}

// Clock drives the simulated AWS, and controllers that are given it.
func (c *Cloud) Clock() clock.WithTicker { return c.clock }

// Region returns the first region of the world.
func (c *Cloud) Region() string { return c.AWS.World().Regions[0].Name }
