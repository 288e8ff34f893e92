import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import { findSource, presentSource } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'

export const showDataSource =
  ({ db }: Storage): Handler<'showDataSource'> =>
  async (principal, { source_id }) => {
    const row = await findSource(db, requireMember(principal).orgId, source_id)
    if (!row) throw notFound()
    return presentSource(row)
  }
