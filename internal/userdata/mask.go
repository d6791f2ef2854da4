package userdata

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
)

// A join token does not affect what a node is: kubeadm's tokens live for minutes, and Cluster API
// writes a new one into the bootstrap data of a machine pool long before the old one expires. Two
// renderings of one bootstrap config differ in the token, and in what follows from it: how YAML
// quotes it, and how gzip packs it. Masked removes exactly that.
const (
	// Placeholders have the form of the tokens that they replace, so that masking masked data
	// changes nothing, and nothing but a token can become one.
	tokenMask = "xxxxxx.xxxxxxxxxxxxxxxx"
	keyMask   = "0000000000000000000000000000000000000000000000000000000000000000"

	// maxDepth limits the number of encodings around a token: a gzipped, base64-encoded file in a
	// gzipped, base64-encoded multi-part message is four.
	maxDepth = 6
	// maxUnpacked bounds what is unpacked of one compressed stream, in bytes.
	maxUnpacked = 4 << 20
	// maxUnpackedInAll bounds how much is unpacked from all compressed streams in bootstrap data: a
	// Secret has room for hundreds of compression bombs, and each may hold hundreds again.
	maxUnpackedInAll = 3 * maxUnpacked
	// maxSearched bounds what is searched in all pieces together, as unpacked and decoded.
	maxSearched = 6 << 20
)

const (
	// A bootstrap token (Kubernetes: bootstrap-tokens, "Token format") and a certificate key
	// (kubeadm: init phase upload-certs; what it decrypts is deleted after two hours).
	tokenPattern = `[a-z0-9]{6}\.[a-z0-9]{16}`
	keyPattern   = `[a-f0-9]{64}`
	quote        = `\\*["']`
	// The name is not the end of a longer one. In an escaped string the character before it may be
	// the n of \n.
	nameStart = `(?:^|[^A-Za-z0-9_.\-]|\\[nrt])`
	// The value is not the beginning of a longer one.
	valueEnd = `(?:$|[^A-Za-z0-9_.\-])`
)

// place describes where a secret can be. Group 1 of the pattern is masked, and holds the secret.
type place struct {
	pattern *regexp.Regexp
	mask    string
}

// The places of join secrets are fields of kubeadm's JoinConfiguration and InitConfiguration (v1beta3
// and v1beta4) and of bootstrap kubeconfigs, in YAML and in JSON; flags of kubeadm join; Bottlerocket's
// settings; shell variables that end in TOKEN.
//
// In YAML the quotes are masked too, because they come and go with the token:
// 123456.1234567890123456 is quoted, being a number otherwise, abcdef.0123456789abcdef is not.
var (
	tokenPlaces = append(placesOf(`token|tlsBootstrapToken|discoveryToken|bootstrapToken`, `token|discovery-token|tls-bootstrap-token`, tokenPattern, tokenMask),
		// Bottlerocket's setting, alone or at the end of a dotted key (Bottlerocket:
		// settings.kubernetes.bootstrap-token).
		place{regexp.MustCompile(`(?:^|[^A-Za-z0-9_\-])bootstrap-token[ \t]*=[ \t]*` + quote + `(` + tokenPattern + `)` + quote), tokenMask},
		place{regexp.MustCompile(nameStart + `[A-Z0-9_]*TOKEN=(?:` + quote + `)?(` + tokenPattern + `)` + valueEnd), tokenMask},
	)
	keyPlaces = placesOf(`certificateKey`, `certificate-key`, keyPattern, keyMask)
)

func placesOf(fields, flags, value, mask string) []place {
	yaml := nameStart + `(?:` + fields + `):[ \t]+(` + quote + value + quote + `|` + value + `)` + valueEnd
	json := quote + `(?:` + fields + `)` + quote + `\s*:\s*(?:` + quote + `)?(` + value + `)` + valueEnd
	flag := nameStart + `--(?:` + flags + `)(?:` + quote + `)?(?:=|[\s,\\]+(?:-\s+)?)(?:` + quote + `)?(` + value + `)` + valueEnd
	return []place{
		{regexp.MustCompile(yaml), mask},
		{regexp.MustCompile(json), mask},
		{regexp.MustCompile(flag), mask},
	}
}

