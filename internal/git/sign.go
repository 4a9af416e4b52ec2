package git

// Signer is how commits are signed on the host, with the user's own key.
type Signer struct {
	Env    []string    // where the user's keys are: HOME, GNUPGHOME, SSH_AUTH_SOCK
	Config [][2]string // gpg.format, gpg.program, user.signingKey
}

// env is what a git that signs gets beside the closed environment.
func (s *Signer) env() []string {
	return append(configEnv(append(closedConfig(), s.Config...)), s.Env...)
}
