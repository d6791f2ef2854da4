package integration

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/lab"
)

// bucket is the default world's, as CAPA leaves one.
const bucket = "cluster-api-provider-aws-bootstrap"

// storedIn are replacements in the example that keep bootstrap data outside of the template.
func storedIn(storage infrav1.BootstrapStorage) []string {
	return []string{"  awsLaunchTemplate:\n", "  bootstrapStorage: " + string(storage) + "\n  awsLaunchTemplate:\n" +
		"    iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n"}
}

// ignited are replacements in the example that have Ignition boot the nodes, as with CAPA.
func ignited() []string {
	return []string{
		"  awsLaunchTemplate:\n", "  ignition:\n    version: \"3.1\"\n    proxy:\n      httpsProxy: https://proxy.example.com\n" +
			"    tls:\n      certificateAuthorities: [\"https://ca.example.com/ca.pem\"]\n" +
			"  awsLaunchTemplate:\n    iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n",
		"spec:\n  joinConfiguration:\n", "spec:\n  format: ignition\n  joinConfiguration:\n",
	}
}

func newStorageWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, options{cluster: lab.ClusterOptions{Bucket: bucket}})
}

// stored returns the names of the bootstrap data that the account keeps, by their last part.
func (w *world) stored() []string {
	w.Helper()
	var names []string
	for service, kind := range map[string]string{"ssm": "parameters", "s3": "objects"} {
		for name := range w.State()[service].(map[string]any)[kind].(map[string]any) {
			if strings.Contains(name, "slipway/") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// untold fails if a version contains a join token, or the location of one that is gone.
func (w *world) untold() {
	w.Helper()
	for _, version := range w.versions() {
		data := userData(w, version.LaunchTemplateData)
		if token := joinTokens.Find(data); token != nil {
			w.Errorf("version %d tells token %s: %s", *version.VersionNumber, token, data)
		}
	}
}

// rotate swaps the token, and waits until the data is where nodes read it.
func (w *world) rotate(write string) {
	w.Helper()
	before := w.count(write)
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		w.Fatal(err)
	}
	w.touch() // Secrets are not polled while the clock stands still
	w.Eventually("the rotated token is written", func() error {
		if w.count(write) == before {
			return errors.New("nothing is written yet")
		}
		return nil
	})
}

func (w *world) scale(replicas int32) {
	w.Helper()
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = &replicas })
}

// TestBootstrapStorage holds that nodes join with bootstrap data outside of the template, that a
// rotation is one write and no call to EC2, and that a later node joins with the token of that
// time.
func TestBootstrapStorage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason       string
		replacements []string
		write        string
	}{
		{"a parameter", storedIn(infrav1.BootstrapStorageSSM), "PutParameter"},
		{"an object", storedIn(infrav1.BootstrapStorageS3), "PutObject"},
		{"Ignition", ignited(), "PutObject"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newStorageWorld(t)
			w.havePool(row.replacements...)
			w.untold()
			names := w.stored()
			if len(names) != 1 {
				t.Fatalf("kept are %q", names)
			}
			location := w.mustConfig().Status.BootstrapDataLocation
			if location == "" || !strings.HasSuffix(location, names[0][strings.LastIndex(names[0], "/"):]) {
				t.Errorf("status says that it is in %q, and it is in %q", location, names)
			}
			first := w.BootstrapData(poolName)
			// While the clock stands still no sweep falls into the count.
			w.clock.SetRate(0)
			w.rest0()
			for range 3 {
				w.Cloud.AWS.ClearCalls()
				w.rotate(row.write)
				w.touch()
				w.rest0()
				if actions := w.callsBesideLookUps(); !slices.Equal(actions, []string{row.write}) {
					t.Errorf("a rotation called %q, want one %s", actions, row.write)
				}
			}
			w.clock.SetRate(rate)
			if err := equals(w.stored(), names); err != nil {
				t.Errorf("what is kept after rotations: %v", err)
			}
			w.expireTokens(first)
			w.scale(3)
			w.Eventually("a node joins with the current token", func() error { return w.settled(3) })
			w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0})
			w.untold()

			w.deletePool()
			w.Eventually("the pool is gone", w.gone)
			if names := w.stored(); len(names) > 0 {
				t.Errorf("left are %q", names)
			}
		})
	}
}

