// Projects: conversations that belong together.
import { call, get } from './client'
import type { Project } from './schema'

export type { Project } from './schema'

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
