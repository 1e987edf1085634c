/* first_process.h - nb as the first process of a container.
 *
 * The first process of a PID namespace is given every orphan in it, and has to reap them. nb's
 * children are waited for by those who started them, so that their ends are not lost; hence
 * the first process does nothing but that: the work is done by a child of its own. It passes
 * signals on, and ends as the child does. Before there are any threads. */
#pragma once

/* Returns at once where this is not the first process; where it is, in the child. */
void first_process_step_back(void);
