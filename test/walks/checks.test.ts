/** Checks: who may write and read them, when each is run, what people are told, and what is kept of a run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq, isNotNull, sql } from '../../db/drizzle.ts'
import { apps, checkRuns, checks, logGroups, outbox } from '../../db/schema.ts'
import { createLineMatcher } from '../../src/adapters/log-matching/index.ts'
import { summarizeApps } from '../../src/contracts/app-summaries.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { CHECK_STRIP } from '../../src/contracts/check-results.ts'
import {
  CHECKS_PER_APP,
  createCheck,
  listCheckRuns,
  listChecks,
  removeCheck,
  runCheck,
  showCheck,
  updateCheck,
} from '../../src/contracts/checks.ts'
import type { ErrorBody } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { Input } from '../../src/contracts/operations.ts'
import type { ModelAnswer, ModelRequest } from '../../src/contracts/model-port.ts'
import {
  createCheckRunner,
  rescheduleChecks,
  type HttpProbe,
  type JudgePort,
} from '../../src/cores/checks/index.ts'
import { readLogEvidence } from '../../src/cores/logs/index.ts'
import { RUNS_KEPT } from '../../src/cores/checks/settle-runs.ts'
import { linkOf } from '../../src/cores/notifications/channels/render.ts'
import { readTokenPool } from '../../src/cores/token-pool/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { startChecks } from '../../src/worker/checks.ts'
import { answerTo } from '../support/answers.ts'
import { drainChecks } from '../support/drain.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { statementsDuring, untilAsked } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org
let builder: Person
let viewer: Person
let outsider: Person

type Probed = Awaited<ReturnType<HttpProbe>>
const answered = (status: number, rest: Partial<Extract<Probed, { kind: 'answered' }>> = {}): Probed => ({
  kind: 'answered',
  status,
  timeMs: 12.4,
  body: '',
  isPrivate: false,
  ...rest,
})

/** What hosts answer, by URL; each request is written down. */
const hosts = new Map<string, (asked: Parameters<HttpProbe>[0]) => Probed | Promise<Probed>>()
const asked: Parameters<HttpProbe>[0][] = []
const probeHttp: HttpProbe = async (request) => {
  asked.push(request)
  return (hosts.get(request.url) ?? (() => answered(200)))(request)
}
/** The maintenance model of the organizations that have one, and what it says. */
const judging = new Map<string, ModelAnswer>()
const questions: ModelRequest[] = []
const judge: JudgePort = {
  settingsOf: async (orgId) => (judging.has(orgId) ? { model: 'sonnet', tokenAllowance: 100_000 } : null),
  ask: async (orgId, request) => {
    questions.push(request)
    return judging.get(orgId)!
  },
}
const verdict = (word: string): ModelAnswer => ({
  kind: 'turn',
  turn: {
    text: '',
    calls: [{ id: '1', name: 'verdict', arguments: JSON.stringify({ verdict: word }) }],
    echo: [],
    ending: 'tool_calls',
    tokens: 100,
  },
})

const lineMatcher = createLineMatcher()
afterAll(() => lineMatcher.close())

const warnings: unknown[] = []
const runnerDeps = () => ({
  db: system.db,
  clock: () => system.clock.now(),
  log: { warn: (...what: unknown[]) => void warnings.push(what) },
  dataKeys: dataKeys(system.system.config.DATA_KEY!),
  judge,
  probeHttp,
  matchLines: lineMatcher.matchLines,
})
const drain = () => drainChecks(runnerDeps())

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' }, { judge })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  ;[builder, viewer, outsider] = [
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'developer'),
  ]
  for (const { owner } of [org, other]) await owner.call(createApp, { alias: 'shop', name: 'Shop' })
  await org.owner.call(setAppMember, { alias: 'shop', user_id: builder.userId, role: 'builder' })
})
afterAll(() => system.stop())

beforeEach(async () => {
  // What earlier tests left behind would be due as well.
  await system.db.delete(checks)
  asked.length = 0
  warnings.length = 0
  judging.clear()
  questions.length = 0
})

type Settings = Partial<Omit<Input<'createCheck'>, 'alias'>>

async function makeCheck(settings: Settings = {}, { owner } = org) {
  const url = `https://${unique('host')}.test/health`
  const check = await owner.call(createCheck, {
    alias: 'shop',
    name: unique('check'),
    definition: { kind: 'http', url },
    ...settings,
  })
  const path = { alias: 'shop', check_id: check.id }
  return {
    ...check,
    path,
    url,
    show: () => owner.call(showCheck, path),
    runs: async () => (await owner.call(listCheckRuns, path)).runs,
    /** Runs it once for each initial, each time when it is due. */
    async play(results: string) {
      for (const initial of results) {
        hosts.set(url, () => RESULTS[initial as keyof typeof RESULTS])
        await drain()
        system.clock.advance(70)
      }
      return told(check.id)
    },
  }
}

const RESULTS = {
  p: answered(200),
  f: answered(500),
  e: { kind: 'refused', reason: 'dns_failed' },
} as const satisfies Record<string, Probed>

/** Also where the clock of the tests stands still. */
async function databaseTime(): Promise<number> {
  const [row] = await system.db.execute<{ now: string }>(sql`select clock_timestamp() as now`)
  return new Date(row!.now).getTime()
}

const eventsOf = (checkId: string) =>
  system.db
    .select()
    .from(outbox)
    .where(eq(outbox.subject, `checks/${checkId}`))
    .orderBy(outbox.seq)
