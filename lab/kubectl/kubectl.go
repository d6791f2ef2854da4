// Package kubectl runs commands of kubectl, as the library behind the program, against API servers of
// the laboratory.
package kubectl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/apply"
	kubectldelete "k8s.io/kubectl/pkg/cmd/delete"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// Apply runs `kubectl apply -f` with a file, and returns what it prints. It does not validate: kubectl
// reads the schema of the whole API for each kind, which takes minutes on a busy machine, and the tests
// of config/ decode the manifests strictly.
func Apply(ctx context.Context, kubeconfig, path string, flags ...string) (string, error) {
	return run(ctx, kubeconfig, func(factory cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
		return apply.NewCmdApply("kubectl", factory, streams)
	}, append([]string{"-f", path, "--validate=false"}, flags...))
}

// Delete runs `kubectl delete` with arguments, and returns what it prints.
func Delete(ctx context.Context, kubeconfig string, arguments ...string) (string, error) {
	return run(ctx, kubeconfig, kubectldelete.NewCmdDelete, arguments)
}

// running guards what kubectl does about an error, which is one function in a process.
var running sync.Mutex

func run(ctx context.Context, kubeconfig string, build func(cmdutil.Factory, genericiooptions.IOStreams) *cobra.Command, arguments []string) (printed string, err error) {
	running.Lock()
	defer running.Unlock()
	cache, err := os.MkdirTemp("", "slipway-kubectl-") // as a process that has seen no kinds yet
	if err != nil {
		return "", fmt.Errorf("making kubectl's cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cache)) }()
	config := genericclioptions.NewConfigFlags(true)
	config.KubeConfig, config.CacheDir = &kubeconfig, &cache
	var out, problems bytes.Buffer
	cmdutil.BehaviorOnFatal(func(message string, _ int) { problems.WriteString(message) })
	defer cmdutil.DefaultBehaviorOnFatal()
	command := build(cmdutil.NewFactory(config), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &problems})
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(arguments)
	if err := command.ExecuteContext(ctx); err != nil {
		return out.String(), fmt.Errorf("running kubectl %q: %w", arguments, err)
	}
	if problems.Len() > 0 {
		return out.String(), fmt.Errorf("running kubectl %q: %s", arguments, problems.String())
	}
	return out.String(), nil
}
