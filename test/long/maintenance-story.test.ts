/**
 * The whole story of one bug, on both engines, with the real server, client, runner and git: a repository is connected, its
 * program fails, the agent finds and proposes, another person approves, a pull request is opened, merged, pushed and
 * deployed, the error is gone, and the ordinary push that would have undone it is refused. Then the same with the server killed
 * at twelve moments of it: what was acknowledged is there after each.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { passwords, users } from '../../db/schema.ts'
import { argon2Passwords } from '../../src/adapters/passwords/argon2.ts'
import type { Call } from '../../src/client/http-client.ts'
import { createApp, showApp } from '../../src/contracts/apps.ts'
import { createDeployment, listDeployments, showDeployment } from '../../src/contracts/deployments.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { listLogs } from '../../src/contracts/logs.ts'
import {
  listFindings,
  showMaintenanceRun,
  startMaintenanceRun,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import { acceptInvitation, inviteMember } from '../../src/contracts/members.ts'
import { createOrganization } from '../../src/contracts/organizations.ts'
import { approveProposal, listProposals, showProposal } from '../../src/contracts/proposals.ts'
import { createRemoteSecret, setAppRemote, showAppRemote } from '../../src/contracts/remotes.ts'
import { listRevisions } from '../../src/contracts/revisions.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { PASSWORD } from '../support/make.ts'
import { startModelServer, type ReceivedRequest, type ScriptedTurn } from '../support/model-server.ts'
import {
  migratedFolder,
  processes,
  realClock,
  type Env,
  type Processes,
  type ServerProcess,
} from '../support/process.ts'
import { startRealGitHost } from '../support/real-git-host.ts'
import { freshSecrets } from '../support/system.ts'

const SVC = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url))
const MINUTES = 60_000
/** Between runs that are started again: an app has only so many an hour. */
const PATIENCE_MS = 20_000
const run = promisify(execFile)

type Engine = 'embedded' | 'postgres'

const own = processes()
const cleaning: (() => Promise<unknown>)[] = []
afterEach(async () => {
  // The last first: a runner before its server.
  for (const clean of cleaning.splice(0).toReversed()) await clean()
  await own.cleanUp()
})

const ALIAS = 'shop'
const BROKEN =
  'export const sum = (items) => {\n  return items.reduce((total, { price }) => total + price.amount, 0)\n}\n'
const OLD = 'total + price.amount'
const NEW = 'total + (price?.amount ?? 0)'
const REPAIRED = BROKEN.replace(OLD, NEW)
/** A program whose log depends on what is deployed. */
const TREE = {
  'src/sum.js': BROKEN,
  'src/main.js': `import { sum } from './sum.js'

const orders = [[{ price: { amount: 2 } }], [{}], [{ price: { amount: 1 } }, {}]]
for (const [n, items] of orders.entries()) {
  const order = process.argv[2] + '-' + n
  try {
    console.log(JSON.stringify({ level: 'info', message: 'order ' + order + ' costs ' + sum(items) }))
  } catch (error) {
    console.log(JSON.stringify({ level: 'error', message: 'order ' + order + ' failed', stack: error.stack }))
  }
}
`,
  'package.json': '{ "type": "module" }\n',
  'deploy.sh':
    '#!/bin/sh\nset -e\nrm -rf "$TRACES/live"\ncp -r . "$TRACES/live"\ntouch "$TRACES/begun"\nwhile [ -e "$TRACES/hold" ]; do sleep 0.1; done\n',
}

