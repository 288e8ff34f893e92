/** Logs of an app: sent in three formats, stored without secrets, found again, followed, and gone after a week. */
import { gzipSync } from 'node:zlib'
import { sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { listenerOf } from '../../db/listen.ts'
import { logUsage } from '../../db/schema.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { summarizeApps } from '../../src/contracts/app-summaries.ts'
import { createApp, setAppMember, showApp } from '../../src/contracts/apps.ts'
import { FAIR_QUEUES } from '../../src/contracts/fair-queues.ts'
import {
  LOG_LINE_MAX,
  LOG_LINES_PER_REQUEST,
  LOG_WAIT_SECONDS,
  LOGS_MAX_BYTES,
} from '../../src/contracts/limits.ts'
import { listLogGroups, listLogs, pushLogs, summarizeLogs } from '../../src/contracts/logs.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { sweepLogs } from '../../src/cores/logs/index.ts'
import { lineId } from '../../src/cores/logs/line-ids.ts'
import { hearsNothing } from '../support/left-out.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  signedIn,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org
let developer: Person
let builder: Person
let viewer: Person
/** Of the app of one test. */
let alias: string
let token: string

const SERVICES = { SVC_SERVICES: 'api-gateway,auth-service,deploy-api' }

beforeAll(async () => {
  system = await startSystem({ ...SERVICES, LOG_LINES_PER_MINUTE: '1000000' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  developer = await makeMember(system, org, 'developer')
  ;[builder, viewer] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'viewer')]
})

beforeEach(async () => {
  ;({ alias, token } = await makeApp(org))
  await org.owner.call(setAppMember, { alias, user_id: builder.userId, role: 'builder' })
})

afterAll(() => system.stop())

async function makeApp({ owner }: Org, name = unique('shop')) {
  await owner.call(createApp, { alias: name, name: 'Shop' })
  const made = await owner.call(createAppToken, { alias: name, name: 'collector', scope: 'apps:report' })
  return { alias: name, token: made.token }
}

const push = ({ call }: Pick<Person, 'call'>, lines: readonly unknown[], to = alias) =>
  call(pushLogs, {
    alias: to,
    body: Buffer.from(
      lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    ),
  })

const read = ({ call }: Pick<Person, 'call'> = developer, filter: object = {}, of = alias) =>
  call(listLogs, { alias: of, ...filter })

const textsIn = ({ lines }: { lines: readonly { text: string }[] }) => lines.map(({ text }) => text)

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => String((error as { code?: unknown }).code),
  )

/** Days later everybody signs in again. */
async function later(days: number): Promise<Pick<Person, 'call'>> {
  system.clock.advance(days * 86_400)
  builder = { ...builder, ...(await signedIn(system, builder.email)) }
  developer = { ...developer, ...(await signedIn(system, developer.email)) }
  org = { ...org, owner: { ...org.owner, ...(await signedIn(system, org.owner.email)) } }
  return developer
}

const post = (body: Uint8Array | string, headers: Record<string, string> = {}, bearer = token, on = system) =>
  on.fetch('/v1/logs', {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', ...headers },
    body: body as BodyInit,
  })

const otlp = (...texts: readonly unknown[]) =>
  JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'checkout' } }] },
        scopeLogs: [
          {
            logRecords: texts.map((text) => ({
              severityNumber: 17,
              body: typeof text === 'string' ? { stringValue: text } : text,
              traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
            })),
          },
        ],
      },
    ],
  })

