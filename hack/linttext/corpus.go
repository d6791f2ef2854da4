package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// widest is the last column that a comment or a line of a guide should reach.
	widest = 110
	// tab is the width of a tab.
	tab = 4
)

// place is a paragraph of prose, or a line that is wrong, and its position.
type place struct {
	path string
	line int
	text string
}

// share counts how many of some things are wrong.
type share struct {
	all   int
	wrong []place
}

// add counts one thing, and records it if it is wrong.
func (s *share) add(wrong bool, where place) {
	s.all++
	if wrong {
		s.wrong = append(s.wrong, where)
	}
}

// percent returns the share of wrong things.
func (s *share) percent() float64 {
	if s.all == 0 {
		return 0
	}
	return 100 * float64(len(s.wrong)) / float64(s.all)
}

// corpus holds the prose of all comments, or of all guides.
type corpus struct {
	words      int
	paragraphs []place
	// openings are the first paragraphs of doc comments.
	openings []place
	// wide counts lines beyond the widest column. Markers, directives, tables, and code do not count.
	wide share
	// isDocs counts the doc comments of functions that open with "X is" or "X are". Functions of test
	// files do not count: the many tests would hide the others.
	isDocs share
	// unnamed counts the doc comments that do not start with the identifier.
	unnamed share
}

// read returns the comments of the Go code under a directory, and the prose of its guides.
func read(root string) (comments, guides *corpus, err error) {
	comments, guides = new(corpus), new(corpus)
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		switch {
		case entry.IsDir() && skipped(relative):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		case strings.HasSuffix(relative, ".go") && !strings.HasPrefix(entry.Name(), "zz_generated"):
			return readWith(file, relative, comments.addGo)
		case strings.HasSuffix(relative, ".md") && isGuide(relative):
			return readWith(file, relative, guides.addMarkdown)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the text of %s: %w", root, err)
	}
	return comments, guides, nil
}

// readWith calls add with the content of a file.
func readWith(file, relative string, add func(path string, content []byte) error) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return add(relative, content)
}

// skipped reports whether a directory contains no text of the project.
func skipped(dir string) bool {
	switch name := path.Base(dir); name {
	case "bin", "out", "_artifacts", "node_modules", "testdata", "vendor", "third_party":
		return true
	default:
		return dir != "." && strings.HasPrefix(name, ".")
	}
}

// isGuide reports whether a Markdown file is in the root or under docs.
func isGuide(file string) bool {
	dir := path.Dir(file)
	return dir == "." || dir == "docs" || strings.HasPrefix(dir, "docs/")
}

// addGo adds the comments of a Go file, unless it is generated.
func (c *corpus) addGo(file string, content []byte) error {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parsing %s: %w", file, err)
	}
	if ast.IsGenerated(tree) {
		return nil
	}
	lines := strings.Split(string(content), "\n")
	for _, group := range tree.Comments {
		for _, paragraph := range paragraphsOf(group) {
			c.addParagraph(place{file, set.Position(group.Pos()).Line, paragraph})
		}
		for _, comment := range group.List {
			c.addLines(file, set.Position(comment.Pos()).Line, strings.Split(comment.Text, "\n"), lines)
		}
	}
	c.addDocs(tree, func(position token.Pos, text string) place {
		return place{file, set.Position(position).Line, text}
	})
	return nil
}

// addLines counts the lines of one comment that are too wide.
func (c *corpus) addLines(file string, first int, comment, lines []string) {
	for i, text := range comment {
		if isMarker(text) {
			continue
		}
		line := strings.TrimRight(lines[first+i-1], "\r")
		c.wide.add(width(line) > widest, place{file, first + i, text})
	}
}

// addDocs counts the doc comments of the declarations in a file.
func (c *corpus) addDocs(tree *ast.File, at func(token.Pos, string) place) {
	add := func(name string, doc *ast.CommentGroup, isFunction bool) {
		opening := openingOf(doc)
		if opening == "" {
			return
		}
		where := at(doc.Pos(), opening)
		c.openings = append(c.openings, where)
		c.unnamed.add(!startsWith(opening, name), where)
		if isFunction && !strings.HasSuffix(where.path, "_test.go") {
			c.isDocs.add(opensWithIs.MatchString(opening), where)
		}
	}
	for _, declaration := range tree.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			add(declaration.Name.Name, declaration.Doc, true)
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				name, doc := described(declaration, spec)
				add(name, doc, false)
			}
		}
	}
}

// described returns the name that a type, a constant, or a variable has, and its doc comment: its own,
// or the comment of a declaration without parentheses.
func described(declaration *ast.GenDecl, spec ast.Spec) (string, *ast.CommentGroup) {
	var name string
	var doc *ast.CommentGroup
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		name, doc = spec.Name.Name, spec.Doc
	case *ast.ValueSpec:
		name, doc = spec.Names[0].Name, spec.Doc
	default:
		return "", nil
	}
	if doc == nil && !declaration.Lparen.IsValid() {
		doc = declaration.Doc
	}
	return name, doc
}

