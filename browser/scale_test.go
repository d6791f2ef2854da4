package browser

import (
	"testing"
	"time"

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
			if (document.querySelectorAll("table.fleet tbody tr").length !== 1000) return;
			observer.disconnect();
			requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)));
		}).observe(document.body, { childList: true, subtree: true });
		document.getElementById("token").value = "`+w.token+`";
		document.querySelector("form").requestSubmit();
	})`)
	render := eval[float64](page, `Math.max(0, ...window.long)`)
	page.until(shown + `.length === 1000`)
	search := eval[float64](page, `(() => {
		const search = document.getElementById("search"), begin = performance.now();
		search.value = "gpu"; search.dispatchEvent(new Event("input")); document.body.offsetHeight;
		return performance.now() - begin;
	})()`)
	page.until(shown + `.length === 100`)
	eval[bool](page, `(() => { const s = document.getElementById("search"); s.value = ""; s.dispatchEvent(new Event("input")); return true; })()`)
	page.until(shown + `.length === 1000`)
	// The browser reports the layout shifts of the search itself within two frames.
	eval[bool](page, `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { window.long = []; window.shifts = 0; resolve(true); }))))`)
	for round := range 3 {
		for i := range 60 {
			pool := w.get([]string{"team-shop", "team-data", "team-search", "team-payments", "platform"}[i%5], poolNames[i])
			pool.Status.ReadyReplicas = ptr.To(int32(round))
			w.update(pool)
		}
		page.until(`document.querySelector("tr[data-key$='` + poolNames[59] + `'] .ready").textContent.startsWith("` + string(rune('0'+round)) + ` /")`)
	}
	frame := eval[float64](page, `Math.max(0, ...window.long)`)
	shifts := eval[float64](page, `window.shifts`)
	t.Logf("from the sign-in to 1,000 rows: %.0f ms, its longest task %.0f ms; a search: %.0f ms; the longest task of three updates of 60 rows: %.0f ms; layout shift: %.3f", first, render, search, frame, shifts)
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
