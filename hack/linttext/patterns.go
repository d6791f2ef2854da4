package main

import "regexp"

// pattern describes a wording that the projects next to Slipway rarely use.
type pattern struct {
	// name identifies the pattern in limits.yaml and in -list.
	name string
	// wording describes the pattern to a reader of the report.
	wording string
	// match finds the wording in a paragraph.
	match *regexp.Regexp
	// except matches idiomatic phrases that contain the wording. They are removed before matching.
	except *regexp.Regexp
	// docsOnly restricts the pattern to the first paragraph of doc comments.
	docsOnly bool
	// instead suggests what to write.
	instead string
	// anchors holds the occurrences per 1,000 words of comments in other projects.
	anchors anchors
}

// anchors holds one measure of the projects that Slipway is compared with: Karpenter v1.14.1,
// controller-runtime v0.24.1, and Cluster API v1.14.2. `linttext -root` measures them.
type anchors struct{ karpenter, controllerRuntime, clusterAPI float64 }

// target returns the goal of a measure: twice the mean of the anchors.
func (a anchors) target() float64 {
	return 2 * (a.karpenter + a.controllerRuntime + a.clusterAPI) / 3
}

// words compiles a regular expression that ignores case and matches whole words.
func words(expression string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + expression + `)\b`)
}

// patterns lists the wordings to avoid.
var patterns = []pattern{
	{
		name: "is-what", wording: "X is what/how/when/whether … (doc comments)", docsOnly: true,
		match:   regexp.MustCompile(`^(?:An? |The )?[\w.]+ (?:is|are) (?:what|how|when|whether|where|who|why|which)\b`),
		instead: "a verb first: Foo returns …, Foo reports whether …", anchors: anchors{0.01, 0.01, 0.01},
	},
	{
		name: "make", wording: "make, made for create",
		match: words(`makes?|made|making`), except: words(`(?:makes?|made|making) (?:sure|sense)`),
		instead: "create, build, write", anchors: anchors{0.77, 0.47, 0.51},
	},
	{
		name: "end", wording: "end for terminate, finish, expire",
		match:   words(`ends?|ended`),
		except:  words(`(?:the|a|an|front|back|either|both|far|other|this|that|each|dead)[ -](?:very )?ends?(?:-to-end)?|end-to-end|end to end|end[ -]users?`),
		instead: "terminate, finish, expire, stop", anchors: anchors{0.13, 0.13, 0.06},
	},
	{
		name: "that-of", wording: "that of, those of, those that",
		match:   words(`that of|those of|those that|those who|those whose`),
		instead: "the noun again", anchors: anchors{0, 0.01, 0},
	},
	{
		name: "somebody", wording: "somebody, nobody, whoever, people",
		match:   words(`somebody|nobody|anybody|everybody|whoever|people`),
		instead: "another controller, the user, an operator", anchors: anchors{0, 0.06, 0.01},
	},
	{name: "can-not", wording: "can not", match: words(`can not`), instead: "cannot", anchors: anchors{0.02, 0.12, 0.05}},
	{
		name: "look-at", wording: "look at, look again",
		match: words(`look(?:s|ed|ing)? (?:at|again)`), instead: "check, poll, describe", anchors: anchors{0.06, 0.06, 0.05},
	},
	{
		name: "who-asks", wording: "Who asks …, What limits … without a subject",
		match: regexp.MustCompile(`(?:^|[.!?] )(?:Who|What) \S`), except: regexp.MustCompile(`(?:Who|What) [^.!?]*\?`),
		instead: "A caller that …", anchors: anchors{0, 0, 0},
	},
	{name: "tell", wording: "tell, told", match: words(`tells?|told|telling`), instead: "report, notify, record", anchors: anchors{0.02, 0.11, 0.01}},
	{
		name: "of-which", wording: "of which, of whom, of what",
		match: words(`of (?:which|whom|what)`), instead: "another order of the sentence", anchors: anchors{0.04, 0.01, 0.02},
	},
	{
		name: "say-of", wording: "say, tell, know … of",
		match:   words(`(?:says?|said|saying|tells?|told|telling|knows?|knew|known|knowing|speaks?|speaking|hears?|heard)(?: (?:it|them|him|us|me|nothing|something|anything|little|more|much|all|so|what|no \w+))? of`),
		instead: "report, know about", anchors: anchors{0, 0, 0},
	},
	{
		name: "is-to", wording: "is to be, are to go",
		match: words(`(?:is|are|was|were)(?: not)? to (?:be|go|have|do|come|get|stay|keep|become|end|make|take|run|use|last|hold|leave|give)`), instead: "should, must, will", anchors: anchors{0.01, 0.02, 0.05},
	},
	{name: "beside", wording: "beside for in addition to", match: words(`beside`), instead: "in addition to, alongside, next to", anchors: anchors{0, 0, 0}},
	{
		name: "any-more", wording: "any more, no more",
		match: words(`any more|no more`), except: words(`(?:any|no) more than`), instead: "no longer", anchors: anchors{0.06, 0.02, 0.01},
	},
	{
		name: "in-words", wording: "in words, in EC2's words",
		match: words(`in (?:(?:its|their|the|his|our|\w+'s|\w+s') )?(?:own )?words?`), instead: "human-readable; EC2's field names", anchors: anchors{0, 0, 0},
	},
	{
		name: "once-more", wording: "once more, as a rule, by now",
		match: words(`once more|as a rule|by now`), instead: "again, usually, already", anchors: anchors{0, 0, 0},
	},
	{
		name: "moment", wording: "a moment ago, in a moment",
		match: words(`moments? ago|(?:in|for|within) a moment`), instead: "recently, or the actual duration", anchors: anchors{0, 0, 0},
	},
	{
		name: "bear", wording: "bear (a name)",
		match: words(`bears?|bore|borne|bearing`), except: words(`bear in mind`), instead: "have, carry", anchors: anchors{0, 0, 0},
	},
}
