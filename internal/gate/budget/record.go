package budget

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/money"
)

// What a line says.
const (
	opLedger  = "ledger"  // the first line, with the version of the format
	opCaps    = "caps"    // the caps from here on
	opHold    = "hold"    // an amount is set aside
	opSettle  = "settle"  // a hold came to this amount
	opForfeit = "forfeit" // nobody knows what a hold came to; this much counts
	opRelease = "release" // a hold came to nothing
	opEnd     = "end"     // the owner has gone: its open holds are forfeit
)

const version = 1

// maxLine is the most bytes of a line with its line feed: enough for the longest
// run and note with every byte escaped.
const maxLine = 4096

// record is one line of a ledger. Amounts are plain integers here, for their
// spelling in the file must not change with that of a type elsewhere.
type record struct {
	Op      string `json:"op"`
	V       int    `json:"v,omitzero"`
	Owner   string `json:"owner,omitzero"`
	N       int64  `json:"n,omitzero"`
	NanoUSD int64  `json:"nano_usd,omitzero"`
	Tokens  int64  `json:"tokens,omitzero"`
	Run     string `json:"run,omitzero"`
	Note    string `json:"note,omitzero"`
	At      string `json:"at,omitzero"`
}

func (r record) amount() Amount { return Amount{USD: money.USD(r.NanoUSD), Tokens: r.Tokens} }

func (r record) with(a Amount) record {
	r.NanoUSD, r.Tokens = int64(a.USD), a.Tokens
	return r
}

func (r record) key() key { return key{owner: r.Owner, n: r.N} }

// header is the first line of every ledger.
func header() ([]byte, uint32, error) { return encode(record{Op: opLedger, V: version}, 0) }

// encode returns the record's line with its line feed, and the sum that the next
// line builds on.
func encode(r record, previous uint32) ([]byte, uint32, error) {
	object, err := json.Marshal(r)
	if err != nil {
		return nil, 0, fmt.Errorf("encoding a record: %w", err)
	}
	body := object[:len(object)-1] // without the brace: the sum goes before it
	sum := checksum(previous, body)
	line := append(appendSum(body, sum), '\n')
	if len(line) > maxLine {
		return nil, 0, fmt.Errorf("a record of %d bytes is too long", len(line))
	}
	return line, sum, nil
}

// decode reads a line without its line feed, and returns the sum that the next
// line builds on.
func decode(line []byte, previous uint32) (record, uint32, error) {
	var r record
	at := bytes.LastIndexByte(line, ',')
	if at < 0 {
		return r, 0, errors.New("the line is no record")
	}
	sum := checksum(previous, line[:at])
	if !bytes.Equal(line[at:], appendSum(nil, sum)) {
		return r, 0, errors.New("the line or the one before it was altered")
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, 0, fmt.Errorf("decoding a record: %w", err)
	}
	return r, sum, nil
}

func appendSum(line []byte, sum uint32) []byte {
	line = append(line, `,"sum":"`...)
	line = hex.AppendEncode(line, binary.BigEndian.AppendUint32(nil, sum))
	return append(line, `"}`...)
}

// checksum covers the sum before, which chains the lines.
func checksum(previous uint32, body []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	chained := crc32.Checksum(binary.BigEndian.AppendUint32(nil, previous), table)
	return crc32.Update(chained, table, body)
}
