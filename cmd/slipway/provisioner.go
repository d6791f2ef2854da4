package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/cli"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/provisioning/scheduler"
)

// provisionerFlags are the command line of `slipway provisioner`.
type provisionerFlags struct {
	common  commonFlags
	options manager.ProvisionerOptions
}

func newProvisionerCommand() *cobra.Command {
	flags := provisionerFlags{}
	command := &cobra.Command{
		Use:   "provisioner",
		Short: "Launch nodes for pods that are pending",
		Long: "Run the controllers of just-in-time nodes, in the cluster whose pods wait for nodes. The cluster is found by --kubeconfig, KUBECONFIG or\n" +
			"the pod's service account; AWS credentials and region as by every AWS tool, AWS_ENDPOINT_URL included. Traces go to the collector that\n" +
			"OTEL_EXPORTER_OTLP_ENDPOINT names, if any. SIGTERM and SIGINT end it in good order, with status 0; a second one ends it at once.",
		Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.bind(command.Flags())
	return command
}

func (f *provisionerFlags) bind(set *pflag.FlagSet) {
	set.SortFlags = false
	f.common.bind(set, &f.options.Options, manager.ProvisionerLeaderElectionID)
	set.StringVar(&f.options.InstanceProfile, "instance-profile", manager.DefaultInstanceProfile, "name or ARN of the instance profile of nodes from default launch templates")
	set.IntVar(&f.options.LaunchesPerMinute, "launches-per-minute", manager.DefaultLaunchesPerMinute, "maximum number of nodes launched per "+
		"minute")
	set.DurationVar(&f.options.BatchMax, "batch-max", launcher.DefaultLongest, "maximum time that pending pods wait for "+
		"more pods while more keep arriving; a single pod never waits")
	set.IntVar(&f.options.PodsPerPass, "pods-per-pass", scheduler.DefaultPodsPerPass, "maximum number of pending pods "+
		"considered together, which limits memory use; other pods wait for the next reconcile")
	set.DurationVar(&f.options.RegistrationTimeout, "registration-timeout", nodelifecycle.DefaultRegistrationTimeout, "how long an instance may take to become "+
		"a Node that accepts pods before it is replaced")
}

func (f *provisionerFlags) run(command *cobra.Command) error {
	end, err := f.common.prepare(command, &f.options.Options)
	if err != nil {
		return err
	}
	defer end()
	return manager.RunProvisioner(command.Context(), f.options)
}
