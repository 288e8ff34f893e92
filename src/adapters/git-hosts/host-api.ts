/**
 * Requests to a git host, all through the outbound guard: no redirect takes the token elsewhere, answers have a size and a
 * time, and of what is answered only what a schema knows is read.
 */
import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { PullRequestCode } from '../../contracts/git-hosts.ts'
import { readJson } from '../../contracts/read-json.ts'
import type { ProposedBranch, RemoteAccess } from '../../cores/remotes/git-host-port.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'

/** A file of a revision has at most a MiB, and comes as base64. */
const ANSWER_MAX_BYTES = 2 * 1024 * 1024

/** The way out of an attempt that cannot go on: a code of ours, and nothing of the host's. */
export class HostFailed extends Error {
  override readonly name = 'HostFailed'
  readonly code: PullRequestCode
  readonly retryAfterSeconds: number | undefined
  /** Of the answer; undefined where there was none. */
  readonly status: number | undefined
  readonly isAddressRefused: boolean

  constructor(
    code: PullRequestCode,
    seen: { retryAfterSeconds?: number | undefined; status?: number; isAddressRefused?: boolean } = {},
  ) {
    super('The git host could not do it')
    this.code = code
    this.retryAfterSeconds = seen.retryAfterSeconds
    this.status = seen.status
    this.isAddressRefused = seen.isAddressRefused ?? false
  }
}

export type Answered = {
  readonly status: number
  readonly text: string | undefined
  readonly header: string | undefined
}

export type HostApi = {
  /** Whatever it answers; only what is no answer, or says that the host is not well, throws. */
  ask(method: 'GET' | 'POST', path: string, body?: object, readsHeader?: string): Promise<Answered>
  get<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>>
  /** Undefined: there is none. */
  find<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S> | undefined>
  post<S extends z.ZodType>(path: string, body: object, schema: S): Promise<z.output<S>>
}

export function hostApi(
  send: GuardedPost,
  { orgId, token }: RemoteAccess,
  base: string,
  headersOf: (token: string) => Readonly<Record<string, string>>,
): HostApi {
  async function ask(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    readsHeader?: string,
  ): Promise<Answered> {
    const answer = await send({
      method,
      orgId,
      url: `${base}${path}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'svc',
        ...headersOf(token),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      redirects: 0,
      maxBytes: ANSWER_MAX_BYTES,
      ...(readsHeader !== undefined && { readsHeader }),
    })
    if (answer.kind !== 'answered') {
      const isAddressRefused = answer.kind === 'not_sent' && answer.because === 'address'
      throw new HostFailed('REMOTE_UNREACHABLE', { isAddressRefused })
    }
    const { status, text, header, retryAfterSeconds } = answer
    if (isLimited(answer)) {
      throw new HostFailed('REMOTE_UNREACHABLE', { retryAfterSeconds: retryAfterSeconds ?? MINUTE, status })
    }
    if (status >= 500) throw new HostFailed('REMOTE_UNREACHABLE', { retryAfterSeconds, status })
    // Where it leads nobody has checked.
    if (status < 200 || (status >= 300 && status < 400)) throw new HostFailed('REMOTE_UNREADABLE', { status })
    return { status, text, header }
  }

  function read<S extends z.ZodType>({ status, text }: Answered, schema: S): z.output<S> {
    if (status >= 400) throw new HostFailed('REMOTE_REFUSED', { status })
    const parsed = schema.safeParse(readJson(text))
    if (!parsed.success) throw new HostFailed('REMOTE_UNREADABLE', { status })
    return parsed.data
  }

  return {
    ask,
    get: async (path, schema) => read(await ask('GET', path), schema),
    async find(path, schema) {
      const answer = await ask('GET', path)
      return answer.status === 404 ? undefined : read(answer, schema)
    },
    post: async (path, body, schema) => read(await ask('POST', path, body), schema),
  }
}

/** What GitHub asks for where it does not say how long. */
const MINUTE = 60

const Message = z.object({ message: z.string() })

/** GitHub says 403 where it means too many, often without how long to wait: then its words tell. */
function isLimited({
  status,
  text,
  retryAfterSeconds,
}: {
  readonly status: number
  readonly text?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}): boolean {
  if (status !== 403) return status === 429
  const said = Message.safeParse(readJson(text)).data?.message ?? ''
  return retryAfterSeconds !== undefined || /\brate limit\b/i.test(said)
}

/** Names and hashes go back into addresses: nothing else does. */
export const Sha = z.string().regex(/^[0-9a-f]{40,64}$/)
export const Branch = z
  .string()
  .max(250)
  .regex(/^(?!\.{1,2}(?:\/|$))(?!.*\/\.{1,2}(?:\/|$))[^\s\p{C}]+$/u)
export const Number_ = z.int().min(1).max(2_147_483_647)

export const segments = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

/** As git names a content; hosts with SHA-256 repositories have longer ones. Null and undefined: there is no such file. */
export const isBlob = (content: Buffer | null, sha: string | undefined): boolean => {
  if (content === null || sha === undefined) return content === null && sha === undefined
  const header = `blob ${content.length}\0`
  return (
    createHash(sha.length === 40 ? 'sha1' : 'sha256')
      .update(header)
      .update(content)
      .digest('hex') === sha
  )
}

/** Whether what a commit changed is these files, as they are to be. */
export async function holdsFiles(
  changed: ReadonlySet<string>,
  files: ProposedBranch['files'],
  blobOf: (path: string) => Promise<string | undefined>,
): Promise<boolean> {
  if (changed.size !== files.length) return false
  for (const { path, after } of files) {
    if (!changed.has(path) || !isBlob(after, await blobOf(path))) return false
  }
  return true
}
