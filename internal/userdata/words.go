package userdata

import (
	"bytes"
	"iter"
	"regexp"
	"unicode/utf8"
)

// bytesOf is a set of bytes.
type bytesOf [256]bool

func setOf(members string) *bytesOf {
	var set bytesOf
	for _, b := range []byte(members) {
		set[b] = true
	}
	return &set
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

var (
	// wordBytes make up names and secrets. No other byte does, so that both are whole words.
	wordBytes = setOf(letters + "_.-")
	// separators stand between a name and its secret: a dash begins an item of a YAML list.
	separators   = setOf(" \t\n\f\r:=,-" + quotes)
	quoteBytes   = setOf(quotes)
	base64Digits = setOf(letters + "+/")
	indentation  = setOf(" \t")
)

// quotes are the bytes of quotes and of what escapes them.
const quotes = `\"'`

// after returns the offset of the first byte from an offset on that is not in the set.
func (s *bytesOf) after(text []byte, from int) int {
	for from < len(text) && s[text[from]] {
		from++
	}
	return from
}

// before returns the offset after the last byte before an offset that is not in the set.
func (s *bytesOf) before(text []byte, from int) int {
	for from > 0 && s[text[from-1]] {
		from--
	}
	return from
}

// span is a range of bytes.
type span struct{ start, end int }

// The forms of whole words that may be secrets.
var (
	tokenForm = regexp.MustCompile(`^` + tokenPattern + `$`)
	keyForm   = regexp.MustCompile(`^` + keyPattern + `$`)
)

// secretWords yields the words of a text that have the form of a secret, and where such a secret may be.
func secretWords(text []byte) iter.Seq2[span, []place] {
	return func(yield func(span, []place) bool) {
		for at := 0; at < len(text); at++ {
			word := span{at, wordBytes.after(text, at)}
			if places := placesFor(text[word.start:word.end]); places != nil && !yield(word, places) {
				return
			}
			at = word.end
		}
	}
}

// placesFor returns where a word may be a secret, nil for a word that has the form of none.
func placesFor(word []byte) []place {
	switch {
	case len(word) == len(tokenMask) && tokenForm.Match(word):
		return tokenPlaces
	case len(word) == len(keyMask) && keyForm.Match(word):
		return keyPlaces
	}
	return nil
}

// surroundings returns the range of a text that decides whether a word in it is a secret: from the
// character before the word that may be the secret's name, to the character after the quotes that may
// close it. That is too little before the name for another one, and enough after the secret that no
// pattern takes a bound of the range for a bound of the text.
func surroundings(text []byte, word span) span {
	name := wordBytes.before(text, separators.before(text, word.start))
	end := quoteBytes.after(text, word.end)
	return span{max(0, name-utf8.UTFMax), min(len(text), end+utf8.UTFMax)}
}

// shortestBase64 is the number of digits from which on a run of them is taken for base64.
const shortestBase64 = 40

// nextBase64 returns the first run of at least shortestBase64 digits from an offset on, with its
// padding. It is empty if there is none.
func nextBase64(text []byte, from int) span {
	for ; from < len(text); from++ {
		end := base64Digits.after(text, from)
		if end-from >= shortestBase64 {
			return span{from, padded(text, end)}
		}
		from = end
	}
	return span{}
}

// wrappedBase64 returns the base64 on the line that follows an offset, after its indentation. It is empty
// if the offset is not the end of a line, or something else follows.
func wrappedBase64(text []byte, from int) span {
	line := bytes.TrimPrefix(text[from:], []byte("\r"))
	if !bytes.HasPrefix(line, []byte("\n")) {
		return span{from, from}
	}
	start := indentation.after(text, len(text)-len(line)+1)
	end := base64Digits.after(text, start)
	if start == end {
		return span{from, from}
	}
	return span{start, padded(text, end)}
}

// padded returns the offset after the padding of base64 whose digits end at an offset.
func padded(text []byte, end int) int {
	for most := end + 2; end < most && end < len(text) && text[end] == '='; {
		end++
	}
	return end
}
