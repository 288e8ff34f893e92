/** GitHub, by its git data API: blobs, a tree, a commit and a reference; and pull requests. */
import * as z from 'zod'
import type { RightName } from '../../contracts/git-hosts.ts'
import type { ProposedBranch, RemoteAccess } from '../../cores/remotes/git-host-port.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'
import { Branch, HostFailed, hostApi, Number_, segments, Sha } from './host-api.ts'
import type { HostDriver, HostRequest } from './host-driver.ts'

const RepositoryAnswer = z.object({
  default_branch: Branch,
  archived: z.boolean(),
  size: z.number(),
  private: z.boolean().nullish(),
  visibility: z.string().nullish(),
})
const Reference = z.object({ object: z.object({ sha: Sha }) })
const Commit = z.object({
  message: z.string(),
  tree: z.object({ sha: Sha }),
  parents: z.array(z.object({ sha: Sha })),
})
const Named = z.object({ sha: Sha })
const Content = z.object({ type: z.literal('file'), sha: Sha })
const Repository = z.object({ id: z.int() })
const Pull = z.object({
  number: Number_,
  state: z.enum(['open', 'closed']),
  // Lists have no `merged`.
  merged_at: z.string().nullable(),
  // A fork may be gone.
  head: z.object({ ref: Branch, sha: Sha, repo: Repository.nullable() }),
  base: z.object({ ref: Branch, repo: Repository }),
})

const toRequest = ({
  number,
  state,
  merged_at: mergedAt,
  head,
  base,
}: z.output<typeof Pull>): HostRequest => ({
  number,
  state: mergedAt === null ? state : 'merged',
  branch: head.ref,
  target: base.ref,
  head: head.sha,
  isFromHere: head.repo?.id === base.repo.id,
})

const NONE: ReadonlySet<number> = new Set([404, 409])

/** Scopes of a classic token that are worth a name of their own; it has all of its user's repositories as it is. */
const ADMINISTERS = /^(?:admin:|delete_repo$|site_admin$|write:org$|manage_)/

export function github(send: GuardedPost, remote: RemoteAccess): HostDriver {
  const { origin, hostname, pathname } = new URL(remote.url)
  const base = hostname === 'github.com' ? 'https://api.github.com' : `${origin}/api/v3`
  const [owner = '', name = '', more] = pathname.split('/').slice(1)
  if (more !== undefined) throw new HostFailed('REMOTE_UNREADABLE', { status: 404 })
  const repo = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`
  const api = hostApi(send, remote, base, (token) => ({
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  }))

  const commitOf = (sha: string) => api.get(`${repo}/git/commits/${sha}`, Commit)

  /** The same entries on the same tree are the same tree, so making it again tells whether a branch has it. */
  async function treeOn(baseTree: string, { files }: ProposedBranch): Promise<string> {
    const tree = []
    for (const { path, after, isExecutable } of files) {
      const blob = after && { content: after.toString('base64'), encoding: 'base64' }
      const sha = blob && (await api.post(`${repo}/git/blobs`, blob, Named)).sha
      tree.push({ path, mode: isExecutable ? '100755' : '100644', type: 'blob', sha })
    }
    return (await api.post(`${repo}/git/trees`, { base_tree: baseTree, tree }, Named)).sha
  }

  return {
    async repository() {
      const answer = await api.get(repo, RepositoryAnswer)
      const { default_branch: defaultBranch, archived, size } = answer
      // The size is counted now and then. An empty repository has no references that one could ask for: 409.
      const isEmpty =
        size === 0 &&
        NONE.has((await api.ask('GET', `${repo}/git/ref/heads/${segments(defaultBranch)}`)).status)
      return {
        defaultBranch,
        isArchived: archived,
        isEmpty,
        // `internal`: everybody of the enterprise; it is called private, too.
        isPublic: answer.private !== true || answer.visibility === 'internal',
      }
    },

    /** A fine-grained token does not say what it may: what lacks a field is told so (422) only by who may send it. */
    async rights() {
      const { header: scopes } = await api.ask('GET', repo, undefined, 'x-oauth-scopes')
      const missing: RightName[] = []
      const mayPost = async (path: string) => (await api.ask('POST', `${repo}${path}`, {})).status === 422
      if (!(await mayPost('/git/refs'))) missing.push('contents_write')
      if (!(await mayPost('/pulls'))) missing.push('pull_requests_write')
      return { missing, excess: excessOf(scopes) }
    },

    async listRequests(branch, target) {
      const asked = { head: `${owner}:${branch}`, base: target, state: 'all', per_page: '100' }
      const found = await api.get(`${repo}/pulls?${new URLSearchParams(asked)}`, z.array(Pull))
      return found.map(toRequest)
    },

    async holdsChange(proposed, sha) {
      const { message, tree, parents } = await commitOf(sha)
      if (message.trim() !== proposed.message.trim() || parents.length !== 1) return false
      const parent = await commitOf(parents[0]!.sha)
      return (await treeOn(parent.tree.sha, proposed)) === tree.sha
    },

    findTip: async (branch) =>
      (await api.find(`${repo}/git/ref/heads/${segments(branch)}`, Reference))?.object.sha,

    blobAt: async (path, commit) =>
      (await api.find(`${repo}/contents/${segments(path)}?ref=${commit}`, Content))?.sha,

    async commit(proposed, { tip }) {
      const { tree } = await commitOf(tip)
      const commit = { message: proposed.message, tree: await treeOn(tree.sha, proposed), parents: [tip] }
      const { sha } = await api.post(`${repo}/git/commits`, commit, Named)
      await api.post(`${repo}/git/refs`, { ref: `refs/heads/${proposed.branch}`, sha }, z.object({}))
    },

    async request({ branch, title, body }, target) {
      const made = z.object({ number: Number_ })
      return (await api.post(`${repo}/pulls`, { title, body, head: branch, base: target }, made)).number
    },

    look: async (number) => toRequest(await api.get(`${repo}/pulls/${number}`, Pull)),

    pageOf: (number) => `${remote.url}/pull/${number}`,
  }
}

/** Only classic tokens have the header. */
function excessOf(header: string | undefined): RightName[] {
  if (header === undefined) return []
  const scopes = header.split(',').map((scope) => scope.trim())
  return [
    'classic_token' as const,
    ...(scopes.some((scope) => ADMINISTERS.test(scope)) ? (['admin_scopes'] as const) : []),
    ...(scopes.includes('workflow') ? (['workflow_scope'] as const) : []),
  ]
}
