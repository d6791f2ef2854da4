// Command certmanager runs cert-manager's own controllers, from its Go module, for the tests of the
// installation: the ones that issue self-signed certificates, and its injector of authorities.
// cert-manager's webhook does not run. It defaults and validates the objects of cert-manager alone.
//
// The command is a module of its own, because cert-manager needs other versions of libraries than the
// laboratory does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	certmanagerscheme "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/util"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	// Each of these packages registers a controller, the last one an issuer.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

func main() {
	flags := flag.NewFlagSet("certmanager", flag.ExitOnError) // controller-runtime has a --kubeconfig of its own
	kubeconfig := flags.String("kubeconfig", "", "file with the address of the API server and the credentials for it")
	_ = flags.Parse(os.Args[1:]) // it exits on errors
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *kubeconfig); err != nil {
		klog.ErrorS(err, "cert-manager has failed")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

// run runs all controllers until the context ends.
func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig %q: %w", kubeconfig, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return inject(ctx, config) })
	if err := issue(ctx, group, kubeconfig); err != nil {
		return errors.Join(err, group.Wait())
	}
	return group.Wait()
}

// inject writes the authorities of certificates into the webhook configurations that ask for them.
func inject(ctx context.Context, config *rest.Config) error {
	kinds := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(kinds), certmanagerscheme.AddToScheme(kinds)); err != nil {
		return err
	}
	// Its name is the field manager of the authorities.
	manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(config, "cainjector"), ctrl.Options{
		Scheme: kinds, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		return fmt.Errorf("creating the manager of the injector: %w", err)
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName: true, cainjector.ValidatingWebhookConfigurationName: true,
		},
	})
	if err != nil {
		return fmt.Errorf("registering the injectors: %w", err)
	}
	return manager.Start(ctx)
}

// issue starts in the group what makes Secrets of Certificates: every controller that is registered.
func issue(ctx context.Context, group *errgroup.Group, kubeconfig string) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig,
		// The defaults of cert-manager's own command.
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Hour, CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		return fmt.Errorf("preparing the controllers: %w", err)
	}
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	for name, create := range controller.Known() {
		created, err := create(factory)
		if err != nil {
			return fmt.Errorf("creating controller %q: %w", name, err)
		}
		group.Go(func() error { return created.Run(1, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return nil
}
