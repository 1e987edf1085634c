// Example apps of the MCP Apps project, as published on npm: the fast ones. All of them: tests/interop.
import path from 'node:path'
import { SRC_DIR, test } from '../support/tap.mjs'
import { appOf, exercise } from '../support/published_apps.mjs'

for (const name of ['basic-vanillajs', 'budget-allocator', 'debug', 'system-monitor'])
    test(`${name} comes up, shows its result, reacts, follows the theme and survives a reload`, () =>
        exercise(appOf(name), path.join(SRC_DIR, 'node_modules')))
