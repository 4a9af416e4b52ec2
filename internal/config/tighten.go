package config

import (
	"cmp"
	"slices"
	"strings"
)

// rule says what remains of a project's value. base is what holds without the
// project; said tells whether that is the user's own word and not a default.
type rule[T any] func(base T, said bool, project T) T

// free lets the project decide.
func free[T any](_ T, _ bool, project T) T { return project }

// atMost makes the user's limit an upper bound.
func atMost[T cmp.Ordered](base T, said bool, project T) T {
	if said {
		return min(base, project)
	}
	return project
}

// atMostOr is atMost with a bound of ours where the user has said nothing: a
// stranger's file must not take more of a machine than its owner expects.
func atMostOr[T cmp.Ordered](ours T) rule[T] {
	return func(base T, said bool, project T) T {
		if said {
			return min(base, project)
		}
		return min(ours, project)
	}
}

// atMostOrNone is atMost where zero means that there is no limit.
func atMostOrNone[T ~int | ~int64](base T, said bool, project T) T {
	if said && base != 0 && (project == 0 || project > base) {
		return base
	}
	return project
}

// notAlone keeps a project from choosing value, unless it holds anyway.
func notAlone[T comparable](value T) rule[T] {
	return func(base T, _ bool, project T) T {
		if project == value {
			return base
		}
		return project
	}
}

// stays keeps the user's word when it is value.
func stays[T comparable](value T) rule[T] {
	return func(base T, said bool, project T) T {
		if said && base == value {
			return base
		}
		return project
	}
}

// usersWord lets the user's word stand, whatever it is.
func usersWord[T any](base T, said bool, project T) T {
	if said {
		return base
	}
	return project
}

// usersWordOr lets the user's word stand, too, unless the project says value.
func usersWordOr[T comparable](value T) rule[T] {
	return func(base T, said bool, project T) T {
		if said && project != value {
			return base
		}
		return project
	}
}

// usersOnly never takes a project's value.
func usersOnly[T any](base T, _ bool, _ T) T { return base }

// officialUpstream lets a project name a provider's own address and no other:
// the user's key goes there.
func officialUpstream(base string, said bool, project string) string {
	official := []string{"https://api.anthropic.com", "https://api.openai.com"}
	if !said && slices.Contains(official, strings.TrimSuffix(project, "/")) {
		return project
	}
	return base
}

// notWider takes words in order, narrow to wide. A default binds as well.
func notWider(words ...string) rule[string] {
	return func(base string, _ bool, project string) string {
		return words[min(slices.Index(words, base), slices.Index(words, project))]
	}
}

// noWeakerEngine lets a project replace the user's engine by a stronger one.
// "auto" is no promise of strength, so it replaces nothing that was named.
func noWeakerEngine(base string, said bool, project string) string {
	named := said && base != EngineAuto
	if project == EngineHost || (named && engineStrength(project) < engineStrength(base)) {
		return base
	}
	return project
}

func engineStrength(engine string) int {
	return slices.Index([]string{EngineHost, EngineAuto, "bubblewrap", "podman", "docker", "gvisor", "docker-sandbox"}, engine)
}
