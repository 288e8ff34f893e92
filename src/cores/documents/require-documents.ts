import type { Handle } from '../../../db/connect.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { findSource, sourceIdOf } from '../databases/index.ts'
import type { DocumentsRow } from './prepare-documents.ts'

export async function requireDocuments(db: Handle, orgId: string, name: string): Promise<DocumentsRow> {
  const source = await findSource(db, orgId, sourceIdOf(name))
  if (!source) throw notFound()
  const { documents, preparingUntil } = source
  if (!documents) {
    throw new ServiceError('CONFLICT', 'This database does not hold documents', {
      hint: 'Create a documents source: svc docs create',
    })
  }
  if (preparingUntil !== null) {
    throw new ServiceError('CONFLICT', 'The database is still being created', {
      hint: 'Try again in a moment.',
    })
  }
  return { ...source, documents }
}
