// Requests to the server. Addresses are relative to the page, so that it may be hosted
// below a sub-path. What can be asked for is in the files beside this one.
import { t } from '../base/words'

/** A refusal or a failure, with a message that a person can read. */
export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: the server was not reached
    readonly code: string,
    message: string,
    readonly details: unknown = null,
  ) {
    super(message)
  }

  /** Asking again would not help. */
  get isFinal(): boolean {
    return [400, 401, 403, 404].includes(this.status)
  }
}

/** The message to show for anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

type Query = Record<string, string | number | boolean | null | undefined>

export function address(path: string, query: Query = {}): string {
  const url = new URL(path, new URL('v1/', document.baseURI))
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '')
      url.searchParams.set(key, String(value))
  }
  return url.href
}

/** The workspace of every request, and the callback for the end of the login. */
export const session = {
  workspaceId: null as string | null,
  onExpired: () => {},
}

/** fetch() whose failures, of network or status, are all ApiErrors. */
export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await attempt(url, init)
  if (response.ok) return response
  if (response.status !== 401 || url.includes('/auth/')) throw await refusal(response)
  // Sessions are short, and renewed without anybody noticing.
  const again = (await renew()) ? await attempt(url, init) : response
  if (again.ok) return again
  if (again.status === 401) session.onExpired()
  throw await refusal(again)
}

async function attempt(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  if (session.workspaceId) headers.set('x-workspace-id', session.workspaceId)
  try {
    return await fetch(url, { ...init, headers })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiError(0, 'unreachable', t('The server cannot be reached.'))
  }
}

let renewal: Promise<boolean> | null = null

/** Several requests may get 401 at the same time; one of them renews the login for all. */
function renew(): Promise<boolean> {
  renewal ??= attempt(address('auth/refresh'), { method: 'POST' })
    .then(({ ok }) => ok)
    .catch(() => false)
    .finally(() => (renewal = null))
  return renewal
}

async function refusal(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null)
  const { error, message, details } = (body ?? {}) as Record<string, unknown>
  return new ApiError(
    response.status,
    typeof error === 'string' ? error : 'error',
    typeof message === 'string' ? message : t('The server returned HTTP status {status}.', { status: response.status }),
    details,
  )
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await (await request(address(path, query), { signal })).json()) as T
}

/** Sends JSON and reads JSON, or null where the answer has no body. */
export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await request(address(path), withJson(method, body))
  const text = await response.text()
  return (text ? JSON.parse(text) : null) as T
}

export function withJson(method: string, body: unknown): RequestInit {
  if (body === undefined) return { method }
  return {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}
