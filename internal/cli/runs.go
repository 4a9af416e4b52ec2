package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/rundir"
)

const (
	// researchFolder is where the runs of research are. Other programs like the
	// name too, so that what is no run in it is passed over.
	researchFolder = "runs"
	// latestRun is the word for the newest run.
	latestRun = "latest"

	noRunsHint = "ralph run starts one; -C DIR looks in another project"
)

// newRunReadCommands makes the commands that look at runs. None of them starts an
// engine, holds a run's lock or writes more than a request.
func newRunReadCommands(w World) []*cobra.Command {
	return []*cobra.Command{newListCommand(w), newShowCommand(w), newStopCommand(w), newPauseCommand(w), newVerifyCommand(w)}
}

// projectFlag adds the flag that says whose runs are meant.
func projectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVarP(project, "project", "C", "", "the project's folder, or one below it (the current folder)")
}

// runRoot is a folder of runs.
type runRoot struct {
	path string
	// shared means that others may keep folders of their own in it, so that what
	// has no state is passed over. Elsewhere it is a broken run.
	shared bool
}

// runPlace says where one run is.
type runPlace struct{ root, id string }

// openRun opens the run that is meant by an id, the beginning of one, or the end
// of one. No id, or "latest", is the newest run. The project is a folder, or one
// below it; "" is the current one.
func openRun(w World, project, id string) (*rundir.Reader, error) {
	place, err := findRun(w, project, id)
	if err != nil {
		return nil, err
	}
	return rundir.OpenReadOnly(place.root, place.id)
}

func findRun(w World, project, id string) (runPlace, error) {
	roots, err := runsRoots(w, project)
	if err != nil {
		return runPlace{}, err
	}
	if id == "" || id == latestRun {
		return newestRun(roots)
	}
	return resolveRun(roots, id)
}

// runsFolder is where the user wants runs to be kept. A project has no say in
// it, so that runs can be read however broken ralph.toml is.
func runsFolder(w World) string {
	user, wrongFile := userLayer(w)
	env, wrongEnv := config.FromEnv(w.Getenv)
	cfg, _ := config.Resolve(config.Sources{User: user, Env: env})
	if wrongFile != nil || wrongEnv != nil {
		fmt.Fprintf(w.Err, "ralph: note: your own configuration cannot be used; looking for runs in %s\n", cfg.Run.Folder)
	}
	return cfg.Run.Folder
}

// userLayer is the user's own file, which may be a link; nil where there is none.
func userLayer(w World) (*config.Layer, error) {
	path := config.UserFile(w.Getenv)
	if path == "" {
		return nil, nil
	}
	path, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return config.Load(path)
}

func under(project, folder string) string {
	if filepath.IsAbs(folder) {
		return filepath.Clean(folder)
	}
	return filepath.Join(project, filepath.FromSlash(folder))
}

// runsRoots returns the folders that hold the runs of a project, those that ralph
// itself protects first. The project is the nearest folder, from dir upwards, that
// has runs; none may have.
func runsRoots(w World, dir string) ([]runRoot, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding the project: %w", err)
	}
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return nil, usageError{fmt.Errorf("there is no folder %q", start), "-C takes the folder of a project"}
	}
	folder := runsFolder(w)
	for at := start; ; at = filepath.Dir(at) {
		if roots := rootsIn(at, folder); len(roots) > 0 {
			return roots, nil
		}
		if filepath.Dir(at) == at {
			none := under(start, folder)
			return []runRoot{{path: none}}, checkRunsFolder(none, start)
		}
	}
}

// rootsIn returns those folders of runs that a project has.
func rootsIn(project, folder string) []runRoot {
	var roots []runRoot
	own, research := under(project, folder), filepath.Join(project, researchFolder)
	if info, err := os.Stat(own); err == nil && info.IsDir() && checkRunsFolder(own, project) == nil {
		roots = append(roots, runRoot{path: own})
	}
	if shared := (runRoot{research, true}); own != research && shared.hasRuns() {
		roots = append(roots, shared)
	}
	return roots
}

