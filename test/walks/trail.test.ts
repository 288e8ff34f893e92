/** The trail: what happened in an organization is sealed, and an export says which row somebody changed afterwards. */
import { createHash, createHmac, createPublicKey, verify } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import { trailSeals } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { TRAIL_STREAMS_MAX } from '../../src/contracts/limits.ts'
import { leafOf, rootOf, type TrailRow } from '../../src/contracts/trail-format.ts'
import {
  createTrailStream,
  exportTrail,
  listTrailStreams,
  removeTrailStream,
  rotateTrailKey,
  showTrailKeys,
  streamTrail,
} from '../../src/contracts/trail.ts'
import { insertActivity } from '../../src/cores/activity/insert-activity.ts'
import { sweepActivity } from '../../src/cores/activity/index.ts'
import { newTimeline, updateTimeline, wentBack } from '../../src/cores/endings/timeline.ts'
import type { ChannelPorts, Outcome } from '../../src/cores/notifications/index.ts'
import { recordAudit } from '../../src/cores/record-audit.ts'
import {
  exportTrail as exportVerb,
  sealTrail,
  sendTrail,
  type SealDeps,
} from '../../src/cores/trail/index.ts'
import { emptySeals, sealRemoval } from '../../src/cores/trail/seal-removal.ts'
import { readEvents } from '../../src/cores/trail/stream-trail.ts'
import { addKey, readSigner } from '../../src/cores/trail/trail-keys.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { trailVerifier, type TrailReport } from '../../src/cli/trail/verify-trail.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { createOpenAnswers } from '../../src/trust/open-answers.ts'
import { sha256 } from '../../src/trust/trail-key.ts'
import { openConsole } from '../support/console.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { makeMember, makeOrganization } from '../support/make.ts'
import { OPERATOR_TOKEN, START_MS, startSystem, type TestSystem } from '../support/system.ts'

// Embedded, there is one connection: no transaction is late.
const isServer = inject('engine') === 'postgres'

type Deps = Pick<SealDeps, 'db' | 'clock'>

async function act(deps: Deps, orgId: string, at = deps.clock()): Promise<void> {
  await insertActivity(deps.db, {
    orgId,
    id: makeId('act', at.getTime()),
    at,
    type: 'function',
    name: 'whoami',
    userId: 'usr_1',
    userName: 'Ada "the first" – Ädä',
    entryPoint: 'mcp',
    outcome: 'answered',
    durationMs: 3,
    questionBytes: 0,
    answerBytes: 120,
    requestId: 'req_1',
  })
}

const change = (deps: Deps, orgId: string) =>
  withTransaction(deps.db, (tx) =>
    recordAudit(
      tx,
      deps.clock,
      { kind: 'user', userId: 'usr_1', userName: 'Ada', requestId: 'req_1' },
      { orgId, action: 'group.created', subject: 'Finance' },
    ),
  )

const linesOf = (text: string): string[] => text.split('\n').slice(0, -1)

function verified(lines: readonly string[], isWhole = true): TrailReport {
  const verifier = trailVerifier()
  for (const line of lines) verifier.take(line)
  return verifier.end(isWhole)
}

/** All pages, as the client puts them together. */
async function pagesOf(read: (after: number) => Promise<Uint8Array>): Promise<string[]> {
  const lines: string[] = []
  for (let after: number | undefined = 0; after !== undefined;) {
    const page = linesOf(Buffer.from(await read(after)).toString())
    const last = JSON.parse(page.at(-1)!) as { next?: number }
    lines.push(...(last.next === undefined ? page : page.slice(0, -1)))
    after = last.next
  }
  return lines
}

