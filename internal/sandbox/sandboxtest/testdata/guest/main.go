// Command guest is what the tests run inside a sandbox when a shell is not
// enough.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	var err error
	switch os.Args[1] {
	case "get":
		err = get(os.Args[2])
	case "put":
		err = put(os.Args[2])
	case "loopback":
		err = loopback()
	case "hog":
		err = hog(os.Args[2])
	case "memfd":
		err = memfd(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hog takes some megabytes of memory and keeps them.
func hog(megabytes string) error {
	n, err := strconv.Atoi(megabytes)
	if err != nil {
		return err
	}
	held := make([][]byte, n)
	for i := range held {
		held[i] = bytes.Repeat([]byte{1}, 1<<20)
	}
	fmt.Println("holding", len(held))
	time.Sleep(30 * time.Second)
	runtime.KeepAlive(held)
	return nil
}

// memfd writes some megabytes to a file that is in memory and has no name.
func memfd(megabytes string) error {
	n, err := strconv.Atoi(megabytes)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("guest", 0)
	if err != nil {
		return err
	}
	chunk := make([]byte, 1<<20)
	for range n {
		if _, err := unix.Write(fd, chunk); err != nil {
			return err
		}
	}
	fmt.Println("wrote", n)
	time.Sleep(30 * time.Second)
	return nil
}

// client goes through the door whatever the address is.
func client() *http.Client {
	proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil {
		panic(err)
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), ReadBufferSize: 256 << 10, WriteBufferSize: 256 << 10}}
}

// get downloads and prints the number of bytes and how long they took.
func get(target string) error {
	began := time.Now()
	answer, err := client().Get(target)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, make([]byte, 256<<10))
	fmt.Println(answer.StatusCode, n, time.Since(began).Seconds())
	return err
}

// put uploads zeroes.
func put(target string) error {
	const size = 200 << 20
	began := time.Now()
	request, err := http.NewRequest(http.MethodPut, target, io.LimitReader(zeroes{}, size))
	if err != nil {
		return err
	}
	request.ContentLength = size
	answer, err := client().Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	fmt.Println(answer.StatusCode, size, time.Since(began).Seconds())
	return nil
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// loopback serves on a port of its own and asks itself, as test suites do.
func loopback() error {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go func() {
			_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
		}()
		answer, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			return err
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || string(body) != "hello" {
			return fmt.Errorf("got %q, %v", body, err)
		}
	}
	fmt.Println("hello")
	return nil
}
