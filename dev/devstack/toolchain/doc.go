// Package toolchain provides the executables of the development stack: built on demand from the pinned tool modules
// under tools/ into a cache outside the repository, by nothing but the go command.
//
// The cache is $OSTINATO_CACHE, or ostinato in the user's cache folder. Executables of one tool module lie in
// tools/<module>-<key>/bin, where the key covers the module's pins and the build flags, so that a changed pin is a new
// folder and several checkouts share one cache. KUBEBUILDER_ASSETS names a folder of executables to use instead, and of what is not built
// yet, one on PATH is taken if it is of the pinned minor release.
package toolchain
