/** Creates a database for documents, with its tables and its search configuration. */
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import {
  CREATES_DATABASE,
  createManagedDatabase,
  findSource,
  presentSource,
  type DatabaseDeps,
} from '../databases/index.ts'
import { requireBulkModel } from '../embeddings/index.ts'
import type { ConfigurationDeps } from '../search/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { prepareDocuments } from './prepare-documents.ts'

export const createDocuments: Verb<'createDocuments', DatabaseDeps & ConfigurationDeps> = writeInSteps(
  CREATES_DATABASE,
  async (context, { name, title, description, model = BUILT_IN_MODEL.name, language }) => {
    const { db, member, models } = context
    const documents = { model, dimensions: requireBulkModel(models, model), language }
    const source = await createManagedDatabase(context, {
      name,
      title: title ?? name,
      description: description ?? '',
      documents,
    })
    await prepareDocuments(context, member, { ...source, documents }, member.signal)
    return presentSource((await findSource(db, member.orgId, source.id)) ?? source)
  },
)
