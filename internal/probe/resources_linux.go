package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// resourceProbes use up what a sandbox may have. The verdict is about limits:
// blocked means that the sandbox was held to them. None runs where the host's
// process can be seen, for there it would be the host that suffers.
func resourceProbes() []Probe {
	return []Probe{
		{"fork-bomb", "starts processes that start processes until it is stopped", Resources, inside(forkBomb)},
		{"zombies", "leaves dead children unclaimed until it is stopped", Resources, inside(zombies)},
		{"memory-hog", "fills memory until it is stopped", Resources, inside(memoryHog)},
		{"memory-files", "fills memory by way of files in /tmp and /dev/shm", Resources, inside(memoryFiles)},
		{"disk-filler", "fills the workspace's disk until it is stopped", Resources, inside(diskFiller)},
		{"disk-reserve", "reserves disk in the workspace without writing to it", Resources, inside(diskReserve)},
		{"disk-mapped", "fills the workspace's disk through memory that is mapped to files", Resources, inside(diskMapped)},
		{"sparse-file", "makes a file in the workspace that claims to hold 1 PiB", Resources, inside(sparseFile)},
		{"many-files", "creates 100,000 files in the workspace", Resources, inside(manyFiles)},
		{"deep-path", "nests folders far beyond the longest path a program can name", Resources, inside(deepPath)},
		{"many-descriptors", "opens files, pipes, watches and polls until it is stopped", Resources, inside(manyDescriptors)},
		{"huge-arguments", "starts a program with arguments and environment of 64 MiB", Resources, inside(hugeArguments)},
		{"output-flood", "writes 256 MiB to standard output and standard error", Resources, inside(outputFlood)},
		{"kill-everything", "kills every process that it may signal", Resources, inside(killEverything)},
		{IgnoreDeadline, "ignores all signals that it can and computes for ever", Resources, inside(ignoreDeadline)},
		{LeaveDaemon, "leaves processes in sessions of their own, one of them stopped, that outlive the command", Resources, inside(leaveDaemon)},
	}
}

// inside refuses to run a probe that would hurt, unless this is a sandbox: the
// host's process is alive and cannot be seen from here.
func inside(run func(Facts) Result) func(Facts) Result {
	return func(f Facts) Result {
		if f.HostPID == 0 || f.Secret == "" || f.Workspace == "" {
			return failed("not tried: the facts do not tell a sandbox from the host")
		}
		if f.hasSecret(procPath(f.HostPID, "cmdline")) == nil {
			return breach("not tried: a process of the host can be seen from here")
		}
		return run(f)
	}
}

// survived is for a probe that went beyond a limit. An engine that watches
// rather than refuses gets a while to end the sandbox; then it is a breach.
func survived(format string, args ...any) Result {
	time.Sleep(10 * time.Second)
	return breach(format, args...)
}

// memoryHog touches every page, since memory is only taken when it is used.
func memoryHog(f Facts) Result {
	if f.MaxMemory == 0 {
		return notApplicable("the sandbox has no limit of memory")
	}
	const chunk = 4 << 20
	for taken := int64(0); taken < 4*f.MaxMemory; taken += chunk {
		block, err := unix.Mmap(-1, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return within("memory", taken, f.MaxMemory, err)
		}
		for i := 0; i < chunk; i += 4096 {
			block[i] = byte(i>>12) | 1
		}
	}
	return survived("took %d MiB of memory, the limit is %d MiB", 4*f.MaxMemory>>20, f.MaxMemory>>20)
}

// within is for a probe that was refused more: the question is when.
func within(what string, taken, limit int64, err error) Result {
	if taken > limit+limit/4 {
		return breach("took %d MiB of %s, the limit is %d MiB, before: %v", taken>>20, what, limit>>20, err)
	}
	return blocked("refused at %d MiB of %s, the limit is %d MiB: %v", taken>>20, what, limit>>20, err)
}

func memoryFiles(f Facts) Result {
	if f.MaxMemory == 0 {
		return notApplicable("the sandbox has no limit of memory")
	}
	var refusals []error
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		taken, err := fill(dir, 4*f.MaxMemory)
		if err == nil {
			return survived("wrote %d MiB to %s, the limit of memory is %d MiB", taken>>20, dir, f.MaxMemory>>20)
		}
		refusals = append(refusals, fmt.Errorf("%s at %d MiB: %w", dir, taken>>20, err))
	}
	return blocked("refused: %v", errors.Join(refusals...))
}

