// Package project looks at a folder and says what is in it: languages, build
// tools, the command that validates the work, the hosts that its dependencies
// come from, and the packages that a sandbox image needs.
//
// Looking only reads, through an os.Root, a bounded number of entries and bytes: the
// folder may be anybody's repository. It runs nothing. What it writes into a
// command line is fixed text, or names of plain characters.
//
// Create adds the files of a new project, all or none, and overwrites nothing.
package project
