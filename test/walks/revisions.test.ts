/** The source of an app: revisions that never change, of files that are stored once. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq, sql } from '../../db/drizzle.ts'
import { appBlobs, revisions, sourceBlobs, sourceStorage } from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { cancelDeployment, createDeployment, rollBackDeployment } from '../../src/contracts/deployments.ts'
import { SOURCE_RETENTION } from '../../src/contracts/limits.ts'
import {
  createRevision,
  diffRevisions,
  downloadRevision,
  findMissingFiles,
  listRevisions,
  pushRevision,
  readSourceFile,
  showRevision,
  uploadFiles,
} from '../../src/contracts/revisions.ts'
import { writeTar } from '../../src/contracts/write-tar.ts'
import { sweepRevisions } from '../../src/cores/revisions/index.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { archiveOf, sha256, treeIn, uploadOf, type Tree } from '../support/source.ts'
import { untilLocked } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const SERVICES = { SVC_SERVICES: 'api-gateway,auth-service,deploy-api' }
const TREE: Tree = { 'README.md': '# Shop\n', 'src/main.js': 'let total = 1\n', 'run.sh': '#!/bin/sh\n' }
const DAY = 24 * 60 * 60

let system: TestSystem
let org: Org
let builder: Person
let alias: string
let call: Call

beforeAll(async () => {
  system = await startSystem(SERVICES)
})
afterAll(() => system.stop())

/** Every error that an operation answers with is one that it declares. */
const declaring =
  (inner: Call): Call =>
  (operation, input) =>
    inner(operation, input).catch((error: unknown) => {
      if (error instanceof ServiceError) expect(operation.errors, operation.name).toContain(error.code)
      throw error
    })
const as = (person: Person, { id }: Org = org): Call =>
  declaring(system.as({ token: person.token, organization: id }))

async function makeApp(inside: Org): Promise<string> {
  const made = unique('shop')
  await as(inside.owner, inside)(createApp, { alias: made, name: made })
  return made
}

beforeEach(async () => {
  org = await makeOrganization(system)
  alias = await makeApp(org)
  builder = await makeMember(system, org, 'viewer')
  await as(org.owner)(setAppMember, { alias, user_id: builder.userId, role: 'builder' })
  // Days pass in some of these tests, and a session ends after half of one.
  call = declaring((await makeApiToken(system, org, builder)).call)
})

const push = (tree: Tree, by = call, to = alias) => by(pushRevision, { alias: to, body: archiveOf(tree) })
/** The error of ours that it ends in. */
const refusal = (work: Promise<unknown>): Promise<ServiceError> =>
  work.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => (error instanceof ServiceError ? error : expect.fail(String(error))),
  )
const problemsOf = async (work: Promise<unknown>) => {
  const { code, problems } = await refusal(work)
  return { code, problems }
}

