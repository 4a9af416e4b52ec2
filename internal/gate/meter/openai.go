package meter

import "errors"

// responsesField reads a top-level field of POST /v1/responses.
func (w *walker) responsesField(field string) error {
	switch field {
	case "max_output_tokens":
		return w.output()
	case "input":
		return w.items()
	case "tools":
		return w.array(w.openAITool)
	case "reasoning":
		return w.object(w.reasoningField)
	case "previous_response_id", "conversation":
		return w.refers()
	case "instructions": // not a list of items, which may refer to others
		_, err := w.optional()
		return err
	case "prompt":
		return w.refuse(field, "a stored prompt brings tools and a model of its own")
	case "background":
		return w.refuse(field, "the answer and its usage do not come with the response")
	case "context_management":
		return w.refuse(field, "the provider would summarise as often as it likes")
	case "multi_agent":
		return w.refuse(field, "the provider would start agents of its own")
	}
	return w.openAIField(field)
}

// chatField reads a top-level field of POST /v1/chat/completions.
func (w *walker) chatField(field string) error {
	switch field {
	case "max_tokens", "max_completion_tokens":
		return w.output()
	case "messages":
		return w.array(w.item)
	case "tools":
		return w.array(w.openAITool)
	case "n":
		return w.choices()
	case "stream_options":
		return w.dec.SkipValue() // a stream that does not tell its usage is not settled
	case "prediction":
		// What of it does not come true is billed as output.
		raw, err := w.dec.ReadValue()
		w.call.ExtraOutput += int64(len(raw))
		return err
	case "modalities":
		return w.array(w.modality)
	case "audio":
		return w.refuse(field, "the price of sound is not known here")
	case "web_search_options":
		return w.refuse(field, "the provider would search for as long as the model likes")
	}
	return w.openAIField(field)
}

// openAIField reads what both APIs of OpenAI have.
func (w *walker) openAIField(field string) error {
	switch field {
	case "service_tier":
		return w.serviceTier()
	case "prompt_cache_options":
		return w.object(w.cacheOption)
	case "moderation":
		return w.refuse(field, "it runs another model")
	}
	return w.other(field)
}

func (w *walker) choices() error {
	n, said, err := w.count()
	if err == nil && said && (n < 1 || n > maxChoices) {
		return errors.New("n is out of range")
	}
	if said {
		w.call.Choices = n
	}
	return err
}

func (w *walker) modality() error {
	kind, err := w.text()
	if kind != "text" {
		w.unbounded("modalities", "the price of %.40q is not known here", kind)
	}
	return err
}

// serviceTier reads how fast the call is to be served. "auto" and nothing are
// as the account has it.
func (w *walker) serviceTier() error {
	tier, err := w.optional()
	switch tier {
	case "", "auto":
	case "default", "scale", "flex": // flex is a discount that may not be had
		w.call.Tier = Standard
	case "priority", "fast":
		w.call.Tier = Fast
	case "ultrafast":
		w.call.Tier = Ultrafast
	default:
		w.unbounded("service_tier", "the price of %.40q is not known", tier)
	}
	return err
}

// reasoningField reads how the model thinks. A mode such as pro runs several
// passes, which max_output_tokens is not documented to bound.
func (w *walker) reasoningField(field string) error {
	if field != "mode" {
		return w.dec.SkipValue()
	}
	mode, err := w.optional()
	if mode != "" && mode != "standard" {
		w.unbounded("reasoning.mode", "how much %.40q samples is not known", mode)
	}
	return err
}

// cacheOption reads how long a cache entry is to live. Those of twelve hours
// cost double, and the usage does not tell them from the others.
func (w *walker) cacheOption(field string) error {
	if field != "ttl" {
		return w.dec.SkipValue()
	}
	ttl, err := w.optional()
	if ttl != "" && ttl != "30m" {
		w.unbounded("prompt cache", "the price of a lifetime of %.40q is not known", ttl)
	}
	return err
}
