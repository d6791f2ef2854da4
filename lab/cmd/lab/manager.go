package main

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slipway-project/slipway/internal/manager"

	"github.com/slipway-project/slipway/lab"
)

// slipwayManager runs Slipway's manager in the laboratory's process. Nil builds a laboratory without one.
var slipwayManager lab.Manager = func(ctx context.Context, env lab.ManagerEnv) error {
	return manager.Run(ctx, manager.Options{
		RESTConfig: env.RESTConfig,
		AWS:        env.AWSConfig(),
		Clock:      env.Clock,
		Namespace:  env.Namespace,
		Log:        ctrl.Log.WithName("slipway"),
	})
}
