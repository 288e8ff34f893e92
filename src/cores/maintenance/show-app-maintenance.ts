import { read, type Verb } from '../verb.ts'
import type { WithDirectory } from '../directory/index.ts'
import { presentAppMaintenance } from './app-maintenance.ts'
import { requireAppMaintenance } from './maintenance-access.ts'

export const showAppMaintenance: Verb<'showAppMaintenance', WithDirectory> = read(
  'principal',
  async ({ db, clock, principal, directory }, { alias }) =>
    presentAppMaintenance(db, await requireAppMaintenance({ directory }, db, principal, alias), clock()),
)
