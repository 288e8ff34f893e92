import { and, eq } from '../../../db/drizzle.ts'
import { apps } from '../../../db/schema.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { requireApp, requireMaintainer } from './find-app.ts'
import { countOpenTickets, presentApp } from './present-app.ts'

export const renameApp: Verb<'renameApp', WithDirectory> = write(
  { audit: 'app.renamed' },
  async ({ tx, member, orgId, directory, audit }, { alias, name }) => {
    const { app, appRole } = await requireApp(directory, tx, member, alias)
    requireMaintainer(appRole)
    const open = await countOpenTickets(directory, tx, member, app.id)
    if (app.name === name) return presentApp(app, appRole, open)
    await tx
      .update(apps)
      .set({ name })
      .where(and(eq(apps.orgId, orgId), eq(apps.id, app.id)))
    await audit('app.renamed', `${alias}: ${app.name} → ${name}`)
    return presentApp({ ...app, name }, appRole, open)
  },
)
