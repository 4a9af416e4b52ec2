package token

// escapeState follows the escape sequences of a terminal, byte by byte.
type escapeState int

const (
	inText    escapeState = iota
	afterESC              // the byte that says what kind of sequence follows
	inCSI                 // ESC [ parameters letter
	inString              // ESC ] or P or _ or ^ ... up to BEL or ESC \
	stringESC             // an ESC within such a string
	atEnd                 // the last byte of a sequence
)

const (
	escapeByte     = 0x1b
	cancelByte     = 0x18
	substituteByte = 0x1a
)

// next is the state that a byte leads to. The byte belongs to text only if that
// is inText.
func (s escapeState) next(b byte) escapeState {
	if s != inText && (b == cancelByte || b == substituteByte) {
		return atEnd // as terminals do; a sequence that never ends would hide all that follows
	}
	switch s {
	case afterESC:
		return afterESC.kind(b)
	case inCSI:
		if b >= 0x40 && b <= 0x7e {
			return atEnd
		}
		return inCSI
	case inString:
		switch b {
		case 0x07:
			return atEnd
		case escapeByte:
			return stringESC
		}
		return inString
	case stringESC:
		return afterESC.kind(b) // the end of the string, or another sequence that cuts it off
	}
	if b == escapeByte {
		return afterESC
	}
	return inText
}

func (escapeState) kind(b byte) escapeState {
	switch b {
	case '[':
		return inCSI
	case ']', 'P', '_', '^', 'X':
		return inString
	case escapeByte:
		return afterESC
	}
	return atEnd
}

// plainText takes the escape sequences out of a terminal's output. Those that
// move the cursor or erase become empty lines: what stands behind them is not
// beside what stands before them. Colours leave nothing.
func plainText(output []byte) string {
	text := make([]byte, 0, len(output))
	state, start := inText, 0
	for i, b := range output {
		state = state.next(b)
		switch {
		case state == inText && b == '\r' && i+1 < len(output) && output[i+1] != '\n':
			text = append(text, '\n')
		case state == inText:
			text = append(text, b)
		case state == afterESC || state == stringESC:
			start = i
		}
		if state == atEnd && i > start && output[start+1] == '[' && b != 'm' {
			text = append(text, "\n\n"...)
		}
	}
	return string(text)
}
