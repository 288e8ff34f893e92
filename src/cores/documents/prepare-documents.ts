/** Makes the tables of a documents source, and its search configuration. Repeated by every sync, in case of a kill before. */
import type { DocumentsSettings } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { writeToDatabase, type SourceRow } from '../databases/index.ts'
import type { AuditActor } from '../record-audit.ts'
import { addToConfiguration, type ConfigurationDeps } from '../search/index.ts'
import { ACCESS, addAccess, createDocumentTables, documentsConfiguration } from './tables.ts'

export type DocumentsRow = SourceRow & { readonly documents: DocumentsSettings }

export async function prepareDocuments(
  deps: ConfigurationDeps,
  actor: AuditActor,
  source: DocumentsRow,
  signal: AbortSignal | undefined,
): Promise<void> {
  // null: an owner or admin has taken it away.
  if (source.configuration !== null && source.configuration.access_column !== undefined) return
  await writeToDatabase(
    deps,
    source,
    async (queries) => {
      await addAccess(queries)
      await createDocumentTables(queries, source.documents)
    },
    { signal },
  )
  const isSaved = await addToConfiguration(deps, actor, source, {
    // What somebody has saved meanwhile stays.
    change: (before) =>
      before ? { ...before, access_column: ACCESS } : documentsConfiguration(source.documents),
    // It was asked for in this call.
    authorize: async () => {},
  })
  if (!isSaved) throw new ServiceError('TIMEOUT', 'The documents source could not be prepared now')
}
