/**
 * A git host as ours sees GitHub, GitLab, Gitea and Forgejo: one repository in memory, and the documented REST answers of each
 * over it, with their refusals. Objects have git's own names, a branch is made once, and a branch has one open request.
 */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { GitHostName } from '../../src/contracts/git-hosts.ts'

type Files = ReadonlyMap<string, { readonly content: Buffer; readonly mode: string }>
type Commit = { readonly tree: string; readonly parents: readonly string[]; readonly message: string }
export type FakeRequest = {
  readonly number: number
  readonly branch: string
  target: string
  /** Of a fork: its branch is not in this repository. */
  readonly fork?: { readonly head: string }
  readonly title: string
  readonly body: string
  state: 'open' | 'merged' | 'closed'
}
type Json = Record<string, unknown>

/** Of a token: what it may do there. */
export type FakeRights = {
  readonly contents?: boolean
  readonly requests?: boolean
  readonly reads?: boolean
  /** GitHub, classic tokens; GitLab. */
  readonly scopes?: readonly string[]
  /** GitLab. */
  readonly level?: number
  /** Gitea and Forgejo. */
  readonly account?: boolean
}

export type FakeGitHost = {
  readonly url: string
  readonly requests: FakeRequest[]
  /** Every request that came, as method and path. */
  readonly asked: string[]
  makeToken(rights?: FakeRights): string
  fileAt(branch: string, path: string): string | undefined
  branches(): string[]
  /** Somebody else pushes to a branch. */
  push(branch: string, files: Readonly<Record<string, string>>, message?: string): void
  merge(number: number): void
  closeRequest(number: number): void
  archive(): void
  /** Nothing was ever pushed. */
  empty(): void
  /** Who may read it from now on. `internal`: everybody with an account there; `unsaid`: the host does not say. */
  publish(how?: 'public' | 'internal' | 'unsaid'): void
  removeBranch(branch: string): void
  /** The next request whose path has this is done, and then not answered; or not even done. */
  failNext(
    part: string,
    how:
      | 'lost answer'
      | 'hang up'
      | number
      | { redirect: string }
      | { says: string; status?: number; headers?: Record<string, string> },
  ): void
  close(): Promise<void>
}

const PROJECT = 'acme/shop'
const hash = (kind: string, content: Buffer | string): string => {
  const bytes = Buffer.from(content as string)
  return createHash('sha1').update(`${kind} ${bytes.length}\0`).update(bytes).digest('hex')
}

