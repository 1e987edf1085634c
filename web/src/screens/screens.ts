// The screens beside the chat, by name. Loaded together, when the first of them is opened.
import { h } from '../base/dom'
import type { ScreenName } from '../base/router'
import type { App } from '../model/app'

export type Screen = (app: App, part: string | undefined) => HTMLElement

const SCREENS: Partial<Record<ScreenName, Screen>> = {}

export function openScreen(app: App, name: ScreenName, part: string | undefined): HTMLElement {
  const screen = SCREENS[name]
  return screen ? screen(app, part) : h('section', { class: 'screen' })
}
