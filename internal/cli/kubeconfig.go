package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-project/slipway/internal/buildinfo"
)

// kubeconfigFlags select a management cluster.
type kubeconfigFlags struct{ kubeconfig, kubeContext string }

func (f *kubeconfigFlags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of the management cluster's kubeconfig; KUBECONFIG or ~/.kube/config if empty")
	set.StringVar(&f.kubeContext, "context", "", "context of the kubeconfig; its current context if empty")
}

// config returns how to connect to the management cluster.
func (f *kubeconfigFlags) config() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("finding the management cluster: there is no kubeconfig at %s: name one with --kubeconfig or KUBECONFIG", f.paths())
	case f.kubeconfig != "" && errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("finding the management cluster: there is no kubeconfig at %s", printable(f.kubeconfig))
	case err != nil && f.lacksContext():
		return nil, fmt.Errorf("finding the management cluster: the kubeconfig has no context %.253q: \"kubectl config get-contexts\" lists the contexts", f.kubeContext)
	case err != nil:
		return nil, fmt.Errorf("finding the management cluster (by --kubeconfig, KUBECONFIG, the pod's service account or ~/.kube/config): %w", err)
	}
	config.Timeout, config.UserAgent, config.WarningHandler = requestTimeout, "slipway/"+buildinfo.Version(), rest.NoWarnings{}
	config.QPS = -1 // one run sends few requests, and the API server limits them fairly
	return config, nil
}

// lacksContext reports whether the kubeconfig has no context of the name in the flags.
func (f *kubeconfigFlags) lacksContext() bool {
	raw, err := f.loader().RawConfig()
	return err == nil && f.kubeContext != "" && raw.Contexts[f.kubeContext] == nil
}

// namespaceOr returns the namespace of a flag, or the one of the context if that is empty.
func (f *kubeconfigFlags) namespaceOr(named string) (string, error) {
	if named == "" {
		return f.contextNamespace()
	}
	if len(validation.IsDNS1123Label(named)) > 0 {
		return "", fmt.Errorf("--namespace is %.64q, and no namespace can have this name: it has lowercase letters, digits, and hyphens", named)
	}
	return named, nil
}

// contextNamespace returns the namespace of the context.
func (f *kubeconfigFlags) contextNamespace() (string, error) {
	namespace, _, err := f.loader().Namespace()
	if err != nil {
		return "", fmt.Errorf("finding the namespace of the kubeconfig's context: %w", err)
	}
	return namespace, nil
}

// paths returns the files that are read, for a message.
func (f *kubeconfigFlags) paths() string {
	return printable(strings.Join(f.rules().GetLoadingPrecedence(), " or "))
}

func (f *kubeconfigFlags) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

func (f *kubeconfigFlags) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules(), &clientcmd.ConfigOverrides{CurrentContext: f.kubeContext})
}

// clusterFlags holds the flags of commands about the manager of a management cluster.
type clusterFlags struct {
	kubeconfigFlags
	// namespace is the namespace of Slipway's manager.
	namespace string
}

func (f *clusterFlags) bind(set *pflag.FlagSet) {
	f.kubeconfigFlags.bind(set)
	set.StringVar(&f.namespace, "namespace", "slipway-system", "namespace of the manager")
}
