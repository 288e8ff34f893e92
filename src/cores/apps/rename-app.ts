import { and, eq } from '../../../db/drizzle.ts'
import { apps } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { requireApp, requireMaintainer } from './find-app.ts'
import { countOpenTickets, presentApp } from './present-app.ts'

export const renameApp =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'renameApp'> =>
  (principal, { alias, name }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const { app, appRole } = await requireApp(directory, tx, member, alias)
      requireMaintainer(appRole)
      const open = await countOpenTickets(directory, tx, member, app.id)
      if (app.name === name) return presentApp(app, appRole, open)
      await tx
        .update(apps)
        .set({ name })
        .where(and(eq(apps.orgId, orgId), eq(apps.id, app.id)))
      const subject = `${alias}: ${app.name} → ${name}`
      await recordAudit(tx, clock, member, { orgId, action: 'app.renamed', subject })
      return presentApp({ ...app, name }, appRole, open)
    })
