package notify

// maxTail is how many bytes of a command's output are kept.
const maxTail = 4 << 10

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-maxTail):]
	over := max(0, len(t.kept)+len(p)-maxTail)
	t.kept = append(t.kept[:copy(t.kept, t.kept[over:])], p...)
	return n, nil
}

// String is the end of the output as one harmless line.
func (t *tail) String() string { return oneLine(string(t.kept), maxTail) }
