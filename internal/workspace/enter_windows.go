package workspace

// mayEnter assumes the worst.
func mayEnter(string) bool { return true }
