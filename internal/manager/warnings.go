package manager

import (
	"context"
	"regexp"

	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// withWarnings returns a configuration whose clients log the API server's warnings, with the object that is
// reconciled, unless the configuration says what to do with them. It leaves out the warning about the names of
// finalizers, which the API server would send for every object: Slipway takes over pools of Cluster API Provider AWS,
// and gives them back, so that its finalizers have the same names.
func withWarnings(config *rest.Config) *rest.Config {
	if config.WarningHandler != nil || config.WarningHandlerWithContext != nil {
		return config
	}
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = &warnings{
		WarningHandlerWithContext: log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{}),
		finalizers:                apiwarnings.DomainQualifiedFinalizerWarning(clusterv1.GroupVersion.Group),
	}
	return config
}

// warnings passes on the warnings that a user or a developer can act on.
type warnings struct {
	rest.WarningHandlerWithContext
	finalizers regexp.Regexp
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if !w.finalizers.MatchString(text) {
		w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, text)
	}
}
