/**
 * A git host with a real repository: `git http-backend` serves clones and pushes, and GitHub's git data API, in its documented
 * shapes, is git's own plumbing below. Whatever the product makes there, git itself has made.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer, json } from 'node:stream/consumers'
import { promisify } from 'node:util'

const run = promisify(execFile)
const PROJECT = 'acme/shop'
/** Of every commit: git asks for one, and the machine may have none. */
const WHO = {
  GIT_AUTHOR_NAME: 'Host',
  GIT_AUTHOR_EMAIL: 'host@git.test',
  GIT_COMMITTER_NAME: 'Host',
  GIT_COMMITTER_EMAIL: 'host@git.test',
}

type Pull = {
  readonly number: number
  readonly branch: string
  readonly target: string
  readonly title: string
  readonly body: string
  state: 'open' | 'merged' | 'closed'
}

export type RealGitHost = {
  /** The page of the repository; with `.git` it can be cloned. */
  readonly url: string
  readonly token: string
  readonly pulls: readonly Pull[]
  /** Runs git in the repository. */
  git(...args: string[]): Promise<string>
  /** As the button on the page: a commit with two parents. */
  merge(number: number): Promise<void>
  /** Called once, with what was asked for done and not yet answered. */
  beforeAnswer(part: string, happens: () => Promise<unknown>): void
  close(): Promise<void>
}

type Answer = readonly [status: number, body: unknown]