describe('a revision', () => {
  test('is what was pushed: its files, their modes, their texts, its archive', async () => {
    const pushed = await push(TREE)
    expect(pushed).toMatchObject({ created: true, is_head: true, files: 3, pushed_by: builder.name })
    const { tree } = await call(showRevision, { alias, revision_id: pushed.id })
    expect(tree.map(({ path, executable, sha256: hash }) => [path, executable, hash])).toEqual([
      ['README.md', false, sha256(TREE['README.md']!)],
      ['run.sh', true, sha256(TREE['run.sh']!)],
      ['src/main.js', false, sha256(TREE['src/main.js']!)],
    ])
    const file = await call(readSourceFile, { alias, revision_id: pushed.id, path: 'src/main.js' })
    expect(file.text).toBe(TREE['src/main.js'])
    const { body } = await call(downloadRevision, { alias, revision_id: pushed.id })
    expect(treeIn(body)).toEqual(TREE)
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, action: 'revision.pushed' })
    expect(audit.map(({ subject, actor }) => [subject, actor?.name])).toEqual([
      [`${alias}: ${pushed.id}`, builder.name],
    ])
  })

  test('of the same tree is the same, and pushing it again makes it the head', async () => {
    const first = await push(TREE)
    const second = await push({ ...TREE, 'new.txt': 'x' })
    expect(second.id).not.toBe(first.id)
    const again = await push(TREE)
    expect(again).toMatchObject({ id: first.id, created: false, is_head: true })
    const { revisions: listed, head_id } = await call(listRevisions, { alias })
    expect(listed.map(({ id, is_head }) => [id, is_head])).toEqual([
      [second.id, false],
      [first.id, true],
    ])
    // Also where it is on another page.
    const newest = await call(listRevisions, { alias, limit: 1 })
    expect([head_id, newest.head_id]).toEqual([first.id, first.id])
    expect(newest.revisions.map(({ id }) => id)).toEqual([second.id])
    const nothing = await as(org.owner)(listRevisions, { alias: await makeApp(org) })
    expect(nothing.head_id).toBeNull()
  })

  test('is listed in pages', async () => {
    for (const text of ['1', '2', '3']) await push({ a: text })
    const page = await call(listRevisions, { alias, limit: 2 })
    expect(page.revisions).toHaveLength(2)
    const rest = await call(listRevisions, { alias, limit: 2, cursor: page.next_cursor })
    expect([rest.revisions.length, rest.next_cursor]).toEqual([1, undefined])
  })

  test('with a file that is not text says so', async () => {
    const body = new Uint8Array(
      gzipSync(writeTar([{ path: 'logo.png', content: Buffer.from([0x89, 0, 1]), isExecutable: false }])),
    )
    const { id } = await call(pushRevision, { alias, body })
    const shown = await call(readSourceFile, { alias, revision_id: id, path: 'logo.png' })
    expect([shown.text, shown.bytes]).toEqual([null, 3])
  })

  test('does not change, whoever tries it in SQL', async () => {
    const { id } = await push(TREE)
    const own = sql`org_id = ${org.id}`
    for (const statement of [
      sql`update revisions set tree_sha256 = 'x' where ${own}`,
      sql`update revisions set manifest = '[]' where ${own}`,
      sql`delete from revisions where ${own}`,
      sql`truncate revisions`,
      sql`update source_blobs set content = 'x' where ${own}`,
      sql`update source_blobs set sha256 = ${sha256('x')}, content = 'x' where ${own}`,
      sql`delete from source_blobs where ${own}`,
      sql`truncate source_blobs`,
      // Not even with another content than its name says, from the start.
      sql`insert into source_blobs (org_id, sha256, content) values (${org.id}, ${sha256('x')}, 'y')`,
    ]) {
      const failed = await system.db.execute(statement).then(
        () => 'done',
        (error: Error) => (error.cause as { code?: string }).code,
      )
      expect(['23001', '23514']).toContain(failed)
    }
    expect(treeIn((await call(downloadRevision, { alias, revision_id: id })).body)).toEqual(TREE)
  })
})

