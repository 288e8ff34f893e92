/** Gitea and Forgejo, by their contents API, which changes several files on a new branch at once; and pull requests. */
import * as z from 'zod'
import type { RightName } from '../../contracts/git-hosts.ts'
import type { RemoteAccess } from '../../cores/remotes/git-host-port.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'
import { Branch, HostFailed, holdsFiles, hostApi, Number_, segments, Sha } from './host-api.ts'
import type { HostDriver, HostRequest } from './host-driver.ts'

const RepositoryAnswer = z.object({
  default_branch: Branch,
  archived: z.boolean(),
  empty: z.boolean(),
  private: z.boolean().nullish(),
  permissions: z.object({ push: z.boolean(), admin: z.boolean() }).nullish(),
})
const BranchAnswer = z.object({ commit: z.object({ id: Sha }) })
const Commit = z.object({
  commit: z.object({ message: z.string() }),
  parents: z.array(z.object({ sha: Sha })),
  files: z.array(z.object({ filename: z.string() })),
})
const Content = z.object({ type: z.literal('file'), sha: Sha })
const Pull = z.object({
  number: Number_,
  state: z.enum(['open', 'closed']),
  merged: z.boolean(),
  // `ref` is another one once the branch is gone.
  head: z.object({ label: z.string(), sha: z.string(), repo_id: z.int() }),
  base: z.object({ ref: Branch, repo_id: z.int() }),
})

const toRequest = ({ number, state, merged, head, base }: z.output<typeof Pull>): HostRequest => ({
  number,
  state: merged ? 'merged' : state,
  branch: head.label,
  target: base.ref,
  head: Sha.safeParse(head.sha).data,
  isFromHere: head.repo_id === base.repo_id,
})

export function gitea(send: GuardedPost, remote: RemoteAccess): HostDriver {
  const { origin, pathname } = new URL(remote.url)
  const parts = pathname.split('/').slice(1)
  const [owner, name] = parts.splice(-2)
  const below = parts.map((part) => `/${part}`).join('')
  const repo = `/repos/${encodeURIComponent(owner!)}/${encodeURIComponent(name!)}`
  const api = hostApi(send, remote, `${origin}${below}/api/v1`, (token) => ({
    authorization: `token ${token}`,
  }))

  const contentAt = (path: string, ref: string) =>
    api.find(`${repo}/contents/${segments(path)}?ref=${encodeURIComponent(ref)}`, Content)
  const blobAt = async (path: string, ref: string) => (await contentAt(path, ref))?.sha

  return {
    async repository() {
      const answer = await api.get(repo, RepositoryAnswer)
      const { default_branch: defaultBranch, archived, empty } = answer
      return { defaultBranch, isArchived: archived, isEmpty: empty, isPublic: answer.private !== true }
    },

    /** What lacks a field is told so (422) only by who may send it; who may read the account has more than is needed. */
    async rights() {
      const { permissions } = await api.get(repo, RepositoryAnswer)
      const missing: RightName[] = []
      if (!permissions?.push) missing.push('repository_push')
      const { status } = await api.ask('POST', `${repo}/contents`, {})
      // Before 1.20 there was no way to change several files at once.
      if (status === 404 || status === 405) throw new HostFailed('REMOTE_UNREADABLE', { status: 405 })
      if (status === 401 || status === 403) missing.push('repository_scope')
      const { status: account } = await api.ask('GET', '/user')
      return { missing, excess: account === 200 ? ['user_scope'] : [] }
    },

    async listRequests(branch, target) {
      const found = await api.find(`${repo}/pulls/${encodeURIComponent(target)}/${segments(branch)}`, Pull)
      return found ? [toRequest(found)] : []
    },

    async holdsChange({ message, files }, id) {
      const { commit, parents, files: changed } = await api.get(`${repo}/git/commits/${id}`, Commit)
      if (commit.message.trim() !== message.trim() || parents.length !== 1) return false
      const paths = new Set(changed.map(({ filename }) => filename))
      return holdsFiles(paths, files, (path) => blobAt(path, id))
    },

    findTip: async (branch) =>
      (await api.find(`${repo}/branches/${segments(branch)}`, BranchAnswer))?.commit.id,

    blobAt,

    async commit({ branch, message, files }, { branch: target, tip }) {
      const changes = []
      for (const { path, before, after } of files) {
        changes.push({
          operation: after === null ? 'delete' : before === null ? 'create' : 'update',
          path,
          ...(after && { content: after.toString('base64') }),
          // Compared by the host: the branch may move before it makes the commit.
          ...(before && { sha: await blobAt(path, tip) }),
        })
      }
      const asked = { branch: target, new_branch: branch, message, files: changes }
      await api.post(`${repo}/contents`, asked, z.object({ commit: z.object({ sha: Sha }) }))
    },

    async request({ branch, title, body }, target) {
      const made = z.object({ number: Number_ })
      return (await api.post(`${repo}/pulls`, { title, body, head: branch, base: target }, made)).number
    },

    look: async (number) => toRequest(await api.get(`${repo}/pulls/${number}`, Pull)),

    pageOf: (number) => `${remote.url}/pulls/${number}`,
  }
}
