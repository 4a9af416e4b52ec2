package project

import "strings"

// packageJSON is what is of interest in a package.json.
type packageJSON struct {
	PackageManager string            `json:"packageManager"`
	Scripts        map[string]string `json:"scripts"`
}

// noTest is in the script that "npm init" writes: it always fails.
const noTest = "no test specified"

func detectNode(f folder) (Part, bool) {
	p := Part{Language: "JavaScript", Marker: f.has("package.json"), Packages: []string{"nodejs", "npm"}, Allow: []string{"@npm"}}
	if p.Marker == "" {
		return p, false
	}
	if f.has("tsconfig.json") != "" {
		p.Language = "TypeScript"
	}
	p.Trusted = []string{"**/*.test.*", "**/*.spec.*"}
	var about packageJSON
	f.json(p.Marker, &about)
	p.Tool = nodeTool(f, about.PackageManager)
	if p.Tool == "yarn" {
		p.Allow = append(p.Allow, withDomain("*.yarnpkg.com")...)
	}
	checks := nodeChecks(p.Tool, about.Scripts)
	if len(checks) == 0 {
		p.Missing = "package.json has no test script"
		return p, true
	}
	p.Validation = strings.Join(append([]string{nodeInstall(f, p.Tool)}, checks...), " && ")
	return p, true
}

// nodeTool is what the project names, or what its lock file belongs to.
func nodeTool(f folder, named string) string {
	name, _, _ := strings.Cut(named, "@")
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		return name
	}
	switch {
	case f.has("pnpm-lock.yaml", "pnpm-workspace.yaml") != "":
		return "pnpm"
	case f.has("yarn.lock", ".yarnrc.yml") != "":
		return "yarn"
	case f.has("bun.lock", "bun.lockb", "bunfig.toml") != "":
		return "bun"
	}
	return "npm"
}

// nodeInstall fills node_modules from the lock file where there is one: work is
// validated on a clean checkout.
func nodeInstall(f folder, tool string) string {
	switch {
	case tool == "npm" && f.has("package-lock.json", "npm-shrinkwrap.json") != "":
		return "npm ci"
	case tool == "yarn" && f.has("yarn.lock") != "" && f.has(".yarnrc.yml") != "":
		return "yarn install --immutable"
	case tool == "pnpm" && f.has("pnpm-lock.yaml") != "",
		tool == "yarn" && f.has("yarn.lock") != "",
		tool == "bun" && f.has("bun.lock", "bun.lockb") != "":
		return tool + " install --frozen-lockfile"
	}
	return tool + " install"
}

// nodeChecks runs the scripts that check. Without a test there is no validation.
func nodeChecks(tool string, scripts map[string]string) []string {
	test := scripts["test"]
	if strings.TrimSpace(test) == "" || strings.Contains(test, noTest) {
		return nil
	}
	var checks []string
	for _, name := range []string{"lint", "typecheck", "test"} {
		if scripts[name] != "" {
			checks = append(checks, tool+" run "+name)
		}
	}
	return checks
}

func detectDeno(f folder) (Part, bool) {
	p := Part{
		Language: "TypeScript", Tool: "deno", Marker: f.has("deno.json", "deno.jsonc"),
		Validation: "deno test",
		Allow:      append(withDomain("*.deno.land", "*.jsr.io"), "@npm"),
		Trusted:    []string{"**/*_test.ts", "**/*.test.ts"},
	}
	var about struct {
		Tasks map[string]any `json:"tasks"`
	}
	f.json("deno.json", &about)
	if about.Tasks["test"] != nil {
		p.Validation = "deno task test"
	}
	return p, p.Marker != ""
}

// withDomain returns each wildcard, and the domain that it does not cover.
func withDomain(wildcards ...string) []string {
	var rules []string
	for _, w := range wildcards {
		rules = append(rules, w, strings.TrimPrefix(w, "*."))
	}
	return rules
}
