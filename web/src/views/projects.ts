// Projects: the list of them, a form to change one, and the dialog that puts a conversation into one.
// Loaded when somebody asks for it.
import '../main'
import { messageOf } from '../api/client'
import { addParticipant, getConversation } from '../api/conversations'
import { addProject, changeProject, listProjects, moveConversation, removeProject, type Project } from '../api/projects'
import { iconButton, textButton } from '../base/controls'
import { openDialog, type Dialog } from '../base/dialog'
import { h } from '../base/dom'
import { checkbox, field, form, input, textarea } from '../base/form'
import { icon } from '../base/icons'
import { loadStylesheet } from '../base/stylesheet'
import { toast } from '../base/toast'
import { t, tList, tn } from '../base/words'
import type { App } from '../model/app'
import { nameOf, people } from '../model/people'
import { openProjectFiles } from './project_files'
import stylesheet from './projects.lazy.css'

const styled = loadStylesheet(new URL(stylesheet, import.meta.url).href)

function fail(error: unknown): void {
  toast(messageOf(error))
}

/** All projects; choosing one shows its conversations in the list. */
export async function openProjects(app: App): Promise<void> {
  await styled
  const dialog = openDialog(t('Projects'), 'is-wide')
  const list = h('div', { class: 'choices', aria: { busy: true } })
  const create = textButton(t('New project'), () => openEditor(app, dialog, null), {
    class: 'button is-primary',
    icon: 'plus',
  })
  dialog.body.append(
    h('p', { class: 'lead' }, t('A project keeps conversations together and gives the agent instructions and files for all of them.')),
    list,
    h('div', { class: 'form-buttons' }, create),
  )
  const choose = (project: Project) => () => {
    dialog.close()
    app.conversations.setProject(project)
  }
  try {
    const projects = await listProjects()
    if (projects.length === 0) list.append(h('p', { class: 'empty' }, t('There are no projects yet.')))
    for (const project of projects) {
      const open = textButton('', choose(project), { class: 'choice' })
      open.append(
        icon('layers'),
        h('span', { class: 'project-name', dir: 'auto' }, project.name),
        h('span', { class: 'field-hint' }, describe(project)),
      )
      const label = t('Change {name}', { name: project.name })
      const edit = project.mayManage && iconButton('edit', label, () => openEditor(app, dialog, project))
      const files = iconButton('clip', t('Files of {name}', { name: project.name }), () => {
        dialog.close()
        openProjectFiles(project)
      })
      list.append(h('div', { class: 'project-row' }, open, files, edit))
    }
  } catch (error) {
    list.append(h('p', { class: 'form-failure', role: 'alert' }, messageOf(error)))
  }
  list.removeAttribute('aria-busy')
}

/** How much there is in it, and whose it is. */
function describe({ ownerId, members, conversationCount: n }: Project): string {
  return members.length === 0
    ? tn(n, '{n} conversation, only {owner}', '{n} conversations, only {owner}', { owner: nameOf(ownerId) })
    : tn(n, '{n} conversation, {names}', '{n} conversations, {names}', { names: tList([ownerId, ...members].map((id) => nameOf(id))) })
}

function openEditor(app: App, from: Dialog, project: Project | null): void {
  from.close()
  const dialog = openDialog(project ? t('Change {name}', { name: project.name }) : t('New project'), 'is-wide')
  const name = input({ required: true, dir: 'auto', value: project?.name ?? '' })
  name.maxLength = 100
  const instructions = textarea({ rows: 6, value: project?.instructions ?? '' })
  const owner = project?.ownerId ?? app.workspace.value?.user.id
  const boxes = [...people.value.values()]
    .filter(({ id }) => id !== owner)
    .map(({ id, displayName }) => ({ id, parts: checkbox(displayName, project?.members.includes(id) ?? false) }))
  const submit = async () => {
    const members = boxes.filter(({ parts: [, box] }) => box.checked).map(({ id }) => id)
    const change = { name: name.value, instructions: instructions.value, members }
    const saved = project ? await changeProject(project.id, change) : await addProject(change)
    dialog.close()
    if (!project || app.conversations.project?.id === project.id) app.conversations.setProject(saved)
  }
  const remove = async () => {
    await removeProject(project!.id)
    dialog.close()
    if (app.conversations.project?.id === project!.id) app.conversations.setProject(null)
    app.conversations.touch()
    toast(t('The project {name} was deleted. Its conversations are still there.', { name: project!.name }))
  }
  const group =
    boxes.length > 0
      ? [h('fieldset', { class: 'field project-members' }, h('legend', {}, t('Members')), ...boxes.map(({ parts: [label] }) => label))]
      : []
  const hint = t('The agent gets them in conversations of this project.')
  const fields = [field(t('Name'), name), field(t('Instructions'), instructions, hint), ...group]
  const edited = form(fields, project ? t('Save') : t('Create'), submit)
  if (project)
    edited.lastElementChild!.append(textButton(t('Delete the project'), () => void remove().catch(fail), { class: 'button is-dangerous' }))
  dialog.body.append(edited)
}

/** Puts a conversation into a project, or takes it out. */
export async function openMove(app: App, id: string): Promise<void> {
  await styled
  const dialog = openDialog(t('Move to a project'))
  try {
    const [projects, { projectId, participants, ownerId }] = await Promise.all([listProjects(), getConversation(id)])
    const me = app.workspace.value?.user.id
    const choose = (project: Project | null) => async () => {
      await moveConversation(id, project?.id ?? null)
      dialog.close()
      app.conversations.touch()
      const others = project ? [project.ownerId, ...project.members].filter((who) => who !== ownerId && who !== me && !participants.includes(who)) : []
      if (project && others.length > 0) offerSharing(app, id, project, others)
      else toast(project ? t('Moved to {project}.', { project: project.name }) : t('Taken out of the project.'))
    }
    const choices = projects.map((project) => {
      const isHere = project.id === projectId
      const button = textButton(project.name, () => void choose(project)().catch(fail), { class: 'choice', icon: isHere ? 'check' : 'layers' })
      button.setAttribute('aria-pressed', String(isHere))
      return button
    })
    if (projectId)
      choices.push(textButton(t('No project'), () => void choose(null)().catch(fail), { class: 'choice', icon: 'cross' }))
    const create = textButton(t('New project'), () => openEditor(app, dialog, null), { icon: 'plus' })
    dialog.body.append(
      h('p', { class: 'field-hint' }, t('Who may read the conversation does not change.')),
      h('div', { class: 'choices' }, ...choices),
      h('div', { class: 'form-buttons' }, create),
    )
  } catch (error) {
    dialog.body.append(h('p', { class: 'form-failure', role: 'alert' }, messageOf(error)))
  }
}

/** Only the owner of the conversation can let others read it; the project alone does not. */
function offerSharing(app: App, id: string, project: Project, others: string[]): void {
  const share = async () => {
    for (const who of others) await addParticipant(id, who, 'write')
    app.conversations.touch()
    toast(t('Shared.'))
  }
  const names = tList(others.map((who) => nameOf(who)))
  const values = { project: project.name, names }
  const text = tn(others.length, 'Moved to {project}. {names} cannot read it.', 'Moved to {project}. {names} cannot read it.', values)
  toast(text, { label: t('Share'), run: () => void share().catch(fail) })
}
