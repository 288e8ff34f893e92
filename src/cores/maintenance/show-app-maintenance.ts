import type { Handler } from '../../contracts/operations.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { presentAppMaintenance } from './app-maintenance.ts'
import { requireAppMaintenance } from './maintenance-access.ts'

export const showAppMaintenance =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'showAppMaintenance'> =>
  async (principal, { alias }) =>
    presentAppMaintenance(db, await requireAppMaintenance({ directory }, db, principal, alias), clock())
