package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/buildinfo"
	"github.com/slipway-project/slipway/internal/dashboard"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/poolread"
	"github.com/slipway-project/slipway/internal/prices"
	"github.com/slipway-project/slipway/internal/provisioning/scheduler"
	"github.com/slipway-project/slipway/internal/terminal"
)

// dashboardFlags holds the flags of the command.
type dashboardFlags struct {
	kubeconfigFlags
	namespace, address string
	secretNamespace    string
}

func newDashboardCommand() *cobra.Command {
	flags := &dashboardFlags{}
	command := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve a read-only web page about pools, roll-outs and Provisioners on this machine",
		Long: `Serve a read-only web page about pools, roll-outs and Provisioners on this machine, until the command is interrupted.

The page shows what your kubeconfig may list and watch in the cluster, and changes nothing. Only a browser on this machine can open
it, with the token in the address that the command prints. Connect to a management cluster to see its pools, or to the cluster of a
provisioner to see its nodes and pending pods. While a page is open, the command reads the prices of what runs from AWS, at most
hourly and with your AWS credentials, as plan does. Without the permissions for that, the page shows no prices.`,
		Example: `  slipway dashboard
  slipway dashboard --context production -n team-a
  slipway dashboard --address 127.0.0.1:8090`,
		Args: NoArgs,
		RunE: flags.run,
	}
	set := command.Flags()
	flags.bind(set)
	set.StringVarP(&flags.namespace, "namespace", "n", "", "the only namespace whose pools are shown; all if empty")
	BindSecretNamespace(set, &flags.secretNamespace)
	set.StringVar(&flags.address, "address", "127.0.0.1:0", "loopback address and port of the page; port 0 is any free port")
	return command
}

func (f *dashboardFlags) run(command *cobra.Command, _ []string) error {
	ctx := command.Context()
	address, err := netip.ParseAddrPort(f.address)
	if err != nil || !address.Addr().IsLoopback() {
		return fmt.Errorf("--address is %q, and must be a loopback address with a port, such as 127.0.0.1:8090: the page is for the user of this machine", f.address)
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	config.Timeout = 0 // watches last
	title := f.title()
	page, stop, err := f.dashboard(ctx, config, title)
	if err != nil {
		return err
	}
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address.String())
	if err != nil {
		return fmt.Errorf("listening on --address: %w", err)
	}
	token, at := dashboard.NewToken(), listener.Addr().String()
	fmt.Fprintf(command.OutOrStdout(), "The dashboard of %s is at\n\n  http://%s/dashboard/#token=%s\n\nThe address lets its holder see what you see. Press Ctrl+C to stop.\n", terminal.Line(title, 100), at, token)
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		return fmt.Errorf("finding the port of the page: %w", err)
	}
	return dashboard.Serve(ctx, listener, page.LocalHandler(token, at, net.JoinHostPort("localhost", port)))
}

// title returns the name of the cluster for the page: the context of the kubeconfig, if there is one.
func (f *dashboardFlags) title() string {
	if f.kubeContext != "" {
		return f.kubeContext
	}
	if raw, err := f.loader().RawConfig(); err == nil && raw.CurrentContext != "" {
		return raw.CurrentContext
	}
	return "the cluster"
}

// newDashboardScheme returns a scheme with the kinds that the page shows, and the kinds that name the AWS identity and region of a Cluster.
func newDashboardScheme() (*runtime.Scheme, error) {
	scheme, err := manager.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := provisioningv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return scheme, nil
}

