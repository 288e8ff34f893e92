import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import { presentSource, sourceIdOf } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { lockSource, updateSource } from './change-source.ts'

export const updateDataSource =
  ({ db, clock }: Storage): Handler<'updateDataSource'> =>
  (principal, { source_id, name, description }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = requireMember(principal)
      const row = await lockSource(tx, orgId, source_id)
      const next = { title: name ?? row.title, description: description ?? row.description }
      if (next.title === row.title && next.description === row.description) return presentSource(row)
      const subject = sourceIdOf(row.name)
      await recordAudit(tx, clock, principal, { orgId, action: 'data_source.described', subject })
      return presentSource(await updateSource(tx, row, next))
    })
