package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// guide is a page of the documentation whose commands are run.
type guide struct {
	// start holds the arguments of the command that starts the laboratory.
	start []string
	// continues is the page whose commands come before these, up to a heading.
	continues, upTo string
	blocks          []block
}

// block is a block of commands.
type block struct {
	line    int
	heading string
	text    string
	// skip is why a block is not run.
	skip string
	// fails is true if the commands are to show a refusal.
	fails bool
	// until holds the commands that succeed once the block has had its effect.
	until []string
}

// Directives of a page are HTML comments, which readers do not see:
//
//	<!-- continues FILE up to "HEADING" -->   the page goes on from another
//	<!-- not run: WHY -->                     before a block
//	<!-- fails -->                            before a block
//	<!-- until: COMMAND -->                   after a block: what a reader waits for
var (
	continuesDirective = regexp.MustCompile(`^<!-- continues (\S+) up to "(.+)" -->$`)
	skipDirective      = regexp.MustCompile(`^<!-- not run: (.+) -->$`)
	untilDirective     = regexp.MustCompile(`^<!-- until: (.+) -->$`)
	starts             = regexp.MustCompile(`(?m)^bin/lab up(.*)$`)
)

const failsDirective = "<!-- fails -->"

func parseGuide(text string) (guide, error) {
	var (
		parsed  guide
		heading string
		next    block
		open    *block
	)
	for i, whole := range strings.Split(text, "\n") {
		line := strings.TrimSpace(whole) // blocks of a list are indented
		switch {
		case open != nil && line == "```":
			if match := starts.FindStringSubmatch(open.text); match != nil {
				parsed.start = strings.Fields(match[1])
			} else {
				parsed.blocks = append(parsed.blocks, *open)
			}
			open = nil
		case open != nil:
			open.text += whole + "\n"
		case line == "```bash":
			open, next = &block{line: i + 1, heading: heading, skip: next.skip, fails: next.fails}, block{}
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		case line == failsDirective:
			next.fails = true
		case strings.HasPrefix(line, "<!-- "):
			if err := parsed.directive(line, &next); err != nil {
				return guide{}, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	return parsed, nil
}

// directive parses a directive. A directive that precedes a block is stored in next.
func (g *guide) directive(line string, next *block) error {
	if match := continuesDirective.FindStringSubmatch(line); match != nil {
		g.continues, g.upTo = match[1], match[2]
		return nil
	}
	if match := skipDirective.FindStringSubmatch(line); match != nil {
		next.skip = match[1]
		return nil
	}
	match := untilDirective.FindStringSubmatch(line)
	if match == nil || len(g.blocks) == 0 {
		return fmt.Errorf("the directive %s has no meaning here", line)
	}
	last := &g.blocks[len(g.blocks)-1]
	last.until = append(last.until, match[1])
	return nil
}

// before returns the blocks above a heading.
func (g *guide) before(heading string) ([]block, error) {
	end := slices.IndexFunc(g.blocks, func(b block) bool { return b.heading == heading })
	if end < 0 {
		return nil, fmt.Errorf("no block has the heading %q", heading)
	}
	return g.blocks[:end], nil
}

// script returns a script that runs blocks, and stops at the first that does something else than
// its page says. A page watches what a script waits for.
func script(page string, blocks []block) string {
	var text strings.Builder
	text.WriteString("set -euo pipefail\n")
	for _, b := range blocks {
		if b.skip != "" {
			continue
		}
		commands := strings.ReplaceAll(b.text, " --watch", "")
		fmt.Fprintf(&text, "echo '== %s:%d'\n", page, b.line)
		if b.fails {
			fmt.Fprintf(&text, "if (set -e\n%s); then echo 'should have been refused'; exit 1; fi\n", commands)
		} else {
			text.WriteString(commands)
		}
		for _, command := range b.until {
			fmt.Fprintf(&text, "end=$((SECONDS + 120))\nuntil %s; do\n  ((SECONDS < end)) || { echo 'not within two minutes'; exit 1; }\n  sleep 0.5\ndone\n", command)
		}
	}
	return text.String()
}

// TestTutorials runs the commands of each tutorial in a laboratory, one after the other: each has
// API servers of its own.
func TestTutorials(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/tutorials/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no tutorials: %v", err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			args, text := tutorial(t, page)
			runScript(t, root, args, text)
		})
	}
}

// runScript runs a script in a laboratory that is started with arguments.
func runScript(t *testing.T, directory string, args []string, text string) {
	t.Helper()
	output, notes, err := inLaboratory(t, directory, t.TempDir(), args, "bash", "-c", "exec 2>&1\n"+text)
	if err != nil {
		t.Errorf("%v:\n%s%s", err, output, notes)
	}
}

