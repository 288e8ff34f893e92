import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, sql } from '../../../db/drizzle.ts'
import { receipts, removedOrganizations } from '../../../db/schema.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { endAndRemove, finalReceipt } from './end-and-remove.ts'

export const removeOrganizationAsOperator: Verb<'removeOrganizationAsOperator'> = writeInSteps(
  { by: 'principal', audit: 'organization.removed' },
  async ({ db, clock, principal, transaction }, { org_id: orgId, confirm }) => {
    const id =
      (await removedBefore(db, orgId, confirm)) ??
      (await transaction(({ tx }) => endAndRemove(tx, clock, principal, { orgId, confirm })))
    return finalReceipt({ db, clock }, id, principal.signal)
  },
)

/** The receipt of one that is removed already, whoever did it: nobody is a member who could ask for it. */
async function removedBefore(db: Handle, orgId: string, name: string): Promise<string | undefined> {
  const [row] = await db
    .select({ id: receipts.id })
    .from(receipts)
    .innerJoin(removedOrganizations, eq(removedOrganizations.orgId, receipts.orgId))
    .where(
      and(
        eq(receipts.orgId, orgId),
        eq(removedOrganizations.name, name),
        sql`${receipts.whose} @> ${JSON.stringify([orgId])}::text::jsonb`,
      ),
    )
    .orderBy(desc(receipts.id))
    .limit(1)
  return row?.id
}
