// Command slipway runs Kubernetes nodes on AWS from EC2 launch templates.
//
// `slipway manager` runs next to Cluster API in a management cluster. It reconciles AWSMachinePools,
// AWSManagedMachinePools and AWSLaunchConfigs into launch templates, Auto Scaling groups and EKS
// node groups. `slipway provisioner` runs in a workload cluster and launches instances for pods
// that are pending. The other commands are in internal/cli, and the plugin of kubectl has them too.
//
// This package only parses flags, sets up logs, metrics and traces, and starts the components of
// internal/manager.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-project/slipway/internal/cli"
)

func main() { os.Exit(cli.Main(context.Background(), newCommand())) }

func newCommand() *cobra.Command { return cli.New(newManagerCommand(), newProvisionerCommand()) }
