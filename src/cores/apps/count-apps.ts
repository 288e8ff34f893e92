import type { Handle } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { apps } from '../../../db/schema.ts'

/** Whoever belongs to the organization knows of all of them, as `listApps` does. */
export const countApps = (db: Handle, orgId: string): Promise<number> =>
  db.$count(apps, eq(apps.orgId, orgId))