// opensWithIs matches the doc comments that say what a function is, not what it does.
var opensWithIs = regexp.MustCompile(`^(?:An? |The )?[\w.]+ (?:is|are)\b`)

// startsWith reports whether a doc comment starts with a name, after an optional article. A
// deprecation is a convention of its own.
func startsWith(doc, name string) bool {
	for _, article := range []string{"", "A ", "An ", "The "} {
		rest, found := strings.CutPrefix(doc, article+name)
		next, _ := utf8.DecodeRuneInString(rest)
		if found && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return true
		}
	}
	return strings.HasPrefix(doc, "Deprecated:")
}

// marker matches the comments that tools read: directives and markers of controller-gen.
var marker = regexp.MustCompile(`^//(?:\s*\+\S|[a-z0-9]+:[a-z0-9]|nolint|line |extern |export )`)

// isMarker reports whether a tool reads a line of a comment.
func isMarker(line string) bool {
	return marker.MatchString(line)
}

// openingOf returns the first paragraph of a comment.
func openingOf(group *ast.CommentGroup) string {
	if paragraphs := paragraphsOf(group); len(paragraphs) > 0 {
		return paragraphs[0]
	}
	return ""
}

// paragraphsOf returns the paragraphs of a comment, each in one line, without markers and code.
func paragraphsOf(group *ast.CommentGroup) []string {
	var paragraphs paragraphs
	for line := range strings.SplitSeq(group.Text(), "\n") {
		switch {
		case strings.HasPrefix(line, "+") || strings.HasPrefix(line, "nolint"), strings.HasPrefix(line, "\t"):
		case strings.TrimSpace(line) == "":
			paragraphs.close()
		default:
			paragraphs.add(1, line)
		}
	}
	paragraphs.close()
	texts := make([]string, len(paragraphs.closed))
	for i, paragraph := range paragraphs.closed {
		texts[i] = paragraph.text
	}
	return texts
}

// paragraphs joins lines into paragraphs.
type paragraphs struct {
	closed []place
	open   place
}

// add appends a line to the open paragraph.
func (p *paragraphs) add(number int, line string) {
	if p.open.text == "" {
		p.open = place{line: number, text: strings.TrimSpace(line)}
		return
	}
	p.open.text += " " + strings.TrimSpace(line)
}

// close finishes the open paragraph.
func (p *paragraphs) close() {
	if p.open.text != "" {
		p.closed = append(p.closed, p.open)
	}
	p.open = place{}
}

// addMarkdown adds the prose of a guide. Fenced and indented code does not count. A row of a table is
// a paragraph and may be as wide as it needs to be, and so may the lines of a section that a program
// writes.
func (c *corpus) addMarkdown(file string, content []byte) error {
	var paragraphs paragraphs
	fenced, generated, blank := false, false, true
	for i, line := range strings.Split(string(content), "\n") {
		trimmed := strings.TrimSpace(line)
		fence := strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
		switch {
		case fence:
			fenced = !fenced
			paragraphs.close()
		case fenced, blank && strings.HasPrefix(line, "    ") && paragraphs.open.text == "":
			continue // The line after a line of indented code can be code, too.
		case strings.HasPrefix(trimmed, "<!--"):
			paragraphs.close()
			generated = beginsGenerated.MatchString(trimmed)
		case trimmed == "":
			paragraphs.close()
		case strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "#"):
			paragraphs.close()
			paragraphs.add(i+1, trimmed)
			paragraphs.close()
		default:
			if startsItem.MatchString(trimmed) {
				paragraphs.close()
			}
			paragraphs.add(i+1, line)
			if !generated {
				c.wide.add(width(line) > widest, place{file, i + 1, trimmed})
			}
		}
		blank = trimmed == ""
	}
	paragraphs.close()
	for _, paragraph := range paragraphs.closed {
		c.addParagraph(place{file, paragraph.line, paragraph.text})
	}
	return nil
}

// beginsGenerated matches the line before a section that a program writes. The next comment closes
// it.
var beginsGenerated = regexp.MustCompile(`^<!-- (?:measured|begin): `)

// startsItem matches the first line of an item of a list.
var startsItem = regexp.MustCompile(`^(?:[-*+]|\d+[.)]) `)

// notProse matches code within a sentence, and the address of a link.
var notProse = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|https?://\\S+")

// addParagraph adds prose without the code within it.
func (c *corpus) addParagraph(paragraph place) {
	paragraph.text = strings.ReplaceAll(notProse.ReplaceAllString(paragraph.text, "_"), "|", " ")
	for _, word := range strings.Fields(paragraph.text) {
		if strings.ContainsFunc(word, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			c.words++
		}
	}
	c.paragraphs = append(c.paragraphs, paragraph)
}

// width returns how many columns a line takes.
func width(line string) int {
	columns := 0
	for _, character := range line {
		if character == '\t' {
			columns += tab - columns%tab
		} else {
			columns++
		}
	}
	return columns
}
