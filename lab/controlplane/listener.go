package controlplane

import (
	"fmt"
	"net"
	"sync"
)

// cuttingListener remembers the connections it accepted so that they can all
// be cut at once: kube-apiserver's own graceful stop waits for the watches that
// clients left open.
type cuttingListener struct {
	net.Listener

	mu    sync.Mutex
	open  map[net.Conn]struct{}
	isCut bool
}

// listenLoopback listens on a free port of the loopback interface.
func listenLoopback() (*cuttingListener, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on the loopback interface: %w", err)
	}
	return &cuttingListener{Listener: listener, open: map[net.Conn]struct{}{}}, nil
}

func (l *cuttingListener) tcpAddr() *net.TCPAddr { return l.Addr().(*net.TCPAddr) }

// Accept implements net.Listener.
func (l *cuttingListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &trackedConn{Conn: accepted, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		_ = accepted.Close() // the connection stays silent; the caller sees that on its first read
		return conn, nil
	}
	l.open[accepted] = struct{}{}
	return conn, nil
}

// Close implements net.Listener: it closes the listener and then every
// connection. The API server closes its listener as the first thing of its
// stop, and waits for the connections next.
func (l *cuttingListener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	for conn := range l.open {
		_ = conn.Close() // the peer may have been faster
	}
	clear(l.open)
	return err
}

// trackedConn forgets itself when it is closed.
type trackedConn struct {
	net.Conn
	listener *cuttingListener
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c.Conn)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