describe('files', () => {
  test('are sent once: what an app has is not missing, also across revisions', async () => {
    const hashes = Object.values(TREE).map(sha256)
    expect((await call(findMissingFiles, { alias, sha256: hashes })).missing).toEqual(hashes)
    expect(await call(uploadFiles, { alias, body: uploadOf(...Object.values(TREE)) })).toEqual({ stored: 3 })
    expect(await call(uploadFiles, { alias, body: uploadOf(...Object.values(TREE)) })).toEqual({ stored: 0 })
    expect((await call(findMissingFiles, { alias, sha256: [...hashes, sha256('new')] })).missing).toEqual([
      sha256('new'),
    ])
    const made = await call(createRevision, {
      alias,
      files: Object.entries(TREE).map(([path, text]) => ({
        path,
        sha256: sha256(text),
        executable: path.endsWith('.sh'),
      })),
    })
    // The same as by one archive.
    expect(await push(TREE)).toMatchObject({ id: made.id, created: false })
  })

  test('of another app, or of another organization, are missing: what they have is not told', async () => {
    await push(TREE)
    const hashes = Object.values(TREE).map(sha256)
    const other = await makeApp(org)
    expect((await as(org.owner)(findMissingFiles, { alias: other, sha256: hashes })).missing).toEqual(hashes)
    const files = [{ path: 'a', sha256: hashes[0]! }]
    expect(await problemsOf(as(org.owner)(createRevision, { alias: other, files }))).toEqual({
      code: 'CONFLICT',
      problems: [`${hashes[0]}: is missing`],
    })
    const foreign = await makeOrganization(system)
    const there = await makeApp(foreign)
    const missing = await as(foreign.owner, foreign)(findMissingFiles, { alias: there, sha256: hashes })
    expect(missing.missing).toEqual(hashes)
    // Stored once in the organization, and once more in the other.
    await push(TREE, as(org.owner), other)
    await push(TREE, as(foreign.owner, foreign), there)
    const stored = await system.db
      .select({ orgId: sourceBlobs.orgId })
      .from(sourceBlobs)
      .where(eq(sourceBlobs.sha256, hashes[1]!))
    expect(stored.filter(({ orgId }) => orgId === org.id)).toHaveLength(1)
    expect(stored.filter(({ orgId }) => orgId === foreign.id)).toHaveLength(1)
    const bytes = Object.values(TREE).join('').length
    expect(await storageOf(org)).toBeGreaterThanOrEqual(2 * bytes)
  })

  test('that are not named by their hash are refused, each of them', async () => {
    const body = archiveOf({ [sha256('a')]: 'b', readme: 'c' })
    const { code, problems } = await problemsOf(call(uploadFiles, { alias, body }))
    expect([code, problems?.length]).toEqual(['INVALID_REQUEST', 2])
    expect((await call(findMissingFiles, { alias, sha256: [sha256('a')] })).missing).toHaveLength(1)
  })

  test('whose paths cannot lie in one tree are refused, each of them', async () => {
    await call(uploadFiles, { alias, body: uploadOf('x') })
    const at = (path: string) => ({ path, sha256: sha256('x') })
    const bad = await problemsOf(
      call(createRevision, { alias, files: [at('../a'), at('/etc/passwd'), at('.git/config'), at('fine')] }),
    )
    expect([bad.code, bad.problems?.length]).toEqual(['INVALID_REQUEST', 3])
    const colliding = await problemsOf(
      call(createRevision, {
        alias,
        files: [at('a/B'), at('A/b'), at('straße'), at('STRASSE'), at('x'), at('x/y')],
      }),
    )
    expect([colliding.code, colliding.problems?.length]).toEqual(['INVALID_REQUEST', 3])
  })
})

