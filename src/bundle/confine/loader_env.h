/* loader_env.h - variables that make a program run other code than its own.
 *
 * A package brings its code in its directory and names it in its command. A variable that makes the
 * dynamic loader, the C library, a shell or an interpreter load other code has no honest use in a
 * manifest and hides what will run from the person who reads the command, so manifests that set one
 * are refused. A person may set them in an entry: they take effect inside the sandbox only. */
#pragma once

#include "base/str.h"

bool env_loads_code(str name);

/* PYTHONPATH and NODE_PATH are lists of directories with modules. Packages need them for the
 * modules that they contain, so they may name directories of the package. */
bool env_is_module_path(str name);
