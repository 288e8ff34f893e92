import { presentSource, sourceIdOf } from '../databases/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockSource, updateSource } from './change-source.ts'

export const updateDataSource: Verb<'updateDataSource'> = write(
  { audit: 'data_source.described' },
  async ({ tx, orgId, audit }, { source_id, name, description }) => {
    const row = await lockSource(tx, orgId, source_id)
    const next = { title: name ?? row.title, description: description ?? row.description }
    if (next.title === row.title && next.description === row.description) return presentSource(row)
    await audit('data_source.described', sourceIdOf(row.name))
    return presentSource(await updateSource(tx, row, next))
  },
)
