//go:build race

package loop

// raceDetector says that everything is slow.
const raceDetector = true
