package budget

// openFlags has no word against links here; openPrivate compares instead.
const openFlags = 0

// syncDirectory does nothing: the file system journals names by itself.
func syncDirectory(string) error { return nil }