export async function startFakeGitHost(
  host: GitHostName,
  files: Readonly<Record<string, string>>,
): Promise<FakeGitHost> {
  const tokens = new Map<string, FakeRights>()
  const blobs = new Map<string, Buffer>()
  const trees = new Map<string, Files>()
  const commits = new Map<string, Commit>()
  const refs = new Map<string, string>()
  const requests: FakeRequest[] = []
  const asked: string[] = []
  const failures: [string, Parameters<FakeGitHost['failNext']>[1]][] = []
  let [isArchived, isEmpty] = [false, false]
  let readers: 'private' | 'public' | 'internal' | 'unsaid' = 'private'
  const isPrivate = () => (readers === 'unsaid' ? {} : { private: readers === 'private' })
  /** Of branches that are gone too: a request keeps its commit. */
  const heads = new Map<string, string>()
  const headOf = (branch: string) => refs.get(branch) ?? heads.get(branch)

  const addTree = (tree: Files): string => {
    const listed = [...tree].map(([path, { content, mode }]) => `${mode} ${path} ${hash('blob', content)}`)
    const sha = hash('tree', listed.toSorted().join('\n'))
    trees.set(sha, tree)
    return sha
  }
  const addCommit = (commit: Commit): string => {
    const sha = hash('commit', JSON.stringify([commit, commits.size]))
    commits.set(sha, commit)
    return sha
  }
  const treeAt = (ref: string): Files | undefined => {
    const sha = refs.get(ref) ?? ref
    const commit = commits.get(sha)
    return commit && trees.get(commit.tree)
  }
  const changed = (sha: string): string[] => {
    const { parents } = commits.get(sha)!
    const [old, now] = [treeAt(parents[0]!) ?? new Map(), treeAt(sha)!] as [Files, Files]
    return [...new Set([...old.keys(), ...now.keys()])].filter(
      (path) => old.get(path)?.content.toString() !== now.get(path)?.content.toString(),
    )
  }
  const filesOf = (given: Readonly<Record<string, string>>): Files =>
    new Map(
      Object.entries(given).map(([path, content]) => [
        path,
        { content: Buffer.from(content), mode: '100644' },
      ]),
    )
  const push: FakeGitHost['push'] = (branch, given, message = 'Somebody’s commit') => {
    const parent = refs.get(branch) ?? refs.get('main')
    const tree = new Map([...(parent === undefined ? [] : treeAt(parent)!), ...filesOf(given)])
    refs.set(
      branch,
      addCommit({ tree: addTree(tree), parents: parent === undefined ? [] : [parent], message }),
    )
  }
  push('main', files)

  const request = (branch: string, target: string, title: string, body: string): FakeRequest | undefined => {
    const isSame = (one: FakeRequest) => one.branch === branch && one.target === target && !one.fork
    if (requests.some((other) => isSame(other) && other.state === 'open')) return undefined
    const made: FakeRequest = { number: requests.length + 1, branch, target, title, body, state: 'open' }
    requests.push(made)
    return made
  }

  type Answer = readonly [status: number, body: unknown, headers?: Record<string, string> | undefined]
  const NOT_FOUND: Answer = [404, { message: 'Not Found' }]
  const FORBIDDEN: Answer = [403, { message: 'Resource not accessible by personal access token' }]
  const INVALID: Answer = [422, { message: 'Validation Failed' }]
  const field = (body: Json, name: string): string => (typeof body[name] === 'string' ? body[name] : '')

  function github(method: string, url: URL, body: Json, rights: FakeRights): Answer {
    const path = url.pathname.replace(`/api/v3/repos/${PROJECT}`, '')
    if (path === url.pathname) return NOT_FOUND
    const rest = decodeURIComponent(path)
    const scopes = rights.scopes && { 'x-oauth-scopes': rights.scopes.join(', ') }
    const shown = ({ number, state, branch, target, fork }: FakeRequest) => ({
      number,
      state: state === 'open' ? 'open' : 'closed',
      merged_at: state === 'merged' ? '2026-01-01T00:00:00Z' : null,
      head: { ref: branch, sha: fork?.head ?? headOf(branch), repo: { id: fork ? 2 : 1 } },
      base: { ref: target, repo: { id: 1 } },
      html_url: 'javascript:alert(1)',
    })
    if (method === 'GET') {
      if (rest === '')
        return [
          200,
          {
            default_branch: 'main',
            archived: isArchived,
            size: isEmpty ? 0 : 1,
            ...isPrivate(),
            ...(readers === 'internal' && { private: true, visibility: readers }),
          },
          scopes,
        ]
      const ref = /^\/git\/ref\/heads\/(.+)$/.exec(rest)?.[1]
      if (ref && isEmpty) return [409, { message: 'Git Repository is empty.' }]
      if (ref) return refs.has(ref) ? [200, { object: { sha: refs.get(ref) } }] : NOT_FOUND
      const commit = commits.get(/^\/git\/commits\/(\w+)$/.exec(rest)?.[1] ?? '')
      if (commit) {
        const { message, tree, parents } = commit
        return [200, { message, tree: { sha: tree }, parents: parents.map((sha) => ({ sha })) }]
      }
      const file = /^\/contents\/(.+)$/.exec(rest)?.[1]
      const found = file && treeAt(url.searchParams.get('ref')!)?.get(file)
      if (found) return [200, { type: 'file', sha: hash('blob', found.content), content: 'x' }]
      if (rest === '/pulls') {
        const branch = url.searchParams.get('head')!.replace(/^acme:/, '')
        const base = url.searchParams.get('base')
        return [200, requests.filter((one) => one.branch === branch && one.target === base).map(shown)]
      }
      const one = requests[Number(/^\/pulls\/(\d+)$/.exec(rest)?.[1]) - 1]
      return one ? [200, shown(one)] : NOT_FOUND
    }
    if (rest === '/pulls') {
      if (rights.requests === false) return FORBIDDEN
      const [head, base] = [field(body, 'head'), field(body, 'base')]
      if (!refs.has(head) || !refs.has(base)) return INVALID
      const made = request(head, base, field(body, 'title'), field(body, 'body'))
      return made ? [201, shown(made)] : INVALID
    }
    if (rights.contents === false) return FORBIDDEN
    if (rest === '/git/blobs') {
      const content = Buffer.from(field(body, 'content'), 'base64')
      const sha = hash('blob', content)
      blobs.set(sha, content)
      return [201, { sha }]
    }
    if (rest === '/git/trees') {
      const tree = new Map(trees.get(field(body, 'base_tree')))
      for (const entry of body['tree'] as { path: string; mode: string; sha: string | null }[]) {
        if (entry.sha === null) tree.delete(entry.path)
        else tree.set(entry.path, { content: blobs.get(entry.sha)!, mode: entry.mode })
      }
      return [201, { sha: addTree(tree) }]
    }
    if (rest === '/git/commits') {
      const parents = body['parents'] as string[]
      return [
        201,
        { sha: addCommit({ tree: field(body, 'tree'), parents, message: field(body, 'message') }) },
      ]
    }
    if (rest === '/git/refs') {
      const name = field(body, 'ref').replace(/^refs\/heads\//, '')
      if (name === '' || refs.has(name) || !commits.has(field(body, 'sha'))) return INVALID
      refs.set(name, field(body, 'sha'))
      return [201, { ref: `refs/heads/${name}`, object: { sha: field(body, 'sha') } }]
    }
    return NOT_FOUND
  }

  function gitlab(method: string, url: URL, body: Json, rights: FakeRights): Answer {
    const scopes = rights.scopes ?? ['api']
    if (url.pathname === '/api/v4/personal_access_tokens/self') return [200, { scopes, active: true }]
    const prefix = `/api/v4/projects/${encodeURIComponent(PROJECT)}`
    if (!url.pathname.startsWith(prefix)) return NOT_FOUND
    const rest = decodeURIComponent(url.pathname.slice(prefix.length))
    const shown = ({ number, state, branch, target, fork }: FakeRequest) => ({
      iid: number,
      state: state === 'open' ? 'opened' : state,
      source_branch: branch,
      target_branch: target,
      source_project_id: fork ? 2 : 1,
      target_project_id: 1,
      sha: fork?.head ?? headOf(branch),
    })
    if (method === 'GET') {
      if (rest === '') {
        const project_access = { access_level: rights.level ?? 30 }
        return [
          200,
          {
            default_branch: isEmpty ? null : 'main',
            archived: isArchived,
            empty_repo: isEmpty,
            visibility: readers === 'unsaid' ? undefined : readers,
            permissions: { project_access, group_access: null },
          },
        ]
      }
      const branch = /^\/repository\/branches\/(.+)$/.exec(rest)?.[1]
      const tip = branch && refs.get(branch)
      if (tip) return [200, { name: branch, commit: { id: tip } }]
      const single = /^\/repository\/commits\/(\w+)$/.exec(rest)?.[1] ?? ''
      if (commits.has(single)) {
        const { message, parents } = commits.get(single)!
        return [200, { id: single, message, parent_ids: parents }]
      }
      const file = /^\/repository\/files\/(.+)$/.exec(rest)?.[1]
      const found = file && treeAt(url.searchParams.get('ref')!)?.get(file)
      if (found) return [200, { blob_id: hash('blob', found.content), file_path: file }]
      const diffed = /^\/repository\/commits\/(\w+)\/diff$/.exec(rest)?.[1]
      if (diffed && commits.has(diffed)) {
        return [200, changed(diffed).map((path) => ({ old_path: path, new_path: path }))]
      }
      if (rest === '/merge_requests') {
        const [of, to] = [url.searchParams.get('source_branch'), url.searchParams.get('target_branch')]
        return [200, requests.filter((one) => one.branch === of && one.target === to).map(shown)]
      }
      const one = requests[Number(/^\/merge_requests\/(\d+)$/.exec(rest)?.[1]) - 1]
      return one ? [200, shown(one)] : NOT_FOUND
    }
    if (!scopes.includes('api')) return [403, { error: 'insufficient_scope' }]
    if (rest === '/merge_requests') {
      const made = request(
        field(body, 'source_branch'),
        field(body, 'target_branch'),
        field(body, 'title'),
        field(body, 'description'),
      )
      return made ? [201, shown(made)] : [409, { message: ['Another open merge request already exists'] }]
    }
    if (rest === '/repository/commits') {
      const branch = field(body, 'branch')
      if (refs.has(branch)) return [400, { message: `A branch called '${branch}' already exists.` }]
      const start = field(body, 'start_sha')
      const tree = new Map(treeAt(start))
      for (const one of body['actions'] as Record<string, string>[]) {
        const [path, action] = [one['file_path']!, one['action']!]
        if ((action === 'create') === tree.has(path)) return [400, { message: 'A file with this name …' }]
        if (action === 'delete') tree.delete(path)
        else tree.set(path, { content: Buffer.from(one['content']!, 'base64'), mode: '100644' })
      }
      const message = field(body, 'commit_message')
      const id = addCommit({ tree: addTree(tree), parents: [start], message })
      refs.set(branch, id)
      return [201, { id }]
    }
    return NOT_FOUND
  }

  function gitea(method: string, url: URL, body: Json, rights: FakeRights): Answer {
    if (url.pathname === '/api/v1/user') return rights.account ? [200, { login: 'bot' }] : FORBIDDEN
    const prefix = `/api/v1/repos/${PROJECT}`
    if (!url.pathname.startsWith(prefix)) return NOT_FOUND
    const rest = decodeURIComponent(url.pathname.slice(prefix.length))
    const shown = ({ number, state, branch, target, fork }: FakeRequest) => ({
      number,
      state: state === 'open' ? 'open' : 'closed',
      merged: state === 'merged',
      head: {
        label: branch,
        ref: refs.has(branch) ? branch : `refs/pull/${number}/head`,
        sha: fork?.head ?? headOf(branch),
        repo_id: fork ? 2 : 1,
      },
      base: { label: target, ref: target, repo_id: 1 },
    })
    if (method === 'GET') {
      if (rest === '') {
        const permissions = { admin: false, push: rights.level !== 0, pull: true }
        return [
          200,
          { default_branch: 'main', archived: isArchived, empty: isEmpty, ...isPrivate(), permissions },
        ]
      }
      const branch = /^\/branches\/(.+)$/.exec(rest)?.[1]
      const tip = branch && refs.get(branch)
      if (tip) return [200, { name: branch, commit: { id: tip } }]
      const commit = /^\/git\/commits\/(\w+)$/.exec(rest)?.[1] ?? ''
      if (commits.has(commit)) {
        const { message, parents: before } = commits.get(commit)!
        const parents = before.map((sha) => ({ sha }))
        return [
          200,
          {
            sha: commit,
            commit: { message },
            parents,
            files: changed(commit).map((filename) => ({ filename })),
          },
        ]
      }
      const file = /^\/contents\/(.+)$/.exec(rest)?.[1]
      const found = file && treeAt(url.searchParams.get('ref')!)?.get(file)
      if (found) return [200, { type: 'file', sha: hash('blob', found.content) }]
      const numbered = requests[Number(/^\/pulls\/(\d+)$/.exec(rest)?.[1]) - 1]
      if (numbered) return [200, shown(numbered)]
      const [, base, head] = /^\/pulls\/([^/]+)\/(.+)$/.exec(rest) ?? []
      const one = requests.find(({ branch: of, target, fork }) => of === head && target === base && !fork)
      return one ? [200, shown(one)] : NOT_FOUND
    }
    if (rights.contents === false) return FORBIDDEN
    if (rest === '/contents') {
      const changes = body['files'] as Record<string, string>[] | undefined
      const name = field(body, 'new_branch')
      if (!changes || refs.has(name)) return INVALID
      const start = refs.get(field(body, 'branch'))!
      const tree = new Map(treeAt(start))
      for (const one of changes) {
        const [path, operation] = [one['path']!, one['operation']!]
        const now = tree.get(path)
        if (operation === 'create' ? now !== undefined : !now || hash('blob', now.content) !== one['sha']) {
          return INVALID
        }
        if (operation === 'delete') tree.delete(path)
        else tree.set(path, { content: Buffer.from(one['content']!, 'base64'), mode: '100644' })
      }
      const sha = addCommit({ tree: addTree(tree), parents: [start], message: field(body, 'message') })
      refs.set(name, sha)
      return [201, { commit: { sha } }]
    }
    if (rest === '/pulls') {
      const [head, base] = [field(body, 'head'), field(body, 'base')]
      if (!refs.has(head)) return NOT_FOUND
      const made = request(head, base, field(body, 'title'), field(body, 'body'))
      return made ? [201, shown(made)] : [409, { message: 'pull request already exists' }]
    }
    return NOT_FOUND
  }

  const WIRES = { github, gitlab, gitea, forgejo: gitea }
  const tokenOf = ({ headers }: IncomingMessage): string =>
    host === 'gitlab'
      ? String(headers['private-token'])
      : (headers.authorization ?? '').replace(/^(?:Bearer|token) /, '')

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(incoming)
    const url = new URL(incoming.url ?? '/', 'http://host')
    asked.push(`${incoming.method} ${url.pathname}`)
    const at = failures.findIndex(([part]) =>
      `${incoming.method} ${decodeURIComponent(url.pathname)}`.includes(part),
    )
    const [, failure] = at < 0 ? [] : failures.splice(at, 1)[0]!
    if (failure === 'hang up') return void response.destroy()
    if (typeof failure === 'number') return void response.writeHead(failure).end('{}')
    if (typeof failure === 'object') {
      if ('redirect' in failure) return void response.writeHead(302, { location: failure.redirect }).end()
      const { status = 200, headers: more, says } = failure
      return void response.writeHead(status, { 'content-type': 'application/json', ...more }).end(says)
    }
    const rights = tokens.get(tokenOf(incoming))
    const [status, said, headers] =
      rights === undefined
        ? ([401, { message: 'Bad credentials' }, undefined] as const)
        : rights.reads === false
          ? NOT_FOUND
          : WIRES[host](incoming.method ?? 'GET', url, JSON.parse(body || '{}') as Json, rights)
    if (failure === 'lost answer') return void response.destroy()
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(said))
  }

  const server = createServer((incoming, response) => {
    void answer(incoming, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${PROJECT}`,
    requests,
    asked,
    makeToken(rights = {}) {
      const token = randomBytes(20).toString('hex')
      tokens.set(token, rights)
      return token
    },
    fileAt: (branch, path) => treeAt(branch)?.get(path)?.content.toString(),
    branches: () => [...refs.keys()],
    push,
    merge(number) {
      const one = requests[number - 1]!
      one.state = 'merged'
      refs.set(one.target, headOf(one.branch)!)
    },
    closeRequest: (number) => void (requests[number - 1]!.state = 'closed'),
    archive: () => void (isArchived = true),
    empty: () => void (isEmpty = true),
    publish: (how = 'public') => void (readers = how),
    removeBranch(branch) {
      heads.set(branch, refs.get(branch)!)
      refs.delete(branch)
    },
    failNext: (part, how) => void failures.push([part, how]),
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((closed) => server.close(closed))
    },
  }
}