describe('who', () => {
  test('sends: the app’s token, and people with part in it; nobody else', async () => {
    const runner = await org.owner.call(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
    const foreign = await makeApp(other, alias)
    expect(await push(builder, ['by a person'])).toEqual({ accepted: 1, rejected: 0, dropped: 0 })
    expect(await push({ call: system.as({ token }) }, ['by a token'])).toMatchObject({ accepted: 1 })
    expect(await codeOf(push(viewer, ['x']))).toBe('FORBIDDEN')
    expect(await codeOf(push(developer, ['x']))).toBe('FORBIDDEN')
    expect(await codeOf(push({ call: system.as({ token: runner.token }) }, ['x']))).toBe('FORBIDDEN')
    const another = await makeApp(org)
    expect(await codeOf(push({ call: system.as({ token: another.token }) }, ['x']))).toBe('NOT_FOUND')
    // The same alias there is another app.
    expect(await push({ call: system.as({ token: foreign.token }) }, ['elsewhere'])).toMatchObject({
      accepted: 1,
    })
    expect(textsIn(await read())).toEqual(['by a token', 'by a person'])
    expect(textsIn(await read(other.owner))).toEqual(['elsewhere'])
  })

  test('sends records without naming an app: only its token', async () => {
    expect((await post(otlp('x'), {}, builder.token)).status).toBe(403)
    expect((await post(otlp('x'), {}, 'nothing')).status).toBe(401)
    expect((await post(otlp('x'))).status).toBe(200)
  })

  test('reads: developers, and people with part in it; no other viewer, no scoped token, no other organization', async () => {
    await push(builder, ['line'])
    const scoped = await makeApiToken(system, org, developer, { scopes: ['data:read'] })
    for (const call of [developer.call, builder.call, org.owner.call]) {
      expect(textsIn(await read({ call }))).toEqual(['line'])
      expect((await call(listLogGroups, { alias })).groups).toHaveLength(1)
      expect((await call(summarizeLogs, { alias })).stored_bytes).toBeGreaterThan(0)
    }
    for (const [call, code] of [
      [viewer.call, 'FORBIDDEN'],
      [scoped.call, 'FORBIDDEN'],
      [system.as({ token }), 'FORBIDDEN'],
      [other.owner.call, 'NOT_FOUND'],
    ] as const) {
      expect(await codeOf(call(listLogs, { alias }))).toBe(code)
      expect(await codeOf(call(listLogGroups, { alias }))).toBe(code)
      expect(await codeOf(call(summarizeLogs, { alias }))).toBe(code)
    }
  })
})

describe('what is stored', () => {
  test('is JSON in the words of the log libraries, or plain text; nothing is lost', async () => {
    const at = new Date(system.clock.now().getTime() - 60_000)
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const sent = [
      { level: 50, time: at.getTime(), pid: 1, hostname: 'h', msg: 'pino', order: 7 },
      { severity: 'WARNING', timestamp: at.toISOString(), message: 'cloud', service: 'api', trace_id: trace },
      { level: 'error', msg: 'failed', err: { stack: 'Error: no\n    at f' } },
      { unknown: 'words' },
      'ERROR plain text',
      '{"broken": ',
      '[1, 2]',
      '',
      `{"deep":${'['.repeat(20_000)}${']'.repeat(20_000)},"msg":"x"}`,
    ]
    expect(await push(builder, sent)).toEqual({ accepted: 8, rejected: 0, dropped: 0 })
    const { lines } = await read()
    const byText = new Map(lines.map((line) => [line.text.slice(0, 12), line]))
    expect(byText.get('pino {"order')).toMatchObject({
      text: 'pino {"order":7}',
      level: 'error',
      at: at.toISOString(),
    })
    expect(byText.get('cloud')).toMatchObject({ level: 'warn', service: 'api', trace_id: trace })
    expect(byText.get('failed\nError')).toMatchObject({ text: 'failed\nError: no\n    at f', level: 'error' })
    expect(byText.get('{"unknown":"')).toMatchObject({ level: 'info' })
    expect(byText.get('ERROR plain ')).toMatchObject({ level: 'error' })
    expect(byText.get('{"broken":')).toMatchObject({ text: '{"broken":' })
    expect(byText.get('[1, 2]')).toBeDefined()
  })

  test('has no secrets, no control and no bidirectional characters, and is cut', async () => {
    const half = 'a'.repeat(LOG_LINE_MAX - 5)
    await push(builder, [
      'login password=hunter2 \u001b[31mred\u001b[0m \u202eturned',
      { msg: 'nul \u0000 and \ud800', service: 'ev\u001fil\u0000' },
      `${half} Bearer abcdefgh12345678`,
      '\u0000\u202e',
    ])
    const { lines } = await read()
    expect(lines.map(({ text }) => text)).toEqual([
      `${half} Bear`,
      'nul  and \ufffd',
      'login password=[hidden] red turned',
    ])
    expect(lines[1]?.service).toBe('evil')
    // Nothing of them is anywhere else either.
    expect(JSON.stringify(await developer.call(listLogGroups, { alias }))).not.toContain('hunter2')
    expect(system.logLines.join('')).not.toContain('hunter2')
  })

  test('a line with nothing but blanks at its beginning takes no other with it', async () => {
    const lines = [`${' '.repeat(1001)}x`, 'other', '\u00a0\u2003', '"'.repeat(1001), '\u001b]0;no end']
    expect(await push(builder, lines)).toEqual({ accepted: 4, rejected: 0, dropped: 0 })
    expect(
      textsIn(await read())
        .map((text) => text.trim())
        .toSorted(),
    ).toEqual(['x', 'other', '"'.repeat(1001), '0;no end'].toSorted())
  })

  test('what says that it is from another time than we keep is from now', async () => {
    const now = system.clock.now().getTime()
    await push(builder, [
      { msg: 'future', time: now + 3_600_000 },
      { msg: 'past', time: now - 8 * 86_400_000 },
      { msg: 'no time', time: 'soon' },
    ])
    const { lines } = await read()
    for (const { at } of lines) expect(Math.abs(Date.parse(at) - now)).toBeLessThan(60_000)
    expect(lines).toHaveLength(3)
  })
})

describe('OpenTelemetry', () => {
  test('records arrive with level, service and trace, also as gzip', async () => {
    const response = await post(gzipSync(otlp('card declined', { kvlistValue: { values: [] } })), {
      'content-encoding': 'gzip',
    })
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'application/json',
      '{}',
    ])
    expect((await read()).lines).toMatchObject([
      { text: '{}', level: 'error' },
      {
        text: 'card declined',
        level: 'error',
        service: 'checkout',
        trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      },
    ])
  })

  test('a record that cannot be read is a partial success, and the others are stored', async () => {
    const response = await post(otlp('good', { intValue: 'many' }, 'better', {}))
    expect(await response.json()).toEqual({
      partialSuccess: { rejectedLogRecords: '2', errorMessage: '2 records could not be read' },
    })
    expect(textsIn(await read()).toSorted()).toEqual(['better', 'good'])
  })

  test('protobuf is answered with protobuf', async () => {
    // One record with the text "hi", and one that holds nothing.
    const scopeLogs = [0x12, 0x06, 0x2a, 0x04, 0x0a, 0x02, 0x68, 0x69, 0x12, 0x02, 0x10, 0x09]
    const resourceLogs = [0x12, scopeLogs.length, ...scopeLogs]
    const request = Uint8Array.from([0x0a, resourceLogs.length, ...resourceLogs])
    const response = await post(request, { 'content-type': 'application/x-protobuf' })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-protobuf'])
    const answer = Buffer.from(await response.arrayBuffer())
    const message = '1 records could not be read'
    expect([...answer.subarray(0, 6)]).toEqual([0x0a, message.length + 4, 0x08, 1, 0x12, message.length])
    expect(answer.subarray(6).toString()).toBe(message)
    expect(textsIn(await read())).toEqual(['hi'])
  })

  test.runIf(inject('everyCase'))('what is no such request is refused, whole', async () => {
    const proto = { 'content-type': 'application/x-protobuf' }
    const gzip = { 'content-encoding': 'gzip' }
    const statuses = await Promise.all(
      [
        post('{"resourceLogs": '),
        post(Uint8Array.from([0x0a, 0x7f, 0x01]), proto),
        post('not gzip', gzip),
        post(otlp('x'), { 'content-encoding': 'br' }),
        post(otlp('x'), { 'content-type': 'text/plain' }),
        post(gzipSync(Buffer.alloc(LOGS_MAX_BYTES + 1, 0x20)), gzip),
        post(Buffer.alloc(LOGS_MAX_BYTES + 1, 0x20)),
      ].map(async (answer) => (await answer).status),
    )
    expect(statuses).toEqual([400, 400, 400, 400, 400, 413, 413])
    // Nothing of it is JSON that we know, and nothing is wrong with it.
    for (const body of ['{}', '[]', 'null', '{"resourceLogs":[null,{"scopeLogs":{}}]}']) {
      expect((await post(body)).status).toBe(200)
    }
    expect(textsIn(await read())).toEqual([])
  })

  test('a request of too many lines is refused before it fills the memory', async () => {
    expect(
      await codeOf(
        push(
          builder,
          Array.from({ length: LOG_LINES_PER_REQUEST + 1 }, () => 'x'),
        ),
      ),
    ).toBe('TOO_LARGE')
    expect(textsIn(await read())).toEqual([])
  })
})

