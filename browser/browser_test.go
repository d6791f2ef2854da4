package browser

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a tab of the browser. It fails its test if the page logs an error, violates its content security
// policy, or asks another server for anything.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps the tab in its context
	w   *world

	mu    sync.Mutex
	wrong []string
}

// open opens the page of a world in a tab of its own.
func open(t *testing.T, w *world, fragment string) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1440, 900), chromedp.Flag("disable-gpu", true))
	// The cleanups stop the browser. The context of the test is canceled before they run.
	allocator, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	one := &tab{t: t, ctx: ctx, w: w}
	if err := chromedp.Listen(ctx, one.observe); err != nil {
		t.Fatalf("starting Chromium, which hack/install-packages.sh installs: %v", err)
	}
	one.do("open the page", chromedp.Navigate(w.url+fragment))
	t.Cleanup(func() {
		one.mu.Lock()
		defer one.mu.Unlock()
		for _, wrong := range one.wrong {
			t.Error(wrong)
		}
	})
	return one
}

// signedIn returns the fragment with the token.
func signedIn(w *world) string { return "#token=" + w.token }

func (o *tab) observe(event any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch event := event.(type) {
	case *cdpruntime.EventExceptionThrown:
		thrown := "the page throws " + event.ExceptionDetails.Text
		if event.ExceptionDetails.Exception != nil {
			thrown += " " + event.ExceptionDetails.Exception.Description
		}
		o.wrong = append(o.wrong, thrown)
	case *cdpruntime.EventConsoleAPICalled:
		if event.Type == cdpruntime.ConsoleAPICalledTypeError || event.Type == cdpruntime.ConsoleAPICalledTypeWarning {
			o.wrong = append(o.wrong, fmt.Sprintf("the page logs %v", event.Args))
		}
	case *log.EventEntryAdded:
		if event.Entry.Level == log.EntryLevelError || event.Entry.Source == log.EntrySourceSecurity {
			o.wrong = append(o.wrong, "the browser logs "+event.Entry.Text+" "+event.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if at := event.Request.URL; !strings.HasPrefix(at, strings.TrimSuffix(o.w.url, "dashboard/")) && !strings.HasPrefix(at, "data:") {
			o.wrong = append(o.wrong, "the page asks for "+at)
		}
	case *page.EventJavascriptDialogOpening:
		o.wrong = append(o.wrong, "the page opens a dialog: "+event.Message)
	}
}

// expect takes back what went wrong, which a test provoked, and returns it.
func (o *tab) expect() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.wrong
	o.wrong = nil
	return found
}

func (o *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	o.t.Helper()
	if err := chromedp.Do(o.ctx, actions...); err != nil {
		o.t.Fatalf("%s: %v", what, err)
	}
}

// eval returns the value of an expression.
func eval[T any](o *tab, expression string) T {
	o.t.Helper()
	value, err := chromedp.Run(o.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		o.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits until an expression is true.
func (o *tab) until(expression string) {
	o.t.Helper()
	if _, err := chromedp.Run(o.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(30*time.Second), chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		o.t.Fatalf("waiting for %s: %v\nthe page shows:\n%s", expression, err, eval[string](o, "document.body.innerText"))
	}
}

// press presses keys.
func (o *tab) press(keys string) {
	o.t.Helper()
	o.do("press "+keys, chromedp.KeyEvent(keys))
}

// busy returns for how long the page has run scripts, computed styles, and laid out.
func (o *tab) busy() time.Duration {
	o.t.Helper()
	if _, err := chromedp.Call(o.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		o.t.Fatal(err)
	}
	found, err := chromedp.Call(o.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		o.t.Fatal(err)
	}
	sum := 0.0
	for _, metric := range found.Metrics {
		switch metric.Name {
		case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration":
			sum += metric.Value
		}
	}
	return time.Duration(sum * float64(time.Second)).Round(time.Millisecond)
}
