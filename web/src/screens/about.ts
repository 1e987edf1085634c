// Version and build of this server.
import { h } from '../base/dom'
import { count, duration } from '../base/time'
import { t } from '../base/words'
import type { App } from '../model/app'
import { facts, section } from './parts'

export function aboutPart(app: App): HTMLElement {
  const workspace = app.workspace.value!
  return h(
    'div',
    {},
    section(
      t('About'),
      facts([
        [t('Version'), `nb ${workspace.version}`],
        [t('Store'), workspace.store],
        [t('Data'), workspace.dataDir ?? ''],
        [t('Running for'), duration(workspace.status.uptime * 1000)],
        [t('Tools'), count(workspace.status.totalTools)],
      ]),
    ),
  )
}
