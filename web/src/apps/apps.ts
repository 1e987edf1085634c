// The interfaces of tools (MCP Apps). This part of the page is loaded when the first of them is shown.
// Parts that are loaded later all share the whole of the first load, so that it is one file and compresses as one.
import '../main'
import type { App } from '../model/app'
import { saveDraft } from '../model/drafts'
import { h } from '../base/dom'
import { go } from '../base/router'
import address from './apps.lazy.css'
import type { PageActions } from './requests'

export { AppStage } from './stage'

let styles: Promise<void> | null = null

/** Loads the stylesheet, once. */
export function loadStyles(): Promise<void> {
  styles ??= new Promise((resolve) => {
    const link = h('link', { rel: 'stylesheet', href: new URL(address, import.meta.url).href })
    link.addEventListener('load', () => resolve())
    link.addEventListener('error', () => resolve()) // plain is better than nothing
    document.head.append(link)
  })
  return styles
}

export function pageActions(app: App, prefill: (text: string) => void): PageActions {
  return {
    prefill,
    startChat: (prompt) => {
      saveDraft(null, prompt)
      app.newChat()
    },
    openConversation: (id) => {
      if (/^conv_\w{1,64}$/.test(id)) go({ name: 'conversation', id })
    },
    navigate: () => {},
    openApp: () => {},
  }
}
