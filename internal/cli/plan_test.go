package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/plan"
)

func TestPatchOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		settings []string
		want     string
		err      string
	}{
		"None":   {reason: "Without fields, the pool is planned as it is.", want: `{}`},
		"Number": {reason: "A value is YAML.", settings: []string{"spec.maxSize=5"}, want: `{"spec":{"maxSize":5}}`},
		"Several": {
			reason:   "Fields of one struct go into one patch.",
			settings: []string{"spec.awsLaunchTemplate.instanceType=m7i.large", "spec.awsLaunchTemplate.rootVolume={size: 60, type: gp3}"},
			want:     `{"spec":{"awsLaunchTemplate":{"instanceType":"m7i.large","rootVolume":{"size":60,"type":"gp3"}}}}`,
		},
		"Remove":   {reason: "An empty value removes the field.", settings: []string{"spec.pinnedVersion="}, want: `{"spec":{"pinnedVersion":null}}`},
		"NoValue":  {reason: "A field needs a value.", settings: []string{"spec.maxSize"}, err: "must be a path and a value"},
		"BadValue": {reason: "The value must be YAML.", settings: []string{"spec.maxSize={"}, err: "reading the value"},
		"Conflict": {reason: "A field cannot be in another's value.", settings: []string{"spec=5", "spec.maxSize=5"}, err: "--set spec.maxSize: another --set gives"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := patchOf(tc.settings)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s patchOf(%q): got error %v, want one with %q", tc.reason, tc.settings, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("patchOf(%q): %v", tc.settings, err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s patchOf(%q): -want +got:\n%s", tc.reason, tc.settings, diff)
			}
		})
	}
}

func TestReadObjects(t *testing.T) {
	t.Parallel()
	const two = "# a comment\n---\nkind: AWSMachinePool\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: List\nitems:\n- {kind: MachinePool, metadata: {name: b}}\n- {kind: Secret, metadata: {name: c}}\n"
	file := filepath.Join(t.TempDir(), "pools.yaml")
	if err := os.WriteFile(file, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, "-"} {
		objects, err := readObjects(strings.NewReader(two), name)
		if err != nil {
			t.Fatalf("readObjects(%q): %v", name, err)
		}
		var got []string
		for _, object := range objects {
			got = append(got, object.GetKind()+"/"+object.GetName())
		}
		if diff := cmp.Diff([]string{"AWSMachinePool/a", "MachinePool/b", "Secret/c"}, got); diff != "" {
			t.Errorf("readObjects(%q): -want +got:\n%s", name, diff)
		}
	}
	if _, err := readObjects(strings.NewReader("kind: [\n"), "-"); err == nil {
		t.Error("readObjects of what is no YAML succeeded")
	}
	if _, err := readObjects(nil, filepath.Join(t.TempDir(), "missing.yaml")); err == nil {
		t.Error("readObjects of a file that does not exist succeeded")
	}
}

// TestKustomized holds that a kustomization is built as kubectl does, and reads nothing outside its directory.
func TestKustomized(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"base/kustomization.yaml":    "resources: [pool.yaml]\n",
		"base/pool.yaml":             "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachinePool\nmetadata: {name: workers}\nspec: {maxSize: 3}\n",
		"overlay/kustomization.yaml": "namespace: blue\nresources: [../base]\npatches:\n- target: {kind: AWSMachinePool}\n  patch: |-\n    - {op: replace, path: /spec/maxSize, value: 9}\n",
		"outside/kustomization.yaml": "resources: [../base/pool.yaml]\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := (&planFlags{kustomization: filepath.Join(root, "overlay")}).objects(nil)
	if err != nil || len(objects) != 1 {
		t.Fatalf("objects: got %d and error %v, want 1", len(objects), err)
	}
	pool := objects[0]
	if spec, _ := pool.Object["spec"].(map[string]any); pool.GetNamespace() != "blue" || fmt.Sprint(spec["maxSize"]) != "9" {
		t.Errorf("objects: got %v, want the pool of the overlay", pool.Object)
	}
	for name, want := range map[string]string{"outside": "security", "missing": "must be a directory with a kustomization"} {
		if _, err := kustomized(filepath.Join(root, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("kustomized(%q): got error %v, want one with %q", name, err, want)
		}
	}
}

func TestPlanFlags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Nothing":    {reason: "There must be something to plan.", want: "nothing to plan"},
		"Both":       {reason: "Files and a name exclude each other.", args: []string{"workers", "-f", "x.yaml"}, want: "give either"},
		"SetOnly":    {reason: "Fields belong to a pool.", args: []string{"-f", "x.yaml", "--set", "spec.maxSize=5"}, want: "--set needs"},
		"Kustomized": {reason: "A kustomization and a name exclude each other.", args: []string{"workers", "-k", "."}, want: "give either"},
		"FilesOf":    {reason: "A kustomization lists its files.", args: []string{"-k", ".", "-f", "x.yaml"}, want: "give either"},
		"SetOf":      {reason: "Fields belong to a pool.", args: []string{"-k", ".", "--set", "spec.maxSize=5"}, want: "--set needs"},
		"Format":     {reason: "The format is checked before anything is read.", args: []string{"workers", "-o", "table"}, want: "--output"},
		"Role":       {reason: "A session is no role.", args: []string{"workers", "--role-arn", "arn:aws:sts::111122223333:assumed-role/manager/me"}, want: "--role-arn"},
		"ManyNames":  {reason: "One pool is planned at a time.", args: []string{"a", "b"}, want: "at most one"},
		"Kubeconfig": {reason: "The management cluster must be found.", args: []string{"workers", "--kubeconfig", "/does/not/exist"}, want: "management cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := New()
			command.SetArgs(append([]string{"plan"}, tc.args...))
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s slipway plan %v: got error %v, want one with %q", tc.reason, tc.args, err, tc.want)
			}
			if code := exitCode(err); code != 1 {
				t.Errorf("slipway plan %v: got exit code %d, want 1", tc.args, code)
			}
		})
	}
}

// TestPlanExitCode holds that a plan with changes is no failure, and has no message.
func TestPlanExitCode(t *testing.T) {
	t.Parallel()
	err := error(&exitError{code: exitChanges})
	if exitCode(err) != 2 || err.Error() != "" || errors.Unwrap(err) != nil {
		t.Errorf("got exit code %d and message %q, want 2 and none", exitCode(err), err)
	}
}

func TestPrintPlan(t *testing.T) {
	t.Parallel()
	made := plan.Plan{Pools: []plan.Pool{{Kind: "AWSMachinePool", Namespace: "blue", Name: "workers", Steps: []plan.Step{{Action: "create\x1b[2J", Calls: []string{"ec2:CreateTags"}}}}}}
	for format, want := range map[string]string{"text": "1. create [2J", "json": `"calls": [`, "yaml": "calls:\n"} {
		text := &strings.Builder{}
		if err := printPlan(text, made, format); err != nil {
			t.Fatalf("printPlan(%q): %v", format, err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("printPlan(%q): got %q, want text with %q", format, text, want)
		}
	}
}
