package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"k8s.io/utils/ptr"
)

// Budgets of a fleet of 1,000 pools, on two CPUs that other tests use too.
const (
	// renderBudget bounds how long the page is busy with showing all rows for the first time.
	renderBudget = 1500 * time.Millisecond
	// frameBudget bounds how long one update may keep the page from answering to its user.
	frameBudget = 250 * time.Millisecond
	// searchBudget bounds the time from a letter in the search to the rows that match.
	searchBudget = 300 * time.Millisecond
)

// TestThousandPools measures a fleet of 1,000 pools: the first view, a search, and updates of 60 pools.
func TestThousandPools(t *testing.T) {
	w := newWorld(t, many(1000)...)
	page := open(t, w, "")
	page.until(`document.getElementById("token")`)
	page.expect() // the browser logs the 401
	// Tasks of more than 50 ms are what a user notices.
	eval[bool](page, `(window.long = [], new PerformanceObserver((l) => { for (const e of l.getEntries()) window.long.push(e.duration); }).observe({ type: "longtask" }), window.shifts = 0,
		new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) window.shifts += e.value; }).observe({ type: "layout-shift" }), true)`)
	first := eval[float64](page, `new Promise((resolve) => {
		let begin = 0;
		new MutationObserver((_, observer) => {
			if (begin === 0 && document.querySelector("table.fleet")) begin = performance.now();
			if (document.querySelector("[data-filter=all] b")?.textContent !== "1,000") return;
			observer.disconnect();
			requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)));
		}).observe(document.body, { childList: true, subtree: true });
		document.getElementById("token").value = "`+w.token+`";
		document.querySelector("form").requestSubmit();
	})`)
	render := eval[float64](page, `Math.max(0, ...window.long)`)
	page.until(listed + ` === 1000`)
	search := eval[float64](page, `(() => {
		const search = document.getElementById("search"), begin = performance.now();
		search.value = "gpu"; search.dispatchEvent(new Event("input")); document.body.offsetHeight;
		return performance.now() - begin;
	})()`)
	page.until(listed + ` === 100`)
	eval[bool](page, `(() => { const s = document.getElementById("search"); s.value = ""; s.dispatchEvent(new Event("input")); return true; })()`)
	page.until(listed + ` === 1000`)
	// The browser reports the layout shifts of the search itself within two frames.
	eval[bool](page, `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { window.long = []; window.shifts = 0; resolve(true); }))))`)
	if rows := eval[int](page, shown+`.length`); rows < 12 || rows > 60 {
		t.Errorf("the document has %d rows, want those near the screen", rows)
	}
	busy := page.busy()
	for round := range 3 {
		for i := range 60 {
			// The pool that needs a human is on the screen. It is updated last.
			i = (i + 12) % 60
			pool := w.get([]string{"team-shop", "team-data", "team-search", "team-payments", "platform"}[i%5], poolNames[i])
			pool.Status.ReadyReplicas = ptr.To(int32(round))
			w.update(pool)
		}
		page.until(`document.querySelector("tr[data-key$='` + poolNames[11] + `'] .ready").textContent.startsWith("` + string(rune('0'+round)) + ` /")`)
	}
	update := (page.busy() - busy) / 3
	frame := eval[float64](page, `Math.max(0, ...window.long)`)
	shifts := eval[float64](page, `window.shifts`)
	t.Logf("from the sign-in to 1,000 rows: %.0f ms, its longest task %.0f ms; a search: %.0f ms; the longest task of three updates of 60 rows: %.0f ms, the page was busy for %v with each; layout shift: %.3f", first, render, search, frame, update, shifts)
	for what, measured := range map[string]struct {
		took   float64
		budget time.Duration
	}{"showing 1,000 pools": {render, renderBudget}, "a search": {search, searchBudget}, "an update of 60 pools": {frame, frameBudget}} {
		if took := time.Duration(measured.took * float64(time.Millisecond)); took > measured.budget {
			t.Errorf("%s keeps the page busy for %v, want at most %v", what, took, measured.budget)
		}
	}
	if shifts > 0.02 {
		t.Errorf("updates shift the layout by %.3f", shifts)
	}
}

// TestKeyboardThroughThousandPools holds that rows that are not in the document can be reached, and that a
// screen reader knows where it is.
func TestKeyboardThroughThousandPools(t *testing.T) {
	w := newWorld(t, many(1000)...)
	page := open(t, w, signedIn(w))
	page.until(listed + ` === 1000`)
	const at = `document.activeElement.closest("tr")?.getAttribute("aria-rowindex")`
	for range 30 {
		page.press(kb.ArrowDown)
	}
	page.until(at + ` === "31"`)
	for what, check := range map[string]string{
		"The row with the focus is on the screen":  `(() => { const r = document.activeElement.getBoundingClientRect(); return r.top > 0 && r.bottom < innerHeight; })()`,
		"The table says how many rows there are":   `document.querySelector("table.fleet").getAttribute("aria-rowcount") === "1001" && document.querySelector("table.fleet thead tr").getAttribute("aria-rowindex") === "1"`,
		"Rows say where they are, in their order":  shown + `.map(row => Number(row.getAttribute("aria-rowindex"))).every((n, i, all) => i === 0 || n > all[i - 1])`,
		"The page is as long as all rows":          `document.querySelector("table.fleet tbody").offsetHeight > 57 * 1000`,
		"Gaps are not announced":                   `[...document.querySelectorAll("table.fleet tr.gap")].every(gap => gap.getAttribute("aria-hidden") === "true")`,
		"Not more rows than needed are in the DOM": shown + `.length < 60`,
	} {
		if !eval[bool](page, check) {
			t.Errorf("%s: %s is false", what, check)
		}
	}
	// The row with the focus stays while the user scrolls away, and through updates.
	eval[bool](page, `(window.scrollTo(0, 40000), true)`)
	page.until(shown + `.some(row => row.getAttribute("aria-rowindex") === "700")`)
	pool := w.get("team-shop", poolNames[0])
	pool.Status.ReadyReplicas = ptr.To(int32(0))
	w.update(pool)
	if !eval[bool](page, at+` === "31"`) {
		t.Error("the focus is lost while the user scrolls")
	}
	page.press(kb.ArrowDown)
	page.until(at + ` === "32" && document.activeElement.getBoundingClientRect().top > 0`)
	page.press(kb.Enter)
	page.until(`document.querySelector("h1").textContent !== "Fleet"`)
	page.press(kb.Escape)
	page.until(`document.querySelector("h1").textContent === "Fleet" && ` + at + ` === "32"`)
	eval[bool](page, `(document.activeElement.blur(), true)`)
	page.press(kb.ArrowUp)
	page.until(at + ` === "1001"`)
}
