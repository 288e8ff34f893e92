/**
 * Begins a sync: compares a list of files with the version that is published, and stages the list in the managed database.
 * What is missing is then uploaded as the file of a load. The same list of the same person goes on where it was interrupted.
 */
import { createHash } from 'node:crypto'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { loads, type StoredPlan } from '../../../db/schema.ts'
import { isAccessFile, isMeantAsAccessFile } from '../../contracts/document-formats.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import {
  DOCUMENTS_MAX,
  DOCUMENTS_SYNC_IDLE_SECONDS,
  DOCUMENTS_SYNC_MAX_BYTES,
  LOAD_PROBLEMS_SHOWN,
} from '../../contracts/limits.ts'
import { collisionsIn, problemWithPath, shownPath } from '../../contracts/source-paths.ts'
import { requireDiskQuota, sourceIdOf, writeToDatabase, type Queries } from '../databases/index.ts'
import {
  prepareDocuments,
  READER_VERSION,
  readVersion,
  requireDocuments,
  type DocumentsRow,
} from '../documents/index.ts'
import { requireRole, type MemberPrincipal } from '../principal.ts'
import { PASSAGES } from '../search/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { loadLease } from './claim-load.ts'
import { failingAsDatabase } from './database-problem.ts'
import type { LoadDeps } from './load-deps.ts'
import { isLoad, presentLoad, type LoadRow } from './load-rows.ts'
import { authorOf } from './plan-load.ts'
import { createStaging, rowsTable } from './staging.ts'
import { isUnfinished, lockLoads, requirePlace } from './unfinished-loads.ts'
import { leaseSecondsLeft } from './upload-load-part.ts'

type File = { readonly path: string; readonly sha256: string; readonly bytes: number }

export const syncDocuments: Verb<'syncDocuments', LoadDeps> = writeInSteps(
  { audit: ['load.started', 'data_source.configured'] },
  async (context, { name, files, keep }) => {
    const { db, clock, member, orgId, userId, principal, transaction } = context
    const source = await requireDocuments(db, orgId, name)
    requirePaths(files)
    await requireDiskQuota(db, orgId, source.kind)
    return failingAsDatabase(async () => {
      await prepareDocuments(context, member, source, principal.signal)
      const { base, present } = await writeToDatabase(context, source, readPresent, {
        signal: principal.signal,
      })
      // Also beside what stays: `board/` would lie open where `Board/` says who sees it.
      if (keep) requireNoCollisions(new Set([...present.keys(), ...files.map(({ path }) => path)]))
      const found = compare(files, present, keep)
      const { missing } = found
      // Without `keep` the list is all of them, and no longer than that.
      if (keep && present.size + found.added > DOCUMENTS_MAX) {
        throw new ServiceError(
          'TOO_LARGE',
          `A documents source holds at most ${DOCUMENTS_MAX.toLocaleString('en')} files`,
          { hint: 'Sync without keeping what is gone, or put some of them into another source.' },
        )
      }
      const bytes = missing.reduce((sum, file) => sum + file.bytes, 0)
      if (bytes > DOCUMENTS_SYNC_MAX_BYTES) {
        throw new ServiceError('TOO_LARGE', 'The files are larger than one sync may send', {
          hint: 'Sync a part of them first, and then all.',
        })
      }
      const sha256 = createHash('sha256')
        .update(JSON.stringify([base, keep, files]))
        .digest('hex')
      const isUnchanged = missing.length + found.removed === 0
      const isAdmins = changesAccess(files, present, found)
      if (isAdmins) requireRole(member, 'admin', ONLY_ADMINS)
      const begun = await transaction(async ({ tx, audit }) => {
        const same = await findUnfinished(tx, source, { orgId, userId, sha256, now: clock() })
        if (same || isUnchanged) return same
        await requirePlace(tx, { orgId, userId }, clock())
        const plan = planOf(source, member, { sent: missing.length, keep, base, isAdmins })
        const created = await insertSync(tx, { source, member, bytes, sha256, plan, now: clock() })
        await audit('load.started', `documents into ${sourceIdOf(source.name)}`)
        return created
      })
      const counts = {
        missing: missing.map(({ path }) => path),
        added: found.added,
        changed: missing.length - found.added,
        removed: found.removed,
        unchanged: found.unchanged.length,
      }
      if (!begun) return { sync: null, ...counts }
      const staged =
        begun.state === 'uploading' && begun.received === 0
          ? await stageList(context, begun, source, [...missing, ...found.unchanged])
          : begun
      return { sync: presentLoad(staged, source), ...counts }
    })
  },
)

