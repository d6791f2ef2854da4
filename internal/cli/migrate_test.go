package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slipway-project/slipway/internal/migration"
)

// patch applies a JSON patch to one of the objects, and answers with the object.
func (m *management) patch(w http.ResponseWriter, r *http.Request, object *unstructured.Unstructured) {
	scheme, err := migration.Scheme()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object.DeepCopy()).Build()
		err = store.Patch(r.Context(), object, client.RawPatch(types.PatchType(r.Header.Get("Content-Type")), body))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	_ = json.NewEncoder(w).Encode(object.Object)
}

// addPool adds a pool of CAPA's with its MachinePool and Cluster.
func (m *management) addPool(t *testing.T, providerID string) {
	t.Helper()
	m.add(t, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {namespace: default, name: blue, resourceVersion: "1"}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: blue}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {namespace: default, name: blue-mp-0, uid: one, resourceVersion: "1"}
spec:
  clusterName: blue
  template: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachinePool, name: blue-mp-0}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachinePool
metadata:
  namespace: default
  name: blue-mp-0
  resourceVersion: "1"
  labels: {cluster.x-k8s.io/cluster-name: blue}
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, name: blue-mp-0, uid: one}]
spec: {minSize: 1, maxSize: 2, awsLaunchTemplate: {instanceType: m5.large}, providerID: "`+providerID+`"}
`)
}

// addCAPA adds CAPA as a user installs it for pools, and the definitions of pools.
func (m *management) addCAPA(t *testing.T) {
	t.Helper()
	first := len(m.objects)
	m.addClusterAPI(t, "true")
	m.objects = m.objects[:first+3] // the definitions of Cluster API
	m.addFiles(t, "internal/migration/testdata/capa.yaml")
	for _, object := range m.objects[first:] {
		object.SetResourceVersion("1")
		if object.GetKind() == "Deployment" {
			object.Object["status"] = map[string]any{"replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1)}
		}
	}
}

// runMigrate runs the command line, and returns what it prints, what it reports meanwhile, and its exit
// code.
func runMigrate(t *testing.T, arguments ...string) (printed, progress string, exit int) {
	t.Helper()
	command, out, errOut := New(), &bytes.Buffer{}, &bytes.Buffer{}
	command.SetArgs(append([]string{"migrate", "capa"}, arguments...))
	command.SetOut(out)
	command.SetErr(errOut)
	err := command.ExecuteContext(t.Context())
	if err != nil {
		out.WriteString(err.Error())
		exit = exitCode(err)
	}
	return spaces.ReplaceAllString(out.String(), " "), errOut.String(), exit
}

const poolARN = "arn:aws:autoscaling:us-east-1:111122223333:autoScalingGroup:0b5d1c5e-1111-4222-8333-444455556666:autoScalingGroupName/blue-mp-0"

// TestMigrate runs the command against an API server in memory.
func TestMigrate(t *testing.T) {
	t.Parallel()
	m := &management{version: "v1.36.3"}
	m.addCAPA(t)
	m.addPool(t, poolARN)
	kubeconfig := m.kubeconfig(t)
	here := []string{"--kubeconfig", kubeconfig, "--context", "here", "--skip-aws"}

	printed, progress, exit := runMigrate(t, append(here, "--plan")...)
	for _, want := range []string{
		"check-pool AWSMachinePool default/blue-mp-0 done Slipway can take over Auto Scaling group blue-mp-0 and its launch template.\n",
		"check-aws AWSMachinePool default/blue-mp-0 skipped AWS was not checked. --skip-aws is set. Slipway checks AWS when the cluster is resumed",
		"pause-cluster Cluster default/blue due The cluster is not paused.\n",
		"remove-capa-webhooks MutatingWebhookConfiguration capa-mutating-webhook-configuration due ",
		"stop-capa-controllers Deployment capa-system/capa-controller-manager due ", "install-slipway Deployment slipway-system/slipway-manager blocked ",
		"resume-cluster Cluster default/blue due ", "take-over-pool AWSMachinePool default/blue-mp-0 due ",
		"\npause-cluster Cluster default/blue: due\n Nodes: No node is replaced.", " Change: Set spec.paused of the Cluster to true.\n",
		" To do: Install Slipway", "Nothing was changed. Run the command with --execute", "1 of 9 steps are blocked",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("the plan lacks %q:\n%s", want, printed)
		}
	}
	if exit != exitFailed || progress != "" {
		t.Errorf("the plan exits with %d, and reports %q", exit, progress)
	}

	printed, progress, exit = runMigrate(t, append(here, "--execute", "--output", "json", "--timeout", "0s")...)
	var report migration.Report
	if err := json.NewDecoder(strings.NewReader(printed)).Decode(&report); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	if next := report.Next(); exit != exitFailed || next.Name != migration.InstallSlipway || next.State != migration.Blocked || report.Direction != migration.ToSlipway {
		t.Errorf("the migration exits with %d, and stops at %+v", exit, next)
	}
	lines := strings.Split(progress, "\n")
	if len(lines) != 6 || !strings.HasPrefix(lines[0], "check-aws: AWSMachinePool default/blue-mp-0: AWS was not checked. --skip-aws is set.") ||
		lines[1] != "pause-cluster: Cluster default/blue: Set spec.paused of the Cluster to true." {
		t.Errorf("the migration reports %q", progress)
	}

	m.addSlipway(t, time.Now().Add(60*24*time.Hour))
	printed, _, exit = runMigrate(t, append(here, "--execute", "--timeout", "0s")...)
	if exit != exitFailed || !strings.Contains(printed, "waiting for step take-over-pool of AWSMachinePool default/blue-mp-0: not complete within --timeout 0s") {
		t.Errorf("the migration exits with %d, and prints %s", exit, printed)
	}
	if printed, _, exit = runMigrate(t, append(here, "--back", "-o", "yaml")...); exit != exitFailed || !strings.Contains(printed, "direction: to-capa\n") {
		t.Errorf("the plan of the way back exits with %d, and prints %s", exit, printed)
	}
}

// TestMigrateCannotRun holds that a mistake of the user and a cluster that cannot be read have an exit code
// of their own.
func TestMigrateCannotRun(t *testing.T) {
	t.Parallel()
	m := &management{version: "v1.36.3", forbidden: []string{"awsmachinepools"}}
	m.addCAPA(t)
	kubeconfig := m.kubeconfig(t)
	for _, row := range []struct {
		reason    string
		arguments []string
		prints    string
	}{
		{"a plan that is executed", []string{"--plan", "--execute"}, "exclude each other"},
		{"another format", []string{"-o", "table"}, "must be text, json, or yaml"},
		{"an argument", []string{"eks"}, "eks"},
		{"an unknown flag", []string{"--dry-run"}, "dry-run"},
		{"an unknown context", []string{"--kubeconfig", kubeconfig, "--context", "none"}, "finding the management cluster"},
		{"an API server that does not answer", []string{"--kubeconfig", kubeconfig}, "reading the version of the API server"},
		{"a user who may not list pools", []string{"--kubeconfig", kubeconfig, "--context", "here"}, "listing AWSMachinePools"},
		{"the same, with --execute", []string{"--kubeconfig", kubeconfig, "--context", "here", "--execute"}, "listing AWSMachinePools"},
	} {
		if printed, _, exit := runMigrate(t, row.arguments...); exit != exitUnusable || !strings.Contains(printed, row.prints) {
			t.Errorf("%s: exit %d, %s", row.reason, exit, printed)
		}
	}
}

// TestMigrateOutlastsOutage holds that a migration that waits goes on when the API server does not answer
// for a while, until the timeout, and that it reports an outage once.
func TestMigrateOutlastsOutage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		away    int32
		minutes time.Duration
		fails   bool
	}{
		{"an outage that is over before the timeout", 20, 15, false},
		{"an outage that lasts", 1 << 20, 1, true},
	} {
		m := &management{version: "v1.36.3"}
		m.addCAPA(t)
		m.addPool(t, poolARN)
		progress := &bytes.Buffer{}
		flags := &migrateFlags{skipAWS: true, timeout: row.minutes * time.Minute, clock: &jumpingClock{FakeClock: clocktesting.NewFakeClock(shownAt), paused: make(chan struct{}, 1000)}}
		flags.cluster.kubeconfig, flags.cluster.kubeContext, flags.cluster.namespace = m.kubeconfig(t), "here", "slipway-system"
		runner, err := flags.runner(progress)
		if err != nil {
			t.Fatal(err)
		}
		progressed := runner.Progress
		runner.Progress = func(step migration.Step) {
			if progressed(step); step.State == migration.Due && m.away.Load() <= 0 && !strings.Contains(progress.String(), "not available") {
				m.away.Store(row.away)
			}
		}
		report, err := runner.Run(t.Context(), migration.ToSlipway)
		if (err != nil) != row.fails || err == nil && report.Next().Name != migration.InstallSlipway {
			t.Errorf("%s: got error %v, and %+v", row.reason, err, report.Next())
		}
		if text := progress.String(); strings.Count(text, "The API server is not available: ") != 1 || !strings.Contains(text, " The next attempts are every 2s until --timeout is over.\n") {
			t.Errorf("%s: the migration reports %q", row.reason, text)
		}
	}
}

// TestMigrateBackFindsEveryRelease holds that the way back is blocked by Slipway in another namespace.
func TestMigrateBackFindsEveryRelease(t *testing.T) {
	t.Parallel()
	m := &management{version: "v1.36.3"}
	m.addCAPA(t)
	m.addSecondSlipway(t, time.Now().Add(60*24*time.Hour))
	printed, _, exit := runMigrate(t, "--kubeconfig", m.kubeconfig(t), "--context", "here", "--back")
	const want = "uninstall-slipway Deployment slipway-system/slipway-manager blocked Slipway is installed. Deployments in other namespaces: other/blue."
	if exit != 1 || !strings.Contains(printed, want) {
		t.Errorf("the exit code is %d, and it does not print %q:\n%s", exit, want, printed)
	}
}
