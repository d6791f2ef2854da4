package reconcile

import "context"

// Journal receives each action that a pass tried, after it was tried.
type Journal func(object Object, done Done)

type journalKey struct{}

// WithJournal returns a context in which passes report their actions to a journal. A plan is built
// from these reports.
func WithJournal(ctx context.Context, journal Journal) context.Context {
	return context.WithValue(ctx, journalKey{}, journal)
}

// tellJournal reports an action to the journal of a context, if there is one.
func tellJournal(ctx context.Context, object Object, done Done) {
	if journal, is := ctx.Value(journalKey{}).(Journal); is {
		journal(object, done)
	}
}

// Replaces is implemented by actions that replace or terminate instances.
type Replaces interface {
	// Replaced returns the IDs of the instances.
	Replaced() []string
}
