package notify

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"strings"
	"unicode/utf16"
)

// toastScript shows a note on Windows 10 and later. It uses Windows PowerShell's
// own application identity, since a program without one cannot show notes. The one
// thing that varies is a base64 text, whose letters end no string.
const toastScript = `$ErrorActionPreference = 'Stop'
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$null = [Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom.XmlDocument, ContentType = WindowsRuntime]
$document = New-Object Windows.Data.Xml.Dom.XmlDocument
$document.LoadXml([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('` + toastMark + `')))
$toast = New-Object Windows.UI.Notifications.ToastNotification $document
$application = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe'
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($application).Show($toast)
`

const toastMark = "%TOAST%"

// powershellArgs hides both the texts from the script and the script from the
// quoting of command lines, which on Windows is up to each program.
func powershellArgs(title, body string, _ bool) []string {
	document := base64.StdEncoding.EncodeToString([]byte(toastXML(title, body)))
	script := strings.Replace(toastScript, toastMark, document, 1)
	return []string{"-NoProfile", "-NonInteractive", "-EncodedCommand", encodeCommand(script)}
}

func toastXML(title, body string) string {
	return `<toast><visual><binding template="ToastGeneric"><text>` + escapeXML(title) +
		`</text><text>` + escapeXML(body) + `</text></binding></visual></toast>`
}

func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// encodeCommand codes a script as -EncodedCommand wants it: UTF-16LE in base64.
func encodeCommand(script string) string {
	var units []byte
	for _, unit := range utf16.Encode([]rune(script)) {
		units = binary.LittleEndian.AppendUint16(units, unit)
	}
	return base64.StdEncoding.EncodeToString(units)
}
