package controlplane

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

type etcdServer struct{ server *embed.Etcd }

// startEtcd runs a single-member etcd on free ports of the loopback interface and waits until it serves.
func startEtcd(ctx context.Context, dir string, log io.Writer) (*etcdServer, error) {
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Name = "laboratory"
	config.Dir = dir
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = true // a laboratory's data need not outlive the machine's power
	config.MaxTxnOps = 1024
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newZapLogger(log))

	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("starting etcd in %s: %w", dir, err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return &etcdServer{server: server}, nil
	case err := <-server.Err():
		server.Close()
		return nil, fmt.Errorf("running etcd in %s: %w", dir, err)
	case <-ctx.Done():
		server.Close()
		return nil, fmt.Errorf("waiting for etcd in %s: %w", dir, context.Cause(ctx))
	}
}

func (e *etcdServer) endpoint() string { return "http://" + e.server.Clients[0].Addr().String() }

// stop stops etcd. Its clients are gone already, so it need not be graceful to them.
func (e *etcdServer) stop(deadline time.Time) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.server.Close()
	}()
	return waitUntil(deadline, done, "etcd")
}

// waitUntil waits for done; past the deadline it returns an error that says what did not stop.
func waitUntil(deadline time.Time, done <-chan struct{}, what string) error {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("%s did not end in time", what)
	}
}
