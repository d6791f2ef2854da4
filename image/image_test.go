// Package image_test builds the images as `make image` does, on a base image that is built on the
// spot, so that no other registry than its own is needed.
package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// nonroot is the user of the base image.
const nonroot = "65532"

// commit returns what Git prints about the commit that is built from, in a format.
func commit(t *testing.T, format string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "show", "-s", "--format="+format, "HEAD").Output() // #nosec G204 -- constants
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestImages holds of both images that they have two platforms, the base's user, and the version and
// commit among the labels; that they are the same when they are built again; and that the binary in them
// runs.
func TestImages(t *testing.T) {
	base := pushBase(t)
	for _, row := range []struct {
		program string
		args    []string
		says    []string
	}{
		{"slipway", []string{"version", "-o", "json"}, []string{`"v9.9.9"`, commit(t, "%H"), commit(t, "%cI")}},
		{"awssim", []string{"--help"}, []string{"Usage:"}},
	} {
		t.Run(row.program, func(t *testing.T) {
			first, again := build(t, base, row.program), build(t, base, row.program)
			if a, b := digest(t, first), digest(t, again); a != b {
				t.Errorf("two builds have the digests %s and %s", a, b)
			}
			images := imagesOf(t, first)
			if len(images) != 2 {
				t.Fatalf("there are %d platforms, want 2", len(images))
			}
			for platform, image := range images {
				config, err := image.ConfigFile()
				if err != nil {
					t.Fatal(err)
				}
				if config.Config.User != nonroot {
					t.Errorf("%s runs as %q, want %s", platform, config.Config.User, nonroot)
				}
				for label, want := range map[string]string{"title": row.program, "version": "v9.9.9", "revision": commit(t, "%H")} {
					if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
						t.Errorf("%s has the label %s %q, want %q", platform, label, got, want)
					}
				}
			}
			// #nosec G204 -- what was just built
			out, err := exec.CommandContext(t.Context(), binaryOf(t, images["linux/"+runtime.GOARCH]), row.args...).CombinedOutput()
			if err != nil {
				t.Errorf("the binary fails: %v", err)
			}
			for _, want := range row.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("the binary says %q, want %q", out, want)
				}
			}
		})
	}
}

// pushBase serves a base image of two platforms and returns its reference.
func pushBase(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: arch, Config: v1.Config{User: nonroot}})
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/base:test")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

// build builds an image of a program by make and returns its index.
func build(t *testing.T, base, program string) v1.ImageIndex {
	t.Helper()
	// ko takes the path for the name of a repository, which has no capitals: T.TempDir has the
	// capitals of the test.
	out, err := os.MkdirTemp("", "images")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(out); err != nil {
			t.Error(err)
		}
	})
	// #nosec G204 -- constants
	command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "image", "VERSION=v9.9.9", "IMAGES="+program, "IMAGE_OUT="+out)
	command.Dir, command.Env = "..", append(os.Environ(), "KO_DEFAULTBASEIMAGE="+base)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, said)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(out, program))
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// imagesOf returns the images of an OCI layout by platform.
func imagesOf(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for _, one := range manifest.Manifests {
		if one.MediaType.IsIndex() {
			inner, err := index.ImageIndex(one.Digest)
			if err != nil {
				t.Fatal(err)
			}
			for platform, image := range imagesOf(t, inner) {
				images[platform] = image
			}
			continue
		}
		image, err := index.Image(one.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if one.Platform != nil {
			images[one.Platform.String()] = image
		}
	}
	return images
}

// digest returns the digest of the only image index in a layout.
func digest(t *testing.T, index v1.ImageIndex) v1.Hash {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("the layout has %d entries, want 1", len(manifest.Manifests))
	}
	return manifest.Manifests[0].Digest
}

// binaryOf writes the program of an image into a file and returns its path.
func binaryOf(t *testing.T, image v1.Image) string {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	entrypoint := strings.TrimPrefix(config.Config.Entrypoint[0], "/")
	reader := mutate.Extract(image)
	defer reader.Close()
	files := tar.NewReader(reader)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("there is no %s in the image", entrypoint)
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimPrefix(header.Name, "/") != entrypoint {
			continue
		}
		var content bytes.Buffer
		if _, err := content.ReadFrom(files); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, content.Bytes(), 0o700); err != nil { // #nosec G306 -- it is run
			t.Fatal(err)
		}
		return path
	}
}
