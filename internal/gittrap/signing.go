package gittrap

// signingTraps are commands in the configuration that sign and check signatures.
func signingTraps() []Trap {
	return []Trap{
		{
			Name:  "config-gpg-sign",
			About: "each commit is signed by a program",
			Plant: program("sign", "{touch}") + config("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = ./sign"),
			Trip:  "git commit -q --allow-empty -m work",
		},
		{
			Name:  "config-gpg-show-signature",
			About: "git log has the signature of a commit checked by a program",
			Plant: signedCommit + program("verify", "{touch}") + config("[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ./verify"),
			Trip:  "git log -1",
		},
		{
			Name:  "config-ssh-key-command",
			About: "each commit is signed with a key that a command names",
			Plant: program("keys", "{touch}") + config(`
[commit]
	gpgSign = true
[gpg]
	format = ssh
[gpg "ssh"]
	defaultKeyCommand = ./keys`),
			Trip: "git commit -q --allow-empty -m work",
		},
		{
			Name:  "config-merge-verify",
			About: "a merge has the signature of what it merges checked by a program",
			Plant: "git checkout -q -b topic\n" + signedCommit + "git checkout -q -\n" + program("verify", "{touch}") +
				config("[merge]\n\tverifySignatures = true\n[gpg]\n\tprogram = ./verify"),
			Trip: "git merge -q topic",
		},
	}
}

// signedCommit makes a commit that says it is signed.
const signedCommit = `signed=$(git hash-object -w -t commit --stdin <<EOF
tree $(git rev-parse 'HEAD^{tree}')
parent $(git rev-parse HEAD)
author agent <agent@example.com> 1700000000 +0000
committer agent <agent@example.com> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 AAAA
 -----END PGP SIGNATURE-----

signed
EOF
)
git update-ref HEAD "$signed"
`
