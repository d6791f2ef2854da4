package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestReadDirectory holds that the manifests of a directory are read, as kubectl apply does.
func TestReadDirectory(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if _, err := readObjects(nil, directory); err == nil || !strings.Contains(err.Error(), "has no file with the extension .json, .yaml, or .yml") {
		t.Errorf("readObjects of an empty directory: got error %v", err)
	}
	for name, text := range map[string]string{"b.yml": "kind: B\n", "a.yaml": "kind: A\n", "c.json": `{"kind": "C"}`, "notes.txt": "no: [object"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(directory, "d.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	objects, err := readObjects(nil, directory)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	if !slices.Equal(kinds, []string{"A", "B", "C"}) {
		t.Errorf("readObjects: got kinds %v, want A, B, and C", kinds)
	}
}

// TestRefusedFiles holds how files that cannot be planned are refused.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, text, want string }{
		"Text":    {text: "hello\n", want: "reading standard input: a document is no object with apiVersion and kind"},
		"Array":   {text: "[1, 2]\n", want: "reading standard input: a document is no object with apiVersion and kind"},
		"NoKind":  {text: "metadata: {name: a}\n", want: `reading standard input: object "a" has no kind`},
		"InList":  {text: "apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n", want: `reading standard input: object "a" of a list has no kind`},
		"Address": {file: "https://example.com/pool.yaml", want: "https://example.com/pool.yaml is an address, and only files are read: download it, or pipe it into the command with -f -"},
		"Missing": {file: "/does/not/exist.yaml", want: "reading /does/not/exist.yaml: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.file == "" {
				tc.file = "-"
			}
			if _, err := readObjects(strings.NewReader(tc.text), tc.file); err == nil || err.Error() != tc.want {
				t.Errorf("readObjects: got error %v, want %s", err, tc.want)
			}
		})
	}
}

// TestApplyAll holds which objects of files are refused before the API server sees them.
func TestApplyAll(t *testing.T) {
	t.Parallel()
	pool := func(name any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachinePool", "metadata": map[string]any{"namespace": "blue", "name": name}, "spec": map[string]any{"maxSize": int64(3)},
		}}
	}
	for name, tc := range map[string]struct {
		objects []*unstructured.Unstructured
		want    string
	}{
		"None":   {want: "the files have no object that can be planned, which is one of the kinds AWSMachinePool, "},
		"NoName": {objects: []*unstructured.Unstructured{pool("")}, want: "without metadata.name"},
		"Number": {objects: []*unstructured.Unstructured{pool(int64(123))}, want: "a name that is not text"},
		"Twice":  {objects: []*unstructured.Unstructured{pool("workers"), pool("workers")}, want: "the files have AWSMachinePool blue/workers more than once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := planCluster{Client: fake.NewClientBuilder().WithScheme(newReadWorld(t).client.Scheme()).Build(), namespace: "blue"}
			_, err := cluster.applyAll(t.Context(), &bytes.Buffer{}, tc.objects)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("applyAll: got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestPlanNames holds which objects can be named with --set: pools, and with their kind the objects that pools share.
func TestPlanNames(t *testing.T) {
	t.Parallel()
	cluster := newReadWorld(t).source.planCluster
	for name, tc := range map[string]struct{ set, want, err string }{
		"workers":                 {set: "spec.maxSize=9", want: "AWSMachinePool workers"},
		"machinepool/workers":     {set: "spec.replicas=9", want: "MachinePool workers"},
		"awslaunchconfig/workers": {set: "spec.instanceType=m5.large", want: "AWSLaunchConfig workers"},
		"machinepool/nobody":      {err: `namespace blue has no MachinePool "nobody"`},
		"awslaunchconfig/..":      {err: `namespace blue has no AWSLaunchConfig ".."`},
		"machinepool/":            {err: "the name of the MachinePool is empty"},
		"deployment/web":          {err: `"deployment" is not a kind whose edit can be planned: use awsmachinepool/NAME, awsmanagedmachinepool/NAME, machinepool/NAME, or awslaunchconfig/NAME`},
	} {
		flags := &planFlags{set: []string{tc.set}}
		if tc.set == "" {
			flags.set = nil
		}
		edited, err := flags.edits(t.Context(), nil, io.Discard, cluster, []string{name})
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got error %v, want %s", name, err, tc.err)
			}
			continue
		}
		if err != nil || len(edited) != 1 || edited[0].GetObjectKind().GroupVersionKind().Kind+" "+edited[0].GetName() != tc.want {
			t.Errorf("%s: got error %v and %v, want %s", name, err, edited, tc.want)
		}
	}
}