describe('search', () => {
  test('by level, time, text and group, page by page', async () => {
    const now = system.clock.now().getTime()
    const lines = Array.from({ length: 25 }, (_, n) => ({
      msg: `Order ${n} of 100% ${n % 2 === 0 ? 'FAILED' : 'done'}`,
      level: n % 2 === 0 ? 'error' : 'info',
      // Two at a time have the same time.
      time: now - 60_000 * Math.floor(n / 2),
    }))
    await push(builder, lines)
    await push(other.owner, lines, (await makeApp(other, alias)).alias)

    const all = await pages({})
    expect(all.map(({ text }) => text)).toHaveLength(25)
    expect(new Set(all.map(({ id }) => id)).size).toBe(25)
    expect(all.map(({ at }) => at)).toEqual(
      all
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    )
    expect(await pages({ level: 'error' })).toHaveLength(13)
    expect(await pages({ level: 'fatal' })).toHaveLength(0)
    expect(await pages({ text: 'failed' })).toHaveLength(13)
    expect(await pages({ text: '100%' })).toHaveLength(25)
    expect(await pages({ text: '1%0' })).toHaveLength(0)
    expect(await pages({ text: 'r_er' })).toHaveLength(0)
    expect(await pages({ text: String.raw`\%'"` })).toHaveLength(0)
    expect(await pages({ since: new Date(now - 60_000).toISOString() })).toHaveLength(4)
    expect(await pages({ until: new Date(now).toISOString() })).toHaveLength(23)
    const { groups } = await developer.call(listLogGroups, { alias })
    expect(groups.map(({ template, level, count }) => [template, level, count])).toEqual([
      ['Order <n> of <n>% FAILED', 'error', 13],
      ['Order <n> of <n>% done', 'info', 12],
    ])
    expect(await pages({ group_id: groups[1]!.id })).toHaveLength(12)
    expect(all.map(({ id }) => id)).toContain(groups[0]!.sample_id)
    expect(Date.parse(groups[0]!.last_at)).toBe(now)
    // Of a group, and of a cursor, that never was.
    expect(await pages({ group_id: `lgr_${'z'.repeat(25)}` })).toHaveLength(0)
    for (const key of [['x', '1'], ['2026-01-01T00:00:00Z', 'x'], ['1']]) {
      const cursor = Buffer.from(JSON.stringify(key)).toString('base64url')
      expect(await codeOf(read(developer, { cursor }))).toBe('INVALID_REQUEST')
      expect(await codeOf(developer.call(listLogGroups, { alias, cursor }))).toBe('INVALID_REQUEST')
    }
  })

  async function pages(filter: object) {
    const found = []
    for (let cursor: string | undefined; ;) {
      const page = await read(developer, { ...filter, limit: 4, cursor })
      found.push(...page.lines)
      cursor = page.next_cursor
      if (cursor === undefined) return found
    }
  }

  // The embedded database has one session, which the lock would keep.
  test.runIf(inject('engine') === 'postgres')(
    'an organization searches so much at once, following or not, and whoever just reads is not held up',
    async () => {
      await push(builder, ['line'])
      // As of an app that has sent a lot.
      await system.db.execute(sql`
        update log_usage set last_number = 1000000 where org_id = ${org.id}
          and app_id = (select id from apps where org_id = ${org.id} and alias = ${alias})`)
      const after = `lgl_${'0'.repeat(25)}`
      const group_id = `lgr_${'0'.repeat(25)}`
      const kinds = [
        { after, text: 'zzz' },
        { after: lineId(999_000), text: 'zzz' },
        { level: 'fatal' },
        { group_id },
        { after, until: '2026-01-01T00:00:00Z' },
      ]
      const most = FAIR_QUEUES.logSearches.running.organization + FAIR_QUEUES.logSearches.waiting.organization
      let searches: Promise<string>[] = []
      await system.db.transaction(async (tx) => {
        await tx.execute(sql`lock table log_lines in access exclusive mode`)
        searches = Array.from({ length: most + 1 }, (_, n) =>
          codeOf(read(developer, kinds[n % kinds.length])),
        )
        expect(await Promise.race(searches)).toBe('RATE_LIMITED')
        expect(await codeOf(developer.call(listLogGroups, { alias }))).toBe('RATE_LIMITED')
        for (const { errors } of [listLogs, listLogGroups]) expect(errors).toContain('RATE_LIMITED')
        // There are connections left for others.
        expect(
          (await other.owner.call(summarizeLogs, { alias: (await makeApp(other)).alias })).stored_bytes,
        ).toBe(0)
      })
      expect((await Promise.all(searches)).toSorted()).toEqual([
        'RATE_LIMITED',
        ...Array.from({ length: most }, () => 'done'),
      ])
    },
  )

  test('groups are listed page by page, the most frequent first', async () => {
    const words = ['ant', 'bee', 'cat', 'dog', 'eel']
    await push(
      builder,
      words.flatMap((word, n) => Array.from({ length: Math.floor(n / 2) + 1 }, () => `a ${word} came`)),
    )
    const seen: number[] = []
    for (let cursor: string | undefined; ;) {
      const page = await developer.call(listLogGroups, { alias, limit: 2, cursor })
      seen.push(...page.groups.map(({ count }) => count))
      cursor = page.next_cursor
      if (cursor === undefined) break
    }
    expect(seen).toEqual([3, 2, 2, 1, 1])
  })

  test('volume is counted by level and time', async () => {
    const now = system.clock.now().getTime()
    await push(builder, [
      { msg: 'a', level: 'error', time: now - 7_200_000 },
      { msg: 'b', level: 'error', time: now },
      { msg: 'c', time: now },
      { msg: 'd', level: 'warn', time: now },
    ])
    const { buckets, step_seconds: step } = await developer.call(summarizeLogs, { alias })
    expect(step).toBe(3600)
    expect(buckets.length).toBeGreaterThanOrEqual(24)
    const filled = buckets.filter(({ counts }) => Object.keys(counts).length > 0)
    expect(filled.map(({ counts }) => counts)).toEqual([{ error: 1 }, { error: 1, info: 1, warn: 1 }])
    // Errors alone, and for nobody who may not read them.
    const errorsFor = async ({ call }: { call: Person['call'] }) => {
      const { apps } = await call(summarizeApps, { search: alias })
      return apps.map((one) => one.errors_of_a_day)
    }
    expect([await errorsFor(developer), await errorsFor(viewer)]).toEqual([[2], [null]])
    expect((await developer.call(summarizeLogs, { alias: (await makeApp(org)).alias })).stored_bytes).toBe(0)
  })
})

