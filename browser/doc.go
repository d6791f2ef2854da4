// Package browser tests the dashboard in a real Chromium. It is a module of its own, so that the product
// does not depend on the library that drives the browser.
package browser