// Masked returns bootstrap data with every short-lived join secret replaced by a placeholder, to
// determine whether two renderings create the same node. Everything else is returned byte for byte,
// except for the encodings around a secret, over which it spreads: a compressed piece that holds
// one is returned with the same content but not compressed (the result may not depend on the
// release of a compression library either), and base64 that holds one is padded.
//
// Secrets are found in plain text, and inside base64, percent-encoded, and gzip-compressed pieces:
// cloud-init's write_files with an encoding, multi-part messages, Ignition's data URLs. The hash of
// the cluster's CA stays: it is part of the node's configuration. The format does not matter:
// either language may carry the other's encodings.
//
// Data that CheckBounds refuses is searched up to the bounds, and returned as it is from there on.
func Masked(data []byte, _ Format) []byte {
	m := masker{budget: maxUnpackedInAll}
	masked, _ := m.piece(data, 0)
	return masked
}

// CheckBounds returns a *TooMuchEncodedError for data with so much in its compressed and encoded
// pieces that they are not all searched for join secrets.
func CheckBounds(data []byte) error {
	m := masker{budget: maxUnpackedInAll, countsOnly: true}
	if m.piece(data, 0); m.exceeded {
		return &TooMuchEncodedError{}
	}
	return nil
}

// TooMuchEncodedError reports that the compressed and encoded pieces of bootstrap data hold too much.
type TooMuchEncodedError struct{}

// Error implements error.
func (*TooMuchEncodedError) Error() string {
	return fmt.Sprintf("the decompressed and base64-decoded parts of the bootstrap data exceed the %d MiB that "+
		"Slipway searches for join tokens. No version is created from it, and running nodes are kept. Move "+
		"large files into the image, or fetch them in a pre-bootstrap command", maxSearched>>20)
}

// WaitsForUser reports that only a change by a person helps.
func (*TooMuchEncodedError) WaitsForUser() bool { return true }

// masker masks one piece of bootstrap data.
type masker struct {
	// budget is how many bytes may still be unpacked. A compressed stream that exceeds it is
	// returned as it is.
	budget int
	// searched is how many bytes were searched.
	searched int
	// exceeded is set once a piece was left out because of the size of others.
	exceeded bool
	// countsOnly is set if nothing is masked, and only the bounds matter. They do not depend on what
	// plain text holds.
	countsOnly bool
}

// piece masks text or a gzip stream, and says whether there was a secret in it.
func (m *masker) piece(data []byte, depth int) ([]byte, bool) {
	edits := m.pieceEdits(data, depth)
	return apply(data, edits), len(edits) > 0
}

// pieceEdits finds what to replace in text or in a gzip stream.
func (m *masker) pieceEdits(data []byte, depth int) []edit {
	if depth > maxDepth {
		return nil
	}
	m.searched += len(data)
	m.exceeded = m.exceeded || m.searched > maxSearched
	if m.exceeded {
		return nil
	}
	if !bytes.HasPrefix(data, gzipMagic) {
		return m.text(data, depth)
	}
	limit := min(maxUnpacked, m.budget)
	unpacked, err := unpack(data, limit)
	m.budget -= min(m.budget, len(unpacked))
	m.exceeded = m.exceeded || errors.Is(err, errTooLong) && limit < maxUnpacked
	if err != nil {
		return nil
	}
	masked, found := m.piece(unpacked, depth+1)
	if !found {
		return nil
	}
	return []edit{{start: 0, end: len(data), replacement: storedGzip(masked)}}
}

// edit replaces a range of bytes.
type edit struct {
	start, end  int
	replacement []byte
}

func apply(data []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return data
	}
	var result bytes.Buffer
	rest := 0
	for _, e := range edits {
		result.Write(data[rest:e.start])
		result.Write(e.replacement)
		rest = e.end
	}
	result.Write(data[rest:])
	return result.Bytes()
}

