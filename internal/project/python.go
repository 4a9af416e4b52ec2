package project

import "strings"

func detectPython(f folder) (Part, bool) {
	p := Part{
		Language: "Python", Marker: f.has("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"),
		Allow:    []string{"@pypi"},
		Packages: []string{"python3", "python3-pip", "python3-venv"},
		Trusted:  []string{"tests/**", "**/test_*.py", "**/conftest.py"},
	}
	if p.Marker == "" {
		return p, false
	}
	p.Tool = pythonTool(f)
	p.Validation = pythonValidation(f, p.Tool)
	return p, true
}

// pythonTool is what the lock file belongs to, or what pyproject.toml names.
func pythonTool(f folder) string {
	about := f.text("pyproject.toml")
	switch {
	case f.has("uv.lock") != "":
		return "uv"
	case f.has("poetry.lock") != "":
		return "poetry"
	case hasTable(about, "tool.uv"):
		return "uv"
	case hasTable(about, "tool.poetry"):
		return "poetry"
	}
	return "pip"
}

// hasTable reports whether a TOML text has a table of that name, or one below.
func hasTable(toml, name string) bool {
	for line := range strings.Lines(toml) {
		line = strings.TrimLeft(strings.TrimSpace(line), "[ ")
		if rest, ok := strings.CutPrefix(line, name); ok && (strings.HasPrefix(rest, "]") || strings.HasPrefix(rest, ".")) {
			return true
		}
	}
	return false
}

func pythonValidation(f folder, tool string) string {
	test := "python -m unittest discover"
	if usesPytest(f) {
		test = "python -m pytest"
	}
	switch tool {
	case "uv":
		return "uv run " + test
	case "poetry":
		return "poetry install && poetry run " + test
	}
	const venv = ".venv/bin/"
	steps := []string{"python3 -m venv .venv"}
	for _, file := range []string{"requirements.txt", "requirements-dev.txt", "dev-requirements.txt"} {
		if f.has(file) != "" {
			steps = append(steps, venv+"pip install -q -r "+file)
		}
	}
	if f.has("pyproject.toml", "setup.py") != "" {
		steps = append(steps, venv+"pip install -q -e .")
	}
	if usesPytest(f) {
		steps = append(steps, venv+"pip install -q pytest")
	}
	return strings.Join(append(steps, venv+test), " && ")
}

// usesPytest looks for its files, and for its name where dependencies are.
func usesPytest(f folder) bool {
	if f.has("pytest.ini", "conftest.py", ".pytest.ini") != "" {
		return true
	}
	for _, file := range []string{"pyproject.toml", "setup.cfg", "tox.ini", "Pipfile", "requirements.txt", "requirements-dev.txt", "dev-requirements.txt"} {
		if strings.Contains(f.text(file), "pytest") {
			return true
		}
	}
	return false
}
