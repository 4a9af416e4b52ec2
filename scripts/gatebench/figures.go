package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

func sorted[T cmp.Ordered](list []T) []T { return slices.Sorted(slices.Values(list)) }

// at is a percentile of a sorted list.
func at[T any](list []T, percent int) T { return list[min(len(list)-1, len(list)*percent/100)] }

func median[T cmp.Ordered](list []T) T { return at(sorted(list), 50) }

// pairs are the differences turn by turn.
func pairs(list, base []time.Duration) []time.Duration {
	out := make([]time.Duration, len(list))
	for i := range list {
		out[i] = list[i] - base[i]
	}
	return out
}

// ratios are those turn by turn.
func ratios(list, base []float64) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		out[i] = list[i] / base[i]
	}
	return out
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }
