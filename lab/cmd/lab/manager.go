package main

import (
	"context"

	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slipway-project/slipway/internal/manager"

	"github.com/slipway-project/slipway/lab"
)

// slipwayManager runs Slipway's manager in the laboratory's process.
func (f *labFlags) slipwayManager(ctx context.Context, env lab.ManagerEnv) error {
	return manager.Run(ctx, f.managerOptions(env))
}

// slipwayManagerAndProvisioner runs the controllers of just-in-time nodes alongside it. If either
// stops, both stop.
func (f *labFlags) slipwayManagerAndProvisioner(ctx context.Context, env lab.ManagerEnv) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.slipwayManager(ctx, env) })
	group.Go(func() error {
		return manager.RunProvisioner(ctx, manager.ProvisionerOptions{Options: f.managerOptions(env)})
	})
	return group.Wait()
}

// managerOptions returns how either runs. Omitted flags have the product's defaults.
func (f *labFlags) managerOptions(env lab.ManagerEnv) manager.Options {
	return manager.Options{
		SettleWindow: f.settleWindow,
		RESTConfig:   env.RESTConfig,
		AWS:          env.AWSConfig(),
		Clock:        env.Clock,
		Namespace:    env.Namespace,
		Log:          ctrl.Log.WithName("slipway"),
		// The laboratory's workload clusters are on this machine.
		LoopbackWorkloads: true,
	}
}
