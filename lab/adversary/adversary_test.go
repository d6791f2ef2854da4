package adversary

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

var (
	duration = flag.Duration("for", 30*time.Second, "for how long, in real time, two tenants attack each other")
	seedFlag = flag.Uint64("seed", 0, "decides what the tenants do and which credentials they have; another one each time if zero")
	only     = flag.String("layout", "", "the credentials that the tenants have: roles, keys, accounts, or shared; by the seed if empty, and all four in turn for two minutes or more")
)

const (
	// remembered is the number of moves that are printed with a failure.
	remembered = 40
	// checkEvery is the number of moves between two checks of the invariants.
	checkEvery = 25
	// growth bounds how much more memory, in bytes, the process may hold after the moves than
	// before: it holds the API server and the simulated AWS too.
	growth = 512 << 20
)

// TestAdversary has two tenants attack each other and a third cluster with random moves, and holds
// that no call crosses the border, that what both mean well with becomes as wanted all the same,
// and that the manager goes on within bounds.
func TestAdversary(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	chosen := []layout{layouts[seed%uint64(len(layouts))]}
	switch {
	case *only != "":
		chosen = []layout{layout(*only)}
	case *duration >= 2*time.Minute:
		chosen = layouts
	}
	for _, layout := range chosen {
		t.Run(string(layout), func(t *testing.T) {
			t.Logf("the seed is %d: -args -seed %d -layout %s makes the same moves again", seed, seed, layout)
			attackFor(t, layout, seed, *duration/time.Duration(len(chosen)))
		})
	}
}

func attackFor(t *testing.T, chosen layout, seed uint64, most time.Duration) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, seed)) // #nosec G404 -- the same moves for the same seed
	w := newWorld(t, chosen)
	var attackers []*attacker
	for _, n := range w.tenants {
		n.createHonest()
		attackers = append(attackers, &attacker{tenant: n, random: random})
	}
	w.EventuallyWithin(5*time.Minute, "the honest pools are as wanted before any attack", w.converged)
	w.report(t)
	before := memory()

	var made []string
	refused, count := 0, 0
	for end := time.Now().Add(most); time.Now().Before(end) && !t.Failed(); count++ {
		said := attackers[random.IntN(len(attackers))].play()
		if strings.Contains(said, "(refused") {
			refused++
		}
		made = append(made, said)
		made = made[max(0, len(made)-remembered):]
		w.pass(time.Duration(random.IntN(int(20 * time.Second))))
		w.Cloud.AWS.ClearCalls()
		if count%checkEvery == checkEvery-1 {
			w.report(t)
		}
	}
	t.Logf("%d moves, of which the API server refused %d; the manager called %s", count, refused, w.oracle.counted())
	w.report(t)
	if !t.Failed() {
		for _, n := range w.tenants {
			n.clear()
		}
		w.report(t)
		w.EventuallyWithin(5*time.Minute, "the honest pools are as wanted after the attacks", w.converged)
		w.report(t)
	}
	if after := memory(); after > before+growth {
		t.Errorf("the process held %d MiB before the attacks, and holds %d MiB after them", before>>20, after>>20)
	}
	if t.Failed() {
		t.Logf("the latest moves were\n\t%s\nand the latest calls\n%s", strings.Join(made, "\n\t"), w.oracle.lately())
	}
}

// memory returns how many bytes the process holds that something refers to.
func memory() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
