// The screens beside the chat, by name. Loaded together, when the first of them is opened.
// Parts that are loaded later all share the whole of the first load, so that it is one file and compresses as one.
import '../main'
import type { ScreenName } from '../base/router'
import type { App } from '../model/app'
import { appsScreen } from './apps'
import { contextScreen } from './context'
import { permissionsScreen } from './permissions'
import { settingsScreen } from './settings'
import { skillsScreen } from './skills'
import { loadStylesheet } from '../base/stylesheet'
import stylesheet from './screens.lazy.css'
import { usageScreen } from './usage'

export { openEndpointDialog } from './endpoint'
export { openImportDialog } from './import_servers'

/** Its styles are there. */
export const styled = loadStylesheet(new URL(stylesheet, import.meta.url).href)

export type Screen = (app: App, part: string | undefined) => HTMLElement

const SCREENS: Record<ScreenName, Screen> = {
  apps: appsScreen,
  skills: skillsScreen,
  usage: usageScreen,
  context: contextScreen,
  permissions: permissionsScreen,
  settings: settingsScreen,
}

export function openScreen(app: App, name: ScreenName, part: string | undefined): HTMLElement {
  return SCREENS[name](app, part)
}