const told = async (checkId: string) =>
  (await eventsOf(checkId)).map(({ type }) => type.replace('application.check.', ''))

describe('who', () => {
  test('those who work on the app write; the organization reads; another one knows nothing of it', async () => {
    const { id, path, name } = await makeCheck()
    const definition = { kind: 'logs' as const, pattern: 'x' }
    for (const { call } of [viewer, outsider]) {
      expect(await call(showCheck, path)).toMatchObject({ id, name })
      const refused = { code: 'FORBIDDEN' }
      await expect(call(createCheck, { alias: 'shop', name: 'x', definition })).rejects.toMatchObject(refused)
      await expect(call(updateCheck, { ...path, name: 'x' })).rejects.toMatchObject(refused)
      await expect(call(runCheck, path)).rejects.toMatchObject(refused)
      await expect(call(removeCheck, path)).rejects.toMatchObject(refused)
    }
    expect(await builder.call(updateCheck, { ...path, name: `${name}-2` })).toMatchObject({
      name: `${name}-2`,
    })
    expect((await viewer.call(listChecks, { alias: 'shop' })).checks.map((one) => one.id)).toContain(id)
    expect((await other.owner.call(listChecks, { alias: 'shop' })).checks).toEqual([])
    const unknown = { alias: 'shop', check_id: id.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }
    for (const operation of [showCheck, listCheckRuns, runCheck, updateCheck, removeCheck]) {
      const [hidden, missing] = [
        await answerTo(system, { token: other.owner.token }, operation, path),
        await answerTo(system, { token: org.owner.token }, operation, unknown),
      ]
      expect([hidden.status, hidden.text]).toEqual([404, missing.text])
    }
    // Of another app of the same organization it is as unknown.
    await org.owner.call(createApp, { alias: 'till', name: 'Till' })
    await expect(org.owner.call(showCheck, { ...path, alias: 'till' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await builder.call(removeCheck, path)
    await expect(org.owner.call(showCheck, path)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('an app has so many, whatever others of the organization have', async () => {
    const { id } = await makeCheck()
    const [row] = await system.db.select().from(checks).where(eq(checks.id, id))
    await system.db.insert(checks).values(
      Array.from({ length: CHECKS_PER_APP - 1 }, (_, n) => ({
        ...row!,
        id: makeId('chk', n),
        name: `n${n}`,
        nextRunAt: null,
      })),
    )
    const asked = { name: 'more', definition: { kind: 'logs', pattern: 'x' }, enabled: false } as const
    await expect(org.owner.call(createCheck, { alias: 'shop', ...asked })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    const { alias } = await org.owner.call(createApp, { alias: unique('till'), name: 'Till' })
    expect(await org.owner.call(createCheck, { alias, ...asked })).toMatchObject({ name: 'more' })
  })

  test.runIf(inject('everyCase'))('names are unique in an app, and an app has so many', async () => {
    const { name } = await makeCheck()
    const definition = { kind: 'logs' as const, pattern: 'x' }
    await expect(org.owner.call(createCheck, { alias: 'shop', name, definition })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    const { path } = await makeCheck()
    await expect(org.owner.call(updateCheck, { ...path, name })).rejects.toMatchObject({ code: 'CONFLICT' })
    await other.owner.call(createCheck, { alias: 'shop', name, definition, enabled: false })
    await org.owner.call(createApp, { alias: 'full', name: 'Full' })
    const made = await Promise.allSettled(
      Array.from({ length: 52 }, (_, n) =>
        org.owner.call(createCheck, { alias: 'full', name: `n${n}`, definition, enabled: false }),
      ),
    )
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(50)
  })
})

describe('a definition', () => {
  test('every problem is said at once, and nothing is kept', async () => {
    const refused = await answerTo(system, { token: org.owner.token }, createCheck, {
      alias: 'shop',
      name: 'bad',
      definition: {
        kind: 'http',
        url: 'https://user:pass@app.test/',
        headers: { Host: 'elsewhere', 'x y': '1', 'X-Key': 'line\nbreak' },
        timeout_ms: 1,
        conditions: ['[STATUS] == ', 'rm -rf', '[BODY].a > pat(*)'],
      },
      interval_seconds: 1,
      failure_threshold: 0,
      maintenance_windows: [{ from: '2026-03-02T10:00:00Z', until: '2026-03-02T09:00:00Z' }],
    } as never)
    expect(refused.status).toBe(400)
    const { problems = [] } = (JSON.parse(refused.text) as ErrorBody).error
    for (const at of [
      'definition.url',
      'definition.headers',
      'definition.timeout_ms',
      'definition.conditions.0',
      'definition.conditions.1',
      'definition.conditions.2',
      'interval_seconds',
      'failure_threshold',
      'maintenance_windows.0',
    ]) {
      expect(
        problems.filter((problem) => problem.startsWith(at)),
        at,
      ).not.toHaveLength(0)
    }
    expect(
      (await org.owner.call(listChecks, { alias: 'shop', limit: 200 })).checks.map(({ name }) => name),
    ).not.toContain('bad')
  })

  test.each([
    ['a regular expression that cannot be read', { kind: 'logs', pattern: '/(/' }],
    ['one that looks ahead', { kind: 'logs', pattern: '/(?=x)/' }],
    ['one that would take too long', { kind: 'logs', pattern: '/[^a]{0,1000}[0-9]{3}[A-Z]/' }],
    ['a body that is not sent', { kind: 'http', url: 'https://app.test/', body: 'x' }],
    ['an address of another kind', { kind: 'http', url: 'file:///etc/passwd' }],
    [
      'a kept header that there is not',
      { kind: 'http', url: 'https://app.test/', headers: { a: '[hidden]' } },
    ],
    ['a header twice', { kind: 'http', url: 'https://app.test/', headers: { a: '1', A: '2' } }],
    ['a kind that there is not', { kind: 'ping', url: 'https://app.test/' }],
    ['no question', { kind: 'judge', question: ' ' }],
    [
      'a question that its tokens do not pay for',
      { kind: 'judge', question: '漢'.repeat(2_000), max_tokens: 500 },
    ],
  ])('%s is refused', async (_what, definition) => {
    const refused = await answerTo(system, { token: org.owner.token }, createCheck, {
      alias: 'shop',
      name: unique('bad'),
      definition,
    } as never)
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('definition') as string])
  })

  test('values of headers are sealed, sent, and never returned; kept ones only for the same host', async () => {
    const secret = unique('secret')
    const headers = { 'X-Key': secret, Accept: 'text/plain' }
    const { path, show } = await makeCheck({
      definition: { kind: 'http', url: 'https://kept.test/', headers },
    })
    expect(await show()).toMatchObject({
      definition: { headers: { 'X-Key': '[hidden]', Accept: '[hidden]' } },
    })
    await drain()
    expect(asked.at(-1)!.headers).toEqual(headers)
    const rows = await system.db.execute(
      sql`select checks::text as row from checks where id = ${path.check_id}`,
    )
    expect(JSON.stringify(rows)).not.toContain(secret)
    const trail = await system.db.execute(
      sql`select audit_log::text as row from audit_log where org_id = ${org.id}`,
    )
    expect(JSON.stringify(trail)).not.toContain(secret)

    const change = (definition: Input<'updateCheck'>['definition']) =>
      org.owner.call(updateCheck, { ...path, definition })
    await change({ kind: 'http', url: 'https://kept.test/other', headers: { 'x-key': '[hidden]', New: '1' } })
    system.clock.advance(20)
    await drain()
    expect(asked.at(-1)).toMatchObject({
      url: 'https://kept.test/other',
      headers: { 'x-key': secret, New: '1' },
    })
    for (const url of ['https://elsewhere.test/', 'http://kept.test/', 'https://kept.test:8443/'])
      await expect(change({ kind: 'http', url, headers: { 'x-key': '[hidden]' } })).rejects.toMatchObject({
        problems: [expect.stringContaining('host changed') as string],
      })
  })

  test('a body is sent and never returned; the query of an address is for those who may change the check', async () => {
    const [password, token] = [unique('password'), unique('token')]
    const url = `https://login.test/?token=${token}`
    const { path, show } = await makeCheck({
      definition: { kind: 'http', url, method: 'POST', body: JSON.stringify({ password }) },
    })
    await drain()
    expect(asked.at(-1)).toMatchObject({ url, body: JSON.stringify({ password }) })
    expect(await show()).toMatchObject({ definition: { url, body: '[hidden]' } })
    const rows = await system.db.execute(
      sql`select checks::text as row from checks where id = ${path.check_id}`,
    )
    expect(JSON.stringify(rows)).not.toContain(password)
    for (const { call } of [viewer, outsider]) {
      const { checks: listed } = await call(listChecks, { alias: 'shop' })
      const seen = JSON.stringify([await call(showCheck, path), listed])
      expect(seen).toContain('https://login.test/?[hidden]')
      expect(seen).not.toContain(token)
      expect(seen).not.toContain(password)
    }
    expect(JSON.stringify(await builder.call(showCheck, path))).toContain(token)
    // Sent back as it was read, it stays what it is.
    await org.owner.call(updateCheck, { ...path, definition: (await show()).definition })
    system.clock.advance(20)
    await drain()
    expect(asked.at(-1)).toMatchObject({ url, body: JSON.stringify({ password }) })
  })
})

describe('a run', () => {
  test('of a new check comes at once, and then at its interval', async () => {
    const { show, runs, url } = await makeCheck({ interval_seconds: 60 })
    expect(await show()).toMatchObject({ state: null, last_run_at: null, recent: [], paused: null })
    expect(await drain()).toBe(1)
    expect(await show()).toMatchObject({ state: 'pass', recent: ['pass'] })
    expect(await drain()).toBe(0)
    system.clock.advance(50)
    expect(await drain()).toBe(0)
    system.clock.advance(14)
    expect(await drain()).toBe(1)
    expect(await runs()).toMatchObject([
      { result: 'pass', ms: 12, status: 200, reason: null, detail: null },
      { result: 'pass' },
    ])
    expect(asked.filter((one) => one.url === url)).toHaveLength(2)
  })

  test('is judged by its conditions', async () => {
    const conditions = [
      '[STATUS] == 200',
      '[RESPONSE_TIME] < 100',
      '[BODY].status == UP',
      'len([BODY].items) > 1',
    ]
    const { runs } = await makeCheck({
      definition: { kind: 'http', url: 'https://conditions.test/', conditions },
      interval_seconds: 30,
    })
    hosts.set('https://conditions.test/', () => answered(200, { body: '{"status":"UP","items":[1,2]}' }))
    await drain()
    const cases: [Probed, object][] = [
      [answered(404), { result: 'fail', reason: 'condition', status: 404, detail: '[STATUS] == 200' }],
      [answered(200, { timeMs: 100 }), { result: 'fail', detail: '[RESPONSE_TIME] < 100' }],
      [answered(200, { body: '<html>' }), { result: 'fail', detail: '[BODY].status == UP' }],
      [
        answered(200, { body: '{"status":"UP","items":[]}' }),
        { result: 'fail', detail: 'len([BODY].items) > 1' },
      ],
      // More than is read: what could be judged is, and the rest is a limit of evidence.
      [answered(500, { body: null }), { result: 'fail', detail: '[STATUS] == 200' }],
      [answered(200, { body: null }), { result: 'indeterminate', reason: 'evidence_limit' }],
      [
        { kind: 'failed', reason: 'timed_out', timeMs: 9, isPrivate: false },
        { result: 'fail', reason: 'timed_out' },
      ],
      [
        { kind: 'refused', reason: 'address_refused' },
        { result: 'error', reason: 'address_refused' },
      ],
      // No time: it would tell whether a name server knew the name.
      [
        { kind: 'refused', reason: 'no_address' },
        { result: 'fail', reason: 'no_address', ms: null },
      ],
    ]
    for (const [answer, expected] of cases) {
      hosts.set('https://conditions.test/', () => answer)
      system.clock.advance(40)
      await drain()
      expect((await runs())[0]).toMatchObject(expected)
    }
    expect((await runs()).at(-1)).toMatchObject({ result: 'pass' })
  })

  test('in a private network keeps pass or fail and the status, and nothing else', async () => {
    const { url, runs } = await makeCheck({ interval_seconds: 30 })
    const isPrivate = true
    for (const answer of [
      answered(200, { isPrivate }),
      answered(500, { isPrivate, body: 'secret' }),
      { kind: 'failed', reason: 'connection_failed', timeMs: 3, isPrivate } as const,
      { kind: 'failed', reason: 'timed_out', timeMs: 3, isPrivate } as const,
    ]) {
      hosts.set(url, () => answer)
      await drain()
      system.clock.advance(40)
    }
    const nothing = { ms: null, detail: null }
    expect((await runs()).toReversed()).toMatchObject([
      { result: 'pass', status: 200, reason: null, ...nothing },
      { result: 'fail', status: 500, reason: 'private_address', ...nothing },
      { result: 'fail', status: null, reason: 'private_address', ...nothing },
      { result: 'fail', status: null, reason: 'private_address', ...nothing },
    ])
  })

  test('that breaks is an error of the instrument, and says nothing of why outside the log', async () => {
    const { url, runs } = await makeCheck()
    hosts.set(url, () => Promise.reject(new Error('canary')))
    await drain()
    expect(await runs()).toMatchObject([{ result: 'error', reason: 'internal_error', detail: null }])
    expect(warnings).toHaveLength(1)
  })

  test.runIf(inject('everyCase'))(
    'runs are bounded, pages of them are whole, and the strip has the last ones',
    async () => {
      const { id, path, show } = await makeCheck({ interval_seconds: 30 })
      await drain()
      // As if it had run often: the next ones are written over the oldest.
      await system.db
        .update(checks)
        .set({ runCount: RUNS_KEPT - 1 })
        .where(eq(checks.id, id))
      for (let n = 0; n < CHECK_STRIP + 3; n++) {
        system.clock.advance(40)
        await drain()
      }
      const kept = await system.db.select().from(checkRuns).where(eq(checkRuns.checkId, id))
      expect(kept.map(({ slot }) => slot).toSorted((a, b) => a - b)).toEqual([
        ...Array.from({ length: CHECK_STRIP + 2 }, (_, n) => n),
        RUNS_KEPT - 1,
      ])
      expect((await show()).recent).toHaveLength(CHECK_STRIP)
      const first = await org.owner.call(listCheckRuns, { ...path, limit: 20, count: 'true' })
      const second = await org.owner.call(listCheckRuns, { ...path, limit: 20, cursor: first.next_cursor })
      expect(first.total).toBe(CHECK_STRIP + 3)
      expect(new Set([...first.runs, ...second.runs].map((run) => run.id)).size).toBe(CHECK_STRIP + 3)
      expect((await org.owner.call(listCheckRuns, { ...path, result: 'fail' })).runs).toEqual([])
    },
  )
})

describe('of logs', () => {
  /** So many lines, one a second before now, the newest first. */
  async function write(count: number, text: string, { level = 4, orgId = org.id, ageSeconds = 0 } = {}) {
    const [app] = await system.db
      .select()
      .from(apps)
      .where(and(eq(apps.orgId, orgId), eq(apps.alias, 'shop')))
    const now = new Date(system.clock.now().getTime() - ageSeconds * 1000).toISOString()
    await system.db.execute(sql`
      insert into log_lines (org_id, app_id, number, at, level, group_key, text)
      select ${orgId}, ${app!.id}, (select coalesce(max(number), 0) from log_lines) + n,
        ${now}::timestamptz - n * interval '1 millisecond', ${String(level)}::int, 0, replace(${text}, '#', n::text)
      from generate_series(1, ${String(count)}::int) n`)
  }

  const logsCheck = (definition: Partial<Extract<Input<'createCheck'>['definition'], { kind: 'logs' }>>) =>
    makeCheck({
      interval_seconds: 30,
      definition: { kind: 'logs', pattern: 'out of memory', window_minutes: 5, ...definition },
    })
  const last = async ({ runs }: Awaited<ReturnType<typeof makeCheck>>) => {
    await drain()
    return (await runs())[0]
  }

  test('text is counted in the window, at its level, in this app alone', async () => {
    const pattern = unique('100%_text')
    const check = await logsCheck({ pattern: pattern.toUpperCase(), level: 'error', max_count: 2 })
    await write(2, `# ${pattern}`)
    await write(5, `# ${pattern}`, { level: 3 })
    await write(5, `# ${pattern}`, { ageSeconds: 600 })
    await write(5, `# ${pattern}`, { orgId: other.id })
    await write(5, `# ${pattern.replace('%', 'x')}`)
    expect(await last(check)).toMatchObject({ result: 'pass', detail: '2', status: null })
    await write(1, pattern, { level: 5 })
    system.clock.advance(40)
    expect(await last(check)).toMatchObject({ result: 'fail', reason: 'log_lines', detail: 'more than 2' })
    // They leave the window.
    system.clock.advance(300)
    expect(await last(check)).toMatchObject({ result: 'pass', detail: '0' })
  })

  test.runIf(inject('everyCase'))(
    'a regular expression is counted over all pages, and no further than it must be',
    async () => {
      const word = unique('word')
      const check = await logsCheck({ pattern: `/^${word} \\d+$/`, max_count: 2_500 })
      await write(2_500, `${word} #`)
      await write(50, `${word} x#`)
      expect(await last(check)).toMatchObject({ result: 'pass', detail: '2500' })
      await write(1, `${word} #`)
      system.clock.advance(40)
      expect(await last(check)).toMatchObject({ result: 'fail', reason: 'log_lines' })
    },
  )

  test('more than a regular expression may read is a limit of evidence, unless enough was found before it', async () => {
    const word = unique('long')
    const [never, some] = [
      await logsCheck({ pattern: `/^${word}-none/` }),
      await logsCheck({ pattern: `/${word} 1 /` }),
    ]
    await write(1_000, `${word} # ${'x'.repeat(9_000)}`)
    expect(await last(never)).toMatchObject({ result: 'indeterminate', reason: 'evidence_limit' })
    expect((await some.runs())[0]).toMatchObject({ result: 'fail' })
    expect(await told(never.id)).toEqual(['indeterminate'])
  })

  test.runIf(inject('everyCase'))(
    'what waits to be read holds up neither requests nor its own lease',
    async () => {
      await write(1, 'busy')
      await write(1, 'busy', { orgId: other.id })
      const definition = { kind: 'logs' as const, pattern: '/busy/', window_minutes: 5 }
      for (const owned of [org, org, org, other, other, other]) await makeCheck({ definition }, owned)
      const http = await makeCheck()
      const reading = Promise.withResolvers<number>()
      const worker = createCheckRunner(
        { ...runnerDeps(), matchLines: () => reading.promise },
        { inFlightMax: 2 },
      )
      expect(await worker.claim()).toBe(3)
      const claimed = await system.db.select().from(checks).where(isNotNull(checks.claim))
      expect(claimed.map((check) => `${check.orgId} ${check.definition.kind}`).toSorted()).toEqual(
        [`${org.id} http`, `${org.id} logs`, `${other.id} logs`].toSorted(),
      )
      await worker.nextResult()
      await worker.settle()
      expect(await http.show()).toMatchObject({ state: 'pass' })
      // Nothing more of it is taken while these are read.
      expect(await worker.claim()).toBe(0)
      reading.resolve(0)
      while (worker.hasInFlight()) {
        await worker.nextResult()
        await worker.settle()
      }
      expect(await drain()).toBe(4)
    },
  )

  test('evidence of a judge is groups with their counts, then the newest lines, as far as they fit', async () => {
    const orgId = makeId('org', system.clock.now().getTime())
    const appId = unique('app')
    const at = system.clock.now()
    await system.db.insert(logGroups).values(
      [1n, 2n].map((key) => ({
        orgId,
        appId,
        key,
        level: key === 1n ? 2 : 4,
        template: `template ${key}`,
        lastDay: '2026-03-02',
      })),
    )
    const write = (from: number, to: number, group: number) =>
      system.db.execute(sql`
        insert into log_lines (org_id, app_id, number, at, level, group_key, text)
        select ${orgId}, ${appId}, n, ${at.toISOString()}::timestamptz + n * interval '1 microsecond',
          ${String(group === 1 ? 2 : 4)}::int, ${String(group)}::bigint, 'line ' || n
        from generate_series(${String(from)}::int, ${String(to)}::int) n`)
    await write(1, 1_197, 1)
    await write(1_198, 1_200, 2)
    const range = { orgId, appId, since: new Date(at.getTime() - 1000) }
    const groups = ['1197 × [info] template 1', '3 × [error] template 2']
    expect(await readLogEvidence(system.db, { ...range, maxBytes: 100 })).toEqual({
      lines: [...groups, 'line 1200', 'line 1199'],
      isWhole: true,
    })
    expect(await readLogEvidence(system.db, { ...range, maxBytes: 50 })).toEqual({
      lines: [groups[0], 'line 1200'],
      isWhole: false,
    })
    const all = await readLogEvidence(system.db, { ...range, maxBytes: 1_000_000 })
    expect([all.lines.length, new Set(all.lines).size]).toEqual([1_202, 1_202])
    // A line of no group is not in any of them.
    await write(1_201, 1_201, 3)
    expect(await readLogEvidence(system.db, { ...range, maxBytes: 100 })).toMatchObject({ isWhole: false })
    expect(await readLogEvidence(system.db, { ...range, orgId: org.id, maxBytes: 100 })).toEqual({
      lines: [],
      isWhole: true,
    })
  })
})

describe('people are told', () => {
  test('once when it has failed so often, and once when it is well again', async () => {
    const check = await makeCheck()
    expect(await check.play('pff')).toEqual([])
    expect(await check.play('fff')).toEqual(['failed'])
    expect(await check.play('pp')).toEqual(['failed', 'recovered'])
    expect(await check.play('fpfp')).toEqual(['failed', 'recovered'])
    expect(await check.play('fffp')).toEqual(['failed', 'recovered', 'failed', 'recovered'])
    expect(await check.play('eep')).toEqual(['failed', 'recovered', 'failed', 'recovered', 'error'])
    const [event] = await eventsOf(check.id)
    expect(event).toMatchObject({
      orgId: org.id,
      source: 'checks',
      actorId: null,
      data: { check_id: check.id, run_id: expect.stringMatching(/^chr_/) as string },
    })
    expect((await check.runs()).map(({ id }) => id)).toContain(event!.data['run_id'])
    // The link leads to what is known of the trouble.
    const link = linkOf({ app: 'shop', type: event!.type, data: event!.data }, new URL('https://app.test'))
    expect(link).toBe(`https://app.test/console/apps/shop/incidents/${check.id}`)
  })

  test('state and time of it belong together', async () => {
    const check = await makeCheck({ failure_threshold: 1 })
    await check.play('p')
    const since = (await check.show()).state_since
    await check.play('pp')
    expect((await check.show()).state_since).toBe(since)
    await check.play('f')
    const failed = await check.show()
    expect(failed).toMatchObject({ state: 'fail', recent: ['pass', 'pass', 'pass', 'fail'] })
    expect(failed.state_since).not.toBe(since)
  })

  test('nobody of another organization, whose check has the same name and address', async () => {
    const url = `https://${unique('shared')}.test/`
    const [ours, theirs] = [
      await makeCheck({ name: 'same', definition: { kind: 'http', url }, failure_threshold: 1 }),
      await makeCheck({ name: 'same', definition: { kind: 'http', url }, failure_threshold: 1 }, other),
    ]
    hosts.set(url, ({ orgId }) => answered(orgId === org.id ? 500 : 200))
    await drain()
    expect([await told(ours.id), await told(theirs.id)]).toEqual([['failed'], []])
    expect(await theirs.runs()).toMatchObject([{ result: 'pass' }])
  })
})

describe('paused', () => {
  test('turned off, it is not run and cannot be asked to; turned on, it goes on where it stood', async () => {
    const check = await makeCheck({ failure_threshold: 1 })
    await check.play('f')
    await org.owner.call(updateCheck, { ...check.path, enabled: false })
    expect(await drain()).toBe(0)
    expect(await check.show()).toMatchObject({ paused: 'disabled', next_run_at: null, state: 'fail' })
    await expect(org.owner.call(runCheck, check.path)).rejects.toMatchObject({ code: 'CONFLICT' })
    await org.owner.call(updateCheck, { ...check.path, enabled: true })
    expect(await check.play('p')).toEqual(['failed', 'recovered'])
  })

  test('in a maintenance window it is not run, and comes back when the window ends', async () => {
    const now = system.clock.now().getTime()
    const window = { from: new Date(now - 1000).toISOString(), until: new Date(now + 600_000).toISOString() }
    const check = await makeCheck({ maintenance_windows: [window], failure_threshold: 1 })
    expect(await check.show()).toMatchObject({ paused: 'maintenance_window', next_run_at: window.until })
    await drain()
    expect(asked).toEqual([])
    system.clock.advance(300)
    expect(await drain()).toBe(0)
    await expect(org.owner.call(runCheck, check.path)).rejects.toMatchObject({ code: 'CONFLICT' })
    // A little later, so that not all of a window come back in the same moment.
    system.clock.advance(301 + 6)
    expect(await check.play('f')).toEqual(['failed'])
  })

  test('checks of the same window come back apart from each other', async () => {
    const now = system.clock.now().getTime()
    const window = { from: new Date(now - 1000).toISOString(), until: new Date(now + 60_000).toISOString() }
    for (let n = 0; n < 4; n++) await makeCheck({ maintenance_windows: [window] })
    await drain()
    const times = (await system.db.select().from(checks)).map(({ nextRunAt }) => nextRunAt!.getTime())
    expect(new Set(times).size).toBeGreaterThan(1)
    for (const time of times) {
      expect(time).toBeGreaterThanOrEqual(now + 60_000)
      expect(time).toBeLessThanOrEqual(now + 66_000)
    }
  })

  test('a window that begins while it runs: what was found does not count', async () => {
    const check = await makeCheck({ failure_threshold: 1 })
    hosts.set(check.url, async () => {
      const now = system.clock.now().getTime()
      // Not by the operation, which would also end the claim.
      const windows = [{ from: new Date(now - 1).toISOString(), until: new Date(now + 60_000).toISOString() }]
      await system.db.update(checks).set({ maintenanceWindows: windows }).where(eq(checks.id, check.id))
      return answered(500)
    })
    await drain()
    expect([await told(check.id), await check.runs()]).toEqual([[], []])
  })

  test('a judge without a maintenance model: no run, no event, and the reason', async () => {
    const check = await makeCheck({ definition: { kind: 'judge', question: 'Is all well?' } })
    await drain()
    expect(await check.show()).toMatchObject({
      paused: 'no_maintenance_model',
      state: null,
      next_run_at: null,
    })
    expect([await check.runs(), await told(check.id)]).toEqual([[], []])
    await expect(org.owner.call(runCheck, check.path)).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})

describe('a judge', () => {
  const question = 'Did every order go through?'
  const makeJudge = (owned = org) => {
    // What earlier tests logged is not in its window.
    system.clock.advance(2 * 60 * 60)
    return makeCheck(
      { definition: { kind: 'judge', question }, interval_seconds: 30, failure_threshold: 1 },
      owned,
    )
  }

  test('is asked with the organization’s own model, tells on transitions, and is paid from its tokens', async () => {
    const [ours, theirs] = [await makeJudge(), await makeJudge(other)]
    judging.set(org.id, verdict('fail'))
    await drain()
    expect(await ours.show()).toMatchObject({ paused: null, state: 'fail' })
    expect(await theirs.show()).toMatchObject({ paused: 'no_maintenance_model', state: null })
    expect(JSON.stringify(questions)).toContain(question)
    judging.set(org.id, verdict('pass'))
    system.clock.advance(40)
    await drain()
    judging.set(org.id, { kind: 'failed', reason: 'timeout', isSent: true })
    system.clock.advance(40)
    await drain()
    expect(await told(ours.id)).toEqual(['failed', 'recovered', 'error'])
    expect(await told(theirs.id)).toEqual([])
    const pool = await readTokenPool(system.db, {
      orgId: org.id,
      now: system.clock.now(),
      allowance: 100_000,
    })
    // Twice what was said; and apart, because the provider failed, once in full what nobody told.
    expect(pool).toMatchObject({ spent: 200, outage: 5_000, reserved: 0 })
  })

  test('turned off, it goes silent where it stood', async () => {
    const check = await makeJudge()
    judging.set(org.id, verdict('fail'))
    await drain()
    judging.delete(org.id)
    system.clock.advance(40)
    await drain()
    expect(await check.show()).toMatchObject({
      paused: 'no_maintenance_model',
      state: 'fail',
      recent: ['fail'],
    })
    expect(await told(check.id)).toEqual(['failed'])
  })
})

describe('run now', () => {
  test('makes it due, counts like any other, and not more than once in ten seconds', async () => {
    const check = await makeCheck({ failure_threshold: 2 })
    await check.play('f')
    expect(await drain()).toBeLessThanOrEqual(1)
    hosts.set(check.url, () => answered(500))
    await org.owner.call(runCheck, check.path)
    await expect(org.owner.call(runCheck, check.path)).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterSeconds: expect.any(Number) as number,
    })
    await drain()
    expect(await told(check.id)).toEqual(['failed'])
    system.clock.advance(10)
    await org.owner.call(runCheck, check.path)
    // Nor by changing it: the next run is ten seconds after the last.
    await drain()
    const before = asked.length
    await org.owner.call(updateCheck, { ...check.path, interval_seconds: 90 })
    await drain()
    expect(asked).toHaveLength(before)
    const trail = await system.db.execute(
      sql`select 1 from audit_log where org_id = ${org.id} and action = 'check.run_started'
        and subject = ${`shop: ${check.name}`}`,
    )
    expect(trail).toHaveLength(2)
  })

  test('nor by changing it while a slow host still has not answered', async () => {
    const check = await makeCheck()
    const slow = Promise.withResolvers<Probed>()
    hosts.set(check.url, () => slow.promise)
    const worker = createCheckRunner(runnerDeps())
    expect(await worker.claim()).toBe(1)
    for (let n = 0; n < 5; n++) {
      system.clock.advance(1)
      await org.owner.call(updateCheck, { ...check.path, name: unique('check') })
      expect(await worker.claim()).toBe(0)
    }
    expect(asked).toHaveLength(1)
    system.clock.advance(6)
    expect(await worker.claim()).toBe(1)
    slow.resolve(answered(200))
    while (worker.hasInFlight()) {
      await worker.nextResult()
      await worker.settle()
    }
    expect(asked).toHaveLength(2)
  })

  test('a clock that was set back does not hold it up for hours', async () => {
    const check = await makeCheck()
    const ahead = new Date(system.clock.now().getTime() + 3_600_000)
    await system.db.update(checks).set({ requestedAt: ahead }).where(eq(checks.id, check.id))
    expect(await org.owner.call(runCheck, check.path)).toMatchObject({ id: check.id })
  })
})

describe('workers', () => {
  test('two run each due check once, and tell once', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => makeCheck({ failure_threshold: 1 })))
    for (const { url } of made) hosts.set(url, async () => (await sleep(5), answered(500)))
    const runs = await Promise.all([drain(), drain(), drain()])
    expect(runs.reduce((sum, n) => sum + n)).toBe(20)
    expect(asked).toHaveLength(20)
    for (const { id } of made) expect(await told(id)).toEqual(['failed'])
  })

  test('a change of the check while it runs: the old answer does not count', async () => {
    const check = await makeCheck({ failure_threshold: 1 })
    hosts.set(check.url, async () => {
      await org.owner.call(updateCheck, {
        ...check.path,
        definition: { kind: 'http', url: 'https://new.test/' },
      })
      return answered(500)
    })
    hosts.set('https://new.test/', () => answered(200))
    await drain()
    expect(await check.runs()).toEqual([])
    system.clock.advance(11)
    await drain()
    expect(await told(check.id)).toEqual([])
    expect(await check.runs()).toMatchObject([{ result: 'pass' }])
  })

  test('a process whose clock is ahead claims nothing early, and sets no next run that is far away', async () => {
    const [check] = [await makeCheck(), await makeCheck({}, other)]
    const now = await databaseTime()
    const ahead = new Date(now + 365 * 24 * 60 * 60 * 1000)
    const worker = createCheckRunner({ ...runnerDeps(), clock: () => ahead })
    expect(await worker.claim()).toBe(2)
    while (worker.hasInFlight()) {
      await worker.nextResult()
      await worker.settle()
    }
    const [settled] = await system.db.select().from(checks).where(eq(checks.id, check.id))
    for (const time of [settled!.nextRunAt, settled!.lastRunAt, settled!.stateSince])
      expect(time!.getTime()).toBeLessThan(now + 120_000)
    expect(await worker.claim()).toBe(0)
  })

  test('a next run that is further away than it can be is brought back, unless a window ends there', async () => {
    const [lost, theirs, soon, windowed] = [
      await makeCheck(),
      await makeCheck({}, other),
      await makeCheck(),
      await makeCheck(),
    ]
    const now = await databaseTime()
    const later = (seconds: number) => new Date(now + seconds * 1000)
    const end = later(7_000)
    const window = { from: later(-10).toISOString(), until: end.toISOString() }
    const put = (id: string, set: Partial<typeof checks.$inferInsert>) =>
      system.db.update(checks).set(set).where(eq(checks.id, id))
    await put(lost.id, { nextRunAt: later(1_000_000) })
    await put(theirs.id, { nextRunAt: later(1_000_000) })
    await put(soon.id, { nextRunAt: later(63) })
    await put(windowed.id, { nextRunAt: later(7_003), maintenanceWindows: [window] })
    const timesOf = async () =>
      new Map((await system.db.select().from(checks)).map(({ id, nextRunAt }) => [id, nextRunAt!.getTime()]))
    const before = await timesOf()
    await rescheduleChecks(system)
    const after = await timesOf()
    for (const { id } of [lost, theirs]) expect(after.get(id)).toBeLessThan(now + 120_000)
    for (const { id } of [soon, windowed]) expect(after.get(id)).toBe(before.get(id))
  })

  test('a removed check is not settled, and leaves no run behind', async () => {
    const check = await makeCheck({ failure_threshold: 1 })
    hosts.set(check.url, async () => {
      await org.owner.call(removeCheck, check.path)
      return answered(500)
    })
    await drain()
    expect(await told(check.id)).toEqual([])
    const runsOf = ({ id }: { id: string }) =>
      system.db.select().from(checkRuns).where(eq(checkRuns.checkId, id))
    expect(await runsOf(check)).toEqual([])
    const [ran, beside] = [await makeCheck({ failure_threshold: 1 }), await makeCheck()]
    hosts.set(ran.url, () => answered(500))
    await drain()
    // What fails and is turned off then is nothing that fails now.
    const failing = async () => {
      const { apps: shown } = await org.owner.call(summarizeApps, { search: 'shop' })
      return shown.find(({ alias }) => alias === 'shop')!.checks_failing
    }
    expect(await failing()).toBe(1)
    await org.owner.call(updateCheck, { ...ran.path, enabled: false })
    expect(await failing()).toBe(0)
    await org.owner.call(removeCheck, ran.path)
    expect([(await runsOf(ran)).length, (await runsOf(beside)).length]).toEqual([0, 1])
  })

  test('slow hosts of one organization delay nobody else’s checks', async () => {
    const slow = await Promise.all(Array.from({ length: 12 }, () => makeCheck()))
    const hanging = Promise.withResolvers<Probed>()
    for (const { url } of slow) hosts.set(url, () => hanging.promise)
    const quick = await makeCheck({}, other)
    const worker = createCheckRunner(runnerDeps(), { inFlightMax: 20, perOrganization: 3 })
    // The slow ones are older: without a share for each they would have all slots but one.
    expect(await worker.claim()).toBe(4)
    await worker.nextResult()
    await worker.settle()
    expect(await quick.show()).toMatchObject({ state: 'pass' })
    expect(await worker.claim()).toBe(0)
    const another = await makeCheck({}, other)
    expect(await worker.claim()).toBe(1)
    await worker.nextResult()
    await worker.settle()
    expect(await another.show()).toMatchObject({ state: 'pass' })
    hanging.resolve(answered(200))
    while (worker.hasInFlight()) {
      await worker.nextResult()
      await worker.settle()
    }
  })

  test('a loop wakes up for what was made due in its process, and gives back what it did not finish', async () => {
    const hanging = await makeCheck()
    hosts.set(hanging.url, () => new Promise(() => {}))
    // It has found what was due, and then nothing.
    const { going: loops } = await untilAsked(
      system.db,
      /min\(next_run_at\)/,
      () => startChecks(runnerDeps()),
      2,
    )
    const statements = await statementsDuring(system.db, async () => {
      const check = await makeCheck()
      await expect.poll(async () => (await check.show()).state).toBe('pass')
    })
    // Nobody tells this loop: its look is the net, which began before that of the other.
    expect(statements.filter((text) => text.includes('min(lease_until) from checks'))).toEqual([])
    await loops.stop()
    const [left] = await system.db.select().from(checks).where(eq(checks.id, hanging.id))
    expect(left).toMatchObject({ claim: null, leaseUntil: null })
  })
})