describe('through the API', () => {
  let system: TestSystem
  beforeAll(async () => {
    const forumKey = async () => 'refused' as const
    system = await startSystem(
      {},
      { checks: { isAllowed: async (url) => url.startsWith('https://'), forumKey } },
    )
  })
  afterAll(() => system.stop())

  test('an admin exports the own organization alone, and it verifies offline', async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const deps = { ...system.system.gateway!, log: system.system.log }
    for (const { id } of [org, other]) {
      await act(deps, id)
      await change(deps, id)
    }
    await sealTrail(deps)
    await rotate()
    await act(deps, org.id)
    await sealTrail(deps)
    await act(deps, org.id)

    const admin = await makeMember(system, org, 'admin')
    const lines = await pagesOf(async (after) => (await admin.call(exportTrail, { after })).body)
    const report = verified(lines)
    expect(report).toMatchObject({ problem: null, org: org.id, unsealed: 1, deleted: 0, breaks: [] })
    expect(report.head).toMatchObject({ row: report.rows })
    expect(report.keys.at(-1)!.vouched).toBe(true)
    expect(lines.join('\n')).not.toContain(other.id)
    expect(report.rows).toBeGreaterThanOrEqual(3)

    const published = await system.fetch('/.well-known/svc-trail.json')
    const { keys } = (await published.json()) as { keys: { id: string }[] }
    expect(keys.map(({ id }) => id)).toEqual(report.keys.map(({ id }) => id))
    expect(JSON.stringify(keys)).not.toContain('sealed')
    expect((await system.as()(showTrailKeys, {})).keys).toEqual(keys)

    const developer = await makeMember(system, org, 'developer')
    await expect(developer.call(exportTrail, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(admin.call(rotateTrailKey, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('an admin streams it as events, without gaps, and goes on where it ended', async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const deps = { ...system.system.gateway!, log: system.system.log }
    const fillBoth = async () => {
      for (const { id } of [org, other])
        for (let n = 0; n < 7; n++) await (n % 3 ? act(deps, id) : change(deps, id))
      await sealTrail(deps)
    }
    await fillBoth()
    await fillBoth()
    const seen: number[] = []
    let after: string | undefined
    const readAll = async () => {
      for (;;) {
        const page: Awaited<ReturnType<typeof read>> = await read()
        if (page.events.length === 0) return page
        expect(page.events.every(({ metadata }) => metadata.tenant_uid === org.id)).toBe(true)
        expect(page.seals.length).toBeGreaterThan(0)
        seen.push(...page.events.map(({ metadata }) => metadata.sequence))
        after = page.next
      }
    }
    const read = () => org.owner.call(streamTrail, { limit: 4, ...(after !== undefined && { after }) })
    expect((await readAll()).next).toBe(after)
    expect(seen).toEqual(seen.map((_, n) => n + 1))
    const before = seen.length
    await act(deps, org.id)
    expect((await read()).events, 'what is not sealed has no number').toEqual([])
    await fillBoth()
    await readAll()
    expect(seen.length).toBe(before + 8)
    expect(seen).toEqual(seen.map((_, n) => n + 1))
    const developer = await makeMember(system, org, 'developer')
    await expect(developer.call(streamTrail, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const bad = await system.fetch('/api/v1/audit/stream?after=nonsense', {
      headers: { authorization: `Bearer ${org.owner.token}` },
    })
    expect(bad.status).toBe(400)
  })

  test('an owner has it sent on, signed, from where the receiver took it last', async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const deps = { ...system.system.gateway!, log: system.system.log }
    const url = 'https://siem.example.com/in'
    const { id: stream_id } = await org.owner.call(createTrailStream, { kind: 'webhook', url })
    await other.owner.call(createTrailStream, {
      kind: 'otlp',
      url: `${url}/v1/logs`,
      authorization: 'Bearer x',
    })
    const admin = await makeMember(system, org, 'admin')
    await expect(admin.call(createTrailStream, { kind: 'webhook', url })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    const inside = org.owner.call(createTrailStream, { kind: 'webhook', url: 'http://10.0.0.1' })
    await expect(inside).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    const gone = await org.owner.call(createTrailStream, { kind: 'webhook', url: `${url}/gone` })
    const foreign = other.owner.call(removeTrailStream, { stream_id: gone.id })
    await expect(foreign).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await org.owner.call(removeTrailStream, { stream_id: gone.id })
    for (const { id } of [org, other]) for (let n = 0; n < 3; n++) await act(deps, id)
    await sealTrail(deps)
    type Payload = Parameters<ChannelPorts['webhook']>[0]
    const posts: Payload[] = []
    let isAway = true
    const webhook = async (payload: Payload): Promise<Outcome> => {
      if (isAway) return { kind: 'refused', reason: 'server_error', retry: true }
      posts.push(payload)
      return { kind: 'sent' }
    }
    const sendAll = async () => {
      system.clock.advance(60 * 60)
      while (await sendTrail({ ...deps, channels: { webhook } }));
    }
    await sendAll()
    const [failed] = (await org.owner.call(listTrailStreams, {})).trail_streams
    expect(failed).toMatchObject({ id: stream_id, sent_to: 0, failures: 1, problem: 'server_error' })
    isAway = false
    // Days later.
    system.clock.advance(3 * 24 * 60 * 60)
    await act(deps, org.id)
    await sealTrail(deps)
    await sendAll()
    const [working] = await system.db.execute(
      sql`select failures, problem from trail_streams where org_id = ${org.id}`,
    )
    expect(working).toEqual({ failures: 0, problem: null })
    const own = posts.filter(({ orgId }) => orgId === org.id)
    const bodies = own.map(
      ({ body }) => JSON.parse(body) as { events: { metadata: { sequence: number; tenant_uid: string } }[] },
    )
    const numbers = bodies.flatMap(({ events }) => events.map(({ metadata }) => metadata.sequence))
    expect(numbers).toEqual(numbers.map((_, n) => n + 1))
    expect(numbers.length).toBeGreaterThanOrEqual(4)
    expect(own.every(({ body, url: sentTo }) => sentTo === url && !body.includes(other.id))).toBe(true)
    const { headers, body } = own[0]!
    const mac = createHmac('sha256', createHash('sha256').update(url).digest())
    expect(headers['X-Svc-Signature']).toBe(
      `v1=${mac.update(`${headers['X-Svc-Timestamp']}.${body}`).digest('hex')}`,
    )
    const logs = posts.find(({ orgId }) => orgId === other.id)!
    expect(logs.headers).toEqual({ authorization: 'Bearer x' })
    const { resourceLogs } = JSON.parse(logs.body) as {
      resourceLogs: { scopeLogs: { logRecords: unknown[] }[] }[]
    }
    expect(resourceLogs[0]!.scopeLogs[0]!.logRecords.length).toBeGreaterThan(3)
  })

  test('a stream that cannot be prepared is told so, and an organization has one sent at a time', async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const deps = { ...system.system.gateway!, log: system.system.log }
    const url = 'https://siem.example.com/in'
    for (const { owner } of [org, org, other]) await owner.call(createTrailStream, { kind: 'webhook', url })
    for (const { id } of [org, other]) await act(deps, id)
    await sealTrail(deps)
    system.clock.advance(60 * 60)
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
    const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>()
    const asked: (string | undefined)[] = []
    const slow: ChannelPorts['webhook'] = async ({ orgId }) => {
      asked.push(orgId)
      if (orgId === org.id) {
        ask()
        await mayAnswer
      }
      return { kind: 'sent' }
    }
    const answers = createOpenAnswers()
    const sending = { ...deps, channels: { webhook: slow }, answers }
    // Until one of the slow organization waits for its receiver; then all the others are sent.
    const first: Promise<boolean>[] = []
    while (!asked.includes(org.id)) {
      first.push(sendTrail(sending))
      await Promise.race([first.at(-1), isAsked])
    }
    while (await sendTrail(sending));
    expect(asked.filter((id) => id === org.id)).toHaveLength(1)
    expect(asked).toContain(other.id)
    // A receipt waits for what is on its way, and not for that of others.
    let isOver = false
    const over = answers.end([org.id]).then(() => (isOver = true))
    await answers.end([other.id])
    expect(isOver).toBe(false)
    answer()
    await Promise.all([...first, over])

    await act(deps, org.id)
    await act(deps, other.id)
    await sealTrail(deps)
    system.clock.advance(60 * 60)
    await system.db.execute(sql`update trail_streams set sealed = 'bent' where org_id = ${org.id}`)
    asked.length = 0
    while (await sendTrail(sending));
    expect(asked).toContain(other.id)
    const { trail_streams } = await org.owner.call(listTrailStreams, {})
    for (const stream of trail_streams)
      expect(stream).toMatchObject({ failures: 1, problem: 'cannot be prepared' })
    // Nor does what was sealed for one stream open for another of the same organization.
    const [one, two] = await Promise.all(
      [1, 2].map(() => other.owner.call(createTrailStream, { kind: 'webhook', url })),
    )
    await system.db.execute(sql`update trail_streams t set sealed = o.sealed from trail_streams o
      where t.org_id = ${other.id} and t.id = ${two!.id} and o.org_id = t.org_id and o.id = ${one!.id}`)
    while (await sendTrail(sending));
    const problems = (await other.owner.call(listTrailStreams, {})).trail_streams
    expect(problems.map(({ id, problem }) => [id === two!.id, problem])).toContainEqual([
      true,
      'cannot be prepared',
    ])
    await other.owner.call(removeTrailStream, { stream_id: two!.id })
    await other.owner.call(removeTrailStream, { stream_id: one!.id })
    expect((await other.owner.call(listTrailStreams, {})).trail_streams).toMatchObject([{ problem: null }])
  })

  test('a receiver that fails is asked less and less often, as late as it says, and of streams there are so many', async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const deps = { ...system.system.gateway!, log: system.system.log }
    const { id } = await org.owner.call(createTrailStream, {
      kind: 'webhook',
      url: 'https://siem.example.com/in',
    })
    await act(deps, org.id)
    await sealTrail(deps)
    let retryAfterSeconds: number | undefined
    const webhook = async (): Promise<Outcome> => ({
      kind: 'refused',
      reason: 'server_error',
      retry: true,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    })
    const waitAfterFailure = async () => {
      const now = system.clock.now()
      await system.db.execute(sql`update trail_streams set next_at = ${now.toISOString()}::timestamptz
        where org_id = ${org.id}`)
      while (await sendTrail({ ...deps, clock: () => now, channels: { webhook } }));
      const [row] = await system.db.execute<{ ms: number }>(
        sql`select (extract(epoch from next_at) * 1000)::float8 as ms from trail_streams where id = ${id}`,
      )
      return (row!.ms - now.getTime()) / 1000
    }
    expect([await waitAfterFailure(), await waitAfterFailure(), await waitAfterFailure()]).toEqual([
      5, 10, 20,
    ])
    retryAfterSeconds = 300
    expect(await waitAfterFailure()).toBe(300)
    retryAfterSeconds = 24 * 60 * 60
    expect(await waitAfterFailure()).toBe(15 * 60)

    await system.db.execute(sql`
      insert into trail_streams select (jsonb_populate_record(t, jsonb_build_object('id', t.id || n))).*
      from trail_streams t, generate_series(2, ${String(TRAIL_STREAMS_MAX)}::int) n where t.id = ${id}`)
    const more = ({ owner }: typeof org) =>
      owner.call(createTrailStream, { kind: 'webhook', url: 'https://siem.example.com/in' })
    await expect(more(org)).rejects.toMatchObject({ code: 'CONFLICT' })
    await more(other)
    for (const one of [org, other])
      await system.db.execute(sql`delete from trail_streams where org_id = ${one.id}`)
  })

  test('owners add and remove streams in the console, and nobody else sees them', async () => {
    const org = await makeOrganization(system)
    const admin = await openConsole(system, await makeMember(system, org, 'admin'))
    expect((await admin.open('/console/audit/streams')).status).toBe(403)
    const owner = await openConsole(system, org.owner)
    const empty = await owner.open('/console/audit/streams')
    expect(empty.text).toContain('No streams yet')
    const filled = empty
      .form('Add')
      .with({ kind: 'otlp', url: 'https://logs.example.com/v1/logs?key=hidden' })
    const added = await filled.submit()
    expect(added.text).toContain('logs.example.com')
    expect(added.html).not.toContain('key=hidden')
    expect((await org.owner.call(listTrailStreams, {})).trail_streams).toMatchObject([
      { kind: 'otlp', sent_to: 0 },
    ])
    const removed = await added.form('Remove logs.example.com').submit()
    expect(removed.text).toContain('No streams yet')
  })

  const rotate = () => system.as({ token: OPERATOR_TOKEN })(rotateTrailKey, {})
})

describe('in a database of its own', () => {
  let database: TestDatabase
  let deps: SealDeps
  beforeAll(async () => {
    database = await newDatabase()
    let ms = START_MS
    deps = {
      db: database.db,
      clock: () => new Date((ms += 1_000)),
      dataKeys: dataKeys('17'.repeat(32)),
      log: { warn: () => {} },
    }
  })
  afterAll(() => database.close())

  const exported = (orgId: string) =>
    pagesOf(async (after) => {
      const principal = { kind: 'user', orgId, userId: 'usr_1', role: 'owner', organization: { id: orgId } }
      return (await exportVerb(deps)(principal as never, { after })).body
    })

  /** Some seals of some rows each, in turn with those of another organization. */
  async function fill(orgId: string, seals: readonly number[]): Promise<string[]> {
    for (const count of seals) {
      for (let n = 0; n < count; n++) {
        await (n % 3 === 1 ? change(deps, orgId) : act(deps, orgId))
        if (n % 2 === 0) await act(deps, `${orgId}_other`)
      }
      await sealTrail(deps)
    }
    return exported(orgId)
  }

  test.runIf(inject('everyCase'))(
    'the first row that was changed, dropped, moved or added is named, whichever it is',
    async () => {
      const lines = await fill('org_bent', [5, 1, 8, 13])
      expect(verified(lines)).toMatchObject({ problem: null, rows: 27, head: { row: 27, seal: 4 } })
      expect(firstWrong(lines)).toBe(null)
      const rowsAt = lines.flatMap((line, at) => ('row' in JSON.parse(line) ? [at] : []))
      const place = fc.integer({ min: 0, max: rowsAt.length - 1 })
      const changes = fc.oneof(
        fc.record({ what: fc.constantFrom('changed', 'dropped', 'added', 'cut'), at: place }),
        fc.record({ what: fc.constant('moved'), at: place, to: place }),
      )
      fc.assert(
        fc.property(changes, (bend) => {
          const bent = [...lines]
          const at = rowsAt[bend.at]!
          const own = JSON.parse(lines[at]!) as { row: number; is: Record<string, unknown> }
          let isWhole = true
          if (bend.what === 'changed')
            bent[at] = JSON.stringify({ ...own, is: { ...own.is, at: '2020-01-01T00:00:00.000Z' } })
          else if (bend.what === 'dropped') bent.splice(at, 1)
          else if (bend.what === 'added')
            bent.splice(at, 0, JSON.stringify({ ...own, is: { ...own.is, id: 'act_new' } }))
          else if (bend.what === 'cut') {
            bent.length = at
            isWhole = own.row % 2 === 0
          } else if ('to' in bend) {
            const [line] = bent.splice(at, 1)
            bent.splice(rowsAt[bend.to]!, 0, line!)
          }
          const { problem } = verified(bent, isWhole)
          if (bend.what === 'cut') {
            expect(problem).toMatchObject({ what: 'cut', row: own.row, line: at + 1 })
            return
          }
          expect(problem?.row ?? null).toBe(firstWrong(bent))
          if (bend.what === 'moved') return
          expect(problem).toMatchObject({ what: bend.what, row: own.row })
        }),
        { numRuns: 150 },
      )
    },
  )

  test('whatever stands in a row, and whenever it was, its text is the one that JSON has', async () => {
    const names = [
      '"quoted"',
      'back\\slash',
      'two\nlines\t',
      '\u0001\u001f\u007f',
      'Zoë \u2028 😀',
      '',
      '{"a":1}',
    ]
    const times = ['1969-12-31T23:59:59.999Z', '2026-11-01T00:00:00.000Z', '2026-11-01T09:59:59.9996Z']
    const insides = names.map((name, n) => ({ name, at: times[n % times.length]! }))
    for (const { name, at } of insides) {
      await act(deps, 'org_odd')
      await act(deps, 'org_odd_other')
      await database.db.execute(sql`update activity set user_name = ${name}, at = ${at}::timestamptz
        where org_id = 'org_odd' and id = (select max(id) from activity where org_id = 'org_odd')`)
    }
    await sealTrail(deps)
    const lines = await exported('org_odd')
    expect(lines.map((line) => JSON.stringify(JSON.parse(line)))).toEqual(lines)
    const rows = lines.flatMap((line) => (JSON.parse(line) as { is?: TrailRow }).is ?? [])
    expect(rows.map((row) => [row['user_name'], row.at])).toEqual(
      insides.map(({ name, at }) => [name, at.endsWith('9996Z') ? '2026-11-01T10:00:00.000Z' : at]),
    )
    expect(verified(lines)).toMatchObject({ problem: null, rows: names.length })
    expect(firstWrong(lines)).toBe(null)
  })

  test('a last seal that is left out, and a key that its id does not stand for, are named', async () => {
    const lines = await fill('org_shortened', [3, 4])
    const lastSeal = lines.findLastIndex((line) => 'seal' in (JSON.parse(line) as object))
    const { header } = JSON.parse(lines[0]!) as {
      header: { head: unknown; keys: { id: string; public_key: string }[] }
    }
    const without = (head: unknown) => [
      JSON.stringify({ header: { ...header, head } }),
      ...lines.slice(1, lastSeal),
      lines.at(-1)!,
    ]
    // Also by somebody who changes what the header says is the last one.
    for (const head of [header.head, null])
      expect(verified(without(head)).problem).toMatchObject({ what: 'dropped', row: 4 })
    const keys = header.keys.map((key) => ({
      ...key,
      id: key.id.replace(/./, (one) => (one === '0' ? '1' : '0')),
    }))
    const forged = [JSON.stringify({ header: { ...header, keys } }), ...lines.slice(1)]
    expect(verified(forged).problem).toMatchObject({
      what: 'changed',
      row: 1,
      says: expect.stringContaining('is not the key that its id stands for') as string,
    })
  })

  test('what is changed in the database after it was sealed is named as well, and so is a seal', async () => {
    await fill('org_edited', [4, 4])
    const [victim] = await database.db.execute<{ id: string }>(
      sql`select id from activity where org_id = 'org_edited' order by trail_order offset 2 limit 1`,
    )
    await database.db.execute(
      sql`update activity set user_name = 'Eve' where org_id = 'org_edited' and id = ${victim!.id}`,
    )
    const lines = await exported('org_edited')
    const { problem } = verified(lines)
    const named = lines.map((line) => JSON.parse(line) as { row?: number; is?: { id: string } })
    expect(problem).toMatchObject({
      what: 'changed',
      row: named.find(({ is }) => is?.id === victim!.id)!.row,
    })
    expect(verified(await exported('org_edited_other')).problem).toBe(null)

    // With its hashes, too: then it is one of the rows of its seal.
    await database.db.execute(
      sql`update trail_seals set leaves = set_byte(leaves, 2, 255 - get_byte(leaves, 2)) where org_id = 'org_edited' and number = 1`,
    )
    expect(verified(await exported('org_edited')).problem).toMatchObject({ what: 'changed', row: 1 })
    await database.db.execute(
      sql`update trail_seals set signed = replace(signed, '"rows":4', '"rows":3') where org_id = 'org_edited' and number = 1`,
    )
    expect(verified(await exported('org_edited')).problem!.says).toContain('signature of seal 1')
    await database.db.execute(sql`delete from trail_seals where org_id = 'org_edited' and number = 1`)
    expect(verified(await exported('org_edited')).problem).toMatchObject({ what: 'dropped', row: 1 })
  })

  test('a seal that was signed anew over another row is given away by the one behind it', async () => {
    const lines = await fill('org_resealed', [4, 4])
    const read = lines.map((line) => JSON.parse(line) as Partial<Record<'seal' | 'is', object>>)
    const [at, next] = [...read.keys()].filter((n) => read[n]!.seal)
    const rows = read.slice(at! + 1, next).map(({ is }) => is!)
    rows[2] = { ...rows[2], user_name: 'Eve', actor_name: 'Eve' }
    const leaves = Buffer.concat(rows.map((row) => leafOf(sha256, JSON.stringify(row))))
    const before = JSON.parse((read[at!]!.seal as { signed: string }).signed) as object
    const signed = JSON.stringify({
      ...before,
      root: Buffer.from(rootOf(sha256, leaves)).toString('hex'),
    })
    const signer = await withTransaction(database.db, (tx) => readSigner(tx, deps))
    const seal = { signed, signature: signer.sign(signed), leaves: leaves.toString('base64') }
    const forged = lines.map((line, n) => {
      if (n === at) return JSON.stringify({ seal })
      return n > at! && n < next! ? JSON.stringify({ ...read[n], is: rows[n - at! - 1] }) : line
    })
    expect(verified(lines).problem).toBe(null)
    expect(verified(forged).problem).toMatchObject({
      what: 'changed',
      row: 5,
      says: 'seal 2 does not follow the seal before it',
    })
  })

  test('after a rotation the new key signs, and the one before vouches for it', async () => {
    await fill('org_rotated', [1])
    const before = await withTransaction(database.db, (tx) => readSigner(tx, deps))
    const { id } = await withTransaction(database.db, (tx) => addKey(tx, deps))
    const lines = await fill('org_rotated', [1])
    for (const trail of [lines, await exported('org_rotated_other')]) {
      const report = verified(trail)
      expect(report).toMatchObject({ problem: null, seals: 2, head: { key: id } })
      expect(report.keys.slice(-2)).toEqual([
        { id: before.id, vouched: true },
        { id, vouched: true },
      ])
    }
  })

  test('retention leaves a signed seal that says what it deleted, and nothing else may be missing', async () => {
    const day = 24 * 60 * 60 * 1000
    const now = deps.clock().getTime()
    for (const orgId of ['org_kept', 'org_kept_other']) {
      for (const days of [40, 39]) await act(deps, orgId, new Date(now - days * day))
      await change(deps, orgId)
      await sealTrail(deps)
      await change(deps, orgId)
      for (const days of [35, 2, 1]) await act(deps, orgId, new Date(now - days * day))
    }
    await sealTrail(deps)
    await database.db.update(trailSeals).set({ sealedAt: new Date(now - 34 * day) })
    const clock = () => new Date(now)
    await sweepActivity({ ...deps, clock, activityDays: 30 })
    const report = verified(await exported('org_kept'))
    expect(report).toMatchObject({ problem: null, deleted: 3 })
    expect(verified(await exported('org_kept_other'))).toMatchObject({ problem: null, deleted: 3 })

    await database.db.execute(sql`delete from activity where org_id = 'org_kept' and id in (
      select id from activity where org_id = 'org_kept' order by id desc limit 1)`)
    expect(verified(await exported('org_kept')).problem).toMatchObject({ what: 'dropped' })
    expect(verified(await exported('org_kept_other')).problem).toBe(null)
  })

  test('hashes stay for as long as one of their rows does, however late it was sealed', async () => {
    const day = 24 * 60 * 60 * 1000
    const now = deps.clock().getTime()
    const orgs = ['org_months', 'org_months_other']
    // Young seals stand before it: a worker was away for long, and seals now what is old.
    for (let n = 0; n < 3; n++) {
      for (const orgId of orgs) await act(deps, orgId)
      await sealTrail(deps)
    }
    for (const orgId of orgs)
      for (const days of [62, 33, 1]) await act(deps, orgId, new Date(now - days * day))
    await sealTrail(deps)
    for (const orgId of orgs) for (const days of [61, 32]) await act(deps, orgId, new Date(now - days * day))
    await sealTrail(deps)
    const before = new Date(now - 30 * day)
    const leavesOf = async () => {
      const rows = await database.db.execute<{ bytes: number }>(
        sql`select length(leaves) as bytes from trail_seals where org_id = 'org_months' and row_count > 0 order by number`,
      )
      return rows.map(({ bytes }) => bytes / 32)
    }
    /** As a month goes: of all organizations. */
    const drop = (days: number) =>
      database.db.execute(
        sql`delete from activity where org_id like 'org_months%' and at < ${new Date(now - days * day).toISOString()}::timestamptz`,
      )
    const small = { atOnce: 1 }
    await sealRemoval(deps, before, small)
    await emptySeals(deps, small)
    expect(await leavesOf()).toEqual([1, 1, 1, 3, 2])
    await drop(50)
    await emptySeals(deps, small)
    expect(await leavesOf()).toEqual([1, 1, 1, 3, 2])
    for (const orgId of orgs)
      expect(verified(await exported(orgId))).toMatchObject({ problem: null, deleted: 2 })
    await drop(30)
    for (const orgId of orgs)
      expect(verified(await exported(orgId))).toMatchObject({ problem: null, deleted: 4 })
    // Once all of their rows are to go, those that have none left lose their hashes, and no other does.
    await database.db.execute(
      sql`update trail_seals set sealed_at = ${new Date(now - 31 * day).toISOString()}::timestamptz`,
    )
    await sealRemoval(deps, new Date(now + day), small)
    await database.db.execute(sql`delete from activity where org_id not like 'org_months%'`)
    await emptySeals(deps, small)
    expect(await leavesOf()).toEqual([1, 1, 1, 3, 2])
    await database.db.execute(sql`delete from activity where org_id like 'org_months%' and at < (
      select max(at) from activity where org_id like 'org_months%')`)
    await database.db.execute(sql`delete from activity where org_id = 'org_months'`)
    await emptySeals(deps, small)
    expect(await leavesOf()).toEqual([0, 0, 0, 3, 2])
    await database.db.execute(sql`delete from activity where org_id = 'org_months_other'`)
    await emptySeals(deps, small)
    expect(await leavesOf()).toEqual([0, 0, 0, 0, 0])
    for (const orgId of orgs)
      expect(verified(await exported(orgId))).toMatchObject({ problem: null, deleted: 8, rows: 0 })
  })

  test.runIf(isServer)(
    'a transaction that does not end stops neither sealing for good nor retention',
    async () => {
      const told: string[] = []
      let ms = START_MS
      const hasty = {
        ...deps,
        clock: () => new Date((ms += 60_000)),
        log: { warn: (text: string) => void told.push(text) },
      }
      const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
      const { promise: isWritten, resolve: wrote } = Promise.withResolvers<void>()
      const forgotten = withTransaction(database.db, async (tx) => {
        await recordAudit(
          tx,
          deps.clock,
          { kind: 'user', userId: 'usr_1', userName: 'Ada', requestId: 'req_1' },
          { orgId: 'org_forgotten', action: 'group.created' },
        )
        wrote()
        await mayEnd
      })
      await isWritten
      try {
        expect(await sealTrail(hasty)).toBe(0)
        expect(told).toEqual(['the trail is not sealed: a transaction that writes to it does not end'])
        await sweepActivity({ ...deps, activityDays: 30 })
      } finally {
        end()
        await forgotten
      }
      expect(await sealTrail(hasty)).toBeGreaterThan(0)
      expect(verified(await exported('org_forgotten'))).toMatchObject({ problem: null, rows: 1 })
    },
  )

  test('a database that has gone back starts a signed break, in every organization', async () => {
    const before = await fill('org_back', [3, 2])
    // The tail with the last seal is lost.
    await database.db.execute(sql`delete from activity where org_id like 'org_back%' and trail_order > (
      select order_to from trail_seals where org_id = 'org_back' and number = 1)`)
    await database.db.execute(sql`delete from audit_log where org_id like 'org_back%' and trail_order > (
      select order_to from trail_seals where org_id = 'org_back' and number = 1)`)
    await database.db.execute(sql`delete from trail_seals where org_id like 'org_back%' and number > 1`)
    const now = deps.clock()
    await updateTimeline(
      database.db,
      (known) => wentBack(known, { timeline: '00000002', changes: 0, now }),
      newTimeline(now),
    )
    await sealTrail(deps)
    const caughtUp = { epoch: '0-0', row: 3 }
    const alone = await readEvents(database.db, 'org_back', { after: caughtUp, limit: 10 })
    expect(alone).toMatchObject({ events: [], next: { row: 3 } })
    expect(alone.seals.map(({ signed }) => (JSON.parse(signed) as { break?: object }).break)).toEqual([
      { after: '0-0' },
    ])
    expect(alone.next.epoch).not.toBe('0-0')
    const again = await readEvents(database.db, 'org_back', { after: alone.next, limit: 10 })
    expect(again).toMatchObject({ events: [], next: alone.next })
    for (const orgId of ['org_back', 'org_back_other'])
      expect(verified(await exported(orgId))).toMatchObject({ problem: null, breaks: [{ after: '0-0' }] })
    const after = await fill('org_back', [2])
    expect(verified(after)).toMatchObject({ problem: null, head: { row: 5 }, breaks: [{ row: 4 }] })
    expect(verified(before)).toMatchObject({ problem: null, head: { row: 5, epoch: '0-0' } })
    // Whoever was told of the break goes on with the first row behind it.
    const { events: behind } = await readEvents(database.db, 'org_back', { after: alone.next, limit: 10 })
    expect(behind.map(({ metadata }) => metadata.sequence)).toEqual([4, 5])
    // Whoever has seen the rows that are lost goes on with those that took their numbers.
    const stale = { epoch: '0-0', row: 5 }
    const { events, next } = await readEvents(database.db, 'org_back', { after: stale, limit: 10 })
    expect(events.map(({ metadata }) => metadata.sequence)).toEqual([4, 5])
    expect(await readEvents(database.db, 'org_back', { after: next, limit: 10 })).toMatchObject({
      events: [],
      next,
    })
    // Whoever had seen all that is left is told of the break itself, once.
    const broken = { epoch: '0-0', row: 3 }
    const told = await readEvents(database.db, 'org_back', { after: broken, limit: 1 })
    expect(told.seals.map(({ signed }) => signed).join('')).toContain('"break":{"after":"0-0"}')
    // A restore begins another lineage, which counts from the start: what it has is not what was seen of another.
    const foreign = { epoch: '7-ffffffffffffffff', row: 5 }
    const anew = await readEvents(database.db, 'org_back', { after: foreign, limit: 10 })
    expect(anew.events.map(({ metadata }) => metadata.sequence)).toEqual([1, 2, 3, 4, 5])
    // The two do not pass for one another.
    const mixed = [...after.slice(0, -3), ...before.slice(-3)]
    expect(verified(mixed).problem).not.toBe(null)
  })

  test('seals go to the operator’s folder once they are stored, and after a failure as well', async () => {
    const written: string[] = []
    let isFull = true
    const trailRoots = {
      append: async (seals: readonly { signed: string }[]) => {
        if (isFull) throw new Error('planted')
        // Whoever seals does not wait for the folder.
        await sealTrail(deps)
        written.push(...seals.map(({ signed }) => signed))
      },
    }
    await act(deps, 'org_roots')
    await expect(sealTrail({ ...deps, trailRoots })).rejects.toThrow('planted')
    isFull = false
    await sealTrail({ ...deps, trailRoots })
    await act(deps, 'org_roots')
    await sealTrail({ ...deps, trailRoots })
    const own = written.filter((signed) => signed.includes('"org_roots"'))
    expect(own.map((signed) => (JSON.parse(signed) as { number: number }).number)).toEqual([1, 2])
  })

  test.runIf(isServer)('rows that commit late are sealed later, each once, whoever seals', async () => {
    const orgs = ['org_late', 'org_late_other']
    const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>()
    const { promise: isWritten, resolve: wrote } = Promise.withResolvers<void>()
    const late = withTransaction(database.db, async (tx) => {
      await recordAudit(
        tx,
        deps.clock,
        { kind: 'user', userId: 'usr_1', userName: 'Ada', requestId: 'req_1' },
        { orgId: orgs[0]!, action: 'group.created' },
      )
      wrote()
      await mayCommit
    })
    await isWritten
    for (const orgId of orgs) for (let n = 0; n < 20; n++) await act(deps, orgId)
    // Two at once, and neither passes the row that is not there yet.
    const sealing = [sealTrail(deps), sealTrail(deps)]
    await act(deps, orgs[0]!)
    commit()
    await Promise.all([late, ...sealing])
    await sealTrail(deps)
    expect(verified(await exported(orgs[0]!))).toMatchObject({ problem: null, rows: 22, unsealed: 0 })
    expect(verified(await exported(orgs[1]!))).toMatchObject({ problem: null, rows: 20, unsealed: 0 })
  })

  test('however many rows wait, the next are found by their order', async () => {
    const plan = await withTransaction(database.db, async (tx) => {
      await tx.execute(sql`set local enable_seqscan = off`)
      // Of a few rows, as soon as the server has counted them, sorting them costs less than reading them in order.
      await tx.execute(sql`set local enable_sort = off`)
      return tx.execute(
        sql`explain select * from trail_pending where trail_order > 1 order by trail_order limit 9`,
      )
    })
    expect(JSON.stringify(plan)).toContain('Index Scan using trail_pending_trail_order_org_id_pk')
  })

  test.runIf(inject('everyCase'))(
    'an export has so many of those that wait, and says that there are more',
    async () => {
      await database.db.execute(sql`
      with added as (
        insert into activity (org_id, id, at, type, name, user_id, user_name, entry_point, outcome, duration_ms,
          question_bytes, answer_bytes, request_id, trail_order)
        select 'org_waits', 'act_0mwhkcyh5nlh1pqqss' || lpad(n::text, 7, '0'), now(), 'function', 'whoami', 'usr_1', 'Ada',
          'mcp', 'answered', 1, 1, 1, 'req_1', nextval('trail_order')
        from generate_series(1, 10001) n returning trail_order, org_id, id)
      insert into trail_pending select * from added`)
      await act(deps, 'org_waits_other')
      const endOf = async (orgId: string) => JSON.parse((await exported(orgId)).at(-1)!) as object
      expect(await endOf('org_waits')).toEqual({ end: { seals: 0, unsealed: 10_000, more: true } })
      expect(await endOf('org_waits_other')).toEqual({ end: { seals: 0, unsealed: 1 } })
      // One less, and they are all there.
      await database.db.execute(sql`delete from trail_pending where org_id = 'org_waits'
      and id = (select max(id) from trail_pending where org_id = 'org_waits')`)
      expect(await endOf('org_waits')).toEqual({ end: { seals: 0, unsealed: 10_000 } })
      for (const table of ['trail_pending', 'activity'])
        await database.db.execute(sql`delete from ${sql.raw(table)} where org_id = 'org_waits'`)
    },
  )

  test('a sealer that dies in the midst of it has sealed nothing, and the next one seals all', async () => {
    await act(deps, 'org_dies')
    await change(deps, 'org_dies')
    const dying = { ...deps, clock: () => { throw new Error('planted') } } // prettier-ignore
    await expect(sealTrail(dying)).rejects.toThrow('planted')
    expect(verified(await exported('org_dies'))).toMatchObject({ problem: null, rows: 0, unsealed: 2 })
    await sealTrail(deps)
    expect(verified(await exported('org_dies'))).toMatchObject({ problem: null, rows: 2, unsealed: 0 })
  })
})

/** A second verifier, by the words of the documentation alone: the number of the first row that is wrong, or null. */
function firstWrong(lines: readonly string[]): number | null {
  type Read = {
    header?: { keys: { id: string; public_key: string }[] }
    seal?: { signed: string; signature: string; leaves: string }
    is?: object
  }
  const read = lines.map((line) => JSON.parse(line) as Read)
  const keys = new Map(read[0]!.header!.keys.map(({ id, public_key }) => [id, public_key]))
  const digest = (...parts: (string | Buffer)[]) => {
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    return hash.digest()
  }
  const tree = (leaves: readonly Buffer[]): Buffer => {
    if (leaves.length === 1) return leaves[0]!
    let half = 1
    while (half * 2 < leaves.length) half *= 2
    return digest(Buffer.of(1), tree(leaves.slice(0, half)), tree(leaves.slice(half)))
  }
  let previous: string | null = null
  let next = 1
  for (const [at, { seal }] of read.entries()) {
    if (!seal) continue
    const signed = JSON.parse(seal.signed) as {
      first: number
      rows: number
      root: string
      previous: string | null
      key: string
    }
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: keys.get(signed.key)! },
      format: 'jwk',
    })
    const isGood = verify(
      null,
      Buffer.from(`svc trail seal\n${seal.signed}`),
      key,
      Buffer.from(seal.signature, 'base64url'),
    )
    if (!isGood || signed.previous !== previous || signed.first !== next) return next
    const hashes = Buffer.from(seal.leaves, 'base64')
    const sealed = Array.from({ length: signed.rows }, (_, n) => hashes.subarray(n * 32, n * 32 + 32))
    if (tree(sealed).toString('hex') !== signed.root) return next
    let end = at + 1
    while (read[end]?.is) end++
    const here = read.slice(at + 1, end).map(({ is }) => digest(Buffer.of(0), JSON.stringify(is)))
    const wrong = Array.from({ length: Math.max(here.length, sealed.length) }, (_, n) => n).find(
      (n) => !here[n] || !sealed[n]?.equals(here[n]),
    )
    if (wrong !== undefined) return signed.first + wrong
    previous = digest(seal.signed).toString('hex')
    next = signed.first + signed.rows
  }
  return null
}
