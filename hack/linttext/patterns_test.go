package main

import "testing"

func TestPatterns(t *testing.T) {
	t.Parallel()
	byName := map[string]*pattern{}
	for i := range patterns {
		if byName[patterns[i].name] != nil {
			t.Errorf("two patterns are named %s", patterns[i].name)
		}
		byName[patterns[i].name] = &patterns[i]
	}
	for _, row := range []struct {
		reason, pattern, text string
		found                 int
	}{
		{reason: "a definition instead of a verb", pattern: "is-what", text: "regionOf is where a client sends its calls.", found: 1},
		{reason: "only the opening counts", pattern: "is-what", text: "Region returns a region. It is what clients need."},
		{reason: "create", pattern: "make", text: "A role is made for each pool, and Made of it is a profile.", found: 2},
		{reason: "to make sure is idiomatic", pattern: "make", text: "Make sure that it makes sense."},
		{reason: "a verb", pattern: "end", text: "Instances that ended before the roll-out ends.", found: 2},
		{reason: "a noun", pattern: "end", text: "The end of the list, an end-to-end test, and end users."},
		{reason: "a pronoun for a noun", pattern: "that-of", text: "The name is that of the pool, and those that it owns.", found: 2},
		{reason: "any person", pattern: "somebody", text: "Nobody owns it, whoever asks.", found: 2},
		{reason: "two words", pattern: "can-not", text: "It can not work; it cannot, it can notify.", found: 1},
		{reason: "look", pattern: "look-at", text: "Slipway looks again after a minute, and is looked at.", found: 2},
		{reason: "a clause as a subject", pattern: "who-asks", text: "Calls are limited. What limits them is the budget. Who asks waits.", found: 2},
		{reason: "a question", pattern: "who-asks", text: "What limits calls? A budget. Who asks?"},
		{reason: "tell", pattern: "tell", text: "The user is told. It tells AWS.", found: 2},
		{reason: "a relative clause", pattern: "of-which", text: "A pool, all instances of which are gone.", found: 1},
		{reason: "know of", pattern: "say-of", text: "It knows nothing of pods, and EKS says of it what is known of it.", found: 3},
		{reason: "know without of", pattern: "say-of", text: "It knows the name of a pool."},
		{reason: "an obligation", pattern: "is-to", text: "The instance is to go. Nodes are not to be replaced.", found: 2},
		{reason: "beside", pattern: "beside", text: "Tests are beside code; besides, they are short.", found: 1},
		{reason: "no longer", pattern: "any-more", text: "It is not there any more. No more exist.", found: 2},
		{reason: "a limit is idiomatic", pattern: "any-more", text: "No more than 3 nodes."},
		{reason: "in words", pattern: "in-words", text: "Why in words, and in EC2's words.", found: 2},
		{reason: "other words are idiomatic", pattern: "in-words", text: "In other words, it waits."},
		{reason: "again", pattern: "once-more", text: "Once more, as a rule.", found: 2},
		{reason: "no duration", pattern: "moment", text: "It was there a moment ago.", found: 1},
		{reason: "have", pattern: "bear", text: "Nodes bear the name.", found: 1},
		{reason: "a bearer of a token", pattern: "bear", text: "A bearer token; bear in mind that it expires."},
	} {
		t.Run(row.pattern+": "+row.reason, func(t *testing.T) {
			t.Parallel()
			if found := byName[row.pattern].find(row.text); len(found) != row.found {
				t.Errorf("found %q, want %d", found, row.found)
			}
		})
	}
}
