/* package.h - unpacked bundles on disk, each version in a directory that never changes.
 *
 *   {package_dir}/<scope>-<name>/.mpak-meta.json    the current version, and since when
 *   {package_dir}/<scope>-<name>/<version>-<sha>/   its files
 *   {package_dir}/_local/<sha>/                     files of an archive that an entry's path names
 *
 * A new version is unpacked beside the old one, so a running server keeps its files. Blocking: for
 * pool threads and commands. */
#pragma once

#include "bundle/package/manifest.h"

struct package {
    str name;        /* "@scope/package" */
    const char *dir; /* of the files; NULL when not cached */
    str version, sha256;
    int64_t pulled_ms, checked_ms; /* epoch; time of the download and of the last comparison */
    int64_t trust_score;           /* -1 = unknown */
};

/* The cached version of a package; dir is NULL when there is none. Only I/O errors fail. */
int package_find(struct arena *a, const char *package_dir, str name, struct package *ret,
                 struct err *e);

/* A path for the download of this package; creates the directory. */
int package_download_path(struct arena *a, const char *package_dir, str name, const char **ret,
                          struct err *e);

/* Checks the checksum of a downloaded archive, unpacks it and makes it the current version; the
 * archive is removed in any case. p: name, version, sha256 and trust_score are set; this sets dir
 * and the times. -EINVAL: the checksum is wrong, or it is not a bundle. */
int package_install(struct arena *a, const char *package_dir, const char *archive,
                    struct package *p, struct err *e);

/* The directory of an archive's files; unpacks them if necessary. */
int package_of_archive(struct arena *a, const char *package_dir, const char *archive,
                       const char **ret_dir, struct err *e);

/* The directory of the files of an entry's package: NULL when they are not installed, or when the
 * entry has no package. */
int package_dir_of(struct arena *a, const char *package_dir, const struct bundle_entry *entry,
                   const char **ret, struct err *e);

/* Reads manifest.json in `dir`; messages begin with its path. */
int package_manifest(struct arena *a, const char *dir, struct manifest *ret, struct err *e);
