// What apps share: their stylesheet, and what they can have the page do.
import { go } from '../base/router'
import { loadStylesheet } from '../base/stylesheet'
import type { App } from '../model/app'
import { placementAt, placements, routeOf } from '../model/placements'
import address from './apps.lazy.css'
import type { PageActions } from './requests'

/** Loads the stylesheet, once. */
export function loadStyles(): Promise<void> {
  return loadStylesheet(new URL(address, import.meta.url).href)
}

export function pageActions(app: App, prefill: (text: string) => void): PageActions {
  return {
    prefill,
    startChat: (prompt) => app.startChat(prompt),
    openConversation: (id) => {
      if (/^conv_\w{1,64}$/.test(id)) go({ name: 'conversation', id })
    },
    navigate: (route) => {
      const wanted = route.replace(/^\/*(app\/)?/, '')
      if (placementAt(wanted)) go({ name: 'app', route: wanted })
    },
    openApp: (name) => {
      const found = placements.value.find((one) => one.app === name && one.slot !== 'settings')
      if (found) go({ name: 'app', route: routeOf(found) })
    },
  }
}
