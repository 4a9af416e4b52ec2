package agent

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is one of JSON whose values are kept as they are.
type object map[string]jsontext.Value

// approvedKey is how much of a key's end Claude Code remembers of one that may be
// used.
const approvedKey = 20

// claudeAnswers puts the answers to Claude Code's first questions into its
// .claude.json, and keeps what else is there. A file that cannot be read holds
// nothing that a session depends on, and is begun anew.
func claudeAnswers(old []byte, s Session) ([]byte, error) {
	state := readObject(old)
	state["hasCompletedOnboarding"] = jsontext.Value("true")
	projects := readObject(state["projects"])
	project := readObject(projects[s.Project])
	project["hasTrustDialogAccepted"] = jsontext.Value("true")
	// Each session has a phantom of its own. Those before are forgotten.
	keys := map[string][]string{"approved": {}, "rejected": {}}
	if s.Kind == APIKey {
		keys["approved"] = []string{s.Phantom[max(0, len(s.Phantom)-approvedKey):]}
	}
	var err error
	put := func(into object, name string, value any) {
		if err == nil {
			into[name], err = json.Marshal(value, json.Deterministic(true))
		}
	}
	put(state, "customApiKeyResponses", keys)
	put(projects, s.Project, project)
	put(state, "projects", projects)
	if err != nil {
		return nil, err
	}
	return json.Marshal(state, json.Deterministic(true))
}

// readObject reads an object of JSON; what is none is an empty one.
func readObject(text []byte) object {
	var o object
	if err := json.Unmarshal(text, &o); err != nil || o == nil {
		return object{}
	}
	return o
}