describe('whoever', () => {
  test('has no part in the app pushes nothing; developers read, viewers do not', async () => {
    const { id: revision_id } = await push(TREE)
    const [developer, viewer] = [
      await makeMember(system, org, 'developer'),
      await makeMember(system, org, 'viewer'),
    ]
    expect((await as(developer)(listRevisions, { alias })).revisions).toHaveLength(1)
    for (const refused of [
      () => push({ a: '1' }, as(developer)),
      () => as(developer)(findMissingFiles, { alias, sha256: [sha256('')] }),
      () => as(developer)(uploadFiles, { alias, body: uploadOf('x') }),
      () => as(developer)(createRevision, { alias, files: [{ path: 'a', sha256: sha256('') }] }),
      () => as(viewer)(listRevisions, { alias }),
      () => as(viewer)(showRevision, { alias, revision_id }),
      () => as(viewer)(readSourceFile, { alias, revision_id, path: 'README.md' }),
      () => as(viewer)(diffRevisions, { alias, revision_id }),
      () => as(viewer)(downloadRevision, { alias, revision_id }),
    ]) {
      expect((await refusal(refused())).code).toBe('FORBIDDEN')
    }
  })

  test('is in another organization finds nothing, not even with the same alias', async () => {
    const { id: revision_id } = await push(TREE)
    const foreign = await makeOrganization(system)
    const there = as(foreign.owner, foreign)
    await there(createApp, { alias, name: 'Same name' })
    expect((await there(listRevisions, { alias })).revisions).toEqual([])
    const base = (await push(TREE, there)).id
    for (const refused of [
      () => there(showRevision, { alias, revision_id }),
      () => there(readSourceFile, { alias, revision_id, path: 'README.md' }),
      () => there(downloadRevision, { alias, revision_id }),
      () => there(diffRevisions, { alias, revision_id }),
      () => there(diffRevisions, { alias, revision_id: base, base: revision_id }),
    ]) {
      expect((await refusal(refused())).code).toBe('NOT_FOUND')
    }
    // Nor through another app of the same organization.
    const other = await makeApp(org)
    expect((await refusal(as(org.owner)(showRevision, { alias: other, revision_id }))).code).toBe('NOT_FOUND')
  })

  test('comes with scopes, or for the app, gets no source', async () => {
    const { id: revision_id } = await push(TREE)
    const scoped = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    const { token } = await as(org.owner)(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
    const runner = system.as({ token })
    for (const refused of [
      () => scoped.call(listRevisions, { alias }),
      () => scoped.call(downloadRevision, { alias, revision_id }),
      () => runner(listRevisions, { alias }),
      () => runner(readSourceFile, { alias, revision_id, path: 'README.md' }),
      () => push({ a: '1' }, runner),
    ]) {
      expect((await refusal(refused())).code).toBe('FORBIDDEN')
    }
    // It has claimed nothing.
    expect((await refusal(runner(downloadRevision, { alias, revision_id }))).code).toBe('NOT_FOUND')
  })
})

describe('an archive', () => {
  test('with tricks is refused with all of them, and nothing of it is stored', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-tricks-'))
    symlinkSync('/etc/passwd', join(folder, 'link'))
    writeFileSync(join(folder, 'first'), 'x')
    execFileSync('ln', [join(folder, 'first'), join(folder, 'second')])
    execFileSync('mkfifo', [join(folder, 'pipe')])
    const tar = execFileSync('tar', ['-C', folder, '-cf', '-', 'link', 'first', 'second', 'pipe'])
    rmSync(folder, { recursive: true })
    const body = new Uint8Array(gzipSync(tar))
    const { code, problems } = await problemsOf(call(pushRevision, { alias, body }))
    expect([code, problems?.toSorted()]).toEqual([
      'INVALID_REQUEST',
      ['"link": is a symbolic link', '"pipe": is a pipe', '"second": is a hard link'],
    ])
    const paths = { '../up': '', '/abs': '', 'a/./b': '', Ä: '', 'A\u0308': '', c: '', C: '' }
    expect((await problemsOf(push(paths))).problems).toHaveLength(5)
    expect((await call(findMissingFiles, { alias, sha256: [sha256('x'), sha256('')] })).missing).toHaveLength(
      2,
    )
  })

  test.each([
    ['nothing', new Uint8Array()],
    ['text', new Uint8Array(Buffer.from('not an archive'))],
    ['half of one', archiveOf({ a: 'x'.repeat(10_000) }).slice(0, 40)],
    ['a gzip of text', new Uint8Array(gzipSync('x'.repeat(2_000)))],
    ['an empty one', new Uint8Array(gzipSync(Buffer.alloc(1024)))],
  ])('that is %s is refused, not failed on', async (_what, body) => {
    expect((await refusal(call(pushRevision, { alias, body }))).code).toBe('INVALID_REQUEST')
  })

  test('of 100,000 files is refused', async () => {
    const one = writeTar([{ path: 'f', content: Buffer.alloc(0), isExecutable: false }]).subarray(0, 512)
    const many = Buffer.concat([...Array.from({ length: 100_000 }, () => one), Buffer.alloc(1024)])
    const { code, problems } = await problemsOf(
      call(pushRevision, { alias, body: new Uint8Array(gzipSync(many, { level: 1 })) }),
    )
    expect([code, problems?.[0]]).toEqual(['INVALID_REQUEST', 'There are more than 10000 files'])
  })

  test('that inflates to more than a tree may have is refused', async () => {
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(72 * 1024 * 1024), { level: 1 }))
    expect(bomb.length).toBeLessThan(500_000)
    expect((await refusal(call(pushRevision, { alias, body: bomb }))).code).toBe('TOO_LARGE')
  })

  test('of deep paths costs no more than its length', async () => {
    const deep = Array.from({ length: 39 }, (_, i) => `d${i}`).join('/')
    const tree = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`${i}/${deep.slice(3)}/f`, '']))
    expect((await push(tree)).files).toBe(500)
    expect((await problemsOf(push({ [`${deep}/${deep}/f`]: '' }))).problems).toEqual([
      expect.stringContaining('lies in more than 39 folders'),
    ])
  })

  test('of one organization does not keep another waiting for all of its others', async () => {
    const foreign = await makeOrganization(system)
    const there = await makeApp(foreign)
    const finished: string[] = []
    const large = Array.from({ length: 4 }, async (_, i) => {
      await push({ large: String(i).repeat(900_000) })
      finished.push('large')
    })
    const small = push(TREE, as(foreign.owner, foreign), there).then(() => finished.push('small'))
    await Promise.all([...large, small])
    expect(finished.indexOf('small')).toBeLessThan(3)
    // More than wait for their turn are told to come back.
    const many = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => push({ a: `many ${i}` })))
    expect(many.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
    expect((await refusal(Promise.all(Array.from({ length: 12 }, () => push(TREE))))).code).toBe(
      'RATE_LIMITED',
    )
  })
})

