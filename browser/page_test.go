package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const shown = `[...document.querySelectorAll("table.fleet tr[data-key]")]`

// listed is an expression for the number of pools that the filter and the search leave, shown or not.
const listed = `(document.querySelector("table.fleet")?.getAttribute("aria-rowcount") ?? 0) - 1`

// names is an expression for the names of the pools that are shown, in their order.
const names = shown + `.map(row => row.querySelector(".poolname").textContent).join(" ")`

func TestFleet(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, signedIn(w))
	page.until(names + ` === "batch web stream"`)
	for what, check := range map[string]string{
		"The token does not stay in the address":       `!location.href.includes("token")`,
		"The title names the page":                     `document.title === "Fleet – Slipway"`,
		"The counts are those of the pools":            `document.querySelector("[data-filter=human]").textContent === "1 Need you"`,
		"The inbox counts what waits":                  `document.getElementById("inbox-count").textContent === "2"`,
		"The page is live":                             `document.getElementById("live").textContent === "Live"`,
		"Bars have one segment for each version":       `document.querySelectorAll("tr[data-key$=web] .versions i").length === 2`,
		"Bars are as wide as their share of instances": `Math.abs(document.querySelector("tr[data-key$=web] .versions .wanted").getBoundingClientRect().width / document.querySelector("tr[data-key$=web] .versions").getBoundingClientRect().width - 0.75) < 0.02`,
		"Bars have a text for screen readers":          `document.querySelector("tr[data-key$=web]").textContent.includes("9 instances on version 3, which is wanted; 3 instances on version 2")`,
		"The table has headers for rows and columns":   `document.querySelectorAll("table.fleet thead th[scope=col]").length === 6 && document.querySelectorAll("table.fleet tbody th[scope=row]").length === 3`,
		"The table has a caption":                      `document.querySelector("table.fleet caption").textContent.length > 0`,
		"The page has one heading of the first level":  `document.querySelectorAll("h1").length === 1`,
		"Every control has a name":                     `[...document.querySelectorAll("button, a, input, select")].every(e => (e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.[0]?.textContent))`,
		"Nothing is wider than the window":             `document.documentElement.scrollWidth <= innerWidth`,
	} {
		if !eval[bool](page, check) {
			t.Errorf("%s: %s is false", what, check)
		}
	}
	page.until(`document.getElementById("announce").textContent.includes("3 pools in all, 1 need a human")`)
}

func TestKeyboard(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, signedIn(w))
	page.until(shown + `.length === 3`)
	page.press("/")
	page.until(`document.activeElement.id === "search"`)
	// The driver types the slash as well, although the page prevents it; a keyboard does not.
	page.press(kb.Backspace + "stream")
	page.until(names + ` === "stream"`)
	page.press(kb.Escape)
	page.until(shown + `.length === 3`)
	page.press("Draining")
	page.until(names + ` === "web"`)
	page.press(kb.ArrowDown)
	page.until(`document.activeElement.textContent === "web"`)
	page.press(kb.Enter)
	page.until(`document.querySelector("h1").textContent === "web" && document.activeElement.tagName === "H1" && document.querySelector(".steps")`)
	page.press(kb.Escape)
	page.until(`document.querySelector("h1").textContent === "Fleet" && document.getElementById("search").value === "Draining"`)
	page.press("i")
	page.until(`document.querySelector("h1").textContent === "Inbox"`)
	page.press("p")
	page.until(`document.querySelector("h1").textContent === "Provisioner"`)
	page.press("?")
	page.until(`document.getElementById("help").open`)
	page.press(kb.Escape)
	page.until(`!document.getElementById("help").open`)
	page.press("f")
	page.until(`document.querySelector("h1").textContent === "Fleet"`)
	page.until(`document.activeElement.textContent === "web"`) // where it was
	// The focus moves in the order of the page.
	eval[bool](page, `document.activeElement.blur() || true`)
	var order []string
	for range 5 {
		page.press(kb.Tab)
		order = append(order, eval[string](page, `document.activeElement.textContent.trim().split(/\s+/)[0] || document.activeElement.id`))
	}
	if got := strings.Join(order, " "); !strings.Contains(got, "Fleet Inbox Provisioner") && !strings.Contains(got, "search") {
		t.Errorf("the focus moves to %s", got)
	}
}

