package meter

import "strings"

// googleContents reads the conversation: a list of contents, or a single one.
func (w *walker) googleContents() error {
	if w.dec.PeekKind() == '{' {
		return w.googleContent()
	}
	return w.array(w.googleContent)
}

func (w *walker) googleContent() error {
	w.blocks++
	return w.object(func(field string) error {
		switch field {
		case "parts":
			return w.googleParts()
		case "role":
			return w.dec.SkipValue()
		}
		w.unknown("a content", field)
		return w.skip()
	})
}

// googleParts reads a list of parts, or a single one.
func (w *walker) googleParts() error {
	if w.dec.PeekKind() == '{' {
		return w.googlePart()
	}
	return w.array(w.googlePart)
}

func (w *walker) googlePart() error {
	w.blocks++
	return w.object(func(field string) error {
		switch field {
		case "text":
			_, err := w.optional()
			return err
		case "inlineData", "fileData":
			return w.googleMedia()
		case "functionCall", "functionResponse":
			return w.object(w.googleFunction)
		case "thoughtSignature": // sealed text
			return w.dec.SkipValue()
		case "thought", "executableCode", "codeExecutionResult", "partMetadata", "mediaResolution":
			return w.skip()
		}
		w.unknown("a part", field)
		return w.skip()
	})
}

// googleFunction reads a call of a function, or what it gave back. That may have
// parts of its own: images, say.
func (w *walker) googleFunction(field string) error {
	switch field {
	case "parts":
		return w.googleParts()
	case "id", "name", "args", "response", "willContinue", "scheduling":
		return w.skip()
	}
	w.unknown("a function's call or response", field)
	return w.skip()
}

// googleMedia reads what is not text, in the request or elsewhere. An image is
// cut into tiles, and how many a long and narrow one makes is not documented to
// have an end; a document has as many pages as it likes. So both fill the window.
func (w *walker) googleMedia() error {
	w.call.FillsWindow = true
	kind := ""
	err := w.object(func(field string) (err error) {
		switch field {
		case "mimeType":
			kind, err = w.optional()
			return err
		case "fileUri":
			return w.remote("a file that is given by its URI")
		case "data", "displayName":
			return w.dec.SkipValue()
		}
		w.unknown("media", field)
		return w.skip()
	})
	if !pricedAsText(kind) {
		w.unbounded("media", "the price of %.40q is not known here", kind)
	}
	return err
}

// pricedAsText tells the media whose tokens cost as much as those of text. Sound
// costs more with some models, and a video may have sound.
func pricedAsText(mimeType string) bool {
	return strings.HasPrefix(mimeType, "image/") || strings.HasPrefix(mimeType, "text/") || mimeType == "application/pdf"
}