describe('a comparison', () => {
  test('is with the revision before, or with any other', async () => {
    const first = await push(TREE)
    const second = await push({ ...TREE, 'src/main.js': 'let total = 2\n', added: 'x\n' })
    const third = await push({ ...TREE, added: 'x\n' })
    const between = await call(diffRevisions, { alias, revision_id: second.id })
    expect(between.base).toBe(first.id)
    expect(between.files).toEqual([
      { path: 'added', change: 'added', added_lines: 1, removed_lines: 0 },
      { path: 'src/main.js', change: 'changed', added_lines: 1, removed_lines: 1 },
    ])
    expect(between.diff).toContain('-let total = 1\n+let total = 2\n')
    expect(between.diff_sha256).toBe(sha256(between.diff))
    const far = await call(diffRevisions, { alias, revision_id: third.id, base: first.id })
    expect(far.files.map(({ path }) => path)).toEqual(['added'])
    const alone = await call(diffRevisions, { alias, revision_id: first.id })
    expect([alone.base, alone.files.length]).toEqual([null, 3])
  })

  test('of large files leaves others their turn, and has an end', async () => {
    const lines = (seed: number) =>
      Array.from({ length: 30_000 }, (_, i) => `${(i * seed) % 99_991} is a line of it`).join('\n')
    await push({ big: lines(7) })
    const { id: revision_id } = await push({ big: lines(13) })
    const finished: string[] = []
    await Promise.all([
      call(diffRevisions, { alias, revision_id }).then(({ truncated, diff_sha256 }) => {
        expect(truncated).toContain('not shown')
        // What is left out may be something else the next time.
        expect(diff_sha256).toBeNull()
        finished.push('comparison')
      }),
      (async () => {
        for (let i = 0; i < 3; i++) await call(listRevisions, { alias })
        finished.push('others')
      })(),
    ])
    expect(finished).toEqual(['others', 'comparison'])
  })
})

const storageOf = async ({ id }: Org): Promise<number> => {
  const [row] = await system.db.select().from(sourceStorage).where(eq(sourceStorage.orgId, id))
  return row?.bytes ?? 0
}

/** What it ought to be, counted anew. */
const countedOf = async ({ id }: Org): Promise<number> => {
  const [blobs] = await system.db
    .select({ sum: sql<string>`coalesce(sum(${appBlobs.bytes}), 0)` })
    .from(appBlobs)
    .where(eq(appBlobs.orgId, id))
  const [lists] = await system.db
    .select({ sum: sql<string>`coalesce(sum(${revisions.manifestBytes}), 0)` })
    .from(revisions)
    .where(eq(revisions.orgId, id))
  return Number(blobs!.sum) + Number(lists!.sum)
}

/** Every revision of the organization has its contents, and what is stored is counted right. */
async function expectWhole(): Promise<void> {
  const missing = await system.db.execute(sql`
    select file ->> 1 from revisions r, jsonb_array_elements(r.manifest) file
    where r.org_id = ${org.id} and not exists (
      select from app_blobs a join source_blobs b on b.org_id = a.org_id and b.sha256 = a.sha256
      where a.org_id = r.org_id and a.app_id = r.app_id and a.sha256 = file ->> 1 and a.unnamed_since is null)`)
  expect([...missing]).toEqual([])
  expect(await storageOf(org)).toBe(await countedOf(org))
}

/** As for organizations with a lot of storage. */
const sweep = (sourceStorageBytes = 1024 ** 3) =>
  sweepRevisions({ db: system.db, clock: () => system.clock.now(), sourceStorageBytes })

/** As many newer revisions as are kept, without their files. */
const bury = async (name: string): Promise<void> => {
  const [app] = await system.db.execute<{ id: string }>(
    sql`select id from apps where org_id = ${org.id} and alias = ${name}`,
  )
  await system.db.execute(sql`
    insert into revisions (org_id, id, app_id, tree_sha256, manifest, files, bytes, manifest_bytes, pushed_by_name, pushed_at)
    select ${org.id}, 'rev_zzzz' || lpad(n::text, 21, '0'), ${app!.id}, n::text, '[]', 0, 0, 0, 'somebody', now()
    from generate_series(1, ${SOURCE_RETENTION.revisions}) n`)
}