func TestPoolPage(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, signedIn(w))
	page.until(shown + `.length === 3`)
	eval[string](page, `location.hash = "#/pool/AWSMachinePool/team-shop/web"`)
	page.until(`document.querySelectorAll(".steps li").length === 4`)
	for what, check := range map[string]string{
		"The edit names who made it":              `document.querySelector(".steps li:nth-child(1)").innerText.includes("argocd-controller set awsLaunchTemplate")`,
		"The roll-out has its progress":           `document.querySelector(".steps progress").value === 75`,
		"The drain names what holds it":           `document.querySelector(".steps li:nth-child(4)").innerText.includes("PodDisruptionBudget shop/checkout")`,
		"Every instance has a tile with its text": `document.querySelectorAll(".tiles li").length === 12 && [...document.querySelectorAll(".tiles li")].every(t => t.textContent.includes("version"))`,
		"The history has all launches":            `[...document.querySelectorAll(".poolpage table.plain")].find(table => table.caption.textContent.startsWith("Launches")).querySelectorAll("tbody tr").length === 3`,
		"Two versions are compared":               `document.querySelector(".diff").innerText.includes("ami-")`,
	} {
		if !eval[bool](page, check) {
			t.Errorf("%s: %s is false", what, check)
		}
	}
	eval[bool](page, `(() => { const box = document.getElementById("compare-from"); box.value = "1"; return box.dispatchEvent(new Event("change")); })()`)
	page.until(`document.querySelector(".diff thead").innerText.includes("Version 1") && document.querySelectorAll(".changes li").length === 2`)
	pool := w.get("team-shop", "web")
	pool.Status.UpToDateReplicas = ptr.To(int32(11))
	pool.Status.Rollout.PercentageComplete = ptr.To(int32(91))
	w.update(pool)
	page.until(`document.querySelector(".steps progress").value === 91`)
	w.remove(pool)
	page.until(`document.querySelector("main").innerText.includes("This pool does not exist")`)
	page.expect() // the browser logs the 404
}

func TestInbox(t *testing.T) {
	w := newWorld(t, append(three(), pool(shape{namespace: "team-data", name: "gpu", on: []int{2}, conditions: []metav1.Condition{
		condition("LaunchTemplateReady", "False", "AccessDenied", denied, time.Minute),
	}})...)...)
	page := open(t, w, signedIn(w))
	page.until(shown + `.length === 4`)
	page.press("i")
	page.until(`document.querySelectorAll("article.task").length === 3`)
	for topic, part := range map[string]string{
		"approval":   "kubectl annotate awsmachinepool batch -n team-shop --overwrite infrastructure.cluster.x-k8s.io/approved-version=3",
		"drain":      "PodDisruptionBudget shop/checkout",
		"permission": `"Action": "ec2:CreateLaunchTemplateVersion"`,
	} {
		if text := eval[string](page, `document.querySelector("article.task.`+topic+`").innerText`); !strings.Contains(text, part) {
			t.Errorf("the task %s is %q, want it to have %q", topic, text, part)
		}
	}
	pool := w.get("team-data", "gpu")
	pool.Status.Conditions = pool.Status.Conditions[:1]
	w.update(pool)
	page.until(`document.querySelectorAll("article.task").length === 2`)
}

