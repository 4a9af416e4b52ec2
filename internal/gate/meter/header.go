package meter

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// checkHeader refuses a body that the provider would not read as the JSON that
// is read here: one text can be a form and JSON at once, with two meanings.
func checkHeader(h http.Header) error {
	if encoded := h.Values("Content-Encoding"); len(encoded) > 1 || len(encoded) == 1 && encoded[0] != "identity" {
		return errors.New("the request body is encoded")
	}
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return errors.New("the request must have one content type")
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return fmt.Errorf("the content type %.40q is not application/json", types[0])
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return fmt.Errorf("the content type has the parameter %.40q", name)
		}
	}
	return nil
}

// readHeader notes the betas that change a bound. The others switch on fields
// of the body, and those are looked at. That a window is larger with a beta is
// in the price table, which has the largest.
func (w *walker) readHeader(h http.Header) {
	if w.call.API != Anthropic {
		return
	}
	for _, line := range h.Values("Anthropic-Beta") {
		for beta := range strings.SplitSeq(line, ",") {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(beta)), "output-") { // output-128k-..., output-300k-...
				w.call.Uncapped = true
			}
		}
	}
}
