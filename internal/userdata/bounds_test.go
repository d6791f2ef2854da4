package userdata

import (
	"bytes"
	"strings"
	"testing"
)

// files is cloud-config with a number of files.
func files(count int, content string) string {
	return "#cloud-config\nwrite_files:\n" + strings.Repeat("- encoding: gz+b64\n  content: "+content+"\n", count)
}

// TestBounds holds that bootstrap data which unpacks to more than is searched is refused, and that
// the search stops there.
func TestBounds(t *testing.T) {
	t.Parallel()
	plain := func(n int) []byte { return bytes.Repeat([]byte("lorem ipsum "), n/12) }
	layer := func(content []byte, count int) []byte { return []byte(files(count, encodeBase64(gzipped(t, content)))) }
	for _, row := range []struct {
		reason  string
		data    []byte
		refused bool
	}{
		{"a kubeadm join", []byte(cloudConfig("abcdef.0123456789abcdef")), false},
		{"as much text as a Secret holds", plain(1 << 20), false},
		{"data URLs in data URLs", []byte(strings.Repeat("data:", 1<<17) + "," + strings.Repeat("data:,", 1<<16)), false},
		{"a file of four MiB", layer(plain(maxUnpacked), 1), false},
		{"two archives that are too large to be searched", layer(plain(3*maxUnpacked), 2), false},
		{"many files of four MiB", layer(plain(maxUnpacked), 60), true},
		{"many archives that are too large to be searched", layer(plain(3*maxUnpacked), 60), true},
		{"files in files", layer(layer(layer(plain(1<<16), 100), 100), 100), true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			m := masker{budget: maxUnpackedInAll}
			m.piece(row.data, 0)
			if m.exceeded != row.refused || m.searched > maxSearched+maxUnpacked {
				t.Errorf("%d of at most %d bytes were searched in %d bytes of bootstrap data", m.searched, maxSearched, len(row.data))
			}
		})
	}
}
