package browser

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "directory that screenshots are written to; none if empty")

// TestScreenshots takes the screenshots of the documentation, and others for review.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no screenshots are asked for")
	}
	for _, set := range []struct {
		name  string
		world *world
		pages map[string]string
	}{
		{"3", newWorld(t, append(three(), provisioners()...)...), map[string]string{"fleet": "#/fleet", "pool": "#/pool/AWSMachinePool/team-shop/web", "inbox": "#/inbox", "provisioner": "#/provisioner", "budgets": "#/budgets", "approval": "#/pool/AWSMachinePool/team-shop/batch"}},
		{"1000", newWorld(t, many(1000)...), map[string]string{"fleet": "#/fleet", "inbox": "#/inbox"}},
	} {
		one := open(t, set.world, signedIn(set.world))
		one.until(`document.querySelectorAll("table.fleet tr[data-key]").length >= 3`)
		for _, scheme := range []string{"light", "dark"} {
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			if _, err := chromedp.Call(one.ctx, emulation.SetEmulatedMedia, media); err != nil {
				t.Fatal(err)
			}
			for name, at := range set.pages {
				eval[string](one, `location.hash = "`+at+`"`)
				one.until(`document.querySelector("main h1") && (!location.hash.includes("pool/") || document.querySelector(".steps"))`)
				for _, size := range []struct {
					name       string
					wide, high int64
				}{{"", 1440, 900}, {"-docs", 1180, 640}, {"-narrow", 390, 900}} {
					one.do("size", chromedp.EmulateViewport(size.wide, size.high))
					eval[bool](one, `new Promise(r => setTimeout(() => r(true), 700))`)
					image, err := chromedp.Run(one.ctx, shot(name+size.name))
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(*screenshots, name+"-"+set.name+"-"+scheme+size.name+".png"), image, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// shot takes the page as it is on the screen, and the pages about one pool in full. On a narrow screen, all but the
// fleet and the inbox are taken in full.
func shot(name string) chromedp.Action[[]byte] {
	if slices.Contains([]string{"pool", "approval", "pool-narrow", "approval-narrow", "budgets-narrow", "provisioner-narrow"}, name) {
		return chromedp.FullScreenshot(100)
	}
	return chromedp.CaptureScreenshot()
}