func diskFiller(f Facts) Result {
	if f.MaxDisk == 0 {
		return notApplicable("the sandbox has no limit of disk")
	}
	taken, err := fill(f.Workspace, 16*f.MaxDisk)
	if err != nil {
		return within("disk", taken, f.MaxDisk, err)
	}
	return survived("wrote %d MiB to the workspace, the limit is %d MiB", taken>>20, f.MaxDisk>>20)
}

// fill writes files of 8 MiB, so that a limit of the size of one file is not
// what stops it.
func fill(dir string, upTo int64) (taken int64, err error) {
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7)
	}
	for taken < upTo {
		file, err := os.Create(filepath.Join(dir, newName()))
		if err != nil {
			return taken, err
		}
		for range 8 {
			n, err := file.Write(block)
			taken += int64(n)
			if err != nil {
				file.Close()
				return taken, err
			}
		}
		if err := file.Close(); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// diskReserve takes disk without writing a byte. It uses many files, and
// measures what they take: the size of a sparse file is no harm.
func diskReserve(f Facts) Result {
	return f.takeDisk("reserved", func(file *os.File, size int64) error {
		return unix.Fallocate(int(file.Fd()), 0, 0, size)
	})
}

// diskMapped writes through memory, which no counter of written bytes may see.
func diskMapped(f Facts) Result {
	return f.takeDisk("wrote through memory", func(file *os.File, size int64) error {
		if err := file.Truncate(size); err != nil {
			return err
		}
		pages, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		for i := 0; i < len(pages); i += 4096 {
			pages[i] = 1
		}
		return errors.Join(unix.Msync(pages, unix.MS_SYNC), unix.Munmap(pages))
	})
}

// takeDisk takes many times the limit in files that are each below it. The files
// are large, so that it is over before somebody who looks now and then notices.
func (f Facts) takeDisk(how string, take func(file *os.File, size int64) error) Result {
	if f.MaxDisk == 0 {
		return notApplicable("the sandbox has no limit of disk")
	}
	size := f.MaxDisk / 2
	taken := int64(0)
	for taken < 32*f.MaxDisk {
		file, err := os.Create(filepath.Join(f.Workspace, newName()))
		if err != nil {
			return within("disk", taken, f.MaxDisk, err)
		}
		err = take(file, size)
		var st unix.Stat_t
		if err := unix.Fstat(int(file.Fd()), &st); err != nil {
			return failed("measuring a file: %v", err)
		}
		file.Close()
		taken += st.Blocks * 512
		if err != nil {
			return within("disk", taken, f.MaxDisk, err)
		}
		if st.Blocks == 0 {
			return blocked("a file of %d MiB takes no disk", size>>20)
		}
	}
	return survived("%s %d MiB, the limit is %d MiB", how, taken>>20, f.MaxDisk>>20)
}

// sparseFile measures what the file takes, since its size alone is no harm.
func sparseFile(f Facts) Result {
	path := filepath.Join(f.Workspace, newName())
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return failed("creating a file: %v", err)
	}
	refusal := os.Truncate(path, 1<<50)
	if refusal != nil {
		refusal = os.Truncate(path, 1<<40)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return failed("measuring the file: %v", err)
	}
	if st.Blocks > 1024 {
		return breach("a file without content takes %d KiB", st.Blocks/2)
	}
	return blocked("refusal: %v; size %d GiB, of which %d KiB are taken", refusal, st.Size>>30, st.Blocks/2)
}

func manyFiles(f Facts) Result {
	dir := filepath.Join(f.Workspace, newName())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return failed("making a folder: %v", err)
	}
	const count = 100_000
	for i := range count {
		fd, err := unix.Open(fmt.Sprintf("%s/%d", dir, i), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return blocked("refused after %d files: %v", i, err)
		}
		unix.Close(fd)
	}
	return blocked("made %d files, all of them in the workspace", count)
}

// deepPath changes into each new folder, so that no path gets too long for it.
func deepPath(f Facts) Result {
	name := make([]byte, 200)
	for i := range name {
		name[i] = 'd'
	}
	if err := os.Chdir(f.Workspace); err != nil {
		return failed("entering the workspace: %v", err)
	}
	start := newName()
	if err := errors.Join(unix.Mkdir(start, 0o755), unix.Chdir(start)); err != nil {
		return failed("making a folder: %v", err)
	}
	const depth = 300
	for i := range depth {
		if err := unix.Mkdir(string(name), 0o755); err != nil {
			return blocked("refused at depth %d: %v", i, err)
		}
		if err := unix.Chdir(string(name)); err != nil {
			return blocked("refused at depth %d: %v", i, err)
		}
	}
	return blocked("made folders %d deep, all of them in the workspace", depth)
}
