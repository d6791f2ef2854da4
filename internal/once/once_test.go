package once

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestAnswers holds that a question is asked once, however many ask it, and again after an error.
func TestAnswers(t *testing.T) {
	var answers Answers[int]
	if _, err := answers.Get("a", func() (int, error) { return 0, errors.New("no") }); err == nil {
		t.Error("Get: got no error, want the one of the question")
	}
	var asked atomic.Int32
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			answer, err := answers.Get("a", func() (int, error) { asked.Add(1); return 7, nil })
			if answer != 7 || err != nil {
				t.Errorf("Get: got %d and error %v, want 7", answer, err)
			}
		})
	}
	group.Wait()
	if asked.Load() != 1 {
		t.Errorf("got %d questions, want 1", asked.Load())
	}
	answers.Put("b", 8)
	if answer := answers.Put("b", 9); answer != 8 {
		t.Errorf("Put: got %d, want the first answer, 8", answer)
	}
	if answer, err := answers.Get("b", nil); answer != 8 || err != nil {
		t.Errorf("Get: got %d and error %v, want the 8 that was put", answer, err)
	}
}
