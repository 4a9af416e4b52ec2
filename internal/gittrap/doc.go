// Package gittrap holds what a hostile agent can leave in a git work tree for the
// host to fall into. It is test support: the product imports none of it.
//
// The claim to prove is that ralph's host never executes, follows or believes what
// an agent planted. The proof has two halves, and needs both:
//
//   - Every trap is live. The tests of this package plant each one in a fresh
//     repository and then do what an ordinary user does there with plain git or
//     plain tools; the canary must appear. A trap that cannot bite proves nothing.
//   - No trap bites ralph. Tests elsewhere plant the same traps from inside a
//     sandbox, let ralph do on the host all that it ever does with a work tree or
//     with commits from one, and require that no canary appeared.
//
// [Traps] lie in the work tree and in its git directory. [CraftedCommits] lie in
// the objects themselves, and would cross with them: paths that leave the tree,
// objects that are malformed, huge or endless. [BundleScript] carries those over as
// a hostile agent would, who need not use an honest git to write a bundle.
//
// Some traps that one would expect are missing because git refuses them by itself,
// as checked with 2.39: uploadpack.packObjectsHook is obeyed in the user's own
// configuration only; an alias cannot shadow a command of git; init.templateDir is
// not read from a repository; a command or an option in .gitmodules is refused. (The
// last are among the crafted commits, for an importer should not even take them in.)
package gittrap
