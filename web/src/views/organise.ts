// Several conversations at once, and the trash. Loaded when somebody asks for one of them.
import '../main'
import { messageOf } from '../api/client'
import { deleteConversation, listTrash, markConversation, purgeConversation, restoreConversation } from '../api/conversations'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h, setText } from '../base/dom'
import { form } from '../base/form'
import { fullTime, shortTime } from '../base/time'
import { toast } from '../base/toast'
import { t, tn } from '../base/words'
import { titleOf } from '../model/actions'
import type { App } from '../model/app'
import type { ConversationList } from './rows'

const AT_ONCE = 4 // requests

type Act = (id: string) => Promise<unknown>

/** Does it for each, a few at a time. Returns those that it worked for. */
async function each(ids: string[], run: Act): Promise<string[]> {
  const waiting = [...ids]
  const done: string[] = []
  let failure = ''
  const work = async () => {
    for (let id = waiting.shift(); id; id = waiting.shift()) {
      try {
        await run(id)
        done.push(id)
      } catch (error) {
        failure = messageOf(error)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  if (failure) {
    const values = { total: ids.length, why: failure }
    toast(tn(ids.length - done.length, '{n} of {total} failed. {why}', '{n} of {total} failed. {why}', values))
  }
  return done
}

/** What can be done with the selected ones. It is gone when the selection ends. */
export function selectionBar(app: App, list: ConversationList): HTMLElement {
  const { selection } = list
  const count = h('span', { class: 'selection-count', role: 'status' })
  const isArchive = app.conversations.filter === 'archived'
  const run = async (action: Act, undo: Act, describe: (n: number) => string) => {
    const ids = [...(selection.value ?? [])]
    selection.value = null
    const done = await each(ids, action)
    app.conversations.touch()
    if (done.length === 0) return
    const back = async () => {
      await each(done, undo)
      app.conversations.touch()
    }
    toast(describe(done.length), { label: t('Undo'), run: () => void back() })
  }
  const putAway = (isArchived: boolean) => (id: string) => markConversation(id, { isArchived })
  const putAwayText = (n: number) =>
    isArchive
      ? tn(n, 'Took out {n} conversation', 'Took out {n} conversations')
      : tn(n, 'Archived {n} conversation', 'Archived {n} conversations')
  const deletedText = (n: number) => tn(n, 'Deleted {n} conversation', 'Deleted {n} conversations')
  const archive = textButton(
    isArchive ? t('Take out') : t('Archive'),
    () => void run(putAway(!isArchive), putAway(isArchive), putAwayText),
  )
  const remove = textButton(t('Delete'), () => void run(deleteConversation, restoreConversation, deletedText), {
    class: 'button is-dangerous',
  })
  const end = textButton(t('Cancel'), () => (selection.value = null))
  const bar = h('div', { class: 'selection-bar', role: 'group', aria: { label: t('Selected conversations') } })
  bar.append(count, archive, remove, end)
  const stop = selection.watch((ids) => {
    if (!ids) {
      stop()
      bar.remove()
      return
    }
    setText(count, tn(ids.size, '{n} selected', '{n} selected'))
    const mayAll = [...ids].every((id) => app.conversations.find(id)?.may.delete)
    archive.disabled = ids.size === 0
    remove.disabled = ids.size === 0 || !mayAll
    remove.title = mayAll ? '' : t('Only your own conversations can be deleted.')
  })
  return bar
}

/** There is no way back from this, so it asks. */
function openPurge(title: string, purge: () => Promise<void>): void {
  const dialog = openDialog(t('Delete permanently'))
  const submit = async () => {
    await purge()
    dialog.close()
  }
  dialog.body.append(form([h('p', { dir: 'auto' }, t('“{title}” cannot be restored after that.', { title }))], t('Delete permanently'), submit))
}

/** What was deleted, with a way back. */
export function openTrash(app: App): void {
  const dialog = openDialog(t('Trash'), 'is-wide')
  const note = h('p', { class: 'sheet-note', role: 'status' }, t('Loading…'))
  const list = h('ul', { class: 'trash-list' })
  dialog.body.append(note, list)
  const describe = () =>
    setText(
      note,
      list.children.length === 0
        ? t('The trash is empty. Deleted conversations are kept here for 7 days.')
        : t('Deleted conversations are kept for 7 days.'),
    )
  listTrash().then(
    ({ conversations: all }) => {
      for (const one of all) {
        const restore = textButton(t('Restore'), () => void bringBack())
        const at = one.deletedAt ?? one.updatedAt
        const purge = textButton(t('Delete permanently'), () => openPurge(titleOf(one), destroy), { class: 'button is-dangerous' })
        const row = h(
          'li',
          {},
          h('span', { class: 'trash-title', dir: 'auto' }, titleOf(one)),
          h('time', { title: fullTime(at) }, shortTime(at)),
          restore,
          purge,
        )
        const remove = () => {
          row.remove()
          describe()
        }
        const bringBack = async () => {
          const done = await each([one.id], restoreConversation)
          if (done.length === 0) return
          remove()
          app.conversations.touch()
        }
        const destroy = async () => {
          await purgeConversation(one.id)
          remove()
        }
        list.append(row)
      }
      describe()
    },
    (error) => setText(note, messageOf(error)),
  )
}