// text finds what to replace in text, in order and without overlap.
func (m *masker) text(text []byte, depth int) []edit {
	regions, edits := m.dataURLs(text, depth)
	for _, e := range slices.Concat(m.base64(text, depth), m.plain(text)) {
		// Inside a data URL the text is not what it seems; that has been done.
		if !e.overlapsAny(regions) {
			edits = append(edits, e)
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	apart := edits[:0]
	for _, e := range edits {
		if len(apart) == 0 || e.start >= apart[len(apart)-1].end {
			apart = append(apart, e)
		}
	}
	return apart
}

// overlapsAny reports whether the edit overlaps one of the regions, which are in order and do not
// overlap each other.
func (e edit) overlapsAny(regions []edit) bool {
	first := sort.Search(len(regions), func(i int) bool { return regions[i].end > e.start })
	return first < len(regions) && regions[first].start < e.end
}

// plain finds what to replace in plain text. A search of the whole text for each place would take
// milliseconds in every pass: words of the form of a secret are rare, and found a hundred times faster.
func (m *masker) plain(text []byte) []edit {
	if m.countsOnly {
		return nil
	}
	var edits []edit
	for word, places := range secretWords(text) {
		around := surroundings(text, word)
		for _, p := range places {
			if match := p.pattern.FindSubmatchIndex(text[around.start:around.end]); match != nil {
				edits = append(edits, edit{start: around.start + match[2], end: around.start + match[3], replacement: []byte(p.mask)})
			}
		}
	}
	return edits
}

// base64 finds what to replace in pieces of base64.
func (m *masker) base64(text []byte, depth int) []edit {
	var edits []edit
	for line := nextBase64(text, 0); line.end > 0; {
		block := readBlock(text, line)
		if replacement, found := m.block(block, depth); found {
			edits = append(edits, edit{start: block.start, end: block.end, replacement: replacement})
		}
		line = nextBase64(text, block.end)
	}
	return edits
}

// base64Block is base64, possibly over several lines.
type base64Block struct {
	start, end int
	// digits are the base64 without line breaks.
	digits []byte
	// width of a full line; separator is what is between lines. Zero if there is one line.
	width     int
	separator []byte
}

// readBlock extends a line of base64 over the following lines that belong to the same base64: lines of
// equal length and indentation, and a last one that may be shorter.
func readBlock(text []byte, line span) base64Block {
	block := base64Block{start: line.start, end: line.end, digits: slices.Clone(text[line.start:line.end])}
	width := line.end - line.start
	for width%4 == 0 && text[block.end-1] != '=' {
		next := wrappedBase64(text, block.end)
		length, separator := next.end-next.start, text[block.end:next.start]
		if length == 0 || length > width || block.separator != nil && !bytes.Equal(separator, block.separator) {
			break
		}
		if next.end < len(text) && text[next.end] != '\n' && text[next.end] != '\r' {
			break
		}
		block.width, block.separator = width, separator
		block.digits = append(block.digits, text[next.start:next.end]...)
		block.end = next.end
		if length < width {
			break
		}
	}
	return block
}

// block masks what base64 holds, and says whether there was a secret in it.
func (m *masker) block(b base64Block, depth int) ([]byte, bool) {
	encoding := base64.StdEncoding
	if len(b.digits)%4 != 0 {
		encoding = base64.RawStdEncoding
	}
	decoded, err := encoding.Strict().DecodeString(string(b.digits))
	if err != nil {
		return nil, false
	}
	masked, found := m.piece(decoded, depth+1)
	if !found {
		return nil, false
	}
	// Padded, whatever it was: where no padding is needed one cannot see which way the writer has,
	// and with another token it may be needed.
	return b.wrap([]byte(base64.StdEncoding.EncodeToString(masked))), true
}

// wrap breaks lines where the original had them.
func (b base64Block) wrap(digits []byte) []byte {
	if b.width == 0 {
		return digits
	}
	return bytes.Join(slices.Collect(slices.Chunk(digits, b.width)), b.separator)
}