// dashboard returns a dashboard of the cluster that is up to date. The returned function stops it.
func (f *dashboardFlags) dashboard(ctx context.Context, config *rest.Config, title string) (*dashboard.Dashboard, func(), error) {
	ctrl.SetLogger(logr.Discard())
	scheme, err := newDashboardScheme()
	if err != nil {
		return nil, nil, err
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	shown, missing, err := visible(ctx, direct, f.namespace)
	if err != nil {
		return nil, nil, err
	}
	options := cache.Options{Scheme: scheme, Mapper: direct.RESTMapper(), ByObject: map[client.Object]cache.ByObject{
		&corev1.Pod{}: {Field: fields.OneTermEqualSelector("status.phase", string(corev1.PodPending))},
		&eventsv1.Event{}: {Field: fields.AndSelectors(
			fields.OneTermEqualSelector("regarding.kind", "Pod"), fields.OneTermEqualSelector("reportingController", scheduler.Name))},
	}}
	if f.namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
	}
	objects, err := cache.New(config, options)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := dashboard.IndexEvents(ctx, objects, shown); err != nil {
		return nil, nil, err
	}
	probe, err := dashboard.ProbeOf(config)
	if err != nil {
		return nil, nil, err
	}
	costs, err := f.prices(ctx, direct)
	if err != nil {
		missing = append(missing, "Prices, because "+terminal.Line(err.Error(), longestProblem)+".")
	}
	page := dashboard.New(dashboard.Options{
		Reader: objects, Informers: objects, Kinds: shown, Missing: missing, Title: title, Namespace: f.namespace, Probe: probe, Prices: costs,
		Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	ctx, cancel := context.WithCancel(ctx)
	for _, run := range []func(context.Context) error{objects.Start, page.Start} {
		go func() { _ = run(ctx) }() // both end with the context
	}
	if !objects.WaitForCacheSync(ctx) {
		cancel()
		return nil, nil, errors.New("the command was interrupted before the cluster's objects were read")
	}
	return page, cancel, nil
}

// longestProblem bounds the text that says why the page has no prices.
const longestProblem = 300

// prices returns the prices that the user may read, which are read when a page needs them.
func (f *dashboardFlags) prices(ctx context.Context, cluster client.Reader) (*prices.Table, error) {
	base, err := aws.LoadBase(ctx)
	if err != nil {
		return nil, err
	}
	return prices.NewTable(poolread.NewAWS(cluster, base, f.secretNamespace, buildinfo.Version()), clock.RealClock{}), nil
}

// visible returns the kinds that the page can show, and what it cannot show. It fails if it can show neither
// pools nor Provisioners.
func visible(ctx context.Context, direct client.Client, namespace string) (shown []client.Object, missing []string, err error) {
	var denied []string
	for _, kind := range dashboard.PoolKinds() {
		if err := see(ctx, direct, kind, namespace, &shown, &denied); err != nil {
			return nil, nil, err
		}
	}
	pools := len(shown)
	for _, kind := range dashboard.ProvisionerKinds() {
		if err := see(ctx, direct, kind, namespace, &shown, &denied); err != nil {
			return nil, nil, err
		}
		if len(shown) == pools {
			break // without Provisioners there is nothing to show about nodes and pods
		}
	}
	where := "in all namespaces"
	if namespace != "" {
		where = "in namespace " + namespace
	}
	if len(denied) > 0 {
		missing = append(missing, fmt.Sprintf("You may not list and watch %s %s.", strings.Join(denied, ", "), where))
	}
	switch {
	case dashboard.Shows(shown):
		return shown, missing, nil
	case len(denied) > 0:
		return nil, nil, fmt.Errorf("you may not list and watch %s %s: ask for that permission, or choose a namespace with --namespace", strings.Join(denied, ", "), where)
	}
	return nil, nil, errors.New("the cluster has neither pools nor Provisioners of Slipway: choose another cluster with --context, or install Slipway first")
}

// see adds a kind to what is shown, or to what is denied, if the cluster has it.
func see(ctx context.Context, direct client.Client, kind client.Object, namespace string, shown *[]client.Object, denied *[]string) error {
	gvk, err := apiutil.GVKForObject(kind, direct.Scheme())
	if err != nil {
		return fmt.Errorf("looking up %T: %w", kind, err)
	}
	mapping, err := direct.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking up %s in the cluster: %w", gvk.Kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	allowed, err := mayWatch(ctx, direct, mapping, namespace)
	if err != nil {
		return err
	}
	if allowed {
		*shown = append(*shown, kind)
	} else {
		*denied = append(*denied, mapping.Resource.GroupResource().String())
	}
	return nil
}

// mayWatch reports whether the user may list and watch a kind.
func mayWatch(ctx context.Context, direct client.Client, mapping *meta.RESTMapping, namespace string) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
			},
		}}
		if err := direct.Create(ctx, review); err != nil {
			if apierrors.IsUnauthorized(err) {
				return false, fmt.Errorf("signing in to the cluster: %w", err)
			}
			return false, fmt.Errorf("asking the cluster for your permissions: %w", err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}
