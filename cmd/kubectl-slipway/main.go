// Command kubectl-slipway is the plugin of kubectl: `kubectl slipway plan` shows what an edit of a pool does
// to nodes. It has the commands of slipway that users run, without the controllers.
package main

import (
	"context"
	"os"

	"github.com/slipway-project/slipway/internal/cli"
)

func main() { os.Exit(cli.Main(context.Background(), cli.New())) }
