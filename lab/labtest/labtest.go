// Package labtest serves go test with laboratories: one control plane per test
// package, shared by all its tests and started by the first that wants it; and
// per test a namespace, a simulated AWS with an account and a clock of its own,
// so that tests run in parallel and disturb one another in nothing.
//
//	func TestMain(m *testing.M) { labtest.Main(m) }
//
//	func TestPool(t *testing.T) {
//		t.Parallel()
//		env := labtest.New(t)
//		env.Cluster(lab.ClusterOptions{})
//		env.ApplyFile("../../examples/machinepool.yaml")
//		env.Eventually("two nodes join", func() error { … })
//	}
package labtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim"

	"github.com/slipway-project/slipway/lab"
)

// startTimeout bounds the start of the shared laboratory; it takes some five seconds on two idle cores.
const startTimeout = 2 * time.Minute

// shared is the test package's laboratory.
var shared struct {
	sync.Mutex
	options lab.Options
	lab     *lab.Lab
	err     error
	tests   uint64
	pace    pace
	// endPace stops it.
	endPace context.CancelFunc
}

// Main runs a package's tests and closes its laboratory, if one was started. Call it from TestMain.
func Main(m *testing.M) { MainWith(m, lab.Options{}) }

// MainWith does the same as Main, with the given laboratory. Its Cloud is not used: every test has
// its own.
func MainWith(m *testing.M, options lab.Options) { os.Exit(RunWith(m, options)) }

// MainAnd does the same as MainWith. It then calls check, and fails with its error, unless a test
// failed or flags left tests out.
func MainAnd(m *testing.M, options lab.Options, check func() error) {
	code := RunWith(m, options)
	if code == 0 && !someLeftOut() {
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// someLeftOut reports whether flags leave out tests of the package.
func someLeftOut() bool {
	return slices.ContainsFunc([]string{"run", "skip", "list"}, func(name string) bool {
		return flag.Lookup("test."+name).Value.String() != ""
	})
}

// RunWith does the same as MainWith, for callers that have something to do after the tests. It
// returns the status to exit with.
func RunWith(m *testing.M, options lab.Options) int {
	// A tenth of the time would go to collecting garbage of a gigabyte that lives as long as the tests.
	debug.SetGCPercent(200)
	options.WithoutCloud, options.Manager = true, nil
	shared.options = options
	code := m.Run()
	if shared.lab != nil {
		shared.endPace()
		if err := shared.lab.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = cmp.Or(code, 1)
		}
	}
	return code
}

// start returns the shared laboratory and the number of the test that asks.
func start(ctx context.Context) (*lab.Lab, uint64, error) {
	shared.Lock()
	defer shared.Unlock()
	shared.tests++
	if shared.lab == nil && shared.err == nil {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		shared.options.WithoutCloud = true
		if shared.lab, shared.err = lab.Start(ctx, shared.options); shared.err == nil {
			var paced context.Context
			paced, shared.endPace = context.WithCancel(context.WithoutCancel(ctx))
			go shared.pace.keep(paced, shared.lab.Client())
		}
	}
	return shared.lab, shared.tests, shared.err
}

// Options says what a test wants of its part of the laboratory.
type Options struct {
	// AWS is what the simulated AWS starts as. The seed is always the test's own. A Clock is the
	// test's to close; it runs no faster than the machine keeps up.
	AWS awssim.Options
}

// Env is a test's part of the laboratory.
type Env struct {
	testing.TB
	// Lab is shared with the package's other tests.
	Lab *lab.Lab
	// Cloud is the test's own simulated AWS, and Account what the test's credentials belong to.
	Cloud   *lab.Cloud
	Account string
	// Namespace is the test's own.
	Namespace string
	// Client and WorkloadClient read and write the clusters, without a cache.
	Client, WorkloadClient client.Client
}

// New prepares a test's part of the laboratory and undoes it when the test finishes.
func New(t testing.TB) *Env { return NewWith(t, Options{}) }

// NewWith does the same as New, with the given simulated AWS.
func NewWith(t testing.TB, options Options) *Env {
	t.Helper()
	l, number, err := start(t.Context())
	if err != nil {
		t.Fatalf("the laboratory did not start: %v", err)
	}
	options.AWS.Seed = seed(t.Name(), number)
	if options.AWS.Clock != nil {
		t.Cleanup(shared.pace.join(options.AWS.Clock))
	}
	cloud, err := l.StartCloud(t.Context(), lab.CloudOptions{AWS: options.AWS})
	if err != nil {
		t.Fatalf("the simulated AWS did not start: %v", err)
	}
	e := &Env{
		TB: t, Lab: l, Cloud: cloud,
		Account:   fmt.Sprintf("%012d", 100_000_000_000+number),
		Namespace: fmt.Sprintf("test-%d", number),
		Client:    l.Client(), WorkloadClient: l.WorkloadClient(),
	}
	t.Cleanup(e.cleanUp)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}
	if err := e.Client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("creating namespace %q: %v", e.Namespace, err)
	}
	return e
}