// hasRuns tells whether any folder in the root is a run. An agent may have made
// the root, so that a link is none.
func (r runRoot) hasRuns() bool {
	if info, err := os.Lstat(r.path); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(r.path)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && r.holds(e.Name()) })
}

// holds tells whether a folder in the root is a run, broken or not.
func (r runRoot) holds(name string) bool {
	if !r.shared {
		return true
	}
	_, err := os.Lstat(filepath.Join(r.path, name, "state.json"))
	return err == nil
}

// listedRun is a run and where it is.
type listedRun struct {
	rundir.Summary
	root string
}

// listRuns returns the newest runs of all roots, or all with a limit of 0, newest
// first. Runs that cannot be read come before the others.
func listRuns(roots []runRoot, limit int) ([]listedRun, error) {
	var all []listedRun
	seen := map[string]bool{}
	for _, root := range roots {
		list, err := rundir.List(root.path, rundir.Filter{Limit: limit})
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if !seen[s.ID] && (s.Broken == "" || root.holds(s.ID)) {
				seen[s.ID] = true
				all = append(all, listedRun{s, root.path})
			}
		}
	}
	if len(roots) > 1 {
		slices.SortStableFunc(all, newestRunFirst)
	}
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all, nil
}

// newestRunFirst is the order of rundir.List.
func newestRunFirst(a, b listedRun) int {
	switch {
	case a.Broken != "" && b.Broken == "":
		return -1
	case a.Broken == "" && b.Broken != "":
		return 1
	}
	if order := b.StartedAt.Compare(a.StartedAt); order != 0 {
		return order
	}
	return strings.Compare(b.ID, a.ID)
}

// newestRun finds the newest run that can be read.
func newestRun(roots []runRoot) (runPlace, error) {
	var list []listedRun
	for _, limit := range []int{tableRuns, 0} { // hardly ever are so many broken
		var err error
		if list, err = listRuns(roots, limit); err != nil {
			return runPlace{}, err
		}
		for _, s := range list {
			if s.Broken == "" {
				return runPlace{s.root, s.ID}, nil
			}
		}
	}
	if len(list) > 0 {
		return runPlace{}, hinted{errors.New("no run can be read"), "ralph ls says why"}
	}
	return runPlace{}, usageError{fmt.Errorf("there are no runs in %s", roots[0].path), noRunsHint}
}

// resolveRun finds the one run that is meant by an id or a short one. A whole id
// is meant as it is, and of two that are the same the one in the first root.
func resolveRun(roots []runRoot, short string) (runPlace, error) {
	var found []runPlace
	for _, root := range roots {
		ids, err := root.matches(short)
		if err != nil {
			return runPlace{}, err
		}
		for _, id := range ids {
			if id == short {
				return runPlace{root.path, id}, nil
			}
			if !slices.ContainsFunc(found, func(p runPlace) bool { return p.id == id }) {
				found = append(found, runPlace{root.path, id})
			}
		}
	}
	switch len(found) {
	case 0:
		return runPlace{}, usageError{&rundir.NotFoundError{ID: short}, "ralph ls lists the runs"}
	case 1:
		return found[0], nil
	}
	return runPlace{}, ambiguous(short, found)
}

// matches returns the runs in the root that an id may mean.
func (r runRoot) matches(short string) ([]string, error) {
	id, err := rundir.Resolve(r.path, short)
	var none *rundir.NotFoundError
	var many *rundir.AmbiguousError
	ids := []string{id}
	switch {
	case errors.As(err, &none):
		return nil, nil
	case errors.As(err, &many):
		ids = many.Candidates
	case err != nil:
		return nil, err
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !r.holds(id) }), nil
}

func ambiguous(short string, found []runPlace) error {
	err := &rundir.AmbiguousError{Short: short}
	for _, place := range found {
		err.Candidates = append(err.Candidates, place.id)
	}
	slices.SortFunc(err.Candidates, func(a, b string) int { return strings.Compare(b, a) })
	return usageError{err, "write more of the id, or only what follows its last dash"}
}