export async function startRealGitHost(folder: string): Promise<RealGitHost> {
  const root = join(folder, 'git')
  const repository = join(root, `${PROJECT}.git`)
  const token = 'token-of-the-repository'
  const pulls: Pull[] = []
  const waiting: { part: string; happens: () => Promise<unknown> }[] = []
  const env = { PATH: process.env['PATH'], HOME: folder, ...WHO }

  const git = async (...args: string[]): Promise<string> =>
    (await run('git', ['--git-dir', repository, ...args], { env })).stdout.trim()
  const gitWith = async (input: Buffer | string, more: object, ...args: string[]): Promise<string> => {
    const child = spawn('git', ['--git-dir', repository, ...args], {
      env: { ...env, ...more },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    // A command that reads nothing may have ended by now; its exit code says whether it failed.
    child.stdin.on('error', () => undefined).end(input)
    const [said] = await Promise.all([buffer(child.stdout), once(child, 'close')])
    if (child.exitCode !== 0) throw new Error(`git ${args.join(' ')} failed`)
    return said.toString().trim()
  }
  const find = (...args: string[]): Promise<string | undefined> =>
    git('rev-parse', '--verify', '--quiet', ...args).catch(() => undefined)

  await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', repository], { env })
  await git('config', 'http.receivepack', 'true')

  const NOT_FOUND: Answer = [404, { message: 'Not Found', documentation_url: 'https://docs.github.com/rest' }]
  const INVALID: Answer = [422, { message: 'Validation Failed', errors: [] }]

  const shown = async ({ number, branch, target, state }: Pull) => ({
    number,
    state: state === 'open' ? 'open' : 'closed',
    merged_at: state === 'merged' ? '2026-01-01T00:00:00Z' : null,
    head: { ref: branch, sha: await find(`refs/pull/${number}/head`), repo: { id: 1 } },
    base: { ref: target, repo: { id: 1 } },
  })

  async function read(rest: string, query: URLSearchParams): Promise<Answer> {
    if (rest === '') return [200, { default_branch: 'main', archived: false, size: 1, private: true }]
    const ref = /^\/git\/ref\/heads\/(.+)$/.exec(rest)?.[1]
    if (ref !== undefined) {
      const sha = await find(`refs/heads/${ref}`)
      return sha ? [200, { ref: `refs/heads/${ref}`, object: { type: 'commit', sha } }] : NOT_FOUND
    }
    const commit = /^\/git\/commits\/(\w+)$/.exec(rest)?.[1]
    if (commit !== undefined) {
      const [tree, parents, ...message] = (await git('log', '-1', '--format=%T%n%P%n%B', commit)).split('\n')
      const shas = parents!.split(' ').filter((sha) => sha !== '')
      return [
        200,
        {
          sha: commit,
          message: message.join('\n'),
          tree: { sha: tree },
          parents: shas.map((sha) => ({ sha })),
        },
      ]
    }
    const path = /^\/contents\/(.+)$/.exec(rest)?.[1]
    if (path !== undefined) {
      const sha = await find(`${query.get('ref')}:${path}`)
      return sha ? [200, { type: 'file', path, sha }] : NOT_FOUND
    }
    if (rest === '/pulls') {
      const branch = query.get('head')?.replace('acme:', '')
      const found = pulls.filter((one) => one.branch === branch && one.target === query.get('base'))
      return [200, await Promise.all(found.map(shown))]
    }
    const one = pulls[Number(/^\/pulls\/(\d+)$/.exec(rest)?.[1]) - 1]
    return one ? [200, await shown(one)] : NOT_FOUND
  }

  async function make(rest: string, body: Record<string, unknown>): Promise<Answer> {
    const field = (name: string): string => (typeof body[name] === 'string' ? body[name] : '')
    if (rest === '/git/blobs') {
      const content = Buffer.from(field('content'), 'base64')
      return [201, { sha: await gitWith(content, {}, 'hash-object', '-w', '--stdin') }]
    }
    if (rest === '/git/trees') {
      const index = { GIT_INDEX_FILE: join(folder, `index-${pulls.length}-${process.hrtime.bigint()}`) }
      await gitWith('', index, 'read-tree', field('base_tree'))
      const entries = body['tree'] as { path: string; mode: string; sha: string | null }[]
      const lines = entries.map(({ path, mode, sha }) =>
        sha === null ? `0 ${'0'.repeat(40)}\t${path}\n` : `${mode} ${sha}\t${path}\n`,
      )
      await gitWith(lines.join(''), index, 'update-index', '--index-info')
      return [201, { sha: await gitWith('', index, 'write-tree') }]
    }
    if (rest === '/git/commits') {
      const parents = (body['parents'] as string[]).flatMap((sha) => ['-p', sha])
      return [201, { sha: await gitWith(field('message'), {}, 'commit-tree', field('tree'), ...parents) }]
    }
    if (rest === '/git/refs') {
      const ref = field('ref')
      if (!ref.startsWith('refs/') || (await find(ref)) || !(await find(`${field('sha')}^{commit}`)))
        return INVALID
      await git('update-ref', ref, field('sha'), '0'.repeat(40))
      return [201, { ref, object: { type: 'commit', sha: field('sha') } }]
    }
    if (rest === '/pulls') {
      const [branch, target] = [field('head'), field('base')]
      const head = branch === '' ? undefined : await find(`refs/heads/${branch}`)
      const isThere = pulls.some((one) => one.branch === branch && one.state === 'open')
      if (!head || isThere || !(await find(`refs/heads/${target}`))) return INVALID
      const number = pulls.length + 1
      await git('update-ref', `refs/pull/${number}/head`, head)
      pulls.push({ number, branch, target, title: field('title'), body: field('body'), state: 'open' })
      return [201, await shown(pulls.at(-1)!)]
    }
    return NOT_FOUND
  }

  /** CGI: RFC 3875. */
  async function serveGit(incoming: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const child = spawn('git', ['http-backend'], {
      env: {
        ...env,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        REQUEST_METHOD: incoming.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: incoming.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: incoming.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(incoming.headers['git-protocol'] ?? ''),
        REMOTE_USER: 'developer',
        REMOTE_ADDR: '127.0.0.1',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    incoming.pipe(child.stdin)
    const said = await buffer(child.stdout)
    const end = said.indexOf('\r\n\r\n')
    const headers = said.subarray(0, end).toString().split('\r\n')
    const status = Number(/^Status: (\d+)/m.exec(headers.join('\n'))?.[1] ?? 200)
    for (const line of headers) {
      const [, name, value] = /^([\w-]+): (.*)$/.exec(line) ?? []
      if (name && name !== 'Status') response.setHeader(name, value!)
    }
    response.writeHead(status).end(said.subarray(end + 4))
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://host')
    if (url.pathname.startsWith(`/${PROJECT}.git/`)) return serveGit(incoming, response, url)
    const prefix = `/api/v3/repos/${PROJECT}`
    const rest = decodeURIComponent(url.pathname.slice(prefix.length))
    const isKnown = incoming.headers.authorization === `Bearer ${token}`
    const [status, said]: Answer = !isKnown
      ? [401, { message: 'Bad credentials' }]
      : !url.pathname.startsWith(prefix)
        ? NOT_FOUND
        : incoming.method === 'GET'
          ? await read(rest, url.searchParams)
          : await make(rest, (await json(incoming)) as Record<string, unknown>)
    const at = status < 400 ? waiting.findIndex(({ part }) => `${incoming.method} ${rest}` === part) : -1
    if (at !== -1) await waiting.splice(at, 1)[0]!.happens()
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(said))
  }

  const server = createServer((incoming, response) => {
    void answer(incoming, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${PROJECT}`,
    token,
    pulls,
    git,
    async merge(number) {
      const pull = pulls[number - 1]!
      const [ours, theirs] = [await git('rev-parse', pull.target), await git('rev-parse', pull.branch)]
      const tree = await git('merge-tree', '--write-tree', ours, theirs)
      const sha = await git('commit-tree', tree, '-p', ours, '-p', theirs, '-m', `Merge #${number}`)
      await git('update-ref', `refs/heads/${pull.target}`, sha, ours)
      pull.state = 'merged'
    },
    beforeAnswer: (part, happens) => void waiting.push({ part, happens }),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
