package token

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/secret"
)

// Record is a stored credential with all that is needed to use and renew it.
type Record struct {
	Agent  string // or another name that the user gave it
	Kind   Kind
	Secret secret.Secret

	ExpiresAt time.Time // of Secret; zero: nobody knows
	StoredAt  time.Time // by the user

	// What follows is for kinds that are renewed.
	Refresh     secret.Secret
	RefreshedAt time.Time // zero: never yet
	RefreshSent time.Time // zero, or when Refresh was sent without an answer having been stored
	Scopes      []string
	TokenURL    string
	ClientID    string
	Origin      string // the digest of the Refresh that the user stored it with
}

// Renewable tells whether the record has a refresh token that was not used yet.
func (r Record) Renewable() bool { return !r.Refresh.IsZero() && r.RefreshSent.IsZero() }

// spent tells whether a refresh token has been sent: the one that the record began
// with, of which there may be a copy elsewhere, or the one that it holds.
func (r Record) spent(refresh secret.Secret) bool {
	if refresh.IsZero() {
		return false
	}
	return !r.RefreshedAt.IsZero() && r.Origin == digest(refresh) ||
		!r.RefreshSent.IsZero() && refresh.Equal(r.Refresh.Reveal())
}

func digest(s secret.Secret) string {
	sum := sha256.Sum256([]byte(s.Reveal()))
	return hex.EncodeToString(sum[:])
}

func (r Record) expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

// changed is when the record was last written for good.
func (r Record) changed() time.Time {
	if r.RefreshedAt.After(r.StoredAt) {
		return r.RefreshedAt
	}
	return r.StoredAt
}

// Credential is what the gate needs of the record.
func (r Record) Credential() Credential { return Credential{Kind: r.Kind, Secret: r.Secret} }

const (
	recordVersion = 1
	maxRecordSize = 64 << 10
)

// recordFile is a record as it is stored: the one form that shows its secrets.
type recordFile struct {
	Version     int       `json:"version"`
	Agent       string    `json:"agent"`
	Kind        Kind      `json:"kind"`
	Secret      string    `json:"secret"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`
	StoredAt    time.Time `json:"stored_at"`
	Refresh     string    `json:"refresh,omitzero"`
	RefreshedAt time.Time `json:"refreshed_at,omitzero"`
	RefreshSent time.Time `json:"refresh_sent,omitzero"`
	Scopes      []string  `json:"scopes,omitempty"`
	TokenURL    string    `json:"token_url,omitzero"`
	ClientID    string    `json:"client_id,omitzero"`
	Origin      string    `json:"origin,omitzero"`
}

func (r Record) encode() ([]byte, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(recordFile{
		Version: recordVersion, Agent: r.Agent, Kind: r.Kind, Secret: r.Secret.Reveal(),
		ExpiresAt: r.ExpiresAt.UTC(), StoredAt: r.StoredAt.UTC(), Refresh: r.Refresh.Reveal(),
		RefreshedAt: r.RefreshedAt.UTC(), RefreshSent: r.RefreshSent.UTC(),
		Scopes: r.Scopes, TokenURL: r.TokenURL, ClientID: r.ClientID, Origin: r.Origin,
	})
	if err == nil && len(data) > maxRecordSize {
		err = errors.New("it is too large")
	}
	return data, err
}

// decode reads what encode wrote. Its errors hold nothing of data: that of the
// JSON package may quote it.
func decode(data []byte) (Record, error) {
	var f recordFile
	if len(data) > maxRecordSize || json.Unmarshal(data, &f, json.RejectUnknownMembers(true)) != nil {
		return Record{}, errors.New("it is not a record of ralph's")
	}
	if f.Version != recordVersion {
		return Record{}, fmt.Errorf("it has version %d, and this ralph knows %d", f.Version, recordVersion)
	}
	r := Record{
		Agent: f.Agent, Kind: f.Kind, Secret: secret.New(f.Secret), ExpiresAt: f.ExpiresAt, StoredAt: f.StoredAt,
		Refresh: secret.New(f.Refresh), RefreshedAt: f.RefreshedAt, RefreshSent: f.RefreshSent,
		Scopes: f.Scopes, TokenURL: f.TokenURL, ClientID: f.ClientID, Origin: f.Origin,
	}
	return r, r.validate()
}

func (r Record) validate() error {
	if err := checkName(r.Agent); err != nil {
		return err
	}
	if _, err := ParseKind(string(r.Kind)); err != nil {
		return err
	}
	if err := checkText(r.Secret.Reveal()); err != nil {
		return err
	}
	if r.Refresh.IsZero() {
		return nil
	}
	if err := checkText(r.Refresh.Reveal()); err != nil {
		return fmt.Errorf("its refresh token: %w", err)
	}
	return CheckAddress(r.TokenURL)
}

// CheckAddress takes an address that a secret may be sent to: one that encrypts,
// or that is this machine.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return errors.New("the address of the provider is not an http or https address")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the address of the provider may hold a host and a path only")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return withHint(fmt.Errorf("a credential is not sent to %s without encryption", u.Host), "use an https address, or a tunnel that begins on this machine")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
