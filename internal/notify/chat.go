package notify

import (
	"regexp"
	"strings"
	"unicode/utf16"
)

// maxChat is how long a chat message may be, in UTF-16 units: Discord refuses
// longer ones, and allows the least.
const maxChat = 2000

// payload is what a webhook gets: the message, and one line of text under the
// names that chat servers look for. They ignore the names of the others.
type payload struct {
	Text            string   `json:"text"`             // Slack, Mattermost, Teams
	Content         string   `json:"content"`          // Discord
	AllowedMentions mentions `json:"allowed_mentions"` // Discord: nobody
	Flags           int      `json:"flags"`            // Discord: no previews
	UnfurlLinks     bool     `json:"unfurl_links"`     // Slack: no previews
	UnfurlMedia     bool     `json:"unfurl_media"`     // Slack: nor of pictures
	Message
}

type mentions struct {
	Parse []string `json:"parse"`
}

const discordSuppressEmbeds = 1 << 2

func newPayload(m Message) payload {
	text := chatText(m)
	return payload{
		Text:            text,
		Content:         text,
		AllowedMentions: mentions{Parse: []string{}},
		Flags:           discordSuppressEmbeds,
		Message:         m,
	}
}

// chatText is the message as one line for a chat, short enough once escaped.
func chatText(m Message) string {
	plain := oneLine(strings.Join(append([]string{m.title()}, m.details()...), " | "), maxChat)
	for limit := maxChat; ; limit = limit * 3 / 4 {
		if text := chatEscape(shorten(plain, limit)); len(utf16.Encode([]rune(text))) <= maxChat {
			return text
		}
	}
}

// pings are the characters that chat servers give a meaning: an at sign calls
// people, as do angle brackets at Slack, which wants these three as entities.
var pings = strings.NewReplacer(
	"@", "(at)", "\uff20", "(at)", "\ufe6b", "(at)",
	"&", "&amp;", "<", "&lt;", ">", "&gt;",
)

var wwwDot = regexp.MustCompile(`(?i)(www)\.`)

// chatEscape makes a text that neither calls people nor is a link. Links must not
// work because a chat server fetches them for a preview, unasked: an agent could
// send out what it likes in an address of its choice, past the gate.
func chatEscape(text string) string {
	text = pings.Replace(text)
	text = strings.ReplaceAll(text, "://", "[:]//")
	text = wwwDot.ReplaceAllString(text, "$1[.]")
	return strings.ReplaceAll(text, "](", "] (") // a link in Markdown
}