describe('following', () => {
  test('what arrives later comes once, in the order of arrival, whatever its time', async () => {
    await push(builder, ['before'])
    const { after } = await read()
    expect(await read(developer, { after })).toMatchObject({ lines: [], after })
    await push(builder, [{ msg: 'late', time: system.clock.now().getTime() - 3_600_000 }, 'ERROR now'])
    const next = await read(developer, { after })
    expect(textsIn(next)).toEqual(['late', 'ERROR now'])
    expect(textsIn(await read(developer, { after: next.after }))).toEqual([])
    expect(textsIn(await read(developer, { after, level: 'error' }))).toEqual(['ERROR now'])
    const one = await read(developer, { after, limit: 1 })
    expect(textsIn(await read(developer, { after: one.after }))).toEqual(['ERROR now'])
  })

  test('waits for lines, and is woken by them', async () => {
    const { after } = await read()
    const waiting = read(developer, { after, wait_seconds: LOG_WAIT_SECONDS, level: 'error' })
    await push(builder, ['INFO nobody waits for this'])
    await push(builder, ['ERROR this'])
    expect(textsIn(await waiting)).toEqual(['ERROR this'])
  })

  test.skipIf(hearsNothing)(
    'whoever follows is told by any process: of each app a few times a second, however much it sends',
    async () => {
      const there = await makeApp(other)
      const apps = [
        await developer.call(showApp, { alias }),
        await other.owner.call(showApp, { alias: there.alias }),
      ]
      const told: string[] = []
      const unsubscribe = listenerOf(system.db).subscribe((topic, key) => {
        if (topic === 'logs') told.push(key)
      })
      const startedAt = performance.now()
      for (let n = 0; n < 40; n++) await push(builder, [`line ${n}`])
      await push(other.owner, ['there'], there.alias)
      await expect.poll(() => new Set(told), { timeout: 20_000 }).toEqual(new Set(apps.map(({ id }) => id)))
      unsubscribe()
      const most = (performance.now() - startedAt) / 250 + 1
      for (const { id } of apps) expect(told.filter((key) => key === id).length).toBeLessThanOrEqual(most)
    },
  )

  test.each(['viewer', 'developer'] as const)('a %s who is removed meanwhile gets nothing', async (role) => {
    const leaving = await makeMember(system, org, role)
    if (role === 'viewer') {
      await org.owner.call(setAppMember, { alias, user_id: leaving.userId, role: 'builder' })
    }
    const { after } = await read(leaving)
    const waiting = codeOf(read(leaving, { after, wait_seconds: LOG_WAIT_SECONDS }))
    await org.owner.call(removeMember, { org_id: org.id, user_id: leaving.userId })
    await push(builder, ['after they left'])
    expect(await waiting).toBe('FORBIDDEN')
  })

  test('an organization has so many waiting, and another one is not kept from it', async () => {
    const { after } = await read()
    const waiting = Array.from({ length: FAIR_QUEUES.logWaits.running.organization + 1 }, () =>
      codeOf(read(developer, { after, wait_seconds: LOG_WAIT_SECONDS })),
    )
    const there = await makeApp(other)
    const elsewhere = read(other.owner, { after, wait_seconds: LOG_WAIT_SECONDS }, there.alias)
    expect(await Promise.race(waiting)).toBe('RATE_LIMITED')
    await push(builder, ['for all of them'])
    expect((await Promise.all(waiting)).toSorted()).toEqual([
      'RATE_LIMITED',
      ...Array.from({ length: FAIR_QUEUES.logWaits.running.organization }, () => 'done'),
    ])
    await push(other.owner, ['there'], there.alias)
    expect(textsIn(await elsewhere)).toEqual(['there'])
  })

  test('a developer who is lowered meanwhile gets nothing', async () => {
    const lowered = await makeMember(system, org, 'developer')
    const { after } = await read(lowered)
    const waiting = codeOf(read(lowered, { after, wait_seconds: LOG_WAIT_SECONDS }))
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: lowered.userId, role: 'viewer' })
    await push(builder, ['after that'])
    expect(await waiting).toBe('FORBIDDEN')
  })

  test('with a filter, too, as many may wait as without one, and all of them see what arrives', async () => {
    const { after } = await read()
    const waiting = Array.from({ length: FAIR_QUEUES.logWaits.running.organization }, () =>
      read(developer, { after, level: 'error', text: 'all', wait_seconds: LOG_WAIT_SECONDS }),
    )
    await push(builder, ['ERROR for all'])
    for (const found of await Promise.all(waiting)) expect(textsIn(found)).toEqual(['ERROR for all'])
  })

  test.runIf(inject('everyCase'))('of many senders at once no line is missed', async () => {
    const senders = 6
    const each = 10
    const sending = Array.from({ length: senders }, async (_, sender) => {
      for (let n = 0; n < each; n++) await push(builder, [`${sender}-${n} a`, `${sender}-${n} b`])
    })
    const seen: string[] = []
    let after: string = `lgl_${'0'.repeat(25)}`
    while (seen.length < senders * each * 2) {
      const page = await read(developer, { after, limit: 7, wait_seconds: 5 })
      seen.push(...textsIn(page))
      after = page.after
    }
    await Promise.all(sending)
    expect(new Set(seen).size).toBe(senders * each * 2)
    expect(textsIn(await read(developer, { after }))).toEqual([])
  })
})

