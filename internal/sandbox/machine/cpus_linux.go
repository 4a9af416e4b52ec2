package machine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ChooseCPUs picks n processors of those this process may use, or none for no
// limit. The first is random, so that sandboxes do not all sit on the same ones.
func ChooseCPUs(n float64) []int {
	var allowed unix.CPUSet
	if n <= 0 || unix.SchedGetaffinity(0, &allowed) != nil || int(n) >= allowed.Count() {
		return nil
	}
	var all []int
	for cpu := range 8192 {
		if allowed.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	chosen := make([]int, int(n))
	first := rand.IntN(len(all))
	for i := range chosen {
		chosen[i] = all[(first+i)%len(all)]
	}
	return chosen
}

// PinCPUs binds every thread of this process to the listed processors. Threads
// and processes started later inherit the binding.
func PinCPUs(list []int) error {
	if len(list) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range list {
		set.Set(cpu)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return fmt.Errorf("listing threads: %w", err)
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("binding to processors %v: %w", list, err)
		}
	}
	return nil
}

// FormatCPUs writes a list of processors for ParseCPUs.
func FormatCPUs(list []int) string {
	var words []string
	for _, cpu := range list {
		words = append(words, strconv.Itoa(cpu))
	}
	return strings.Join(words, ",")
}

// ParseCPUs reads a list of processors.
func ParseCPUs(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var cpus []int
	for word := range strings.SplitSeq(list, ",") {
		cpu, err := strconv.Atoi(word)
		if err != nil || cpu < 0 {
			return nil, fmt.Errorf("%q is not a list of processors", list)
		}
		cpus = append(cpus, cpu)
	}
	return cpus, nil
}
