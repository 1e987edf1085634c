// Version and build of this server.
import { h } from '../base/dom'
import { count, duration } from '../base/time'
import type { App } from '../model/app'
import { facts, section } from './parts'

export function aboutPart(app: App): HTMLElement {
  const workspace = app.workspace.value!
  return h(
    'div',
    {},
    section(
      'About',
      facts([
        ['Version', `nb ${workspace.version}`],
        ['Store', workspace.store],
        ['Data', workspace.dataDir ?? ''],
        ['Running for', duration(workspace.status.uptime * 1000)],
        ['Tools', count(workspace.status.totalTools)],
      ]),
    ),
  )
}
