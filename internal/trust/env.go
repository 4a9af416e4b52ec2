package trust

import (
	"net"
	"path"
	"strings"
)

// additive are the variables whose file is added to what a program trusts
// anyway; the others name a file in the place of that.
var (
	additive = []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"}
	complete = []string{
		"SSL_CERT_FILE",      // OpenSSL, Go, Ruby, Rust's native certificates, uv, the agents
		"CURL_CA_BUNDLE",     // curl, and requests
		"REQUESTS_CA_BUNDLE", // Python's requests
		"PIP_CERT",
		"npm_config_cafile", // what a user's npmrc says would hide NODE_EXTRA_CA_CERTS
		"GIT_SSL_CAINFO",
		"CARGO_HTTP_CAINFO",
		"AWS_CA_BUNDLE",
		"NIX_SSL_CERT_FILE",
		"HEX_CACERTS_PATH",
		"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
		"CODEX_CA_CERTIFICATE",
	}
)

// Env returns the variables, as KEY=VALUE, that tell programs in a sandbox of the
// files in dir, which is Dir unless they were mounted elsewhere. The gate is the
// proxy's address, host:port, for Java, which reads none of the variables that
// all others do; empty if there is none.
func Env(dir, gate string) []string {
	var env []string
	for _, name := range additive {
		env = append(env, name+"="+path.Join(dir, AuthorityFile))
	}
	for _, name := range complete {
		env = append(env, name+"="+path.Join(dir, BundleFile))
	}
	return append(env, "JAVA_TOOL_OPTIONS="+strings.Join(javaOptions(dir, gate), " "))
}

func javaOptions(dir, gate string) []string {
	options := []string{
		"-Djavax.net.ssl.trustStore=" + path.Join(dir, JavaFile),
		"-Djavax.net.ssl.trustStoreType=PKCS12",
		"-Djavax.net.ssl.trustStorePassword=" + javaPassword,
	}
	host, port, err := net.SplitHostPort(gate)
	if err != nil {
		return options
	}
	for _, scheme := range []string{"http", "https"} {
		options = append(options, "-D"+scheme+".proxyHost="+host, "-D"+scheme+".proxyPort="+port)
	}
	return append(options, "-Dhttp.nonProxyHosts=localhost|127.*|[::1]")
}