// TestCosts holds that costs are shown, sorted, and added up, and that a pool says why its cost is not known.
func TestCosts(t *testing.T) {
	w := newWorld(t, append(three(), pool(shape{namespace: "team-lab", name: "odd", on: []int{2}, types: unlisted})...)...)
	page := open(t, w, signedIn(w))
	const cost = `.map(row => row.querySelector(".cost").firstChild.textContent).join(" ")`
	page.until(shown + cost + ` === "$2.76 $1.38 $0.694 –"`)
	for what, check := range map[string]string{
		"The column is shown":              `getComputedStyle(document.querySelector("table.fleet th.cost")).display === "table-cell"`,
		"Screen readers hear what it is":   `document.querySelector("tr[data-key$=web] .cost .hidden").textContent === "$1.38 per hour"`,
		"They hear why it is not known":    `document.querySelector("tr[data-key$=odd] .cost .hidden").textContent === "Cost not known: no price of x9.unlisted is known"`,
		"What is listed is added up":       `document.querySelector(".total").textContent.startsWith("These 4 pools cost")`,
		"The dates of prices are shown":    `document.querySelector(".total").textContent.includes("On-Demand list prices of 2026-11-20; Spot prices of 2026-11-20, 09:30 UTC")`,
		"What is missing is counted":       `document.querySelector(".total").textContent.includes("without 1 whose cost is not known")`,
		"Nothing is sorted by cost so far": `!document.querySelector("th.cost").hasAttribute("aria-sort")`,
	} {
		if !eval[bool](page, check) {
			t.Errorf("%s: %s is false", what, check)
		}
	}
	for _, click := range []struct{ sorted, want string }{
		{"descending", "batch web stream odd"}, {"ascending", "stream web batch odd"}, {"", "batch web stream odd"},
	} {
		eval[bool](page, `(document.querySelector(".sort").click(), true)`)
		page.until(names + ` === "` + click.want + `" && (document.querySelector("th.cost").getAttribute("aria-sort") ?? "") === "` + click.sorted + `"`)
	}
	eval[bool](page, `(() => { const s = document.getElementById("search"); s.value = "web"; s.dispatchEvent(new Event("input")); return true; })()`)
	page.until(`document.querySelector(".total").textContent.startsWith("This pool costs $1.38 per hour.")`)
	eval[string](page, `location.hash = "#/pool/AWSMachinePool/team-shop/web"`)
	page.until(`[...document.querySelectorAll("table.costs tbody tr")].map(row => row.innerText.replace(/\s+/g, " ")).join("; ") === "v3 wanted 9 $1.04; v2 3 $0.345"`)
	page.until(`document.querySelector("main").innerText.includes("About $1,007 in a month of 730 hours.")`)
	eval[string](page, `location.hash = "#/pool/AWSMachinePool/team-lab/odd"`)
	page.until(`document.querySelector("main").innerText.includes("The cost is not known: no price of x9.unlisted is known.")`)
}

func TestProvisionerPage(t *testing.T) {
	w := newWorld(t, provisioners()...)
	page := open(t, w, signedIn(w))
	page.until(`document.getElementById("live").textContent === "Live"`)
	page.press("p")
	page.until(`document.querySelectorAll("table tbody tr").length === 6 && document.querySelector("main .price")`)
	text := eval[string](page, `document.querySelector("main").innerText`)
	for _, part := range []string{"trainer-0", "no instance type that Provisioner default allows has more than 8", "of at most 40 nodes", "i-0abc0", "Launching", "Chosen from 12 offerings", "did not start in 3 tries",
		"Too small for a pod", "1,632", "p4d.24xlarge, spot, in eu-central-1b", "$0.161 per hour", "$0.0920"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q:\n%s", part, text)
		}
	}
	eval[bool](page, `(document.querySelector("main details summary").click(), true)`)
	page.until(`document.querySelector("main details[open] .chosen")?.innerText.startsWith("m6i.xlarge in ` + strings.Join(zones, ", ") + ` chosen in eu-central-1")`)
	if first := eval[string](page, `document.querySelector("main details[open] li").innerText`); !strings.HasPrefix(first, "m6a.xlarge") || !strings.HasSuffix(first, "not chosen") {
		t.Errorf("the cheapest offering comes first, and is marked as not chosen: got %q", first)
	}
}

func TestBudgetsPage(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, signedIn(w))
	page.until(`document.getElementById("live").textContent === "Live" && !document.getElementById("nav-budgets").hidden`)
	page.press("a")
	page.until(`document.querySelectorAll("table.budgets tbody tr").length === 4`)
	for what, check := range map[string]string{
		"What objects wait for comes first": `document.querySelector("table.budgets tbody th").innerText.startsWith("ec2:CreateLaunchTemplateVersion\n111122223333 · eu-central-1")`,
		"Who waits is named":                `document.querySelector("table.budgets tbody li").innerText === "AWSLaunchConfig/team-shop/web needs 2 requests"`,
		"Bars have a text":                  `document.querySelector("table.budgets progress").getAttribute("aria-label") === "0 of 100 requests left"`,
		"A service has one budget":          `document.querySelector("table.budgets").innerText.includes("all actions of autoscaling")`,
		"Nothing is wider than the window":  `document.documentElement.scrollWidth <= innerWidth`,
	} {
		if !eval[bool](page, check) {
			t.Errorf("%s: %s is false", what, check)
		}
	}
	page.until(`document.getElementById("announce").textContent === "3 callers waiting for requests"`)
}