function requirePaths(files: readonly File[]): void {
  const wrong = files.flatMap(({ path }) => {
    const problem = problemWithPath(path) ?? accessNameProblem(path)
    return problem === undefined ? [] : [`files: ${shownPath(path)} ${problem}`]
  })
  refuse(wrong)
  requireNoCollisions(files.map(({ path }) => path))
}

/** Taken for a file that is not read, its folder would be open. */
const accessNameProblem = (path: string): string | undefined =>
  isMeantAsAccessFile(path) && !isAccessFile(path)
    ? 'would say who sees its folder, and must be named access.yaml'
    : undefined

const requireNoCollisions = (paths: Iterable<string>): void => refuse(collisionsIn([...paths]))

function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return
  throw new ServiceError('INVALID_REQUEST', undefined, { problems: problems.slice(0, LOAD_PROBLEMS_SHOWN) })
}

/** By path: its digest, as far as it was read as files are read today. */
type Present = ReadonlyMap<string, string | null>

/** Fewer than a managed database may answer at once. */
const PRESENT_PAGE = 5_000

/** The version before the pages: if another one is published between them, this sync publishes nothing. */
async function readPresent(queries: Queries): Promise<{ base: number; present: Present }> {
  const { version } = await readVersion(queries)
  const present = new Map<string, string | null>()
  for (let after = ''; ;) {
    const rows = await queries.query<{ path: string; sha256: string | null }>(
      `select path, case when reader = ${READER_VERSION} then sha256 end as sha256 from public.documents
        where path > $1 order by path limit ${PRESENT_PAGE}`,
      [after],
    )
    for (const { path, sha256 } of rows) present.set(path, sha256)
    if (rows.length < PRESENT_PAGE) return { base: version, present }
    after = rows.at(-1)!.path
  }
}

/** "Has" means: at that path, in the version that is published. A digest alone is no claim to content. */
function compare(files: readonly File[], present: Present, keep: boolean) {
  const missing = files.filter(({ path, sha256 }) => present.get(path) !== sha256)
  const unchanged = files.filter(({ path, sha256 }) => present.get(path) === sha256)
  const added = missing.filter(({ path }) => !present.has(path)).length
  const stays = missing.length - added + unchanged.length
  return { missing, unchanged, keep, added, removed: keep ? 0 : present.size - stays }
}

const ONLY_ADMINS = 'Only owners and admins may change who sees documents that are there already'

/**
 * Whether an `access.yaml` would say something else of a document that is not sent again: whoever syncs need not be somebody
 * who sees it.
 */
function changesAccess(
  files: readonly File[],
  present: Present,
  { missing, unchanged, keep }: ReturnType<typeof compare>,
): boolean {
  const listed = new Set(files.map(({ path }) => path))
  const gone = keep ? [] : [...present.keys()].filter((path) => !listed.has(path))
  const rules = [...missing.map(({ path }) => path), ...gone].filter(isAccessFile)
  if (rules.length === 0) return false
  const folders = new Set(rules.map(folderOf))
  const sent = new Set(missing.map(({ path }) => path))
  const stays = keep
    ? [...present.keys()].filter((path) => !sent.has(path))
    : unchanged.map(({ path }) => path)
  return stays.some((path) => !isAccessFile(path) && foldersAbove(path).some((folder) => folders.has(folder)))
}

const folderOf = (path: string): string => path.replace(/[^/]*$/, '')

/** As many as a path has names, where there may be thousands of rules. */
const foldersAbove = (path: string): string[] =>
  path.split('/').map((_name, at, names) =>
    names
      .slice(0, at)
      .map((name) => `${name}/`)
      .join(''),
  )

type Wanted = { readonly orgId: string; readonly userId: string; readonly sha256: string; readonly now: Date }

