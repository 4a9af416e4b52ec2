package config

import (
	"errors"
	"strings"
	"testing"
)

// TestWebhook: an address encrypts or stays on this machine, and a mistake in
// one does not print it.
func TestWebhook(t *testing.T) {
	for address, want := range map[string]bool{
		"": true,
		"https://hooks.example/services/T1/B2/s3cret":             true,
		"https://hooks.example:8443/x?sig=s3cret":                 true,
		"http://localhost:9000/s3cret":                            true,
		"http://127.0.0.1/s3cret":                                 true,
		"http://[::1]:80/s3cret":                                  true,
		"http://hooks.example/s3cret":                             false,
		"http://localhost.example/s3cret":                         false,
		"http://127.0.0.1.example/s3cret":                         false,
		"http://10.0.0.1/s3cret":                                  false,
		"https://user:s3cret@hooks.example":                       false,
		"https://hooks.example/#s3cret":                           false,
		"https:///s3cret":                                         false,
		"https://hooks.example/a s3cret":                          false,
		"https://hooks.example/\ns3cret":                          false,
		"file:///etc/s3cret":                                      false,
		"hooks.example/s3cret":                                    false,
		" ":                                                       false,
		"https://hooks.example/" + strings.Repeat("s3cret", 1000): false,
	} {
		var l Layer
		err := l.Set("--webhook", "notify.webhook", address)
		var bad *Error
		if (err == nil) != want || (err != nil && !errors.As(err, &bad)) {
			t.Errorf("%q: %v, want accepted %v", address, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the message tells the address: %v", address, err)
		}
	}
}
