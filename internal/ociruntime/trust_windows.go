package ociruntime

// trustworthy has nothing to say here: the runtime is for Linux.
func trustworthy(string) error { return nil }

// safeFile is left to the access lists of the system.
func safeFile(string) bool { return true }
