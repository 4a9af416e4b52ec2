package cli

// ignoreSuspend has nothing to do where programs cannot be suspended.
func ignoreSuspend() {}
