/** Creates a database for documents, with its tables and its search configuration. */
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import type { Handler } from '../../contracts/operations.ts'
import { createManagedDatabase, findSource, presentSource, type DatabaseDeps } from '../databases/index.ts'
import { requireBulkModel } from '../embeddings/index.ts'
import { requireMember } from '../principal.ts'
import type { ConfigurationDeps } from '../search/index.ts'
import { prepareDocuments } from './prepare-documents.ts'

export const createDocuments =
  (deps: DatabaseDeps & ConfigurationDeps): Handler<'createDocuments'> =>
  async (principal, { name, title, description, model = BUILT_IN_MODEL.name, language }) => {
    const member = requireMember(principal)
    const documents = { model, dimensions: requireBulkModel(deps.models, model), language }
    const source = await createManagedDatabase(deps, member, {
      name,
      title: title ?? name,
      description: description ?? '',
      documents,
    })
    await prepareDocuments(deps, member, { ...source, documents }, principal.signal)
    return presentSource((await findSource(deps.db, member.orgId, source.id)) ?? source)
  }
