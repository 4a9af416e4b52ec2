package notify

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Whoever knows a webhook's address can post there: no error may hold more of it
// than the host.
func TestWebhookErrorsKeepTheAddress(t *testing.T) {
	echo := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://other.invalid"+r.URL.RequestURI())
			w.WriteHeader(code)
			fmt.Fprint(w, r.URL.RequestURI())
		}
	}
	brokenLocation := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", ":"+r.URL.RequestURI()+"%zz")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	noHTTP := func(w http.ResponseWriter, r *http.Request) {
		connection, _, _ := w.(http.Hijacker).Hijack()
		fmt.Fprintf(connection, "%s\r\n\r\n", r.URL.RequestURI())
		connection.Close()
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	closed := httptest.NewServer(nil)
	closed.Close()

	tests := []struct{ name, base, want string }{
		{"not found", serve(t, echo(404)).URL, "404 Not Found"},
		{"broken", serve(t, echo(500)).URL, "500 Internal Server Error"},
		{"redirected", serve(t, echo(307)).URL, "307 Temporary Redirect"},
		{"redirected to nonsense", serve(t, brokenLocation).URL, "the request failed"},
		{"not HTTP", serve(t, noHTTP).URL, "the request failed"},
		{"hung up", serve(t, hangUp).URL, "EOF"},
		{"silent", serve(t, silent).URL, "deadline exceeded"},
		{"nobody there", closed.URL, "refused"},
		{"no TLS", strings.Replace(serve(t, status(200)).URL, "http:", "https:", 1), "HTTP response to HTTPS client"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := strings.SplitN(test.base, "://", 2)[1]
			w, _ := patient(strings.Replace(test.base, "://", "://user:hush@", 1) + "/services/hush?token=hush")
			w.retry.tryTime = time.Second
			if test.name == "silent" {
				w.retry.tryTime = 20 * time.Millisecond
			}
			err := w.Send(t.Context(), message())
			if err == nil {
				t.Fatal("no error")
			}
			if text := err.Error(); strings.Contains(text, "hush") || strings.Contains(text, "services") ||
				strings.Contains(text, "user") || !strings.Contains(text, "posting to "+host+": ") || !strings.Contains(text, test.want) {
				t.Errorf("got %s, want the host %s and %q", text, host, test.want)
			}
		})
	}
}

func TestWebhookAddressesThatAreNone(t *testing.T) {
	for _, address := range []string{
		"", "hush", "/hush", "https://", "https:///hush", "https://host:port/hush", "https://ho st/hush", "file:///hush",
		"ftp://host/hush", "https://host/%zzhush", "https://host/hush\n", "https://[::1/hush",
	} {
		w, pauses := patient(address)
		err := w.Send(t.Context(), message())
		if err == nil || strings.Contains(err.Error(), "hush") || len(*pauses) != 0 {
			t.Errorf("%q: got %v after %d pauses", address, err, len(*pauses))
		}
	}
}

func TestWebhookPrintsNoAddress(t *testing.T) {
	w := Webhook("https://host.invalid/hush", nil)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, w); strings.Contains(text, "hush") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}
