/** Makes the tables of a documents source, and its search configuration. Repeated by every sync, in case of a kill before. */
import type { DocumentsSettings } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { writeToDatabase, type SourceRow } from '../databases/index.ts'
import type { AuditActor } from '../record-audit.ts'
import { addToConfiguration, type ConfigurationDeps } from '../search/index.ts'
import { createDocumentTables, documentsConfiguration } from './tables.ts'

export type DocumentsRow = SourceRow & { readonly documents: DocumentsSettings }

export async function prepareDocuments(
  deps: ConfigurationDeps,
  actor: AuditActor,
  source: DocumentsRow,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (source.configuration !== null) return
  await writeToDatabase(deps, source, (queries) => createDocumentTables(queries, source.documents), {
    signal,
  })
  const isSaved = await addToConfiguration(deps, actor, source, {
    // What somebody has saved meanwhile stays.
    change: (before) => before ?? documentsConfiguration(source.documents),
    // It was asked for in this call.
    authorize: async () => {},
  })
  if (!isSaved) throw new ServiceError('TIMEOUT', 'The documents source could not be prepared now')
}
