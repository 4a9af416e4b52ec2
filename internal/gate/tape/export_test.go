package tape

// LimitBodies lets a test see what becomes of a large body without sending one.
func (r *Recorder) LimitBodies(bytes int) { r.limit = bytes }
