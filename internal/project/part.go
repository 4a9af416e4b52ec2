package project

// Part is one thing that is built on its own, in the project's folder or below.
type Part struct {
	Dir        string   `json:"dir"` // slash path, "." for the project's own folder
	Language   string   `json:"language"`
	Tool       string   `json:"tool"`
	Marker     string   `json:"marker"`               // the file that tells
	Validation string   `json:"validation,omitempty"` // run in Dir; empty: none was found
	Missing    string   `json:"missing,omitempty"`    // why there is no validation
	Allow      []string `json:"allow,omitempty"`      // where dependencies come from
	Packages   []string `json:"packages,omitempty"`   // Debian packages with the tools
	Trusted    []string `json:"trusted,omitempty"`    // patterns of its check files
}

// detectors are asked in this order; each says what it finds in a folder, if
// anything. A folder can be several things at once.
func detectors() []func(folder) (Part, bool) {
	return []func(folder) (Part, bool){
		detectGo, detectRust, detectDeno, detectNode, detectPython,
		detectJava, detectRuby, detectPHP, detectC,
	}
}

// partsOf returns what a folder is.
func partsOf(f folder) []Part {
	var parts []Part
	for _, detect := range detectors() {
		if p, ok := detect(f); ok {
			p.Dir = f.dir
			parts = append(parts, p)
		}
	}
	if len(parts) > 1 && parts[len(parts)-1].Tool == "make" {
		parts = parts[:len(parts)-1] // a Makefile beside another tool is only its wrapper
	}
	return parts
}
