package launchtemplate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/userdata"
)

func packed(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// withUserData returns the input with other user data.
func withUserData(t testing.TB, data []byte) Input {
	t.Helper()
	values := resolved()
	values.UserData = data
	return input(t, base(), values)
}

func TestTokensAreMasked(t *testing.T) {
	t.Parallel()
	join := func(token, more string) []byte {
		return []byte("#cloud-config\nwrite_files:\n- content: |\n    discovery:\n      bootstrapToken:\n        token: " + token + "\n" + more)
	}
	old := withUserData(t, join("abcdef.0123456789abcdef", ""))
	for _, row := range []struct {
		reason                    string
		data                      []byte
		sameConfig, sameBootstrap bool
	}{
		{"the same", join("abcdef.0123456789abcdef", ""), true, true},
		{"a rotated token rolls nothing and makes a version", join("fedcba.fedcba9876543210", ""), true, false},
		{"anything else rolls", join("abcdef.0123456789abcdef", "runcmd: [reboot]\n"), false, false},
		{"compressed, it is the same", packed(t, join("abcdef.0123456789abcdef", ""), gzip.BestCompression), true, true},
		{"compressed worse, it is the same", packed(t, join("abcdef.0123456789abcdef", ""), gzip.NoCompression), true, true},
		{"compressed and rotated", packed(t, join("fedcba.fedcba9876543210", ""), gzip.BestCompression), true, false},
		{"none at all", nil, false, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			made := withUserData(t, row.data).Fingerprints
			if got := made.Config == old.Fingerprints.Config; got != row.sameConfig {
				t.Errorf("config fingerprint is the same: %t, want %t", got, row.sameConfig)
			}
			if got := made.Bootstrap == old.Fingerprints.Bootstrap; got != row.sameBootstrap {
				t.Errorf("bootstrap fingerprint is the same: %t, want %t", got, row.sameBootstrap)
			}
		})
	}
}

// TestRenderedUserDataKeepsFingerprints holds that the output of userdata.Render for bootstrap
// data, small or large, has the fingerprints of the data itself.
func TestRenderedUserDataKeepsFingerprints(t *testing.T) {
	t.Parallel()
	large := []byte("#cloud-config\n" + strings.Repeat("# a line that compresses well\n", 2000))
	rendered, err := userdata.Render(large, userdata.FormatCloudConfig)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(rendered.Bytes, large) {
		t.Fatal("nothing was compressed, so that this shows nothing")
	}
	if a, b := withUserData(t, large).Fingerprints, withUserData(t, rendered.Bytes).Fingerprints; a != b {
		t.Errorf("plain %+v, compressed %+v", a, b)
	}
}

// TestForeignUserData holds that any version can be read, because foreign versions are listed
// together with Slipway's own.
func TestForeignUserData(t *testing.T) {
	t.Parallel()
	bomb := packed(t, make([]byte, 8<<20), gzip.BestCompression)
	if len(bomb) > 16384 {
		t.Fatalf("%d bytes are more than EC2 takes", len(bomb))
	}
	good := packed(t, []byte("#cloud-config\n"), gzip.BestCompression)
	seen := map[string]string{}
	for reason, data := range map[string][]byte{
		"none":                        nil,
		"the first bytes of gzip":     {0x1f, 0x8b},
		"gzip that ends in the midst": good[:len(good)-9],
		"gzip with a tail":            append(bytes.Clone(good), "tail"...),
		"a bomb":                      bomb,
	} {
		version, err := versionOf(&ec2types.LaunchTemplateVersion{
			VersionNumber:      awssdk.Int64(1),
			LaunchTemplateData: &ec2types.ResponseLaunchTemplateData{UserData: awssdk.String(base64.StdEncoding.EncodeToString(data))},
		})
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		if other, taken := seen[version.Fingerprints.Bootstrap]; taken {
			t.Errorf("%s and %s have one fingerprint", reason, other)
		}
		seen[version.Fingerprints.Bootstrap] = reason
	}
}

// hexText is hexadecimal text of a length.
func hexText(n int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("0123456789abcdef")), n, n, n)
}

func TestDescription(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fingerprints := Fingerprints{
			Config: hexText(32).Draw(t, "config"), Bootstrap: hexText(32).Draw(t, "bootstrap"),
			Image: rapid.OneOf(rapid.Just(""), hexText(16)).Draw(t, "image"),
		}
		text := fingerprints.Description()
		if len(text) > 115 {
			t.Errorf("%d characters: %s", len(text), text)
		}
		if read, ours := ParseDescription(text); !ours || read != fingerprints {
			t.Errorf("read %+v (%t) from %s", read, ours, text)
		}
	})
	full := Fingerprints{Config: strings.Repeat("a", 32), Bootstrap: strings.Repeat("b", 32), Image: strings.Repeat("c", 16)}
	for reason, text := range map[string]string{
		"CAPA's":                  "",
		"another client's":        "my version",
		"a later form":            strings.Replace(full.Description(), "slipway/1", "slipway/2", 1),
		"more than we write":      full.Description() + " x",
		"something before":        "x " + full.Description(),
		"a fingerprint cut short": full.Description()[:100],
		"a line more":             full.Description() + "\n",
	} {
		if read, ours := ParseDescription(text); ours || read != (Fingerprints{}) {
			t.Errorf("%s: read %+v from %q", reason, read, text)
		}
	}
}

func TestImageKey(t *testing.T) {
	t.Parallel()
	lookup := map[string]string{"kubernetesVersion": "v1.34.2", "architecture": "arm64", "org": ""}
	key := ImageKey(lookup)
	if grown := map[string]string{"kubernetesVersion": "v1.34.2", "architecture": "arm64", "channel": ""}; ImageKey(grown) != key {
		t.Error("a setting that is not in use changes the key: an upgrade would look images up anew")
	}
	for name := range lookup {
		changed := maps.Clone(lookup)
		changed[name] += "x"
		if ImageKey(changed) == key {
			t.Errorf("%s does not change the key", name)
		}
	}
	if moved := map[string]string{"kubernetesVersion": "arm64", "architecture": "v1.34.2"}; ImageKey(moved) == key {
		t.Error("values under other names have the same key")
	}
	values := resolved()
	values.ImageKey = key
	made := input(t, base(), values)
	if made.Fingerprints.Image != key {
		t.Errorf("image fingerprint %q, want %q", made.Fingerprints.Image, key)
	}
	if plain := input(t, base(), resolved()); plain.Fingerprints.Config != made.Fingerprints.Config {
		t.Error("how an image was found changes what a node is")
	}
}

// TestHashSeparatesParts holds that two lists of parts that are cut at different places have
// different hashes.
func TestHashSeparatesParts(t *testing.T) {
	t.Parallel()
	lists := [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {"1:a,", ""}, {}}
	seen := map[string][]string{}
	for _, list := range lists {
		digest := hash(64, list...)
		if other, taken := seen[digest]; taken {
			t.Errorf("%q and %q have one hash", list, other)
		}
		seen[digest] = list
	}
}
