/* first_process.h - nb as the first process of a container.
 *
 * The first process of a PID namespace becomes the parent of every orphan in it and has to reap
 * them. But nb waits for each of its children where the child was started, and a general reaper
 * would take their exit statuses away. So the first process does nothing but reap: it forks, the
 * child does the work of nb, signals are passed on to the child, and the first process ends with
 * the status of the child. Call it before any thread is started. */
#pragma once

/* Returns immediately when this is not the first process; otherwise returns in the child. */
void first_process_step_back(void);
