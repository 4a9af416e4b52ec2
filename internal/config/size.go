package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The bounds of sizes. Less memory than the smallest does not start an agent;
// more than the largest is a slip of the finger.
const (
	MinMemory = 64 << 20
	MaxMemory = 1 << 40
	MinDisk   = 1 << 20
	MaxDisk   = 64 << 40
)

const sizeUnits = "bkmgtpe" // each 1024 times the one before

// ParseSize reads a size such as "8g", "1.5GB", "512 MiB" or "1048576". Units
// are powers of 1024, whatever their case; a bare number is bytes. The result
// is at least one byte.
func ParseSize(s string) (int64, error) {
	fail := func(why string) (int64, error) {
		return 0, fmt.Errorf("%s is not a size: %s; write it like 512m or 8g", quote(s), why)
	}
	text := strings.ToLower(strings.TrimSpace(s))
	if strings.HasPrefix(text, "-") {
		return fail("it is negative")
	}
	end := strings.LastIndexAny(text, "0123456789.") + 1
	factor, ok := sizeFactor(strings.TrimSpace(text[end:]))
	switch number := text[:end]; {
	case number == "":
		return fail("it has no number")
	case !isDecimal(number):
		return fail(quote(number) + " is not a number")
	case !ok:
		return fail("there is no unit " + quote(strings.TrimSpace(text[end:])))
	default:
		n, ok := scale(number, factor)
		if !ok {
			return fail("it is too large")
		}
		if n == 0 {
			return fail("it is zero")
		}
		return n, nil
	}
}

// sizeFactor is the number of bytes in a unit: "", "g", "gb" and "gib" alike.
func sizeFactor(unit string) (int64, bool) {
	if unit == "" || unit == "b" {
		return 1, true
	}
	if len(unit) > 1 {
		var ok bool
		if unit, ok = strings.CutSuffix(unit, "b"); !ok {
			return 0, false
		}
		unit = unit[:1] + strings.TrimPrefix(unit[1:], "i")
	}
	power := strings.Index(sizeUnits, unit)
	if len(unit) != 1 || power < 1 {
		return 0, false
	}
	return 1 << (10 * power), true
}

// isDecimal accepts digits with at most one point among them: not the signs,
// exponents, underscores and names that strconv also takes.
func isDecimal(s string) bool {
	whole, fraction, pointed := strings.Cut(s, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(whole) && (!pointed || digits(fraction))
}

// scale multiplies without losing bytes of whole numbers; it reports false when
// the product does not fit.
func scale(number string, factor int64) (int64, bool) {
	if !strings.Contains(number, ".") {
		n, err := strconv.ParseInt(number, 10, 64)
		return n * factor, err == nil && n <= math.MaxInt64/factor
	}
	f, err := strconv.ParseFloat(number, 64)
	f *= float64(factor)
	if err != nil || f >= math.MaxInt64 {
		return 0, false
	}
	return int64(f), true
}

// FormatSize writes a size in the largest unit that keeps it exact, so that
// ParseSize reads back the same number.
func FormatSize(n int64) string {
	power := 0
	for n != 0 && n%1024 == 0 && power < len(sizeUnits)-1 {
		n /= 1024
		power++
	}
	return strconv.FormatInt(n, 10) + sizeUnits[power:power+1]
}

// ParseMemory reads a size that can be a memory limit.
func ParseMemory(s string) (int64, error) {
	return parseSizeBetween(s, "memory limit", MinMemory, MaxMemory)
}

// ParseDisk reads a size that can be a disk limit.
func ParseDisk(s string) (int64, error) {
	return parseSizeBetween(s, "disk limit", MinDisk, MaxDisk)
}

func parseSizeBetween(s, what string, low, high int64) (int64, error) {
	n, err := ParseSize(s)
	switch {
	case err != nil:
		return 0, err
	case n < low:
		return 0, fmt.Errorf("a %s of %s is too small: the least is %s", what, quote(s), FormatSize(low))
	case n > high:
		return 0, fmt.Errorf("a %s of %s is too large: the most is %s", what, quote(s), FormatSize(high))
	}
	return n, nil
}
