// Package once keeps answers to questions, so that each question is asked once.
package once

import (
	"sync"

	"golang.org/x/sync/singleflight"
)

// Answers holds one answer for each question that was asked. It keeps no errors. The zero value is ready
// for use, by any goroutine.
type Answers[V any] struct {
	calls singleflight.Group
	mu    sync.Mutex
	known map[string]V
}

// Get returns the answer to a question. It asks if there is none yet. Callers that ask the same question
// at the same time share one answer, or one error.
func (a *Answers[V]) Get(question string, ask func() (V, error)) (V, error) {
	if known, is := a.get(question); is {
		return known, nil
	}
	answer, err, _ := a.calls.Do(question, func() (any, error) {
		if known, is := a.get(question); is {
			return known, nil
		}
		asked, err := ask()
		if err != nil {
			return nil, err
		}
		return a.Put(question, asked), nil
	})
	if err != nil {
		var none V
		return none, err
	}
	return answer.(V), nil
}

func (a *Answers[V]) get(question string) (V, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, is := a.known[question]
	return known, is
}

// Put sets the answer to a question that has none, and returns the answer to it.
func (a *Answers[V]) Put(question string, answer V) V {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, is := a.known[question]; is {
		return known
	}
	if a.known == nil {
		a.known = map[string]V{}
	}
	a.known[question] = answer
	return answer
}