/** Looks at everything, and then proposes what the story needs, with what it has read as evidence. */
function proposing({ body }: ReceivedRequest): ScriptedTurn {
  const said = JSON.stringify(body['messages'])
  if (!said.includes('tool_call_id'))
    return {
      calls: [
        { name: 'log_groups', arguments: {} },
        { name: 'check_history', arguments: {} },
        { name: 'read_logs', arguments: { level: 'error' } },
        { name: 'read_file', arguments: { path: 'src/sum.js' } },
      ],
    }
  if (said.includes('"name":"propose_change"')) return { text: 'That is all.' }
  const [line] = /log:\w+/.exec(said) ?? []
  const [file] = /file:src\/sum\.js#L\d+-L\d+/.exec(said) ?? []
  return {
    calls: [
      {
        name: 'propose_change',
        arguments: {
          title: 'Take items without a price',
          rationale: 'Orders with such items fail.',
          evidence: [line, file],
          edits: [{ path: 'src/sum.js', old_text: OLD, new_text: NEW }],
        },
      },
    ],
  }
}

/** What a process of its own needs, and a way in while it does not run. */
async function install(engine: Engine): Promise<{ env: Env; open: () => Promise<Connection> }> {
  const env: Env = {
    SVC_ORG: 'Home',
    PORT: String(await freePort()),
    METRICS_PORT: 'off',
    ARGON2_MEMORY_KIB: '64',
    NOTIFY_ALLOW_NETS: '127.0.0.0/8',
  }
  if (engine === 'embedded') {
    const folder = await migratedFolder(own)
    return { env: { ...env, SVC_DATA_DIR: folder }, open: () => connect({ folder }) }
  }
  const server = inject('postgres')
  const name = `story_${randomBytes(4).toString('hex')}`
  await onServer(server.url, `create database ${name} template ${server.template}`)
  cleaning.push(() => onServer(server.url, `drop database if exists ${name} with (force)`))
  const url = databaseUrl(server.url, name)
  return { env: { ...env, DATABASE_URL: url, ...freshSecrets() }, open: () => connect({ url }) }
}

/** Ada, who connects and starts, and Bert, who decides. */
async function addPeople(open: () => Promise<Connection>): Promise<string[]> {
  const { db, close } = await open()
  const hash = await argon2Passwords({ memoryKib: 64, passes: 1 }).hash(PASSWORD)
  const now = realClock()
  const emails = ['ada', 'bert'].map((name) => `${name}-${randomBytes(4).toString('hex')}@people.test`)
  for (const email of emails) {
    const id = makeId('usr', now.getTime())
    await db.insert(users).values({ id, email, emailVerifiedAt: now, name: email, createdAt: now })
    await db.insert(passwords).values({ userId: id, email, hash, changedAt: now })
  }
  await close()
  return emails
}

async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  ms = 3 * MINUTES,
): Promise<T> {
  for (const end = performance.now() + ms; ;) {
    const seen = await look().catch(() => undefined)
    if (seen) return seen
    if (performance.now() > end) throw new Error(`not in time: ${what}`)
    await sleep(250)
  }
}

/** How it went: the exit code and everything it said. */
async function command(program: string, args: readonly string[], cwd: string, env: Env, input = '') {
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, said }
}

/** The server of one story: started, killed at a moment, and asked afterwards for all that it had acknowledged. */
function serverOf(processesOf: Processes, env: Env, open: () => Promise<Connection>) {
  let server: ServerProcess | undefined
  const acknowledged = new Map<string, () => Promise<unknown>>()
  const moments: string[] = []

  const start = async () => {
    server = await processesOf.start({ env })
  }
  async function checkAll(moment: string): Promise<void> {
    const missing: string[] = []
    for (const [what, look] of acknowledged) if (!(await look())) missing.push(what)
    expect([moment, missing]).toEqual([moment, []])
  }
  return {
    start,
    moments,
    origin: () => server!.origin,
    as: (who?: Parameters<ServerProcess['as']>[0]) => server!.as(who),
    acknowledge: (what: string, look: () => Promise<unknown>) => void acknowledged.set(what, look),
    checkAll,
    async kill(moment: string) {
      await server!.stop('SIGKILL')
      moments.push(moment)
    },
    /** Begins again; before that, whatever had a lease is as if its minutes were over, where that is asked for. */
    async startAgain(moment: string, isLater = false) {
      if (isLater) {
        const { db, close } = await open()
        await db.execute(sql`update pull_requests set lease_until = clock_timestamp() - interval '1 second'
          where lease_until is not null`)
        await db.execute(sql`update app_leases set expires_at = clock_timestamp() - interval '1 second'
          where execution_id is not null`)
        await db.execute(
          sql`update jobs set next_run_at = now(), lease_until = null where name = 'measure fixes'`,
        )
        await close()
      }
      await start()
      await checkAll(moment)
    },
    stop: () => server!.stop('SIGTERM'),
  }
}

