package managertest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/workload/workloadtest"
	"github.com/slipway-project/slipway/lab"
)

// hostileConfigs is the number of AWSLaunchConfigs of the greatest possible length that a tenant
// creates.
const hostileConfigs = 300

// bomb is a launch config whose image name would be endless if it were executed as a template.
const bomb = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSLaunchConfig
metadata: {name: bomb}
spec:
  clusterName: %s
  instanceType: m5.large
  imageLookupFormat: '{{range 2000000000}}aaaa{{end}}'
`

// tryMemory runs the program with the memory that its manifest gives it, among objects of a tenant
// who would have it take more.
func tryMemory(t *testing.T, path string) {
	t.Helper()
	limit, goLimit := memoryOfManifest(t)
	w := newWorldAt(t, lab.ClusterOptions{}, 20)
	health := w.freeAddress()
	process, output := command(t, path, []string{
		"KUBECONFIG=" + w.Lab.Kubeconfig(), "AWS_ENDPOINT_URL=" + w.Cloud.Endpoint, "AWS_REGION=" + w.Cloud.Region(), "GOMEMLIMIT=" + goLimit,
		"AWS_ACCESS_KEY_ID=" + lab.AccessKeyID(w.Account), "AWS_SECRET_ACCESS_KEY=" + lab.SecretAccessKey,
	}, "--namespace", w.Namespace, "--health-addr", health, "--diagnostics-address=", "--observe-interval-in-motion", "500ms", "--loopback-workload-clusters")
	ended := start(t, process)
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return errors.Join(w.settled(poolName), running(ended, output)) })

	pool, err := w.pool(poolName)
	if err != nil {
		t.Fatal(err)
	}
	clusterName := pool.Labels[clusterv1.ClusterNameLabel]
	asked := w.hostileCluster(clusterName)
	w.scale(poolName, 1)
	w.Eventually("the hostile API server is asked", func() error {
		if asked.Load() == 0 {
			return errors.Join(errNotYet, running(ended, output))
		}
		return running(ended, output)
	})
	if _, err := w.TryApply(fmt.Sprintf(bomb, clusterName)); err == nil {
		t.Error("an image name that never ends is accepted")
	}
	for i := range hostileConfigs {
		w.Apply(strings.NewReplacer("name: bomb", "name: long-"+strconv.Itoa(i)+", annotations: {long: "+strings.Repeat("a", 200<<10)+"}",
			"{{range 2000000000}}aaaa{{end}}", "x-{{.BaseOS}}").Replace(fmt.Sprintf(bomb, clusterName)))
	}
	w.storeBombs()
	w.Eventually("it works among them", func() error {
		status, body, err := get(t, "http://"+health+"/readyz", "")
		if err == nil && status != http.StatusOK {
			err = errors.New(body)
		}
		return errors.Join(err, running(ended, output))
	})
	for name, says := range map[string]string{"bomb-of-the-cluster": "imageLookupFormat", "bomb-of-the-secret": "searches for join tokens"} {
		w.Eventually("AWSLaunchConfig "+name+" says why it is not ready", func() error { return errors.Join(w.unready(name, says), running(ended, output)) })
	}
	w.edit(poolName, func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.Eventually("the pool follows an edit", func() error {
		pool, err := w.pool(poolName)
		if err == nil && ptr.Deref(pool.Status.LaunchTemplateVersion, "") != "2" {
			err = fmt.Errorf("the group is at version %s", ptr.Deref(pool.Status.LaunchTemplateVersion, ""))
		}
		return errors.Join(err, running(ended, output))
	})
	before := w.Kept()
	w.Eventually("it has worked for a while", func() error {
		if w.Kept()-before < 10*time.Second {
			return errors.Join(errNotYet, running(ended, output))
		}
		return running(ended, output)
	})
	peak := peakMemory(t, process.Process.Pid)
	t.Logf("at most %d MiB of %d were resident", peak>>20, limit>>20)
	if peak > limit {
		t.Errorf("%d MiB were resident, and the manifest gives it %d", peak>>20, limit>>20)
	}
}

// storeBombs stores what the API server accepts: the endless image name on an AWSCluster, whose
// definition is Cluster API Provider AWS's and has no rule for it, and a Secret full of compressed
// data that holds further compressed data.
func (w *world) storeBombs() {
	w.Helper()
	w.Cluster(lab.ClusterOptions{Name: "bombs"})
	cluster := &capav1.AWSCluster{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "bombs"}, cluster); err != nil {
		w.Fatal(err)
	}
	cluster.Spec.ImageLookupFormat = "{{range 2000000000}}aaaa{{end}}"
	if err := w.Client.Update(w.Context(), cluster); err != nil {
		w.Fatal(err)
	}
	// With noise the pieces differ.
	data, inner, noise, random := []byte("#cloud-config\n"), bytes.Repeat(packed(w, make([]byte, 4<<20)), 500), make([]byte, 4<<10), rand.NewChaCha8([32]byte{})
	for range 60 {
		_, _ = random.Read(noise) // it does not fail
		data = append(data, packed(w, noise, []byte("\n"), inner)...)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "bombs"}, Data: map[string][]byte{"value": data}}
	if err := w.Client.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	for name, spec := range map[string]string{
		"bomb-of-the-cluster": "{clusterName: bombs, instanceType: m5.large, kubernetesVersion: v1.25.0}",
		"bomb-of-the-secret":  "{clusterName: capa, instanceType: m5.large, kubernetesVersion: v1.25.0, bootstrap: {dataSecretName: bombs}}",
	} {
		w.Apply(fmt.Sprintf("apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSLaunchConfig\nmetadata: {name: %s}\nspec: %s\n", name, spec))
	}
}

// packed is a line of base64 that holds contents, compressed.
func packed(w *world, contents ...[]byte) []byte {
	w.Helper()
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	for _, content := range contents {
		if _, err := writer.Write(content); err != nil {
			w.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		w.Fatal(err)
	}
	return append(base64.StdEncoding.AppendEncode(nil, compressed.Bytes()), '\n')
}

// unready is nil if a launch config is not ready, for a reason that has a text in it.
func (w *world) unready(name, says string) error {
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, config); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, says) {
		return fmt.Errorf("its condition is %+v", ready)
	}
	return nil
}

// memoryOfManifest returns the limits that the manifest sets: the limit of the container, in bytes,
// and Go's own.
func memoryOfManifest(t *testing.T) (limit int64, goLimit string) {
	t.Helper()
	text, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &deployment); err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	for _, variable := range container.Env {
		if variable.Name == "GOMEMLIMIT" {
			goLimit = variable.Value
		}
	}
	limit = container.Resources.Limits.Memory().Value()
	if limit == 0 || goLimit == "" {
		t.Fatalf("the manifest sets %d bytes and GOMEMLIMIT=%q", limit, goLimit)
	}
	return limit, goLimit
}

// peakMemory is the most that was resident of a process.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, is := strings.CutPrefix(line, "VmHWM:"); is {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("the system does not say how much memory the process took")
	return 0
}

// hostileCluster has the kubeconfig of a cluster lead to an API server that answers everything with
// a gigabyte of Nodes, compressed. It returns how often that was asked.
func (w *world) hostileCluster(name string) *atomic.Int64 {
	w.Helper()
	asked := &atomic.Int64{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		out.Header().Set("Content-Type", "application/json")
		out.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(out)
		_, _ = io.WriteString(packed, `{"kind":"NodeList","apiVersion":"v1","items":[{}`)
		nodes := []byte(strings.Repeat(",{}", 1<<16))
		for written := 0; written < 1<<30; written += len(nodes) {
			if _, err := packed.Write(nodes); err != nil {
				return
			}
		}
	}))
	w.Cleanup(server.Close)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name + "-kubeconfig"}}
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		w.Fatal(err)
	}
	secret.Data["value"] = workloadtest.Kubeconfig(server, "{token: t}")
	if err := w.Client.Update(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	return asked
}

// scale asks for a number of nodes, as a user would.
func (w *world) scale(name string, replicas int32) {
	w.Helper()
	pool, err := w.pool(name)
	if err != nil {
		w.Fatal(err)
	}
	machinePool := machinePoolOf(pool)
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(machinePool), machinePool); err != nil {
		w.Fatal(err)
	}
	before := machinePool.DeepCopy()
	machinePool.Spec.Replicas = ptr.To(replicas)
	if err := w.Client.Patch(w.Context(), machinePool, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}