// TestHostileTexts holds that texts of tenants are shown as they are, and do nothing.
func TestHostileTexts(t *testing.T) {
	const script = `<script>document.title="taken"</script><img src=x onerror="document.title='taken'"><a href="https://attacker.example/">click</a>` + "\u202etxt.exe"
	of := shape{namespace: "team", name: "hostile", cluster: `"><svg onload=alert(1)>`, on: []int{1, 2}, pending: 3, types: script, conditions: []metav1.Condition{
		condition("LaunchTemplateReady", "False", "AccessDenied", script+" is not authorized to perform: iam:* on resource: *", time.Minute),
		condition("RolloutApproved", "False", "WaitingForApproval", script, time.Minute),
		condition("RolledOut", "False", script, script, time.Minute),
	}}
	objects := append(pool(of), provisioners()...)
	for _, object := range objects {
		object.SetAnnotations(map[string]string{script: script})
	}
	w := newWorld(t, objects...)
	page := open(t, w, signedIn(w))
	page.until(shown + `.length === 1`)
	for _, at := range []string{"#/fleet", "#/inbox", "#/pool/AWSMachinePool/team/hostile", "#/provisioner", "#/budgets", "#/pool/%3Cscript%3E/a/b", "#/<img src=x onerror=alert(1)>"} {
		eval[string](page, "location.hash = `"+at+"`")
		page.until(`document.querySelector("main h1")`)
		if strings.Contains(at, "hostile") {
			page.until(`document.querySelector(".steps")`)
		}
		for what, check := range map[string]string{
			"No script of a tenant runs":                `document.title !== "taken"`,
			"No element is made from a text":            `document.querySelectorAll("main script, main img, main svg, main iframe").length === 0`,
			"No link leads elsewhere":                   `[...document.querySelectorAll("a")].every(a => a.getAttribute("href").startsWith("#"))`,
			"Characters that turn texts around are not": `!document.body.innerText.includes("\u202e")`,
			"No policy allows what a message names":     `!document.body.innerText.includes('"iam:')`,
		} {
			if !eval[bool](page, check) {
				t.Errorf("%s, at %s: %s is false", what, at, check)
			}
		}
	}
	eval[string](page, `location.hash = "#/inbox"`)
	page.until(`document.querySelector("main").innerText.includes("<script>document.title")`)
	var refused []string
	for _, wrong := range page.expect() {
		if !strings.Contains(wrong, "400") { // of the pool of another kind
			refused = append(refused, wrong)
		}
	}
	if len(refused) > 0 {
		t.Errorf("the browser reports %v", refused)
	}
}

// TestMarkupIsRefused holds that the browser itself refuses markup, should the page ever set any.
func TestMarkupIsRefused(t *testing.T) {
	w := newWorld(t)
	page := open(t, w, signedIn(w))
	page.until(`document.getElementById("live").textContent === "Live"`)
	if !eval[bool](page, `(() => { try { document.body.innerHTML = "<b>x</b>"; return false; } catch { return true; } })()`) {
		t.Error("the page can set markup")
	}
	if len(page.expect()) == 0 {
		t.Error("the browser reports no violation of the policy")
	}
}

func TestSignIn(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, "")
	page.until(`document.getElementById("token")`)
	if eval[bool](page, `document.body.innerText.includes("team-shop")`) {
		t.Error("a page without a token shows pools")
	}
	page.press("wrong" + kb.Enter)
	page.until(`document.getElementById("token")?.value === "" && document.activeElement.id === "token"`)
	page.press(w.token + kb.Enter)
	page.until(shown + `.length === 3`)
	for _, wrong := range page.expect() {
		if !strings.Contains(wrong, "401") {
			t.Error(wrong)
		}
	}
}

