package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/cli"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/secretwatch"
)

// managerFlags are the command line of `slipway manager`. Cluster API's providers share their
// names, meanings and defaults.
type managerFlags struct {
	common  commonFlags
	options manager.Options
}

func newManagerCommand() *cobra.Command {
	flags := managerFlags{}
	command := &cobra.Command{
		Use:   "manager",
		Short: "Run the controllers",
		Long: "Run the controllers. The management cluster is found by --kubeconfig, KUBECONFIG or the pod's service account; AWS credentials and\n" +
			"region as by every AWS tool, AWS_ENDPOINT_URL included. Traces go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, if any.\n" +
			"SIGTERM and SIGINT end it in good order, with status 0; a second one ends it at once.",
		Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.bind(command.Flags())
	return command
}

func (f *managerFlags) bind(set *pflag.FlagSet) {
	set.SortFlags = false
	f.common.bind(set, &f.options, manager.LeaderElectionID)
	set.StringVar(&f.options.Namespace, "namespace", "", "the only namespace whose objects are reconciled; all if empty")
	set.StringVar(&f.options.WatchFilter, "watch-filter", "", "reconcile only objects whose label cluster.x-k8s.io/watch-filter has this value")
	cli.BindSecretNamespace(set, &f.options.IdentitySecretNamespace)
	set.DurationVar(&f.options.SecretInterval, "secret-interval", secretwatch.DefaultInterval, "how often the Secrets with bootstrap data and with credentials of identities are polled, by name")
	set.DurationVar(&f.options.SettleWindow, "rollout-settle-window", manager.DefaultSettleWindow, "how long a pool's spec must not have changed before the change is rolled out; 0 for no wait")
	set.BoolVar(&f.options.MachinePoolMachines, "machine-pool-machines", false, "create a Machine for every instance in "+
		"pools that do not set spec.machinePoolMachines")
	set.BoolVar(&f.options.LoopbackWorkloads, "loopback-workload-clusters", false, "allow connections to workload clusters "+
		"whose API server runs on this machine; for development only, because tenants could reach other "+
		"local services")
	cli.BindNodeRoles(set, &f.options.NodeRolePath, &f.options.NodeRoleBoundary)
	set.StringVar(&f.options.DashboardAddress, "dashboard-address", "", "address of the dashboard over HTTPS, such as :9442, for clients that the API server authorizes to get /dashboard/; disabled if empty")
	set.IntVar(&f.options.Webhooks.Port, "webhook-port", manager.DefaultWebhookPort, "port of the webhooks, which return "+
		"warnings at kubectl apply; disabled if 0")
	set.StringVar(&f.options.Webhooks.CertificateDirectory, "webhook-cert-dir", "", "directory with the webhooks' certificate, tls.crt and tls.key, as a mounted Secret; no webhooks without it and without --webhook-cert-secret")
	set.StringVar(&f.options.Webhooks.CertificateSecret, "webhook-cert-secret", "", "NAMESPACE/NAME of an existing Secret, "+
		"in which the manager stores a webhook certificate that it creates and renews itself")
	set.StringVar(&f.options.Webhooks.Configuration, "webhook-configuration", manager.DefaultWebhookConfiguration, "name of the "+
		"ValidatingWebhookConfiguration whose caBundle the manager sets to trust the certificate of "+
		"--webhook-cert-secret")
}

func (f *managerFlags) run(command *cobra.Command) error {
	end, err := f.common.prepare(command, &f.options)
	if err != nil {
		return err
	}
	defer end()
	return manager.Run(command.Context(), f.options)
}