async function tellStory(engine: Engine, isKilled: boolean): Promise<string[]> {
  const { env, open } = await install(engine)
  const [ada, bert] = await addPeople(open)
  let isSilent = false
  let asked: (() => void) | undefined
  const provider = await startModelServer((request) => {
    asked?.()
    return isSilent ? { fault: 'silence' } : proposing(request)
  })
  cleaning.push(() => provider.stop())
  const folder = await own.newFolder()
  const host = await startRealGitHost(folder)
  cleaning.push(() => host.close())
  const model = { wire: 'openai-chat', url: `${provider.origin}/v1`, max_output_tokens: 1_000 }
  const server = serverOf(own, { ...env, MAINTENANCE_MODELS: JSON.stringify({ scripted: model }) }, open)
  await server.start()

  /** Sent, and the server killed after so long; what was not acknowledged is sent again. */
  async function during<T>(moment: string, afterMs: number, work: () => Promise<T>): Promise<T> {
    if (!isKilled) return work()
    const pending = work().then(
      (value) => ({ value }),
      () => ({}),
    )
    await sleep(afterMs)
    await server.kill(moment)
    await server.startAgain(moment)
    // The client tries again by itself: what it then was told counts.
    const outcome = await pending
    return 'value' in outcome ? outcome.value : work()
  }

  const signIn = async (email: string) =>
    (await server.as()(signInWithPassword, { email, password: PASSWORD })).token
  const tokens = { ada: await signIn(ada!), bert: await signIn(bert!) }
  const { id: orgId } = await server.as({ token: tokens.ada })(createOrganization, { name: 'Acme' })
  const by =
    (who: keyof typeof tokens): Call =>
    (...given) =>
      server.as({ token: tokens[who], organization: orgId })(...given)
  const { invitation_url } = await by('ada')(inviteMember, { org_id: orgId, email: bert!, role: 'admin' })
  await server.as({ token: tokens.bert })(acceptInvitation, { token: invitation_url!.split('/').at(-1)! })
  await by('ada')(updateMaintenanceSettings, {
    org_id: orgId,
    enabled: true,
    model: 'scripted',
    cooldown_hours: 0,
    token_allowance: 1_000_000,
  })

  // The team's repository, by git's own way in.
  const traces = join(folder, 'traces')
  mkdirSync(traces)
  const repository = join(folder, ALIAS)
  mkdirSync(join(repository, 'src'), { recursive: true })
  for (const [path, text] of Object.entries(TREE)) writeFileSync(join(repository, path), text)
  const gitEnv = {
    PATH: process.env['PATH']!,
    HOME: folder,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@people.test',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@people.test',
  }
  const git = async (cwd: string, ...args: string[]) =>
    (await run('git', args, { cwd, env: gitEnv })).stdout.trim()
  await git(repository, 'init', '--quiet', '--initial-branch=main')
  await git(repository, 'add', '.')
  await git(repository, 'commit', '--quiet', '--message', 'The shop')
  await git(repository, 'push', '--quiet', `${host.url}.git`, 'main')
  const trunk = await host.git('rev-parse', 'main')

  // Connect.
  const home = join(folder, 'home')
  const svcEnv = (token: string): Env => ({
    PATH: process.env['PATH']!,
    HOME: home,
    TRACES: traces,
    SVC_API_URL: server.origin(),
    SVC_API_KEY: token,
  })
  const svc = (cwd: string, token: string, args: readonly string[], input?: string) =>
    command(process.execPath, [SVC, ...args], cwd, svcEnv(token), input)
  await by('ada')(createApp, { alias: ALIAS, name: 'Shop' })
  const connected = await during('connecting', 700, async () => {
    const args = ['apps', 'connect', ALIAS, '--exec', 'sh deploy.sh', '--maintenance']
    const { code, said } = await svc(repository, tokens.ada, args)
    if (code !== 0) throw new Error(said)
    return said
  })
  expect(connected).toContain('pushed 4 files')
  const appFolder = join(home, '.config', 'svc', 'apps')
  const [tokenFile] = readdirSync(appFolder)
  const appTokens = Object.fromEntries(
    readFileSync(join(appFolder, tokenFile!), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s) as [string, string]),
  )
  const headOf = async () => (await by('ada')(listRevisions, { alias: ALIAS })).head_id
  const first = (await headOf())!
  const isRevision = async (id: string) =>
    (await by('ada')(listRevisions, { alias: ALIAS })).revisions.some((one) => one.id === id)
  server.acknowledge('the app', () => by('ada')(showApp, { alias: ALIAS }))
  server.acknowledge('the first revision', () => isRevision(first))

  // A runner deploys it, and its program writes its log.
  const runner: ChildProcess = spawn(
    process.execPath,
    [SVC, 'apps', 'runner', ALIAS, '--exec', 'sh deploy.sh'],
    { cwd: folder, env: svcEnv(appTokens['SVC_RUNNER_TOKEN']!), stdio: 'ignore' },
  )
  const exited = new Promise((resolve) => runner.once('exit', resolve))
  cleaning.push(async () => {
    runner.kill('SIGKILL')
    await exited
  })
  const isSucceeded = async (deployment_id: string) =>
    (await by('ada')(showDeployment, { alias: ALIAS, deployment_id })).state === 'succeeded'
  const deploy = async (revision_id: string) =>
    (await by('ada')(createDeployment, { alias: ALIAS, revision_id })).id
  const firstDeployment = await deploy(first)
  await until('the first deployment', () => isSucceeded(firstDeployment))
  server.acknowledge('the first deployment', () => isSucceeded(firstDeployment))

  /** What the program that is deployed writes now, sent by the shipper's token. */
  async function serve(name: string): Promise<string> {
    const { stdout } = await run(process.execPath, [join(traces, 'live', 'src', 'main.js'), name])
    return stdout
  }
  const has = async (text: string, count: number) =>
    (await by('ada')(listLogs, { alias: ALIAS, text })).lines.length >= count
  async function ship(name: string): Promise<string> {
    const lines = await serve(name)
    const args = ['apps', 'logs', 'push', ALIAS]
    const { code, said } = await svc(folder, appTokens['SVC_REPORTING_TOKEN']!, args, lines)
    if (code !== 0) throw new Error(said)
    return lines
  }
  const before = await during('shipping the log', 500, () => ship('monday'))
  expect(before.match(/"level":"error"/g)).toHaveLength(2)
  server.acknowledge('the log', () => has('monday-', 3))

  // The remote, checked when it is set.
  await during('setting the remote', 10, () =>
    by('ada')(setAppRemote, { alias: ALIAS, host: 'github', url: host.url, token: host.token }),
  )
  server.acknowledge(
    'the remote',
    async () => (await by('ada')(showAppRemote, { alias: ALIAS })).remote?.url === host.url,
  )
  const hook = await by('ada')(createRemoteSecret, { alias: ALIAS })

  // Ada starts a run.
  const runOf = (execution_id: string) => by('ada')(showMaintenanceRun, { alias: ALIAS, execution_id })
  const startRun = async () => (await by('ada')(startMaintenanceRun, { alias: ALIAS })).execution_id
  if (isKilled) {
    // Killed while the model thinks: that run is lost, and said to be.
    isSilent = true
    const heard = new Promise<void>((resolve) => (asked = resolve))
    const lost = await startRun()
    await heard
    await server.kill('the model thinks')
    isSilent = false
    server.acknowledge('the run that was lost', () => runOf(lost))
    await server.startAgain('the model thinks', true)
    await until('the lost run ends', async () => (await runOf(lost)).status === 'ended')
    expect(await runOf(lost)).toMatchObject({ terminal_code: 'lease_lost', reason: 'RUNNER_LOST' })
  }
  let execution = await during('starting the run', 10, startRun)
  let startedAt = performance.now()
  const proposal_id = await until(
    'the proposal',
    async () => {
      const [made] = (await by('ada')(listProposals, { alias: ALIAS })).proposals
      if (made) return made.id
      const seen = await runOf(execution)
      if (!isKilled && seen.status === 'ended') expect(seen).toMatchObject({ terminal_code: 'proposed' })
      // Lost with the server, or skipped for one whose start nobody heard of.
      if (seen.status === 'ended' && performance.now() - startedAt > PATIENCE_MS) {
        startedAt = performance.now()
        execution = await startRun()
      }
      return undefined
    },
    8 * MINUTES,
  )
  const show = () => by('ada')(showProposal, { alias: ALIAS, proposal_id })
  expect(await show()).toMatchObject({ state: 'ready', files_changed: 1 })
  expect((await by('ada')(listFindings, { alias: ALIAS })).findings).toMatchObject([{ state: 'proposed' }])
  const proposedBy = (await show()).execution_id
  await until('the run ends', async () => (await runOf(proposedBy)).status === 'ended')
  expect(await runOf(proposedBy)).toMatchObject({ terminal_code: 'proposed', reason: null })
  server.acknowledge('the run', async () => (await runOf(proposedBy)).status === 'ended')
  server.acknowledge('the proposal', show)

  // Who asked for it does not decide; somebody else does.
  const given = { alias: ALIAS, proposal_id, diff_sha256: (await show()).diff_sha256 }
  await expect(by('ada')(approveProposal, given)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  // The host has made the commit, and later the pull request, and nobody hears of it.
  const killings = ['/git/commits', '/pulls'].map((part) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const moment = `the host answers ${part}`
    const isDone = () => server.moments.includes(moment)
    if (isKilled) host.beforeAnswer(`POST ${part}`, () => promise.then(() => server.kill(moment)))
    return { moment, resolve, isDone }
  })
  await during('approving', 12, async () => {
    if ((await show()).state === 'ready')
      await by('bert')(approveProposal, { ...given, note: 'Read and understood.' })
  })
  const decided = async () => (await show()).decided?.approved === true
  expect(await decided()).toBe(true)
  server.acknowledge('the decision', decided)
  for (const { moment, resolve, isDone } of isKilled ? killings : []) {
    resolve()
    await until(moment, async () => isDone(), 6 * MINUTES)
    await server.startAgain(moment, true)
  }
  await until('the pull request', async () => (await show()).pull_request?.number === 1, 6 * MINUTES)
  server.acknowledge('the pull request', async () => (await show()).pull_request?.number === 1)
  expect(await show()).toMatchObject({ state: 'approved', decided: { note: 'Read and understood.' } })
  expect(host.pulls).toMatchObject([{ branch: `svc/${proposal_id}`, target: 'main', state: 'open' }])
  expect(await host.git('rev-parse', 'main')).toBe(trunk)
  expect(await host.git('rev-list', '--count', `main..svc/${proposal_id}`)).toBe('1')
  expect(await host.git('show', `svc/${proposal_id}:src/sum.js`)).toBe(REPAIRED.trim())

  // The team merges, and the host says so.
  const stale = join(folder, 'stale')
  cpSync(repository, stale, { recursive: true })
  await host.merge(1)
  const body = JSON.stringify({ action: 'closed', number: 1 })
  const signature = `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`
  const tell = async () => {
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
    const answer = await fetch(hook.url, { method: 'POST', headers, body })
    if (answer.status !== 204) throw new Error(`the webhook was answered ${answer.status}`)
  }
  await during('the host tells of the merge', 8, tell)
  await until('the merge is seen', async () => {
    await tell()
    return (await show()).state === 'deploying'
  })
  server.acknowledge('the merge', async () => (await show()).pull_request?.state === 'merged')

  // What was merged is cloned as by CI, pushed without a base, and deployed.
  const clone = join(folder, 'ci')
  await git(folder, 'clone', '--quiet', `${host.url}.git`, clone)
  expect(readFileSync(join(clone, 'src/sum.js'), 'utf8')).toBe(REPAIRED)
  await during('pushing what was merged', 600, async () => {
    const { code, said } = await svc(clone, tokens.ada, ['apps', 'push', ALIAS])
    if (code !== 0) throw new Error(said)
  })
  const landed = (await headOf())!
  expect(landed).not.toBe(first)
  server.acknowledge('the revision that was merged', () => isRevision(landed))
  server.acknowledge('the head', async () => (await headOf()) === landed)
  expect(await show()).toMatchObject({ state: 'deploying', pull_request: { landed_by: landed } })
  writeFileSync(join(traces, 'hold'), '')
  rmSync(join(traces, 'begun'))
  const lastDeployment = await during('asking for the deployment', 10, () => deploy(landed))
  server.acknowledge('the deployment', () =>
    by('ada')(showDeployment, { alias: ALIAS, deployment_id: lastDeployment }),
  )
  await until('the command begins', async () => existsSync(join(traces, 'begun')))
  if (isKilled) {
    await server.kill('the command runs')
    await server.startAgain('the command runs')
  }
  rmSync(join(traces, 'hold'))
  await until('the last deployment', () => isSucceeded(lastDeployment))
  await until('all deployments end', async () =>
    (await by('ada')(listDeployments, { alias: ALIAS })).deployments.every(
      (one) => one.state === 'succeeded',
    ),
  )
  server.acknowledge('that it was deployed', async () => (await show()).state === 'deployed')
  expect(await show()).toMatchObject({ state: 'deployed' })
  expect((await by('ada')(listFindings, { alias: ALIAS })).findings).toMatchObject([{ state: 'resolved' }])

  // The error is gone, in what the program writes and by what the proposal says.
  const after = await ship('tuesday')
  expect(after).not.toContain('"level":"error"')
  server.acknowledge('the log of the fix', () => has('tuesday-', 3))
  await server.stop()
  await server.startAgain('a restart', true)
  const effect = await until('the fix is measured', async () => {
    const seen = (await show()).effect
    return seen !== null && seen.lines_since > 0 && seen
  })
  expect(effect.errors_before).toBeGreaterThanOrEqual(2)
  expect(effect).toMatchObject({ errors_since: 0, came_back_at: null })

  // The ordinary push of somebody who has not pulled.
  writeFileSync(join(stale, 'src/other.js'), 'export const other = 1\n')
  const refused = await svc(stale, tokens.ada, ['apps', 'push', ALIAS])
  expect(refused.code).not.toBe(0)
  expect(refused.said).toContain(proposal_id)
  expect(refused.said).toContain('src/sum.js')
  expect([await headOf(), (await show()).state]).toEqual([landed, 'deployed'])
  await server.checkAll('the end')
  // Whatever died in between: one branch, one pull request.
  expect(host.pulls).toHaveLength(1)
  expect((await host.git('for-each-ref', '--format=%(refname)', 'refs/heads')).split('\n')).toEqual([
    'refs/heads/main',
    `refs/heads/svc/${proposal_id}`,
  ])
  return server.moments
}

test('from the connection to the refused push', { timeout: 15 * MINUTES }, async () => {
  expect(await tellStory('embedded', false)).toEqual([])
})

test.each<Engine>(['embedded', 'postgres'])(
  'the same with the server killed at twelve moments, on %s',
  { timeout: 15 * MINUTES },
  async (engine) => {
    expect(new Set(await tellStory(engine, true)).size).toBe(12)
  },
)
