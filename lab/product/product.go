// Package product runs Slipway's own manager inside the laboratory, in the same process, on the
// laboratory's clock and simulated AWS.
package product

import (
	"context"
	"net"
	"net/http"
	"sync"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
)

// Settings change how the manager runs from what it does by default.
type Settings struct {
	// WrapKubernetes, WrapWorkloads and WrapAWS wrap the transports of the manager's clients to the
	// management cluster, to workload clusters and to AWS, to watch or to break them.
	WrapKubernetes, WrapWorkloads, WrapAWS func(http.RoundTripper) http.RoundTripper
	// Change edits the options last.
	Change func(*manager.Options)
	Log    logr.Logger
}

// Manager returns Slipway's manager with the settings.
func Manager(settings Settings) lab.Manager {
	return func(ctx context.Context, env lab.ManagerEnv) error {
		options, end := settings.options(env)
		defer end()
		return manager.Run(ctx, options)
	}
}

// Provisioner returns the controllers of just-in-time nodes with the settings. Their cluster is the
// environment's; change edits their own options last.
func Provisioner(settings Settings, change func(*manager.ProvisionerOptions)) lab.Manager {
	return func(ctx context.Context, env lab.ManagerEnv) error {
		options, end := settings.options(env)
		defer end()
		provisioner := manager.ProvisionerOptions{Options: options}
		if change != nil {
			change(&provisioner)
		}
		return manager.RunProvisioner(ctx, provisioner)
	}
}

// options returns what either runs with in an environment, and a function that closes its
// connections.
func (s Settings) options(env lab.ManagerEnv) (manager.Options, func()) {
	options := manager.Options{
		RESTConfig: rest.CopyConfig(env.RESTConfig), AWS: env.AWSConfig(), Clock: env.Clock, Namespace: env.Namespace, Log: s.Log,
		SettleWindow: manager.DefaultSettleWindow, WrapWorkloads: s.WrapWorkloads, LoopbackWorkloads: true,
	}
	if s.WrapKubernetes != nil {
		options.RESTConfig.Wrap(s.WrapKubernetes)
	}
	// A manager that ends leaves no connection behind, as a process that ends would not.
	connections := &connections{}
	options.RESTConfig.Dial = connections.dial
	base := awshttp.NewBuildableClient().GetTransport()
	base.DialContext = connections.dial
	transport := http.RoundTripper(base)
	if s.WrapAWS != nil {
		transport = s.WrapAWS(transport)
	}
	options.AWS.HTTPClient = &http.Client{Transport: transport}
	if s.Change != nil {
		s.Change(&options)
	}
	return options, connections.close
}

// connections are all that a manager opened.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]bool{}
	}
	c.open[connection] = true
	return &tracked{Conn: connection, connections: c}, nil
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection := range c.open {
		_ = connection.Close() // the peer sees it close either way
	}
	c.open = nil
}

// tracked forgets itself when it is closed.
type tracked struct {
	net.Conn
	connections *connections
}

// Close implements net.Conn.
func (t *tracked) Close() error {
	t.connections.mu.Lock()
	delete(t.connections.open, t.Conn)
	t.connections.mu.Unlock()
	return t.Conn.Close()
}
