/** Brings the version before back, in one statement. What it replaces is kept in its place, so that undoing can be undone. */
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { stagingName } from '../../../db/managed/drop-staged-table.ts'
import { loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { DOCUMENTS_UNDO_DAYS } from '../../contracts/limits.ts'
import { requireDiskQuota, sourceIdOf, writeToDatabase, type Queries } from '../databases/index.ts'
import {
  APPLY_ACCESS,
  BEFORE,
  DOCUMENT_COLUMNS,
  PASSAGE_COLUMNS,
  prepareDocuments,
  readVersion,
  requireDocuments,
} from '../documents/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireRole } from '../principal.ts'
import { takeWordStatisticsAgain } from '../search/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { failingAsDatabase } from './database-problem.ts'
import type { LoadDeps } from './load-deps.ts'
import { readStatus } from './show-documents.ts'
import { literal, oneAtATime } from './staging.ts'
import { readUndoUntil } from './version-before.ts'

export const undoDocuments: Verb<'undoDocuments', LoadDeps> = writeInSteps(
  { audit: ['documents.undone', 'data_source.configured'] },
  async (context, { name, version }) => {
    const { db, clock, member, orgId, principal, transaction } = context
    const { signal } = principal
    const source = await requireDocuments(db, orgId, name)
    await requireDiskQuota(db, orgId, source.kind)
    await failingAsDatabase(async () => {
      await prepareDocuments(context, member, source, signal)
      await writeToDatabase(
        context,
        source,
        async (queries) => {
          const { version: published } = await readVersion(queries)
          // Whoever asks again after a lost answer does not undo it again.
          if (published !== version) throw otherVersion(published)
          if ((await readUndoUntil(queries, clock())) === null) throw nothingBefore()
          const isAdmins = await changesAccess(queries, version)
          if (isAdmins) requireRole(member, 'admin', ONLY_ADMINS)
          await transaction(async ({ tx, audit }) => {
            if (isAdmins) await lockAuthor(tx, clock, member, 'admin')
            await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`loads of ${orgId}`}, 0))`)
            const [under] = await tx
              .select({ id: loads.id })
              .from(loads)
              .where(
                and(
                  eq(loads.orgId, orgId),
                  eq(loads.sourceId, source.id),
                  inArray(loads.state, ['uploading', 'running']),
                ),
              )
            if (under) {
              throw new ServiceError('CONFLICT', 'A sync of this source is under way', {
                hint: 'Wait for it, or cancel it: svc db loads',
              })
            }
            await audit('documents.undone', `${sourceIdOf(source.name)}, version ${version}`)
          })
          // Again with the version, in case somebody was faster.
          await queries.query(swap(source.id, version, clock())).catch((error: unknown) => {
            throw (error as { code?: string }).code === OTHER_VERSION ? otherVersion() : error
          })
        },
        { signal, isLong: true },
      )
    })
    // Without them questions rank a little worse, until the next look at its health.
    await takeWordStatisticsAgain(context, source).catch(() => {})
    return readStatus(context, source, signal)
  },
)

const otherVersion = (published?: number) =>
  new ServiceError(
    'CONFLICT',
    published === undefined ? 'Another version was published meanwhile' : `Version ${published} is published`,
  )
const nothingBefore = () =>
  new ServiceError('CONFLICT', 'There is no version before this one', {
    hint: `It is kept for ${DOCUMENTS_UNDO_DAYS} days.`,
  })

/** In the class of conditions that nobody else uses, as in publish-step.ts. */
const OTHER_VERSION = 'SVC03'

const ONLY_ADMINS = 'Only owners and admins may bring back who saw these documents'

/** Of a document that is in both, or of a folder: what was hidden since would be seen again. */
async function changesAccess(queries: Queries, version: number): Promise<boolean> {
  const [documents, isRule] = [stagingName(BEFORE.documents), `~ '(^|/)access[.]yaml$'`]
  const [found] = await queries.query<{ changes: boolean }>(
    `select exists (select from ${documents} b where b.path ${isRule})
      or exists (select from public.documents d where d.version = ${version} and d.path ${isRule})
      or exists (select from ${documents} b join public.documents d on d.path = b.path
        where b.access is distinct from d.access) as changes`,
  )
  return found!.changes
}

function swap(sourceId: string, version: number, now: Date): string {
  const [documents, passages] = [stagingName(BEFORE.documents), stagingName(BEFORE.passages)]
  const [newDocuments, newPassages] = [stagingName('documents_undone'), stagingName('passages_undone')]
  const restored = DOCUMENT_COLUMNS.replace('version', String(version + 1))
  return oneAtATime(
    sourceId,
    `if (select max(v.version) from public.versions v) <> ${version} then
      raise exception 'another version was published' using errcode = '${OTHER_VERSION}';
    end if;
    insert into public.versions values (${version + 1}, ${literal(now.toISOString())}::timestamptz);
    create table ${newDocuments} as select ${DOCUMENT_COLUMNS} from public.documents d where d.version = ${version};
    create table ${newPassages} as select ${PASSAGE_COLUMNS} from public.passages p
      where p.path in (select d.path from ${newDocuments} d);
    delete from public.passages p where p.path in (select d.path from ${newDocuments} d);
    delete from public.documents d where d.version = ${version};
    insert into public.documents (${DOCUMENT_COLUMNS}) select ${restored} from ${documents};
    insert into public.passages (${PASSAGE_COLUMNS}) select ${PASSAGE_COLUMNS} from ${passages};
    ${APPLY_ACCESS}
    drop table ${documents}, ${passages};
    alter table ${newDocuments} rename to ${BEFORE.documents};
    alter table ${newPassages} rename to ${BEFORE.passages};`,
  )
}