/** One sync of a source at a time: the next is compared with what this one publishes. */
async function findUnfinished(
  tx: Transaction,
  source: DocumentsRow,
  { orgId, userId, sha256, now }: Wanted,
): Promise<LoadRow | undefined> {
  await lockLoads(tx, orgId)
  const [other] = await tx
    .select()
    .from(loads)
    .where(and(isUnfinished(orgId), eq(loads.sourceId, source.id)))
  if (!other) return undefined
  if (other.sha256 === sha256 && other.createdBy === userId) return other
  // Its client was killed, or has given up.
  const idleSince = new Date(now.getTime() - DOCUMENTS_SYNC_IDLE_SECONDS * 1000)
  const ended =
    other.state === 'uploading' && other.updatedAt < idleSince
      ? await tx
          .update(loads)
          .set({ state: 'canceled', updatedAt: now, finishedAt: now })
          .where(and(isLoad(other), eq(loads.state, 'uploading'), loadLease.isFree()))
          .returning({ id: loads.id })
      : []
  if (ended.length > 0) {
    await notify(tx, 'loads')
    return undefined
  }
  throw new ServiceError(
    'RATE_LIMITED',
    `Another sync of this source, by ${other.createdByName}, is under way`,
    {
      retryAfterSeconds: 2,
    },
  )
}

function planOf(
  { documents: { model, dimensions, language } }: DocumentsRow,
  member: MemberPrincipal,
  sync: NonNullable<StoredPlan['sync']>,
): StoredPlan {
  return {
    table: PASSAGES,
    append: false,
    model,
    dimensions,
    language,
    saveConfiguration: false,
    columns: [],
    id: -1,
    title: null,
    embed: [],
    delimiter: '',
    sync,
    author: authorOf(member),
  }
}

async function insertSync(
  tx: Transaction,
  {
    source,
    member,
    bytes,
    sha256,
    plan,
    now,
  }: {
    source: DocumentsRow
    member: MemberPrincipal
    bytes: number
    sha256: string
    plan: StoredPlan
    now: Date
  },
): Promise<LoadRow> {
  const { orgId, userId, userName } = member
  const [created] = await tx
    .insert(loads)
    .values({
      orgId,
      id: makeId('lod', now.getTime()),
      sourceId: source.id,
      filename: 'documents',
      format: 'documents',
      bytes,
      sha256,
      plan,
      createdBy: userId,
      createdByName: userName,
      createdAt: now,
      updatedAt: now,
      state: 'uploading',
      isStaged: true,
    })
    .returning()
  return created!
}

/** Those to be sent first, in the order in which they come. With nothing to send it starts. */
async function stageList(
  deps: LoadDeps,
  load: LoadRow,
  source: DocumentsRow,
  files: readonly File[],
): Promise<LoadRow> {
  const isHere = and(isLoad(load), eq(loads.state, 'uploading'), eq(loads.received, 0))
  const held = await loadLease.take(deps.db, isHere)
  // Whoever has it stages the same list.
  if (!held) {
    throw new ServiceError('RATE_LIMITED', 'This sync is being begun already', { retryAfterSeconds: 2 })
  }
  const isHeld = and(loadLease.isHeld(held), eq(loads.state, 'uploading'))
  let isStaged = false
  try {
    await writeToDatabase(deps, source, async (queries) => {
      await createStaging(queries, load.id, () => leaseSecondsLeft(deps, held))
      await queries.query(
        `insert into ${rowsTable(load.id)} (n, line, cells)
          select n, 0, file from jsonb_array_elements($1::text::jsonb) with ordinality as listed (file, n)
          on conflict (n) do nothing`,
        [JSON.stringify(files)],
      )
    })
    isStaged = true
  } finally {
    if (!isStaged) await loadLease.release(deps.db, isHeld)
  }
  const released = await loadLease.release(deps.db, isHeld, {
    updatedAt: deps.clock(),
    ...(load.bytes === 0 && { state: 'running' as const, phase: 'reading' as const }),
  })
  if (!released) throw new ServiceError('CONFLICT', 'The sync was canceled meanwhile')
  if (load.bytes === 0) await notify(deps.db, 'loads')
  return released
}
