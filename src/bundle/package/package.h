/* package.h - bundles unpacked on disk, each version in a directory that never changes.
 *
 *   {package_dir}/<scope>-<name>/.mpak-meta.json    which version counts, and since when
 *   {package_dir}/<scope>-<name>/<version>-<sha>/   its files
 *   {package_dir}/_local/<sha>/                     those of an archive that a path names
 *
 * A new version comes beside the old one, so a running server keeps its files. Blocking: for
 * pool threads and commands. */
#pragma once

#include "bundle/package/manifest.h"

struct package {
    str name;        /* "@scope/package" */
    const char *dir; /* of the files; NULL when there are none */
    str version, sha256;
    int64_t pulled_ms, checked_ms; /* epoch; when it was downloaded and last compared */
    int64_t trust_score;           /* -1 = unknown */
};

/* The cached version of a package; dir NULL when there is none. Only I/O errors fail. */
int package_find(struct arena *a, const char *package_dir, str name, struct package *ret,
                 struct err *e);

/* A name for a file that is to be downloaded for this package; makes the directory. */
int package_download_path(struct arena *a, const char *package_dir, str name, const char **ret,
                          struct err *e);

/* Checks the sum of a downloaded archive, unpacks it and makes it the version that counts; the
 * archive is removed in any case. p: name, version, sha256 and trust_score are set; dir and the
 * times are filled in. -EINVAL: the sum is wrong, or it is no bundle. */
int package_install(struct arena *a, const char *package_dir, const char *archive,
                    struct package *p, struct err *e);

/* The registry was asked, and this is still the latest. */
int package_checked(const char *package_dir, struct package *p, struct err *e);

/* The directory of an archive's files, unpacked unless it is there already. */
int package_of_archive(struct arena *a, const char *package_dir, const char *archive,
                       const char **ret_dir, struct err *e);

/* The directory of the files of an entry's package: NULL when they are not here, or the entry is of
 * a kind that has none. */
int package_dir_of(struct arena *a, const char *package_dir, const struct bundle_entry *entry,
                   const char **ret, struct err *e);

/* Reads manifest.json in `dir`; messages begin with its path. */
int package_manifest(struct arena *a, const char *dir, struct manifest *ret, struct err *e);