// seed gives every test other identifiers: Nodes of one API server are named after instances.
func seed(name string, number uint64) uint64 {
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%s/%d", name, number) // a hash does not fail
	return hash.Sum64()
}

// cleanUp removes the test's Nodes, which are not in its namespace. The namespace's objects stay:
// no other test sees them, their controllers may be gone, and the API server stops soon.
func (e *Env) cleanUp() {
	ctx := context.WithoutCancel(e.Context())
	if e.Failed() {
		e.Log(e.keep(e.Dump()))
	}
	if err := e.Cloud.Close(); err != nil {
		e.Errorf("closing the simulated AWS: %v", err)
	}
	var list corev1.NodeList
	if err := e.WorkloadClient.List(ctx, &list); err != nil {
		e.Errorf("listing nodes: %v", err)
	}
	for i := range list.Items {
		if !e.owns(&list.Items[i]) {
			continue
		}
		if err := e.WorkloadClient.Delete(ctx, &list.Items[i]); err != nil && !apierrors.IsNotFound(err) {
			e.Errorf("deleting a node: %v", err)
		}
	}
}

// keep writes a failed test's dump into the directory that the environment names in ARTIFACTS, and
// returns where, so that the failure itself is not lost in it. Without ARTIFACTS it returns the
// dump.
func (e *Env) keep(dump string) string {
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		return dump
	}
	path := filepath.Join(dir, strings.ReplaceAll(e.Name(), "/", "-")+".txt")
	// #nosec G703 -- where who runs the tests wants it
	err := errors.Join(os.MkdirAll(dir, 0o750), os.WriteFile(path, []byte(dump), 0o600))
	if err != nil {
		return fmt.Sprintf("%v\n%s", err, dump)
	}
	return "what AWS was asked and holds is in " + path
}

// AWSConfig returns the AWS SDK's configuration for the test's account.
func (e *Env) AWSConfig() aws.Config { return e.ManagerEnv().AWSConfig() }

// ManagerEnv returns the surroundings of a manager for the test's namespace and account alone.
func (e *Env) ManagerEnv() lab.ManagerEnv {
	env := e.Lab.ManagerEnv(e.Cloud)
	env.Namespace, env.Account = e.Namespace, e.Account
	return env
}

// StartManager runs a manager for the test. It is stopped when the test finishes, if not before;
// then, any error of the manager fails the test.
func (e *Env) StartManager(run lab.Manager) *lab.RunningManager {
	e.Helper()
	manager, err := e.Lab.StartManager(e.Context(), e.ManagerEnv(), run)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() {
		if err := manager.Stop(); err != nil {
			e.Error(err)
		}
	})
	return manager
}

// Cluster creates a ready cluster in the test's namespace and cloud.
func (e *Env) Cluster(options lab.ClusterOptions) *clusterv1.Cluster {
	e.Helper()
	options.Namespace, options.Cloud, options.Account = e.Namespace, e.Cloud, e.Account
	cluster, err := e.Lab.NewCluster(e.Context(), options)
	if err != nil {
		e.Fatal(err)
	}
	return cluster
}

// Nodes returns the Nodes of the test's instances.
func (e *Env) Nodes() []corev1.Node {
	e.Helper()
	var list corev1.NodeList
	if err := e.WorkloadClient.List(e.Context(), &list); err != nil {
		e.Fatalf("listing nodes: %v", err)
	}
	var mine []corev1.Node
	for i := range list.Items {
		if e.owns(&list.Items[i]) {
			mine = append(mine, list.Items[i])
		}
	}
	return mine
}

// owns reports whether a Node belongs to an instance of the test's cloud, which machine IDs name.
func (e *Env) owns(node *corev1.Node) bool {
	for _, account := range []string{e.Account, awssim.DefaultAccount} {
		if _, ok := e.Cloud.AWS.Region(account, e.Cloud.Region()).Instance(node.Status.NodeInfo.SystemUUID); ok {
			return true
		}
	}
	return false
}

// State returns everything that the test's account holds in the simulated AWS.
func (e *Env) State() map[string]any {
	e.Helper()
	state, err := e.Cloud.AWS.Region(e.Account, e.Cloud.Region()).State()
	if err != nil {
		e.Fatal(err)
	}
	return state
}

// Dump describes what the test's account did and why instances could not join, for a person to read.
func (e *Env) Dump() string {
	e.Helper()
	text := "calls to the simulated AWS:\n"
	for _, call := range e.Cloud.AWS.Calls() {
		text += fmt.Sprintf("  %s %s %s %d %s\n", call.Time.Format(time.TimeOnly), call.Service, call.Action, call.Status, call.Code)
	}
	for _, refusal := range e.Cloud.Nodes.Refusals(e.Account) {
		text += fmt.Sprintf("instance %s did not join: %s\n", refusal.InstanceID, refusal.Reason)
	}
	instances, err := json.MarshalIndent(e.Cloud.AWS.Region(e.Account, e.Cloud.Region()).Instances(), "", "  ")
	if err != nil {
		return text + err.Error()
	}
	const most = 16 << 10
	return text + "instances: " + string(instances[:min(len(instances), most)])
}
