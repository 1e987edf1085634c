// Projects: conversations that belong together.
import { address, call, get, session } from './client'
import type { Project, ProjectFile } from './schema'

export type { Project, ProjectFile } from './schema'

export interface ProjectChange {
  name?: string
  instructions?: string
  members?: string[]
}

export async function listProjects(): Promise<Project[]> {
  return (await get<{ projects: Project[] }>('projects')).projects
}

export const addProject = (project: ProjectChange): Promise<Project> => call('POST', 'projects', project)

export const changeProject = (id: string, change: ProjectChange): Promise<Project> => call('PATCH', `projects/${id}`, change)

export const removeProject = (id: string): Promise<unknown> => call('DELETE', `projects/${id}`)

/** Who may read the conversation does not change. null: it is in no project. */
export const moveConversation = (id: string, projectId: string | null): Promise<unknown> =>
  call('PUT', `conversations/${id}/project`, { projectId })

export async function listProjectFiles(id: string): Promise<ProjectFile[]> {
  return (await get<{ files: ProjectFile[] }>(`projects/${id}/files`)).files
}

/** The file was given by the caller. */
export const addProjectFile = (id: string, file: string): Promise<ProjectFile> => call('POST', `projects/${id}/files`, { file })

export const removeProjectFile = (id: string, file: string): Promise<unknown> => call('DELETE', `projects/${id}/files/${file}`)

/** Links cannot send headers, so the address names the workspace. */
export const projectFileAddress = (id: string, { id: file, name }: ProjectFile): string =>
  address(`projects/${id}/files/${file}`, { name, workspace: session.workspaceId })