describe('retention', () => {
  test('keeps the head and what a deployment names; the rest goes, and its contents a day later', async () => {
    const other = await makeApp(org)
    const owner = (await makeApiToken(system, org, org.owner)).call
    const gone = await push({ a: 'only in the first\n', b: 'shared with another app\n', c: 'in all\n' })
    await push({ b: 'shared with another app\n' }, owner, other)
    const deployed = await push({ a: 'deployed\n', c: 'in all\n' })
    await call(createDeployment, { alias, revision_id: deployed.id })
    const head = await push({ a: 'head\n', c: 'in all\n' })
    await bury(alias)
    await sweep()
    const kept = await system.db
      .select({ id: revisions.id })
      .from(revisions)
      .where(eq(revisions.orgId, org.id))
    const ids = kept.map(({ id }) => id)
    expect([gone, deployed, head].map(({ id }) => ids.includes(id))).toEqual([false, true, true])
    // Others of the organization have theirs.
    expect((await owner(listRevisions, { alias: other })).revisions).toHaveLength(1)

    const hashes = ['only in the first\n', 'shared with another app\n', 'in all\n'].map(sha256)
    expect((await call(findMissingFiles, { alias, sha256: hashes })).missing).toEqual([])
    system.clock.advance(DAY / 2)
    // Soon gone, so whoever asks now sends them again.
    expect((await call(findMissingFiles, { alias, sha256: hashes })).missing).toEqual(hashes.slice(0, 2))
    system.clock.advance(DAY / 2)
    await sweep()
    const blobs = await system.db
      .select({ sha256: sourceBlobs.sha256 })
      .from(sourceBlobs)
      .where(eq(sourceBlobs.orgId, org.id))
    const has = blobs.map((blob) => blob.sha256)
    expect(hashes.map((hash) => has.includes(hash))).toEqual([false, true, true])
    expect(treeIn((await call(downloadRevision, { alias, revision_id: deployed.id })).body)).toEqual({
      a: 'deployed\n',
      c: 'in all\n',
    })
    expect(await storageOf(org)).toBe(await countedOf(org))
  })

  test('keeps what may be deployed again, and not what any deployment ever named', async () => {
    const [app] = await system.db.execute<{ id: string }>(
      sql`select id from apps where org_id = ${org.id} and alias = ${alias}`,
    )
    /** A deployment that ended so; the `fence` counts them. */
    const ended = (revisionId: string, state: 'succeeded' | 'failed', fence: number) =>
      system.db.execute(sql`
        insert into deployments (org_id, id, app_id, revision_id, fence, state, requested_by, requested_at, started_at, ended_at, released_at)
        values (${org.id}, ${`dep_${String(fence).padStart(25, '0')}`}, ${app!.id}, ${revisionId}, ${fence}, ${state},
          'somebody', now(), now(), now(), now())`)
    const pushed = new Map<string, string>()
    for (const name of ['cancelled', 'oldest', 'again', 'earlier', 'failed', 'last', 'waiting', 'head']) {
      pushed.set(name, (await push({ a: name })).id)
    }
    const cancelled = await call(createDeployment, { alias, revision_id: pushed.get('cancelled')! })
    await call(cancelDeployment, { alias, deployment_id: cancelled.id })
    await bury(alias)
    await ended(pushed.get('oldest')!, 'succeeded', 10)
    await ended(pushed.get('again')!, 'succeeded', 11)
    await ended(pushed.get('earlier')!, 'succeeded', 12)
    await ended(pushed.get('failed')!, 'failed', 13)
    // Two less than are kept, and one of the first again: two places are left.
    for (let n = 1; n <= SOURCE_RETENTION.revisions - 2; n++) {
      await ended(`rev_zzzz${String(n).padStart(21, '0')}`, 'succeeded', 20 + n)
    }
    await ended(pushed.get('again')!, 'succeeded', 400)
    await ended(pushed.get('last')!, 'failed', 401)
    await call(createDeployment, { alias, revision_id: pushed.get('waiting')! })
    await sweep()
    const kept = new Set(
      (await system.db.select({ id: revisions.id }).from(revisions).where(eq(revisions.orgId, org.id))).map(
        ({ id }) => id,
      ),
    )
    expect([...pushed].filter(([, id]) => kept.has(id)).map(([name]) => name)).toEqual([
      'again',
      'earlier',
      'last',
      'waiting',
      'head',
    ])
    // What it names of the contents is kept, too; and what a rollback deploys is there.
    system.clock.advance(DAY + 60)
    await sweep()
    for (const [name, revision_id] of pushed) {
      if (!kept.has(revision_id)) continue
      expect(treeIn((await call(downloadRevision, { alias, revision_id })).body)).toEqual({ a: name })
    }
    expect((await call(rollBackDeployment, { alias })).revision_id).toBe(pushed.get('again'))
    expect(await storageOf(org)).toBe(await countedOf(org))
  })

  test('keeps less where little room is left, and only there', async () => {
    const foreign = await makeOrganization(system)
    const there = await makeApp(foreign)
    const most = SOURCE_RETENTION.scarceRevisions
    for (let i = 0; i < most + 2; i++) await push({ a: `${i}`, large: 'x'.repeat(1_000) })
    for (let i = 0; i < most + 2; i++) await push({ a: `${i}` }, as(foreign.owner, foreign), there)
    const count = async () => [
      (await call(listRevisions, { alias })).revisions.length,
      (await as(foreign.owner, foreign)(listRevisions, { alias: there })).revisions.length,
    ]
    await sweep()
    expect(await count()).toEqual([most + 2, most + 2])
    // Almost full for the one, not for the other.
    const full = (await storageOf(org)) / SOURCE_RETENTION.scarceAbove - 2
    expect(await storageOf(foreign)).toBeLessThan(full / 2)
    await sweep(full)
    expect(await count()).toEqual([most, most + 2])
    await expectWhole()
  })

  test('of one organization that fails leaves the others theirs', async () => {
    const broken = await makeOrganization(system)
    const there = await makeApp(broken)
    const mine = org
    org = broken
    await bury(there)
    org = mine
    // Nobody can make such a list; it stands for whatever may go wrong with one app.
    await system.db.execute(sql`
      insert into revisions (org_id, id, app_id, tree_sha256, manifest, files, bytes, manifest_bytes, pushed_by_name, pushed_at)
      select org_id, 'rev_0', app_id, 'broken', '{}', 0, 0, 0, 'somebody', now()
      from revisions where org_id = ${broken.id} limit 1`)
    const { id: old } = await push({ a: 'old' })
    await push({ a: 'head' })
    await bury(alias)
    await call(uploadFiles, { alias, body: uploadOf('forgotten') })
    system.clock.advance(DAY + 60)
    await expect(sweep()).rejects.toThrow('1 of the parts failed')
    expect((await refusal(call(showRevision, { alias, revision_id: old }))).code).toBe('NOT_FOUND')
    const blobs = await system.db
      .select({ sha256: sourceBlobs.sha256 })
      .from(sourceBlobs)
      .where(eq(sourceBlobs.orgId, org.id))
    expect(blobs.map((blob) => blob.sha256)).not.toContain(sha256('forgotten'))
    await system.db.transaction(async (tx) => {
      await tx.execute(sql`select set_config('svc.retention', 'on', true)`)
      await tx.execute(sql`delete from revisions where org_id = ${broken.id}`)
    })
    await sweep()
  })

  test('takes uploads that nothing named, but not those that were sent again', async () => {
    await call(uploadFiles, { alias, body: uploadOf('forgotten', 'sent again') })
    system.clock.advance(DAY - 60)
    await call(uploadFiles, { alias, body: uploadOf('sent again') })
    system.clock.advance(120)
    await sweep()
    expect(
      (await call(findMissingFiles, { alias, sha256: [sha256('forgotten'), sha256('sent again')] })).missing,
    ).toEqual([sha256('forgotten')])
    expect(await storageOf(org)).toBe('sent again'.length)
  })

  test.skipIf(hasOneConnection)('and pushes at the same time leave every revision whole', async () => {
    const apps = [alias, await makeApp(org)]
    const owner = (await makeApiToken(system, org, org.owner)).call
    const contents = ['one', 'two', 'three', 'four']
    // Contents that are about to be taken, while pushes name some of them.
    for (const to of apps) await owner(uploadFiles, { alias: to, body: uploadOf(...contents) })
    system.clock.advance(DAY + 60)
    const byArchive = apps.flatMap((to) =>
      contents.map((text, i) => push({ [`f${i}`]: text, same: 'same' }, owner, to)),
    )
    const byHash = apps.map((to) =>
      owner(createRevision, {
        alias: to,
        files: contents.map((text, i) => ({ path: `all${i}`, sha256: sha256(text) })),
      }),
    )
    const sweeps = Array.from({ length: 6 }, () => sweep())
    const done = await Promise.allSettled([...byArchive, ...byHash, ...sweeps])
    for (const one of done) {
      if (one.status === 'rejected')
        expect(['RATE_LIMITED', 'CONFLICT']).toContain((one.reason as ServiceError).code)
    }
    await expectWhole()
    for (const to of apps) {
      for (const { id } of (await owner(listRevisions, { alias: to })).revisions) {
        expect(
          Object.keys(treeIn((await owner(downloadRevision, { alias: to, revision_id: id })).body)).length,
        ).toBeGreaterThan(1)
      }
    }
  })

  // Whoever is first, between reading what is there and naming it nothing goes.
  test.skipIf(hasOneConnection).each(['push', 'retention'] as const)(
    'and a push wait for each other, %s first',
    async (first) => {
      await push({ a: 'kept' })
      await call(uploadFiles, { alias, body: uploadOf('about to go') })
      system.clock.advance(DAY + 60)
      const files = [{ path: 'b', sha256: sha256('about to go') }]
      const naming = () =>
        call(createRevision, { alias, files }).then(
          () => 'named',
          (error: ServiceError) => error.code,
        )
      const begin = { push: naming, retention: sweep }
      const [one, other] =
        first === 'push' ? (['push', 'retention'] as const) : (['retention', 'push'] as const)
      const work: Promise<unknown>[] = []
      await system.db.transaction(async (tx) => {
        await tx.execute(sql`select from source_storage where org_id = ${org.id} for update`)
        for (const name of [one, other]) {
          work.push(begin[name]())
          await untilLocked(system.db, work.length)
        }
      })
      const done = await Promise.all(work)
      expect(done).toContain(first === 'push' ? 'named' : 'CONFLICT')
      await expectWhole()
    },
  )

  test.skipIf(hasOneConnection)('waits for whoever is about to name a revision', async () => {
    const { id } = await push({ a: '1' })
    await push({ a: '2' })
    await bury(alias)
    const named = Promise.withResolvers<void>()
    const swept = Promise.withResolvers<void>()
    const naming = system.db.transaction(async (tx) => {
      await tx.execute(sql`select id from revisions where org_id = ${org.id} and id = ${id} for key share`)
      named.resolve()
      await swept.promise
    })
    await named.promise
    await sweep()
    swept.resolve()
    await naming
    expect((await call(showRevision, { alias, revision_id: id })).id).toBe(id)
    await sweep()
    expect((await refusal(call(showRevision, { alias, revision_id: id }))).code).toBe('NOT_FOUND')
  })
})

test('an organization stores no more than it may, and is told so in a sentence', async () => {
  const small = await startSystem({ ...SERVICES, SOURCE_STORAGE_MIB: '1' }, { clockOf: system })
  try {
    const inside = await makeOrganization(small)
    const owner = declaring(small.as({ token: inside.owner.token, organization: inside.id }))
    await owner(createApp, { alias: 'shop', name: 'Shop' })
    const text = (seed: string) => seed.repeat(600_000)
    await owner(pushRevision, { alias: 'shop', body: archiveOf({ a: text('a') }) })
    const refused = await refusal(owner(pushRevision, { alias: 'shop', body: archiveOf({ a: text('b') }) }))
    expect(refused.code).toBe('CONFLICT')
    expect(refused.message).toBe('The source of this organization would take more than 1 MiB')
    // The same content once more takes nothing, and another organization has room of its own.
    await owner(pushRevision, { alias: 'shop', body: archiveOf({ b: text('a') }) })
    const next = await makeOrganization(small)
    const there = small.as({ token: next.owner.token, organization: next.id })
    await there(createApp, { alias: 'shop', name: 'Shop' })
    await there(pushRevision, { alias: 'shop', body: archiveOf({ a: text('b') }) })
  } finally {
    await small.stop()
  }
})
