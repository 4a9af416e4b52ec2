package gate

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/iotest"
)

// clientHello is the first record that a real client sends.
func clientHello(t testing.TB, serverName string) []byte {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		tls.Client(client, &tls.Config{ServerName: serverName, InsecureSkipVerify: true}).Handshake()
	}()
	defer client.Close()
	defer server.Close()
	header := make([]byte, 5)
	if _, err := io.ReadFull(server, header); err != nil {
		t.Fatal(err)
	}
	payload := make([]byte, binary.BigEndian.Uint16(header[3:]))
	if _, err := io.ReadFull(server, payload); err != nil {
		t.Fatal(err)
	}
	return append(header, payload...)
}

// insertExtension adds an extension to a ClientHello in one record, in front of
// the others, and mends the lengths.
func insertExtension(t testing.TB, hello []byte, kind uint16) []byte {
	t.Helper()
	at := 5 + 4 + 2 + 32                               // record, handshake, version, random
	at += 1 + int(hello[at])                           // session
	at += 2 + int(binary.BigEndian.Uint16(hello[at:])) // ciphers
	at += 1 + int(hello[at])                           // compression
	extension := binary.BigEndian.AppendUint16(nil, kind)
	extension = append(extension, 0, 1, 1) // one byte: "this is the inner hello"
	out := append(bytes.Clone(hello[:at+2]), extension...)
	out = append(out, hello[at+2:]...)
	grow := func(at int) {
		binary.BigEndian.PutUint16(out[at:], binary.BigEndian.Uint16(out[at:])+uint16(len(extension)))
	}
	grow(3)
	grow(7) // the low bytes of the handshake's three
	grow(at)
	return out
}

func TestReadOpening(t *testing.T) {
	hello := clientHello(t, "example.com")
	tests := []struct {
		name string
		data []byte
		want opening
		fail bool
	}{
		{"hello", hello, opening{isTLS: true, serverName: "example.com"}, false},
		{"hello and more", append(bytes.Clone(hello), "more"...), opening{isTLS: true, serverName: "example.com"}, false},
		{"hello without a name", clientHello(t, ""), opening{isTLS: true}, false},
		{"hello with ECH", insertExtension(t, hello, extensionECH), opening{isTLS: true, serverName: "example.com", hidden: true}, false},
		{"half a hello", hello[:len(hello)/2], opening{isTLS: true}, true},
		{"one byte of a hello", hello[:1], opening{isTLS: true}, true},
		{"another record", append([]byte{0x16, 3, 1, 0, 4}, 2, 0, 0, 0), opening{isTLS: true}, true},
		{"http", []byte("GET / HTTP/1.1\r\n\r\n"), opening{looksHTTP: true}, false},
		{"ssh", []byte("ssh-2.0"), opening{}, false},
		{"nothing", nil, opening{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"at once": bytes.NewReader(tt.data), "byte by byte": iotest.OneByteReader(bytes.NewReader(tt.data))} {
				got, err := readOpening(r, 32<<10)
				if (err != nil) != tt.fail {
					t.Fatalf("%s: error %v, want one: %t", name, err, tt.fail)
				}
				if got.isTLS != tt.want.isTLS || got.looksHTTP != tt.want.looksHTTP || got.serverName != tt.want.serverName || got.hidden != tt.want.hidden {
					t.Errorf("%s: opening %+v, want %+v", name, got, tt.want)
				}
				rest, _ := io.ReadAll(r)
				if all := append(bytes.Clone(got.bytes), rest...); !bytes.Equal(all, tt.data) {
					t.Errorf("%s: bytes were lost: %d of %d", name, len(all), len(tt.data))
				}
			}
		})
	}
}

func TestReadOpeningIsBounded(t *testing.T) {
	hello := clientHello(t, "example.com")
	got, err := readOpening(bytes.NewReader(hello), 100)
	if err == nil || len(got.bytes) > 100 {
		t.Errorf("read %d bytes, error %v", len(got.bytes), err)
	}
}
