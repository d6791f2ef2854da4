package sim

import (
	"slices"
	"testing"
	"time"
)

func TestStrikes(t *testing.T) {
	t.Parallel()
	const principal = "arn:aws:iam::1:user/KEY"
	rows := []struct {
		reason string
		fault  Fault
		want   string // one letter per call: x is struck
	}{
		{"every call, without end", Fault{}, "xxxxx"},
		{"every call, twice", Fault{Count: 2}, "xx..."},
		{"the third call", Fault{Nth: 3}, "..x.."},
		{"two from the third on", Fault{Nth: 3, Count: 2}, "..xx."},
		{"by service and action", Fault{Service: "ec2", Action: "Run"}, "xxxxx"},
		{"another service", Fault{Service: "ssm"}, "....."},
		{"another action", Fault{Action: "Stop"}, "....."},
		{"the caller's ARN", Fault{Principal: principal, Nth: 2}, ".x..."},
		{"the caller's key", Fault{Principal: "KEY", Nth: 2}, ".x..."},
		{"another caller", Fault{Principal: "OTHER"}, "....."},
	}
	for _, row := range rows {
		k, _ := newKernel(t, Settings{})
		row.fault.Code = "Oops"
		if _, err := k.Faults.Add(row.fault); err != nil {
			t.Fatal(err)
		}
		got := ""
		for range len(row.want) {
			mark := "."
			if len(k.Faults.Strikes("ec2", "Run", principal)) > 0 {
				mark = "x"
			}
			got += mark
		}
		if got != row.want {
			t.Errorf("%s: struck %s, want %s", row.reason, got, row.want)
		}
	}
}

// TestStrikesByChance holds that a share of the calls is struck, the same ones for the same seed.
func TestStrikesByChance(t *testing.T) {
	t.Parallel()
	const calls = 1000
	struck := func(seed uint64, chance float64) (nth []int) {
		k, _ := newKernel(t, Settings{Seed: seed})
		if _, err := k.Faults.Add(Fault{Chance: chance, Code: "Oops"}); err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			if len(k.Faults.Strikes("ec2", "Run", "arn")) > 0 {
				nth = append(nth, i)
			}
		}
		return nth
	}
	tenth := struck(1, 0.1)
	if len(tenth) < calls/20 || len(tenth) > calls/5 {
		t.Errorf("a tenth of %d calls are %d", calls, len(tenth))
	}
	if !slices.Equal(tenth, struck(1, 0.1)) || slices.Equal(tenth, struck(2, 0.1)) {
		t.Error("which calls are struck does not go by the seed")
	}
	if got := struck(1, 1); len(got) != calls {
		t.Errorf("of a sure thing %d of %d happened", len(got), calls)
	}
}

func TestStrikesCountFromWhenTheFaultWasSet(t *testing.T) {
	t.Parallel()
	k, _ := newKernel(t, Settings{})
	struck := func() int { return len(k.Faults.Strikes("ec2", "Run", "arn")) }
	struck()
	for _, f := range []Fault{{ID: "a", Nth: 2, Code: "A"}, {ID: "b", Count: 1, Code: "B"}} {
		if _, err := k.Faults.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := []int{struck(), struck(), struck()}; !slices.Equal(got, []int{1, 1, 0}) {
		t.Errorf("struck %v times, want b's first call, then a's second, then none", got)
	}
	if _, err := k.Faults.Add(Fault{ID: "a", Nth: 1, Code: "A"}); err != nil {
		t.Fatal(err)
	}
	if got := struck(); got != 1 || len(k.Faults.All()) != 2 {
		t.Errorf("a replaced fault struck %d times, of %d faults", got, len(k.Faults.All()))
	}
	if !k.Faults.Remove("a") || k.Faults.Remove("a") {
		t.Error("removing a fault must succeed once")
	}
}

func TestFaultCheck(t *testing.T) {
	t.Parallel()
	for reason, f := range map[string]Fault{
		"it does nothing":                {},
		"an error after the answer":      {Place: AfterAnswer, Code: "Oops"},
		"an unknown place":               {Place: "never", Code: "Oops"},
		"a negative count":               {Count: -1, Code: "Oops"},
		"more than all":                  {Chance: 1.1, Code: "Oops"},
		"a message without a code":       {Message: "oops", Drop: true},
		"a status that is no error":      {Code: "Oops", Status: 200},
		"a delay into the past":          {Delay: -time.Second},
		"a negative number of the call":  {Nth: -1, Code: "Oops"},
		"a status without a code at all": {Status: 500, Drop: true},
		"an update that does not fail":   {Place: InUpdate, Action: "UpdateNodegroupVersion", Delay: time.Second},
		"an update that is not answered": {Place: InUpdate, Action: "UpdateNodegroupVersion", Code: "Oops", Drop: true},
		"an action without an update":    {Place: InUpdate, Action: "CreateNodegroup", Code: "Oops"},
	} {
		if f.Check() == nil {
			t.Errorf("%s: the fault was accepted", reason)
		}
	}
}
