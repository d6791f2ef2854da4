package dashboard

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"
)

const (
	pagePath = "/dashboard/"
	apiPath  = pagePath + "api/"
	// writeTimeout bounds one write to a page. A page that does not read is disconnected, and connects
	// again.
	writeTimeout = 20 * time.Second
	// heartbeat is the interval at which a page is written to although nothing changed, so that neither side keeps a
	// connection that is broken.
	heartbeat = 15 * time.Second
	// streamTime bounds one connection of a page. The page connects again, and is authorized again,
	// so that a user who loses the permission sees updates for no longer than this.
	streamTime = 5 * time.Minute
)

//go:embed assets
var assets embed.FS

// page serves the files of the page. They change with the program only, and are checked on each load.
func page() http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the directory is embedded
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		server.ServeHTTP(w, r)
	})
}

// serveEvents sends all rows, and then the rows that change.
func (d *Dashboard) serveEvents(w http.ResponseWriter, r *http.Request) {
	s, all, err := d.open(r.Context())
	if err != nil {
		d.options.Log.Error(err, "Opening the dashboard")
		http.Error(w, "the dashboard failed", http.StatusInternalServerError)
		return
	}
	defer s.close()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies pass events on at once
	if err := writeEvent(w, "rows", all); err != nil {
		return
	}
	end := d.options.Clock.After(streamTime)
	for {
		beat := d.options.Clock.NewTimer(heartbeat)
		select {
		case <-r.Context().Done():
			beat.Stop()
			return
		case <-end:
			beat.Stop()
			_ = writeEvent(w, "again", struct{}{}) // the page connects again in any case
			return
		case <-beat.C():
			err = writeEvent(w, "alive", struct{}{})
		case <-s.changed:
			beat.Stop()
			err = writeEvent(w, "rows", s.next())
		}
		if err != nil {
			return // the page is gone
		}
	}
}

// writeEvent sends one server-sent event. JSON has no line breaks, so the data is one line.
func writeEvent(w http.ResponseWriter, name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	controller := http.NewResponseController(w)
	// A recorder of a test has no deadlines.
	if err := controller.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) { //nolint:forbidigo // the deadline of a connection is in real time
		return fmt.Errorf("sending an event: %w", err)
	}
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text); err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	if err := controller.Flush(); err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	return nil
}

// servePool returns everything about one pool.
func (d *Dashboard) servePool(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	key := rowKey{kind: query.Get("kind"), namespace: query.Get("namespace"), name: query.Get("name")}
	if key.kind != selfManagedRow && key.kind != managedRow {
		http.Error(w, "kind must be "+selfManagedRow+" or "+managedRow, http.StatusBadRequest)
		return
	}
	found, err := d.pool(r.Context(), key)
	if err != nil {
		d.options.Log.Error(err, "Reading a pool for the dashboard", "pool", key.String())
		http.Error(w, "the pool could not be read", http.StatusInternalServerError)
		return
	}
	if found == nil {
		http.Error(w, "the pool does not exist", http.StatusNotFound)
		return
	}
	text, err := json.Marshal(found)
	if err != nil {
		d.options.Log.Error(err, "Encoding a pool for the dashboard", "pool", key.String())
		http.Error(w, "the pool could not be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text)
}

// Serve serves a handler until the context is done, and then closes the streams of open pages.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // streams have no other end
	defer stop()
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the dashboard: %w", err)
	}
	return nil
}
