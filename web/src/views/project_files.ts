// Files of a project, which the agent can read in its conversations. Loaded with projects.ts.
import { messageOf } from '../api/client'
import { giveFile, partOf } from '../api/files'
import { addProjectFile, listProjectFiles, projectFileAddress, removeProjectFile, type Project, type ProjectFile } from '../api/projects'
import { iconButton, textButton } from '../base/controls'
import { openDialog, type Dialog } from '../base/dialog'
import { h, setText } from '../base/dom'
import { t } from '../base/words'
import { nameOf } from '../model/people'
import { fileLink } from './files'

export function openProjectFiles(project: Project): void {
  new ProjectFiles(project)
}

class ProjectFiles {
  #project: Project
  #dialog: Dialog
  #list = h('ul', { class: 'project-files', aria: { busy: true } })
  #status = h('p', { class: 'field-hint', role: 'status' })
  #failure = h('p', { class: 'form-failure', role: 'alert', hidden: true })
  #ends = new AbortController()

  constructor(project: Project) {
    this.#project = project
    this.#dialog = openDialog(t('Files of {name}', { name: project.name }), 'is-wide')
    this.#dialog.element.addEventListener('close', () => this.#ends.abort())
    const add = textButton(t('Add files'), () => this.#choose(), { class: 'button is-primary', icon: 'plus' })
    this.#dialog.body.append(
      h('p', { class: 'lead' }, t('The agent can read them in conversations of this project. All members of the project can open them.')),
      this.#list,
      this.#status,
      this.#failure,
      ...(project.mayManage ? [h('div', { class: 'form-buttons' }, add)] : []),
    )
    void this.#refresh()
  }

  #fail(error: unknown): void {
    if (this.#ends.signal.aborted) return
    setText(this.#failure, messageOf(error))
    this.#failure.hidden = false
  }

  async #refresh(): Promise<void> {
    try {
      const files = await listProjectFiles(this.#project.id)
      const rows = files.map((file) => this.#row(file))
      this.#list.replaceChildren(...(rows.length > 0 ? rows : [h('li', { class: 'empty' }, t('This project has no files yet.'))]))
    } catch (error) {
      this.#fail(error)
    }
    this.#list.removeAttribute('aria-busy')
  }

  #row(file: ProjectFile): HTMLElement {
    const { id, mayManage } = this.#project
    const remove = () => void this.#change(() => removeProjectFile(id, file.id))
    return h(
      'li',
      { class: 'project-row' },
      fileLink(partOf(file), projectFileAddress(id, file)),
      h('span', { class: 'field-hint', dir: 'auto' }, nameOf(file.addedBy)),
      mayManage && iconButton('cross', t('Remove {name}', { name: file.name }), remove),
    )
  }

  async #change(action: () => Promise<unknown>): Promise<void> {
    this.#failure.hidden = true
    try {
      await action()
    } catch (error) {
      this.#fail(error)
    }
    await this.#refresh()
  }

  #choose(): void {
    const field = h('input', { type: 'file' })
    field.multiple = true
    field.addEventListener('change', () => void this.#add([...(field.files ?? [])]))
    field.click()
  }

  /** One after the other: the first that fails says why, and the others wait for nobody. */
  async #add(files: readonly File[]): Promise<void> {
    for (const file of files) {
      const tell = (share: number) => setText(this.#status, `${file.name} ${t('{percent}%', { percent: Math.floor(share * 100) })}`)
      tell(0)
      await this.#change(async () => {
        const given = await giveFile(file, tell, this.#ends.signal)
        await addProjectFile(this.#project.id, given.id)
      })
      if (this.#ends.signal.aborted || !this.#failure.hidden) break
    }
    setText(this.#status, '')
  }
}
