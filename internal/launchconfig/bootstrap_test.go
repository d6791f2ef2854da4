package launchconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/userdata"
)

// TestSpaceLeft: rule UD2W of the validation matrix.
func TestSpaceLeft(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		size   int
		told   bool
	}{
		{"none", 0, false},
		{"nine tenths", 14745, false},
		{"one byte more", 14746, true},
		{"full", userdata.Limit, true},
	} {
		if got := spaceLeft(row.size); strings.Contains(got, "set bootstrapStorage") != row.told {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}

// TestBootstrapBomb holds that bootstrap data which unpacks to more than is searched for join
// tokens is refused with a condition.
func TestBootstrapBomb(t *testing.T) {
	t.Parallel()
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write(make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	file := "- encoding: gz+b64\n  content: " + base64.StdEncoding.EncodeToString(compressed.Bytes()) + "\n"
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bootstrap"},
		Data:       map[string][]byte{secretValue: []byte("#cloud-config\nwrite_files:\n" + strings.Repeat(file, 50))},
	}
	r := newRig(t, secret, launchConfig(func(config *infrav1.AWSLaunchConfig) {
		config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: secret.Name}
	}))
	config := r.reconcile()
	r.expect(config, infrav1.BootstrapDataReadyCondition, metav1.ConditionFalse, infrav1.BootstrapDataInvalidReason, "Move large files into the image")
	r.expectWrites()
}
