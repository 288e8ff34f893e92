/** GitLab, by its commits API, which makes a branch and one commit at once; and merge requests. */
import * as z from 'zod'
import type { RightName } from '../../contracts/git-hosts.ts'
import type { RemoteAccess } from '../../cores/remotes/git-host-port.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'
import { Branch, holdsFiles, hostApi, Number_, Sha } from './host-api.ts'
import type { HostDriver, HostRequest } from './host-driver.ts'

const Level = z.object({ access_level: z.int() }).nullish()
const Project = z.object({
  default_branch: Branch.nullish(),
  archived: z.boolean(),
  empty_repo: z.boolean(),
  visibility: z.string().nullish(),
  permissions: z.object({ project_access: Level, group_access: Level }).nullish(),
})
const OwnToken = z.object({ scopes: z.array(z.string()) })
const BranchAnswer = z.object({ commit: z.object({ id: Sha }) })
const Commit = z.object({ id: Sha, message: z.string(), parent_ids: z.array(Sha) })
const File = z.object({ blob_id: Sha })
const Diff = z.array(z.object({ old_path: z.string(), new_path: z.string() }))
const Request = z.object({
  iid: Number_,
  state: z.enum(['opened', 'closed', 'locked', 'merged']),
  source_branch: Branch,
  target_branch: Branch,
  // A fork may be gone.
  source_project_id: z.int().nullable(),
  target_project_id: z.int(),
  sha: Sha.nullish(),
})

const toRequest = (answer: z.output<typeof Request>): HostRequest => ({
  number: answer.iid,
  state: answer.state === 'merged' || answer.state === 'closed' ? answer.state : 'open',
  branch: answer.source_branch,
  target: answer.target_branch,
  head: answer.sha ?? undefined,
  isFromHere: answer.source_project_id === answer.target_project_id,
})

const DEVELOPER = 30
const ADMINISTERS: ReadonlySet<string> = new Set(['sudo', 'admin_mode'])

export function gitlab(send: GuardedPost, remote: RemoteAccess): HostDriver {
  const { origin, pathname } = new URL(remote.url)
  const project = `/projects/${encodeURIComponent(pathname.slice(1))}`
  const api = hostApi(send, remote, `${origin}/api/v4`, (token) => ({ 'private-token': token }))

  const blobAt = async (path: string, ref: string) =>
    (
      await api.find(
        `${project}/repository/files/${encodeURIComponent(path)}?ref=${encodeURIComponent(ref)}`,
        File,
      )
    )?.blob_id

  return {
    async repository() {
      const answer = await api.get(project, Project)
      const { default_branch: branch, archived, empty_repo: isEmpty } = answer
      return {
        defaultBranch: branch ?? '',
        isArchived: archived,
        isEmpty: isEmpty || !branch,
        // `internal`: everybody with an account there.
        isPublic: answer.visibility !== 'private',
      }
    },

    async rights() {
      const { permissions } = await api.get(project, Project)
      const level = Math.max(
        permissions?.project_access?.access_level ?? 0,
        permissions?.group_access?.access_level ?? 0,
      )
      // Every token may ask about itself; before 15.5 none could, and then what it may is seen when it is used.
      const { scopes } = (await api.find('/personal_access_tokens/self', OwnToken)) ?? { scopes: ['api'] }
      const missing: RightName[] = []
      if (level < DEVELOPER) missing.push('developer_role')
      if (!scopes.includes('api')) missing.push('api_scope')
      const excess: RightName[] = []
      if (level > DEVELOPER) excess.push('maintainer_role')
      if (scopes.some((scope) => ADMINISTERS.has(scope))) excess.push('admin_scopes')
      if (scopes.some((scope) => scope !== 'api' && !ADMINISTERS.has(scope))) excess.push('other_scopes')
      return { missing, excess }
    },

    async listRequests(branch, target) {
      const asked = { source_branch: branch, target_branch: target, state: 'all', per_page: '100' }
      const found = await api.get(`${project}/merge_requests?${new URLSearchParams(asked)}`, z.array(Request))
      return found.map(toRequest)
    },

    async holdsChange({ message, files }, id) {
      const { message: said, parent_ids: parents } = await api.get(
        `${project}/repository/commits/${id}`,
        Commit,
      )
      if (said.trim() !== message.trim() || parents.length !== 1) return false
      const changed = await api.get(`${project}/repository/commits/${id}/diff?per_page=100`, Diff)
      const paths = new Set(changed.flatMap(({ old_path: old, new_path: now }) => [old, now]))
      return holdsFiles(paths, files, (path) => blobAt(path, id))
    },

    findTip: async (branch) =>
      (await api.find(`${project}/repository/branches/${encodeURIComponent(branch)}`, BranchAnswer))?.commit
        .id,

    blobAt,

    async commit({ branch, message, files }, { tip }) {
      const actions = files.map(({ path, before, after, isExecutable }) => ({
        action: after === null ? 'delete' : before === null ? 'create' : 'update',
        file_path: path,
        ...(after && { content: after.toString('base64'), encoding: 'base64' }),
        ...(before === null && isExecutable && { execute_filemode: true }),
      }))
      const asked = { branch, start_sha: tip, commit_message: message, actions }
      await api.post(`${project}/repository/commits`, asked, z.object({ id: Sha }))
    },

    async request({ branch, title, body }, target) {
      const asked = {
        source_branch: branch,
        target_branch: target,
        title,
        description: body,
        remove_source_branch: true,
      }
      return (await api.post(`${project}/merge_requests`, asked, z.object({ iid: Number_ }))).iid
    },

    look: async (number) => toRequest(await api.get(`${project}/merge_requests/${number}`, Request)),

    pageOf: (number) => `${remote.url}/-/merge_requests/${number}`,
  }
}
