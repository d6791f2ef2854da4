package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
)

// gzipMagic begins every gzip stream with the only compression method there is (RFC 1952).
var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// Unpack undoes gzip. It is false for data that is not gzip, is broken, or would be larger than
// four MiB: far more than what EC2 takes can hold of anything useful.
func Unpack(data []byte) ([]byte, bool) {
	unpacked, err := unpack(data, maxUnpacked)
	return unpacked, err == nil
}

var errTooLong = errors.New("it is longer than allowed")

// unpack undoes gzip. It also returns what it unpacked before an error, so that a caller knows what
// that cost.
func unpack(data []byte, limit int) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	unpacked, err := io.ReadAll(io.LimitReader(reader, int64(limit)+1))
	if err == nil && len(unpacked) > limit {
		err = errTooLong
	}
	return unpacked, err
}

// storedGzip writes a gzip stream without compression, by RFC 1951 (section 3.2.4) and RFC 1952. It
// is written out here, not left to compress/gzip, because its bytes go into fingerprints that must
// not change with a release of Go.
func storedGzip(content []byte) []byte {
	const maxBlock = 0xffff
	var stream bytes.Buffer
	stream.Write(gzipMagic)
	// No flags, no time, no extra flags, operating system unknown.
	stream.Write([]byte{0, 0, 0, 0, 0, 0, 0xff})
	for rest := content; ; {
		block := rest[:min(len(rest), maxBlock)]
		rest = rest[len(block):]
		final := byte(0)
		if len(rest) == 0 {
			final = 1
		}
		length := uint16(len(block)) //nolint:gosec // at most maxBlock
		header := binary.LittleEndian.AppendUint16([]byte{final}, length)
		stream.Write(binary.LittleEndian.AppendUint16(header, ^length))
		stream.Write(block)
		if final == 1 {
			break
		}
	}
	trailer := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(content))
	stream.Write(binary.LittleEndian.AppendUint32(trailer, uint32(len(content)))) //nolint:gosec // modulo 2^32, by RFC 1952
	return stream.Bytes()
}

// dataURL begins a URL that holds its own content (RFC 2397).
var dataURL = regexp.MustCompile(`data:[A-Za-z0-9.+/;=\-]*,`)

// dataURLs masks what data URLs hold. It returns where their content is, and what to replace.
func (m *masker) dataURLs(text []byte, depth int) (regions, edits []edit) {
	for _, match := range dataURL.FindAllIndex(text, -1) {
		if last := len(regions) - 1; last >= 0 && match[0] < regions[last].end {
			// it is found in the content of the URL around it: to search both would double the work
			// with each URL
			continue
		}
		content := edit{start: match[1], end: urlEnd(text, match[0], match[1])}
		regions = append(regions, content)
		decoded, offsets := percentDecode(text[content.start:content.end])
		// Base64 needs no case of its own: it is found in any text.
		for _, e := range m.pieceEdits(decoded, depth+1) {
			edits = append(edits, edit{
				start:       content.start + offsets[e.start],
				end:         content.start + offsets[e.end],
				replacement: percentEncode(e.replacement),
			})
		}
	}
	return regions, edits
}

// urlEnd returns where a URL stops that begins at start and whose content begins at from: at white
// space, at a double quote (escaped or not), or at a single quote if it does not stand in double
// quotes, because a URL may contain one.
func urlEnd(text []byte, start, from int) int {
	stops := " \t\r\n\"'"
	if start > 0 && text[start-1] == '"' {
		stops = " \t\r\n\""
	}
	end := len(text)
	if stop := bytes.IndexAny(text[from:], stops); stop >= 0 {
		end = from + stop
	}
	for end > from && text[end-1] == '\\' {
		end--
	}
	return end
}

// percentDecode undoes percent-encoding (RFC 3986, section 2.1); an invalid escape stands for
// itself. The offsets are where every decoded byte begins in the source, and the length of the
// source.
func percentDecode(source []byte) (decoded []byte, offsets []int) {
	for i := 0; i < len(source); {
		offsets = append(offsets, i)
		if source[i] == '%' && i+2 < len(source) {
			if value, err := hex.DecodeString(string(source[i+1 : i+3])); err == nil {
				decoded = append(decoded, value[0])
				i += 3
				continue
			}
		}
		decoded = append(decoded, source[i])
		i++
	}
	return decoded, append(offsets, len(source))
}

// percentEncode escapes all but the characters that no writer escapes. Whether the source escapes
// the others cannot be seen where it has none of them, and with another token it may have some.
func percentEncode(content []byte) []byte {
	var encoded bytes.Buffer
	for _, b := range content {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == '-' || b == '_' {
			encoded.WriteByte(b)
			continue
		}
		fmt.Fprintf(&encoded, "%%%02X", b)
	}
	return encoded.Bytes()
}