describe('limits of an app', () => {
  let small: TestSystem
  beforeAll(async () => {
    small = await startSystem(
      { ...SERVICES, LOG_LINES_PER_MINUTE: '100', LOG_MIB_PER_APP: '1' },
      { clockOf: system },
    )
  })
  afterAll(() => small.stop())

  test('who sends too fast is told when to come again, another app is not', async () => {
    const lines = Array.from({ length: 150 }, (_, n) => `line ${n}`)
    const body = otlp(...lines)
    expect((await post(body, {}, token, small)).status).toBe(200)
    const refused = await post(body, {}, token, small)
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(20)
    expect(seconds).toBeLessThanOrEqual(30)
    const another = await makeApp(org)
    expect((await post(otlp('x'), {}, another.token, small)).status).toBe(200)
    expect(await developer.call(summarizeLogs, { alias })).toMatchObject({
      refused_today: 1,
      dropped_today: 0,
    })
    system.clock.advance(seconds)
    expect((await post(otlp('again'), {}, token, small)).status).toBe(200)
    expect((await pagesOf(alias)).length).toBe(151)
  })

  async function pagesOf(of: string) {
    const first = await read(developer, { limit: 200 }, of)
    return textsIn(first)
  }

  test('what is dropped, cannot be read or is long counts as well', async () => {
    const lines = Array.from({ length: 170 }, (_, n) => `line ${n}`)
    const statuses = async (app: { alias: string; token: string }, ...bodies: string[]) => {
      const found: number[] = []
      for (const body of bodies) found.push((await post(body, {}, app.token, small)).status)
      return found
    }
    const full = await makeApp(org)
    await post(otlp('first'), {}, full.token, small)
    await system.db
      .update(logUsage)
      .set({ storedBytes: 1024 * 1024 })
      .where(
        sql`org_id = ${org.id} and app_id = (select id from apps where org_id = ${org.id} and alias = ${full.alias})`,
      )
    expect(await statuses(full, otlp(...lines), otlp('x'))).toEqual([200, 429])
    expect((await developer.call(summarizeLogs, { alias: full.alias })).dropped_today).toBe(170)
    expect(await statuses(await makeApp(org), otlp(...lines.map(() => ({}))), otlp('x'))).toEqual([200, 429])
    expect(await statuses(await makeApp(org), otlp('x'.repeat(170 * 1024)), otlp('x'))).toEqual([200, 429])
    expect(await statuses(await makeApp(org), '{'.padEnd(170 * 1024), otlp('x'))).toEqual([400, 429])
    // Of another organization, which has sent nothing.
    expect(await statuses(await makeApp(other), otlp('x'))).toEqual([200])
  })

  test('what there is no room for is dropped, and counted where people see it', async () => {
    const row = sql`org_id = ${org.id} and app_id = (select id from apps where org_id = ${org.id} and alias = ${alias})`
    await post(otlp('first'), {}, token, small)
    await system.db
      .update(logUsage)
      .set({ storedBytes: 1024 * 1024 })
      .where(row)
    const answer = await (await post(otlp('a', 'b', {}), {}, token, small)).json()
    expect(answer).toEqual({
      partialSuccess: {
        rejectedLogRecords: '3',
        errorMessage: '1 records could not be read; 2 were not stored, because the logs of this app are full',
      },
    })
    expect(await push({ call: small.as({ token }) }, ['c'])).toEqual({ accepted: 0, rejected: 0, dropped: 1 })
    expect((await developer.call(summarizeLogs, { alias })).dropped_today).toBe(3)
    expect(textsIn(await read())).toEqual(['first'])
    const { call } = await later(1)
    expect((await call(summarizeLogs, { alias })).dropped_today).toBe(0)
    await push({ call: small.as({ token }) }, ['d'])
    expect((await call(summarizeLogs, { alias })).dropped_today).toBe(1)
  })

  test('groups are added up to what is kept, and those that are known stay known', async () => {
    const words = Array.from({ length: 1_100 }, (_, n) =>
      [...String(n).padStart(4, '0')].map((digit) => 'abcdefghij'[Number(digit)]).join(''),
    )
    const stored = async () => {
      const rows = (await system.db.execute(sql`
        select count(*)::int as count, max(last_day) filter (where template = 'known before')::text as day
        from log_groups where org_id = ${org.id}
          and app_id = (select id from apps where org_id = ${org.id} and alias = ${alias})`)) as unknown as {
        count: number
        day: string
      }[]
      return rows[0]
    }
    await push(builder, ['known before'])
    await later(1)
    const today = system.clock.now().toISOString().slice(0, 10)
    await push(builder, [...words.map((word) => `a ${word} came`), 'known before'])
    expect(await stored()).toEqual({ count: 1_001, day: today })
    await system.db.execute(sql`
      insert into log_groups select ${org.id}, id, n, 2, 'filled ' || n, ${today}::date
      from apps, generate_series(1, 3990) as n where org_id = ${org.id} and alias = ${alias}`)
    await push(
      builder,
      words.slice(0, 100).map((word) => `the ${word} left`),
    )
    expect(await stored()).toEqual({ count: 5_000, day: today })
  })

  test('groups beyond what is kept are counted together', async () => {
    await push(builder, ['a cat came'])
    await system.db.execute(sql`
      insert into log_groups select ${org.id}, id, n, 2, 'filled ' || n, '2026-03-02'
      from apps, generate_series(1, 5000) as n where org_id = ${org.id} and alias = ${alias}`)
    await push(builder, ['a dog came', 'an eel came', 'a cat came'])
    const { groups } = await developer.call(listLogGroups, { alias })
    expect(new Map(groups.map(({ template, count }) => [template, count]))).toEqual(
      new Map([
        ['(other lines)', 2],
        ['a cat came', 2],
      ]),
    )
    const rest = groups.find(({ template }) => template === '(other lines)')!
    expect(textsIn(await read(developer, { group_id: rest.id })).toSorted()).toEqual([
      'a dog came',
      'an eel came',
    ])
  })
})

