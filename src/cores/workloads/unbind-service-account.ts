import { and, eq } from '../../../db/drizzle.ts'
import { workloadBindings } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { recordEnding } from '../record-ending.ts'
import { write, type Verb } from '../verb.ts'
import { bindingsOf, subjectOf } from './binding-rows.ts'

export const unbindServiceAccount: Verb<'unbindServiceAccount', WithDirectory> = write(
  { author: 'admin', audit: 'app.service_account_unbound' },
  async ({ tx, principal, directory, audit }, { alias, binding_id }) => {
    const app = await requireAppReader(directory, tx, principal, alias)
    const [removed] = await tx
      .delete(workloadBindings)
      .where(and(bindingsOf(app), eq(workloadBindings.id, binding_id)))
      .returning()
    if (!removed) throw notFound()
    recordEnding(tx, 'service_account', [removed])
    await audit('app.service_account_unbound', subjectOf(app, removed))
    return {}
  },
)
