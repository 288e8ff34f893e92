/** Saves a search configuration if every table, column, type and dimension in it exists; otherwise nothing changes. */
import type { Transaction } from '../../../db/connect.ts'
import { dataSources } from '../../../db/schema.ts'
import { and, eq } from '../../../db/drizzle.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import { DOCUMENTS_TABLE } from '../../contracts/documents.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import {
  accessColumnOf,
  findSource,
  openSource,
  presentSource,
  recordAccessChange,
  sourceIdOf,
  type SourceRow,
} from '../databases/index.ts'
import type { Clock } from '../dependencies.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireRole, type MemberPrincipal } from '../principal.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { lockSource } from './change-source.ts'
import { failingAsSource } from './search-entries.ts'
import { longTextsProblem } from './long-texts-problem.ts'
import { forgetHealth } from './source-health.ts'
import { type ConfigurationDeps, tryConfiguration } from './check-against-database.ts'

export const saveSearchConfiguration: Verb<'saveSearchConfiguration', ConfigurationDeps> = writeInSteps(
  { audit: ['data_source.configured', 'data_source.access_set', 'data_source.access_removed'] },
  async (context, { source_id, connection_config, filter_schema, access_column }) => {
    const { db, clock, orgId, member, tableInfo, transaction } = context
    const row = await findSource(db, orgId, source_id)
    if (!row) throw notFound()
    const configuration = {
      connection_config,
      filter_schema,
      ...(access_column !== undefined && { access_column }),
    }
    requireOwnTables(row, configuration)
    if (changesAccess(row, configuration)) requireMayChangeAccess(member)
    const queries = openSource(context, row)
    const { problems, notes, wordStatistics } = await failingAsSource(() =>
      tryConfiguration(context, queries, configuration),
    )
    if (problems.length > 0) throw new ServiceError('INVALID_SEARCH_CONFIGURATION', undefined, { problems })
    const saved = await transaction(async ({ tx, audit }) => {
      // Somebody may have set it meanwhile.
      const before = await lockSource(tx, orgId, row.id)
      const isChanged = changesAccess(before, configuration)
      if (isChanged) await lockAccessAuthor(tx, clock, member)
      const [updated] = await tx
        .update(dataSources)
        .set({ configuration: keepingRemoval(before, configuration), wordStatistics, configuredAt: clock() })
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, row.id)))
        .returning()
      if (!updated) throw notFound()
      await recordAccessChange(tx, before, updated)
      await forgetHealth(tx, row)
      const subject = sourceIdOf(row.name)
      await audit('data_source.configured', subject)
      if (isChanged && access_column) {
        await audit('data_source.access_set', `${subject}: ${access_column}`)
      } else if (isChanged) {
        await audit('data_source.access_removed', `${subject}: ${accessColumnOf(before)}`)
      }
      return updated
    })
    tableInfo.forget(queries)
    return { ...presentSource(saved), notes: [...notes, ...(await longTexts(context, saved, clock()))] }
  },
)

/** What a version of documents has replaced lies beside them, with what was said then of who sees it. */
function requireOwnTables({ documents }: SourceRow, { connection_config }: SearchConfiguration): void {
  if (documents === null) return
  const others = connection_config.embedding_configs.filter(
    ({ table }) => table !== DOCUMENTS_TABLE && table !== `public.${DOCUMENTS_TABLE}`,
  )
  if (others.length === 0) return
  throw new ServiceError('INVALID_SEARCH_CONFIGURATION', undefined, {
    problems: others.map(
      ({ label }) => `${label}: of a documents source only the table "${DOCUMENTS_TABLE}" is searched`,
    ),
  })
}

/** A save replaces everything else that it leaves out. Who sees which rows must not be lost by leaving it out. */
function changesAccess(before: SourceRow, { access_column }: SearchConfiguration): boolean {
  const saved = accessColumnOf(before)
  if (access_column === undefined && saved !== null) {
    throw new ServiceError('INVALID_SEARCH_CONFIGURATION', undefined, {
      problems: [`access_column: must be repeated, as "${saved}"; null removes it, and shows every row`],
    })
  }
  return (access_column ?? null) !== saved
}

/** null: an owner or admin has taken it away. Left out, it would be there again with the next sync of documents. */
const keepingRemoval = (before: SourceRow, configuration: SearchConfiguration): SearchConfiguration =>
  before.configuration?.access_column === null ? { access_column: null, ...configuration } : configuration

const ONLY_ADMINS = 'Only owners and admins may set, change or remove the access column'

function requireMayChangeAccess(member: MemberPrincipal): void {
  // They are no members, and see no row of such a source.
  if (member.supportSessionId !== undefined) throw new ServiceError('FORBIDDEN', ONLY_ADMINS)
  requireRole(member, 'admin', ONLY_ADMINS)
}

/** With the role of this moment. */
async function lockAccessAuthor(tx: Transaction, clock: Clock, member: MemberPrincipal): Promise<void> {
  requireMayChangeAccess(member)
  await lockAuthor(tx, clock, member, 'admin')
}

/** It is saved: a table that cannot be counted now is told by the next look at its health. */
async function longTexts(deps: ConfigurationDeps, source: SourceRow, now: Date): Promise<string[]> {
  const queries = openSource(deps, source)
  const notes: string[] = []
  try {
    for (const entry of source.configuration!.connection_config.embedding_configs) {
      const tableInfo = await deps.tableInfo.read(queries, entry.table, now)
      const problem = tableInfo && (await longTextsProblem(queries, source, entry, tableInfo))
      if (problem) notes.push(problem.text)
    }
  } catch {
    return notes
  }
  return notes
}
