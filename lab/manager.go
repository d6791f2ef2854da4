package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/awssim"
	slipwayaws "github.com/slipway-project/slipway/internal/aws"
)

// SecretAccessKey is the secret of every access key; the simulated AWS takes any.
const SecretAccessKey = "laboratory-secret-access-key" // #nosec G101 -- opens nothing

// managerStopTimeout is the time that a manager may take to stop once its context is done.
const managerStopTimeout = 30 * time.Second

// AccessKeyID returns an access key id of a simulated account, which is its last twelve digits.
func AccessKeyID(account string) string { return "AKIALABORATORY" + account }

// ManagerEnv holds what a manager needs to know about its surroundings.
type ManagerEnv struct {
	// RESTConfig reaches the management cluster as an administrator.
	RESTConfig *rest.Config
	// Namespace is the only one to watch; all if empty.
	Namespace string
	// Clock is the simulated AWS's: requeues and waiting go by it.
	Clock clock.WithTicker
	// Endpoint is the URL of the simulated AWS; Region and Account what credentials belong to.
	Endpoint, Region, Account string
}

// AWSConfig returns the AWS SDK's configuration for the account.
func (e ManagerEnv) AWSConfig() aws.Config {
	return aws.Config{
		Region:       e.Region,
		BaseEndpoint: &e.Endpoint,
		APIOptions:   []func(*middleware.Stack) error{slipwayaws.SendBodies},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: AccessKeyID(e.Account), SecretAccessKey: SecretAccessKey}, nil
		}),
	}
}

// ManagerEnv returns the surroundings of a manager for all namespaces and the cloud's default account.
func (l *Lab) ManagerEnv(cloud *Cloud) ManagerEnv {
	return ManagerEnv{
		RESTConfig: l.RESTConfig(), Clock: cloud.clock,
		Endpoint: cloud.Endpoint, Region: cloud.Region(), Account: awssim.DefaultAccount,
	}
}

// Environment returns the variables that point a program at the laboratory and its own cloud, as KEY=value.
func (l *Lab) Environment() []string {
	return []string{
		"KUBECONFIG=" + l.Kubeconfig(),
		"WORKLOAD_KUBECONFIG=" + l.WorkloadKubeconfig(),
		"AWS_ENDPOINT_URL=" + l.Cloud.Endpoint,
		"AWS_REGION=" + l.Cloud.Region(),
		"AWS_DEFAULT_REGION=" + l.Cloud.Region(),
		"AWS_ACCESS_KEY_ID=" + AccessKeyID(awssim.DefaultAccount),
		"AWS_SECRET_ACCESS_KEY=" + SecretAccessKey,
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// RunningManager is a manager at work. It can be stopped and another started in its place, as after a crash.
type RunningManager struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error // valid once done is closed
}

var errStopped = errors.New("the manager was stopped")

// StartManager runs a manager until Stop. It does not stop with the context.
func (*Lab) StartManager(ctx context.Context, env ManagerEnv, run Manager) (*RunningManager, error) {
	if env.RESTConfig == nil {
		return nil, errors.New("starting a manager: its environment has no RESTConfig; use Lab.ManagerEnv")
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	m := &RunningManager{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.err = run(ctx, env)
	}()
	return m, nil
}

// Done returns a channel that is closed when the manager has stopped, by itself or by Stop.
func (m *RunningManager) Done() <-chan struct{} { return m.done }

// Stop stops the manager, waits for it, and returns its error.
func (m *RunningManager) Stop() error {
	m.cancel(errStopped)
	timer := time.NewTimer(managerStopTimeout)
	defer timer.Stop()
	select {
	case <-m.done:
	case <-timer.C:
		return errors.New("the manager did not end in time")
	}
	if m.err != nil && !errors.Is(m.err, context.Canceled) && !errors.Is(m.err, errStopped) {
		return fmt.Errorf("running the manager: %w", m.err)
	}
	return nil
}
