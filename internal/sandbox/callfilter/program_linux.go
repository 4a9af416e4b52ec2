//go:build amd64 || arm64

package callfilter

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answer is what the kernel does with a call.
type answer uint32

const allowed answer = unix.SECCOMP_RET_ALLOW

// refused makes a call return an error and do nothing. The error 0 is success.
func refused(errno unix.Errno) answer { return unix.SECCOMP_RET_ERRNO | answer(errno) }

// rule answers one call, when all its conditions hold.
type rule struct {
	call   uint32
	answer answer
	when   []condition
}

// condition holds when the masked argument is one of the values, or, with not,
// when it is none of them. Only the low half of an argument counts: all that is
// asked about is of 32 bits or less to the kernel, which ignores the rest.
type condition struct {
	argument int
	mask     uint32
	values   []uint32
	not      bool
}

const whole = ^uint32(0)

func is(argument int, values ...uint32) condition {
	return condition{argument: argument, mask: whole, values: values}
}

func isNot(argument int, values ...uint32) condition {
	return condition{argument: argument, mask: whole, values: values, not: true}
}

// has holds when the argument has any of the bits.
func has(argument int, bits uint32) condition {
	return condition{argument: argument, mask: bits, values: []uint32{0}, not: true}
}

// lacks holds when the argument has none of the bits.
func lacks(argument int, bits uint32) condition {
	return condition{argument: argument, mask: bits, values: []uint32{0}}
}

// span is a range of call numbers, both ends included.
type span struct{ first, last uint32 }

// filter is what one program says. Of several rules for a call the first that
// holds answers it; a call that no rule answers is allowed if it is known.
type filter struct {
	rules   []rule
	known   []span
	unknown answer // for calls that are not known
	foreign answer // for the calls of another architecture
}

// Where the kernel puts what it knows of a call, see struct seccomp_data. Both
// architectures are little-endian: the low half of an argument comes first.
const (
	offsetCall      = 0
	offsetArch      = 4
	offsetArguments = 16
)

// program spells the filter out. For a call that it allows by its number alone,
// it reads nothing else, so that Linux (since 5.11) remembers the answer and runs
// the program no more.
func (f filter) program() []bpf.Instruction {
	code := []bpf.Instruction{
		load(offsetArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		say(f.foreign),
		load(offsetCall),
	}
	calls, rules := byCall(f.rules)
	for _, call := range calls {
		block := callBlock(rules[call])
		code = append(code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: skip(block)})
		code = append(code, block...)
	}
	for _, s := range f.known {
		code = append(code,
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: s.first, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: s.last, SkipTrue: 1},
			say(allowed))
	}
	return append(code, say(f.unknown))
}

// byCall groups rules by their call and keeps the order, of calls and of rules.
func byCall(all []rule) (calls []uint32, rules map[uint32][]rule) {
	rules = make(map[uint32][]rule)
	for _, r := range all {
		if rules[r.call] == nil {
			calls = append(calls, r.call)
		}
		rules[r.call] = append(rules[r.call], r)
	}
	return calls, rules
}

// callBlock answers one call for good.
func callBlock(rules []rule) []bpf.Instruction {
	var block []bpf.Instruction
	for _, r := range rules {
		block = append(block, ruleBlock(r)...)
	}
	return append(block, say(allowed))
}

// ruleBlock gives the rule's answer, or leads past its own end.
func ruleBlock(r rule) []bpf.Instruction {
	block := []bpf.Instruction{say(r.answer)}
	for i := len(r.when) - 1; i >= 0; i-- {
		block = append(r.when[i].test(skip(block)), block...)
	}
	return block
}

// test goes on after itself when the condition holds, and otherwise past the next
// instructions, as many as rest says.
func (c condition) test(rest uint8) []bpf.Instruction {
	code := []bpf.Instruction{load(offsetArguments + 8*uint32(c.argument))}
	if c.mask != whole {
		code = append(code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
	}
	met, unmet := uint8(0), rest
	if c.not {
		met, unmet = rest, 0
	}
	for i, v := range c.values {
		jump := bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(c.values)-1-i) + met}
		if i == len(c.values)-1 {
			jump.SkipFalse = unmet
		}
		code = append(code, jump)
	}
	return code
}

func load(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }

func say(a answer) bpf.Instruction { return bpf.RetConstant{Val: uint32(a)} }

// skip is how far a jump over the block goes. The blocks of our rules are far from
// the 255 that a jump can do; a longer one is a mistake in the rules, which every
// test of them meets.
func skip(block []bpf.Instruction) uint8 {
	if len(block) > 255 {
		panic("callfilter: too many rules for one call")
	}
	return uint8(len(block))
}