// rest0 waits while the clock stands still.
func (w *world) rest0() {
	w.Helper()
	calls, quiet := -1, w.Kept()
	w.Eventually("no more calls come", func() error {
		if now := len(w.calls()); now != calls {
			calls, quiet = now, w.Kept()
		}
		if w.Kept()-quiet < quietReal {
			return errors.New("a call was made a moment ago")
		}
		return nil
	})
}

// TestBootstrapDataLives holds that data lives as long as a version that points to it, whatever
// rules the bucket has, and no longer.
func TestBootstrapDataLives(t *testing.T) {
	t.Parallel()
	w := newStorageWorld(t)
	w.createSecret("by-hand", map[string][]byte{"value": []byte("#cloud-config\nruncmd:\n- echo 0\n")})
	w.havePool(slices.Concat(storedIn(infrav1.BootstrapStorageS3), bootstrapBySecret("by-hand"))...)
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.VersionsToKeep = ptr.To[int32](2) })
	w.clock.Step(3 * 24 * time.Hour)
	w.scale(3)
	w.Eventually("days later a node still boots", func() error { return w.settled(3) })
	for edit := 1; edit <= 3; edit++ {
		before := w.running()
		w.editSecret("by-hand", func(data map[string][]byte) {
			data["value"] = fmt.Appendf(nil, "#cloud-config\nruncmd:\n- echo %d\n", edit)
		})
		w.Eventually("other data replaces the nodes", func() error { return w.replaced(before, 3) })
		w.rest()
		w.touch()
	}
	w.Eventually("there is data for the versions that are kept, and no other", func() error {
		if numbers, names := w.numbers(), w.stored(); len(numbers) != 2 || len(names) != 2 {
			return fmt.Errorf("versions are %v, kept are %q", numbers, names)
		}
		return nil
	})
	for _, version := range w.versions() {
		_, key, _ := strings.Cut(string(userData(w, version.LaunchTemplateData)), "--key '")
		key, _, _ = strings.Cut(key, "'")
		if _, err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Object(bucket, key); err != nil {
			t.Errorf("version %d points to %q: %v", *version.VersionNumber, key, err)
		}
	}
}

// TestBootstrapStorageChanges holds that other storage creates a version and rolls nothing.
func TestBootstrapStorageChanges(t *testing.T) {
	t.Parallel()
	w := newStorageWorld(t)
	w.havePool("  awsLaunchTemplate:\n", "  awsLaunchTemplate:\n    iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n")
	instances := w.running()
	for i, storage := range []infrav1.BootstrapStorage{infrav1.BootstrapStorageSSM, infrav1.BootstrapStorageS3, infrav1.BootstrapStorageUserData} {
		w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.BootstrapStorage = storage })
		want := fmt.Sprint(i + 2)
		if storage == infrav1.BootstrapStorageUserData {
			// Back where it was: the first version still carries the data of now.
			want = "1"
		}
		w.Eventually("the group is at version "+want, func() error {
			if version := *w.group().LaunchTemplate.Version; version != want {
				return fmt.Errorf("it is at %s", version)
			}
			return w.settled(2)
		})
	}
	w.rest()
	if err := equals(w.running(), instances); err != nil {
		t.Errorf("nodes were replaced: %v", err)
	}
	w.expectCounts(map[string]int{"StartInstanceRefresh": 0})
	w.deletePool()
	w.Eventually("the pool is gone", w.gone)
	if names := w.stored(); len(names) > 0 {
		t.Errorf("left are %q", names)
	}
}

// TestBootstrapStorageRestart holds that a manager that starts looks once, and writes nothing that is there.
func TestBootstrapStorageRestart(t *testing.T) {
	t.Parallel()
	w := newStorageWorld(t)
	w.havePool(storedIn(infrav1.BootstrapStorageSSM)...)
	w.stopManager()
	w.wipeStatus()
	w.Cloud.AWS.ClearCalls()
	w.startManager()
	w.Eventually("the pool is known again", func() error { return w.settled(2) })
	w.rest()
	w.expectCounts(map[string]int{"DescribeParameters": 1, "PutParameter": 0, "CreateLaunchTemplateVersion": 0})
}

