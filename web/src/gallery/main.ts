// The gallery: every component of the page in each of its states, without a server, for people who work on the page.
// `scripts/build-web web OUT DEPFILE --gallery` adds it as gallery.html; it is never part of the binary.
import { iconButton, textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { checkbox, field, form, input, select, textarea } from '../base/form'
import { icon, ICONS } from '../base/icons'
import { openMenu } from '../base/menu'
import { loadStylesheet } from '../base/stylesheet'
import { toast, toasts } from '../base/toast'
import { loadWords } from '../base/words'
import type { Item, RunItem, UserItem } from '../model/items'
import { applyPreferences, nextTheme } from '../model/preferences'
import { Transcript } from '../model/transcript'
import screensCss from '../screens/screens.lazy.css'
import { badge, empty, facts, lead, section, table } from '../screens/parts'
import { PersonView, type PersonProps } from '../views/person'
import { RunView, type RunActions } from '../views/run'
import { skeleton } from '../views/skeleton'
import { cases, type Case } from './fixtures'

const ME = 'usr_me'
const log: string[] = [] // what somebody has done here, for tests
Object.assign(globalThis, { galleryLog: log })

const note = (what: string) => () => void log.push(what)

const runActions: RunActions = {
  onRetry: note('retry'),
  onRegenerate: note('again'),
  onFork: note('fork'),
  onLink: note('link'),
  mayAllowAll: true,
  onAnswer: (answer) => log.push(`answer ${JSON.stringify(answer)}`),
  onInput: note('input'),
  noAnswer: () => null,
  otherName: (id) => (id && id !== ME ? 'Ada' : null),
  nested: () => h('div'),
  apps: null,
}

function personProps({ userId, displayName }: UserItem): PersonProps {
  return {
    isOwn: userId === ME,
    name: displayName ?? 'Me',
    hasLabel: true,
    isContinued: false,
    colour: 1,
    addressOf: () => '',
    onRetry: note('retry'),
    onEdit: note('edit'),
    onFork: note('revise'),
    isBranching: false,
    siblings: [],
    onBranch: note('branch'),
    onReword: null,
    onWithdraw: null,
    onLink: note('link'),
  }
}

function viewOf(item: Item): HTMLElement {
  if (item.kind === 'run') {
    const view = new RunView()
    view.update(item as RunItem, runActions)
    return view.element
  }
  const view = new PersonView()
  view.update(item as UserItem, personProps(item as UserItem))
  return view.element
}

function shown({ name, events }: Case): HTMLElement {
  const transcript = new Transcript()
  for (const event of events) transcript.apply(event)
  return caseOf(name, h('div', { class: 'messages' }, ...transcript.items.map(viewOf)))
}

function caseOf(name: string, ...children: (HTMLElement | null)[]): HTMLElement {
  return h('div', { class: 'gallery-case', data: { case: name } }, h('h3', {}, name), ...children)
}

function part(title: string, ...children: HTMLElement[]): HTMLElement {
  return h('section', { class: 'gallery-part' }, h('h2', {}, title), ...children)
}

function buttons(): HTMLElement {
  const menu = textButton('A menu', () =>
    openMenu(
      menu,
      [
        { label: 'With an icon', icon: 'edit', run: note('menu') },
        { label: 'With a hint', hint: 'Ctrl K', run: note('menu') },
        { label: 'Chosen', isChecked: true, run: note('menu') },
        { label: 'Dangerous', icon: 'trash', isDangerous: true, run: note('menu') },
      ],
      'A menu',
    ),
  )
  const disabled = textButton('Disabled', note('never'))
  disabled.disabled = true
  return h(
    'div',
    { class: 'gallery-row' },
    textButton('Plain', note('plain')),
    textButton('Primary', note('primary'), { class: 'button is-primary' }),
    textButton('With an icon', note('icon'), { icon: 'plus' }),
    disabled,
    iconButton('edit', 'Only an icon', note('icon')),
    copyButton('Copy', () => 'copied'),
    menu,
    textButton('A dialog', () => openDialog('A dialog').body.append(form([field('Title', input({ value: 'Text' }))], 'Save', async () => {}))),
    textButton('A toast', () => toast('Something happened.', { label: 'Undo', run: note('undo') })),
  )
}

function controls(): HTMLElement {
  return form(
    [
      field('A line', input({ value: 'Text' }), 'A hint below the field.'),
      field('Several lines', textarea({ rows: 3, value: 'Text\nof two lines' })),
      field('A choice', select([{ value: 'a', label: 'First' }, { value: 'b', label: 'Second' }], 'b')),
      checkbox('A box', true)[0],
    ],
    'Save',
    async () => {
      throw new Error('The server refused it.')
    },
  )
}

function screens(): HTMLElement {
  return section(
    'A section of a screen',
    lead('What it is for, in a sentence.'),
    h('div', { class: 'gallery-row' }, badge('plain'), badge('ok', 'ok'), badge('warning', 'warn'), badge('bad', 'bad')),
    facts([['Name', 'nb'], ['Version', '0.1.0']]),
    table(['Model', 'Calls', 'Cost'], [['First', '12', '$0.10'], ['Second', '1,204', '$12.34']], { numbers: [1, 2] }),
    empty('There is nothing yet.'),
  )
}

function icons(): HTMLElement {
  const shapes = ICONS.map((name) => h('span', { class: 'gallery-icon', title: name }, icon(name)))
  return h('div', { class: 'gallery-row' }, ...shapes)
}

applyPreferences()
await Promise.all([loadWords(), loadStylesheet(new URL(screensCss, import.meta.url).href)])
document.getElementById('gallery')!.append(
  h(
    'main',
    { class: 'gallery' },
    h('header', { class: 'gallery-head' }, h('h1', {}, 'Gallery of the page'), textButton('Change the theme', nextTheme, { icon: 'moon' })),
    part('Buttons, menus, dialogs, toasts', buttons()),
    part('Forms', controls()),
    part('Parts of screens', screens()),
    part('Icons', icons()),
    part('Loading', skeleton()),
    part('Messages', ...cases.map(shown)),
    toasts(),
  ),
)
