package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"

	"github.com/slipway-project/slipway/internal/manager"

	"github.com/slipway-project/slipway/lab"
)

// labFlags say what laboratory to start.
type labFlags struct {
	noManager        bool
	provisioner      bool
	crds             []string
	world            string
	separateWorkload bool
	clockRate        float64
	instanceTimes    awssim.InstanceTimes
	readLag          time.Duration
	throttling       bool
	seed             uint64
	awsListen        string
	settleWindow     time.Duration
	tokenTTL         time.Duration
	logFile          string
	clusters         []string
	managedClusters  []string
	kubernetes       string
	startTimeout     time.Duration
}

func (f *labFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noManager, "no-manager", false, "leave out Slipway's manager and provisioner and their definitions, so that another controller can take its place")
	flags.BoolVar(&f.provisioner, "provisioner", f.provisioner, "run Slipway's provisioner of just-in-time nodes too, and kube-scheduler")
	flags.StringArrayVar(&f.crds, "crds", nil, "apply the CustomResourceDefinitions in this directory too (may be repeated)")
	flags.StringVar(&f.world, "world", "", "YAML file of what the simulated AWS starts with (default: the built-in world)")
	flags.BoolVar(&f.separateWorkload, "separate-workload", false, "give workload clusters an API server of their own")
	flags.Float64Var(&f.clockRate, "clock-rate", 1, "how much faster than real time the simulated AWS's clock runs; 0 stands still until stepped")
	flags.DurationVar(&f.instanceTimes.Pending, "instance-pending", 0, "simulated time from launch until an instance runs")
	flags.DurationVar(&f.instanceTimes.Boot, "instance-boot", 0, "simulated time from running until the node in an instance is up")
	flags.DurationVar(&f.instanceTimes.ShuttingDown, "instance-shutting-down", 0, "simulated time from the call to terminate until an instance is terminated")
	flags.DurationVar(&f.readLag, "read-lag", 0, "how far reads of the simulated AWS lag behind writes")
	flags.BoolVar(&f.throttling, "throttling", false, "apply the request limits that AWS documents")
	flags.Uint64Var(&f.seed, "seed", 0, "decides the identifiers that the simulated AWS makes")
	flags.StringVar(&f.awsListen, "aws-listen", "127.0.0.1:0", "where the simulated AWS listens")
	flags.DurationVar(&f.settleWindow, "rollout-settle-window", manager.DefaultSettleWindow,
		"how long a pool's spec must not have changed before the change is rolled out, in simulated time; 0 for no wait")
	flags.DurationVar(&f.tokenTTL, "bootstrap-token-ttl", 15*time.Minute, "how long kubeadm join tokens are valid, in real time")
	flags.StringVar(&f.logFile, "log-file", "", "where the servers log to, - for standard error (default: a file that goes with the laboratory)")
	flags.StringArrayVar(&f.clusters, "cluster", nil, "make a ready self-managed cluster of this name in namespace default (may be repeated)")
	flags.StringArrayVar(&f.managedClusters, "managed-cluster", nil, "make a ready EKS cluster of this name in namespace default (may be repeated)")
	flags.StringVar(&f.kubernetes, "kubernetes-version", "v1.25.0", "the Kubernetes version of the clusters' control planes")
	flags.DurationVar(&f.startTimeout, "start-timeout", 2*time.Minute, "how long everything may take to start")
}

// start starts the laboratory that the flags describe, and creates its clusters. The closer stops
// it.
func (f *labFlags) start(ctx context.Context) (_ *lab.Lab, closer func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.startTimeout, errors.New("the laboratory took too long to start"))
	defer cancel()
	options, err := f.options()
	if err != nil {
		return nil, nil, err
	}
	log, closeLog, err := f.log()
	if err != nil {
		return nil, nil, err
	}
	options.Log = log
	l, err := lab.Start(ctx, options)
	if err != nil {
		options.Cloud.AWS.Clock.Close()
		return nil, nil, errors.Join(err, closeLog())
	}
	closer = func() error {
		err := l.Close()
		options.Cloud.AWS.Clock.Close()
		return errors.Join(err, closeLog())
	}
	if err := f.makeClusters(ctx, l); err != nil {
		return nil, nil, errors.Join(err, closer())
	}
	return l, closer, nil
}

func (f *labFlags) options() (lab.Options, error) {
	options := lab.Options{
		SeparateWorkload:  f.separateWorkload,
		WithoutSlipway:    f.noManager,
		CRDDirs:           f.crds,
		BootstrapTokenTTL: f.tokenTTL,
		Cloud:             lab.CloudOptions{Listen: f.awsListen},
	}
	behavior := awssim.Behavior{InstanceTimes: f.instanceTimes, ReadLag: f.readLag, Throttling: f.throttling}
	if err := behavior.Check(); err != nil {
		return options, err
	}
	if f.clockRate < 0 {
		return options, errors.New("--clock-rate must not be negative: time does not go backward")
	}
	options.Cloud.AWS = awssim.Options{Seed: f.seed, Behavior: behavior}
	if f.world != "" {
		loaded, err := world.Load(f.world)
		if err != nil {
			return options, err
		}
		options.Cloud.AWS.World = loaded
	}
	switch {
	case f.noManager:
	case f.provisioner:
		options.Manager, options.Scheduler = f.slipwayManagerAndProvisioner, true
	default:
		options.Manager = f.slipwayManager
	}
	options.Cloud.AWS.Clock = simclock.New(time.Now(), f.clockRate)
	return options, nil
}

func (f *labFlags) log() (log io.Writer, closeLog func() error, err error) {
	nothing := func() error { return nil }
	switch f.logFile {
	case "":
		return nil, nothing, nil
	case "-":
		return os.Stderr, nothing, nil
	}
	file, err := os.Create(f.logFile)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log: %w", err)
	}
	return file, file.Close, nil
}

func (f *labFlags) makeClusters(ctx context.Context, l *lab.Lab) error {
	for managed, names := range map[bool][]string{false: f.clusters, true: f.managedClusters} {
		for _, name := range names {
			options := lab.ClusterOptions{Name: name, Managed: managed, KubernetesVersion: f.kubernetes}
			if _, err := l.NewCluster(ctx, options); err != nil {
				return err
			}
		}
	}
	return nil
}
