package door

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
)

// BenchmarkDownload is a client that downloads 200 MB from an HTTP server
// through Forward and a Listener, alone and with seven others.
func BenchmarkDownload(b *testing.B) {
	const size = 200_000_000
	for _, parallel := range []int{1, 8} {
		b.Run(fmt.Sprintf("streams=%d", parallel), func(b *testing.B) {
			l, addr := newForward(b)
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(size))
				io.CopyN(w, zeros{}, size)
			})}
			go server.Serve(l)
			defer server.Close()
			b.SetBytes(int64(parallel) * size)
			for b.Loop() {
				var all sync.WaitGroup
				for range parallel {
					all.Go(func() { download200(b, addr, size) })
				}
				all.Wait()
			}
		})
	}
}

func download200(b *testing.B, addr string, size int64) {
	conn := dial(b, addr)
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn}, make([]byte, 128<<10))
	if err != nil || n < size {
		b.Errorf("got %d bytes, error %v", n, err)
	}
}
