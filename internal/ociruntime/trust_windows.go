package ociruntime

// trustworthy has nothing to say here: the runtime is for Linux.
func trustworthy(string) error { return nil }