describe('after a week', () => {
  test.runIf(inject('everyCase'))(
    'what cannot be swept keeps nothing else from it, and who stops is not kept waiting',
    async () => {
      await later(500)
      await push(builder, ['old'])
      const { db } = system
      await later(9)
      const stopped = new AbortController()
      stopped.abort()
      const deps = { db, clock: () => system.clock.now(), partitions: false }
      await sweepLogs(deps, stopped.signal)
      expect(textsIn(await read())).toEqual(['old'])
      // An embedded database, or a role that may not create tables, has no partitions to make.
      const refusing = new Proxy(db, {
        get: (target, name) =>
          name === 'transaction'
            ? () => Promise.reject(new Error('no partitions today'))
            : (Reflect.get(target, name) as unknown),
      })
      await expect(sweepLogs({ ...deps, db: refusing, partitions: true })).rejects.toThrow(
        'of the parts failed',
      )
      expect(textsIn(await read())).toEqual([])
    },
  )

  test('lines go, with what was counted for them; on Postgres their day goes as a whole', async () => {
    const isServer = inject('engine') === 'postgres'
    const sweep = () => sweepLogs({ db: system.db, clock: () => system.clock.now(), partitions: isServer })
    // A time that no other test has lines of.
    await later(400)
    await sweep()
    await push(builder, [
      'old',
      { msg: 'of the day before', time: system.clock.now().getTime() - 86_400_000 },
    ])
    const parts = await partitions()
    expect(parts.filter(({ lines }) => lines > 0).map(({ name }) => name.replace(/\d{8}/, 'day'))).toEqual(
      isServer ? ['log_lines_day', 'log_lines_rest'] : ['log_lines_rest'],
    )
    const before = await developer.call(summarizeLogs, { alias })
    await later(5)
    await push(builder, ['young'])
    await sweep()
    expect(textsIn(await read())).toEqual(['young', 'old', 'of the day before'])
    await later(3)
    await sweep()
    expect(textsIn(await read())).toEqual(['young'])
    const after = await developer.call(summarizeLogs, { alias })
    expect(after.stored_bytes).toBeGreaterThan(0)
    expect(after.stored_bytes).toBeLessThan(before.stored_bytes)
    const { groups } = await developer.call(listLogGroups, {
      alias,
      since: new Date(system.clock.now().getTime() - 30 * 86_400_000).toISOString(),
    })
    expect(groups.map(({ template }) => template)).toEqual(['young'])
    for (const { name } of await partitions()) {
      if (name !== 'log_lines_rest') await system.db.execute(sql.raw(`drop table ${name}`))
    }
  })

  async function partitions() {
    const found = (await system.db.execute(sql`
      select c.relname as name,
        (select count(*)::int from log_lines l where l.tableoid = c.oid and l.at > ${system.clock.now().toISOString()}::timestamptz - interval '2 days') as lines
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'log_lines'::regclass order by 1`)) as unknown as { name: string; lines: number }[]
    return [...found]
  }
})
