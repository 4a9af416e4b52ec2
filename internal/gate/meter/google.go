package meter

import (
	"fmt"
	"strings"
)

// googleField reads a top-level field of POST /v1beta/models/M:generateContent.
//
// Google takes every name in two spellings, maxOutputTokens and
// max_output_tokens. Only the first is known here, so that no request can say
// two things: unlike elsewhere, a name that is not known is refused at every
// level and not at the top alone.
func (w *walker) googleField(field string) error {
	switch field {
	case "contents":
		return w.googleContents()
	case "systemInstruction":
		return w.googleContent()
	case "tools":
		return w.array(w.googleTool)
	case "toolConfig":
		return w.object(w.googleToolConfig)
	case "generationConfig":
		return w.object(w.googleConfig)
	case "safetySettings":
		return w.skip()
	case "model":
		return w.sameModel()
	case "serviceTier":
		return w.googleTier()
	case "cachedContent":
		return w.refuse(field, "it refers to what is stored with the provider, which bills that by time")
	}
	w.unknown("the request", field)
	return w.skip()
}

// googleCountField reads a top-level field of :countTokens, which takes contents
// or a whole request.
func (w *walker) googleCountField(field string) error {
	if field == "generateContentRequest" {
		return w.object(w.googleField)
	}
	return w.googleField(field)
}

// sameModel reads a model's name in the body, which must be that of the path.
func (w *walker) sameModel() error {
	name, err := w.optional()
	if err == nil && name != "" && strings.TrimPrefix(name, "models/") != w.call.Model {
		return fmt.Errorf("the body names the model %.60q and the path %.60q", name, w.call.Model)
	}
	return err
}

// googleTier reads how fast the call is to be served. Others than the standard
// tier have prices of their own.
func (w *walker) googleTier() error {
	tier, err := w.optional()
	if tier != "" && tier != "standard" {
		w.unbounded("serviceTier", "the price of %.40q is not known", tier)
	}
	return err
}

// googleConfig reads a field of the generationConfig.
func (w *walker) googleConfig(field string) error {
	switch field {
	case "maxOutputTokens":
		return w.output()
	case "thinkingConfig":
		return w.object(w.googleThinking)
	case "candidateCount":
		return w.oneCandidate()
	case "responseModalities":
		return w.array(w.googleModality)
	case "speechConfig", "imageConfig":
		return w.refuse(field, "the price of what is not text is not known here")
	case "temperature", "topP", "topK", "seed", "stopSequences", "presencePenalty", "frequencyPenalty",
		"responseMimeType", "responseSchema", "responseJsonSchema", "_responseJsonSchema",
		"responseLogprobs", "logprobs", "enableEnhancedCivicAnswers",
		"mediaResolution": // media fill the window at any resolution
		return w.skip()
	}
	w.unknown("generationConfig", field)
	return w.skip()
}

// googleThinking reads a budget. What a model thinks counts as output, and is
// within maxOutputTokens unless more was asked for. A budget of -1 leaves it to
// the model.
func (w *walker) googleThinking(field string) error {
	switch field {
	case "thinkingBudget":
		if w.dec.PeekKind() != '0' {
			_, _, err := w.count()
			return err
		}
		raw, err := w.dec.ReadValue()
		if err != nil || string(raw) == "-1" {
			return err
		}
		n, err := parseCount(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", w.dec.StackPointer(), err)
		}
		w.thinkingBudget = max(w.thinkingBudget, n)
		return nil
	case "includeThoughts", "thinkingLevel":
		return w.skip()
	}
	w.unknown("thinkingConfig", field)
	return w.skip()
}

// oneCandidate refuses several answers: the usage of a stream is known when the
// last of them ends, and no agent asks for more than one.
func (w *walker) oneCandidate() error {
	n, said, err := w.count()
	if said && n > 1 {
		w.unbounded("candidateCount", "%d answers at once", n)
	}
	return err
}

func (w *walker) googleModality() error {
	kind, err := w.text()
	if kind != "TEXT" {
		w.unbounded("responseModalities", "the price of %.40q is not known here", kind)
	}
	return err
}