func TestTheme(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, signedIn(w))
	page.until(shown + `.length === 3`)
	const background = `getComputedStyle(document.body).backgroundColor`
	set := func(scheme string) {
		t.Helper()
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
		if _, err := chromedp.Call(page.ctx, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
	}
	colors := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		set(scheme)
		colors[scheme] = eval[string](page, background)
		for what, ratio := range eval[map[string]float64](page, contrasts) {
			if ratio < 4.5 {
				t.Errorf("in %s colors, %s has a contrast of %.2f, want 4.5", scheme, what, ratio)
			}
		}
	}
	if colors["light"] == colors["dark"] {
		t.Errorf("light and dark have the same background %s", colors["light"])
	}
	set("light")
	eval[bool](page, `document.getElementById("theme").click() || true`)
	page.until(fmt.Sprintf("%s === %q", background, colors["dark"]))
	if got := eval[string](page, `getComputedStyle(document.querySelector(".versions i")).transitionDuration`); got != "0s" {
		t.Errorf("bars move for %s although the user wants no motion", got)
	}
}

// contrasts is an expression for the contrast of each kind of text with what is behind it (WCAG 2.2, 1.4.3).
const contrasts = `(() => {
  const parse = (c) => c.match(/[\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = parse(c).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if ((parse(c)[3] ?? 1) > 0) return c; } return "rgb(255, 255, 255)"; };
  const found = {};
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.getClientRects().length === 0 || e.closest("script, .hidden, .skip")) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    const name = e.tagName + "." + e.className;
    found[name] = Math.min(found[name] ?? 21, (a + 0.05) / (b + 0.05));
  }
  return found;
})()`

// cutOff returns the text of the first cell of a table that is not on the screen.
const cutOff = `([...document.querySelectorAll("td, tbody th")].find((cell) => cell.getBoundingClientRect().right > innerWidth) ?? {}).textContent ?? ""`

func TestNarrow(t *testing.T) {
	w := newWorld(t, append(three(), provisioners()...)...)
	page := open(t, w, signedIn(w))
	page.do("make the window narrow", chromedp.EmulateViewport(360, 740))
	page.until(shown + `.length === 3`)
	page.until(`document.querySelector("tr[data-key$=web] .cost").innerText.includes("$1.38") && document.querySelector("tr[data-key$=web] .cost").getBoundingClientRect().width > 0`)
	for _, at := range []string{"#/fleet", "#/inbox", "#/pool/AWSMachinePool/team-shop/web", "#/provisioner", "#/budgets"} {
		eval[string](page, `location.hash = "`+at+`"`)
		page.until(`document.querySelector("main h1") && (!location.hash.includes("pool/") || document.querySelector(".steps"))`)
		if wide := eval[int](page, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("at %s the page is %d pixels wide on a screen of 360", at, wide)
		}
		if cut := eval[string](page, cutOff); cut != "" {
			t.Errorf("at %s a reader on a screen of 360 pixels must scroll sideways to read %q", at, cut)
		}
	}
}

// TestReconnects holds that the page says when it is not live.
func TestReconnects(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, signedIn(w))
	page.until(`document.getElementById("live").textContent === "Live"`)
	w.stop()
	page.until(`document.getElementById("live").textContent === "Reconnecting"`)
	page.until(shown + `.length === 3`)
	page.expect() // the browser logs that it cannot connect
}

// TestOutage holds that the page says that its rows are old while the API server does not answer.
func TestOutage(t *testing.T) {
	w := newWorld(t, three()...)
	page := open(t, w, signedIn(w))
	page.until(`document.getElementById("live").textContent === "Live"`)
	w.away.Store(true)
	page.until(`document.getElementById("live").textContent === "Outdated"`)
	page.until(`document.querySelector(".notice[role=alert]").textContent.startsWith("The API server has not answered since ")`)
	page.until(shown + `.length === 3`)
	w.away.Store(false)
	page.until(`document.getElementById("live").textContent === "Live" && !document.querySelector(".notice[role=alert]")`)
	page.expect()
}
