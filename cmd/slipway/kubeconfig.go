package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfigFlags select a management cluster.
type kubeconfigFlags struct{ kubeconfig, kubeContext string }

func (f *kubeconfigFlags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of the management cluster's kubeconfig")
	set.StringVar(&f.kubeContext, "context", "", "context of the kubeconfig; its current context if empty")
}

// config returns how to connect to the management cluster.
func (f *kubeconfigFlags) config() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the management cluster (by --kubeconfig, KUBECONFIG, the pod's service account or ~/.kube/config): %w", err)
	}
	config.Timeout, config.UserAgent, config.WarningHandler = requestTimeout, "slipway/"+version(), rest.NoWarnings{}
	config.QPS = -1 // one run sends few requests, and the API server limits them fairly
	return config, nil
}

// contextNamespace returns the namespace of the context.
func (f *kubeconfigFlags) contextNamespace() (string, error) {
	namespace, _, err := f.loader().Namespace()
	if err != nil {
		return "", fmt.Errorf("finding the namespace of the kubeconfig's context: %w", err)
	}
	return namespace, nil
}

func (f *kubeconfigFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.kubeContext})
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
