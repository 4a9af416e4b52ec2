package gate

import (
	"bytes"
	"errors"
	"strings"
)

// requestHead is what the raw head of a request says that net/http does not
// pass on.
type requestHead struct {
	host    string // the value of Host
	hasHost bool
}

// checkHead refuses the shapes of a request that two parsers may read as two
// different requests. net/http refuses some of them and mends others; a gate
// has no reason to serve a client that sends any.
func checkHead(head []byte) (requestHead, error) {
	head, ok := bytes.CutSuffix(head, endOfHead)
	if !ok {
		return requestHead{}, errors.New("its head does not end with an empty line")
	}
	lines := strings.Split(string(head), "\r\n")
	if err := checkRequestLine(lines[0]); err != nil {
		return requestHead{}, err
	}
	var found requestHead
	counts := map[string]int{}
	for _, line := range lines[1:] {
		name, value, err := splitHeader(line)
		if err != nil {
			return requestHead{}, err
		}
		counts[name]++
		if name == "host" {
			found = requestHead{host: value, hasHost: true}
		}
	}
	return found, checkFraming(counts)
}

func checkRequestLine(line string) error {
	if strings.Count(line, " ") != 2 || strings.ContainsAny(line, "\t\r\n") {
		return errors.New("its request line is malformed")
	}
	return nil
}

func splitHeader(line string) (name, value string, err error) {
	if strings.ContainsAny(line, "\r\n\x00") {
		return "", "", errors.New("a header holds a bare line end")
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return "", "", errors.New("a header is malformed or folded")
	}
	return strings.ToLower(name), strings.Trim(value, " \t"), nil
}

func checkFraming(counts map[string]int) error {
	switch {
	case counts["host"] > 1:
		return errors.New("it has more than one Host")
	case counts["content-length"]+counts["transfer-encoding"] > 1:
		return errors.New("it states its length more than once")
	}
	return nil
}
