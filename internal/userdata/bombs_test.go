package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// gzipped compresses as well as gzip can.
func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// allocated returns how many bytes a function allocates.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMaskedBombs holds that the unpacked size of all compressed pieces of bootstrap data together
// is bounded, also for pieces that hold further ones, and that data that fits is masked all the
// same.
func TestMaskedBombs(t *testing.T) {
	const budget = 256 << 10
	zeros := gzipped(t, make([]byte, 32<<10))
	line := []byte(base64.StdEncoding.EncodeToString(zeros) + "\n")
	many := bytes.Repeat(line, 40)
	nested := bytes.Repeat([]byte(base64.StdEncoding.EncodeToString(gzipped(t, many))+"\n"), 40)
	secret := []byte("token: " + token + "\n")
	for _, row := range []struct {
		reason string
		data   []byte
	}{
		{"one bomb", gzipped(t, make([]byte, 64<<20))},
		{"many pieces", many},
		{"many pieces that hold many each", nested},
	} {
		m := masker{budget: budget}
		data := append(bytes.Clone(secret), row.data...)
		var masked []byte
		size := allocated(func() { masked, _ = m.piece(data, 0) })
		if want := append([]byte("token: "+tokenMask+"\n"), row.data...); !bytes.Equal(masked, want) {
			t.Errorf("%s: the token is not masked, or something else changed", row.reason)
		}
		// A buffer that grows is copied a few times.
		if most := uint64(32 * budget); size > most || m.budget < 0 {
			t.Errorf("%s: %d MiB were allocated, want at most %d; %d bytes of the budget are left", row.reason, size>>20, most>>20, m.budget)
		}
	}
}

// TestNodegroupBombs holds that short bootstrap data of a node group cannot stand for gigabytes,
// and that data which EC2 refuses for its length is not parsed.
func TestNodegroupBombs(t *testing.T) {
	aliases := "x: &x " + strings.Repeat("a", 4<<10) + "\ny: &y [" + strings.Repeat("*x, ", 500) + "*x]\nz: [" + strings.Repeat("*y, ", 200) + "*y]\n"
	config := "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"
	message := string(multipartOf(part{contentType: nodeConfigType, content: []byte(config + aliases)}))
	var tooLarge *TooLargeError
	for _, row := range []struct {
		reason  string
		data    string
		group   Nodegroup
		refused bool
	}{
		{reason: "aliases of aliases in a NodeConfig", data: config + aliases, group: Nodegroup{Family: FamilyAmazonLinux2023}},
		{reason: "the same in a MIME part", data: message, group: Nodegroup{Family: FamilyAmazonLinux2023}},
		{reason: "a NodeConfig of megabytes", data: config + strings.Repeat("a: b\n", 600_000), group: Nodegroup{Family: FamilyAmazonLinux2023}, refused: true},
		{reason: "TOML of megabytes", data: "a = " + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20), group: Nodegroup{Family: FamilyBottlerocket, OwnImage: true}, refused: true},
	} {
		var err error
		size := allocated(func() { _, err = RenderNodegroup([]byte(row.data), FormatCloudConfig, row.group) })
		if refused := errors.As(err, &tooLarge); refused != row.refused || !refused && err != nil {
			t.Errorf("%s: %v, want a refusal for its length: %t", row.reason, err, row.refused)
		}
		if most := uint64(16 << 20); size > most {
			t.Errorf("%s: %d MiB were allocated, want at most %d", row.reason, size>>20, most>>20)
		}
	}
}