// inLaboratory runs a program in a laboratory that is started with arguments. The program finds kubectl and the
// other programs of a directory. It returns what the program prints, and its notes.
func inLaboratory(t *testing.T, directory, programs string, args []string, program ...string) (output, notes string, err error) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(programs, kubectl)); err != nil {
		t.Fatal(err)
	}
	arguments := slices.Concat([]string{"run"}, args, []string{"--", "env", "-u", asLab}, program)
	var printed, noted bytes.Buffer
	command := laboratory(t, arguments...)
	command.Dir = directory
	command.Env = append(command.Env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	command.Stdout, command.Stderr = &printed, &noted
	err = command.Run()
	return printed.String(), noted.String(), err
}

// TestGuides runs the commands of the how-to guides in one laboratory, one guide after the other, with
// the pool of the tutorial that they continue.
func TestGuides(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/how-to/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	var text strings.Builder
	ran := map[string]bool{}
	for _, page := range pages {
		parsed := readGuide(t, page)
		if !slices.ContainsFunc(parsed.blocks, func(b block) bool { return b.skip == "" }) {
			continue
		}
		if parsed.continues == "" {
			t.Errorf("%s runs commands, and does not say which tutorial it continues", page)
			continue
		}
		if from := parsed.continues + parsed.upTo; !ran[from] {
			ran[from] = true
			earlier := readGuide(t, filepath.Join(filepath.Dir(page), parsed.continues))
			blocks, err := earlier.before(parsed.upTo)
			if err != nil {
				t.Fatal(err)
			}
			args = earlier.start
			text.WriteString(script(parsed.continues, blocks))
		}
		fmt.Fprintf(&text, "(\n%s)\n", script(filepath.Base(page), parsed.blocks))
	}
	if len(ran) != 1 {
		t.Fatalf("the guides continue %d tutorials, and there is one laboratory for them", len(ran))
	}
	runScript(t, root, args, text.String())
}

// indented are commands in an indented block, which is not run.
var indented = regexp.MustCompile(`(?m)^(?: {4}|\t)\s*(?:kubectl|aws|helm|slipway|make|clusterctl|bin/lab) .*$`)

// TestCommandsAreBashBlocks holds that the commands of tutorials and guides are in blocks that are run,
// or say why they are not.
func TestCommandsAreBashBlocks(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, directory := range []string{"tutorials", "how-to"} {
		found, err := filepath.Glob("../../../docs/" + directory + "/*.md")
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no %s: %v", directory, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		readGuide(t, page)
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range slices.Concat(indented.FindAllString(string(content), -1), otherShells.FindAllString(string(content), -1)) {
			t.Errorf("%s: %q is not in a block that begins with ```bash", filepath.Base(page), command)
		}
	}
}

// otherShells are the beginnings of blocks of commands that are not run.
var otherShells = regexp.MustCompile("(?m)^ *```(?:sh|shell|console)$")

// tutorial returns the arguments of the laboratory that a tutorial runs in, and its script.
func tutorial(t *testing.T, page string) (args []string, text string) {
	t.Helper()
	parsed := readGuide(t, page)
	args, text = parsed.start, script(filepath.Base(page), parsed.blocks)
	if parsed.continues != "" {
		earlier := readGuide(t, filepath.Join(filepath.Dir(page), parsed.continues))
		blocks, err := earlier.before(parsed.upTo)
		if err != nil {
			t.Fatal(err)
		}
		args, text = earlier.start, script(parsed.continues, blocks)+text
	}
	if args == nil {
		t.Fatalf("%s starts no laboratory", page)
	}
	return args, text
}

func readGuide(t *testing.T, page string) guide {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parseGuide(string(content))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return parsed
}

func TestParseGuide(t *testing.T) {
	t.Parallel()
	const page = "# Title\n<!-- continues other.md up to \"Clean up\" -->\n## One\n```bash\nmake build\nbin/lab up --cluster capa\n```\n" +
		"<!-- fails -->\n```bash\nkubectl apply\n```\n```\noutput\n```\n## Two\n<!-- not run: it never ends -->\n```bash\nsleep 1d\n```\n" +
		"```bash\nkubectl get pools --watch\n```\n<!-- until: true -->\n"
	got, err := parseGuide(page)
	if err != nil {
		t.Fatal(err)
	}
	want := guide{
		start: []string{"--cluster", "capa"}, continues: "other.md", upTo: "Clean up",
		blocks: []block{
			{line: 9, heading: "One", text: "kubectl apply\n", fails: true},
			{line: 17, heading: "Two", text: "sleep 1d\n", skip: "it never ends"},
			{line: 20, heading: "Two", text: "kubectl get pools --watch\n", until: []string{"true"}},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(guide{}, block{})); diff != "" {
		t.Errorf("the guide (-want +got):\n%s", diff)
	}
	text := script("page.md", got.blocks)
	for _, part := range []string{"if (set -e\nkubectl apply\n)", "kubectl get pools\n", "until true; do"} {
		if !strings.Contains(text, part) {
			t.Errorf("the script lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "sleep 1d") {
		t.Errorf("the script runs what is not to be run:\n%s", text)
	}
	for _, bad := range []string{"<!-- until: true -->", "<!-- later: true -->"} {
		if _, err := parseGuide(bad); err == nil {
			t.Errorf("%s is taken for a directive", bad)
		}
	}
}
