package main

import (
	"context"

	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slipway-project/slipway/internal/manager"

	"github.com/slipway-project/slipway/lab"
)

// slipwayManager runs Slipway's manager in the laboratory's process. Nil builds a laboratory without one.
var slipwayManager lab.Manager = func(ctx context.Context, env lab.ManagerEnv) error {
	return manager.Run(ctx, managerOptions(env))
}

// slipwayManagerAndProvisioner runs the controllers of just-in-time nodes beside it. Either one's end is the end of both.
func slipwayManagerAndProvisioner(ctx context.Context, env lab.ManagerEnv) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return slipwayManager(ctx, env) })
	group.Go(func() error {
		return manager.RunProvisioner(ctx, manager.ProvisionerOptions{Options: managerOptions(env)})
	})
	return group.Wait()
}

func managerOptions(env lab.ManagerEnv) manager.Options {
	return manager.Options{
		RESTConfig: env.RESTConfig,
		AWS:        env.AWSConfig(),
		Clock:      env.Clock,
		Namespace:  env.Namespace,
		Log:        ctrl.Log.WithName("slipway"),
	}
}
