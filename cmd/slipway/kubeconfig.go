package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags holds the flags of commands that a user runs against a management cluster.
type clusterFlags struct {
	kubeconfig, kubeContext string
	// namespace is the namespace of Slipway's manager.
	namespace string
}

func (f *clusterFlags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of the management cluster's kubeconfig")
	set.StringVar(&f.kubeContext, "context", "", "context of the kubeconfig; its current context if empty")
	set.StringVar(&f.namespace, "namespace", "slipway-system", "namespace of the manager")
}

// config returns how to connect to the management cluster.
func (f *clusterFlags) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.kubeContext}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the management cluster (by --kubeconfig, KUBECONFIG, the pod's service account or ~/.kube/config): %w", err)
	}
	config.Timeout, config.UserAgent, config.WarningHandler = requestTimeout, "slipway/"+version(), rest.NoWarnings{}
	config.QPS = -1 // one run sends few requests, and the API server limits them fairly
	return config, nil
}
