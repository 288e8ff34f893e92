/** Our contestant of `maintenance`: the tool host, the dispatch and the loop in one process, over a Postgres server beside it. */
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import postgres from 'postgres'
import {
  appLeases,
  appMaintenance,
  checkRuns,
  deployments,
  findings,
  maintenanceRuns,
  maintenanceSettings,
  maintenanceSlots,
} from '../db/schema.ts'
import { drainRuns, type AgentRunnerDeps } from '../src/agent-runner/agent-runner.ts'
import { rulesAnalyst } from '../src/agent-runner/rules/analyst.ts'
import { agentClient } from '../src/client/agent-client.ts'
import type { ClaimedRun } from '../src/contracts/agent-calls.ts'
import { createApp } from '../src/contracts/apps.ts'
import { createCheck } from '../src/contracts/checks.ts'
import { makeId } from '../src/contracts/ids.ts'
import { MAINTENANCE } from '../src/contracts/limits.ts'
import {
  startMaintenanceRun,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../src/contracts/maintenance.ts'
import type { ModelAnswer } from '../src/contracts/model-port.ts'
import { MaintenanceModelsSetting } from '../src/contracts/model-settings.ts'
import { pushRevision } from '../src/contracts/revisions.ts'
import { dispatchSlots } from '../src/cores/maintenance/index.ts'
import { createLogReads, storeLines } from '../src/cores/logs/index.ts'
import { agentRunnerTokens } from '../src/trust/agent-runner-token.ts'
import { archiveOf } from '../test/support/source.ts'
import { knownVectors, startSourceSystem } from './source-system.ts'

export type MaintenanceSettings = {
  readonly database: string
  readonly lines: number
  readonly files: number
  readonly checks: number
  readonly apps: number
  readonly steps: number
  readonly rounds: number
  /** Of the app that the rules read. */
  readonly readLines: number
  readonly readFiles: number
  /** The source of the rules before they read exceptions whatever lines carry them; null: the history is not there. */
  readonly rulesBefore: string | null
}

export type MaintenanceRounds = {
  /** Milliseconds of one call. */
  readonly tools: Record<string, { readonly bare: number[]; readonly ours: number[] }>
  readonly dispatch: { readonly ms: number; readonly databaseMs: number }[]
  readonly runs: { readonly cpuMs: number; readonly databaseMs: number }[]
  /** CPU of a run of the rules and of the database, now and before. */
  readonly readings: { readonly before: number[]; readonly now: number[] }
}

const settings = JSON.parse(process.argv[2]!) as MaintenanceSettings
const AGENT_RUNNER_SECRET = randomBytes(32).toString('hex')
const MODEL = 'instant'
const MODELS = JSON.stringify({
  [MODEL]: { wire: 'openai-chat', url: 'http://127.0.0.1:1/v1', max_run_tokens: 10_000_000 },
})
const ALIAS = 'bench'
const WORDS = ['payment', 'shipping', 'refund', 'packing', 'invoice', 'delivery', 'return', 'checkout']

const own = await startSourceSystem(
  {
    DATABASE_URL: settings.database,
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
    AGENT_RUNNER_SECRET,
    MAINTENANCE_MODELS: MODELS,
    LOG_LINES_PER_MINUTE: '100000000',
  },
  knownVectors('none', 3, () => undefined),
)
const { db } = own.deps
const orgId = own.owner.orgId
const sql = postgres(settings.database, { max: 1, onnotice() {} })
const callAgent = agentClient(own.system.services.get('deploy-api')!)
const runner: AgentRunnerDeps = {
  log: own.system.log,
  clock: () => new Date(),
  call: callAgent,
  agentRunnerTokens: agentRunnerTokens(AGENT_RUNNER_SECRET),
  models: MaintenanceModelsSetting.parse(MODELS),
  askModel: async () => instantAnswer(),
  rules: async () => ({ kind: 'failed', reason: 'UNEXPECTED' }),
  runsAtOnce: 1,
}

const START = Date.now()
const LINE_EVERY_MS = 20_000
/** Of each check as many as a day has at five minutes. */
const CHECK_RUNS = 288
const CHECK_EVERY_MS = 300_000
const app = await makeApp()
/** As a run asks, and what at least has to be asked of the database. Never twice the same: `n` grows with every call. */
const CALLS: Record<string, { arguments: (n: number) => object; bare: (n: number) => Promise<unknown> }> = {
  log_groups: {
    arguments: (n) => ({ since: weekAgo(n) }),
    bare: (n) => sql`
      select g.template, counted.* from (
        select group_key, max(level) as level, count(*) as lines, min(at), max(at), max(number)
        from log_lines where org_id = ${orgId} and app_id = ${app} and at >= ${weekAgo(n)} group by group_key
      ) counted left join log_groups g on g.org_id = ${orgId} and g.app_id = ${app} and g.key = counted.group_key
      order by level desc, lines desc limit 101`,
  },
  // Others each time: each records fifty lines that no call before it has read.
  read_logs: {
    arguments: (n) => ({ level: 'error', limit: 50, to: pageTo(n) }),
    bare: (n) => sql`
      select * from log_lines where org_id = ${orgId} and app_id = ${app} and level >= 4 and at < ${pageTo(n)}
      order by at desc, number desc limit 51`,
  },
  read_file: {
    arguments: (n) => ({ path: fileName(n % settings.files), start: 1, end: 60 }),
    bare: (n) => sql`
      select content from source_blobs where org_id = ${orgId} and sha256 = (
        select file ->> 1 from revisions r, jsonb_array_elements(r.manifest) as file
        where r.org_id = ${orgId} and r.app_id = ${app} and file ->> 0 = ${fileName(n % settings.files)})`,
  },
  // One line of each file; both read all of them.
  grep: {
    arguments: (n) => ({ pattern: needle(n), literal: true }),
    bare: async (n) => {
      const files = await sql<{ path: string; content: Buffer }[]>`
        select file ->> 0 as path, b.content from revisions r, jsonb_array_elements(r.manifest) as file
        join source_blobs b on b.org_id = ${orgId} and b.sha256 = file ->> 1
        where r.org_id = ${orgId} and r.app_id = ${app}`
      return files.flatMap(({ content }) =>
        content
          .toString()
          .split('\n')
          .filter((line) => line.includes(needle(n))),
      )
    },
  },
  check_history: {
    arguments: (n) => ({ to: checkedTo(n) }),
    bare: (n) => sql`
      select c.*, r.* from checks c left join lateral (
        select * from check_runs r where r.org_id = c.org_id and r.check_id = c.id and r.at < ${checkedTo(n)}
        order by r.id desc limit 10
      ) r on true
      where c.org_id = ${orgId} and c.app_id = ${app} order by c.name, r.id desc`,
  },
  list_files: {
    arguments: (n) => ({ dir: `src/part-${n % 10}` }),
    bare: (n) => sql`
      select file from revisions r, jsonb_array_elements(r.manifest) as file
      where r.org_id = ${orgId} and r.app_id = ${app} and file ->> 0 like ${`src/part-${n % 10}/%`}`,
  },
  // They take no arguments: there is one answer.
  recent_deployments: {
    arguments: () => ({}),
    bare: () => sql`
      select * from deployments where org_id = ${orgId} and app_id = ${app} order by fence desc limit 21`,
  },
  prior_findings: {
    arguments: () => ({}),
    bare: () => sql`
      select id, fingerprint, kind, summary, location, state from findings
      where org_id = ${orgId} and app_id = ${app} order by id desc limit 51`,
  },
}

function needle(n: number): string {
  return `value${10 + (n % 50)} =`
}

/** A thousand lines, of which fifty are errors, earlier each time. */
function pageTo(n: number): string {
  const page = n % Math.max(1, Math.floor(settings.lines / 1_000) - 1)
  return new Date(START - page * 1_000 * LINE_EVERY_MS).toISOString()
}

/** Ten runs of each check, earlier each time. */
function checkedTo(n: number): string {
  return new Date(START - (n % 25) * 10 * CHECK_EVERY_MS).toISOString()
}

function weekAgo(n: number): string {
  return new Date(START - 7 * 24 * 3_600_000 - n * 1_000).toISOString()
}

function fileName(n: number): string {
  return `src/part-${n % 10}/file-${n}.js`
}

function sourceText(n: number): string {
  return Array.from(
    { length: 60 },
    (_, line) => `export const value${line} = (order) => order.total * ${n + line} // discount of ${line}`,
  ).join('\n')
}

async function makeApp(): Promise<string> {
  const { id } = await own.call(createApp, { alias: ALIAS, name: 'Bench' })
  const names = Array.from({ length: settings.files }, (_, n) => n)
  const tree = Object.fromEntries(names.map((n) => [fileName(n), sourceText(n)]))
  await own.call(pushRevision, { alias: ALIAS, body: archiveOf(tree) })
  const now = new Date()
  const records = Array.from({ length: settings.lines }, (_, n) => ({
    at: new Date(START - n * LINE_EVERY_MS),
    level: n % 20 === 0 ? ('error' as const) : ('info' as const),
    text: `${WORDS[n % WORDS.length]} of order ${n} took ${n % 97} ms`,
    service: null,
    traceId: null,
  }))
  const limits = { linesPerMinute: 1_000_000_000, bytesPerApp: Number.MAX_SAFE_INTEGER }
  const deps = { db, clock: () => now, logLimits: limits, logReads: createLogReads() }
  await storeLines(deps, { orgId, id }, 0, () => ({ records, rejected: 0 }))
  await own.call(updateMaintenanceSettings, {
    org_id: orgId,
    enabled: true,
    model: MODEL,
    cooldown_hours: 0,
    token_allowance: MAINTENANCE.tokenAllowanceMax,
  })
  await own.call(updateAppMaintenance, { alias: ALIAS, enabled: true })
  for (let n = 0; n < settings.checks; n += 1) await addCheck(n)
  await addHistory(id)
  await sql.unsafe('vacuum analyze')
  return id
}

async function addCheck(n: number): Promise<void> {
  const definition = { kind: 'logs' as const, pattern: `error ${n}` }
  const { id } = await own.call(createCheck, {
    alias: ALIAS,
    name: `Check ${n}`,
    definition,
    enabled: false,
  })
  await db.insert(checkRuns).values(
    Array.from({ length: CHECK_RUNS }, (_, slot) => {
      const at = new Date(START - (CHECK_RUNS - slot) * CHECK_EVERY_MS)
      const result = slot % 20 === 0 ? ('fail' as const) : ('pass' as const)
      const reason = result === 'fail' ? ('log_lines' as const) : null
      return { orgId, checkId: id, slot, id: makeId('chr', at.getTime()), at, result, ms: 12, reason }
    }),
  )
}

function minutesAgo(n: number): Date {
  return new Date(START - n * 60_000)
}

/** As many deployments and findings as the tools show. */
async function addHistory(appId: string): Promise<void> {
  const key = { orgId, appId }
  const [revision] = await sql<{ id: string }[]>`
    select id from revisions where org_id = ${orgId} and app_id = ${appId}`
  await db.insert(deployments).values(
    Array.from({ length: 20 }, (_, n) => ({
      ...key,
      id: makeId('dep', minutesAgo(20 - n).getTime()),
      revisionId: revision!.id,
      fence: n + 1,
      state: 'succeeded' as const,
      exitCode: 0,
      requestedBy: 'Ada',
      requestedAt: minutesAgo(20 - n),
      startedAt: minutesAgo(20 - n),
      endedAt: minutesAgo(20 - n),
      releasedAt: minutesAgo(20 - n),
    })),
  )
  await db.insert(findings).values(
    Array.from({ length: 50 }, (_, n) => ({
      ...key,
      id: makeId('fnd', minutesAgo(50 - n).getTime()),
      fingerprint: `fp_${n}`,
      matter: { files: [{ path: fileName(n), lines: '' }], logTemplate: null, subject: null },
      kind: 'error' as const,
      summary: `TypeError in value${n} at ${fileName(n)}:${n + 1}: 12 log lines.`,
      location: `${fileName(n)}:${n + 1}`,
      state: 'open' as const,
      executionId: makeId('exec', START),
      evidence: [],
      firstFoundAt: minutesAgo(50 - n),
      lastFoundAt: minutesAgo(50 - n),
    })),
  )
}

/** One run each round, because a run has forty calls. */
async function measureTools(): Promise<MaintenanceRounds['tools']> {
  const tools = Object.fromEntries(
    Object.keys(CALLS).map((name) => [name, { bare: [] as number[], ours: [] as number[] }]),
  )
  for (let round = 0; round <= settings.rounds; round += 1) {
    const run = await claimedRun()
    for (const [name, { arguments: input, bare }] of Object.entries(CALLS)) {
      const first = made
      made += CALLS_EACH
      const bareMs = await timeOf(first, bare)
      const oursMs = await timeOf(first, async (n) => {
        const body = { tool: name, arguments: JSON.stringify(input(n)) }
        const answer = await callAgent('callTool', body, { token: run.identity })
        if (answer.kind !== 'result') throw new Error(`${name} was refused: ${answer.code}`)
      })
      // The first round warms up.
      if (round > 0) {
        tools[name]!.bare.push(bareMs)
        tools[name]!.ours.push(oursMs)
      }
    }
    await callAgent('endRun', { ending: { kind: 'finished' } }, { token: run.identity })
  }
  return tools
}

const CALLS_EACH = 5
let made = 0

/** The middle of a few: one call alone says little. */
async function timeOf(first: number, work: (n: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = first; n < first + CALLS_EACH; n += 1) {
    const began = performance.now()
    await work(n)
    times.push(performance.now() - began)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(CALLS_EACH / 2)]!
}

async function claimedRun(): Promise<ClaimedRun> {
  await own.call(startMaintenanceRun, { alias: ALIAS })
  const token = await runner.agentRunnerTokens.sign('tool-host', new Date())
  const asked = { claim_id: randomUUID(), models: [MODEL], wait_seconds: 0 }
  const { run } = await callAgent('claimRun', asked, { token })
  if (!run) throw new Error('no run waits')
  return run
}

/** By process of the database. */
const seenCpuMs = new Map<number, number>()

/** The turn of a model that asks for one thing after the other, and ends with the last step. */
let asked = 0
function instantAnswer(): ModelAnswer {
  const names = Object.keys(CALLS)
  const isLast = asked === settings.steps - 1
  const name = isLast ? 'finish' : names[asked % names.length]!
  const input = isLast ? { conclusion: 'nothing_found' } : CALLS[name]!.arguments(asked)
  asked += 1
  return {
    kind: 'turn',
    turn: {
      text: '',
      calls: [{ id: `call_${asked}`, name, arguments: JSON.stringify(input) }],
      echo: [],
      ending: 'tool_calls',
      tokens: 10,
    },
  }
}

async function measureRuns(): Promise<MaintenanceRounds['runs']> {
  const runs: MaintenanceRounds['runs'] = []
  for (let round = 0; round <= settings.rounds; round += 1) {
    asked = 0
    const { execution_id: id } = await own.call(startMaintenanceRun, { alias: ALIAS })
    const [cpu, database] = [process.cpuUsage(), await databaseCpuMs()]
    await drainRuns(runner)
    const used = process.cpuUsage(cpu)
    const databaseMs = (await databaseCpuMs()) - database
    const [ended] = await sql<
      { terminal_code: string }[]
    >`select terminal_code from maintenance_runs where id = ${id}`
    if (ended?.terminal_code !== 'found_nothing') throw new Error(`the run ended as ${ended?.terminal_code}`)
    if (round > 0) runs.push({ cpuMs: (used.user + used.system) / 1_000, databaseMs })
  }
  return runs
}

const READ_ALIAS = 'read'
const BATCH = 50_000
const KINDS = 40

/** A line in a hundred is an error, of forty kinds, each with a trace into a file of the app. */
function readRecord(n: number) {
  const kind = Math.floor(n / 100) % KINDS
  const trace = `TypeError: order ${n} has no total\n    at value${kind + 2} (/srv/${fileName(kind)}:${kind + 3}:57)\n    at run (/srv/src/main.js:1:1)`
  return {
    at: new Date(START - Math.floor((n * 6 * 24 * 3_600_000) / settings.readLines)),
    level: n % 100 === 0 ? ('error' as const) : ('info' as const),
    text: n % 100 === 0 ? trace : `${WORDS[n % WORDS.length]} of order ${n} took ${n % 97} ms`,
    service: null,
    traceId: null,
  }
}

async function makeReadApp(): Promise<string> {
  const { id } = await own.call(createApp, { alias: READ_ALIAS, name: 'Read' })
  const names = Array.from({ length: settings.readFiles }, (_, n) => n)
  const tree = Object.fromEntries(names.map((n) => [fileName(n), sourceText(n)]))
  await own.call(pushRevision, { alias: READ_ALIAS, body: archiveOf(tree) })
  const limits = { linesPerMinute: 1_000_000_000, bytesPerApp: Number.MAX_SAFE_INTEGER }
  for (let from = 0; from < settings.readLines; from += BATCH) {
    const now = new Date()
    const deps = { db, clock: () => now, logLimits: limits, logReads: createLogReads() }
    const length = Math.min(BATCH, settings.readLines - from)
    const records = Array.from({ length }, (_, n) => readRecord(from + n))
    await storeLines(deps, { orgId, id }, 0, () => ({ records, rejected: 0 }))
  }
  await own.call(updateMaintenanceSettings, { org_id: orgId, enabled: true, model: 'rules' })
  await own.call(updateAppMaintenance, { alias: READ_ALIAS, enabled: true })
  await sql.unsafe('vacuum analyze')
  return id
}

/** Both with the tools of today, one after the other; what one has found is forgotten before the next. */
async function measureReadings(): Promise<MaintenanceRounds['readings']> {
  const id = await makeReadApp()
  const before =
    settings.rulesBefore === null
      ? null
      : ((await import(settings.rulesBefore)) as { rulesAnalyst: typeof rulesAnalyst }).rulesAnalyst
  const readings = { before: [] as number[], now: [] as number[] }
  for (let round = 0; round <= settings.rounds; round += 1) {
    for (const [name, rules] of Object.entries({ before, now: rulesAnalyst })) {
      if (rules === null) continue
      await sql`delete from findings where org_id = ${orgId} and app_id = ${id}`
      const { execution_id } = await own.call(startMaintenanceRun, { alias: READ_ALIAS })
      const [cpu, database] = [process.cpuUsage(), await databaseCpuMs()]
      await drainRuns({ ...runner, rules })
      const used = process.cpuUsage(cpu)
      const databaseMs = (await databaseCpuMs()) - database
      const [ended] = await sql<{ terminal_code: string; reason: string | null }[]>`
        select terminal_code, reason from maintenance_runs where id = ${execution_id}`
      if (ended?.terminal_code !== 'finding_recorded')
        throw new Error(`the rules ${name} ended as ${ended?.terminal_code} ${ended?.reason}`)
      if (round > 0)
        readings[name as keyof typeof readings].push((used.user + used.system) / 1_000 + databaseMs)
    }
  }
  return readings
}

/** An app each: one that has many costs less than many that have one. */
const ORGANIZATIONS = settings.apps

async function measureDispatch(): Promise<MaintenanceRounds['dispatch']> {
  const orgs = Array.from({ length: ORGANIZATIONS }, () => makeId('org', Date.now()))
  const rows = Array.from({ length: settings.apps }, (_, n) => ({
    orgId: orgs[n % ORGANIZATIONS]!,
    appId: makeId('app', Date.now()),
  }))
  const due = new Date(Math.floor(Date.now() / 60_000) * 60_000)
  await db.insert(maintenanceSettings).values(
    orgs.map((org) => ({
      orgId: org,
      enabled: true,
      model: MODEL,
      nightlyCron: '0 3 * * *',
      timezone: 'UTC',
      cooldownHours: 24,
      tokenAllowance: 200_000,
      protectedPaths: [],
      mcpDecisions: 'link' as const,
      nextSlotAt: due,
    })),
  )
  await db.insert(appMaintenance).values(rows.map((row) => ({ ...row, enabled: true, changedAt: due })))
  await db.insert(appLeases).values(rows)
  await sql.unsafe('vacuum analyze')
  const measured: MaintenanceRounds['dispatch'] = []
  for (let round = 0; round <= settings.rounds; round += 1) {
    await db.delete(maintenanceRuns)
    await db.delete(maintenanceSlots)
    await db.update(maintenanceSettings).set({ nextSlotAt: due })
    const [database, began] = [await databaseCpuMs(), performance.now()]
    const deps = { db, clock: () => new Date(), log: own.system.log }
    while ((await dispatchSlots(deps)) > 0);
    const ms = performance.now() - began
    const databaseMs = (await databaseCpuMs()) - database
    const [runs] = await sql<
      { n: number }[]
    >`select count(*)::int as n from maintenance_runs where org_id <> ${orgId}`
    if (runs!.n !== settings.apps) throw new Error(`${runs!.n} of ${settings.apps} were dispatched`)
    if (round > 0) measured.push({ ms, databaseMs })
  }
  return measured
}

/**
 * Of all its processes that serve us; the kernel counts in hundredths of a second. What one has used that ended since stays
 * counted, as far as it was seen.
 */
async function databaseCpuMs(): Promise<number> {
  const backends = await sql<{ pid: number }[]>`select pid from pg_stat_activity`
  for (const { pid } of backends) seenCpuMs.set(pid, cpuMsOf(pid) ?? seenCpuMs.get(pid) ?? 0)
  return [...seenCpuMs.values()].reduce((sum, ms) => sum + ms, 0)
}

/** Undefined: it has ended meanwhile. */
function cpuMsOf(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return undefined
  }
}

const measured: MaintenanceRounds = {
  tools: await measureTools(),
  runs: await measureRuns(),
  readings: await measureReadings(),
  dispatch: await measureDispatch(),
}
console.log(JSON.stringify(measured))
await sql.end()
await own.stop()
process.exit(0)