// TestBootstrapStorageRefusals holds what the conditions say where data cannot be kept as asked
// for, and that following their advice resolves it.
func TestBootstrapStorageRefusals(t *testing.T) {
	t.Parallel()
	// By bootstrapStorage the API server refuses it.
	profile := []string{"  awsLaunchTemplate:\n", "  ignition: {}\n  awsLaunchTemplate:\n"}
	denied := awssim.Fault{ID: "denied", Service: "s3", Action: "PutObject", Code: "AccessDenied", Status: 403, Message: "Access Denied"}
	for _, row := range []struct {
		reason       string
		bucket       string
		replacements []string
		data         map[string][]byte
		fault        *awssim.Fault
		want, says   string
		mend         func(*world)
	}{
		{"no bucket", "", storedIn(infrav1.BootstrapStorageS3), nil, nil, infrav1.BucketNotConfiguredReason, "s3Bucket", func(w *world) {
			edited(w, &capav1.AWSCluster{}, "capa", func(c *capav1.AWSCluster) { c.Spec.S3Bucket = &capav1.S3Bucket{Name: bucket} })
		}},
		{"no instance profile", bucket, profile, map[string][]byte{"value": []byte(`{"ignition":{"version":"2.3.0"}}`), "format": []byte("ignition")}, nil, infrav1.InvalidSpecReason, "iamInstanceProfile", func(w *world) {
			w.editPool(func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.IamInstanceProfile = "nodes.cluster-api-provider-aws.sigs.k8s.io"
			})
		}},
		{"a bucket that does not exist", "not-there", storedIn(infrav1.BootstrapStorageS3), nil, nil, infrav1.BootstrapStorageFailedReason, "not-there", nil},
		{"a bucket that denies", bucket, storedIn(infrav1.BootstrapStorageS3), nil, &denied, infrav1.AccessDeniedReason, "PutObject", func(w *world) {
			w.Cloud.AWS.RemoveFault("denied")
		}},
		{"Ignition in a parameter", bucket, storedIn(infrav1.BootstrapStorageSSM), map[string][]byte{"value": []byte("{}"), "format": []byte("ignition")}, nil,
			infrav1.InvalidSpecReason, "S3", nil},
		{"more than a parameter holds", bucket, storedIn(infrav1.BootstrapStorageSSM), map[string][]byte{"value": noise(9000)}, nil,
			infrav1.UserDataTooLargeReason, "S3", func(w *world) {
				w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.BootstrapStorage = infrav1.BootstrapStorageS3 })
			}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, options{cluster: lab.ClusterOptions{Bucket: row.bucket}})
			if row.fault != nil {
				if _, err := w.Cloud.AWS.AddFault(*row.fault); err != nil {
					t.Fatal(err)
				}
			}
			if row.data != nil {
				w.createSecret("by-hand", row.data)
				row.replacements = slices.Concat(row.replacements, bootstrapBySecret("by-hand"))
			}
			w.applyExample(row.replacements...)
			condition := w.awaitConfigCondition(infrav1.BootstrapDataReadyCondition, metav1.ConditionFalse, row.want)
			if !strings.Contains(condition.Message, row.says) {
				t.Errorf("the message is %q, and does not say %q", condition.Message, row.says)
			}
			w.awaitCondition(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, row.want)
			if templates := w.templates(); len(templates) > 0 {
				t.Errorf("a template was made that points to nothing: %v", *templates[0].LaunchTemplateName)
			}
			if row.mend != nil {
				row.mend(w)
				w.Eventually("that helps", func() error { return w.settled(2) })
			}
		})
	}
}

// noise is cloud-config that does not compress.
func noise(size int) []byte {
	const digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	text, state := []byte("#cloud-config\n# "), uint32(1)
	for range size {
		state = state*1664525 + 1013904223
		text = append(text, digits[state>>26])
	}
	return bytes.TrimSpace(text)
}
